"""Closed forms of collectives against worked tables, nccl-tests' conventions and NCCL's model."""

import math

import pytest

from topo.analysis.collectives.cost import ALGORITHMS, best_algorithm, busbw_factor, collective_cost
from topo.analysis.collectives.hierarchy import Level, hierarchical_all_reduce, two_level_all_to_all
from topo.analysis.collectives.nccl import (
    PROTOCOLS,
    nccl_bandwidth_gbyte_s,
    nccl_choice,
    nccl_latency_us,
    nccl_time_us,
)
from topo.analysis.collectives.wire import TRANSPORTS, message_time, wire_efficiency
from topo.errors import ParameterError

GIB = 2**30

# ms for S = 1 GiB, B = 50 GB/s, alpha = 5 us
TABLE = {
    2: (21.4848, 21.4848, 21.4798, 42.9597, 21.4798, 10.7424, 10.7424),
    4: (32.2423, 32.2323, 42.9597, 85.9193, 22.4117, 16.1211, 21.4848),
    8: (37.6510, 37.6110, 64.4395, 128.8790, 23.1101, 18.8255, 32.2273),
    16: (40.4153, 40.3053, 85.9193, 171.8387, 23.9970, 20.2077, 42.9697),
    64: (42.9086, 42.3386, 128.8790, 257.7580, 26.9451, 21.4543, 64.4545),
}
COLUMNS = (
    ("all_reduce", "ring"),
    ("all_reduce", "halving_doubling"),
    ("all_reduce", "recursive_doubling"),
    ("all_reduce", "binomial_tree"),
    ("broadcast", "chain"),
    ("all_to_all", "pairwise"),
    ("all_to_all", "bruck"),
)


@pytest.mark.parametrize("ranks", TABLE)
@pytest.mark.parametrize(("collective", "algorithm"), COLUMNS)
def test_worked_times(ranks, collective, algorithm):
    answer = collective_cost(collective, bytes=GIB, ranks=ranks, alpha_us=5, bandwidth_gbyte_s=50, algorithm=algorithm)
    assert 1e3 * answer.time_s == pytest.approx(TABLE[ranks][COLUMNS.index((collective, algorithm))], abs=5.1e-5)


@pytest.mark.parametrize(("collective", "algorithm"), COLUMNS)
def test_one_rank_alone_has_nothing_to_wait_for(collective, algorithm):
    answer = collective_cost(collective, bytes=GIB, ranks=1, alpha_us=5, bandwidth_gbyte_s=50, algorithm=algorithm)
    assert answer.time_s == 0


def test_ring_and_double_tree_cross_where_they_should():
    def gap(size):
        asked = {"bytes": size, "ranks": 64, "alpha_us": 5, "bandwidth_gbyte_s": 50}
        ring, tree = (collective_cost("all_reduce", algorithm=a, **asked).time_s for a in ("ring", "double_tree"))
        return ring - tree

    crossing = 869.75 * 2**20
    assert gap(crossing * 0.999) > 0 > gap(crossing * 1.001)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("all_reduce", 2 * 7 / 8),
        ("all_gather", 7 / 8),
        ("reduce_scatter", 7 / 8),
        ("all_to_all", 7 / 8),
        ("broadcast", 1),
    ],
)
def test_busbw_is_the_wire_rate_without_latency(collective, factor):
    assert busbw_factor(collective, 8) == factor
    algorithm = {"all_to_all": "pairwise", "broadcast": "chain"}.get(collective, "ring")
    answer = collective_cost(collective, bytes=GIB, ranks=8, alpha_us=0, bandwidth_gbyte_s=50, algorithm=algorithm)
    assert answer.busbw_gbyte_s == pytest.approx(50, rel=1e-12)
    assert answer.algbw_gbyte_s == pytest.approx(50 / factor, rel=1e-12)


def test_no_algorithm_beats_the_wire_but_in_network_reduction():
    for collective, known in ALGORITHMS.items():
        for name in known:
            busbw = collective_cost(
                collective, bytes=GIB, ranks=16, alpha_us=1, bandwidth_gbyte_s=50, algorithm=name
            ).busbw_gbyte_s
            assert (busbw <= 50 * (1 + 1e-12)) == (name != "in_network")


def test_the_best_algorithm_changes_with_the_size():
    asked = {"ranks": 60, "alpha_us": 5, "bandwidth_gbyte_s": 50}
    assert best_algorithm("all_reduce", bytes=2**20, **asked) == "double_tree"
    assert best_algorithm("all_reduce", bytes=2**32, **asked) == "ring"
    assert best_algorithm("all_reduce", bytes=2**32, in_network=True, **asked) == "in_network"
    assert collective_cost("all_reduce", bytes=2**20, **asked).algorithm == "double_tree"


