"""What folding twins leaves: sizes known from trials, and that labels and wiring keep rows apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import topo
from topo.fabric import Fabric, State
from topo.routing.core import Core
from topo.routing.scheme import Routing
from topo.routing.twins import Quotient, fold_twins, small_codes


def folded(fabric: Fabric, state: State | None = None, label: np.ndarray | None = None) -> Quotient:  # type: ignore[type-arg]
    """The quotient under ECMP."""
    core = Core.of(fabric, state=state, routing=Routing())
    return fold_twins(core, np.zeros(core.n_relays + core.n_parts, int) if label is None else label)


@pytest.mark.parametrize(("k", "rows", "arcs"), [(16, 152, 512), (64, 2144, 8192)])
def test_fat_tree(k: int, rows: int, arcs: int) -> None:
    # Cores of a plane and leaves of a pod fold; every spine stays: k / 2 + k + k * k / 2 rows.
    quotient = folded(topo.fat_tree(k))
    assert (quotient.n, len(quotient.tail)) == (rows, arcs)
    assert rows == k // 2 + k + k * k // 2


def test_lost_cable_splits_its_ends_alone() -> None:
    fabric = topo.fat_tree(16)
    whole = folded(fabric)
    upper = np.flatnonzero(fabric.nodes.tier[fabric.link_a] + fabric.nodes.tier[fabric.link_b] == 5)[:1]
    assert folded(fabric, State.without(fabric, links=upper)).n == whole.n + 1  # the core; its spine was alone
    lower = np.flatnonzero(fabric.nodes.tier[fabric.link_a] + fabric.nodes.tier[fabric.link_b] == 3)[:1]
    assert folded(fabric, State.without(fabric, links=lower)).n == whole.n + 1  # the leaf


def test_selene(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    core = Core.of(fabric, state=None, routing=Routing())
    ends = fabric.endpoint_rows("luna-*")
    held = np.bincount(core.home[ends], minlength=core.n_relays)
    quotient = folded(fabric, label=small_codes(held))
    assert (quotient.n, len(quotient.tail)) == (485, 4226)
    assert len(np.unique(quotient.of[core.home[ends]])) == 135


def test_quotient_stands_for_every_bundle() -> None:
    from topo.build.rail import RailPlan

    for fabric in (
        topo.fat_tree(8),
        topo.cluster(topo.ClusterHosts("dgx-h100", 8), RailPlan(hosts_per_unit=4)),
        topo.dual_tor(2, hosts_per_segment=8, planes=1),
    ):
        quotient = folded(fabric)
        core, arc = quotient.core, quotient.arc_of
        assert quotient.n < core.n_rows
        np.testing.assert_array_equal(quotient.tail[arc], quotient.of[core.tail])
        np.testing.assert_array_equal(quotient.head[arc], quotient.of[core.head])
        np.testing.assert_array_equal(quotient.weight[arc], core.weight)
        np.testing.assert_array_equal(quotient.cost[arc], core.cost)


def test_equal_hosts_fold_part_by_part() -> None:
    from topo.build.rail import RailPlan

    fabric = topo.cluster(topo.ClusterHosts("dgx-h100", 8), RailPlan(hosts_per_unit=4))
    quotient = folded(fabric)
    parts = quotient.core.n_parts
    assert quotient.n_parts * 4 == parts  # two units of four equal hosts
    label = np.zeros(quotient.core.n_relays + parts, int)
    label[quotient.core.n_relays] = 1  # one part that differs keeps its whole host apart
    assert folded(fabric, label=label).n_parts == quotient.n_parts + parts // 8
