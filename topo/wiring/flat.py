"""Fabrics of one tier (tori, HyperX, dragonflies, Slim Flies): the cables that the numbers of links and the paths tell.

A switch with too few links lacks a cable, but to which other? Of the pairs that lack one each, those are joined whose
paths would be like those of the other cables: ``A^2`` and ``A^3`` between the ends, the cable itself left out, count
the triangles and squares that a cable closes. In a torus every cable closes as many squares as any other, and two
switches that no cable should join would close more or fewer. In a random graph nothing is told by it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.even import Symptom, say_apart, say_between, say_moved, say_too_many, usual_total
from topo.wiring.learnt import MINN, Learnt

__all__ = ["say_flat"]

_MOST_STUBS = 24
_MOST_CELLS = 1_000_000
_MOST_SWITCHES = 250_000
_MOST_SOURCES = 128
_FEWEST_SOURCES = 32
_OFTEN = 0.02
_TELLS = 20.0
_CLEAR = math.log(50)
_NEARLY = 0.9
_RARE = 0.01
_ROUNDS = 4
_SUPPORT_WHEN_MENDED = 0.6

Pair = tuple[int, int]


@dataclass(frozen=True)
class _Mended:
    """Cables to move, each as (pair it joins, pair it should join); pairs to join, and to part. Rows of switches."""

    moves: tuple[tuple[Pair, Pair], ...] = ()
    laid: tuple[Pair, ...] = ()
    gone: tuple[Pair, ...] = ()


def say_flat(cabling: Cabling, learnt: Learnt) -> None:
    """Switches of a flat fabric with another number of links: as the cables that lack where these are told, else each.

    Where less than 80 % have one number it is the largest of all, of 60 %, and only where all that lacks is told.
    """
    n = len(cabling.fabric.nodes)
    degree = np.bincount(cabling.low, minlength=n) + np.bincount(cabling.high, minlength=n)
    for tier in range(1, int(cabling.tier.max(initial=0)) + 1):
        nodes = np.flatnonzero(cabling.is_switch & (cabling.tier == tier))
        mine = degree[nodes]
        usual = usual_total(mine)
        meant = _largest(mine) if usual is None else usual
        if meant is None or (mine == meant).all():
            if usual is not None:
                learnt.rule(f"links to switches of {len(nodes):,} switches, {usual} each", len(nodes), len(nodes))
            continue
        lacks = {int(i): int(meant - mine[i]) for i in np.flatnonzero(mine != meant).tolist()}
        mended = _mended(_matrix(cabling, nodes), lacks)
        if mended is None and usual is None:
            continue
        agree = int((mine == meant).sum())
        learnt.rule(f"links to switches of {len(nodes):,} switches, {meant} each", agree, len(nodes))
        symptoms = {int(nodes[i]): _symptom(cabling, int(nodes[i]), int(mine[i]), meant, agree, mine) for i in lacks}
        if mended is None:
            say_apart(symptoms.values(), learnt)
        else:
            _say_mended(cabling, nodes, mended, symptoms, learnt)


def _largest(totals: Array) -> int | None:
    """The largest number, where at least 60 % of four or more switches have it."""
    most = int(totals.max(initial=0))
    is_common = len(totals) >= MINN and (totals == most).sum() >= _SUPPORT_WHEN_MENDED * len(totals)
    return most if is_common else None


def _symptom(cabling: Cabling, node: int, total: int, usual: int, agree: int, peers: Array) -> Symptom:
    said = f"{total} links to switches; {agree:,} of {len(peers):,} like switches have {usual}"
    return Symptom("links-unlike", str(cabling.fabric.nodes.name[node]), said, cabling.first_place(node))


def _say_mended(
    cabling: Cabling, nodes: Array, mended: _Mended, symptoms: Mapping[int, Symptom], learnt: Learnt
) -> None:
    """One finding a cable, at the switches whose numbers it brings back."""
    for was, should in mended.moves:
        kept = next(iter(set(was) & set(should)))
        (left,), (entered,) = set(was) - {kept}, set(should) - {kept}
        ends = int(nodes[kept]), int(nodes[left]), int(nodes[entered])
        say_moved(cabling, ends, (symptoms[ends[1]], symptoms[ends[2]]), learnt)
    for pair in mended.laid:
        a, b = (int(nodes[i]) for i in pair)
        say_between(cabling, (a, b), (symptoms[a], symptoms[b]), learnt)
    for pair in mended.gone:
        a, b = (int(nodes[i]) for i in pair)
        say_too_many(cabling, (a, b), (symptoms[a], symptoms[b]), learnt)


def _matrix(cabling: Cabling, nodes: Array) -> Any:
    """Cables of each pair of the switches, a symmetric matrix."""
    from scipy.sparse import coo_array

    place = np.full(len(cabling.fabric.nodes), -1)
    place[nodes] = np.arange(len(nodes))
    a, b = place[cabling.low], place[cabling.high]
    both = (a >= 0) & (b >= 0)
    ends = np.concatenate([a[both], b[both]]), np.concatenate([b[both], a[both]])
    return coo_array((np.ones(len(ends[0])), ends), shape=(len(nodes), len(nodes))).tocsr()


def _mended(matrix: Any, lacks: Mapping[int, int]) -> _Mended | None:
    """The cables to move and to lay so that every switch has the usual number; None where nothing tells them.

    ``lacks`` is how many cables each switch has too few, below 0 too many.
    """
    short = [node for node, n in lacks.items() for _ in range(n)]
    long = [node for node, n in lacks.items() for _ in range(-n)]
    if len(short) + len(long) == 2 and len(lacks) == 2 and len(short) != 1:
        return _one_cable(matrix, (min(lacks), max(lacks)), is_laid=bool(short))
    if len(short) + len(long) > _MOST_STUBS or len(short) < len(long) or (len(short) - len(long)) % 2:
        return None
    if (matrix.data != 1).any() or matrix.shape[0] > _MOST_SWITCHES:
        return None
    unlike = np.array(sorted(lacks), np.int64)
    odds = _Odds.of(matrix, unlike)
    moves: list[tuple[Pair, Pair]] = []
    for node in long:
        move = _best_move(matrix, odds, node, short)
        if move is None:
            return None
        moves.append(move)
        (entered,) = set(move[1]) - set(move[0])
        short.remove(entered)
        matrix = _changed(matrix, [move[1]], [move[0]])
    if moves and not short and not _Odds.of(matrix, unlike).are_usual():
        return None
    laid = _best_laid(matrix, short) if short else ()
    return None if laid is None else _Mended(tuple(moves), tuple(laid))


def _one_cable(matrix: Any, pair: Pair, *, is_laid: bool) -> _Mended | None:
    """The cable that two switches lack, or have too many: no other explains both, unless the paths speak against it."""
    if not is_laid:
        return _Mended(gone=(pair,)) if matrix[pair] else None
    whole = _changed(matrix, [pair])
    is_small = (whole.data == 1).all() and whole.shape[0] <= _MOST_SWITCHES
    odds = _Odds.of(whole, np.array(pair)) if is_small else None
    is_unlike = odds is not None and odds.are_usual() and not odds.tells(_paths_of(whole, [pair])[pair])
    return None if is_unlike else _Mended(laid=(pair,))


@dataclass(frozen=True, eq=False)
class _Odds:
    """How often the paths between two switches are as they are: with a cable between them, and without."""

    joined: Counter[Pair]
    apart: Counter[Pair]

    @classmethod
    def of(cls, matrix: Any, unlike: Array) -> _Odds:
        """Counted from some of the switches to all others, pairs of two that are ``unlike`` left out."""
        n = matrix.shape[0]
        n_sources = min(n, _MOST_SOURCES, max(_FEWEST_SOURCES, _MOST_CELLS // n))
        sources = np.unique(np.linspace(0, n - 1, n_sources).astype(np.int64))
        two, three, own = _paths(matrix, sources)
        other = np.ones(own.shape, bool)
        other[np.arange(len(sources)), sources] = False
        other[np.ix_(np.isin(sources, unlike), unlike)] = False
        counters, wide = [], int(three.max(initial=0)) + 1
        for mask in ((own > 0) & other, (own == 0) & other):
            codes, times = np.unique(
                two[mask].astype(np.int64) * wide + three[mask].astype(np.int64), return_counts=True
            )
            keys = zip((codes // wide).tolist(), (codes % wide).tolist(), strict=True)
            counters.append(Counter(dict(zip(keys, times.tolist(), strict=True))))
        return cls(counters[0], counters[1])

    def weight(self, paths: Pair) -> float:
        """Logarithm of how much likelier such paths are where a cable is."""
        here = (self.joined[paths] + _RARE) / (self.joined.total() + _RARE)
        there = (self.apart[paths] + 1) / (self.apart.total() + 1)
        return math.log(here) - math.log(there)

    def tells(self, paths: Pair) -> bool:
        """Whether many cables have such paths, and pairs without a cable seldom do."""
        here = self.joined[paths] / max(1, self.joined.total())
        return here >= _OFTEN and here >= _TELLS * self.apart[paths] / max(1, self.apart.total())

    def are_usual(self) -> bool:
        """Whether nearly all cables have paths that tell a cable."""
        return sum(n for paths, n in self.joined.items() if self.tells(paths)) >= _NEARLY * self.joined.total()


def _paths(matrix: Any, sources: Array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Paths of two and of three cables from some switches to all, a cable between the two left out, and that cable."""
    one = matrix[sources]
    two = one @ matrix
    own, degree = one.toarray(), np.asarray(matrix.sum(axis=1)).ravel()
    three = (two @ matrix).toarray() - own * (degree[sources][:, None] + degree[None, :] - 1)
    return two.toarray(), three, own