def test_hierarchies_as_worked():
    # 8 x 8 accelerators, 1 GiB: reduce-scatter 2.54 ms at 370 GB/s, all-reduce 4.70 ms over 50 GB/s NICs.
    answer = hierarchical_all_reduce(GIB, Level(8, 3.4, 370), Level(8, 5, 50))
    times = dict(answer.phases)
    assert 1e3 * times["reduce-scatter inside hosts"] == pytest.approx(2.539 + 7 * 3.4e-3, abs=2e-3)
    assert 1e3 * times["all-reduce between hosts"] == pytest.approx(4.698 + 14 * 5e-3, abs=2e-3)
    assert answer.sum_s == pytest.approx(sum(times.values()))
    assert answer.pipelined_s < answer.sum_s
    swapped = two_level_all_to_all(256 * 2**20, Level(8, 0, 370), Level(8, 0, 50), relay=False)
    assert [round(1e3 * time, 4) for _, time in swapped.phases] == [0.0794, 0.0, 4.6976]


HOSTS = {"ranks_per_host": 8, "inner_bandwidth_gbyte_s": 370}


def test_two_levels_through_the_one_door():
    # Worked: 8 x 8, NVLink 370, NICs 50, 1 GiB: 9.776 ms without latency, 9.860 with 1 and 5 us, bound 5.09.
    asked = {"bytes": GIB, "ranks": 64, "bandwidth_gbyte_s": 50}
    bare = collective_cost("all_reduce", algorithm="hierarchical", alpha_us=0, inner_alpha_us=0, **asked, **HOSTS)
    assert 1e3 * bare.time_s == pytest.approx(9.776, abs=5.1e-4) and bare.latency_s == 0
    assert 1e3 * bare.pipelined_s == pytest.approx(5.079, abs=5.1e-4)
    full = collective_cost("all_reduce", algorithm="hierarchical", alpha_us=5, **asked, **HOSTS)
    assert 1e3 * full.time_s == pytest.approx(9.860, abs=5.1e-4)
    assert full.latency_s == pytest.approx(14 * 1e-6 + 14 * 5e-6) and full.transfer_s == pytest.approx(bare.time_s)
    assert sum(time for _, time in full.phases) == pytest.approx(full.time_s)
    assert full.busbw_gbyte_s == pytest.approx(2 * 63 / 64 * GIB / full.time_s / 1e9)
    # A flat ring over all NICs at the same 50 GB/s each is slower here; the door picks among both.
    assert collective_cost("all_reduce", alpha_us=5, **asked, **HOSTS).algorithm == "hierarchical"
    assert collective_cost("all_reduce", alpha_us=5, **asked).algorithm == "halving_doubling"


def test_two_dimensions_send_what_a_ring_sends_with_fewer_messages():
    asked = {"bytes": GIB, "alpha_us": 5, "bandwidth_gbyte_s": 50}
    grid = collective_cost("all_reduce", algorithm="two_dimensional", ranks=64, ranks_per_host=16, **asked)
    parts = (
        collective_cost("reduce_scatter", algorithm="ring", ranks=16, **asked).time_s,
        collective_cost("all_reduce", algorithm="ring", ranks=4, **{**asked, "bytes": GIB / 16}).time_s,
        collective_cost("all_gather", algorithm="ring", ranks=16, **asked).time_s,
    )
    assert grid.time_s == pytest.approx(sum(parts))
    ring = collective_cost("all_reduce", algorithm="ring", ranks=64, **asked)
    assert grid.transfer_s == pytest.approx(ring.transfer_s)
    assert grid.latency_s == pytest.approx(2 * (15 + 3) * 5e-6)


def test_all_to_all_over_rails():
    # 8 x 8, 256 MiB a rank: 4.698 ms over NICs, .0794 inside, relaying adds 196 MiB; 56 messages become 7.
    asked = {"bytes": 256 * 2**20, "ranks": 64, "alpha_us": 5, "inner_alpha_us": 0, "bandwidth_gbyte_s": 50, **HOSTS}
    direct, relayed = (collective_cost("all_to_all", algorithm=a, **asked) for a in ("direct", "relayed"))
    times = dict(relayed.phases)
    assert 1e3 * times["inside hosts"] == pytest.approx(0.0794, abs=5.1e-5)
    assert times["to the accelerator of the right rail"] == pytest.approx(196 * 2**20 / 370e9)
    assert direct.latency_s == pytest.approx(56 * 5e-6) and relayed.latency_s == pytest.approx(7 * 5e-6)
    assert 1e3 * dict(direct.phases)["between hosts"] == pytest.approx(4.698 + 0.28, abs=5.1e-4)
    assert relayed.pipelined_s == pytest.approx(times["between hosts"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "hierarchical has two levels and needs ranks_per_host"),
        ({"ranks_per_host": 8}, "needs inner_bandwidth_gbyte_s"),
        ({"ranks_per_host": 7, "inner_bandwidth_gbyte_s": 1}, "ranks 64 is no multiple of ranks_per_host 7"),
        (
            {"ranks_per_host": 8, "inner_bandwidth_gbyte_s": 0},
            "inner_bandwidth_gbyte_s is 0; it must be finite and above",
        ),
        ({**HOSTS, "inner_alpha_us": math.nan}, "inner_alpha_us is nan"),
    ],
)
def test_two_levels_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        collective_cost(
            "all_reduce", bytes=1, ranks=64, alpha_us=1, bandwidth_gbyte_s=1, algorithm="hierarchical", **given
        )


