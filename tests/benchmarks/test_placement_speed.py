"""Scoring and placing on the half-full SuperPOD of 16,384 accelerators, and on JUPITER.

Run with ``python -m pytest tests/benchmarks/test_placement_speed.py -s``. The limits are those of one free core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topo
from topo.placement import Cluster, Job, place, placed_on, placement_affinity


@pytest.fixture(scope="module")
def superpod() -> topo.Fabric:
    return topo.load("nvidia-superpod-b200-64su")


BUSY = np.random.default_rng(1).random((64, 32)).ravel() < 0.5


def structured(p: int, d: int, ring: float, chain: float, e: int = 1, w: float = 0.0) -> Job:
    return Job(
        degrees={"tensor": 8, "pipeline": p, "data": d, "expert": e},
        order=("tensor", "pipeline", "data"),
        bytes_per_step={"data": ring / 8, "pipeline": chain / 8, "expert": w / 8},
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


@pytest.mark.parametrize("job", [Job(1024), structured(8, 16, 10, 0.4)], ids=["all-to-all", "8 stages x 16 replicas"])
def test_scoring(superpod, record, job: Job) -> None:  # type: ignore[no-untyped-def]
    rows = superpod.nodes.host.labels[np.flatnonzero(~BUSY)[:128]].tolist()
    seconds, scores = timed(lambda: placement_affinity(superpod, rows, job, busy=BUSY))
    record(f"score 1,024 ranks of {len(superpod.endpoints):,}", "topo", seconds, f"{scores.leaves_spanned} groups")
    assert seconds < 1


@pytest.mark.parametrize("objective", ["leaves", "hop_bytes", "uplink_load"])
@pytest.mark.parametrize("job", [Job(1024), structured(1, 128, 1, 0)], ids=["all-to-all", "ring"])
def test_placing_what_is_exact(superpod, record, objective: str, job: Job) -> None:  # type: ignore[no-untyped-def]
    seconds, found = timed(lambda: place(superpod, job, busy=BUSY, objective=objective))
    record(f"place 1,024 ranks, {objective}", "topo", seconds, f"{found.value:g}, gap {found.gap}")
    assert found.gap == 0
    assert seconds < 1


@pytest.mark.parametrize("objective", ["leaves", "hop_bytes", "uplink_load"])
@pytest.mark.parametrize(
    "grid",
    [
        (8, 16, 10, 0.4),
        (16, 8, 10, 1),
        (8, 16, 1, 1),
        (4, 32, 2, 1, 8, 1),
        (2, 64, 5, 2, 16, 1),
        (8, 16, 1, 1, 16, 0.2),
    ],
    ids=str,
)
def test_placing_structured_demands(superpod, record, objective: str, grid) -> None:  # type: ignore[no-untyped-def]
    seconds, found = timed(lambda: place(superpod, structured(*grid), busy=BUSY, objective=objective))
    record(f"place {grid}, {objective}", "topo", seconds, f"{found.value:g}, bound {found.lower_bound:g}")
    assert found.gap is not None
    assert found.gap <= 0.08
    assert seconds < 10


@pytest.mark.parametrize("stages", [8])
def test_placing_2048(superpod, record, stages: int) -> None:  # type: ignore[no-untyped-def]
    job = structured(stages, 256 // stages, 10, 0.4)
    seconds, found = timed(lambda: place(superpod, job, busy=BUSY, objective="hop_bytes"))
    record("place 2,048 ranks, hop_bytes", "topo", seconds, f"{found.value:g}, bound {found.lower_bound:g}")
    assert seconds < 12


def test_jupiter(shared_data: Path, record) -> None:  # type: ignore[no-untyped-def]
    from topo.io.slurm_state import cluster_state_of_text
    from topo.io.slurm_topology import read_slurm_topology

    folder = shared_data / "slurm_topology"
    fabric = read_slurm_topology((folder / "HicrestLaboratory__JobPlacer__jupiter_topo.txt").read_text())
    state = cluster_state_of_text((folder / "HicrestLaboratory__JobPlacer__jupiter_sinfo.txt").read_text())
    seconds, every = timed(lambda: Cluster.of(fabric))
    record("fold JUPITER", "topo", seconds, f"{len(every.hosts):,} nodes")
    idle = Cluster(every.hosts, every.ends, np.isin(every.hosts.name, list(state.idle)))
    for cluster, n, least in ((idle, 64, (6, 4)), (every, 512, (32, 3))):
        seconds, found = timed(lambda cluster=cluster, n=n: placed_on(cluster, Job(n)))
        assert (found.affinity.leaves_spanned, found.affinity.pods_spanned) == least
        record(f"place {n} nodes on JUPITER", "topo", seconds, f"{least[0]} leaves, {least[1]} cells")
        assert seconds < 1
