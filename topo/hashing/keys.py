"""What a switch hashes: header fields of flows as rows of bytes, with addresses and queue pairs of endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.hashing.roce import ROCE_DESTINATION_PORT, expect_bits, roce_flow_label, roce_source_port
from topo.table import check_rows, freeze

__all__ = ["FIELDS", "FIELD_SETS", "FlowKeys", "check_fields", "endpoint_addresses", "roce_keys"]

FIELDS = {
    "source_ip": 4,
    "destination_ip": 4,
    "source_port": 2,
    "destination_port": 2,
    "protocol": 1,
    "destination_qpn": 4,
    "ingress_port": 2,
}
"""Header fields and their bytes, highest first. A queue pair number stands with the reserved byte before it."""

FIELD_SETS = {
    "addresses": ("source_ip", "destination_ip"),
    "ports": ("source_ip", "destination_ip", "source_port", "destination_port"),
    "5-tuple": ("source_ip", "destination_ip", "source_port", "destination_port", "protocol"),
    "5-tuple+qpn": ("source_ip", "destination_ip", "source_port", "destination_port", "protocol", "destination_qpn"),
}
"""Sets of fields by the name people use."""

_UDP = 17
_FIRST_ADDRESS = 0x0A000001
_MOST_ENDPOINTS = (1 << 24) - 2
_FIRST_QPN = 17
_QPN_MODES = ("random", "consecutive")


def check_fields(fields: str | Sequence[str]) -> tuple[str, ...]:
    """Field names, from names or the name of a set.

    >>> check_fields("addresses")
    ('source_ip', 'destination_ip')

    :raises ParameterError: an unknown field or set, a field twice, or none.
    """
    if isinstance(fields, str):
        if fields not in FIELD_SETS:
            raise ParameterError(f"unknown set of fields {fields!r}; known: {', '.join(FIELD_SETS)}")
        return FIELD_SETS[fields]
    names = tuple(fields)
    unknown = [name for name in names if name not in FIELDS]
    if unknown or not names or len(set(names)) < len(names):
        what = f"unknown field {unknown[0]!r}" if unknown else f"fields are {names!r}: each once, and at least one"
        raise ParameterError(f"{what}; known: {', '.join(FIELDS)}")
    return names


@dataclass(frozen=True, eq=False)
class FlowKeys:
    """Header fields of n flows, one array each; a field the packets of a flow do not differ in is one number.

    >>> keys = FlowKeys.of(source_ip=[0x0A000001, 0x0A000002], destination_ip=0x0A000009, source_port=49152)
    >>> keys.bytes("addresses").tolist()
    [[10, 0, 0, 1, 10, 0, 0, 9], [10, 0, 0, 2, 10, 0, 0, 9]]
    """

    source_ip: NDArray[np.uint32]
    destination_ip: NDArray[np.uint32]
    source_port: NDArray[np.uint16]
    destination_port: NDArray[np.uint16]
    protocol: NDArray[np.uint8]
    destination_qpn: NDArray[np.uint32]

    @classmethod
    def of(
        cls,
        *,
        source_ip: ArrayLike,
        destination_ip: ArrayLike,
        source_port: ArrayLike = 0,
        destination_port: ArrayLike = ROCE_DESTINATION_PORT,
        protocol: ArrayLike = _UDP,
        destination_qpn: ArrayLike = 0,
    ) -> FlowKeys:
        """Keys from fields, single numbers repeated over all flows; UDP to the RoCEv2 port unless told otherwise.

        :raises ParameterError: fields of different lengths, or a number its field cannot hold.
        """
        given = {
            "source_ip": (source_ip, 32),
            "destination_ip": (destination_ip, 32),
            "source_port": (source_port, 16),
            "destination_port": (destination_port, 16),
            "protocol": (protocol, 8),
            "destination_qpn": (destination_qpn, 24),
        }
        arrays = {name: _field(name, values, bits) for name, (values, bits) in given.items()}
        lengths = {len(array) for array in arrays.values() if array.ndim}
        if len(lengths) > 1:
            raise ParameterError(
                f"fields of flows have lengths {sorted(lengths)}; they must be equal or single numbers"
            )
        n = lengths.pop() if lengths else 1
        return cls(**{name: np.broadcast_to(array, (n,)) for name, array in arrays.items()})

    def __len__(self) -> int:
        return len(self.source_ip)

    def bytes(self, fields: str | Sequence[str] = "5-tuple") -> NDArray[np.uint8]:
        """The fields in their order as rows of bytes, (n, length); the ingress port, which no flow knows, as zeros.

        :raises ParameterError: an unknown field.
        """
        names = check_fields(fields)
        columns = []
        for name in names:
            size = FIELDS[name]
            if name == "ingress_port":
                columns.append(np.zeros((len(self), size), np.uint8))
                continue
            values = getattr(self, name).astype(f">u{size}")
            columns.append(np.ascontiguousarray(values).view(np.uint8).reshape(len(self), size))
        return np.concatenate(columns, axis=1)

    def take(self, rows: ArrayLike) -> FlowKeys:
        """The keys of some flows."""
        index = np.asarray(rows)
        return FlowKeys(**{name: getattr(self, name)[index] for name in self.__dataclass_fields__})


def endpoint_addresses(fabric: Fabric) -> NDArray[np.uint32]:
    """An IPv4 address for every node row: 10.0.0.1 onwards over the endpoints in row order, 0 for other nodes.

    :raises ParameterError: more endpoints than 10.0.0.0/8 has addresses.
    """
    n = len(fabric.endpoints)
    if n > _MOST_ENDPOINTS:
        raise ParameterError(f"{n:,} endpoints do not fit the {_MOST_ENDPOINTS:,} addresses of 10.0.0.0/8; give keys")
    address = np.zeros(len(fabric.nodes), np.uint32)
    address[fabric.endpoints] = np.arange(_FIRST_ADDRESS, _FIRST_ADDRESS + n, dtype=np.uint32)
    return freeze(address)


def roce_keys(
    fabric: Fabric, source: ArrayLike, sink: ArrayLike, *, queue_pairs: str = "random", seed: int = 0
) -> FlowKeys:
    """Keys of RoCEv2 flows from node rows ``source`` to ``sink``, one queue pair at either end of each.

    Addresses are those of :func:`endpoint_addresses`; the UDP source port follows from the queue pair numbers as in
    Linux. ``queue_pairs`` is ``random`` (drawn over 24 bits from ``seed``) or ``consecutive`` (each endpoint counts
    up from 17 in the order of the flows). A pair of endpoints may appear several times: several connections.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> roce_keys(f, f.rows("host-1"), f.rows("host-4"), queue_pairs="consecutive").source_port.tolist()
    [49441]

    :raises ParameterError: a row that is no endpoint, a flow to itself, unequal lengths, an unknown word.
    """
    if queue_pairs not in _QPN_MODES:
        raise ParameterError(f"queue_pairs is {queue_pairs!r}; known: {', '.join(_QPN_MODES)}")
    ends = [_endpoint_rows(fabric, name, rows) for name, rows in (("source", source), ("sink", sink))]
    if len(ends[0]) != len(ends[1]):
        raise ParameterError(f"{len(ends[0])} sources and {len(ends[1])} sinks; each flow needs both")
    itself = np.flatnonzero(ends[0] == ends[1])
    if itself.size:
        name = str(fabric.nodes.name[ends[0][itself[0]]])
        raise ParameterError(f"flow {itself[0]} goes from {name!r} to itself; leave it out")
    both = np.concatenate(ends)
    if queue_pairs == "random":
        qpn = np.random.default_rng(seed).integers(2, 1 << 24, len(both))
    else:
        # Flow by flow, so that an endpoint that sends and receives counts in one order.
        order = np.stack(ends, axis=1).ravel()
        qpn = (_FIRST_QPN + _rank_within(order)).reshape(-1, 2).T.ravel()
        if qpn.size and qpn.max() >= 1 << 24:
            raise ParameterError(
                f"an endpoint has {int(qpn.max()) - _FIRST_QPN + 1:,} queue pairs; 24 bits hold no more"
            )
    local, remote = np.split(qpn, 2)
    address = endpoint_addresses(fabric)
    return FlowKeys.of(
        source_ip=address[ends[0]],
        destination_ip=address[ends[1]],
        source_port=roce_source_port(roce_flow_label(local, remote)),
        destination_qpn=remote,
    )


def _rank_within(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(values) else np.empty(0, bool)
    start = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - start
    return rank


def _field(name: str, values: ArrayLike, bits: int) -> NDArray[np.unsignedinteger]:
    array = expect_bits(name, values, bits)
    if array.ndim > 1:
        raise ParameterError(f"{name} has {array.ndim} dimensions; one number a flow is wanted")
    return array.astype({8: np.uint8, 16: np.uint16}.get(bits, np.uint32))


def _endpoint_rows(fabric: Fabric, name: str, rows: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(rows)
    index: NDArray[np.int64] = check_rows(array if array.size else array.astype(np.int64), len(fabric.nodes), "nodes")
    other = np.flatnonzero(~fabric.nodes.is_endpoint[index])
    if other.size:
        node = str(fabric.nodes.name[index[other[0]]])
        raise ParameterError(f"{name}: {node!r} is no endpoint of {fabric.name!r}; flows start and end at endpoints")
    return index.ravel()
