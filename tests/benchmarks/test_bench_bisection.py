"""Certified bisection of the catalogue's fabrics that took long: opened hosts, scale-up domains, very many adapters.

Run with ``python -m pytest tests/benchmarks/test_bench_bisection.py -s``. Nothing here has a time limit.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import topo
from topo.analysis.bisection import certificate
from topo.fabric import State


def answered(fabric: topo.Fabric, keep: str, state: State | None = None) -> tuple[float, topo.Bisection]:
    """Seconds for the answer, best of three, and the answer with both witnesses checked."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        answer = topo.bisection_bandwidth(fabric, keep=keep, state=state)
        best = min(best, time.perf_counter() - start)
    certificate.check(fabric, answer)
    return float(best), answer


@pytest.mark.parametrize(
    ("name", "keep"),
    [
        ("nvidia-superpod-gb200-2su-nvl72", "none"),
        ("nvidia-superpod-gb200-2su-nvl72", "host"),
        ("nvidia-superpod-gb200-2su-nvl72", "domain"),
        ("nvidia-superpod-h100-4su-dgx", "none"),
        ("nvidia-superpod-a100-256", "none"),
        ("huawei-cloudmatrix384", "none"),
        ("openai-mrc-131k", "none"),
    ],
)
def test_bisection_of(record, name: str, keep: str) -> None:  # type: ignore[no-untyped-def]
    seconds, answer = answered(topo.load(name), keep)
    assert answer.exact
    record(f"bisection of {name}, kept whole: {keep}", "topo", seconds, f"{answer.upper_gbps:,.0f} Gb/s, exact")


def test_bisection_of_131072_adapters_less_one_cable(record) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.load("openai-mrc-131k")
    access = np.flatnonzero(fabric.links.kind.is_any("access"))
    seconds, answer = answered(fabric, "none", State.without(fabric, links=access[:1]))
    assert answer.upper_gbps == 65_536 * 800 - 100
    record("the same, one access cable lost", "topo", seconds, "exact" if answer.exact else f"{answer.lower_gbps:,.0f}")
