"""The lines of a work list: what a hand does, at which ports, why, and what stands afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from topo.fabric import FORWARDS_ALL, Fabric
from topo.repair.moves import Job, cable_text, port_text
from topo.repair.order import Act
from topo.units import format_gbps
from topo.view.text import natural_key

__all__ = ["DOES", "NO_RACK", "Step", "Touch", "gives_text", "in_order", "step_texts", "touches_of"]

DOES = {"out": "unplug", "in": "plug in", "change": "change", "name": "label"}
"""What :attr:`Touch.does` means, for people."""

NO_RACK = "no rack is stated"


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the list, in the order to be done.

    ``kind`` is move, add, remove, replace, rename; or unplug (let the end hang) and plug (the end that hangs), which
    together are one move. ``leaves`` and ``enters`` name ports. ``because`` is the fault; ``gives_gbps`` what does not
    get through, Gb/s over all cables, where all go on sending as much of an all-to-all as fits without the fault, and
    ``theta`` the part at which it fits with it (nan: not priced). ``in_place`` counts planned cables in place
    afterwards, ``cut_off`` ends of hosts without a way to the rest (-1: not looked at).
    """

    number: int
    kind: str
    text: str
    cable: str
    leaves: tuple[str, ...]
    enters: tuple[str, ...]
    because: str
    gives_gbps: float
    theta: float
    in_place: int
    cut_off: int


class Touch(NamedTuple):
    """One port, or device, that a step touches: ``does`` is out, in, change or name."""

    step: int
    rack: str
    device: str
    port: str
    does: str
    text: str
    because: str
    node: int
    row: int


def in_order(steps: Sequence[Step]) -> str:
    """The heading of a list of steps: what orders them where faults are priced."""
    priced = any(not math.isnan(step.theta) for step in steps)
    return "In this order" + (", what loses most Gb/s of an all-to-all first" if priced else "")


def gives_text(step: Step) -> str:
    """What mending the fault of a step gives back: the rate, and the part of an all-to-all that it alone leaves."""
    share = "" if math.isnan(step.theta) else f", the fault alone leaves {100 * step.theta:.1f} % of an all-to-all"
    return f"gives back {format_gbps(step.gives_gbps)}{share}"


def step_texts(fabric: Fabric, job: Job, kind: str) -> tuple[str, tuple[str, ...], tuple[str, ...], str]:
    """The cable, the ports left, the ports entered, and the whole as a sentence."""
    if job.kind == "rename":
        old = str(fabric.nodes.name[job.found])
        return "", (old,), (job.name,), f"rename {old} to {job.name}"
    if job.kind == "add":
        ends = port_text(fabric, job.kept), port_text(fabric, job.entered)
        return " - ".join(ends), (), ends, f"lay {' - '.join(ends)}"
    cable = cable_text(fabric, (job.kept, job.left))
    ends = port_text(fabric, job.kept), port_text(fabric, job.left)
    if job.kind == "remove":
        return cable, ends, (), f"remove {cable}"
    if job.kind == "replace":
        return cable, (), (), f"replace {cable} by a cable of {job.gbps:g} Gb/s"
    into = port_text(fabric, job.entered)
    texts = {
        "move": f"move {ends[1]} to {into} (the other end stays at {ends[0]})",
        "unplug": f"unplug {ends[1]} and let it hang (the other end stays at {ends[0]})",
        "plug": f"plug the hanging end, once in {ends[1]}, into {into} (the other end is at {ends[0]})",
    }
    leaves = () if kind == "plug" else (ends[1],)
    return cable, leaves, () if kind == "unplug" else (into,), texts[kind]


def touches_of(fabric: Fabric, jobs: Sequence[Job], acts: Sequence[Act], steps: Sequence[Step]) -> list[Touch]:
    """Every port that the steps touch, by rack, device and step: what a technician at one rack has to do there."""
    touches = []
    for act, step in zip(acts, steps, strict=True):
        job = jobs[act.job]
        for does, text, row in _at_ports(fabric, job, act.kind):
            node = int(fabric.ports.node[row])
            label = fabric.ports.label[row] or _a_free(fabric, node)
            touches.append(Touch(step.number, _rack(fabric, node), _device(fabric, node), label, does, text,
                                 step.because, node, row))  # fmt: skip
        if job.kind == "rename":
            node = job.found
            touches.append(Touch(step.number, _rack(fabric, node), _device(fabric, node), "", "name",
                                 f"new label and name: {job.name}", step.because, node, -1))  # fmt: skip
    order = {rack: i for i, rack in enumerate(sorted({one.rack for one in touches}, key=natural_key))}
    return sorted(touches, key=lambda one: (order[one.rack], *_place(fabric, one.node), one.step))


def _place(fabric: Fabric, node: int) -> tuple[int, list[object]]:
    """Switches before hosts, each in natural order."""
    return int(fabric.nodes.forwards[node] != FORWARDS_ALL), list(natural_key(_device(fabric, node)))


def _rack(fabric: Fabric, node: int) -> str:
    return fabric.nodes.rack[node] or NO_RACK


def _device(fabric: Fabric, node: int) -> str:
    name = str(fabric.nodes.name[node])
    return name if fabric.nodes.forwards[node] == FORWARDS_ALL else fabric.nodes.host[node] or name


def _a_free(fabric: Fabric, node: int) -> str:
    return "any free port" if fabric.nodes.forwards[node] == FORWARDS_ALL else str(fabric.nodes.name[node])


def _at_ports(fabric: Fabric, job: Job, kind: str) -> list[tuple[str, str, int]]:
    """What is done at which ports: out or in or change, words, port."""
    kept, left, entered = (port_text(fabric, port) if port >= 0 else "" for port in (job.kept, job.left, job.entered))
    if job.kind == "add":
        return [("in", f"new cable to {entered}", job.kept), ("in", f"new cable from {kept}", job.entered)]
    if job.kind == "remove":
        return [
            ("out", f"take away the cable to {left}", job.kept),
            ("out", f"take away the cable to {kept}", job.left),
        ]
    if job.kind == "replace":
        text = f"change for a cable of {job.gbps:g} Gb/s"
        return [("change", f"{text}, to {left}", job.kept), ("change", f"{text}, to {kept}", job.left)]
    if job.kind == "rename":
        return []
    touches = []
    if kind != "plug":
        goes = f"goes to {entered}" if kind == "move" else "let it hang"
        touches.append(("out", f"the cable from {kept}: {goes}", job.left))
    if kind != "unplug":
        came = f"came from {left}" if kind == "move" else f"hung since it left {left}"
        touches.append(("in", f"the cable from {kept}: {came}", job.entered))
    return touches
