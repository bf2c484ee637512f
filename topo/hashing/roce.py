"""RoCEv2: the UDP source port a flow sends from, as Linux derives it from its two queue pair numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError

__all__ = ["ROCE_DESTINATION_PORT", "expect_bits", "roce_flow_label", "roce_source_port"]

ROCE_DESTINATION_PORT = 4791
"""UDP destination port of every RoCEv2 packet: no entropy there."""


def roce_flow_label(local_qpn: ArrayLike, remote_qpn: ArrayLike) -> NDArray[np.uint32]:
    """The 20-bit flow label of a connected queue pair: v = local * remote; v ^= v >> 20; v ^= v >> 40; v mod 2^20.

    It is symmetric, so both directions of a connection use one label. Source: Linux, ``rdma_calc_flow_label``.

    >>> hex(roce_flow_label(0x118, 0x119))
    '0x13358'

    :raises ParameterError: a queue pair number that has no 24 bits.
    """
    product = expect_bits("local_qpn", local_qpn, 24) * expect_bits("remote_qpn", remote_qpn, 24)
    product = product ^ (product >> np.uint64(20))
    product = product ^ (product >> np.uint64(40))
    return (product & np.uint64(0xFFFFF)).astype(np.uint32)


def roce_source_port(flow_label: ArrayLike) -> NDArray[np.uint16]:
    """The UDP source port of a flow label: low 14 bits ^ the 6 bits above, in 49152..65535.

    Labels that differ can share a port: 0x1 and 0x4000 both give 49153. Source: Linux,
    ``rdma_flow_label_to_udp_sport``.

    >>> roce_source_port([0x1, 0x4000, 0x3FFF]).tolist()
    [49153, 49153, 65535]

    :raises ParameterError: a label that has no 20 bits.
    """
    label = expect_bits("flow_label", flow_label, 20)
    low, high = label & np.uint64(0x3FFF), (label & np.uint64(0xFC000)) >> np.uint64(14)
    return ((low ^ high) | np.uint64(0xC000)).astype(np.uint16)


def expect_bits(name: str, values: ArrayLike, bits: int) -> NDArray[np.uint64]:
    """Whole numbers that a field of so many bits holds.

    :raises ParameterError: one that it does not hold, or no whole numbers.
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ParameterError(f"{name} must be whole numbers, got {array.dtype}")
    bad = np.flatnonzero((array < 0) | (array >= 1 << bits))
    if bad.size:
        raise ParameterError(f"{name} {array.ravel()[bad[0]]} is outside 0..{(1 << bits) - 1}, {bits} bits")
    return array.astype(np.uint64)
