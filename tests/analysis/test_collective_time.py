"""Collectives on fabrics: closed forms where the fabric is one switch, worked cases where it is not."""

import math

import numpy as np
import pytest

import topo
from topo.analysis.collectives.carried import Conditions, Wire, payload_gbps, phase_loads
from topo.analysis.collectives.cost import collective_cost
from topo.analysis.collectives.flows import PLACED, Ranks, collective_phases
from topo.analysis.collectives.hierarchy import Level, hierarchical_all_reduce
from topo.analysis.collectives.on_fabric import best_by_size, collective_time, message_on_fabric
from topo.analysis.collectives.phase import sum_of_phases
from topo.build.assembly import Assembly
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST, Fabric, State
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.table import Labels

GIB = 2.0**30


def one_switch(n: int) -> Fabric:
    return topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=n, link_gbps=400)


def opened(hosts: int, scale_up_gbyte_s: float, nic_gbyte_s: float, each: int = 8) -> Fabric:
    """Hosts of accelerators on one scale-up switch, each with a link of its own to one big switch."""
    assembly = Assembly("opened")
    names = np.repeat([f"host-{h}" for h in range(hosts)], each)
    chips = assembly.add_nodes(
        [f"{name}-gpu-{i % each}" for i, name in enumerate(names)], kind="accelerator", tier=0,
        forwards=FORWARDS_OWN_HOST, is_endpoint=True, host=Labels.of(names.tolist()),
    )  # fmt: skip
    inner = assembly.add_nodes(
        [f"host-{h}-switch" for h in range(hosts)], kind="scale_up_switch", tier=-1, forwards=FORWARDS_OWN_HOST,
        host=Labels.of([f"host-{h}" for h in range(hosts)]),
    )  # fmt: skip
    outer = assembly.add_nodes(["leaf"], kind="switch", tier=1, forwards=FORWARDS_ALL)
    assembly.connect(chips, inner[np.arange(hosts * each) // each], 8 * scale_up_gbyte_s, kind="scale_up")
    assembly.connect(chips, np.repeat(outer, hosts * each), 8 * nic_gbyte_s, kind="access")
    return assembly.finish()


@pytest.mark.parametrize("n", [2, 4, 8, 16, 64])
@pytest.mark.parametrize(
    ("collective", "placed", "closed"),
    [("all_reduce", "ring", "ring"), ("all_reduce", "halving_doubling", "halving_doubling"),
     ("all_to_all", "direct", "pairwise"), ("all_to_all", "pairwise", "pairwise"), ("broadcast", "chain", "chain"),
     ("all_gather", "ring", "ring"), ("reduce_scatter", "ring", "ring"), ("all_reduce", "in_network", "in_network")],
)  # fmt: skip
def test_one_switch_is_the_closed_form(n: int, collective: str, placed: str, closed: str) -> None:
    found = collective_time(one_switch(n), None, collective, bytes=GIB, algorithm=placed)
    wanted = collective_cost(collective, bytes=GIB, ranks=n, alpha_us=5, bandwidth_gbyte_s=50, algorithm=closed)
    assert found.time_s == pytest.approx(wanted.time_s, rel=1e-12)
    assert found.busbw_gbyte_s == pytest.approx(wanted.busbw_gbyte_s, rel=1e-12)


def test_printed_times_of_eight_ranks() -> None:
    f = one_switch(8)
    assert 1e3 * collective_time(f, bytes=GIB).time_s == pytest.approx(37.6510, abs=5e-5)
    assert 1e3 * collective_time(f, None, "all_to_all", bytes=GIB).time_s == pytest.approx(18.8255, abs=5e-5)
    assert 1e3 * collective_time(f, None, "broadcast", bytes=GIB).time_s == pytest.approx(23.1101, abs=5e-5)


def test_eight_hosts_of_eight_ring_and_phases() -> None:
    f = opened(8, 370, 50)
    free = {"alpha_us": 0.0, "inner_alpha_us": 0.0}
    ring = collective_time(f, bytes=GIB, **free)
    assert 1e3 * ring.time_s == pytest.approx(5.285, abs=5e-4)
    phases = collective_time(f, bytes=GIB, algorithm="hierarchical", **free)
    assert [1e3 * time for _, _, time in phases.phases] == pytest.approx([2.539, 4.698, 2.539], abs=1e-3)
    assert 1e3 * phases.time_s == pytest.approx(9.776, abs=1e-3)
    slow = collective_time(f, bytes=GIB, algorithm="hierarchical", alpha_us=5, inner_alpha_us=1)
    assert 1e3 * slow.time_s == pytest.approx(9.860, abs=1e-3)
    closed = hierarchical_all_reduce(GIB, Level(8, 1, 370), Level(8, 5, 50))
    assert slow.time_s == pytest.approx(closed.sum_s, rel=1e-9)
    # Overlapped at best: the scale-up links carry the bytes of two phases.
    assert 1e3 * phases.overlapped_s == pytest.approx(5.079, abs=1e-3)
    exchange = collective_time(f, None, "all_to_all", bytes=GIB / 4, **free)
    assert 1e3 * exchange.time_s == pytest.approx(4.698, abs=1e-3)
    relayed = collective_time(f, None, "all_to_all", bytes=GIB / 4, algorithm="relayed", **free)
    assert 1e3 * relayed.time_s == pytest.approx(4.698, abs=1e-3)
    assert relayed.latency_s < exchange.time_s
    assert collective_time(f, None, "all_to_all", bytes=0, algorithm="relayed").latency_s == pytest.approx(7 * 5e-6)


def test_two_to_one_leaf_spine_by_order_of_ranks() -> None:
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, link_gbps=400)
    rows = f.endpoints
    mixed = rows.reshape(4, 8).T.ravel()
    ring = {"bytes": GIB, "alpha_us": 0.0}
    assert collective_time(f, rows, **ring).busbw_gbyte_s == pytest.approx(50)
    assert collective_time(f, mixed, **ring).busbw_gbyte_s == pytest.approx(25)
    found = collective_time(f, rows, "all_to_all", **ring).busbw_gbyte_s
    assert found == pytest.approx(50 * 0.645833, abs=5e-4)


def test_double_tree_of_eight_sends_twice_the_bytes() -> None:
    f = one_switch(8)
    phases = collective_phases(f, Ranks.of(f, None), "all_reduce", 1e9, algorithm="double_tree")
    sent = sum_of_phases(phases, "tree").sent_gbps(f)[f.endpoints] / 8
    # A rank inside one tree sends up in both (two halves) and down to two children; a leaf of both cannot be.
    assert sent.max() == pytest.approx(2.0)
    assert sent.sum() == pytest.approx(2 * 7)


@pytest.mark.parametrize("shape", [(1, 8), (2, 4), (4, 8), (3, 8)])
@pytest.mark.parametrize(("collective", "algorithm"), [(c, a) for c, names in PLACED.items() for a in names])
def test_every_rank_sends_what_the_collective_needs(shape: tuple[int, int], collective: str, algorithm: str) -> None:
    hosts, each = shape
    n = hosts * each
    f = opened(hosts, 300, 50, each)
    if algorithm == "halving_doubling" and n & (n - 1):
        with pytest.raises(ParameterError, match="not 24; near: 16 or 32"):
            collective_phases(f, Ranks.of(f, None), collective, 8e9, algorithm=algorithm)
        return
    phases = collective_phases(f, Ranks.of(f, None), collective, 8e9, algorithm=algorithm)
    received = sum_of_phases(phases, "all").received_gbps(f)[f.endpoints] / 8
    needs = {
        "all_reduce": 2 * 8 * (n - 1) / n, "reduce_scatter": 8 * (n - 1) / n, "all_gather": 8 * (n - 1) / n,
        "all_to_all": 8 * (n - 1) / n,
    }  # fmt: skip
    if algorithm == "in_network":
        assert received == pytest.approx(8.0)
    elif algorithm == "relayed":
        assert (received >= needs[collective] * (1 - 1e-12)).all()
    elif algorithm == "hierarchical":
        inside, outside = 2 * 8 * (each - 1) / each, 2 * 8 / each * (hosts - 1) / hosts
        assert received == pytest.approx(inside + outside)
    elif algorithm == "double_tree":
        assert received.sum() == pytest.approx(2 * 8 * (n - 1))
    elif collective in needs:
        assert received == pytest.approx(needs[collective])


def test_busbw_is_never_more_than_links_carry() -> None:
    f = opened(4, 300, 50)
    port = 50 + 300
    for collective, names in PLACED.items():
        for name in names:
            answer = collective_time(f, None, collective, bytes=GIB, algorithm=name, alpha_us=0, inner_alpha_us=0)
            if name == "in_network":
                assert any("may exceed the wire" in text for text in answer.assumptions)
            elif collective != "send":
                assert answer.busbw_gbyte_s <= port * (1 + 1e-9)
    # A ring over hosts passes NICs: eight channels share eight of them.
    flat = collective_time(f, bytes=GIB, alpha_us=0)
    assert flat.busbw_gbyte_s <= 8 * 50 * (1 + 1e-9)


def test_ring_and_tree_cross_where_the_closed_forms_do() -> None:
    changes = best_by_size(one_switch(64), algorithms=["ring", "double_tree"])
    assert [c.algorithm for c in changes] == ["double_tree", "ring"]
    assert changes[1].bytes / 2**20 == pytest.approx(869.75, abs=0.01)
    # Halving and doubling has the ring's bytes and the tree's steps: on one switch it always wins.
    assert [c.algorithm for c in best_by_size(one_switch(64))] == ["halving_doubling"]


def test_hashed_rings_lose_what_the_single_stage_says() -> None:
    f = topo.leaf_spine(leaves=2, spines=8, hosts_per_leaf=8, link_gbps=400)
    crossing = f.endpoints.reshape(2, 8).T.ravel()
    plain = collective_time(f, crossing, bytes=GIB, alpha_us=0)
    assert plain.busbw_gbyte_s == pytest.approx(50)
    hashed = collective_time(f, crossing, bytes=GIB, alpha_us=0, routing="single-path", samples=400)
    share = hashed.busbw_gbyte_s / 50
    # Both directions at once, eight flows on eight links each: below one stage's slowest, 0.410.
    assert share == pytest.approx(1 / hashed.time_s * plain.time_s)
    assert 0.30 < share < 0.41
    assert hashed.standing.kind == "sampled"
    again = collective_time(f, crossing, bytes=GIB, alpha_us=0, routing="single-path", samples=400)
    assert again.time_s == hashed.time_s
    striped = collective_time(f, crossing, bytes=GIB, alpha_us=0, routing="single-path", samples=400, queue_pairs=8)
    assert striped.time_s < hashed.time_s


def test_payload_of_the_wire_scales_a_transfer() -> None:
    f = one_switch(8)
    plain = collective_time(f, bytes=GIB, alpha_us=0)
    framed = collective_time(f, bytes=GIB, alpha_us=0, wire=Wire())
    assert plain.time_s / framed.time_s == pytest.approx(4096 / 4178)


def test_messages_over_a_path() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, link_gbps=400)
    a, b = int(f.endpoints[0]), int(f.endpoints[3])
    plain = message_on_fabric(f, a, b, 1 << 22, alpha_us=0, switch_us=0)
    assert plain.payload_us == pytest.approx(83.886, abs=1e-3)
    assert plain.wire_us == pytest.approx(85.566, abs=1e-3)
    # Four links, three switches between them.
    assert message_on_fabric(f, a, b, 1 << 22, alpha_us=2, switch_us=0.3).latency_us == pytest.approx(2.9)
    stored = message_on_fabric(f, a, b, 1 << 22, alpha_us=0, switch_us=0, store_and_forward=True)
    assert stored.time_us - plain.time_us == pytest.approx(3 * 4178 * 8 / 400e3)
    assert plain.half_bandwidth_bytes == 0


