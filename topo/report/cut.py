"""Where a cut runs: by tier pair, by bundle of groups, and how the endpoints fall to its sides."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, LinkSet
from topo.report.content import Grid, Text
from topo.table import Array, Labels
from topo.units import format_gbps
from topo.view.text import natural_key, plural
from topo.view.units import kind_word, tier_word

__all__ = ["cut_grids", "sides"]

_MOST_ROWS = 12
_NO_SWITCH = "no switch"
_MOSTLY = 0.9  # a column is used where more than this share of the endpoints bear a label


def cut_grids(fabric: Fabric, cut: LinkSet) -> Iterator[Grid | Text]:
    """The links of a cut: totals by tier pair, by the groups they join, and the first ones by name."""
    if not len(cut):
        yield Text("The cut holds no link: its halves are not joined.")
        return
    low, high = _ordered(fabric, cut)
    pair_rows = []
    nodes = fabric.nodes
    keys = np.stack([nodes.tier[high], nodes.tier[low], *(_inner_kind(fabric, end) for end in (high, low))], 1)
    for _, rows in _grouped(keys.astype(np.int64)):
        rate = float(cut.capacity_gbps[rows].sum())
        words = " - ".join(_end_word(fabric, int(end[rows[0]])) for end in (high, low))
        pair_rows.append((words, f"{len(rows):,}", format_gbps(rate)))
    yield Grid(("between", "links", "one direction"), tuple(pair_rows), "The cut by tier")
    yield _by_group(fabric, cut, low, high)
    shown = [cut[i] for i in range(min(len(cut), 6))]
    lines = tuple((link.a, link.a_port, link.b, link.b_port, format_gbps(link.capacity_gbps)) for link in shown)
    more = len(cut) - len(shown)
    note = f"{plural(more, 'more link')}; the JSON form lists them all." if more else ""
    yield Grid(("node", "port", "node", "port", "one direction"), lines, "First links of the cut", note)


def sides(fabric: Fabric, side: NDArray[np.bool_], endpoints: Array) -> Iterator[Grid | Text]:
    """How many endpoints of each pod (else rack, else leaf) stand on either side."""
    here = side[endpoints].astype(bool)
    counts = f"Sides: {int(here.sum()):,} and {int((~here).sum()):,} endpoints."
    labels, word = _endpoint_groups(fabric, endpoints)
    if len(labels.labels) == 1 and labels.labels[0] == _NO_SWITCH:
        yield Text(counts)
        return
    n = len(labels.labels)
    codes = np.where(labels.codes < 0, n, labels.codes)
    one, other = np.bincount(codes[here], minlength=n + 1), np.bincount(codes[~here], minlength=n + 1)
    used = np.flatnonzero(one + other)
    named = used[used < n]
    whole_one, whole_other = int((other[named] == 0).sum()), int((one[named] == 0).sum())
    split = len(named) - whole_one - whole_other
    yield Text(
        f"{counts} {plural(whole_one, word)} on one side, {whole_other:,} on the other, {split:,} split between them."
    )
    if not 1 < len(used) <= 2 * _MOST_ROWS:
        return
    names = [str(labels.labels[code]) if code < n else "no label" for code in used]
    order = sorted(range(len(used)), key=lambda i: natural_key(names[i]))
    rows = tuple((names[i], f"{one[used[i]]:,}", f"{other[used[i]]:,}") for i in order)
    yield Grid((word, "endpoints on one side", "on the other"), rows, "The halves")


def _endpoint_groups(fabric: Fabric, endpoints: Array) -> tuple[Labels, str]:
    """A label for each endpoint: its pod, its rack, or the first switch it is joined to."""
    nodes = fabric.nodes
    for column, word in (("pod", "pod"), ("rack", "rack")):
        labels: Labels = getattr(nodes, column)
        known = labels.codes[endpoints]
        if (known >= 0).mean() > _MOSTLY:
            stem = str(labels.labels[known.max()]).rstrip("0123456789").rstrip("-_ ")
            return labels.take(endpoints), "scalable unit" if stem.lower() in {"su", "unit"} else word
    first = np.full(len(nodes), -1, np.int64)
    for here, there in ((fabric.link_a, fabric.link_b), (fabric.link_b, fabric.link_a)):
        at_switch = nodes.kind.is_any("switch")[there]
        first[here[at_switch][::-1]] = there[at_switch][::-1]
    switches, codes = np.unique(first[endpoints], return_inverse=True)
    labels_of = Labels(codes.astype(np.int32), np.where(switches >= 0, nodes.name[switches], _NO_SWITCH))
    return labels_of, "leaf"


def _ordered(fabric: Fabric, cut: LinkSet) -> tuple[Array, Array]:
    """Lower and upper node of each link of the cut."""
    a, b = fabric.link_a[cut.rows], fabric.link_b[cut.rows]
    tier = fabric.nodes.tier
    swap = (tier[a] > tier[b]) | ((tier[a] == tier[b]) & (a > b))
    return np.where(swap, b, a), np.where(swap, a, b)


def _grouped(keys: Array) -> Iterator[tuple[Array, Array]]:
    """Distinct rows of ``keys``, largest first, each with the positions that hold it."""
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    for i in range(len(distinct) - 1, -1, -1):
        yield distinct[i], np.flatnonzero(inverse == i)


def _inner_kind(fabric: Fabric, nodes: Array) -> Array:
    """Code of the kind of nodes below the tiers, such as switches of scale-up domains; -1 for all others."""
    return np.where(fabric.nodes.tier[nodes] < 0, fabric.nodes.kind.codes[nodes], -1)


def _end_word(fabric: Fabric, node: int) -> str:
    tier = int(fabric.nodes.tier[node])
    return tier_word(tier) if tier > 0 else kind_word(str(fabric.nodes.kind[node])) if tier < 0 else "host"


def _by_group(fabric: Fabric, cut: LinkSet, low: Array, high: Array) -> Grid:
    """Bundles of the cut between pods (or single nodes where they have no pod), largest first."""
    from_names, from_code = _groups(fabric, low)
    to_names, to_code = _groups(fabric, high)
    pairs, inverse, counts = np.unique(from_code * len(to_names) + to_code, return_inverse=True, return_counts=True)
    rate = np.bincount(inverse, weights=cut.capacity_gbps, minlength=len(pairs))
    shown = _largest(rate, from_names, to_names, pairs)
    rows = [
        (str(from_names[pairs[i] // len(to_names)]), str(to_names[pairs[i] % len(to_names)]), f"{counts[i]:,}",
         format_gbps(float(rate[i])))
        for i in shown
    ]  # fmt: skip
    note = ""
    if len(pairs) > len(shown):
        more = int(counts.sum() - counts[shown].sum())
        note = f"Smaller bundles, {len(pairs) - len(shown):,} of them: {plural(more, 'more link')}."
    return Grid(("from", "to", "links", "one direction"), tuple(rows), "The cut by bundle", note)


def _largest(rate: Array, from_names: Array, to_names: Array, pairs: Array) -> list[int]:
    """The first bundles by falling rate, then by the names of their ends; of half a million only those are sorted."""
    if len(pairs) > _MOST_ROWS:
        least = np.partition(rate, -_MOST_ROWS)[-_MOST_ROWS]
        known = np.flatnonzero(rate > least)
        tied = np.flatnonzero(rate == least)
        code = pairs[tied] // len(to_names)
        first = heapq.nsmallest(_MOST_ROWS, np.unique(code).tolist(), key=lambda c: natural_key(str(from_names[c])))
        some = np.concatenate([known, tied[np.isin(code, first)]])
    else:
        some = np.arange(len(pairs))

    def place(i: int) -> tuple[object, ...]:
        low, high = divmod(int(pairs[i]), len(to_names))
        return (-rate[i], natural_key(str(from_names[low])), natural_key(str(to_names[high])))

    return heapq.nsmallest(_MOST_ROWS, some.tolist(), key=place)


def _groups(fabric: Fabric, nodes: Array) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Distinct names of the groups of some nodes, and the group of each."""
    distinct, of_node = np.unique(nodes, return_inverse=True)
    names, of_distinct = np.unique(_group_names(fabric, distinct), return_inverse=True)
    return names, of_distinct[of_node]


def _group_names(fabric: Fabric, nodes: Array) -> NDArray[np.str_]:
    """Word and pod of each node, else its name."""
    table = fabric.nodes
    pod = table.pod.values(nodes)
    words = np.array([tier_word(int(t)) if t > 0 else "host" for t in table.tier[nodes]] or [""])
    grouped = np.char.add(np.char.add(pod, " "), np.where(words == "leaf", "leaves", np.char.add(words, "s")))
    names: NDArray[np.str_] = np.where(pod != "", grouped, table.name[nodes])
    return names
