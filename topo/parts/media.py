"""Cables and transceivers by medium, rate and reach; lengths as sold; each row with its source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MEDIA", "MEDIUM_ORDER", "Medium", "Transceiver", "medium_of", "transceiver_of"]

MEDIUM_ORDER = ("copper", "active_copper", "active_optical", "multimode", "single_mode")
"""Media from the shortest reach to the longest; the first three have their ends fixed to the cable."""

_COPPER_M = (0.5, 1, 1.5, 2, 2.5, 3, 5)
_ACTIVE_M = (1, 2, 3, 5)
_OPTICAL_M = (3, 5, 10, 15, 20, 30, 50, 100)
_FIBRE_M = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100, 120, 150, 200, 250, 300, 400, 500,
            750, 1000, 1500, 2000)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Medium:
    """One kind of cable for links up to ``gbps`` each, and how far it reaches; ``lengths_m`` are those sold.

    ``end_w`` is what one end draws for each link where the ends are fixed to the cable; fibre has transceivers.
    ``twin_reach_m`` is the reach between two cages of several ports, where that is shorter.
    """

    kind: str
    gbps: float
    reach_m: float
    title: str
    source: str
    lengths_m: tuple[float, ...]
    end_w: float = 0.0
    twin_reach_m: float = 0.0

    @property
    def is_fibre(self) -> bool:
        """Whether its ends are transceivers of their own."""
        return self.kind in ("multimode", "single_mode")


@dataclass(frozen=True, slots=True)
class Transceiver:
    """A pluggable end of a fibre: ``links`` of ``gbps`` each through one cage."""

    kind: str
    gbps: float
    links: int
    title: str
    power_w: float
    source: str


_DOCS = "docs.nvidia.com/networking"
_LR = "from memory: IEEE 802.3 reach classes"

MEDIA: tuple[Medium, ...] = (
    Medium("copper", 25, 5, "passive copper 25G", _LR, _COPPER_M),
    Medium("copper", 50, 3, "passive copper 50G", _LR, _COPPER_M),
    Medium("copper", 100, 3, "passive copper 100G", _LR, _COPPER_M),
    Medium("copper", 200, 2, "passive copper 200G", f"from memory: {_DOCS}, MCP1650-H", _COPPER_M),
    Medium("copper", 400, 3, "passive copper 400G",
           f"{_DOCS}, MCP4Y10: 2x400G to 2x400G, 0.5 to 2 m; MCP7Y00 to single ports, 3 m from memory", _COPPER_M,
           twin_reach_m=2),
    Medium("active_copper", 400, 5, "active copper 400G", f"from memory: {_DOCS}, MCA4J80: 2x400G, 3 to 5 m",
           _ACTIVE_M, 1.5),
    Medium("active_copper", 800, 2, "active copper 800G",
           f"{_DOCS}, 200G-PAM4 list: linear active copper alone, no passive copper; length from memory", _ACTIVE_M,
           2.0),
    Medium("active_optical", 50, 100, "active optical 50G", "from memory", _OPTICAL_M, 1.5),
    Medium("active_optical", 100, 100, "active optical 100G", f"from memory: {_DOCS}, MFA1A00", _OPTICAL_M, 2.5),
    Medium("active_optical", 200, 100, "active optical 200G", f"from memory: {_DOCS}, MFS1S00", _OPTICAL_M, 5.0),
    Medium("multimode", 25, 100, "multimode fibre 25G", _LR, _FIBRE_M),
    Medium("multimode", 50, 100, "multimode fibre 50G", f"{_LR}: SR, OM4", _FIBRE_M),
    Medium("multimode", 100, 100, "multimode fibre 100G", f"{_LR}: SR4, OM4", _FIBRE_M),
    Medium("multimode", 200, 100, "multimode fibre 200G", f"{_LR}: SR4, OM4", _FIBRE_M),
    Medium("multimode", 400, 50, "multimode fibre 400G", f"{_DOCS}, MMA4Z00: SR4, OM4, 50 m", _FIBRE_M),
    Medium("single_mode", 25, 10_000, "single-mode fibre 25G", f"{_LR}: LR", _FIBRE_M),
    Medium("single_mode", 50, 2000, "single-mode fibre 50G", f"{_LR}: FR", _FIBRE_M),
    Medium("single_mode", 100, 500, "single-mode fibre 100G", f"{_LR}: DR, PSM4", _FIBRE_M),
    Medium("single_mode", 100, 2000, "single-mode fibre 100G, FR", f"{_LR}: FR, CWDM4", _FIBRE_M),
    Medium("single_mode", 200, 2000, "single-mode fibre 200G", f"{_LR}: FR4", _FIBRE_M),
    Medium("single_mode", 400, 500, "single-mode fibre 400G", f"{_LR}: DR4; MMS4X00 is sold for 100 m and 500 m",
           _FIBRE_M),
    Medium("single_mode", 400, 2000, "single-mode fibre 400G, FR", f"{_DOCS}, MMS4X50-NM: 2xFR4, 2 km", _FIBRE_M),
    Medium("single_mode", 800, 500, "single-mode fibre 800G", f"from memory: {_DOCS}, MMS4A00: 2xDR4", _FIBRE_M),
    Medium("single_mode", 800, 2000, "single-mode fibre 800G, FR", "from memory: 2xFR4 of 800G", _FIBRE_M),
)  # fmt: skip
"""Every medium, the shorter reach first among those of one kind and rate."""

TRANSCEIVERS: tuple[Transceiver, ...] = (
    Transceiver("multimode", 25, 1, "SFP28 25G SR", 1.0, "from memory"),
    Transceiver("multimode", 50, 1, "SFP56 50G SR", 1.5, "from memory"),
    Transceiver("multimode", 50, 8, "QSFP-DD 400G SR8", 12.0, "from memory"),
    Transceiver("multimode", 100, 1, "QSFP28 100G SR4", 3.5, "from memory"),
    Transceiver("multimode", 200, 1, "QSFP56 200G SR4", 5.0, "from memory"),
    Transceiver("multimode", 400, 1, "OSFP 400G SR4", 9.0, f"{_DOCS}, MMA4Z00-NS400-T: 9 W at most"),
    Transceiver("multimode", 400, 2, "OSFP twin-port 2x400G SR4", 15.0, f"{_DOCS}, MMA4Z00-NS-T: 15 W"),
    Transceiver("single_mode", 25, 1, "SFP28 25G LR", 1.2, "from memory"),
    Transceiver("single_mode", 50, 1, "SFP56 50G FR", 1.5, "from memory"),
    Transceiver("single_mode", 50, 8, "QSFP-DD 400G PSM8", 12.0, "from memory"),
    Transceiver("single_mode", 100, 1, "QSFP28 100G DR", 4.0, "from memory"),
    Transceiver("single_mode", 200, 1, "QSFP56 200G FR4", 6.0, "from memory"),
    Transceiver("single_mode", 400, 1, "OSFP 400G DR4", 9.0, f"{_DOCS}, MMS4X00-NS400: 9 W"),
    Transceiver("single_mode", 400, 2, "OSFP twin-port 2x400G DR4", 17.0, f"{_DOCS}, MMS4X00-NS-T: 17 W"),
    Transceiver("single_mode", 800, 1, "OSFP 800G DR4", 16.0, "from memory"),
    Transceiver("single_mode", 800, 2, "OSFP twin-port 2x800G DR4", 28.0, "from memory"),
)
"""Transceivers that are known; any other number of links through one cage is made up of single ones."""


def medium_of(kind: str, gbps: float, length_m: float = 0.0) -> Medium | None:
    """The slowest medium of a kind that carries links of ``gbps`` so far; None where there is none.

    Links between two rates take the next faster medium; beyond 800 Gb/s, the fastest, as several lanes abreast.

    >>> medium_of("copper", 400, 1.5).title, medium_of("copper", 400, 4), medium_of("multimode", 56, 30).gbps
    ('passive copper 400G', None, 100)
    """
    top = max(row.gbps for row in MEDIA)
    wanted = min(gbps, top)
    rates = sorted({row.gbps for row in MEDIA if row.gbps >= wanted})
    able = [row for row in MEDIA if row.kind == kind and row.gbps == rates[0] and row.reach_m >= length_m]
    return able[0] if able else None


def transceiver_of(medium: Medium, links: int) -> Transceiver:
    """The transceiver at an end of a fibre in a cage of so many ports.

    Where none is known for that many, one of the same rate in all, split; else several single ones.

    >>> transceiver_of(medium_of("multimode", 400), 2).power_w, transceiver_of(medium_of("multimode", 200), 4).title
    (15.0, 'OSFP twin-port 2x400G SR4 as 4x200G')
    """
    alike = [row for row in TRANSCEIVERS if row.kind == medium.kind]
    exact = [row for row in alike if (row.gbps, row.links) == (medium.gbps, links)]
    total = [row for row in alike if row.gbps * row.links == medium.gbps * links]
    if exact:
        one = exact[0]
    elif total:
        split = f"{total[0].title} as {links}x{medium.gbps:g}G"
        one = Transceiver(medium.kind, medium.gbps, links, split, total[0].power_w, total[0].source)
    else:
        single = next(row for row in alike if row.gbps == medium.gbps)
        title = f"{links} x {single.title}"
        one = Transceiver(medium.kind, medium.gbps, links, title, single.power_w * links, single.source)
    if medium.title.endswith(", FR"):
        said = "from memory: as the shorter reach"
        return Transceiver(one.kind, one.gbps, links, one.title.replace("DR", "FR"), one.power_w, said)
    return one
