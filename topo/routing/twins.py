"""Twin rows folded: an exact quotient of the routed graph, found in linear time.

Two relays are twins when they carry the same label and have equal bundles to the same rows; two hosts with rows of
their own are twins when their parts, taken in order, have. Exchanging twins maps the routed graph onto itself, so
all of them see equal distances and next hops towards anywhere else. Twin relays are never neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.routing.core import Core
from topo.routing.weights import coded
from topo.table import Array, ranges
from topo.twins import equal_rows

__all__ = ["Quotient", "find_alike", "fold_twins", "small_codes"]


@dataclass(frozen=True, eq=False)
class Quotient:
    """Classes of rows and arcs between them.

    ``of[r]`` is the class of row r, ``size`` the members of a class, ``first`` its first row. Classes are numbered by
    first row, so relays come before out rows and these before in rows. Arc i goes from a member of class ``tail[i]``
    to *one* member of ``head[i]`` (sorted by tail); ``arc_of[b]`` is the arc that bundle b belongs to. ``unit`` is
    the unit of classes that each relay or out row is in, for telling a host's own rows from its twins'.

    Arcs from a host's copy of a chip to parts of other hosts are no bundles of the core: bundle ``away_bundle[i]``, of
    the chip itself, is part of arc ``away_arc[i]`` for ``away_members[i]`` hosts. ``between_twins`` marks arcs among
    them that lead to twins of the tail's host, not to the host; they come last of their tail.
    """

    core: Core
    of: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    unit: NDArray[np.int64]
    n_relays: int
    n_parts: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    cost: NDArray[np.int64]
    weight: NDArray[np.float64]
    built_gbps: NDArray[np.float64]
    arc_of: NDArray[np.int64]
    between_twins: NDArray[np.bool_]
    away_bundle: NDArray[np.int64]
    away_arc: NDArray[np.int64]
    away_members: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.size)


def fold_twins(core: Core, label: Array) -> Quotient:
    """Fold rows with equal neighbourhoods; ``label`` has one integer for each relay and out row.

    Finer labels are always safe. The search proposes by hash and decides by comparing every bundle.
    """
    n_sources, n_parts = core.n_relays + core.n_parts, core.n_parts
    unit = core.unit
    ptr = core.start
    twin = _both(find_alike(core) if core.alike is None else core.alike, _of_units(core, label))
    leader = core.unit_start[twin[unit]] + core.place
    is_first = leader == np.arange(n_sources)
    is_first = np.concatenate([is_first, is_first[core.n_relays :]])
    leader = np.concatenate([leader, leader[core.n_relays :] + n_parts])
    number = np.cumsum(is_first) - 1
    of = number[leader]
    arc, arc_of = _fold_bundles(core, ptr, leader, is_first)
    first = np.flatnonzero(is_first)
    size = np.bincount(of, minlength=len(first))
    away = _fold_away(core, ptr, of, first, size)
    # Arcs of the core, then those away; sorted by tail, between twins last.
    tail = np.concatenate([number[core.tail[arc]], away.tail])
    between_twins = np.concatenate([np.zeros(len(arc), bool), away.between_twins])
    bundle = np.concatenate([arc, away.of_arc])
    place = np.arange(len(tail))
    if len(away.tail):
        order = np.lexsort((between_twins, tail))
        tail, between_twins, bundle = tail[order], between_twins[order], bundle[order]
        place[order] = np.arange(len(order))
    return Quotient(
        core=core,
        of=of,
        size=size,
        first=first,
        unit=unit,
        n_relays=int(is_first[: core.n_relays].sum()),
        n_parts=int(is_first[core.n_relays : n_sources].sum()),
        tail=tail,
        head=of[core.head[bundle]],
        cost=core.cost[bundle],
        weight=core.weight[bundle],
        built_gbps=core.built_gbps[bundle],
        arc_of=place[arc_of],
        between_twins=between_twins,
        away_bundle=away.bundle,
        away_arc=place[len(arc) + away.arc],
        away_members=away.members,
    )


def find_alike(core: Core) -> NDArray[np.int64]:
    """For each unit the first one with equal bundles, forwarding, tiers and inflow, row by row."""
    start = core.start
    n_outward = int(start[core.n_relays + core.n_parts])
    return equal_rows(start[core.unit_start], _columns(core, n_outward), _own_label(core))


def _columns(core: Core, n_outward: int) -> Array:
    """What must agree between bundles of twins: place of the tail, head (inside the unit: its place), kind, weights."""
    tail, head = core.tail[:n_outward].astype(np.int64), core.head[:n_outward].astype(np.int64)
    rest = small_codes(core.kind[:n_outward], core.weight[:n_outward], core.built_gbps[:n_outward])
    if not core.n_parts:
        return (head * (int(rest.max(initial=0)) + 1) + rest)[None, :]
    outward = core.n_relays + core.n_parts
    inside = (head >= core.n_relays) & (head < outward)
    head[inside] = core.n_rows + core.place[head[inside]]
    return np.stack([head * (int(rest.max(initial=0)) + 1) + rest, core.place[tail]])


def _own_label(core: Core) -> NDArray[np.int64]:
    """One integer a unit for what its rows are, in order."""
    n_sources = core.n_relays + core.n_parts
    tier = core.network.fabric.nodes.tier[core.node[:n_sources]]
    # Copies of one chip have the same arcs to other hosts, but for each other's, whatever these are.
    chip = np.concatenate([np.full(core.n_relays, -1), core.chip])
    return _of_units(core, small_codes(core.relays[:n_sources], tier, core.inflow_gbps[:n_sources], chip))


def _of_units(core: Core, label: Array) -> NDArray[np.int64]:
    """One integer a unit, equal only where the labels of its rows are, in order."""
    if not core.n_parts or not len(label) or (label == label[0]).all():
        return label[core.unit_start[:-1]] if len(label) else np.zeros(0, np.int64)
    # A column for each row of the unit, so that the count of rows is compared too.
    return equal_rows(core.unit_start, np.stack([core.place, label]).astype(np.int64))


def _both(alike: Array, label: Array) -> NDArray[np.int64]:
    """For each unit the first one that is alike and bears the same label."""
    if not len(label) or (label == label[0]).all():
        return alike
    code = alike * (int(label.max()) + 1) + label
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    twin: NDArray[np.int64] = first[inverse]
    return twin


def _fold_bundles(core: Core, ptr: Array, leader: Array, is_first: Array) -> tuple[Array, Array]:
    """Bundles that stand for the quotient's arcs, and the arc of every bundle."""
    tail = core.tail
    # Bundle number p of a row corresponds to number p of its class's first row: same order, equal heads.
    twin = np.arange(len(tail)) + (ptr[leader] - ptr[:-1])[tail]
    of_first = np.flatnonzero(is_first[tail])
    at = tail[of_first].astype(np.int64)
    n_kinds = int(core.kind.max(initial=0)) + 1
    key = (at * core.n_rows + leader[core.head[of_first]]) * n_kinds + core.kind[of_first]
    both = is_first[core.head[of_first]]
    arcs, keys = of_first[both], key[both]
    arc_of = np.zeros(len(tail), np.int64)
    arc_of[of_first] = np.searchsorted(keys, key)
    return arcs, arc_of[twin]