# Latencies of NCCL's model (us): (ranks, nodes) -> Tree LL, LL128, Simple, Ring LL, LL128, Simple
LATENCIES = {
    (8, 1): (15.2, 31.5, 64.4, 15.0, 40.6, 56.0),
    (16, 2): (25.2, 48.5, 92.4, 40.0, 75.2, 131.6),
    (64, 8): (45.2, 82.5, 148.4, 156.4, 282.8, 585.2),
    (512, 64): (75.2, 133.5, 232.4, 1242.8, 2220.4, 4818.8),
    (4096, 512): (105.2, 184.5, 316.4, 9934, 17721.2, 38687.6),
}


@pytest.mark.parametrize(("ranks", "nodes"), LATENCIES)
def test_nccl_latencies(ranks, nodes):
    found = [nccl_latency_us(a, p, ranks=ranks, nodes=nodes) for a in ("tree", "ring") for p in PROTOCOLS]
    assert found == pytest.approx(LATENCIES[ranks, nodes], abs=0.051)


@pytest.mark.parametrize(
    ("mtu", "row"),
    [(1024, (92.586, 90.941, 97.524, 93.945)), (2048, (96.150, 95.256, 98.746, 96.878)),
     (4096, (98.037, 97.570, 99.369, 98.414))],
)  # fmt: skip
def test_wire_efficiencies(mtu, row):
    assert [100 * wire_efficiency(name, mtu) for name in TRANSPORTS] == pytest.approx(row, abs=5.1e-4)


def test_message_times():
    big = message_time(1 << 20)
    assert (round(big.payload_us, 5), round(big.wire_us, 5)) == (20.97152, 21.39168)
    assert message_time(1 << 20, mtu=1024).wire_us == pytest.approx(22.6512, abs=1e-9)
    four = message_time(4 << 20)
    assert (round(four.payload_us, 2), round(four.wire_us, 2)) == (83.89, 85.57)
    slow = message_time(1 << 20, alpha_us=2, hop_us=0.3, hops=4)
    assert slow.time_us == pytest.approx(slow.wire_us + 3.2)
    half = message_time(round(slow.half_bandwidth_bytes), alpha_us=2, hop_us=0.3, hops=4)
    assert half.time_us == pytest.approx(2 * half.latency_us, rel=0.01)
    waits = message_time(1 << 20, hops=4, store_and_forward=True)
    assert waits.time_us - message_time(1 << 20, hops=4).time_us == pytest.approx(3 * 4178 / 50_000)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ranks": 0}, "ranks is 0"),
        ({"bytes": -1}, "bytes is -1"),
        ({"bandwidth_gbyte_s": 0}, "bandwidth_gbyte_s is 0"),
        ({"alpha_us": math.nan}, "alpha_us is nan"),
        ({"algorithm": "magic"}, "unknown algorithm 'magic' for all_reduce; known: ring"),
        ({"algorithm": "halving_doubling", "ranks": 12}, "power of two of ranks, not 12; near: 8 or 16"),
    ],
)
def test_refusals(change, words):
    asked = {"bytes": 1, "ranks": 2, "alpha_us": 1, "bandwidth_gbyte_s": 1, "algorithm": "ring", **change}
    with pytest.raises(ParameterError, match=words):
        collective_cost("all_reduce", **asked)


def test_more_refusals():
    with pytest.raises(ParameterError, match="unknown collective 'gossip'"):
        collective_cost("gossip", bytes=1, ranks=2, alpha_us=1, bandwidth_gbyte_s=1)
    with pytest.raises(ParameterError, match="mtu is 9000; a path's is one of"):
        wire_efficiency("rocev2", 9000)
    with pytest.raises(ParameterError, match="unknown transport 'tcp'"):
        message_time(1, transport_name="tcp")
    with pytest.raises(ParameterError, match="7 ranks on 2 nodes"):
        nccl_latency_us("ring", "LL", ranks=7, nodes=2)
    with pytest.raises(ParameterError, match="line_gbps is 0"):
        message_time(1, 0)


