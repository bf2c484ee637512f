"""Time to validate wirings: 65,536 cables against their design in ten seconds, and without one.

Run with ``python -m pytest tests/benchmarks/test_wiring_speed.py -s``.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

import topo
from topo.table import Labels
from topo.wiring import validate

N_FAULTS = 50
LIMIT_SECONDS = 10.0


@pytest.fixture(scope="module")
def design() -> topo.Fabric:
    """16,384 hosts under three tiers of switches of 64 ports: 49,152 cables; with 5,461 more leaves, 65,536."""
    fabric = topo.clos(21_845, tiers=3, radix=64)
    assert len(fabric.links) >= 65_536
    return fabric


def damaged(fabric: topo.Fabric) -> topo.Fabric:
    rng = np.random.default_rng(0)
    between = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    rows = rng.choice(between, 3 * N_FAULTS, replace=False)
    port_b = fabric.links.port_b.copy()
    port_b[rows[:N_FAULTS]], port_b[rows[N_FAULTS : 2 * N_FAULTS]] = (
        port_b[rows[N_FAULTS : 2 * N_FAULTS]],
        port_b[rows[:N_FAULTS]],
    )
    return replace(fabric, links=replace(fabric.links, port_b=port_b)).without(links=rows[2 * N_FAULTS :])


def test_against_the_design_by_name(record, design: topo.Fabric) -> None:  # type: ignore[no-untyped-def]
    found = damaged(design)
    start = time.perf_counter()
    answer = validate(found, design, consequence=False)
    seconds = time.perf_counter() - start
    assert answer.n_operations == 3 * N_FAULTS
    assert seconds < LIMIT_SECONDS
    record(f"{len(design.links):,} cables against their design, 100 faults", "topo", seconds, "150 operations")


def test_against_the_design_with_prices(record, design: topo.Fabric) -> None:  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    answer = validate(damaged(design), design)
    seconds = time.perf_counter() - start
    assert answer.consequence is not None
    record("the same, every fault priced or ranked, with the bisection", "topo", seconds, "100 findings")
    assert seconds < LIMIT_SECONDS


def test_against_the_design_by_structure(record, design: topo.Fabric) -> None:  # type: ignore[no-untyped-def]
    found = damaged(design)
    n = len(found.nodes)
    names = np.array([f"device-{i}" for i in np.random.default_rng(1).permutation(n)])
    found = replace(found, nodes=replace(found.nodes, name=names, host=Labels.constant(None, n)))
    start = time.perf_counter()
    answer = validate(found, design, consequence=False)
    seconds = time.perf_counter() - start
    assert answer.n_operations <= 3 * N_FAULTS
    assert seconds < LIMIT_SECONDS
    record("the same without names", "topo", seconds, f"{answer.n_operations} operations")


def test_without_a_design(record, design: topo.Fabric) -> None:  # type: ignore[no-untyped-def]
    found = damaged(design)
    start = time.perf_counter()
    answer = validate(found, consequence=False)
    seconds = time.perf_counter() - start
    assert seconds < LIMIT_SECONDS
    record("the same without a design", "topo", seconds, f"{len(answer.findings)} findings")