def _changed(matrix: Any, laid: Iterable[Pair], gone: Iterable[Pair] = ()) -> Any:
    from scipy.sparse import coo_array

    rows = [(a, b, 1.0) for a, b in laid] + [(a, b, -1.0) for a, b in gone]
    if not rows:
        return matrix
    a, b, by = (np.array(column) for column in zip(*rows, strict=True))
    change = coo_array((np.tile(by, 2), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=matrix.shape)
    changed = (matrix + change.tocsr()).tocsr()
    changed.eliminate_zeros()
    return changed


def _paths_of(matrix: Any, pairs: Sequence[Pair]) -> dict[Pair, Pair]:
    """Paths of two and of three cables between the two of each pair."""
    sources = np.unique([a for a, _ in pairs])
    two, three, _ = _paths(matrix, sources)
    row = {one: i for i, one in enumerate(sources.tolist())}
    return {pair: (int(two[row[pair[0]], pair[1]]), int(three[row[pair[0]], pair[1]])) for pair in pairs}


def _best_move(matrix: Any, odds: _Odds, node: int, short: Sequence[int]) -> tuple[Pair, Pair] | None:
    """Which cable of a switch with too many belongs at one of those with too few; None where no one stands out."""
    near = matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]].tolist()
    gains = []
    for kept in near:
        without = _changed(matrix, (), [(kept, node)])
        there = set(matrix.indices[matrix.indptr[kept] : matrix.indptr[kept + 1]].tolist()) | {kept}
        pairs = [(kept, node), *((kept, one) for one in dict.fromkeys(short) if one not in there)]
        paths = _paths_of(without, pairs)
        gains += [
            (odds.weight(paths[pair]) - odds.weight(paths[pairs[0]]), (pairs[0], pair))
            for pair in pairs[1:]
            if odds.tells(paths[pair]) and not odds.tells(paths[pairs[0]])
        ]
    gains.sort(reverse=True)
    is_clear = bool(gains) and (len(gains) == 1 or gains[0][0] - gains[1][0] >= _CLEAR)
    return gains[0][1] if is_clear else None


