"""Down over up capacity against hand-counted fabrics, builders' parameters and a real dump."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.analysis.oversubscription import format_ratio, oversubscription
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, State


def test_leaf_of_32_down_16_up() -> None:
    found = oversubscription(topo.leaf_spine(leaves=4, spines=16, hosts_per_leaf=32))
    leaf, spine = found.tiers
    assert (leaf.down_gbps, leaf.up_gbps) == (4 * 12800, 4 * 6400)
    assert (leaf.ratio, leaf.ratio_min, leaf.ratio_mean, leaf.ratio_max) == (2, 2, 2, 2)
    assert (leaf.n_switches, leaf.n_top, leaf.n_narrowest) == (4, 0, 4)
    assert (spine.n_top, spine.ratio) == (16, None)
    assert "2:1" in str(found)
    assert "16, top" in str(found)


@pytest.mark.parametrize("k", [4, 8, 16])
def test_fat_tree_is_non_blocking(k: int) -> None:
    found = oversubscription(topo.fat_tree(k))
    assert found.worst_ratio == 1
    assert [tier.ratio for tier in found.tiers] == [1, 1, None]
    assert [tier.n_top for tier in found.tiers] == [0, 0, k * k // 4]


@pytest.mark.parametrize("taper", [1.0, 2.0, 3.0])
def test_taper_is_kept(taper: float) -> None:
    found = oversubscription(topo.clos(768, tiers=2, radix=64, taper=taper))
    assert found.worst_ratio is not None
    assert found.worst_ratio <= taper + 1e-12
    full = found.tiers[0].ratio_max
    assert full == pytest.approx(taper, rel=0.05)


def test_other_host_rate() -> None:
    found = oversubscription(topo.leaf_spine(4, 4, 16, link_gbps=800, host_gbps=200))
    assert found.worst_ratio == 16 * 200 / (4 * 800)
    assert found.tiers[0].ratio == 1.0


def test_one_missing_uplink_is_named() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=20, hosts_per_leaf=20)
    uplink = np.flatnonzero(fabric.link_a == fabric.rows("leaf-2")[0])
    uplink = uplink[fabric.nodes.tier[fabric.link_b[uplink]] == 2][:1]
    found = oversubscription(fabric, state=State.without(fabric, links=uplink))
    leaf = found.tiers[0]
    assert leaf.ratio_max == 20 / 19
    assert [switch.name for switch in leaf.narrowest] == ["leaf-2"]
    assert leaf.ratio_mean == pytest.approx((1 + 1 + 20 / 19) / 3)
    assert "20:19" in str(found)


def test_degraded_rate_counts() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    rates = fabric.links.capacity_gbps.copy()
    rates[-1] = 100
    found = oversubscription(fabric, state=State(capacity_gbps=rates))
    assert found.worst_ratio == 800 / 500


def test_leaf_cut_off_from_the_spines() -> None:
    """Leaves joined to each other, one of them without uplinks: its hosts go sideways, and it says so."""
    assembly = Assembly("sideways")
    leaf = assembly.add_nodes(["a", "b"], kind="switch", tier=1)
    spine = assembly.add_nodes(["s"], kind="switch", tier=2)
    host = assembly.add_nodes(["h1", "h2"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, leaf, 100, kind="access")
    assembly.connect([leaf[0], leaf[0]], [leaf[1], spine[0]], 40)
    found = oversubscription(assembly.finish())
    tier = found.tiers[0]
    assert (tier.n_cut_off, tier.within_gbps, tier.ratio_max) == (1, 40, 2.5)
    assert [switch.name for switch in tier.narrowest] == ["b"]
    assert found.worst_ratio == float("inf")
    assert "without any uplink" in str(found)
    assert json.loads(found.to_json())["worst_ratio"] is None


def test_idle_leaf_and_service_nodes() -> None:
    assembly = Assembly("aggregation")
    leaf = assembly.add_nodes(["a", "empty"], kind="switch", tier=1)
    spine = assembly.add_nodes(["s"], kind="switch", tier=2)
    host = assembly.add_nodes(["h"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    helper = assembly.add_nodes(["sharp"], kind="aggregation", forwards=FORWARDS_NOTHING)
    assembly.connect(host, leaf[:1], 200, kind="access")
    assembly.connect(helper, leaf[:1], 200, kind="internal")
    assembly.connect(leaf, np.repeat(spine, 2), 100)
    tier = oversubscription(assembly.finish()).tiers[0]
    assert (tier.down_gbps, tier.ratio_max, tier.n_idle) == (200, 2, 1)


def test_unknown_rate_is_refused_with_its_link() -> None:
    assembly = Assembly("unknown")
    leaf = assembly.add_nodes(["a"], kind="switch", tier=1)
    host = assembly.add_nodes(["h"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, leaf, float("nan"), kind="access")
    with pytest.raises(topo.InputError, match=r"h port 1 - a port 1.*assume"):
        oversubscription(assembly.finish())


def test_one_switch_is_its_own_top() -> None:
    found = oversubscription(topo.clos(16, tiers=1))
    assert (found.tiers[0].n_top, found.worst_ratio) == (1, None)


def test_ratio_text() -> None:
    assert format_ratio(16 * 400, 15 * 400) == "16:15"
    assert format_ratio(1.0676, 1) == "1.068:1"
    assert format_ratio(0, 0) == "nothing below or above"


def test_selene_leaves(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    found = oversubscription(fabric)
    short = {
        "LG27-04",
        "LG14-04",
        "LG10-02",
        "LG03-06",
        "LG04-04",
        "LG01-01",
        "LG14-07",
        "LG05-07",
        "LG06-07",
        "LG28-08",
        "LG23-06",
        "LG13-07",
        "LG18-04",
    }
    names = fabric.nodes.name[found.switches]
    leaves = fabric.nodes.tier[found.switches] == 1
    assert set(names[leaves & (found.switch_up_gbps == 19 * 200)].tolist()) == short
    full = leaves & (found.switch_up_gbps == 19 * 200) & (found.switch_down_gbps == 20 * 200)
    assert full.sum() == 3
    assert set((found.switch_down_gbps[full] / found.switch_up_gbps[full]).tolist()) == {20 / 19}


def test_the_frame_holds_numbers() -> None:
    frame = oversubscription(topo.leaf_spine(leaves=4, spines=16, hosts_per_leaf=32)).to_frame()
    assert frame["tier_name"].tolist() == ["leaf", "spine"]
    assert frame.loc[0, ["down_gbps", "up_gbps", "ratio"]].tolist() == [51200.0, 25600.0, 2.0]
    assert frame["down_gbps"].dtype.kind == "f" and frame["standing"].tolist() == ["exact: summed"] * 2


def test_every_line_has_its_standing() -> None:
    found = oversubscription(topo.leaf_spine(leaves=4, spines=16, hosts_per_leaf=32))
    assert all(row.standing is not None for row in found.rows())
