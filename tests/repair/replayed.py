"""A second pair of hands: does the steps of a list on ports and cables, and refuses what no hand can do."""

from __future__ import annotations

from collections import Counter

import numpy as np

from topo.fabric import Fabric
from topo.repair.moves import Job
from topo.repair.order import Act
from topo.wiring.comparison import Comparison


def replay(comparison: Comparison, jobs: tuple[Job, ...], acts: tuple[Act, ...]) -> Fabric:
    """Do every act with its own bookkeeping: a port holds one cable, a plug needs an empty port, and no planned cable
    leaves its place. Returns the wiring at the end; every job must be done once.
    """
    both = comparison.both
    on: dict[int, int] = {}  # port to cable
    ends: dict[int, set[int]] = {}  # cable to ports it is plugged into
    extra: Counter[int] = Counter()  # ports that held two cables to begin with
    for row in np.flatnonzero(comparison.found).tolist():
        ends[row] = {int(both.links.port_a[row]), int(both.links.port_b[row])}
        for port in ends[row]:
            extra[port] += port in on
            on[port] = row
    right = {row for row in ends if comparison.planned[row]}
    gone: set[int] = set()
    done: Counter[int] = Counter()
    hanging: set[int] = set()

    def unplug(cable: int, port: int) -> None:
        assert cable not in right, "a cable that is where it is planned was touched"
        assert port in ends[cable]
        ends[cable].discard(port)
        if on.get(port) == cable:
            del on[port]
            if extra[port]:
                extra[port] -= 1
                on[port] = next(row for row, held in ends.items() if port in held)

    def plug(cable: int, port: int) -> None:
        assert port not in on, "the port is not empty"
        on[port] = cable
        ends.setdefault(cable, set()).add(port)

    for act in acts:
        job = jobs[act.job]
        assert act.in_place >= 0
        if act.kind == "unplug":
            unplug(job.found, job.left)
            hanging.add(act.job)
            continue
        done[act.job] += 1
        if act.kind == "plug":
            hanging.remove(act.job)
            plug(job.found, job.entered)
        elif act.kind == "move":
            unplug(job.found, job.left)
            plug(job.found, job.entered)
        elif act.kind == "add":
            plug(job.planned, job.kept)
            plug(job.planned, job.entered)
        elif act.kind == "remove":
            unplug(job.found, job.left)
            unplug(job.found, job.kept)
            gone.add(job.found)
    assert not hanging
    assert done == Counter(range(len(jobs)))
    assert [act.in_place for act in acts] == sorted(act.in_place for act in acts)
    there = {cable: ports for cable, ports in ends.items() if cable not in gone}
    assert all(len(ports) == 2 for cable, ports in there.items() if both.link_a[cable] != both.link_b[cable])
    return _as_fabric(both, there)


def _as_fabric(both: Fabric, cables: dict[int, set[int]]) -> Fabric:
    from dataclasses import replace

    rows = np.array(sorted(cables), np.int64)
    ports = np.array([sorted(cables[row]) for row in rows.tolist()], np.int32)
    links = replace(both.links.take(rows), port_a=ports[:, 0], port_b=ports[:, 1])
    return replace(both, links=links)


def cable_set(fabric: Fabric) -> Counter[tuple[tuple[str, str], tuple[str, str]]]:
    """Cables by names and ports of their ends."""
    names, labels, node = fabric.nodes.name, fabric.ports.label.values(), fabric.ports.node
    links = fabric.links
    return Counter(
        tuple(sorted((str(names[node[port]]), str(labels[port])) for port in (a, b)))  # type: ignore[misc]
        for a, b in zip(links.port_a.tolist(), links.port_b.tolist(), strict=True)
    )
