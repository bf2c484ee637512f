"""Jobs that are no difference of cables: slow cables, loops, adapters without a cable, wrong names of devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, LinkSet
from topo.repair.moves import Job, slower
from topo.wiring.cabling import KINDS, Cabling, port_words
from topo.wiring.comparison import Comparison, NewCables, appended, with_laid
from topo.wiring.finding import Finding
from topo.wiring.hosts import Seats, seats_of
from topo.wiring.laid import laid_design
from topo.wiring.matching import image_of, matched_by_name
from topo.wiring.rails import RailRule, rail_rule
from topo.wiring.structure import boxes_of
from topo.wiring.votes import refined

__all__ = ["adapter_jobs", "loop_jobs", "port_jobs", "rename_jobs", "replace_jobs"]


def _alike(findings: Sequence[Finding], *codes: str) -> dict[str, int]:
    """Findings of these codes that are not accepted: place to number."""
    return {one.place: i for i, one in enumerate(findings) if one.code in codes and not one.accepted}


def replace_jobs(comparison: Comparison, findings: Sequence[Finding], sides: tuple[Fabric, Fabric | None]) -> list[Job]:
    """A faster cable for each that runs slower than planned, or than its like where there is no plan."""
    found, design = sides
    code = "link-slow" if design is None else "rate-unlike-plan"
    places = _alike(findings, code, "rate-mismatch")
    if not places:
        return []
    wanted = _usual_gbps(comparison) if design is None else _planned_gbps(found, design)
    # A switch or host with most of its cables slow is one finding of all of them.
    of_link = {link: i for i in places.values() for link in findings[i].extra if findings[i].code == "link-slow"}
    jobs = []
    for link, gbps in wanted.items():
        text = str(LinkSet.of(comparison.both, [link])[0])
        number = of_link.get(link, places.get(text))
        if number is not None:
            a, b = int(comparison.both.links.port_a[link]), int(comparison.both.links.port_b[link])
            jobs.append(Job("replace", link, link, a, b, -1, gbps, number))
    return jobs


def _planned_gbps(found: Fabric, design: Fabric) -> dict[int, float]:
    """Planned rate of each found link that is slower than its planned one, moved ones too."""
    planned = Cabling.of(design)
    matched = laid_design(Cabling.of(found), planned).matched
    both = matched.comparison.both.links
    links = matched.found_links[matched.best.common[0]]
    rates = design.links.capacity_gbps[matched.planned_row[matched.best.common[1]]]
    slow = slower(both.capacity_gbps[links], rates)
    return dict(zip(links[slow].tolist(), rates[slow].tolist(), strict=True))


def _usual_gbps(comparison: Comparison) -> dict[int, float]:
    """The usual rate of the tiers that a found link joins, for every link slower than that."""
    side = Cabling.of(comparison.both)
    tiers = np.sort(np.stack([side.tier[comparison.both.link_a], side.tier[comparison.both.link_b]]), axis=0)
    rates = comparison.both.links.capacity_gbps
    wanted: dict[int, float] = {}
    for pair in np.unique(tiers[:, side.links], axis=1).T:
        mine = side.links[(tiers[:, side.links] == pair[:, None]).all(axis=0)]
        known = rates[mine][~np.isnan(rates[mine])]
        if not len(known):
            continue
        values, times = np.unique(known, return_counts=True)
        usual = float(values[np.argmax(times)])
        wanted |= dict.fromkeys(mine[slower(rates[mine], np.array(usual))].tolist(), usual)
    return wanted


def loop_jobs(comparison: Comparison, findings: Sequence[Finding]) -> tuple[Comparison, list[Job]]:
    """Take out cables that join a switch to itself."""
    numbers = list(_alike(findings, "cable-to-itself").values())
    both = comparison.both
    if not numbers:
        return comparison, []
    loops = np.flatnonzero((both.link_a == both.link_b) & both.links.kind.is_any(*KINDS) & comparison.found)
    ends = zip(loops.tolist(), both.links.port_a[loops].tolist(), both.links.port_b[loops].tolist(), strict=True)
    names = both.nodes.name[both.link_a[loops]].tolist()
    by_name = {findings[i].place.split(" port ")[0].split(" - ")[0]: i for i in numbers}
    jobs = [
        Job("remove", row, -1, a, b, -1, float("nan"), by_name.get(name, numbers[0]))
        for (row, a, b), name in zip(ends, names, strict=True)
    ]
    return _wider(comparison, None, loops), jobs


def port_jobs(comparison: Comparison, findings: Sequence[Finding]) -> tuple[Comparison, list[Job]]:
    """Give a cable that shares a port, or sits on one that cannot be, another port of the same device.

    Of several cables on one port nobody can say which is right; those listed later move.
    """
    codes = ("port-used-twice", "breakout-conflict", "breakout-beyond", "port-beyond")
    places = {place: i for code in codes for place, i in _alike(findings, code).items()}
    if not places:
        return comparison, []
    both = comparison.both
    ends = np.stack([both.links.port_a, both.links.port_b]).astype(np.int64)
    rows = np.flatnonzero(comparison.found & comparison.planned)
    cables: dict[str, list[tuple[int, int]]] = {}
    for column in (0, 1):
        for row in rows.tolist():
            port = int(ends[column, row])
            text = f"{both.nodes.name[both.ports.node[port]]} {port_words(str(both.ports.label[port]))}"
            if text in places:
                cables.setdefault(text, []).append((row, column))
    moved = {
        row: (column, places[text])
        for text, mine in cables.items()
        for row, column in sorted(mine)[findings[places[text]].code == "port-used-twice" :]
    }
    links = np.array(list(moved), np.int64)
    if not len(links):
        return comparison, []
    kept = np.array([ends[1 - column, row] for row, (column, _) in moved.items()])
    left = np.array([ends[column, row] for row, (column, _) in moved.items()])
    laid = NewCables(
        both.ports.node[kept].astype(np.int64), both.ports.node[left].astype(np.int64), kept, np.full(len(kept), -1),
        both.links.capacity_gbps[links], both.links.kind.values(links),
    )  # fmt: skip
    wider = _wider(comparison, laid, links)
    new = wider.both.links.port_b[len(both.links) :].tolist()
    jobs = [
        Job("move", row, len(both.links) + i, int(kept[i]), int(left[i]), int(new[i]), float("nan"), moved[row][1])
        for i, row in enumerate(links.tolist())
    ]
    return wider, jobs


def _wider(comparison: Comparison, laid: NewCables | None, dropped: NDArray[np.int64] | None = None) -> Comparison:
    """The comparison with cables to lay behind its own, and with others that are no longer planned."""
    planned = comparison.planned.copy()
    if dropped is not None:
        planned[dropped] = False
    if laid is None:
        return Comparison(comparison.both, comparison.found, planned)
    new = np.ones(len(laid), bool)
    return Comparison(with_laid(comparison.both, laid), np.append(comparison.found, ~new), np.append(planned, new))


def rename_jobs(found: Fabric, design: Fabric | None, findings: Sequence[Finding]) -> list[Job]:
    """The name the plan has for each device that is cabled as another one."""
    numbers = list(_alike(findings, "devices-exchanged").values())
    if design is None or not numbers:
        return []
    sides = Cabling.of(found), Cabling.of(design)
    boxes = boxes_of(*sides)
    start = image_of(matched_by_name(*sides), boxes, *sides)
    image = refined(*boxes, start).of
    node_of = np.full(boxes[1].n, -1)
    rows = np.flatnonzero(boxes[1].box_of_node >= 0)[::-1]
    node_of[boxes[1].box_of_node[rows]] = rows
    moved = (image != start) & (start >= 0) & (image >= 0)
    jobs = []
    box = boxes[0].box_of_node
    for row in np.flatnonzero((box >= 0) & moved[box] & sides[0].is_switch).tolist():
        name, old = str(design.nodes.name[node_of[image[box[row]]]]), str(found.nodes.name[row])
        number = next((i for i in numbers if old in findings[i].place.split(", ")), numbers[0])
        jobs.append(Job("rename", row, -1, -1, -1, -1, float("nan"), number, name))
    return jobs


@dataclass(frozen=True)
class _Lacking:
    """An adapter that should have a cable: host, label, node (-1: not there), leaf, port (-1: unknown), the finding."""

    like: int
    label: str
    node: int
    leaf: int
    port: int
    fault: int


def adapter_jobs(
    found: Fabric, comparison: Comparison, findings: Sequence[Finding]
) -> tuple[Comparison, list[Job], list[str]]:
    """Cables for adapters that lack, on the leaf and port of their rank: the comparison with them, the jobs, notes."""
    places = _alike(findings, "nic-missing")
    side = Cabling.of(found)
    seats = seats_of(side) if places else None
    if seats is None:
        return comparison, [], []
    lacking = _lacking(side, seats, rail_rule(side, seats), places)
    if not lacking:
        return comparison, [], []
    both, nodes = _with_adapters(comparison.both, lacking)
    rate = _usual_rate(side)
    n = len(lacking)
    own = np.array([_free_port(side, one.node) for one in lacking])
    laid = NewCables(
        nodes, np.array([one.leaf for one in lacking]), own, np.array([one.port for one in lacking]),
        np.full(n, rate), np.full(n, "access"),
    )  # fmt: skip
    first = len(both.links)
    wider = _wider(Comparison(both, comparison.found, comparison.planned), laid)
    both = wider.both
    jobs = [
        Job(
            "add",
            -1,
            first + i,
            int(both.links.port_a[first + i]),
            -1,
            int(both.links.port_b[first + i]),
            rate,
            one.fault,
        )
        for i, one in enumerate(lacking)
    ]
    new = int((nodes >= len(comparison.both.nodes)).sum())
    notes = [f"{new:,} adapters are not in the wiring at all: each must be there before its cable"] if new else []
    return wider, jobs, notes


def _lacking(side: Cabling, seats: Seats, rule: RailRule, places: dict[str, int]) -> list[_Lacking]:
    """What the findings about adapters name, with leaf and port by the rule of the majority."""
    group = seats.group_of_host()
    host_row = {name: i for i, name in enumerate(seats.name)}
    first = np.zeros(seats.n_hosts, np.int64)
    first[seats.host[::-1]] = np.arange(len(seats.host))[::-1]
    port_at = {
        (int(node), int(number)): row
        for row, (node, number) in enumerate(zip(side.fabric.ports.node, side.number, strict=True))
    }
    lacking = []
    for place, fault in places.items():
        name = max((name for name in host_row if place.startswith(f"{name} ")), key=len, default="")
        if not name:
            continue
        host = host_row[name]
        labels = seats.labels[group[host]]
        for said in place[len(name) + 1 :].split(", "):
            rank = labels.index(said) if said in labels else -1
            leaf = int(rule.leaf[rule.unit[host, rank], group[host], rank]) if rank >= 0 else -1
            if leaf < 0:
                continue
            number = int(rule.slot[host, rank] + rule.offset[group[host], rank]) if rule.by_port else -1
            port = port_at.get((leaf, number), -1)
            port = -1 if port >= 0 and side.cabled[port] else port
            like = int(side.nic[seats.row[first[host]]])
            label = _own_label(said, str(side.fabric.nodes.name[like]), name)
            lacking.append(_Lacking(like, label, _node_of(side.fabric, name, label), leaf, port, fault))
    return lacking


def _own_label(said: str, like: str, host: str) -> str:
    """Of alternative labels the one spelt as the host's other adapters are."""
    own = "".join(letter for letter in like[len(host) :] if not letter.isdigit()).strip(" -_/:.")
    options = said.split(" or ")
    return next((one for one in options if "".join(c for c in one if not c.isdigit()) == own), options[0])


