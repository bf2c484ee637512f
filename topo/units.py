"""Rates in one unit: Gb/s, one direction. Parse what people and tools write, print what people read."""

from __future__ import annotations

import math
import re

from topo.errors import ParameterError

__all__ = [
    "IB_LANE_GBPS",
    "MOST_GBPS",
    "format_gbps",
    "format_number",
    "format_range",
    "infiniband_gbps",
    "lane_gbps",
    "parse_gbps",
]

IB_LANE_GBPS: dict[str, float] = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""Nominal rate of one InfiniBand lane in Gb/s, as ``ibstat`` prints it.

SDR, DDR and QDR are 8b/10b coded and carry 80 % of it; FDR10 and later use 64b/66b or denser codes.
"""

MOST_GBPS = 1e6
"""Fastest link that is believed, one direction: 1 Pb/s, over a hundred times what is sold."""

_SIGNAL_GBPS = {10.3125: 10.0, 14.0625: 14.0, 25.78125: 25.0, 26.5625: 25.0, 53.125: 50.0, 106.25: 100.0, 212.5: 200.0}
"""Nominal rate of a lane by the rate of its signal, coding counted, where the two differ."""

_IB = re.compile(r"\s*(\d+)\s*[xX]\s*([A-Za-z]+\d*)\s*\Z")
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z/ ]*?)\s*\Z")
_UNIT_GBPS: dict[str, float] = {
    "": 1.0,
    "g": 1.0,
    "gbps": 1.0,
    "gb/s": 1.0,
    "gbit/s": 1.0,
    "gbit": 1.0,
    "gbe": 1.0,
    "ge": 1.0,
    "t": 1e3,
    "tbps": 1e3,
    "tb/s": 1e3,
    "tbit/s": 1e3,
    "m": 1e-3,
    "mbps": 1e-3,
    "mb/s": 1e-3,
    "mbit/s": 1e-3,
}
_BYTES_GBPS: dict[str, float] = {
    "GB/s": 8.0,
    "GBps": 8.0,
    "TB/s": 8e3,
    "TBps": 8e3,
    "MB/s": 8e-3,
    "MBps": 8e-3,
}


def infiniband_gbps(token: str) -> float:
    """Rate in Gb/s of an InfiniBand width and generation: lanes times :data:`IB_LANE_GBPS`.

    >>> infiniband_gbps("4xNDR"), infiniband_gbps("4xFDR10"), infiniband_gbps("1xSDR")
    (400.0, 40.0, 2.5)

    :raises ParameterError: the generation or the width is not a known one.
    """
    match = _IB.match(token)
    if match is None:
        raise ParameterError(f"{token!r} is not an InfiniBand rate; expected a width and a generation like '4xNDR'")
    lanes, generation = int(match[1]), match[2].upper()
    if generation not in IB_LANE_GBPS:
        raise ParameterError(f"{token!r}: unknown InfiniBand generation {match[2]!r}; known: {', '.join(IB_LANE_GBPS)}")
    if lanes not in (1, 2, 4, 8, 12):
        raise ParameterError(f"{token!r}: {lanes} lanes is not an InfiniBand width; known: 1, 2, 4, 8, 12")
    return lanes * IB_LANE_GBPS[generation]


def lane_gbps(signal_gbps: float) -> float | None:
    """Nominal Gb/s of an InfiniBand lane by the rate of its signal; None where no generation has it.

    >>> lane_gbps(25.78125), lane_gbps(106.25), lane_gbps(50.0), lane_gbps(31.0)
    (25.0, 100.0, 50.0, None)
    """
    nominal = _SIGNAL_GBPS.get(signal_gbps, signal_gbps)
    return nominal if nominal in IB_LANE_GBPS.values() else None


def parse_gbps(text: str | float) -> float:
    """Rate in Gb/s, one direction, from how people write it; a bare number is Gb/s.

    >>> parse_gbps("400G"), parse_gbps("1.6T"), parse_gbps("4xNDR"), parse_gbps("25.78125 Gbps")
    (400.0, 1600.0, 400.0, 25.78125)
    >>> parse_gbps("50 GB/s"), parse_gbps("200000 Mb/s"), parse_gbps(100)
    (400.0, 200.0, 100.0)

    A capital ``B`` means bytes.

    :raises ParameterError: not a rate from 0 to :data:`MOST_GBPS`, or an unknown unit.
    """
    if isinstance(text, (int, float)):
        value = float(text)
        if not math.isfinite(value) or value < 0:
            raise ParameterError(f"{text!r} is not a rate; expected a finite number of Gb/s, at least 0")
        return _bounded(value, text)
    if _IB.match(text):
        return infiniband_gbps(text)
    match = _RATE.match(text)
    if match is None:
        raise ParameterError(f"{text!r} is not a rate; expected something like '400G', '4xNDR' or '25.78125 Gbps'")
    unit = match[2].replace(" ", "")
    factor = _BYTES_GBPS.get(unit, _UNIT_GBPS.get(unit.lower()))
    if factor is None:
        raise ParameterError(f"{text!r}: unknown unit {match[2]!r}; use G, T, M, Gb/s, GB/s or an InfiniBand rate")
    return _bounded(float(match[1]) * factor, text)


def _bounded(gbps: float, said: str | float) -> float:
    if gbps > MOST_GBPS:
        raise ParameterError(f"{said!r} is not a rate of one link; at most {MOST_GBPS:,.0f} Gb/s (1 Pb/s) is taken")
    return gbps


def format_number(value: float, digits: int = 6) -> str:
    """At most ``digits`` significant digits, thousands grouped, no trailing zeros.

    >>> format_number(201600.0), format_number(12.8), format_number(1828), format_number(2 / 3)
    ('201,600', '12.8', '1,828', '0.666667')
    """
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_range(low: float, high: float, digits: int = 6) -> str:
    """Two bounds as :func:`format_number` writes them, one number where they are the same.

    >>> format_range(800.0, 800.0), format_range(0.5, 1000.0)
    ('800', '0.5 to 1,000')
    """
    said = format_number(low, digits)
    return said if low == high else f"{said} to {format_number(high, digits)}"


def format_gbps(gbps: float) -> str:
    """A rate with its unit, in Gb/s below 10 Tb/s, Tb/s below 10 Pb/s, else Pb/s.

    >>> format_gbps(6400), format_gbps(201600), format_gbps(204_800_000)
    ('6,400 Gb/s', '201.6 Tb/s', '204.8 Pb/s')
    """
    if abs(gbps) < 1e4:
        return f"{format_number(gbps)} Gb/s"
    if abs(gbps) < 1e7:
        return f"{format_number(gbps / 1e3)} Tb/s"
    return f"{format_number(gbps / 1e6)} Pb/s"
