"""Numbers that no memory holds are refused before anything is allocated for them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

import topo
from topo.build.assembly import MOST_ROWS, Assembly
from topo.build.plans import ClosOver
from topo.errors import ParameterError
from topo.fabric import Fabric

MANY = 50_000_000
CASES: dict[str, Callable[[], Fabric]] = {
    "fat_tree": lambda: topo.fat_tree(100_000),
    "leaf_spine": lambda: topo.leaf_spine(100_000, 100_000, 1),
    "leaf_spine, hosts": lambda: topo.leaf_spine(MANY, 2, 8),
    "leaf_spine, parallel": lambda: topo.leaf_spine(2, 2, 2, parallel=10**9),
    "clos": lambda: topo.clos(10**12),
    "clos, radix": lambda: topo.clos(4, radix=10**9),
    "rail_optimized": lambda: topo.rail_optimized(MANY),
    "rail_optimized, managers": lambda: topo.rail_optimized(1, managers=10**9),
    "multi_plane": lambda: topo.multi_plane(MANY, planes=8),
    "rail_only": lambda: topo.rail_only(MANY),
    "dual_tor": lambda: topo.dual_tor(MANY),
    "joined_zones": lambda: topo.joined_zones(MANY, leaves=8, spines=8, hosts_per_leaf=8),
    "server": lambda: topo.server("dgx-h100", hosts=MANY),
    "scale_up_domain": lambda: topo.scale_up_domain("gb200-nvl72", domains=MANY),
    "full_mesh_pod": lambda: topo.full_mesh_pod([20_000, 4], link_gbps=400),
    "cluster": lambda: topo.cluster(topo.ClusterHosts("dgx-h100", MANY), ClosOver()),
    "ualink_pod": lambda: topo.ualink_pod(1024, stations=10**9),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_no_memory_holds_is_refused_with_the_count(case: Callable[[], Fabric]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=r"[\d,]{9,}.*at most 64,000,000"):
            case()
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()


def test_a_stripe_is_counted_with_what_is_there() -> None:
    assembly = Assembly("x")
    low = assembly.add_nodes([f"a{i}" for i in range(1000)], kind="switch")
    up = assembly.add_nodes([f"b{i}" for i in range(1000)], kind="switch")
    assembly.stripe(low, up, 1, 400)
    with pytest.raises(ParameterError, match=r"64,000,000 are"):
        assembly.stripe(low, up, MOST_ROWS // 1_000_000, 400)
