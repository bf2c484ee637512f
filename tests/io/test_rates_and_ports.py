"""Rates and port names as vendors spell them, one table each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from format_samples import SAMPLES

from topo.io import fabric_of_text
from topo.io.cables import Rate
from topo.io.halves import MISSING, STATED, UNKNOWN
from topo.io.port_names import PortPlace, cage_of, host_port, place_of_port, side_of_port
from topo.units import lane_gbps

RATES = {
    "1xSDR": 2.5,
    "4xSDR": 10,
    "4xDDR": 20,
    "4xQDR": 40,
    "4xFDR10": 40,
    "4xFDR": 56,
    "4xEDR": 100,
    "2xHDR": 100,
    "4xHDR": 200,
    "2xNDR": 200,
    "4xNDR": 400,
    "4xXDR": 800,
    "1xXDR": 200,
    "8xNDR": 800,
    "12xQDR": 120,
    "1xFDR10": 10,
    "1xFDR": 14,
    "HDR100": 100,
    "NDR200": 200,
    "4X 25.78125 Gbps": 100,
    "4X 53.125 Gbps": 200,
    "4X 106.25 Gbps": 400,
    "4X 212.5 Gbps": 800,
    "2X 106.25 Gbps": 200,
    "25.78125 Gbps": 25.78125,
    "50 GB/s": 400,
    "50 Gb/s": 50,
    "400G": 400,
    "400GbE": 400,
    "1.6T": 1600,
    "100000 Mbps": 100,
}
UNKNOWN_RATES = ("4xGDR", "5xHDR", "NDR300", "fast", "16 GT/s", "-1G", "1e9999G", "4X 1e5 Gbps", "0G")


@pytest.mark.parametrize("text", RATES)
def test_rates(text: str) -> None:
    assert Rate.of(text) == Rate(RATES[text], STATED)


@pytest.mark.parametrize("text", UNKNOWN_RATES)
def test_an_unknown_rate_is_none_and_never_a_wrong_number(text: str) -> None:
    rate = Rate.of(text)
    assert rate.status == UNKNOWN
    assert math.isnan(rate.gbps)


@pytest.mark.parametrize("text", ["", " ", None])
def test_no_rate_is_missing(text: str | None) -> None:
    assert Rate.of(text).status == MISSING


@pytest.mark.parametrize(
    ("signal", "nominal"),
    [(2.5, 2.5), (5, 5), (10, 10), (10.3125, 10), (14.0625, 14), (25.78125, 25), (53.125, 50), (106.25, 100)],
)
def test_signals_of_a_lane(signal: float, nominal: float) -> None:
    assert lane_gbps(signal) == nominal


@pytest.mark.parametrize(
    ("speed", "width", "gbps"),
    [
        ("2.5 GT/s", 16, 32),
        ("5 GT/s PCIe", 8, 32),
        ("8.0 GT/s PCIe", 16, 126),
        ("16 GT/s", 16, 252),
        ("32.0 GT/s PCIe", 16, 504),
    ],
)
def test_transfers_a_second_times_the_width(speed: str, width: int, gbps: int) -> None:
    """Coding takes 2 of 10 bits up to 5 GT/s and 2 of 130 from 8 GT/s on; the rest is cut to whole Gb/s."""
    fabric = fabric_of_text(
        f"""<system version="1"><cpu numaid="0">
        <pci busid="0000:02:00.0" class="0x030200" link_speed="{speed}" link_width="{width}">
        <gpu dev="0" sm="90"/></pci></cpu></system>""",
        "host.xml",
    )
    assert fabric.links.capacity_gbps.tolist() == [gbps]


def test_an_unknown_rate_keeps_its_link_and_says_so() -> None:
    fabric = fabric_of_text("A-Node,A-Port,Z-Node,Z-Port,Speed\na,1,b,1,4xGDR\na,2,b,2,400G\n", "t.csv")
    assert len(fabric.links) == 2
    assert math.isnan(fabric.links.capacity_gbps[0])
    assert "t.csv:2: rate of an unknown kind: a port 1 - b port 1 ('4xGDR')" in map(str, fabric.origin.notes)


SAID = {
    "schedule": [200, 200, 400, 400],  # 200G and 400G
    "paddle": [25],  # Gb/s
    "node-link": [100],  # capacity_gbps
    "graphml": [10, 40],  # LinkSpeedRaw, b/s
    "sonic-minigraph": [40],  # 40000 Mb/s
    "nccl": [200] * 4 + [252, 504, 504],  # two NVLinks of 100 each; 16 and 32 GT/s times 16, less coding
    "hedgehog": [25, 25],  # 4x25G
    "astra-sim": [400] * 8,  # 50 GB/s
    "ns-3": [100, 100, 100, 400],  # 100Gbps
    "ibdm": [56],  # 4x of 14G
    "iblinkinfo": [100, 100],  # 4X of 25.78125 Gbps and 2X of 53.125
    "ibdiagnet": [200, 400],  # 4x of 50 and of 100
    "ibdiagnet-csv": [400],  # width code 2, speed code 2048
    "htsim": [100] * 16 + [200] * 16,  # Downlink_speed_Gbps
    "infragraph": [400] * 4,  # gigabytes_per_second: 50
}


@pytest.mark.parametrize("name", SAMPLES)
def test_each_format_says_rates_in_its_own_unit(name: str) -> None:
    rates = fabric_of_text(SAMPLES[name][0], "t", format=name).links.capacity_gbps
    assert sorted(rates[~np.isnan(rates)].tolist()) == SAID.get(name, [])


ODD = {
    "schedule": ("400G,3m,,,\nspine", "GDR,3m,,,\nspine"),
    "paddle": ('"speed": 25', '"speed": "fast"'),
    "node-link": ('"capacity_gbps": 100', '"capacity_gbps": "fast"'),
    "graphml": ("1e10", "fast"),
    "sonic-minigraph": ("40000", "fast"),
    "nccl": ('link_speed="16 GT/s"', 'link_speed="16 GX/s"'),
    "hedgehog": ("4x25G", "4xfast"),
    "astra-sim": ("50, tbd", "fast, tbd"),
    "ns-3": ("0 3 100Gbps", "0 3 fast"),
    "ibdm": ("-4x-14G->", "-4x-GDR->"),
    "iblinkinfo": ("4X      25.78125 Gbps", "4X      99.9 Gbps"),
    "ibdiagnet": ("4x : 50 :", "4x : GDR :"),
    "ibdiagnet-csv": ("1,2,2048", "1,2,777"),
    "htsim": ("Downlink_speed_Gbps 100", "Downlink_speed_Gbps fast"),
    "infragraph": ("gigabytes_per_second: 50", "gigabytes_per_second: fast"),
    "dot": ('[LLDP="lldptmpl=L1"]', '[speed="fast"]'),
}


def test_every_format_that_says_rates_has_an_odd_one() -> None:
    assert SAID.keys() <= ODD.keys() <= SAMPLES.keys()


@pytest.mark.parametrize("name", ODD)
def test_an_odd_rate_keeps_its_links_and_is_told(name: str) -> None:
    text, (_, _, n_links) = SAMPLES[name]
    old, new = ODD[name]
    assert old in text
    good = fabric_of_text(text, "t", format=name)
    fabric = fabric_of_text(text.replace(old, new), "t", format=name)
    assert len(fabric.links) == len(good.links) == n_links
    known, was = (~np.isnan(each.links.capacity_gbps) for each in (fabric, good))
    assert (known <= was).all() and known.sum() < was.sum() + (name == "dot")
    assert (fabric.links.capacity_gbps[known] == good.links.capacity_gbps[known]).all()
    words = ("rate of an unknown kind", "rate not understood", "breakout not understood")
    assert [note for note in fabric.origin.notes if any(word in note.text for word in words)]


# What a name says: whose port, the cage it shares, and unit, cage, port, leg.
PORTS = {
    "1/1/1/1": ("switch", "1/1", PortPlace(1, 1, 1, 1)),
    "1/17/2": ("switch", "1/17", PortPlace(1, 17, 2, -1)),
    "1/3": ("switch", "", PortPlace(-1, -1, -1, -1)),
    "swp17s0": ("switch", "swp17", PortPlace(-1, 17, -1, 0)),
    "swp17": ("switch", "", PortPlace(-1, 17, -1, -1)),
    "E1/1/1": ("switch", "E1/1", PortPlace(1, 1, -1, 1)),
    "E1/1": ("switch", "", PortPlace(1, 1, -1, -1)),
    "Ethernet0": ("switch", "", PortPlace(-1, 0, -1, -1)),
    "Ethernet1/1": ("switch", "", PortPlace(1, 1, -1, -1)),
    "P0.0": ("switch", "P0", PortPlace(-1, 0, 0, -1)),
    "P22.1": ("switch", "P22", PortPlace(-1, 22, 1, -1)),
    "sw10p2": ("switch", "sw10", PortPlace(-1, 10, 2, -1)),
    "sw1p1s1": ("switch", "sw1", PortPlace(-1, 1, 1, 1)),
    "Blade 16_Port 2/20": ("switch", "", PortPlace(16, 2, 20, -1)),
    "41": ("", "", PortPlace(-1, 41, -1, -1)),
    "rail5": ("host", "", PortPlace(-1, -1, -1, -1)),
    "mlx5_0": ("host", "", PortPlace(-1, -1, -1, -1)),
}


@pytest.mark.parametrize("label", PORTS)
def test_port_names(label: str) -> None:
    assert (side_of_port(label), cage_of(label), place_of_port(label)) == PORTS[label]


def test_ports_at_hosts() -> None:
    assert host_port("n1", "n1 mlx5_3") == ("mlx5_3", "1")
    assert host_port("n1", "HCA-1/2") == ("HCA-1", "2")
    assert host_port("n1", "rail5") == ("rail5", "1")


def test_an_alias_that_is_another_ports_name_stays_apart() -> None:
    link = "<DeviceLinkBase><StartDevice>tor</StartDevice><StartPort>{}</StartPort><EndDevice>{}</EndDevice>"
    text = "".join(f"{link.format(*each)}<EndPort>Ethernet1</EndPort></DeviceLinkBase>" for each in PAIRS)
    root = f"<DeviceMiniGraph><PngDec><DeviceInterfaceLinks>{text}</DeviceInterfaceLinks></PngDec></DeviceMiniGraph>"
    fabric = fabric_of_text(root, "m.xml")
    assert len(fabric.links) == 2
    nodes = fabric.nodes.name[fabric.ports.node]
    found = sorted(f"{node}:{label}" for node, label in zip(nodes, fabric.ports.label.values(), strict=True))
    assert found == ["leaf1:Ethernet1", "leaf2:Ethernet1", "tor:Ethernet0", "tor:Ethernet1"]


PAIRS = (("Ethernet0", "leaf1"), ("Ethernet1", "leaf2"))
