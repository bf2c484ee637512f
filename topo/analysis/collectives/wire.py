"""From line rate to payload: packet headers by transport and MTU, and how long a message takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from topo.errors import ParameterError
from topo.result import Result, Row, Standing

__all__ = ["MTUS", "TRANSPORTS", "MessageTime", "Transport", "message_time", "transport", "wire_efficiency"]

MTUS = (256, 512, 1024, 2048, 4096)
"""Payload sizes an InfiniBand or RoCE path can be set to, in bytes."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Bytes on the wire around each packet's payload, and once more on a message's first packet."""

    name: str
    per_packet: int
    first_packet: int
    parts: str


TRANSPORTS = {
    "rocev2": Transport(
        "rocev2",
        82,
        16,
        "preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12; RETH 16 on the first of a write",
    ),
    "rocev2-ipv6": Transport("rocev2-ipv6", 102, 16, "as rocev2 with IPv6, 20 bytes more"),
    "infiniband": Transport("infiniband", 26, 16, "LRH 8, BTH 12, ICRC 4, VCRC 2; RETH 16 on the first of a write"),
    "infiniband-grh": Transport("infiniband-grh", 66, 16, "as infiniband with a global route header of 40"),
}
"""Transports by name. RoCEv2 sizes are those of the Ethernet, IP and InfiniBand headers; ACKs are not counted."""


@dataclass(frozen=True)
class MessageTime(Result):
    """One message over one path, alone."""

    bytes: int
    line_gbps: float
    transport: str
    mtu: int
    payload_us: float
    wire_us: float
    latency_us: float
    time_us: float
    goodput_gbps: float
    half_bandwidth_bytes: float
    standing: Standing

    title: ClassVar[str] = "One message"

    def rows(self) -> list[Row]:
        """Payload alone, on the wire, with latency, and what rate that is."""
        return [
            Row("payload at line rate", self.payload_us, "us"),
            Row("on the wire, with headers", self.wire_us, "us"),
            Row("latency of the path", self.latency_us, "us"),
            Row("time, first byte sent to last received", self.time_us, "us", self.standing),
            Row("goodput", self.goodput_gbps, "Gb/s"),
            Row("message that reaches half the rate", self.half_bandwidth_bytes, "bytes"),
        ]


def transport(name: str) -> Transport:
    """A transport by name.

    :raises ParameterError: an unknown name.
    """
    if name not in TRANSPORTS:
        raise ParameterError(f"unknown transport {name!r}; known: {', '.join(TRANSPORTS)}")
    return TRANSPORTS[name]


def wire_efficiency(name: str = "rocev2", mtu: int = 4096) -> float:
    """Payload over bytes on the wire for full packets: mtu / (mtu + headers).

    >>> round(100 * wire_efficiency("rocev2", 4096), 3), round(100 * wire_efficiency("infiniband", 4096), 3)
    (98.037, 99.369)

    :raises ParameterError: an unknown transport, or an MTU that no path has.
    """
    kind = transport(name)
    _mtu(mtu)
    return mtu / (mtu + kind.per_packet)


def message_time(
    size: int,
    line_gbps: float = 400.0,
    *,
    transport_name: str = "rocev2",
    mtu: int = 4096,
    alpha_us: float = 0.0,
    hop_us: float = 0.0,
    hops: int = 1,
    store_and_forward: bool = False,
) -> MessageTime:
    """Time of a write of ``size`` bytes: alpha + hops x hop latency + (payload + headers) / rate.

    With ``store_and_forward`` each switch on the way waits for a whole packet: (hops - 1) packets more. The
    half-bandwidth message n_1/2 is the one whose time is twice its share on the wire: latency x rate in bytes.

    >>> answer = message_time(1 << 20)
    >>> round(answer.payload_us, 5), round(answer.wire_us, 5)
    (20.97152, 21.39168)

    :raises ParameterError: a size or hop count below 1, a rate not above 0, a negative latency.
    """
    kind = transport(transport_name)
    _mtu(mtu)
    for name, value, least in (("size", size, 1), ("hops", hops, 1), ("alpha_us", alpha_us, 0), ("hop_us", hop_us, 0)):
        if not math.isfinite(value) or value < least:
            raise ParameterError(f"{name} is {value}; it must be at least {least}")
    if not math.isfinite(line_gbps) or line_gbps <= 0:
        raise ParameterError(f"line_gbps is {line_gbps}; it must be above 0")
    packets = -(-size // mtu)
    on_wire = size + packets * kind.per_packet + kind.first_packet
    per_us = line_gbps * 1e3 / 8
    latency = alpha_us + hops * hop_us
    if store_and_forward:
        latency += (hops - 1) * (min(size, mtu) + kind.per_packet) / per_us
    time = latency + on_wire / per_us
    return MessageTime(
        bytes=size,
        line_gbps=line_gbps,
        transport=kind.name,
        mtu=mtu,
        payload_us=size / per_us,
        wire_us=on_wire / per_us,
        latency_us=latency,
        time_us=time,
        goodput_gbps=size * 8 / 1e3 / time,
        half_bandwidth_bytes=latency * per_us * wire_efficiency(transport_name, mtu),
        standing=Standing("model", "alone on its path; no queue, no acknowledgement counted"),
    )


def _mtu(mtu: int) -> None:
    if mtu not in MTUS:
        raise ParameterError(f"mtu is {mtu}; a path's is one of {', '.join(map(str, MTUS))} bytes")