def test_refusals() -> None:
    f = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=3)
    for given, said in (
        ({"collective": "all_reduse"}, "known: all_reduce"),
        ({"algorithm": "bruck"}, "known: ring"),
        ({"algorithm": "halving_doubling"}, "not 6; near: 4 or 8"),
        ({"placement": [0, 0]}, "placed twice"),
        ({"placement": f.switches[:2]}, "no endpoint"),
        ({"bytes": math.nan}, "bytes is nan"),
        ({"alpha_us": -1}, "alpha_us is -1"),
        ({"queue_pairs": 0}, "queue_pairs is 0"),
    ):
        with pytest.raises(ParameterError) as caught:
            collective_time(f, **{"bytes": 1e9, **given})
        assert said in str(caught.value)
    with pytest.raises(ParameterError, match="mtu 4096 is above the links' 1500"):
        Wire(mtu=4096, link_mtu=1500)
    with pytest.raises(DisconnectedError, match="no path"):
        collective_time(f, bytes=1e9, state=State.without(f, nodes="spine-*"))
    assert collective_time(f, bytes=1e9, routing=Routing("single-path", table="destination-modulo")).samples == 0


def test_all_to_all_between_hosts_is_one_block_less_the_pairs_inside_them() -> None:
    # NICs of hosts without links inside: pair by pair, and as a block with exceptions, in order and dealt out.
    f = topo.rail_optimized(hosts=8, rails=4, hosts_per_unit=4, radix=16)
    for rows in (f.endpoints, np.random.default_rng(3).permutation(f.endpoints)):
        (phase,) = collective_phases(f, Ranks.of(f, rows), "all_to_all", 1e9)
        source, sink, gigabits = phase.pairs()
        host = f.nodes.host.codes
        assert (host[source] != host[sink]).all() and len(source) == phase.n_pairs == 32 * 28
        assert gigabits.sum() == pytest.approx(phase.total_gbps)
        listed = link_loads(f, phase.listed()).arc_gbps
        under = Conditions(payload_gbps(f, None))
        assert phase_loads(f, phase, under)[0] == pytest.approx(listed, abs=1e-9 * listed.max())
        assert phase.sent_gbps(f)[rows] == pytest.approx(28 * 8 / 32)


def test_nothing_is_hashed_onto_links_inside_a_scale_up_domain() -> None:
    f = topo.load("nvidia-gb200-nvl72")
    spread = collective_time(f, bytes=GIB)
    hashed = collective_time(f, bytes=GIB, routing="single-path")
    assert hashed.time_s == pytest.approx(spread.time_s, rel=1e-9) and hashed.standing.kind == "model"
