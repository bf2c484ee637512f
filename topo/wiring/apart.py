"""Hosts cabled in a way of their own that is no fault: a pattern several share, or a place between two units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.hosts import Seats

__all__ = ["of_another_pattern", "on_own_leaves", "units_of_ranks"]

_PATTERN = 3
_FEWEST_BETWEEN = 2


def of_another_pattern(seats: Seats, right: Array, wrong: Array) -> NDArray[np.bool_]:
    """Mask of the hosts that three or more share another way of cabling with: a pattern is no fault.

    ``right`` is the leaf of each seat by the rule, ``wrong`` masks the seats that are elsewhere. Adapters exchanged
    among the host's own leaves stay a fault however many hosts show it.
    """
    random = _random(seats, right)
    code = np.zeros(seats.n_hosts, np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(code, seats.host, random[seats.leaf] * (seats.rank + 1).astype(np.uint64))
    _, pattern, times = np.unique(code, return_inverse=True, return_counts=True)
    apart: NDArray[np.bool_] = ~on_own_leaves(seats, right, wrong) & (times[pattern] >= _PATTERN)
    return apart


def on_own_leaves(seats: Seats, right: Array, wrong: Array) -> NDArray[np.bool_]:
    """Mask of the hosts whose adapters are on the leaves that they should be on, if in another order."""
    random = _random(seats, right)
    codes = np.zeros((2, seats.n_hosts), np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(codes[0], seats.host[wrong], random[seats.leaf[wrong]])
        np.add.at(codes[1], seats.host[wrong], random[right[wrong]])
    same: NDArray[np.bool_] = codes[0] == codes[1]
    return same


def _random(seats: Seats, right: Array) -> NDArray[np.uint64]:
    """A number for each leaf whose sums tell sets of leaves apart."""
    size = int(max(seats.leaf.max(), right.max())) + 2
    return np.random.default_rng(0).integers(1, 2**62, size, dtype=np.uint64)


def units_of_ranks(cabling: Cabling, seats: Seats, leaf: Array) -> NDArray[np.int64]:
    """Unit whose leaf each rank of each host belongs on, (hosts, ranks): the host's own, or one of two.

    Where leaves are filled host by host, a host may stand between two units. It has two or more adapters on the leaves
    of one other unit, each where that unit has its rank (``leaf[unit, group, rank]``, -1: unknown); no other host has a
    port behind its own on the leaves of the one unit, none a port before its own on those of the other. Its ranks are
    split where fewest cables are elsewhere, between two adapters rather than two cables of one.
    """
    n_ranks = leaf.shape[2]
    result = np.repeat(seats.unit[:, None], n_ranks, axis=1)
    at = np.full(result.shape, -1)
    at[seats.host, seats.rank] = seats.leaf
    group = seats.group_of_host()
    for host, other in _between(cabling, seats, leaf).items():
        home = int(seats.unit[host])
        wrong = {
            unit: (at[host] >= 0) & (leaf[unit, group[host]] >= 0) & (at[host] != leaf[unit, group[host]])
            for unit in (home, other)
        }
        adapter = [label.partition("/")[0] for label in seats.labels[group[host]]]
        splits = [
            (int(wrong[low][:cut].sum() + wrong[high][cut:].sum()), adapter[cut - 1] == adapter[cut], cut, low, high)
            for low, high in ((home, other), (other, home))
            for cut in range(1, len(adapter))
        ]
        n_wrong, _, cut, low, high = min(splits)
        if n_wrong < wrong[home].sum():
            result[host, :cut], result[host, cut:] = low, high
    return result


def _between(cabling: Cabling, seats: Seats, leaf: Array) -> dict[int, int]:
    """Hosts that seem to stand between their unit and another, and that other one."""
    n = seats.n_hosts
    home, unit = seats.unit[seats.host], np.maximum(seats.unit_of_leaf[seats.leaf], 0)
    usual = leaf[unit, seats.group, seats.rank]
    fits = (usual == seats.leaf) | (usual < 0)
    here, there = fits & (unit == home), fits & (unit != home)
    n_there = np.bincount(seats.host, weights=there, minlength=n)
    least, most = np.full(n, len(cabling.fabric.nodes)), np.full(n, -1)
    np.minimum.at(least, seats.host[there], unit[there])
    np.maximum.at(most, seats.host[there], unit[there])
    is_first, is_last = _at_the_ends(cabling, seats)
    in_line = np.zeros(n, bool)
    for of_home, of_other in ((is_last, is_first), (is_first, is_last)):
        breaks = (here & ~of_home) | (there & ~of_other)
        in_line |= np.bincount(seats.host, weights=breaks, minlength=n) == 0
    hosts = np.flatnonzero((n_there >= _FEWEST_BETWEEN) & (least == most) & in_line)
    return dict(zip(hosts.tolist(), most[hosts].tolist(), strict=True))


def _at_the_ends(cabling: Cabling, seats: Seats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which seats are of a host whose ports on that leaf come before, and which of one whose come behind, all others.

    Only ports that hold an adapter count.
    """
    number = cabling.number[cabling.leaf_port]
    place = np.empty(len(number), np.int64)
    order = np.lexsort((number, cabling.leaf))
    ordered = cabling.leaf[order]
    place[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    size = np.bincount(cabling.leaf, minlength=len(cabling.fabric.nodes))
    _, pair = np.unique(np.stack([seats.host, seats.leaf]), axis=1, return_inverse=True)
    pair = pair.ravel()
    own = np.bincount(pair)
    mine = place[seats.row]
    farthest, nearest = np.zeros(len(own), np.int64), np.full(len(own), len(number))
    np.maximum.at(farthest, pair, mine)
    np.minimum.at(nearest, pair, mine)
    is_first = farthest[pair] == own[pair] - 1
    is_last = nearest[pair] == size[seats.leaf] - own[pair]
    return is_first, is_last
