"""One cause behind several findings: a pod cut off, a switch without uplinks, a card, a rack, a host that is away.

A cause is a set of planned cables that something shares: a device towards one tier, the ports of a card, all devices of
a rack, a part of the fabric and what is around it. Where none of them is there, the findings of these cables are
symptoms, and the cause carries them: one finding, with all their cables, priced as a whole.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, Fabric, LinkSet
from topo.io.port_names import place_of_port
from topo.table import Array
from topo.view.text import natural_key, plural
from topo.wiring.comparison import Comparison, hosts_of
from topo.wiring.finding import Finding, finding
from topo.wiring.joined import Piece, parts_of, pieces_of
from topo.wiring.kinds import named

__all__ = ["carried"]

_SYMPTOMS = ("missing", "device-missing", "pair-absent", "uplinks-fewer")
_OF_A_DESIGN = ("missing", "device-missing")
_PIECES = ("island", "planes-apart")
_FEWEST = 3
_FEWEST_OF_A_HOST = 2
_FEWEST_UP = 2
_SHOWN = 12
_OF_A_PIECE = 0.5


@dataclass(frozen=True)
class _Cause:
    """Planned cables (rows of the comparison) that one thing shares, of which none is there; what it is and where."""

    code: str
    place: str
    rows: frozenset[int]
    whose: str


def carried(comparison: Comparison, findings: Sequence[Finding], *sides: Fabric) -> list[Finding]:
    """The findings, several that one cause explains told as that cause, where the first of them stood.

    The cause with most cables is taken first. It must carry two findings at least and all of its cables; a part that is
    cut off half of them, as one of a pod's cables may be plugged elsewhere: its evidence counts those. ``sides`` tell
    the racks.
    """
    told: list[Finding | None] = list(findings)
    holder = {row: i for i, one in enumerate(findings) for row in _own(one)}
    pieces, islands = pieces_of(comparison), pieces_of(comparison, hosts_join=True)
    for cause in sorted(_causes(comparison, pieces, islands, sides), key=lambda one: -len(one.rows)):
        mine = sorted({holder[row] for row in cause.rows if row in holder})
        symptoms = {i: one for i in mine if (one := told[i]) is not None and cause.rows >= _own(one)}
        n = sum(len(_own(one)) for one in symptoms.values())
        if len(symptoms) < 2 or n < len(cause.rows) * (_OF_A_PIECE if cause.code in _PIECES else 1):
            continue
        if cause.code == "island" and not _is_of_a_design(symptoms.values()):
            continue  # without a design it is found as such, and carries them below
        for i in symptoms:
            told[i] = None
        first = min(symptoms)
        told[first] = _as_cause(comparison, cause, list(symptoms.values()))
        for row in _own(told[first]):
            holder[row] = first
    piece_of = {row: piece for piece in (*islands, *pieces) for row in piece.rows}
    return _with_islands(comparison, [_tearing(one, piece_of) for one in told if one is not None])


def _own(one: Finding | None) -> set[int]:
    """The cables whose laying the finding tells, none where it tells anything else."""
    if one is None or one.code not in (*_SYMPTOMS, *_PIECES) or one.extra:
        return set()
    return {job.planned for job in one.operations}


def _is_of_a_design(symptoms: Iterable[Finding]) -> bool:
    return any(one.code in _OF_A_DESIGN for one in symptoms)


def _as_cause(comparison: Comparison, cause: _Cause, symptoms: Sequence[Finding]) -> Finding:
    """The finding of the cause: what it costs is that of all its cables; its jobs are those of its symptoms."""
    said = f"none of {cause.whose} is there: {_pairs_said(comparison, sorted(cause.rows))}"
    operations = tuple(job for one in symptoms for job in one.operations)
    elsewhere = len(cause.rows) - len({job.planned for job in operations})
    said += f"; {elsewhere:,} of them told with other findings" if elsewhere else ""
    code = cause.code if _is_of_a_design(symptoms) or cause.code in _PIECES else symptoms[0].code
    at = symptoms[0].source, symptoms[0].line
    return finding(code, cause.place, said, at=at, operations=operations, lacks=tuple(sorted(cause.rows)))


def _pairs_said(comparison: Comparison, rows: Sequence[int]) -> str:
    """The cables, those between two devices counted, the first few."""
    fabric = comparison.both
    names = fabric.nodes.name
    ends = [(int(fabric.link_a[row]), int(fabric.link_b[row])) for row in rows]
    times = Counter(ends)
    first = dict(zip(reversed(ends), reversed(rows), strict=True))
    said = []
    for (a, b), n in times.items():
        links, row = fabric.links, first[a, b]
        labelled = n == 1 and all(fabric.ports.label[port] for port in (links.port_a[row], links.port_b[row]))
        whole = f"{names[a]} - {names[b]}{f' ({n} cables)' if n > 1 else ''}"
        said.append(str(LinkSet.of(fabric, [row])[0]) if labelled else whole)
    more = f" and {plural(len(said) - _SHOWN, 'more pair')}" if len(said) > _SHOWN else ""
    return ", ".join(said[:_SHOWN]) + more


def _causes(
    comparison: Comparison, pieces: Sequence[Piece], islands: Sequence[Piece], sides: Sequence[Fabric]
) -> Iterator[_Cause]:
    """Every cause that would explain cables that lack, what is told most simply first."""
    for code, parts in zip(_PIECES, (islands, pieces), strict=True):
        for piece in parts:
            whose = f"the {len(piece.rows):,} planned cables from {piece.text} to the rest"
            yield _Cause(code, piece.place, frozenset(piece.rows), whose)
    yield from _hosts(comparison)
    yield from _towards_a_tier(comparison)
    yield from _units(comparison)
    yield from _racks(comparison, sides)


def _whole(comparison: Comparison, keys: Array, least: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Groups of planned cables of which none is there, ``least`` at least: number of the group and its rows.

    ``keys`` is the group of either end of every link, of shape (2, links); -1 is of none.
    """
    rows = np.flatnonzero(comparison.planned)
    lacking = ~comparison.found[rows]
    if not lacking.any():
        return
    one, other = keys[:, rows]
    key = np.concatenate([one, np.where(other == one, -1, other)])
    row, lacks = np.tile(rows, 2), np.tile(lacking, 2)
    known = key >= 0
    key, row, lacks = key[known], row[known], lacks[known]
    there = np.unique(key[~lacks])
    mine = lacks & ~np.isin(key, there)
    order = np.argsort(key[mine], kind="stable")
    groups, first = np.unique(key[mine][order], return_index=True)
    for group, own in zip(groups.tolist(), np.split(row[mine][order], first[1:]), strict=False):
        if len(own) >= least:
            yield group, own


