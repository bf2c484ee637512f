"""Fabrics that are no trees: switches joined sideways, endpoints that forward; against networkx and the load kernel."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.placement.contention import demand_of
from topo.placement.fold import hosts_of
from topo.placement.job import Job
from topo.placement.measure import end_tree, measured
from topo.placement.placement import placement_of
from topo.placement.placing import OBJECTIVES, place
from topo.routing.loads import link_loads

FLAT = {
    "slim fly": lambda: topo.slim_fly(5),
    "dragonfly": lambda: topo.dragonfly(2, 4, 2),
    "hyperx": lambda: topo.hyperx([3, 4], 2),
    "jellyfish": lambda: topo.jellyfish(20, 5, 3, seed=1),
    "torus": lambda: topo.torus([4, 4, 4]),
}


def hops(fabric: Fabric, job: Job, rows: list[int]) -> float:
    """Bytes times links from networkx, what stays in a host left out."""
    graph = networkx.Graph(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    host = fabric.nodes.host.codes
    total = 0.0
    matrix = job.traffic.between(np.arange(job.size), job.size).tocoo()
    for s, t, w in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
        a, b = rows[s], rows[t]
        if a != b and (host[a] < 0 or host[a] != host[b]):
            total += w * networkx.shortest_path_length(graph, a, b)
    return total


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("pattern", ["ring", "all-to-all"])
def test_a_job_spans_switches_that_are_joined_sideways(name: str, pattern: str) -> None:
    fabric = FLAT[name]()
    hosts = hosts_of(fabric)
    busy = np.random.default_rng(2).random(len(hosts)) < 0.3
    width = int(hosts.size[0])
    job = Job(12 * width, pattern=pattern)
    for objective in OBJECTIVES:
        found = place(fabric, job, busy=busy, objective=objective, budget_s=0.2)
        scores = found.affinity
        assert len(set(found.hosts)) == 12 and scores.unreachable_pairs == 0
        assert found.lower_bound <= found.value * (1 + 1e-9)
        assert scores.hop_bytes == pytest.approx(hops(fabric, job, found.ranks))
        if objective == "hop_bytes":
            assert found.value == scores.hop_bytes
        if name == "torus":
            assert any("no uplinks" in note for note in found.notes) == (objective == "uplink_load")
            continue
        # The kernel's even split over all shortest paths, every link: the same sum, and the busiest of them.
        mine = measured(end_tree(hosts), job, placement_of(hosts, job, found.ranks))
        loads = link_loads(fabric, demand_of(mine))
        carried = loads.arc_gbps.sum() / mine.scale
        if name == "dragonfly":  # its minimal routes take one link between groups, which is not always shortest
            assert carried >= scores.hop_bytes - 1e-6
        else:
            assert carried == pytest.approx(scores.hop_bytes)
        full = (loads.arc_gbps / loads.capacity_gbps)[loads.is_network_arc]
        assert scores.max_utilization == pytest.approx(full.max())
        assert scores.max_uplink_load == pytest.approx(_most_out(fabric, job, found.ranks))


def _most_out(fabric: Fabric, job: Job, rows: list[int]) -> float:
    """Most bytes that leave, or enter, the hosts of one switch."""
    leaf = {}
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        for end, switch in ((a, b), (b, a)):
            if fabric.nodes.is_endpoint[end]:
                leaf[end] = switch
    matrix = job.traffic.between(np.arange(job.size), job.size).tocoo()
    out: dict[int, float] = {}
    for s, t, w in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
        a, b = leaf[rows[s]], leaf[rows[t]]
        if a != b:
            out[a] = out.get(a, 0.0) + w  # rings and all-to-alls send as much as they take
    return max(out.values(), default=0.0)


def two_rings() -> Fabric:
    """Three switches in a ring, twice; nothing joins the two."""
    assembly = Assembly("two rings")
    switch = assembly.add_nodes([f"s{i}" for i in range(6)], kind="switch", tier=1)
    host = assembly.add_nodes([f"h{i:02}" for i in range(24)], kind="host", is_endpoint=True)
    assembly.connect(host, np.repeat(switch, 4), 100, kind="access")
    for base in (0, 3):
        assembly.connect(switch[[base, base + 1, base + 2]], switch[[base + 1, base + 2, base]], 100)
    return assembly.finish()


def test_parts_that_nothing_joins_hold_no_job_together() -> None:
    fabric = two_rings()
    found = place(fabric, Job(12))
    assert found.value == 3 and found.affinity.unreachable_pairs == 0
    with pytest.raises(
        ParameterError, match="the 24 free ones lie in 2 parts that nothing joins, at most 12 in one: 1 are"
    ):
        place(fabric, Job(13))
    across = place(fabric, Job(6), busy=[f"h{i:02}" for i in range(9)])
    assert across.affinity.unreachable_pairs == 0
    apart = topo.placement_affinity(fabric, ["h00", "h12"], Job(2))
    assert apart.unreachable_pairs == 2 and apart.hop_bytes == 0


def test_unknown_and_endless_capacities_warn_of_nothing() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        place(topo.rail_only(16, rails=4), Job(16), objective="uplink_load")


def test_hosts_on_several_leaves_without_rails_send_from_their_own() -> None:
    """Adapters without a rail: with or without relays every byte leaves where it is, and the kernel agrees."""
    fabric = topo.load("alcf-aurora")
    hosts = hosts_of(fabric)
    ends = end_tree(hosts)
    assert ends.separate_rails and (ends.rail[fabric.endpoints] < 0).all()
    names = hosts.name[np.random.default_rng(0).choice(len(hosts), 4, replace=False)].tolist()
    job = Job(32)
    placed = placement_of(hosts, job, names)
    both = [measured(ends, job, placed, pxn=pxn) for pxn in (True, False)]
    assert both[0].hop_bytes == both[1].hop_bytes and np.array_equal(both[0].matrix, both[1].matrix)
    assert link_loads(fabric, demand_of(both[0])).arc_gbps.sum() / both[0].scale >= both[0].hop_bytes - 1e-6