class _Away(NamedTuple):
    """Arcs from copies of chips to other hosts: (tail class, a bundle of the arc), and which bundles they stand for."""

    tail: Array
    of_arc: Array
    between_twins: Array
    bundle: Array
    arc: Array
    members: Array


def _fold_away(core: Core, ptr: Array, of: Array, first: Array, size: Array) -> _Away:
    """Arcs from classes of copies to parts of other hosts beside the chip, read off the chip's own bundles."""
    n_sources = core.n_relays + core.n_parts
    of_first = first[(first >= core.n_relays) & (first < n_sources)]
    copy = of_first[core.chip[of_first - core.n_relays] >= 0]
    chip = core.chip[copy - core.n_relays]
    bundle, which = ranges(ptr[chip], ptr[chip + 1] - ptr[chip])
    enters = core.head[bundle] >= n_sources
    which, bundle = which[enters], bundle[enters]
    tail, head = of[copy[which]], of[core.head[bundle]]
    same = core.unit[copy[which]] == core.unit[first[head] - core.n_parts]
    members = size[tail] - same
    there = members > 0
    tail, head, bundle, same, members = tail[there], head[there], bundle[there], same[there], members[there]
    n_kinds = int(core.kind.max(initial=0)) + 1
    key = (tail * len(first) + head) * n_kinds + core.kind[bundle]
    _, one, arc = np.unique(key, return_index=True, return_inverse=True)
    return _Away(tail[one], bundle[one], same[one], bundle, arc, members)


def small_codes(*columns: Array) -> NDArray[np.int64]:
    """One integer for each distinct combination of values."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if len(column) and (column == column[0]).all():
            continue
        part = column.astype(np.int64) if column.dtype == bool else coded(column)
        code = code * (int(part.max(initial=0)) + 1) + part
        if code.size and code.max() > len(code):
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    return code