def _hosts(comparison: Comparison) -> Iterator[_Cause]:
    """All cables of the adapters of one host."""
    fabric = comparison.both
    box = hosts_of(fabric)
    for host, rows in _whole(comparison, np.stack([box[fabric.link_a], box[fabric.link_b]]), _FEWEST_OF_A_HOST):
        name = str(fabric.nodes.host.labels[host])
        yield _Cause("device-missing", name, frozenset(rows.tolist()), f"its {len(rows):,} planned cables")


def _towards_a_tier(comparison: Comparison) -> Iterator[_Cause]:
    """All cables of a switch to those of one tier, or to hosts."""
    fabric = comparison.both
    tier = fabric.nodes.tier.astype(np.int64)
    full = fabric.nodes.forwards == FORWARDS_ALL
    towards = np.where(full, tier - tier.min(initial=0) + 1, 0)
    n = int(towards.max(initial=0)) + 1
    keys = [
        np.where(full[near], near.astype(np.int64) * n + towards[far], -1)
        for near, far in ((fabric.link_a, fabric.link_b), (fabric.link_b, fabric.link_a))
    ]
    for key, rows in _whole(comparison, np.stack(keys), _FEWEST_UP):
        node, there = divmod(key, n)
        if len(rows) < _FEWEST and there <= towards[node]:
            continue  # two hosts or two switches below are no sign of one cause; two uplinks are all a leaf has
        height = int(np.sign(there - towards[node]))
        to = ("other switches", "switches above", "switches below")[height] if there else "hosts"
        whose = f"its {len(rows):,} planned cables to {to}"
        yield _Cause("missing", str(fabric.nodes.name[node]), frozenset(rows.tolist()), whose)


def _units(comparison: Comparison) -> Iterator[_Cause]:
    """All cables at ports whose names tell one unit: those of a line card, or of a plug that splits."""
    fabric = comparison.both
    ports = fabric.ports
    units = np.array([place_of_port(label).unit for label in ports.label.labels.tolist()] + [-1], np.int64)
    unit = units[ports.label.codes]
    full = (fabric.nodes.forwards == FORWARDS_ALL)[ports.node]
    base = int(unit.max(initial=0)) + 1
    key = np.where(full & (unit >= 0), ports.node.astype(np.int64) * base + unit, -1)
    for group, rows in _whole(comparison, np.stack([key[fabric.links.port_a], key[fabric.links.port_b]]), _FEWEST):
        ends = np.concatenate([fabric.links.port_a[rows], fabric.links.port_b[rows]])
        labels = sorted(ports.label.values(ends[key[ends] == group]).tolist(), key=natural_key)
        place = f"{fabric.nodes.name[group // base]} ports {labels[0]} to {labels[-1]}"
        whose = f"the {len(rows):,} planned cables at these ports, which share a card or a plug by their names,"
        yield _Cause("missing", place, frozenset(rows.tolist()), whose)


