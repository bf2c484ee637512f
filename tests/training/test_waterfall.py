"""The waterfall: worked cases, its end against the collective's time, bars that add up, and one that is negative."""

import numpy as np
import pytest

import topo
from topo.analysis.collectives.carried import Wire
from topo.analysis.collectives.on_fabric import collective_time
from topo.build.assembly import Assembly
from topo.build.cluster import ClusterHosts
from topo.build.rail import RailPlan
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import Fabric, State
from topo.routing.loads import link_loads
from topo.traffic.demand import Demand
from topo.traffic.patterns import all_to_all
from topo.training.waterfall import EFFECTS, Goodput, goodput


@pytest.fixture(scope="module")
def superpod() -> Fabric:
    """Four units of 32 hosts, 32 leaves of 32 + 32, 16 spines, two links a pair."""
    return topo.rail_optimized(hosts=128, rails=8, hosts_per_unit=32, radix=64)


def rings(fabric: Fabric, hosts: np.ndarray) -> np.ndarray:
    return fabric.endpoints.reshape(-1, 8)[hosts].T


CONTIGUOUS = np.arange(64)
ALTERNATING = np.stack([np.arange(32), 32 + np.arange(32)], axis=1).ravel()
ROUND_ROBIN = np.array([32 * unit + i for i in range(16) for unit in range(4)])


def left(answer: Goodput) -> list[float]:
    return [level.gbps for level in answer.levels]


# Worked with 400 draws, standard error at most 1 Gb/s.
@pytest.mark.parametrize(
    ("order", "given", "worked"),
    [
        (CONTIGUOUS, {}, [392.1, 392.1, 392.1, 392.1, 392.1, 392.1, 386.5]),
        (CONTIGUOUS, {"bytes": 2.0**26}, [392.1, 392.1, 392.1, 392.1, 392.1, 392.1, 317.9]),
        (ALTERNATING, {}, [392.1, 392.1, 392.1, 74.7, 73.6, 73.6, 73.4]),
        (ALTERNATING, {"queue_pairs": 4}, [392.1, 392.1, 392.1, 136.2, 131.5, 131.5, 130.8]),
        (ALTERNATING, {"routing": "spray"}, [392.1, 392.1, 392.1, 392.1, 367.6, 367.6, 362.7]),
        (ALTERNATING, {"routing": "spray", "bytes": 2.0**26}, [392.1, 392.1, 392.1, 392.1, 367.6, 367.6, 301.6]),
    ],
)
def test_rings_over_64_hosts_of_a_superpod(superpod: Fabric, order: np.ndarray, given: dict, worked: list) -> None:
    spine = State.without(superpod, nodes="spine-01")
    answer = goodput(superpod, rings(superpod, order), failed=spine, samples=200, **given)
    assert answer.line_gbps == 400
    spread = 0.06 if given.get("routing") == "spray" or order is CONTIGUOUS else 4.0
    assert left(answer)[1:] == pytest.approx(worked, abs=spread)


def test_an_equal_job_beside_it(superpod: Fabric) -> None:
    spine = State.without(superpod, nodes="spine-01")
    other = rings(superpod, ROUND_ROBIN + 16)
    beside = Demand.of(superpod, "beside", source=other.ravel(), sink=np.roll(other, -1, axis=1).ravel(), gbps=400.0)
    mine = rings(superpod, ROUND_ROBIN)
    hashed = goodput(superpod, mine, failed=spine, samples=200, queue_pairs=4, others=beside)
    assert left(hashed)[4:] == pytest.approx([194.1, 189.1, 125.0, 124.5], abs=5)
    adaptive = goodput(superpod, mine, failed=spine, routing="spray", others=beside)
    assert left(adaptive)[4:] == pytest.approx([392.15, 392.15, 367.64, 362.7], abs=0.06)


@pytest.mark.parametrize(
    ("given", "worked", "spread"),
    [
        ({}, [223.2, 197.1, 185.3, 185.3, 166.9], 6),
        ({"queue_pairs": 4}, [223.2, 209.9, 197.0, 197.0, 176.3], 2.5),
        ({"routing": "spray"}, [223.2, 223.2, 209.3, 209.3, 186.1], 0.06),
    ],
)
def test_all_to_all_on_two_to_one(given: dict, worked: list, spread: float) -> None:
    f = topo.leaf_spine(leaves=8, spines=16, hosts_per_leaf=32, link_gbps=400)
    spine = State.without(f, nodes="spine-01")
    answer = goodput(f, None, "all_to_all", bytes=2.0**28, failed=spine, samples=8, **given)
    assert left(answer)[3:] == pytest.approx(worked, abs=spread)
    assert answer.levels[3].gbps == pytest.approx(400 * 4096 / 4178 / (2 * 224 / 255))


