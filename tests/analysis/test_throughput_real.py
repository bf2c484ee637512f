"""Throughput of a real machine, read from its discovery dump."""

from __future__ import annotations

from pathlib import Path

import pytest

import topo
from topo import traffic
from topo.analysis.throughput import throughput
from topo.analysis.throughput.certificate import check


def test_all_to_all_on_selene(shared_data: Path) -> None:
    """3,664 endpoints: 0.50206 by even shares as found, and what the best routing and path weights make of it."""
    f = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    demand = traffic.all_to_all(f, "luna-*")
    assert demand.n_pairs == 3664 * 3663
    found = throughput(f, demand)
    assert found.theta_lower == pytest.approx(0.50206, abs=5e-6) and found.exact
    assert found.lost_pairs == 0
    weighted = throughput(f, demand, routing="wcmp")
    best = throughput(f, demand, routing="optimal", accuracy=0.2)
    assert found.theta_lower < weighted.theta_lower <= best.theta_upper * (1 + 1e-6)
    assert best.theta_lower >= weighted.theta_lower * (1 - 1e-9)
    check(f, demand, best)