def _racks(comparison: Comparison, sides: Sequence[Fabric]) -> Iterator[_Cause]:
    """All cables of the devices in one rack."""
    fabric = comparison.both
    rack_of: dict[str, str] = {}
    for side in sides:
        for row in np.flatnonzero(side.nodes.rack.codes >= 0).tolist():
            rack_of.setdefault(str(side.nodes.name[row]), side.nodes.rack[row])
    if not rack_of:
        return
    labels = sorted(set(rack_of.values()), key=natural_key)
    number = {label: i for i, label in enumerate(labels)}
    rack = np.array([number.get(rack_of.get(name, ""), -1) for name in fabric.nodes.name.tolist()], np.int64)
    for group, rows in _whole(comparison, np.stack([rack[fabric.link_a], rack[fabric.link_b]]), _FEWEST):
        ends = np.unique(np.concatenate([fabric.link_a[rows], fabric.link_b[rows]]))
        inside = ends[rack[ends] == group]
        host = hosts_of(fabric)[inside]
        names = [str(fabric.nodes.host.labels[own] if own >= 0 else fabric.nodes.name[row])
                 for row, own in zip(inside.tolist(), host.tolist(), strict=True)]  # fmt: skip
        whose = f"the {len(rows):,} planned cables of its devices ({named(list(dict.fromkeys(names)))})"
        yield _Cause("device-missing", f"rack {labels[group]}", frozenset(rows.tolist()), whose)


def _tearing(one: Finding, piece_of: Mapping[int, Piece]) -> Finding:
    """The finding, saying which part is cut off by it, alone or with others; ``piece_of`` is that of each cable."""
    piece = next((piece_of[row] for row in one.lacks if row in piece_of), None)
    if piece is None or one.code in _PIECES:
        return one
    how = "this leaves" if set(piece.rows) <= set(one.lacks) else "with other findings this leaves"
    return replace(one, evidence=f"{one.evidence}; {how} {piece.text} cut off from the rest")


def _with_islands(comparison: Comparison, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, an island carrying those of the cables that would join it to the rest."""
    if not any(one.code == "island" for one in findings):
        return list(findings)
    names = comparison.both.nodes.name.tolist()
    row_of = dict(zip(reversed(names), reversed(range(len(names))), strict=True))
    part = parts_of(comparison, comparison.found, hosts_join=True)
    joining: dict[int, list[int]] = defaultdict(list)
    for i, one in enumerate(findings):
        for p in _parts_joined(comparison, one, part, row_of):
            joining[p].append(i)
    told: list[Finding | None] = list(findings)
    _tell_bare_leaf(comparison, told, row_of)
    for i, island in enumerate(findings):
        if told[i] is None:
            continue
        first = row_of.get(island.place.split(", ")[0])
        if island.code != "island" or first is None:
            continue
        mine = [j for j in joining.pop(int(part[first]), ()) if told[j] is not None]
        told[i] = _island(comparison, island, [findings[j] for j in mine])
        for j in mine:
            told[j] = None
    return [one for one in told if one is not None]


def _tell_bare_leaf(comparison: Comparison, told: list[Finding | None], row_of: Mapping[str, int]) -> None:
    """The one leaf that a unit lacks, told with the one switch that is there without any cable."""
    links, fabric = np.flatnonzero(comparison.found), comparison.both
    bare = fabric.nodes.forwards == FORWARDS_ALL
    bare[fabric.link_a[links]] = bare[fabric.link_b[links]] = False
    leaves = [i for i, one in enumerate(told) if one is not None and one.code == "leaf-missing"]
    islands = [i for i, one in enumerate(told) if one is not None and one.code == "island"
               and one.place in row_of and bare[row_of[one.place]]]  # fmt: skip
    if len(leaves) != 1 or len(islands) != 1:
        return
    leaf, switch = told[leaves[0]], told[islands[0]]
    assert leaf is not None and switch is not None
    said = f"{leaf.evidence}; {switch.place} is there without any cable: is it this leaf?"
    told[leaves[0]], told[islands[0]] = replace(leaf, evidence=said), None


def _island(comparison: Comparison, island: Finding, symptoms: Sequence[Finding]) -> Finding:
    lacks = tuple(row for one in symptoms for row in one.lacks)
    if not lacks:
        return replace(island, evidence="; ".join([island.evidence, *(one.evidence for one in symptoms)]))
    said = f"{island.evidence}; missing: {_pairs_said(comparison, lacks)}"
    operations = tuple(job for one in symptoms for job in one.operations)
    at = island.source, island.line
    return finding("island", island.place, said, at=at, operations=operations, lacks=lacks, lost_gbps=island.lost_gbps)


def _parts_joined(comparison: Comparison, one: Finding, part: Array, row_of: Mapping[str, int]) -> list[int]:
    """The parts that each cable of a finding would join to others; that of a switch that should have uplinks."""
    if one.code not in _SYMPTOMS or one.extra:
        return []
    fabric, rows = comparison.both, np.array(one.lacks, np.int64)
    if not rows.size:
        return [int(part[row_of[one.place]])] if one.code == "uplinks-fewer" and one.place in row_of else []
    a, b = part[fabric.link_a[rows]], part[fabric.link_b[rows]]
    return [p for p in dict.fromkeys((int(a[0]), int(b[0]))) if ((a == p) != (b == p)).all()]
