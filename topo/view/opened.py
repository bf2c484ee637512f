"""One host opened: scale-up switches above accelerators and adapters, PCIe switches and CPUs below."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.output import plain
from topo.table import Array
from topo.units import format_gbps
from topo.view.alike import AlikeClass
from topo.view.scene import Box, Scene, range_of
from topo.view.text import natural_key, plural
from topo.view.units import Units, kind_word

__all__ = ["host_scene"]

_CPU, _PCIE, _END, _CHIP = 0, 1, 2, 3
_ROWS = {"cpu": _CPU, "pcie_switch": _PCIE, "scale_up_switch": _CHIP}
_SHADES = {"scale_up_switch": "t4", "accelerator": "t5", "nic": "t1", "pcie_switch": "t2"}
_MOST_IN_A_ROW = 22
_ORDER = {"accelerator": 0, "nic": 1}


@dataclass(frozen=True, eq=False)
class _Part:
    """A box to be: its units, its row, the kind they share, and its columns."""

    units: NDArray[np.int64]
    row: int
    kind: str
    start: float
    end: float


def host_scene(fabric: Fabric, alike: AlikeClass) -> Scene:
    """The parts of a host one by one, or by kind where a row would hold more than 22.

    The ends of the host's internal paths stand in the order of the CPU and PCIe switch they hang from, so that
    lines below them do not cross.
    """
    nodes = fabric.nodes
    inside = nodes.host.codes == alike.code
    links = np.flatnonzero(inside[fabric.link_a] & inside[fabric.link_b])
    rows = np.array([_ROWS.get(str(kind), _END) for kind in nodes.kind.labels], np.int64)[nodes.kind.codes]
    key = np.where(inside, np.arange(len(nodes)), -1)
    units = Units.folded(fabric, key, rows, links, named_by="", strip=True)
    name = plain(str(nodes.host.labels[alike.code]))
    scene = Scene(units, alike.heading(f"Inside {name}"), line_word="link", stands_for=alike)
    parts, scene.columns = _parts(units)
    scene.boxes = [_box(units, part) for part in parts]
    scene.said = _outward(fabric, inside)
    return scene


def _parts(units: Units) -> tuple[list[_Part], int]:
    """Boxes of every row with their columns: ends in tree order, what they hang from in the middle below them."""
    kind = units.fabric.nodes.kind.values(units.node)
    parent = _parents(units)
    leader = _leaders(units, parent, kind)
    keys = {u: _tree_key(units, parent, leader, kind, u) for u in range(len(units))}
    ends = sorted((u for u in range(len(units)) if units.tier[u] == _END), key=keys.__getitem__)
    groups = _grouped(np.array(ends, np.int64), kind)
    below = {
        row: np.array(sorted(np.flatnonzero(units.tier == row).tolist(), key=keys.__getitem__), np.int64)
        for row in (_PCIE, _CPU)
    }
    columns = max(len(groups), 1, *(len(_grouped(own, kind)) for own in below.values()))
    step = columns / max(len(groups), 1)
    parts = [_Part(own, _END, str(kind[own[0]]), i * step, (i + 1) * step) for i, own in enumerate(groups)]
    span = {int(u): (part.start, part.end) for part in parts for u in part.units}
    for row in (_PCIE, _CPU):
        parts += _hung(below[row], row, parent, span, columns, kind)
    chips = np.array(sorted(np.flatnonzero(units.tier == _CHIP).tolist(), key=keys.__getitem__), np.int64)
    boxes = _grouped(chips, kind)
    parts += [
        _Part(own, _CHIP, "scale_up_switch", i * columns / len(boxes), (i + 1) * columns / len(boxes))
        for i, own in enumerate(boxes)
    ]
    return parts, columns


def _grouped(ordered: Array, kind: Array) -> list[Array]:
    """One by one if they fit in a row, else by kind."""
    if len(ordered) <= _MOST_IN_A_ROW:
        return [ordered[i : i + 1] for i in range(len(ordered))]
    return [ordered[kind[ordered] == one] for one in dict.fromkeys(kind[ordered].tolist())]


def _parents(units: Units) -> NDArray[np.int64]:
    """For each end and PCIe switch the unit of a lower row it hangs from first; -1 for none."""
    parent = np.full(len(units), -1, np.int64)
    for a, b in ((units.a, units.b), (units.b, units.a)):
        down = units.tier[a] > units.tier[b]
        down &= units.tier[a] <= _END
        for high, low in zip(a[down].tolist(), b[down].tolist(), strict=True):  # a host has tens of links
            if parent[high] < 0 or units.tier[low] > units.tier[parent[high]]:
                parent[high] = low
    return parent


def _leaders(units: Units, parent: Array, kind: Array) -> NDArray[np.int64]:
    """For each end itself; for an accelerator that hangs from nothing below, the adapter it hangs from."""
    leader = np.arange(len(units))
    io = units.fabric.links.kind.is_any("host_io")[units.links]
    for a, b in ((units.a, units.b), (units.b, units.a)):
        level = io & (units.tier[a] == _END) & (units.tier[b] == _END) & (parent[a] < 0) & (parent[b] >= 0)
        level &= kind[a] != kind[b]
        leader[a[level]] = b[level]
    return leader


def _tree_key(units: Units, parent: Array, leader: Array, kind: Array, unit: int) -> tuple[Any, ...]:
    """Order along the row: CPU, then PCIe switch (ends that hang from the CPU itself last), then kind and name."""
    path = [int(leader[unit])]
    while parent[path[-1]] >= 0:
        path.append(int(parent[path[-1]]))
    by_row = {int(units.tier[u]): natural_key(units.name(u)) for u in path[1:]}
    last = ((2, 0, ""),)
    first = path[0]
    own = (
        _ORDER.get(str(kind[first]), 2),
        natural_key(units.name(first)),
        unit == first,
        natural_key(units.name(unit)),
    )
    if not by_row and units.tier[unit] < _END:
        return ((), (), own)
    return (by_row.get(_CPU, last), by_row.get(_PCIE, last), own)


def _hung(
    ordered: Array, row: int, parent: Array, span: dict[int, tuple[float, float]], columns: int, kind: Array
) -> list[_Part]:
    """Boxes below what hangs from them; evenly spread where that would overlap or there are too many."""
    groups = _grouped(ordered, kind)
    spans: list[tuple[float, float]] = []
    for own in groups:
        held = [span[u] for u in np.flatnonzero(np.isin(parent, own)).tolist() if u in span]
        spans.append((min(s for s, _ in held), max(e for _, e in held)) if held else (0.0, 0.0))
    overlap = any(x[1] > y[0] + 1e-9 for x, y in pairwise(spans))
    if overlap or any(end <= start for start, end in spans):
        step = columns / max(len(groups), 1)
        spans = [(i * step, (i + 1) * step) for i in range(len(groups))]
    parts = [_Part(own, row, str(kind[own[0]]), *at) for own, at in zip(groups, spans, strict=True)]
    span.update({int(u): (part.start, part.end) for part in parts for u in part.units})
    return parts


def _box(units: Units, part: _Part) -> Box:
    shade = _SHADES.get(part.kind, "t0")
    word = kind_word(part.kind)
    if part.kind == "cpu" and "cpu" not in units.name(int(part.units[0])).lower():
        word = "CPU part"  # a NUMA node, of which a socket may hold several
    if len(part.units) > 1:
        count, label = plural(len(part.units), word), range_of(units, part.units)
        return Box(part.row, part.units, part.start, part.end, count, label, word=word, shade=shade)
    unit = int(part.units[0])
    rail = int(units.column("rail", part.units)[0])
    detail = units.label("rail", rail) if rail >= 0 and part.kind == "nic" else ""
    return Box(part.row, part.units, part.start, part.end, "", units.name(unit), detail, word=word, shade=shade)


def _outward(fabric: Fabric, inside: Array) -> tuple[str, ...]:
    """What leaves the host: links and rate by kind."""
    out = np.flatnonzero(inside[fabric.link_a] != inside[fabric.link_b])
    if not out.size:
        return ()
    said = []
    for code in np.unique(fabric.links.kind.codes[out]).tolist():
        own = out[fabric.links.kind.codes[out] == code]
        rate = float(fabric.links.capacity_gbps[own].sum())
        kind = plain(str(fabric.links.kind.labels[code])).replace("_", "-")
        said.append(
            f"{plural(len(own), f'{kind} link')} of {'unknown rate' if np.isnan(rate) else format_gbps(rate)} together"
        )
    return (f"Out of the host lead {', '.join(said)}.",)
