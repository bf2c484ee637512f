"""The one kernel of repair and growth: found cables and planned cables to jobs for a hand, and jobs to a fabric.

A job is one of five: *move* one end of a cable to another port while the other end stays, *add* a cable, *remove* one,
*replace* one by a faster one on the same ports, *rename* a device. With f the cables found and not planned, q those
planned and not found, and m the largest matching between them of cables that share an end, no list of moves, adds and
removes is shorter than ``|f| + |q| - m`` (:func:`topo.wiring.difference.difference`); unplugging an end and letting it
hang is free, so ports never stand in the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, Fabric
from topo.table import Array
from topo.wiring.cabling import port_words
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Operation

__all__ = [
    "Bench",
    "Job",
    "apply_jobs",
    "cable_text",
    "job_of",
    "n_jobs",
    "port_text",
    "replaced_after",
    "settled",
    "slower",
]

_SLACK = 1e-6


class Job(NamedTuple):
    """One job at the cables, rows of the fabric that holds both sides.

    ``found`` is the cable as it hangs (-1 for an *add*), ``planned`` the one it becomes (-1 for a *remove*). A *move*
    leaves port ``left`` and enters ``entered`` while ``kept`` stays; an *add* enters ``kept`` and ``entered``; a
    *remove* leaves ``kept`` and ``left``; a *replace* leaves and enters both. ``gbps`` is the rate of a new cable. A
    *rename* speaks of node ``found``, ``name`` is its new name. ``fault`` numbers what the job belongs to. Rows of
    equal ``hand`` (-1: none) are one job: the legs of a cable whose common plug moves.
    """

    kind: str
    found: int
    planned: int
    kept: int
    left: int
    entered: int
    gbps: float
    fault: int
    name: str = ""
    hand: int = -1

    @property
    def leaves(self) -> tuple[int, ...]:
        """Ports that are empty once the cable is out."""
        return {"move": (self.left,), "remove": (self.kept, self.left)}.get(self.kind, ())

    @property
    def enters(self) -> tuple[int, ...]:
        """Ports that must be empty before."""
        return {"move": (self.entered,), "add": (self.kept, self.entered)}.get(self.kind, ())


@dataclass(eq=False)
class Bench:
    """Both sides as one fabric, and the free ports that jobs may take where no plan names one."""

    comparison: Comparison
    by_device: bool = False

    def __post_init__(self) -> None:
        fabric = self.fabric
        links = fabric.links
        taken = np.zeros(len(fabric.ports), bool)
        taken[links.port_a] = taken[links.port_b] = True
        self.named = ~np.append(fabric.ports.label.labels == "", True)[fabric.ports.label.codes]
        free = np.flatnonzero(~taken & self.named)[::-1]
        self._free: dict[int, list[int]] = {}
        for port, node in zip(free.tolist(), fabric.ports.node[free].tolist(), strict=True):
            self._free.setdefault(node, []).append(port)

    @property
    def fabric(self) -> Fabric:
        """The fabric of both sides."""
        return self.comparison.both

    def node(self, port: int) -> int:
        """The node of a port."""
        return int(self.fabric.ports.node[port])

    def ends(self, link: int) -> tuple[int, int]:
        """Both ports of a link."""
        links = self.fabric.links
        return int(links.port_a[link]), int(links.port_b[link])

    def a_free_port(self, port: int) -> int:
        """The port itself where it has a name, else the lowest free port of its node, where there is one."""
        left = None if self.named[port] else self._free.get(self.node(port))
        return left.pop() if left else port


def job_of(bench: Bench, operation: Operation, fault: int) -> Job:
    """The job of one operation of a finding: which end stays, which port is left, which is entered."""
    gbps, hand = bench.fabric.links.capacity_gbps, operation.job
    if operation.kind == "add":
        a, b = (bench.a_free_port(port) for port in bench.ends(operation.planned))
        return Job("add", -1, operation.planned, a, -1, b, float(gbps[operation.planned]), fault, hand=hand)
    if operation.kind == "remove":
        a, b = bench.ends(operation.found)
        return Job("remove", operation.found, -1, a, b, -1, float("nan"), fault, hand=hand)
    kept, left, entered = _end_that_moves(bench, operation.found, operation.planned)
    return Job(
        "move", operation.found, operation.planned, kept, left, bench.a_free_port(entered),
        float(gbps[operation.planned]), fault, hand=hand,
    )  # fmt: skip


def _end_that_moves(bench: Bench, found: int, planned: int) -> tuple[int, int, int]:
    """Port that stays, port left and port entered: the end both share stays, by port, else by device."""
    was, will = bench.ends(found), bench.ends(planned)
    pairs = [(i, j) for i in (0, 1) for j in (0, 1)]
    for i, j in pairs:
        if was[i] == will[j]:
            return was[i], was[1 - i], will[1 - j]
    for i, j in pairs:
        if bench.node(was[i]) == bench.node(will[j]):
            return was[i], was[1 - i], will[1 - j]
    raise AssertionError(f"cables {found} and {planned} share no end")


def n_jobs(jobs: Iterable[Job]) -> int:
    """How many jobs a hand has: legs that move with one plug are one."""
    return len({("plug", job.hand) if job.hand >= 0 else ("row", i) for i, job in enumerate(jobs)})


def settled(bench: Bench, jobs: Sequence[Job]) -> list[Job]:
    """The jobs with every port entered once and free in the end, another port of the same device where it is not.

    Where no design says which port, any port of the device will do, the lowest first: one that another job leaves, or
    one that is free.
    """
    fabric, links = bench.fabric, bench.fabric.links
    rows = np.flatnonzero(bench.comparison.found)
    held = np.bincount(np.concatenate([links.port_a[rows], links.port_b[rows]]), minlength=len(fabric.ports))
    np.subtract.at(held, np.array([port for job in jobs for port in job.leaves], np.int64), 1)
    usable = held <= 0
    wanted = np.zeros(len(held), bool)
    wanted[[port for job in jobs for port in job.enters]] = True
    spare: dict[int, list[int]] = {}
    free = np.flatnonzero(usable & ~wanted & bench.named)[::-1]
    for port, node in zip(free.tolist(), fabric.ports.node[free].tolist(), strict=True):
        spare.setdefault(node, []).append(port)

    def place(port: int) -> int:
        if usable[port]:
            usable[port] = False
            return port
        others = spare.get(bench.node(port))
        return others.pop() if others else port

    result = []
    for job in jobs:
        if job.kind == "add":
            job = job._replace(kept=place(job.kept), entered=place(job.entered))
        elif job.kind == "move":
            job = job._replace(entered=place(job.entered))
        result.append(job)
    return result


def slower(gbps: Array, than: Array) -> NDArray[np.bool_]:
    """Which rates are below others by more than rounding; unknown ones are not.

    >>> slower(np.array([100.0, 400.0, np.nan]), np.array([400.0, 400.0, 400.0])).tolist()
    [True, False, False]
    """
    below: NDArray[np.bool_] = gbps < than * (1 - _SLACK)
    return below


def replaced_after(fabric: Fabric, jobs: Sequence[Job]) -> list[Job]:
    """A faster cable for each that moves to a place planned for one, at the ports where it then is."""
    moves = [job for job in jobs if job.kind == "move"]
    rates = fabric.links.capacity_gbps[[job.found for job in moves]]
    late = slower(rates, np.array([job.gbps for job in moves]))
    return [
        job._replace(kind="replace", left=job.entered, entered=-1, hand=-1)
        for job, is_slow in zip(moves, late.tolist(), strict=True)
        if is_slow
    ]


def apply_jobs(comparison: Comparison, jobs: Iterable[Job], rows: Array | None = None) -> Fabric:
    """The found fabric once all jobs are done, in ports: what a hand makes of it, not what the plan says.

    ``rows`` are the links found (default: those of the comparison). Cables that move keep their own rate.
    """
    both = comparison.both
    port_a, port_b = both.links.port_a.astype(np.int64).copy(), both.links.port_b.astype(np.int64).copy()
    gbps = both.links.capacity_gbps.copy()
    there = comparison.found.copy() if rows is None else np.isin(np.arange(len(both.links)), rows)
    names = both.nodes.name.astype(object)
    for job in jobs:
        if job.kind == "move":
            ends = port_a if port_a[job.found] == job.left else port_b
            ends[job.found] = job.entered
        elif job.kind == "add":
            there[job.planned] = True
            port_a[job.planned], port_b[job.planned] = job.kept, job.entered
        elif job.kind == "remove":
            there[job.found] = False
        elif job.kind == "replace":
            gbps[job.found] = job.gbps
        else:
            names[job.found] = job.name
    links = replace(both.links, port_a=port_a.astype(np.int32), port_b=port_b.astype(np.int32), capacity_gbps=gbps)
    nodes = replace(both.nodes, name=names.astype(np.str_))
    mended = replace(both, nodes=nodes, links=links)
    return mended if there.all() else mended.without(links=np.flatnonzero(~there))


def port_text(fabric: Fabric, port: int) -> str:
    """Node and port of an end, for people; a port of a switch that nobody knows is any free one.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=1)
    >>> port_text(fabric, int(fabric.links.port_a[2]))
    'leaf-1 port 2'
    """
    label = fabric.ports.label[port]
    node = int(fabric.ports.node[port])
    name = str(fabric.nodes.name[node])
    if label:
        return f"{name} {port_words(label)}"
    return f"{name} (any free port)" if fabric.nodes.forwards[node] == FORWARDS_ALL else name


def cable_text(fabric: Fabric, ports: Sequence[int]) -> str:
    """A cable by the ports of its ends."""
    return " - ".join(port_text(fabric, port) for port in ports)