EIGHT = {"ranks": 8, "nodes": 1, "channels": 16, "channel_gbyte_s": 20.0}


# B = 320 GB/s: (algorithm, protocol, nodes, algbw by hand).
@pytest.mark.parametrize(
    ("algorithm", "protocol", "nodes", "ranks", "algbw"),
    [
        ("ring", "LL", 1, 8, 141 * 8 / 14), ("ring", "LL128", 1, 8, 0.92 * 320 * 8 / 14),
        ("ring", "Simple", 1, 8, 320 * 8 / 14), ("ring", "LL", 2, 16, 45 * 16 / 30),
        ("tree", "LL", 1, 8, 0.92 * 320 / 3.8 / 2), ("tree", "LL128", 1, 8, 0.92 * 320 * 7 / 9 / 2),
        ("tree", "LL128", 4, 32, 0.92 * 320 * 120 / 128 / 2), ("tree", "Simple", 8, 64, 0.92 * 320 / 2),
        ("tree", "LL", 8, 64, 35 / 2), ("nvls", "Simple", 1, 8, 0.85 * 320 * 8 / 14),
    ],
)  # fmt: skip
def test_nccl_bandwidths(algorithm, protocol, nodes, ranks, algbw):
    asked = {**EIGHT, "nodes": nodes, "ranks": ranks}
    assert nccl_bandwidth_gbyte_s(algorithm, protocol, **asked) == pytest.approx(algbw)


def test_nccl_caps_by_generation():
    asked = {**EIGHT, "channels": 4, "channel_gbyte_s": 100.0}
    # A tree's channel carries 38.7 GB/s on Hopper, 24 on Ampere; LL128 of a ring 36.7 and 20.
    assert nccl_bandwidth_gbyte_s("tree", "Simple", **asked) == pytest.approx(4 * 38.7 / 2)
    assert nccl_bandwidth_gbyte_s("tree", "Simple", generation="ampere", **asked) == pytest.approx(4 * 24 / 2)
    assert nccl_bandwidth_gbyte_s("ring", "LL128", generation="ampere", **asked) == pytest.approx(4 * 20 * 8 / 14)
    assert nccl_bandwidth_gbyte_s("nvls", "Simple", generation="blackwell", **asked) == pytest.approx(
        0.74 * 400 * 8 / 14
    )


def test_nccl_times_and_the_choice():
    many = {"ranks": 64, "nodes": 8, "channels": 8, "channel_gbyte_s": 40.0}
    # 585.2 us of latency, 1.4 times from 64 bytes a channel and rank up: 32 KiB.
    below, above = (nccl_time_us("ring", "Simple", size, **many) for size in (32767, 32768))
    rate = 320 * 64 / 126
    assert below == pytest.approx(585.2 + 32767 / 1e3 / rate, abs=0.06)
    assert above == pytest.approx(1.4 * 585.2 + 32768 / 1e3 / rate, abs=0.06)
    assert nccl_time_us("tree", "LL", 0, **many) == pytest.approx(45.2)
    sizes = [2.0**k for k in range(8, 36)]
    names = [nccl_choice(size, **many)[:2] for size in sizes]
    assert names[0] == ("tree", "LL") and names[-1] == ("ring", "Simple")
    times = [nccl_choice(size, **many).time_us for size in sizes]
    assert times == sorted(times)
    # PCI inside a host: 5.7 us a step of a ring instead of 3.4.
    pci, nvlink = (nccl_latency_us("ring", "Simple", ranks=8, nodes=1, inside=i) for i in ("pci", "nvlink"))
    assert pci - nvlink == pytest.approx(14 * 2.3)


@pytest.mark.parametrize(
    ("algorithm", "protocol", "change", "words"),
    [
        ("nvls", "LL", {}, "nvls runs with Simple"), ("nvls", "Simple", {"nodes": 2}, "nvls runs with Simple"),
        ("collnet", "Simple", {}, "unknown algorithm 'collnet'; the model knows tree, ring and nvls"),
        ("ring", "LL", {"generation": "volta"}, "unknown generation 'volta'"),
        ("ring", "LL", {"channels": 0}, "channels is 0"), ("ring", "LL", {"nodes": 3}, "8 ranks on 3 nodes"),
        ("ring", "LL", {"ranks": 1}, "a single rank"), ("ring", "XL", {}, "unknown protocol 'XL'"),
    ],
)  # fmt: skip
def test_nccl_refusals(algorithm, protocol, change, words):
    with pytest.raises(ParameterError, match=words):
        nccl_bandwidth_gbyte_s(algorithm, protocol, **{**EIGHT, **change})
