"""Rates: what tools print, InfiniBand generations that are easily confused, refusals."""

from __future__ import annotations

import pytest

import topo
from topo.units import format_gbps, format_number, infiniband_gbps, parse_gbps


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("400G", 400), ("400g", 400), ("400GbE", 400), ("1.6T", 1600), ("25.78125 Gbps", 25.78125), ("100", 100),
        ("200000 Mb/s", 200), ("50 GB/s", 400), ("50 Gb/s", 50), ("450GBps", 3600), ("4xNDR", 400), ("2xNDR", 200),
        ("4X HDR", 200), ("12xQDR", 120), (25, 25), (".5T", 500),
    ],
)  # fmt: skip
def test_rates_as_people_write_them(text: str | float, gbps: float) -> None:
    assert parse_gbps(text) == gbps


def test_infiniband_generations_are_kept_apart() -> None:
    rates = {
        name: infiniband_gbps(f"4x{name}") for name in ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR")
    }
    assert rates == {
        "SDR": 10, "DDR": 20, "QDR": 40, "FDR10": 40, "FDR": 56, "EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["4xGDR", "5xNDR", "fast", "", "400 parsecs", "-400G", "1e9", "4x"])
def test_what_is_not_a_rate_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(topo.ParameterError) as caught:
        parse_gbps(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_numbers_that_are_no_rate(value: float) -> None:
    with pytest.raises(topo.ParameterError, match="not a rate"):
        parse_gbps(value)


def test_printing() -> None:
    assert [format_gbps(g) for g in (0, 12.8, 6400, 201_600, 1e7)] == [
        "0 Gb/s",
        "12.8 Gb/s",
        "6,400 Gb/s",
        "201.6 Tb/s",
        "10 Pb/s",
    ]
    assert [format_number(x) for x in (0.5, 1234567.0, 0.000123456789)] == ["0.5", "1,234,567", "0.000123457"]


@pytest.mark.parametrize("rate", [1e300, 1_000_001, "1001T", "2000 TB/s"])
def test_a_rate_beyond_belief_names_the_bound(rate: float | str) -> None:
    with pytest.raises(topo.ParameterError, match=r"at most 1,000,000 Gb/s"):
        parse_gbps(rate)
    assert parse_gbps("1000T") == 1e6
