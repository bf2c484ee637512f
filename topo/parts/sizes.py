"""Rack units and power of what stands in racks: switches, servers, and stand-ins where nothing is published."""

from __future__ import annotations

from dataclasses import dataclass

from topo.parts.servers import SERVERS

__all__ = ["SIZES", "BoxSize", "server_of_accelerators", "size_of"]


@dataclass(frozen=True, slots=True)
class BoxSize:
    """Rack units and power of a box, in kW without pluggable optics; how sure that is, and where it is written.

    ``per_rack`` boxes are sold as one closed rack, which has ``rack_units`` for other parts (switch trays, power
    shelves) that draw ``rack_kw``; 0 for a box that stands alone.
    """

    name: str
    units: int
    power_kw: float
    label: str
    source: str
    per_rack: int = 0
    rack_units: int = 0
    rack_kw: float = 0.0


_DATASHEET = "the vendor's typical power with passive cables"
_CHIP = "from memory: systems of one 51.2 Tb/s chip take 2 rack units and about 1 kW without optics"
_NVL72 = "a rack of 18 compute trays, 9 switch trays and power shelves; {} kW a rack, of which the trays take most"

SIZES: tuple[BoxSize, ...] = (
    BoxSize("arista-7808r3", 16, 8.0, "M", "from memory: 16 rack units for the 8-slot chassis"),
    BoxSize("ethernet-51t", 2, 1.0, "M", _CHIP),
    BoxSize("minipack2", 4, 0.8, "M", "from memory: OCP Minipack2, 4 rack units"),
    BoxSize("q3400-ra", 4, 3.0, "M", "from memory: 4 rack units"),
    BoxSize("qm8700", 1, 0.25, "M", f"from memory: {_DATASHEET}"),
    BoxSize("qm9700", 1, 0.75, "M", f"from memory: {_DATASHEET}, 747 W"),
    BoxSize("sn4600c", 2, 0.47, "M", f"from memory: {_DATASHEET}"),
    BoxSize("sn5600", 2, 0.94, "M", f"from memory: {_DATASHEET}, 940 W"),
    BoxSize("dgx-a100", 6, 6.5, "M", "from memory: NVIDIA DGX A100 user guide, 6.5 kW at most"),
    BoxSize("dgx-h100", 8, 10.2, "M", "from memory: NVIDIA DGX H100 user guide, 10.2 kW at most"),
    BoxSize("dgx-h200", 8, 10.2, "M", "from memory: NVIDIA DGX H200 user guide, 10.2 kW at most"),
    BoxSize("dgx-b200", 10, 14.3, "M", "from memory: NVIDIA DGX B200 user guide, 14.3 kW at most"),
    BoxSize("dgx-b300", 10, 14.5, "M", "from memory: NVIDIA DGX B300, about 14 kW"),
    BoxSize("gb200-tray", 1, 6.0, "M", _NVL72.format(120), 18, 17, 12.0),
    BoxSize("gb300-tray", 1, 6.6, "M", _NVL72.format(132), 18, 17, 13.0),
    BoxSize("mi300x-8", 8, 10.0, "M", "from memory: servers of 8 MI300X take 8 rack units and about 10 kW"),
    BoxSize("gaudi2", 8, 7.5, "M", "from memory: servers of 8 Gaudi 2"),
    BoxSize("gaudi3", 8, 9.0, "M", "from memory: servers of 8 Gaudi 3"),
    BoxSize("cloudmatrix-node", 8, 10.0, "assumed", "eight accelerators: taken to be like a DGX H100"),
    BoxSize("accelerator server", 8, 10.2, "assumed", "four adapters or more: taken to be like a DGX H100"),
    BoxSize("board", 1, 1.5, "assumed", "accelerators without adapters: a tray of one rack unit"),
    BoxSize("server", 1, 0.8, "assumed", "a host of which nothing is known: one rack unit"),
    BoxSize("storage", 2, 1.0, "assumed", "a storage server of two rack units"),
    BoxSize("manager", 1, 0.5, "assumed", "a management server of one rack unit"),
    BoxSize("switch", 1, 0.75, "assumed", "a switch of which nothing is known: one rack unit, like a QM9700"),
    BoxSize("large switch", 2, 1.0, "assumed", "a switch of more than 64 ports: two rack units"),
    BoxSize("scale-up switch", 1, 0.8, "assumed", "a switch of a scale-up domain in a box of its own"),
    BoxSize("switch tray", 1, 0.0, "M", "two chips of a rack-scale domain; its power is counted with the rack"),
)
"""Every size that is known, and the stand-ins, by name; a racks file states others."""

_BY_NAME = {size.name: size for size in SIZES}


def size_of(name: str) -> BoxSize | None:
    """The size of that name, None where nothing is known.

    >>> size_of("dgx-h100").units, size_of("something else")
    (8, None)
    """
    return _BY_NAME.get(name)


def server_of_accelerators(part: str, count: int) -> str:
    """The server that holds so many accelerators of a part, as an opened host shows them; '' for none known.

    >>> server_of_accelerators("H100", 8), server_of_accelerators("B200", 4), server_of_accelerators("B200", 5)
    ('dgx-h100', 'gb200-tray', '')
    """
    for template in SERVERS:
        if template.accelerators.part == part and template.n_accelerators == count:
            return template.name
    return ""
