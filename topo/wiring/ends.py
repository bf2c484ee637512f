"""What the ends of the cables say by themselves: ports used twice, breakouts, rates, parts, one-sided links, names."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topo.errors import place_in
from topo.io.port_names import place_of_port
from topo.io.rates import ROWS_DIFFER
from topo.parts.switches import part_called
from topo.table import Array
from topo.view.text import natural_key, plural
from topo.wiring.beyond import judge_legs, judge_ports_of_parts
from topo.wiring.cabling import Cabling, port_words
from topo.wiring.finding import finding, listed
from topo.wiring.kinds import named
from topo.wiring.learnt import MINN, SUPPORT, Learnt

__all__ = ["OF_A_DESIGN", "judge_ends"]

OF_A_DESIGN = frozenset({
    "port-used-twice", "breakout-conflict", "breakout-beyond", "port-beyond", "ports-too-many", "port-too-slow",
    "rate-mismatch", "cable-to-itself", "name-duplicate",
})  # fmt: skip
"""Codes that say something of a drawing too; the others speak of what was seen."""

_LEG = re.compile(r"(?P<port>.*\d)(?P<sign>[/:s])(?P<leg>\d+)\Z")
_MANY = 0.1
_RATES_DIFFER = "the ends state different rates"
_SLACK = 1e-6
_MOST_TOLD = 20
_SPLITS = (2, 4, 8)
_FACTORY = re.compile(r"\bTechnologies\b|\bInfiniHost\b|^MT\d{4,6}\b|\b(Voltaire|QLogic|TrueScale)\b", re.IGNORECASE)


def judge_ends(cabling: Cabling, learnt: Learnt) -> None:
    """Every check that needs one look at the ends of a cable, one function a fault."""
    _ports_used_twice(cabling, learnt)
    _one_sided(cabling, learnt)
    _breakouts(cabling, learnt)
    _port_rates(cabling, learnt)
    _rates_stated(cabling, learnt)
    judge_ports_of_parts(cabling, learnt)
    _loops(cabling, learnt)
    _factory_names(cabling, learnt)
    _duplicate_names(cabling, learnt)


def _ports_used_twice(cabling: Cabling, learnt: Learnt) -> None:
    links = cabling.fabric.links
    ends = np.concatenate([links.port_a, links.port_b]).astype(np.int64)
    rows = np.tile(np.arange(len(links)), 2)
    times = np.bincount(ends, minlength=len(cabling.fabric.ports))
    unnamed = _standing_for_none(cabling, times)
    if unnamed.any():
        names = named(sorted(set(cabling.fabric.nodes.name[cabling.fabric.ports.node[unnamed]].tolist())))
        learnt.rules.append(f"port 0 holds all cables of {names}: taken for a port that nobody named")
    twice = np.flatnonzero((times > 1) & ~unnamed)
    if not twice.size:
        return
    seen = links.evidence.is_any("both ends", "one end")
    order = np.argsort(ends, kind="stable")
    ends, rows = ends[order], rows[order]
    for port in twice.tolist():
        low, high = np.searchsorted(ends, [port, port + 1])
        mine = rows[low:high].tolist()
        code = "link-ambiguous" if seen[mine].all() else "port-used-twice"
        said = " and ".join(learnt.link_text(link) + _line(cabling, link, mine[-1]) for link in mine[:4])
        place = cabling.port_name(port)
        rivals = _fastest_first(cabling, [(link,) for link in mine]) if code == "port-used-twice" else ()
        evidence, at = f"{len(mine)} cables: {said}", cabling.place(mine[-1])
        learnt.findings.append(finding(code, place, evidence, at=at, rivals=rivals))


def _standing_for_none(cabling: Cabling, times: Array) -> NDArray[np.bool_]:
    """Mask of the ports called 0 that say no port, as drawings write at what is outside: ``times`` cables are on each.

    So it is where every device with a port 0 has all its cables there, and most of them several. A port 0 beside
    others, or one that usually holds one cable, is a port.
    """
    ports = cabling.fabric.ports
    zero = (times > 0) & (np.append(ports.label.labels == "0", False))[ports.label.codes]
    used = np.bincount(ports.node[times > 0], minlength=len(cabling.fabric.nodes))
    is_all = zero.any() and (used[ports.node[zero]] == 1).all() and 2 * (times[zero] > 1).sum() > zero.sum()
    return zero if is_all else np.zeros_like(zero)


def _fastest_first(cabling: Cabling, sides: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Sets of cables of which only one can be up, in the order of the rate they carry together."""
    rate = cabling.fabric.links.capacity_gbps
    return tuple(sorted(sides, key=lambda side: -float(np.nan_to_num(rate[list(side)]).sum())))