def test_two_to_one_shows_as_contention_where_half_of_each_leaf_is_another_job() -> None:
    f = topo.leaf_spine(leaves=8, spines=16, hosts_per_leaf=32, link_gbps=400)
    spine = State.without(f, nodes="spine-01")
    rows = f.endpoints.reshape(8, 32)
    beside = all_to_all(f, rows[:, 16:].ravel())
    answer = goodput(f, rows[:, :16].ravel(), "all_to_all", bytes=2.0**28, failed=spine, others=beside, routing="spray")
    assert left(answer)[3:] == pytest.approx([392.1, 392.1, 392.1, 208.4, 196.2], abs=0.06)


def test_sixteen_flows_on_eight_links_are_no_product() -> None:
    f = topo.leaf_spine(leaves=2, spines=8, hosts_per_leaf=16, link_gbps=400)
    rows = f.endpoints.reshape(2, 16)
    flows = Demand.of(f, "sixteen", source=rows[0], sink=rows[1], gbps=400.0)
    answer = goodput(f, demand=flows, statistic="mean", samples=3000)
    of_wire = [level.gbps / answer.levels[1].gbps for level in answer.levels]
    assert of_wire[3] == pytest.approx(0.5)
    # E[occupied]/n = 8 (1 - (7/8)^16)/16, not 0.5 x 0.6564.
    assert of_wire[4] == pytest.approx(8 * (1 - (7 / 8) ** 16) / 16, abs=4e-3)
    assert abs(of_wire[4] - 0.5 * 0.656391) > 0.1


@pytest.mark.parametrize("routing", ["spray", "ecmp", "wcmp", "single-path"])
@pytest.mark.parametrize("collective", ["all_reduce", "all_to_all", "all_gather"])
def test_the_end_is_the_collectives_own_time(superpod: Fabric, routing: str, collective: str) -> None:
    spine = State.without(superpod, nodes="spine-03")
    groups = rings(superpod, ALTERNATING[:16])
    beside = all_to_all(superpod, rings(superpod, ALTERNATING[16:24])[0])
    given = {"bytes": 3e8, "routing": routing, "samples": 7, "seed": 5, "queue_pairs": 2, "others": beside}
    answer = goodput(superpod, groups, collective, failed=spine, **given)
    alone = collective_time(superpod, groups, collective, state=spine, wire=Wire(), **given)
    assert answer.levels[-1].gbps == pytest.approx(answer.endpoint_gigabits / alone.time_s, rel=1e-9)
    assert answer.time_s == pytest.approx(alone.time_s, rel=1e-9)
    lost = sum(level.lost_gbps for level in answer.levels)
    assert lost == pytest.approx(answer.line_gbps - answer.goodput_gbps, rel=1e-12)
    assert tuple(level.effect for level in answer.levels) == EFFECTS


def test_the_end_by_hand(superpod: Fabric) -> None:
    ring = rings(superpod, ALTERNATING)[:1]
    size, n = 2.0**30, 64
    piece = 8 * size / n / 1e9
    demand = Demand.of(superpod, "step", source=ring[0], sink=np.roll(ring[0], -1), gbps=piece)
    loads = link_loads(superpod, demand, routing="spray")
    step = 5e-6 + float((loads.arc_gbps / np.maximum(loads.capacity_gbps * 4096 / 4178, 1e-9)).max())
    answer = goodput(superpod, ring, bytes=size, routing="spray")
    assert answer.time_s == pytest.approx(2 * (n - 1) * step, rel=1e-9)


def test_scale_up_bytes_are_in_the_last_level_alone() -> None:
    f = topo.cluster(ClusterHosts("dgx-h100", 8), RailPlan(hosts_per_unit=8))
    answer = goodput(f, f.endpoints, "all_reduce", algorithm="hierarchical", routing="spray", alpha_us=0)
    assert answer.line_gbps == pytest.approx(400)
    # PCIe Gen5 x16: 504 Gb/s less headers is still above the port.
    assert answer.levels[2].gbps == pytest.approx(answer.levels[1].gbps)
    assert answer.levels[6].gbps == pytest.approx(answer.levels[1].gbps)
    assert answer.levels[7].lost_gbps > 50
    own = collective_time(f, bytes=2.0**30, algorithm="hierarchical", routing="spray", alpha_us=0, wire=Wire())
    assert answer.busbw_gbyte_s == pytest.approx(own.busbw_gbyte_s)


