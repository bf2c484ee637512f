"""Rails from the wiring: which adapters of the hosts share leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.table import Array, Labels

__all__ = ["Rails", "rails_of"]

_MOST_ORDINALS = 64
_ALIKE = 0.5
_EXPLAINED = 0.8


@dataclass(frozen=True, slots=True)
class Rails:
    """Rail of every node, none where it has none, and the sentences that say how it was found."""

    rail: Labels
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seats:
    """Adapters of hosts that have several: their rows, hosts, numbered leaves, and how many their host has."""

    nic: NDArray[np.int64]
    host: NDArray[np.int64]
    leaves: NDArray[np.int64]
    leaf: NDArray[np.int64]
    of_host: NDArray[np.int64]

    @classmethod
    def of(cls, nic: Array, leaf: Array, host: Array, local_index: Array) -> _Seats:
        nic, first = np.unique(nic, return_index=True)
        leaf = leaf[first]
        size = np.bincount(host[nic][host[nic] >= 0], minlength=1)
        kept = (host[nic] >= 0) & (local_index[nic] >= 0)
        kept[kept] = size[host[nic[kept]]] >= 2
        nic = nic[kept]
        leaves, code = np.unique(leaf[kept], return_inverse=True)
        return cls(nic, host[nic].astype(np.int64), leaves, code, size[host[nic]])


def rails_of(nic: Array, leaf: Array, host: Array, local_index: Array, device: Labels | None = None) -> Rails:
    """Rails of adapters and leaves, from links ``nic[i]`` to ``leaf[i]``; other columns have a row a node.

    1. Hosts with the usual number of adapters (at least two) show how often ordinal i sits on leaf l.
    Ordinals whose leaves mostly agree (cosine above 1/2) are one rail; a single rail is none. 2. A leaf's
    rail is that of most of these adapters. 3. The rule: each device name goes to the rail where most adapters
    of that name sit; it also gives the rail of leaves that serve only hosts with adapters missing.

    A rail is set only if the majority on its leaves, and then the rule, explain at least 80 % of the
    adapters. Adapters of hosts with one, those on leaves without a rail, and those of small hosts (half the
    usual number of adapters or fewer) that are mostly wired otherwise, a manager's say, have none.
    """
    none = Rails(Labels.constant(None, len(host)))
    seats = _Seats.of(nic, leaf, host, local_index)
    if not seats.nic.size:
        return none
    usual = int(np.argmax(np.bincount(seats.of_host)))
    rail_of_leaf, k = _leaf_rails(seats, local_index, usual)
    if k < 2:
        return none
    rule = _rule(seats, rail_of_leaf, local_index, device, k)
    later = _majority(_times(seats.leaf[rule >= 0], rule[rule >= 0], (len(seats.leaves), k)))
    rail_of_leaf = np.where(rail_of_leaf >= 0, rail_of_leaf, later)
    follows = rule == rail_of_leaf[seats.leaf]
    by_host = np.bincount(seats.host, weights=follows)[seats.host]
    counted = rail_of_leaf[seats.leaf] >= 0
    counted &= (2 * seats.of_host > usual) | (2 * by_host >= seats.of_host)
    if (follows & counted).sum() < _EXPLAINED * counted.sum():
        return none
    rail = np.full(len(host), -1)
    rail[seats.nic[counted]] = rule[counted]
    rail[seats.leaves] = rail_of_leaf
    against = int((counted & ~follows & (rule >= 0)).sum())
    return Rails(Labels(rail, _rail_names(k)), _sentences(k, int(counted.sum()), against, device))


def _leaf_rails(seats: _Seats, local_index: Array, usual: int) -> tuple[NDArray[np.int64], int]:
    """Rail of each leaf by the hosts of ``usual`` adapters, and the number of rails; 0 where there is none."""
    whole = seats.of_host == usual
    no_rails = np.full(len(seats.leaves), -1), 0
    if usual > _MOST_ORDINALS or whole.sum() < 2 * usual:
        return no_rails
    ordinals, row = np.unique(local_index[seats.nic[whole]], return_inverse=True)  # an adapter off a leaf leaves a gap
    if len(ordinals) > _MOST_ORDINALS:
        return no_rails
    times = _times(row, seats.leaf[whole], (len(ordinals), len(seats.leaves)))
    rail_of_ordinal = _alike(times)
    k = int(rail_of_ordinal.max()) + 1
    on_leaf = np.zeros((k, len(seats.leaves)))
    np.add.at(on_leaf, rail_of_ordinal, times)
    rail_of_leaf = _majority(on_leaf.T)
    if on_leaf.max(axis=0).sum() < _EXPLAINED * on_leaf.sum():
        return no_rails
    if len(np.unique(rail_of_leaf[rail_of_leaf >= 0])) < k:
        return no_rails
    return rail_of_leaf, k


def _times(row: Array, column: Array, shape: tuple[int, int]) -> NDArray[np.float64]:
    """How often each (row, column) occurs."""
    times = np.zeros(shape)
    np.add.at(times, (row, column), 1)
    return times


def _alike(times: Array) -> NDArray[np.int64]:
    """Number of the group of ordinals that each ordinal shares leaves with."""
    length = np.linalg.norm(times, axis=1, keepdims=True)
    unit = times / np.where(length > 0, length, 1)
    a, b = np.nonzero(unit @ unit.T > _ALIKE)
    group = components(len(times), a, b)
    _, first, code = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[code]


def _majority(times: Array) -> NDArray[np.int64]:
    """Column with more than half of each row's sum; -1 where there is none."""
    best = np.argmax(times, axis=1)
    return np.where(2 * times.max(axis=1) > times.sum(axis=1), best, -1)


def _rule(seats: _Seats, rail_of_leaf: Array, local_index: Array, device: Labels | None, k: int) -> NDArray[np.int64]:
    """Rail that each adapter's device name, or its ordinal where it has none, belongs on."""
    code = local_index[seats.nic].astype(np.int64)
    if device is not None:
        named = device.codes[seats.nic]
        code = np.where(named >= 0, named + np.int64(1 << 16), code)
    codes, row = np.unique(code, return_inverse=True)
    rail = rail_of_leaf[seats.leaf]
    sure = rail >= 0
    return _majority(_times(row[sure], rail[sure], (len(codes), k)))[row]


def _rail_names(k: int) -> list[str]:
    width = len(str(k))
    return [f"rail-{i:0{width}d}" for i in range(1, k + 1)]


def _sentences(k: int, n: int, against: int, device: Labels | None) -> tuple[str, ...]:
    by = "ordinal" if device is None else "device name"
    text = f"{k} rails: each {by} belongs where most adapters of that {by} sit ({n:,} adapters"
    return (text + (f", {against:,} of them elsewhere)" if against else ", all of them there)"),)