def _line(cabling: Cabling, link: int, beside: int) -> str:
    source, line = cabling.place(link)
    return f" ({place_in(source, line, beside=cabling.place(beside)[0])})" if line else ""


def _one_sided(cabling: Cabling, learnt: Learnt) -> None:
    """Links that one end reports; many of them are one finding: a discovery cut short."""
    rows = cabling.links[cabling.fabric.links.evidence.is_any("one end")[cabling.links]]
    if not rows.size:
        return
    said = f"{len(rows):,} of {len(cabling.links):,} links are reported by one end only"
    if len(rows) >= max(SUPPORT * len(cabling.links), MINN):
        said += "; the other ends seem not to have been asked; such links carry nothing in any number"
        learnt.findings.append(finding("link-one-sided", f"{len(rows):,} links", said))
        return
    if len(rows) > max(_MANY * len(cabling.links), _MOST_TOLD):
        said += "; the discovery seems cut short"
        learnt.findings.append(finding("link-one-sided", f"{len(rows):,} links", said, severity="error"))
        return
    for link in rows.tolist():
        said = "its other end does not report it; it carries nothing in any number"
        learnt.findings.append(finding("link-one-sided", learnt.link_text(link), said, at=cabling.place(link)))


def _breakouts(cabling: Cabling, learnt: Learnt) -> None:
    """A port that is used whole and by legs, and legs beyond those that the rate of its cage splits into."""
    ports = cabling.fabric.ports
    labels = ports.label.labels.tolist()
    split = {code: match for code, label in enumerate(labels) if (match := _leg_of(label))}
    if not split:
        return
    code_of = {label: code for code, label in enumerate(labels)}
    parent = np.full(len(labels) + 1, -1)
    leg = np.zeros(len(labels) + 1, np.int64)
    for code, match in split.items():
        parent[code], leg[code] = code_of.get(match["port"], -1), int(match["leg"]) + (match["sign"] == "s")
    used = np.flatnonzero(cabling.cabled & cabling.is_switch[ports.node])
    key = ports.node[used].astype(np.int64) * (len(labels) + 1) + ports.label.codes[used]
    above = ports.node[used].astype(np.int64) * (len(labels) + 1) + parent[ports.label.codes[used]]
    both = (parent[ports.label.codes[used]] >= 0) & np.isin(above, key)
    port_of = dict(zip(key.tolist(), used.tolist(), strict=True))
    legs: dict[int, list[int]] = defaultdict(list)
    for row, whole in zip(used[both].tolist(), above[both].tolist(), strict=True):
        legs[whole].append(row)
    for whole, rows in legs.items():
        codes = ports.label.codes[rows]
        shown = sorted((labels[code] for code in codes.tolist()), key=natural_key)
        name = f"{cabling.fabric.nodes.name[ports.node[rows[0]]]} {port_words(str(labels[parent[codes[0]]]))}"
        said = f"the port is used whole and in legs, {listed('port', shown)}"
        at = cabling.place(int(cabling.link_of_port[rows[0]]))
        sides = [tuple(int(cabling.link_of_port[row]) for row in each) for each in (rows, [port_of[whole]])]
        rivals = _fastest_first(cabling, sides)
        learnt.findings.append(finding("breakout-conflict", name, said, at=at, rivals=rivals))
    stem = {text: number for number, text in enumerate({match["port"]: None for match in split.values()})}
    of_stem = np.full(len(labels) + 1, -1)
    of_stem[list(split)] = [stem[match["port"]] for match in split.values()]
    codes = ports.label.codes[used]
    judge_legs(cabling, used, leg[codes], of_stem[codes], learnt)


def _leg_of(label: str) -> re.Match[str] | None:
    """The port and the leg of it that a name says, None where what looks like a leg is the number of the port."""
    place = place_of_port(label)
    return None if place.cage >= 0 and place.port == place.leg == -1 else _LEG.match(label)


def _port_rates(cabling: Cabling, learnt: Learnt) -> None:
    """Ports of different rate at the ends of a cable, and cables faster than any port of the switch's part."""
    fabric, rows = cabling.fabric, cabling.links
    ends = np.stack([fabric.links.port_a[rows], fabric.links.port_b[rows]])
    a, b = fabric.ports.gbps[ends]
    rate = fabric.links.capacity_gbps[rows]
    parts = [part_called(text) for text in fabric.nodes.part.labels.tolist()]
    fastest = np.array([max(mode.gbps for mode in part.modes) if part else np.inf for part in parts])
    most = np.append(fastest, np.inf)[fabric.nodes.part.codes[fabric.ports.node[ends]]].min(axis=0)
    slow = rate > most * (1 + _SLACK)
    differ = (np.abs(a - b) > _SLACK * np.fmax(a, b)) & ~slow
    # A port may be faster than its cable: adapters with a 400G port on 200G links are no fault if all are so.
    differ &= differ.sum() <= _MANY * max(len(rows), 1)
    for i in np.flatnonzero(slow | differ).tolist():
        link = int(rows[i])
        code = "port-too-slow" if slow[i] else "rate-mismatch"
        said = f"a cable of {rate[i]:g} Gb/s on a switch whose ports run at {most[i]:g} at most" if slow[i] else (
            f"ports of {a[i]:g} and {b[i]:g} Gb/s"
        )  # fmt: skip
        if slow[i]:
            learnt.held[link] = float(most[i])
        extra = (link,) if slow[i] else ()
        learnt.findings.append(finding(code, learnt.link_text(link), said, at=cabling.place(link), extra=extra))


