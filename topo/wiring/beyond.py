"""Ports, cages and legs numbered beyond those that a switch has."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from topo.io.port_names import place_of_port
from topo.parts.switches import SwitchPart, part_called
from topo.table import Array
from topo.view.text import plural
from topo.wiring.cabling import Cabling
from topo.wiring.finding import finding
from topo.wiring.learnt import MINN, Learnt

__all__ = ["judge_legs", "judge_ports_of_parts"]

_SLACK = 1e-6
_SPLITS = (2, 4, 8)
_NUMBER = re.compile(r"(?P<port>\d{1,9})(?:[/:]\d+)?\Z")
_CAGE = re.compile(r"swp|.*\d[^\d]+\d", re.IGNORECASE)
"""Names that say a cage: not bare numbers, which count ports, nor SONiC's ``Ethernet64``, which counts lanes."""


def judge_legs(cabling: Cabling, used: Array, leg: Array, stem: Array, learnt: Learnt) -> None:
    """Legs beyond those into which the cages of the part split, or all other split ports of the switch.

    ``used`` are ports, ``leg`` their leg from 1, 0 for none, ``stem`` a number of the port that is split.
    """
    _legs_beyond(cabling, used, leg, learnt)
    _legs_unlike_siblings(cabling, used, leg, stem, learnt)


def _legs_beyond(cabling: Cabling, used: Array, leg: Array, learnt: Learnt) -> None:
    """Legs numbered beyond what the rate of the part's cage, or of a port of it, allows: 800G at 200G has four."""
    fabric = cabling.fabric
    parts = [part_called(text) for text in fabric.nodes.part.labels.tolist()]
    whole = np.array([[part.chip_gbps / part.n_cages, part.chip_gbps / part.radix] if part else [np.inf, np.inf]
                      for part in parts] + [[np.inf, np.inf]])  # fmt: skip
    places = [place_of_port(text) for text in fabric.ports.label.labels.tolist()]
    of_port = np.array([place.port >= 0 and place.leg >= 0 for place in places] + [False], int)
    kind = of_port[fabric.ports.label.codes[used]]
    gbps = whole[fabric.nodes.part.codes[fabric.ports.node[used]], kind]
    rate = fabric.links.capacity_gbps[cabling.link_of_port[used]]
    for i in np.flatnonzero((leg > 0) & (rate * leg > gbps * (1 + _SLACK))).tolist():
        part = fabric.nodes.part[int(fabric.ports.node[used[i]])]
        split = f"a {('cage', 'port')[kind[i]]} of {part} has {gbps[i]:g} Gb/s, {plural(int(gbps[i] / rate[i]), 'leg')}"
        said = f"leg {leg[i]} at {rate[i]:g} Gb/s; {split}"
        _say_dark(cabling, "breakout-beyond", int(used[i]), said, learnt)


def _legs_unlike_siblings(cabling: Cabling, used: Array, leg: Array, stem: Array, learnt: Learnt) -> None:
    """A lone leg numbered beyond those into which every other split port of its switch does split, no part known."""
    node = cabling.fabric.ports.node[used]
    known = np.array([part_called(text) is not None for text in cabling.fabric.nodes.part.labels.tolist()] + [False])
    legs: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in np.flatnonzero((leg > 0) & ~known[cabling.fabric.nodes.part.codes[node]]).tolist():
        legs[int(node[i])][int(stem[i])].append(i)
    for split in legs.values():
        full = [len(rows) for rows in split.values() if leg[rows].max() == len(rows) > 1]
        n_legs = max(full, default=0)
        beyond = [i for rows in split.values() for i in rows if leg[i] > n_legs]
        if len(full) < MINN or set(full) - {n_legs} or n_legs not in _SPLITS or len(beyond) != 1:
            continue
        said = f"leg {leg[beyond[0]]}; {plural(len(full), 'other split port')} of this switch have legs 1 to {n_legs}"
        _say_dark(cabling, "breakout-beyond", int(used[beyond[0]]), said, learnt)


def judge_ports_of_parts(cabling: Cabling, learnt: Learnt) -> None:
    """Port and cage numbers above those the part has, and more cables than it has ports.

    A port slower than any of the part's cages may be one for service beside them: its cage is not judged.
    """
    fabric = cabling.fabric
    own = np.zeros(len(fabric.ports), bool)
    own[np.concatenate([fabric.links.port_a[cabling.links], fabric.links.port_b[cabling.links]])] = True
    part_of = fabric.nodes.part.codes[fabric.ports.node]
    used = np.bincount(fabric.ports.node[own], minlength=len(fabric.nodes))
    for code, name in enumerate(fabric.nodes.part.labels.tolist()):
        part = part_called(name)
        if part is None:
            continue
        beyond = [_beyond(part, label) for label in fabric.ports.label.labels.tolist()]
        has, is_cage = (np.array([one[i] for one in beyond] + [0], bool) for i in (0, 1))
        rows = np.flatnonzero(own & cabling.cabled & (part_of == code))
        rows = rows[has[fabric.ports.label.codes[rows]]]
        is_slow = fabric.links.capacity_gbps[cabling.link_of_port[rows]] < min(mode.gbps for mode in part.modes)
        rows = rows[~(is_slow & is_cage[fabric.ports.label.codes[rows]])]
        for row, label in zip(rows.tolist(), fabric.ports.label.codes[rows].tolist(), strict=True):
            _say_dark(cabling, "port-beyond", row, f"{name} has {beyond[label][0]}", learnt)
        n_ports = max(mode.n_ports for mode in part.modes)
        for node in np.flatnonzero((fabric.nodes.part.codes == code) & (used > n_ports)).tolist():
            said = f"{used[node]} cabled ports; {name} has {n_ports}"
            at = cabling.first_place(node)
            learnt.findings.append(finding("ports-too-many", str(fabric.nodes.name[node]), said, at=at))


def _beyond(part: SwitchPart, label: str) -> tuple[str, bool]:
    """What the part has, where the port of that name is beyond it, else '', and whether the name says a cage.

    ``65/2`` is leg 2 of port 65, in a mode whose ports can be split further.
    """
    number = _NUMBER.match(label)
    if number:
        finest = sorted(mode.n_ports for mode in part.modes)[-2:]
        most = finest[-1] if label.isdecimal() else finest[0]
        return (f"ports 1 to {most}" if int(number["port"]) > most else ""), False
    place = place_of_port(label)
    if part.is_chassis or not _CAGE.match(label) or place.cage <= part.n_cages:
        return "", True
    return f"cages 1 to {part.n_cages}", True


def _say_dark(cabling: Cabling, code: str, port: int, said: str, learnt: Learnt) -> None:
    """A finding at a port that is not there: its cable stays dark."""
    link = int(cabling.link_of_port[port])
    at = cabling.place(link)
    learnt.findings.append(finding(code, cabling.port_name(port), said, at=at, rivals=((), (link,))))
