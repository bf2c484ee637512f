"""How far endpoints are apart, and over how many shortest paths their leaves are joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.analysis.attachments import Attachments, Quotient, attachments, collapse_twins, distinct_sets
from topo.analysis.search import UNREACHED, PathCounts, path_counts, search, search_work, tally
from topo.fabric import Fabric, State
from topo.network import Network
from topo.result import Result, Row, Standing
from topo.table import Array, ranges
from topo.units import format_number
from topo.view.text import plural

__all__ = ["Paths", "paths", "paths_of"]

_MOST_WORK = 4_500_000_000
_MOST_CELLS = 50_000_000
_MOST_OFFSET = 1 << 8


@dataclass(frozen=True)
class Paths(Result):
    """Distances of all pairs of endpoints in hops (links on the path), and path diversity between leaves.

    ``pairs_by_hops`` maps hops to unordered pairs of endpoints; ``mean_hops`` is over joined pairs. From a
    sample the pairs are estimates, ``diameter_hops`` is the largest seen, and ``mean_hops_interval`` is a 95
    % interval.
    """

    fabric: str
    kinds: tuple[str, ...]
    n_endpoints: int
    pairs_by_hops: dict[int, int]
    n_disconnected_pairs: int
    diameter_hops: int | None
    mean_hops: float | None
    mean_hops_interval: tuple[float, float] | None
    path_counts: tuple[PathCounts, ...]
    standing: Standing

    title: ClassVar[str] = "Distances and paths"

    def rows(self) -> list[Row]:
        """Distances first, then paths by the distance of the leaves."""
        rows = [
            Row(
                "diameter",
                "no pair is joined" if self.diameter_hops is None else self.diameter_hops,
                "" if self.diameter_hops is None else "hops",
                self.standing,
            ),
        ]
        if self.mean_hops is not None:
            rows.append(Row("mean distance", self.mean_hops, "hops", self.standing))
        total = sum(self.pairs_by_hops.values()) + self.n_disconnected_pairs
        for hops, pairs in self.pairs_by_hops.items():
            rows.append(Row(f"endpoint pairs {plural(hops, 'hop')} apart", f"{pairs:,} ({_percent(pairs, total)})"))
        if self.n_disconnected_pairs:
            share = _percent(self.n_disconnected_pairs, total)
            rows.append(Row("endpoint pairs without a path", f"{self.n_disconnected_pairs:,} ({share})"))
        for count in self.path_counts:
            label = f"shortest paths between leaves {plural(count.hops_between_leaves, 'hop')} apart"
            nodes = (count.node_paths_min, count.node_paths_median, count.node_paths_max)
            links = (count.link_paths_min, count.link_paths_median, count.link_paths_max)
            rows.append(Row(f"{label}, by nodes", _three(nodes)))
            rows.append(Row(f"{label}, by links", _three(links)))
        return rows


def paths(fabric: Fabric, *, kinds: Sequence[str] | None = None, state: State | None = None, seed: int = 0) -> Paths:
    """Distances between all endpoints and numbers of shortest paths between all leaves.

    A hop is one link on a path from endpoint to endpoint: 2 under one leaf of a leaf-spine fabric, 4
    elsewhere. Nothing relays through a node that forwards nothing; parts of a host relay their own host's
    traffic only. Exact where the search is some twenty seconds of work at most: relays that are twins (same
    neighbours over the same numbers of links) are searched from once, so a k=160 fat-tree needs 160 searches.
    Larger irregular fabrics are searched from a sample of the endpoints' attachments, drawn with ``seed``.

    >>> import topo
    >>> found = paths(topo.fat_tree(8))
    >>> found.pairs_by_hops, found.diameter_hops
    ({2: 192, 4: 768, 6: 7168}, 6)
    >>> [(c.hops_between_leaves, c.node_paths_max) for c in found.path_counts]
    [(2, 4), (4, 16)]

    :raises ParameterError: an unknown link kind.
    """
    return paths_of(attachments(Network.of(fabric, kinds=kinds, state=state)), seed=seed)


def paths_of(attached: Attachments, *, seed: int = 0) -> Paths:
    """The same where the attachments of a network are known."""
    quotient = collapse_twins(attached.adjacency)
    groups = _grouped(attached, quotient)
    chosen = _chosen(quotient, groups, seed)
    distance, counts = _searched(attached, quotient, groups, chosen)
    bins, moments = _distances(groups, chosen, distance)
    return _answer(groups, chosen, bins, moments, counts, seed)


class _Groups(NamedTuple):
    """Endpoints by the set of (relay, offset) they attach to, sets by their signature of (class, offset)."""

    attached: Attachments
    set_of: Array  # set of each endpoint, -1 alone
    set_size: Array  # endpoints of each set
    set_start: Array
    set_key: Array  # relay * _MOST_OFFSET + offset
    signature_of: Array  # signature of each set
    signature_size: Array  # endpoints of each signature
    signature_start: Array
    signature_class: Array  # position in ``classes``
    signature_offset: Array
    classes: Array  # quotient classes that endpoints attach to


def _grouped(attached: Attachments, quotient: Quotient) -> _Groups:
    key = attached.relay * _MOST_OFFSET + attached.offset
    set_of, start, keys = distinct_sets(attached.endpoint, key, len(attached.endpoints))
    size = np.bincount(set_of[set_of >= 0], minlength=len(start) - 1)
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    folded = quotient.of[keys // _MOST_OFFSET] * _MOST_OFFSET + keys % _MOST_OFFSET
    order = np.lexsort((folded, owner))
    owner, folded = owner[order], folded[order]
    keep = np.ones(len(owner), bool)
    keep[1:] = (owner[1:] != owner[:-1]) | (folded[1:] != folded[:-1])
    signature, sig_start, sig_key = distinct_sets(owner[keep], folded[keep], len(start) - 1)
    classes, position = np.unique(sig_key // _MOST_OFFSET, return_inverse=True)
    sig_size = np.bincount(signature, weights=size, minlength=len(sig_start) - 1).astype(np.int64)
    return _Groups(
        attached,
        set_of,
        size,
        start,
        keys,
        signature,
        sig_size,
        sig_start,
        position,
        sig_key % _MOST_OFFSET,
        classes,
    )


class _Chosen(NamedTuple):
    """Signatures to search from, and the classes they need (positions in ``_Groups.classes``)."""

    signatures: Array
    positions: Array
    is_all: bool


def _chosen(quotient: Quotient, groups: _Groups, seed: int) -> _Chosen:
    n, n_classes = len(groups.signature_size), len(groups.classes)
    most = _MOST_WORK // max(search_work(quotient, 1, n_classes), 1)
    most = max(1, min(most, _MOST_CELLS // max(n_classes, 1), _MOST_CELLS // max(n, 1)))
    if n_classes <= most and n <= most:
        return _Chosen(np.arange(n), np.arange(n_classes), True)
    per_signature = max(1, math.ceil(len(groups.signature_class) / n))
    n_sampled = max(2, min(n, most // per_signature))
    sample = np.sort(np.random.default_rng(seed).choice(n, n_sampled, replace=False))
    index = ranges(groups.signature_start[sample], np.diff(groups.signature_start)[sample])[0]
    return _Chosen(sample, np.unique(groups.signature_class[index]), False)


def _searched(
    attached: Attachments, quotient: Quotient, groups: _Groups, chosen: _Chosen
) -> tuple[Array, tuple[PathCounts, ...]]:
    """Distances chosen classes x attached classes, and the path counts of the leaves among them."""
    leaves = np.bincount(quotient.of[attached.leaf_mask], minlength=len(quotient.size))
    distance = np.empty((len(chosen.positions), len(groups.classes)), np.int32)
    tallies: list[Array] = []
    low = 0
    for found in search(quotient, groups.classes[chosen.positions]):
        distance[low : low + len(found.sources)] = found.distance[:, groups.classes]
        tallies.append(tally(found, leaves))
        low += len(found.sources)
    n_leaves = int(leaves.sum())
    seen = int(leaves[groups.classes[chosen.positions]].sum())
    scale = n_leaves / seen if seen else 1.0
    return distance, path_counts(tallies, scale)


def _distances(groups: _Groups, chosen: _Chosen, distance: Array) -> tuple[Array, Array]:
    """Ordered endpoint pairs from the chosen signatures by hops (last bin: no path), and moments of each."""
    far = _between_signatures(groups, chosen, distance)
    top = int(far[far < UNREACHED].max(initial=0)) + 2 * _MOST_OFFSET
    far = np.minimum(far, top)
    sizes = groups.signature_size.astype(float)
    mine = sizes[chosen.signatures]
    bins = np.zeros(top + 1)
    moments = np.zeros((len(mine), 2))
    for i in range(len(mine)):
        line = np.bincount(far[i], weights=sizes, minlength=top + 1)
        bins += mine[i] * line
        moments[i] = mine[i] * line[:top].sum(), mine[i] * (line[:top] @ np.arange(top))
    _correct(groups, chosen, far, top, bins, moments)
    return bins, moments


def _between_signatures(groups: _Groups, chosen: _Chosen, distance: Array) -> Array:
    """Hops from each chosen signature to each signature, for endpoints that share no relay."""
    if not len(groups.signature_size):
        return np.empty((0, 0), np.int64)
    start, position, offset = groups.signature_start, groups.signature_class, groups.signature_offset
    far = distance[:, position].astype(np.int64) + offset
    if len(position) > len(start) - 1:
        far = np.minimum.reduceat(far, start[:-1], axis=1)
    length = np.diff(start)[chosen.signatures]
    index = ranges(start[chosen.signatures], length)[0]
    far = far[np.searchsorted(chosen.positions, position[index])] + offset[index][:, None]
    if len(index) > len(length):
        far = np.minimum.reduceat(far, np.cumsum(length) - length, axis=0)
    result: Array = np.where(far >= UNREACHED, UNREACHED, far)
    return result


def _correct(groups: _Groups, chosen: _Chosen, far: Array, top: int, bins: Array, moments: Array) -> None:
    """Move the pairs that share a relay, or are joined inside a host, to their true bins; drop self-pairs."""
    row = np.full(len(groups.signature_size), -1, np.int64)
    row[chosen.signatures] = np.arange(len(chosen.signatures))
    n = len(groups.set_size)
    first, second, shared = _sharing(groups)
    size, signature = groups.set_size.astype(float), groups.signature_of
    mine = row[signature[first]] >= 0
    first, second, shared = first[mine], second[mine], shared[mine]
    line = row[signature[first]]
    before = far[line, signature[second]]
    after = np.minimum(before, shared)
    pairs = size[first] * size[second]
    _move(bins, moments, top, line, before, pairs, -1)
    _move(bins, moments, top, line, after, pairs - np.where(first == second, size[first], 0), 1)
    inside = groups.attached.inside
    if not len(inside):
        return
    a, b = np.concatenate([inside[:, 0], inside[:, 1]]), np.concatenate([inside[:, 1], inside[:, 0]])
    hops = np.concatenate([inside[:, 2], inside[:, 2]])
    a, b = groups.set_of[a], groups.set_of[b]
    both = (a >= 0) & (b >= 0)
    a, b, hops = a[both], b[both], hops[both]
    mine = row[signature[a]] >= 0
    a, b, hops = a[mine], b[mine], hops[mine]
    line = row[signature[a]]
    current = far[line, signature[b]]
    if len(first):
        key, wanted = first * n + second, a * n + b
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        current = np.where(key[at] == wanted, after[at], current)
    nearer = hops < current
    ones = np.ones(int(nearer.sum()))
    _move(bins, moments, top, line[nearer], current[nearer], ones, -1)
    _move(bins, moments, top, line[nearer], hops[nearer], ones, 1)


def _move(bins: Array, moments: Array, top: int, line: Array, hops: Array, pairs: Array, sign: int) -> None:
    bins += sign * np.bincount(hops, weights=pairs, minlength=len(bins))
    joined = np.where(hops < top, pairs, 0.0)
    moments[:, 0] += sign * np.bincount(line, weights=joined, minlength=len(moments))
    moments[:, 1] += sign * np.bincount(line, weights=joined * hops, minlength=len(moments))


def _sharing(groups: _Groups) -> tuple[Array, Array, Array]:
    """Ordered pairs of sets with a relay in common, sorted, and the fewest hops over such a relay."""
    from scipy.sparse import csr_array

    n = len(groups.set_size)
    owner = np.repeat(np.arange(n), np.diff(groups.set_start))
    relay, offset = groups.set_key // _MOST_OFFSET, groups.set_key % _MOST_OFFSET
    shape = (n, len(groups.attached.relays))
    layers: dict[int, Any] = {}
    for value in np.unique(offset).tolist():
        mine = offset == value
        layers[value] = csr_array((np.ones(int(mine.sum()), np.int32), (owner[mine], relay[mine])), shape=shape)
    found = [np.empty((3, 0), np.int64)]
    for near, left in layers.items():
        for far, right in layers.items():
            both = (left @ right.T).tocoo()
            found.append(np.stack([both.row, both.col, np.full(both.nnz, near + far)]).astype(np.int64))
    table = np.concatenate(found, axis=1)
    order = np.lexsort((table[2], table[1], table[0]))
    table = table[:, order]
    keep = np.ones(table.shape[1], bool)
    keep[1:] = (table[:2, 1:] != table[:2, :-1]).any(axis=0)
    first, second, hops = table[:, keep]
    return first, second, hops


def _answer(
    groups: _Groups,
    chosen: _Chosen,
    bins: Array,
    moments: Array,
    counts: tuple[PathCounts, ...],
    seed: int,
) -> Paths:
    network = groups.attached.network
    n = len(groups.attached.endpoints)
    attached = int(groups.set_size.sum())
    sampled = int(groups.signature_size[chosen.signatures].sum())
    scale = attached / sampled if sampled else 1.0
    pairs = bins * scale / 2
    by_hops = {hops: round(float(pairs[hops])) for hops in np.flatnonzero(np.rint(pairs[:-1]) > 0).tolist()}
    alone = n - attached
    disconnected = round(float(pairs[-1])) + alone * attached + alone * (alone - 1) // 2
    lonely = _joined_alone(groups)
    for hops in lonely.tolist():
        by_hops[hops] = by_hops.get(hops, 0) + 1
    disconnected -= len(lonely)
    by_hops = dict(sorted(by_hops.items()))
    joined = sum(by_hops.values())
    mean = sum(h * p for h, p in by_hops.items()) / joined if joined else None
    standing = Standing("exact", "every pair counted")
    interval = None
    if not chosen.is_all:
        interval = _interval(moments)
        how = (
            f"from {len(chosen.signatures):,} of {len(groups.signature_size):,} attachments, "
            f"n={sampled:,} endpoints, seed {seed}"
        )
        standing = Standing("sampled", how)
    return Paths(
        network.fabric.name,
        network.kinds,
        n,
        by_hops,
        disconnected,
        max(by_hops, default=None),
        mean,
        interval,
        counts,
        standing,
    )


def _joined_alone(groups: _Groups) -> NDArray[np.int64]:
    """Hops of pairs joined inside a host or back to back where one of the two attaches to no relay."""
    inside = groups.attached.inside
    hops: NDArray[np.int64] = inside[(groups.set_of[inside[:, 0]] < 0) | (groups.set_of[inside[:, 1]] < 0), 2]
    return hops


def _interval(moments: Array) -> tuple[float, float]:
    """95 % interval of the ratio of sums hops over pairs, signatures drawn alike (ratio estimator)."""
    pairs, hops = moments.T
    ratio = hops.sum() / pairs.sum()
    spread = np.sqrt(np.sum((hops - ratio * pairs) ** 2) / max(len(pairs) - 1, 1) * len(pairs)) / pairs.sum()
    return float(ratio - 1.96 * spread), float(ratio + 1.96 * spread)


def _percent(part: int, whole: int) -> str:
    return f"{format_number(100 * part / whole, 3)} %" if whole else "0 %"


def _three(values: tuple[float, float, float]) -> str:
    low, middle, high = (format_number(value) for value in values)
    return low if low == high else f"{low} to {high}, median {middle}"
