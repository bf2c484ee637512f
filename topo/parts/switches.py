"""Switches that published fabrics are built of."""

from __future__ import annotations

from dataclasses import dataclass

from topo.parts.named import named

__all__ = ["SWITCHES", "PortMode", "SwitchPart", "part_called", "switch_part"]


@dataclass(frozen=True, slots=True)
class PortMode:
    """So many ports of one rate, ``ports_per_cage`` of them in each cage, when every cage is set to it."""

    n_ports: int
    gbps: float
    ports_per_cage: int


@dataclass(frozen=True, slots=True)
class SwitchPart:
    """A switch as sold: the modes its cages can be set to, the usual one first, and where that is written."""

    name: str
    title: str
    modes: tuple[PortMode, ...]
    source: str
    is_chassis: bool = False
    """A modular chassis of line cards, no single box."""

    @property
    def radix(self) -> int:
        """Ports in the usual mode."""
        return self.modes[0].n_ports

    @property
    def port_gbps(self) -> float:
        """Rate of a port in the usual mode, in Gb/s one direction."""
        return self.modes[0].gbps

    @property
    def chip_gbps(self) -> float:
        """What all ports together carry, one direction."""
        return max(mode.n_ports * mode.gbps for mode in self.modes)

    @property
    def n_cages(self) -> int:
        """Cages on the faceplate."""
        return self.modes[0].n_ports // self.modes[0].ports_per_cage

    def mode(self, gbps: float) -> PortMode | None:
        """The mode whose ports run at ``gbps``."""
        return next((mode for mode in self.modes if mode.gbps == gbps), None)

    @property
    def modes_text(self) -> str:
        """The modes in words.

        >>> switch_part("qm9700").modes_text
        '64 x 400 Gb/s or 128 x 200 Gb/s'
        """
        return " or ".join(f"{mode.n_ports} x {mode.gbps:g} Gb/s" for mode in self.modes)


SWITCHES: tuple[SwitchPart, ...] = (
    SwitchPart(
        "arista-7808r3",
        "Arista 7808R3, modular chassis with eight line cards, deep buffers",
        (PortMode(288, 400, 1),),
        "Arista 7800R3 platform architecture white paper: 288 x 400G in the 8-slot chassis",
        is_chassis=True,
    ),
    SwitchPart(
        "ethernet-51t",
        "Ethernet switch of one 51.2 Tb/s chip, 64 cages of 800G",
        (PortMode(64, 800, 1), PortMode(128, 400, 2), PortMode(256, 200, 4), PortMode(512, 100, 8)),
        "128 x 400G and 200G: Alibaba HPN, SIGCOMM 2024, section 5.1; 64 x 800G as 512 x 100G: digests of MRC, "
        "arXiv 2605.04333 (secondary)",
    ),
    SwitchPart(
        "minipack2",
        "OCP Minipack2, Ethernet, one Tomahawk 4 chip of 25.6 Tb/s",
        (PortMode(64, 400, 1), PortMode(128, 200, 2)),
        "Broadcom Tomahawk 4 in Minipack2, 128 x 200G or 64 x 400G (secondary); 64 x 400G split 2 x 200G: "
        "ByteDance MegaScale, NSDI 2024",
    ),
    SwitchPart(
        "q3400-ra",
        "NVIDIA Quantum-X800 Q3400-RA, XDR InfiniBand, 72 twin-port OSFP cages",
        (PortMode(144, 800, 2),),
        "144 x 800G: NVIDIA DGX SuperPOD B300 XDR reference architecture RA-11339-001; two ports a cage is from memory",
    ),
    SwitchPart(
        "qm8700",
        "NVIDIA Quantum QM8700, HDR InfiniBand, 40 QSFP56 cages",
        (PortMode(40, 200, 1), PortMode(80, 100, 2)),
        "40 x 200G: Fire-Flyer 2, arXiv 2408.14158; 80 x 100G: CINECA's description of Leonardo, whose leaves "
        "take 40 links of 100G and 18 of 200G",
    ),
    SwitchPart(
        "qm9700",
        "NVIDIA Quantum-2 QM9700, NDR InfiniBand, 32 twin-port OSFP cages",
        (PortMode(64, 400, 2), PortMode(128, 200, 4)),
        "NVIDIA DGX SuperPOD H100 reference architecture RA-11333-001; two ports a cage: QM97X0 user manual, "
        "chapter Interfaces; split mode: yobitel.com, article on Quantum-2 (secondary)",
    ),
    SwitchPart(
        "sn4600c",
        "NVIDIA Spectrum-3 SN4600C, Ethernet, 64 QSFP28 cages",
        (PortMode(64, 100, 1),),
        "mlxsw wiki, release notes 5.13: 64 QSFP28 ports of 100GbE",
    ),
    SwitchPart(
        "sn5600",
        "NVIDIA Spectrum-4 SN5600, Ethernet, 64 OSFP cages",
        (PortMode(64, 800, 1), PortMode(128, 400, 2), PortMode(256, 200, 4)),
        "NVIDIA SN5000 user manual, chapter Data Interfaces",
    ),
)
"""Every switch that a spec may name, by name."""


def switch_part(name: str) -> SwitchPart:
    """The switch of that name.

    >>> part = switch_part("qm9700")
    >>> part.radix, part.port_gbps, part.n_cages
    (64, 400, 32)

    :raises ParameterError: no such switch; the nearest names are told.
    """
    return named(SWITCHES, name, f"{name!r} is not a known switch")


def part_called(text: str) -> SwitchPart | None:
    """The switch that a file means by a model or an order number: the known name in any capitals, inside other words.

    >>> part_called("MQM9700-NS2F") is switch_part("qm9700"), part_called("SN2201")
    (True, None)
    """
    plain = text.lower()
    return next((part for part in SWITCHES if part.name in plain), None)