def _rates_stated(cabling: Cabling, learnt: Learnt) -> None:
    """Cables of which two rates are stated, by the ends a discovery asks or by rows of a table; the lower holds."""
    for note in cabling.fabric.origin.notes:
        head, _, link_text = note.text.partition(": ")
        if head.startswith(_RATES_DIFFER) and " - " in link_text:
            said, at = "its ends report different rates; the lower one holds", (note.source, note.line)
            learnt.findings.append(finding("rate-mismatch", link_text, said, severity="note", at=at))
    of_rows = [note for note in cabling.fabric.origin.notes if note.text.startswith(f"{ROWS_DIFFER}: ") and note.line]
    at_line: dict[tuple[str, int], list[int]] = defaultdict(list)
    for link in cabling.links.tolist() if of_rows else ():
        at_line[cabling.place(link)].append(link)
    told = []
    for note in of_rows:
        text, _, rates = note.text.removeprefix(f"{ROWS_DIFFER}: ").rpartition(": ")
        at = note.source, note.line
        place = learnt.link_text(at_line[at][0]) if len(at_line[at]) == 1 else text
        said, fix = f"its rows state {rates}; the lower one holds", "state one rate, and use ports of it"
        told.append(finding("rate-mismatch", place, said, fix=fix, severity="warning", at=at))
    if len(told) > max(_MANY * len(cabling.links), _MOST_TOLD):
        said = (
            f"{len(told):,} of {len(cabling.links):,} cables have rows of different rates, the lower one holds; first "
        )
        first = told[0]
        said += f"{first.place}: {first.evidence}"
        told = [replace(first, place=f"{len(told):,} cables", evidence=said)]
    learnt.findings += told


def _loops(cabling: Cabling, learnt: Learnt) -> None:
    """Cables with both ends on one device; those that nearly all switches of a tier have are meant."""
    fabric = cabling.fabric
    loops = np.flatnonzero((fabric.link_a == fabric.link_b) & ~fabric.links.kind.is_any("host_io", "scale_up"))
    has_loop = np.zeros(len(fabric.nodes), bool)
    has_loop[fabric.link_a[loops]] = True
    meant = np.zeros(len(fabric.nodes), bool)
    for tier in np.unique(cabling.tier[has_loop & cabling.is_switch]).tolist():
        mine = cabling.is_switch & (cabling.tier == tier)
        if learnt.rule(
            f"switches of tier {tier} with a cable to themselves", int(has_loop[mine].sum()), int(mine.sum())
        ):
            meant |= mine
    for link in loops[~meant[fabric.link_a[loops]]].tolist():
        said = "both ends are on one device; it carries no traffic between devices"
        operation = learnt.link_text(link)
        learnt.findings.append(finding("cable-to-itself", operation, said, at=cabling.place(link)))


def _factory_names(cabling: Cabling, learnt: Learnt) -> None:
    names = cabling.fabric.nodes.name[np.unique(cabling.nic)]
    kinds: dict[str, int] = defaultdict(int)
    for name in names.tolist():
        if _FACTORY.search(name):
            kinds[name] += 1
    for name, n in kinds.items():
        said = f"{plural(n, 'adapter')} called {name!r}: of an unknown host, rails are not judged there"
        at = cabling.first_place(np.flatnonzero(cabling.fabric.nodes.name == name))
        learnt.findings.append(finding("name-factory", name, said, at=at))


def _duplicate_names(cabling: Cabling, learnt: Learnt) -> None:
    """Switches or named adapters that share a name; factory names are told apart."""
    rows = np.unique(np.concatenate([cabling.low, cabling.high, cabling.leaf, cabling.nic]))
    names, times = np.unique(cabling.fabric.nodes.name[rows], return_counts=True)
    for name, n in zip(names[times > 1].tolist(), times[times > 1].tolist(), strict=True):
        if name and not _FACTORY.search(name):
            said = f"{n:,} devices bear this name; what is said of one of them may be another"
            at = cabling.first_place(np.flatnonzero(cabling.fabric.nodes.name == name))
            learnt.findings.append(finding("name-duplicate", name, said, at=at))