def _node_of(fabric: Fabric, host: str, label: str) -> int:
    rows = fabric.select("*", host=host)
    ends = [name[len(host) :].strip(" -_/:.") for name in fabric.nodes.name[rows].tolist()]
    return int(rows[ends.index(label)]) if label in ends else -1


def _free_port(side: Cabling, node: int) -> int:
    if node < 0:
        return -1
    mine = np.flatnonzero((side.fabric.ports.node == node) & ~side.cabled)
    return int(mine[0]) if len(mine) else -1


def _usual_rate(side: Cabling) -> float:
    rates = side.fabric.links.capacity_gbps[side.access]
    values, times = np.unique(rates[~np.isnan(rates)], return_counts=True)
    return float(values[np.argmax(times)]) if len(values) else float("nan")


def _with_adapters(both: Fabric, lacking: Sequence[_Lacking]) -> tuple[Fabric, NDArray[np.int64]]:
    """The fabric with the adapters it lacks, each like another one of its host, and the node of every one."""
    nodes = np.array([one.node for one in lacking], np.int64)
    new = np.flatnonzero(nodes < 0)
    if not len(new):
        return both, nodes
    like = both.nodes.take(np.array([lacking[i].like for i in new.tolist()]))
    columns = {name: getattr(like, name) for name in like.columns()}
    names = []
    for i in new.tolist():
        one = lacking[i]
        host, sample = both.nodes.host[one.like], str(both.nodes.name[one.like])
        between = sample[len(host) : len(host) + 1] if sample.startswith(host) else " "
        names.append(f"{host}{between}{one.label}")
    columns |= {"name": np.array(names), "uid": np.full(len(new), "")}
    nodes[new] = len(both.nodes) + np.arange(len(new))
    return replace(both, nodes=appended(both.nodes, len(new), **columns)), nodes
