"""Which lower switches of a pair of tiers are cabled alike, and where one belongs that lost most of its cables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.tier_pairs import TierPair

__all__ = ["is_like", "row_groups"]

_ALIKE = 0.5
_CHUNK = 512


def row_groups(cabling: Cabling, pair: TierPair) -> list[NDArray[np.int64]]:
    """Rows alike by weighted Jaccard (sum of least over sum of greatest counts), lone ones joined where they belong."""
    n = len(pair.rows)
    part = components(n, *_alike(pair.count))
    size = np.bincount(part)
    groups = {code: np.flatnonzero(part == code) for code in np.flatnonzero(size > 1).tolist()}
    usual = int(np.median(size[size > 1])) if (size > 1).any() else 1
    _dissolve_pairs(pair, groups, usual)
    held = np.concatenate([np.empty(0, np.int64), *groups.values()])
    lone = np.setdiff1d(np.arange(n), held)
    whole = dict(groups)
    # Those with most cables first: what they fill is no longer open to one that has hardly any left.
    for row in lone[np.argsort(-pair.count[lone].sum(axis=1), kind="stable")].tolist():
        code = _home(cabling, pair, row, (groups, whole), usual)
        if code is not None:
            groups[code] = np.append(groups[code], row)
    return [np.sort(members) for members in groups.values()]


def _dissolve_pairs(pair: TierPair, groups: dict[int, NDArray[np.int64]], usual: int) -> None:
    """Two rows alike that reach only what larger groups reach are no block of their own: exchanged cables do that."""
    reach = {code: 2 * (pair.count[members] > 0).sum(axis=0) > len(members) for code, members in groups.items()}
    larger = [mask for code, mask in reach.items() if len(groups[code]) > 2]
    if usual <= 2 or not larger:
        return
    elsewhere = np.any(larger, axis=0)
    for code in [code for code, members in groups.items() if len(members) == 2]:
        if elsewhere[reach[code]].all():
            del groups[code]


def _home(
    cabling: Cabling,
    pair: TierPair,
    row: int,
    groups: tuple[dict[int, NDArray[np.int64]], dict[int, NDArray[np.int64]]],
    usual: int,
) -> int | None:
    """The group that a lone row belongs to; None where nothing tells.

    That with at least half of its cables; else, of those short of members and without one that stands over the same
    switches, that with most of its cables, if it is the only one. ``groups`` is as it is filled and as it was first:
    rows that were joined already count as members, and tell nothing of what is usual.
    """
    if len(groups[1]) == 1 and not pair.count[row].any():  # what has no cable left, and one block only to be of
        code, members = next(iter(groups[1].items()))
        return code if _fits(cabling, pair, row, members) else None
    ranked: list[tuple[tuple[float, int, int, bool], int]] = []
    for code, members in groups[1].items():
        if not _fits(cabling, pair, row, members):
            continue
        reach = 2 * (pair.count[members] > 0).sum(axis=0) > len(members)
        held = float(pair.count[row][reach].sum() / max(pair.count[row].sum(), 1))
        is_short = len(groups[0][code]) < usual
        if held >= 0.5 or is_short:
            at_home, siblings = _likeness(cabling, pair, row, groups[0][code])
            ranked.append(((held, at_home, -siblings, is_short), code))
    if not ranked:
        return None
    ranked.sort(reverse=True)
    if ranked[0][0][0] >= 0.5:
        return ranked[0][1]
    open_to_it = [(rank[0], code) for rank, code in ranked if rank[3] and rank[2] == 0]
    most = [code for held, code in open_to_it if held == open_to_it[0][0]]
    return most[0] if len(most) == 1 else None


def _likeness(cabling: Cabling, pair: TierPair, row: int, members: Array) -> tuple[int, int]:
    """What tells where a row belongs that lies between two blocks.

    Cables on the ports that most members plug alike, above and below; and members that stand over the same switches,
    of which a block seldom has two.
    """
    near, n = pair.rows[members], len(cabling.fabric.nodes)
    key = cabling.number[cabling.low_port] * n + cabling.high
    keys, times = np.unique(key[np.isin(cabling.low, near)], return_counts=True)
    own = key[cabling.low == pair.rows[row]]
    at_home = int(np.isin(own, keys[2 * times >= len(members)]).sum())
    beneath = cabling.high == pair.rows[row]
    ports, times = np.unique(cabling.number[cabling.low_port[np.isin(cabling.high, near)]], return_counts=True)
    usual = ports[2 * times >= times.max(initial=0)] if len(ports) else ports
    alike = np.isin(cabling.number[cabling.low_port[beneath]], usual)
    at_home += int(2 * alike.sum() > len(alike))
    below = cabling.low[beneath]
    shared = np.isin(cabling.low, below) & np.isin(cabling.high, near)
    held = np.unique(np.stack([cabling.high[shared], cabling.low[shared]]), axis=1)[0]
    _, common = np.unique(held, return_counts=True)
    return at_home, int((2 * common >= max(len(np.unique(below)), 1)).sum())


def _alike(count: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of rows whose weighted Jaccard similarity is at least one half."""
    from scipy.sparse import csr_array, hstack

    most = int(count.max(initial=0))
    copies = [csr_array((count >= copy).astype(np.float32)) for copy in range(1, most + 1) if (count >= copy).any()]
    unary = csr_array(hstack(copies)) if copies else csr_array((len(count), 1), dtype=np.float32)
    total = count.sum(axis=1)
    a, b = [], []
    for start in range(0, len(count), _CHUNK):
        shared = csr_array(unary[start : start + _CHUNK] @ unary.T).tocoo()
        row, column = shared.row + start, shared.col
        near = shared.data >= _ALIKE * (total[row] + total[column] - shared.data)
        a.append(row[near])
        b.append(column[near])
    return np.concatenate(a) if a else np.empty(0, np.int64), np.concatenate(b) if b else np.empty(0, np.int64)


def _fits(cabling: Cabling, pair: TierPair, row: int, members: Array) -> bool:
    """Whether a lone row may be one of a block that lost its cables: like ports, about as many endpoints."""
    if not is_like(cabling, int(pair.rows[row]), pair.rows[members]):
        return False
    if pair.lower != 1:
        return True
    ends = cabling.n_endpoints[pair.rows]
    usual = float(np.median(ends[members]))
    return bool(0.5 * usual <= ends[row] <= 2 * usual)


def is_like(cabling: Cabling, node: int, peers: Array) -> bool:
    """Whether a switch may be one of its peers that lost cables: it has as many ports, or those that hold none are not
    known, and its ports are among theirs and its name is of their kind.

    A table of cables names only the ports that hold one: a switch that lost most of its cables has few ports there.
    """
    ports = cabling.n_ports
    usual = np.median(ports[peers])
    if ports[node] == usual:
        return True
    if ports[node] > usual or cabling.n_free[node] or cabling.n_free[peers].any():
        return False
    kinds, times = np.unique(cabling.kind[peers], return_counts=True)
    of_node = cabling.fabric.ports.node
    own, theirs = (cabling.number[np.isin(of_node, nodes)] for nodes in (node, peers))
    return bool(cabling.kind[node] == kinds[np.argmax(times)] and np.isin(own, theirs).all())
