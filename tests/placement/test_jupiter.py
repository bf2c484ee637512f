"""JUPITER as its scheduler saw it: 5,884 nodes without rates, 83 idle; and the machine emptied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from topo.io.slurm_state import cluster_state_of_text
from topo.io.slurm_topology import read_slurm_topology
from topo.placement.compare import scheduler_choice
from topo.placement.job import Constraints, Job
from topo.placement.names import folded
from topo.placement.placing import Cluster, PlacementFound, placed_on


@pytest.fixture(scope="module")
def machine(shared_data: Path):  # type: ignore[no-untyped-def]
    folder = shared_data / "slurm_topology"
    fabric = read_slurm_topology((folder / "HicrestLaboratory__JobPlacer__jupiter_topo.txt").read_text())
    state = cluster_state_of_text((folder / "HicrestLaboratory__JobPlacer__jupiter_sinfo.txt").read_text())
    hosts = Cluster.of(fabric)
    return hosts, state


def with_free(machine, names) -> Cluster:  # type: ignore[no-untyped-def]
    cluster, _ = machine
    free = np.isin(cluster.hosts.name, list(names))
    return Cluster(cluster.hosts, cluster.ends, free)


@pytest.fixture(scope="module")
def idle(machine) -> Cluster:  # type: ignore[no-untyped-def]
    return with_free(machine, machine[1].idle)


def test_the_machine(machine, idle) -> None:  # type: ignore[no-untyped-def]
    cluster, _ = machine
    tree = cluster.hosts.tree
    assert len(cluster.hosts) == 5884
    assert [len(level) for level in tree.levels] == [368, 25]
    assert sorted(np.unique(np.bincount(cluster.hosts.leaf), return_counts=True)[1].tolist()) == [1, 367]
    by_leaf = np.bincount(cluster.hosts.leaf[idle.free], minlength=368)
    assert int(by_leaf.sum()) == 83
    assert sorted(by_leaf[by_leaf > 0].tolist(), reverse=True) == [14, 14, 13, 11, 9, 8, 4, 3, 2, 2, 1, 1, 1]
    cells = tree.count(by_leaf)[1]
    assert sorted(cells[cells > 0].tolist(), reverse=True) == [30, 13, 13, 11, 9, 4, 3]


def key(found) -> tuple:  # type: ignore[no-untyped-def]
    a = found.affinity
    return a.leaves_spanned, a.pods_spanned, a.hop_bytes, a.max_uplink_load


def found_for(cluster: Cluster, job: Job, objective: str) -> PlacementFound:
    return placed_on(cluster, job, objective=objective)


def test_sixty_four_nodes(idle) -> None:  # type: ignore[no-untyped-def]
    job = Job(64)
    leaves = found_for(idle, job, "leaves")
    assert key(leaves) == (6, 4, 20_468, 700)
    assert sorted(leaves.leaf_counts.values(), reverse=True) == [14, 14, 13, 11, 9, 3]
    assert (leaves.affinity.least_leaves, leaves.affinity.least_pods, leaves.gap) == (6, 4, 0)
    assert key(found_for(idle, job, "hop_bytes")) == (7, 4, 20_332, 700)
    load = found_for(idle, job, "uplink_load")
    assert load.value == load.affinity.max_uplink_load == 495
    assert load.affinity.leaves_spanned == 10  # 9 of each of five leaves, then all of the next five
    assert any("rates unknown" in note for note in load.notes)
    assert not load.affinity.rates_known
    assert "rates unknown" in str(load)


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ("slurm-tree", (6, 5, 21_096, 700)),
        ("slurm-dragonfly", (13, 7, 22_068, 495)),
        ("kueue-bestfit", (7, 4, 20_392, 700)),
        ("kueue-leastfree", (7, 5, 20_608, 700)),
    ],
)
def test_schedulers_on_sixty_four_nodes(idle, rule: str, wanted) -> None:  # type: ignore[no-untyped-def]
    assert key(scheduler_choice(idle, Job(64), rule)) == wanted


def test_slurm_nodelist_and_the_cell_that_is_too_small(idle) -> None:  # type: ignore[no-untyped-def]
    choice = scheduler_choice(idle, Job(64), "slurm-tree")
    assert folded(choice.hosts) == (
        "jpbo-031-[21-22,25-30],jpbo-039-[33-38,40-44],jpbo-047-[01-08,12-16],jpbo-062-[17-30,35-43],"
        "jpbo-073-[17-20,26-27,29-31]"
    )
    assert scheduler_choice(idle, Job(64), "kueue-required").affinity is None
    with pytest.raises(ValueError, match="within = pod leaves room for 30"):
        placed_on(idle, Job(64, constraints=Constraints(within="pod")))
    small = scheduler_choice(idle, Job(31), "slurm-tree")
    assert key(small)[:3] == (3, 2, 3956)
    assert placed_on(idle, Job(31)).affinity.hop_bytes == 3316


def test_512_on_it_emptied(machine) -> None:  # type: ignore[no-untyped-def]
    cluster, state = machine
    job = Job(512)
    assert key(found_for(cluster, job, "leaves"))[:3] == (32, 3, 1_323_008)
    assert found_for(cluster, job, "hop_bytes").value == 1_323_008
    assert key(scheduler_choice(cluster, job, "slurm-tree"))[:3] == (32, 3, 1_323_008)
    listed = with_free(machine, state.hosts)
    assert int(listed.free.sum()) == 2964
    assert key(found_for(listed, job, "leaves"))[:2] == (32, 5)
    assert key(found_for(listed, job, "hop_bytes"))[:3] == (35, 3, 1_350_072)
    assert key(scheduler_choice(listed, job, "slurm-tree"))[:3] == (34, 8, 1_442_384)
    assert key(scheduler_choice(listed, job, "kueue-bestfit"))[:3] == (34, 3, 1_376_916)


def test_with_planned_nodes_counted_as_free(machine) -> None:  # type: ignore[no-untyped-def]
    _, state = machine
    cluster = with_free(machine, state.with_free("plnd").idle)
    assert int(cluster.free.sum()) == 143
    assert key(scheduler_choice(cluster, Job(64), "slurm-tree"))[:2] == (5, 4)
