"""RoCEv2 source ports against known vectors, keys of flows as bytes."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.hashing import FlowKeys, endpoint_addresses, roce_flow_label, roce_keys, roce_source_port


@pytest.mark.parametrize(
    ("local", "remote", "label", "port"),
    [
        (0x118, 0x119, 0x13358, 62300),
        (0x11, 0x12, 0x132, 49458),
        (1000, 2000, 0xE8481, 50363),
        (0x123456, 0xABCDEF, 0xAC3E3, 50120),
    ],
)
def test_labels_and_ports_of_queue_pairs(local: int, remote: int, label: int, port: int) -> None:
    assert int(roce_flow_label(local, remote)) == label
    assert int(roce_flow_label(remote, local)) == label
    assert int(roce_source_port(label)) == port


def test_ports_of_labels_alias() -> None:
    labels = [0x1, 0x4000, 0x3FFF, 0xFFFFF, 0x12345]
    assert roce_source_port(labels).tolist() == [49153, 49153, 65535, 65472, 58177]
    ports, count = np.unique(roce_source_port(np.arange(1 << 20)), return_counts=True)
    assert (int(ports[0]), int(ports[-1]), len(ports)) == (49152, 65535, 1 << 14)
    assert set(count.tolist()) == {64}  # 2^20 labels, 2^14 ports


def test_low_bits_of_ports_are_uniform_over_random_queue_pairs() -> None:
    local, remote = np.random.default_rng(0).integers(2, 1 << 24, (2, 400_000))
    count = np.bincount(roce_source_port(roce_flow_label(local, remote)) & 7, minlength=8)
    assert np.abs(count / count.mean() - 1).max() < 0.015


def test_consecutive_queue_pairs_reach_half_the_residues() -> None:
    """17 + i times 18 + i is always even: 64 ports, 4 residues modulo 8."""
    i = np.arange(64)
    ports = roce_source_port(roce_flow_label(17 + i, 18 + i))
    assert len(set(ports.tolist())) == 64
    assert len(set((ports % 8).tolist())) == 4


@pytest.mark.parametrize(("local", "remote"), [(1 << 24, 1), (-1, 1), (1, 1.5)])
def test_queue_pairs_out_of_range(local: int, remote: float) -> None:
    with pytest.raises(ParameterError):
        roce_flow_label(local, remote)


def test_label_out_of_range() -> None:
    with pytest.raises(ParameterError, match="1048576 is outside 0..1048575"):
        roce_source_port([1, 1 << 20])


def test_addresses_count_endpoints() -> None:
    f = topo.fat_tree(4)
    address = endpoint_addresses(f)
    assert address[f.endpoints].tolist() == [0x0A000001 + i for i in range(16)]
    assert not address[f.switches].any()


def test_bytes_of_keys() -> None:
    keys = FlowKeys.of(
        source_ip=0x0A010203,
        destination_ip=[0x0A0000FF, 0xC0A80001],
        source_port=0xC123,
        destination_qpn=0xABCDEF,
    )
    rows = keys.bytes(("protocol", "source_ip", "destination_ip", "source_port", "destination_port", "destination_qpn"))
    assert bytes(rows[0]).hex() == "110a0102030a0000ffc12312b700abcdef"
    assert bytes(rows[1]).hex() == "110a010203c0a80001c12312b700abcdef"
    assert keys.bytes(("ingress_port", "protocol")).tolist() == [[0, 0, 17]] * 2
    assert bytes(keys.take([1]).bytes("addresses")[0]).hex() == "0a010203c0a80001"


def test_roce_keys_of_flows() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    a, b, c = (int(f.rows(f"host-{i}")[0]) for i in (1, 2, 3))
    keys = roce_keys(f, [a, a, b], [b, c, a], queue_pairs="consecutive")
    # Queue pairs in order of flows: a 17, b 17; a 18, c 17; b 18, a 19.
    assert keys.source_port.tolist() == [
        int(roce_source_port(roce_flow_label(x, y))) for x, y in ((17, 17), (18, 17), (18, 19))
    ]
    assert keys.destination_qpn.tolist() == [17, 17, 19]
    assert set(keys.destination_port.tolist()) == {4791}
    random = roce_keys(f, [a, b], [b, a], seed=3)
    assert random.source_port.tolist() == roce_keys(f, [a, b], [b, a], seed=3).source_port.tolist()
    assert random.source_port.tolist() != roce_keys(f, [a, b], [b, a], seed=4).source_port.tolist()


def test_refused_keys() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    a, b = f.rows("host-1"), f.rows("host-2")
    for call, words in [
        (lambda: roce_keys(f, a, a), "'host-1' to itself"),
        (lambda: roce_keys(f, a, f.rows("leaf-1")), "'leaf-1' is no endpoint"),
        (lambda: roce_keys(f, a, [*b, *b]), "1 sources and 2 sinks"),
        (lambda: roce_keys(f, a, b, queue_pairs="odd"), "queue_pairs is 'odd'"),
        (lambda: FlowKeys.of(source_ip=[1, 2], destination_ip=[1, 2, 3]), r"lengths \[2, 3\]"),
        (lambda: FlowKeys.of(source_ip=1 << 32, destination_ip=1), "outside 0..4294967295"),
        (lambda: FlowKeys.of(source_ip=1, destination_ip=1, source_port=-1), "source_port -1"),
        (lambda: FlowKeys.of(source_ip=1, destination_ip=1).bytes("6-tuple"), "unknown set of fields '6-tuple'"),
        (lambda: FlowKeys.of(source_ip=1, destination_ip=1).bytes(("ttl",)), "unknown field 'ttl'"),
        (lambda: FlowKeys.of(source_ip=1, destination_ip=1).bytes(("source_ip",) * 2), "each once"),
    ]:
        with pytest.raises(ParameterError, match=words):
            call()