def _best_laid(matrix: Any, short: Sequence[int]) -> list[Pair] | None:
    """The pairs to join, each switch as often as it lacks a cable; None where paths do not tell, or others do as well.

    Every other choice leaves out one of the pairs: the best of those that do must be clearly worse.
    """
    joined = set(zip(*(ends.tolist() for ends in matrix.nonzero()), strict=True))
    stubs = list(enumerate(short))
    pairs = {(i, j): (a, b) for (i, a), (j, b) in combinations(stubs, 2) if a != b and (a, b) not in joined}
    best = _settled(matrix, pairs, len(short))
    if best is None or not best[2]:
        return None
    for one in best[1]:
        others = {stub: pair for stub, pair in pairs.items() if set(pair) != set(one)}
        other = _settled(matrix, others, len(short))
        if other is not None and best[0] - other[0] < _CLEAR:
            return None
    return None if _has_rival(matrix, best[1], joined) else best[1]


def _has_rival(matrix: Any, laid: Sequence[Pair], joined: Collection[Pair]) -> bool:
    """Whether two of the cables could as well join their four switches otherwise."""
    whole = _changed(matrix, laid)
    odds = _Odds.of(whole, np.unique(np.array(laid)))
    mine = _paths_of(whole, laid)
    weight = sum(map(odds.weight, mine.values()))
    for (i, (a, b)), (j, (c, d)) in combinations(enumerate(laid), 2):
        for pairs in (((a, c), (b, d)), ((a, d), (b, c))):
            if any(one == other or (one, other) in joined for one, other in pairs):
                continue
            others = [*(pair for k, pair in enumerate(laid) if k not in (i, j)), *pairs]
            if len({*map(frozenset, laid), *map(frozenset, others)}) < len(laid) + 2:
                continue  # a cable twice, or the same cables
            paths = _paths_of(_changed(matrix, others), others)
            if weight - sum(map(odds.weight, paths.values())) < _CLEAR:
                return True
    return False


def _settled(matrix: Any, pairs: Mapping[Pair, Pair], n: int) -> tuple[float, list[Pair], bool] | None:
    """The best of a few rounds, each by the paths beside the last one's cables: weight, pairs, whether all tell."""
    import networkx as nx

    best: tuple[float, list[Pair], bool] | None = None
    laid: list[Pair] = []
    unlike = np.array(sorted({node for pair in pairs.values() for node in pair}), np.int64)
    for _ in range(_ROUNDS if pairs else 0):
        beside = _changed(matrix, laid)
        odds = _Odds.of(beside, unlike)
        paths = _paths_of(beside, list(pairs.values()))
        graph: nx.Graph[int] = nx.Graph()
        graph.add_weighted_edges_from((i, j, odds.weight(paths[pair])) for (i, j), pair in pairs.items())
        chosen = nx.max_weight_matching(graph, maxcardinality=True)
        now = sorted(pairs[min(stub), max(stub)] for stub in chosen)
        if 2 * len(now) < n or len(set(map(frozenset, now))) < len(now):
            return best
        whole = _changed(matrix, now)
        odds = _Odds.of(whole, unlike)
        paths = _paths_of(whole, now)
        weight = sum(odds.weight(paths[pair]) for pair in now)
        if best is None or weight > best[0]:
            best = weight, now, odds.are_usual() and all(odds.tells(paths[pair]) for pair in now)
        if now == laid:
            break
        laid = now
    return best