def test_a_failure_that_helps_the_mean_is_printed_so() -> None:
    assembly = Assembly("line")
    switches = assembly.add_nodes([f"s{i}" for i in range(4)], kind="switch", tier=1, forwards=2)
    hosts = assembly.add_nodes(["a1", "a2", "b1", "b2", "c1", "c2"], kind="host", tier=0, is_endpoint=True, forwards=0)
    assembly.connect(hosts, switches[[0, 1, 1, 2, 0, 3]], 100.0, kind="access")
    assembly.connect(switches[:3], switches[1:], 100.0, kind="scale_out")
    f = assembly.finish()
    flows = Demand.of(f, "three", source=hosts[[0, 2, 4]], sink=hosts[[1, 3, 5]], gbps=100.0)
    broken = State.without(f, links=[len(f.links) - 1])
    answer = goodput(f, demand=flows, statistic="mean", failed=broken, samples=2)
    assert answer.levels[4].gbps / answer.levels[1].gbps == pytest.approx(0.5)
    assert answer.levels[5].gbps / answer.levels[1].gbps == pytest.approx(2 / 3)
    assert answer.levels[5].lost_gbps < 0
    assert "+" in str(answer)
    with pytest.raises(DisconnectedError, match="no path"):
        goodput(f, demand=flows, statistic="slowest", failed=broken, samples=2)
    assert goodput(f, demand=flows, samples=2).statistic == "mean"


def test_oversubscription_takes_the_best_routing_not_the_even_split() -> None:
    # Two parallel links to each of two spines, one of four gone: even split keeps a half, the best three quarters.
    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=2, link_gbps=400)
    cut = int(np.flatnonzero(f.links.kind.is_any("scale_out"))[0])
    fewer = f.without(links=[cut])
    into = Demand.of(fewer, "into", source=fewer.endpoints[4:8], sink=fewer.endpoints[:4], gbps=400.0)
    answer = goodput(fewer, demand=into, routing="ecmp")
    share = [level.gbps / answer.levels[1].gbps for level in answer.levels]
    assert share[3] == pytest.approx(0.75) and share[4] == pytest.approx(0.5)
    assert answer.levels[3].standing.kind == "exact"


def test_of_several_states_the_one_that_is_held() -> None:
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=400)
    states = [State.without(f, nodes=[f"spine-{i}" for i in range(1, k + 1)]) for k in (0, 1, 2, 3)]
    given = {"routing": "spray", "alpha_us": 0.0}
    worst = goodput(f, None, "all_to_all", failed=states, held=1.0, **given)
    usual = goodput(f, None, "all_to_all", failed=states, held=0.5, **given)
    assert worst.levels[5].gbps == pytest.approx(
        goodput(f, None, "all_to_all", failed=states[3], **given).levels[5].gbps
    )
    assert usual.levels[5].gbps == pytest.approx(
        goodput(f, None, "all_to_all", failed=states[1], **given).levels[5].gbps
    )


def test_refusals() -> None:
    f = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    for given, said in (
        ({"held": 0}, "held is 0"), ({"failed": []}, "no state"), ({"statistic": "median"}, "slowest, mean"),
        ({"placement": f.endpoints[:1]}, "nothing leaves"), ({"collective": "gather"}, "known: all_reduce"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=said):
            goodput(f, **given)


def test_relays_inside_a_domain_do_not_lift_a_level_above_the_port() -> None:
    # Seven domains and a bit: one accelerator of each leaves it, and may use the NICs of the others.
    f = topo.load("nvidia-superpod-gb200-2su-nvl72")
    answer = goodput(f, f.endpoints[:512], samples=4)
    assert answer.levels[2].gbps == pytest.approx(answer.levels[1].gbps)
    assert all(level.lost_gbps > -1e-9 for level in answer.levels)


def test_a_rate_of_the_mean_time_is_offered_and_no_larger(superpod: Fabric) -> None:
    answer = goodput(superpod, rings(superpod, ALTERNATING), samples=40)
    drawn = answer.levels[4]
    assert drawn.mean_time_gbps < drawn.gbps and drawn.standing.kind == "sampled"
    assert answer.levels[1].mean_time_gbps == answer.levels[1].gbps


def test_all_to_all_of_fifteen_thousand_is_exact() -> None:
    f = topo.load("alibaba-hpn-pod")
    answer = goodput(f, None, "all_to_all", routing="spray")
    assert answer.levels[3].gbps == pytest.approx(370.7, abs=0.05) and answer.levels[3].standing.kind == "exact"


def test_two_to_one_as_contention_with_hashed_paths() -> None:
    f = topo.leaf_spine(leaves=8, spines=16, hosts_per_leaf=32, link_gbps=400)
    rows = f.endpoints.reshape(8, 32)
    beside = all_to_all(f, rows[:, 16:].ravel())
    spine = State.without(f, nodes="spine-01")
    answer = goodput(f, rows[:, :16].ravel(), "all_to_all", bytes=2.0**28, failed=spine, others=beside, samples=60)
    assert left(answer)[3:] == pytest.approx([392.1, 348.7, 330.2, 176.7, 167.8], abs=6)
