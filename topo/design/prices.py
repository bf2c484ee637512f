"""What parts and cables cost and draw: a price list from a YAML file, or the sourced one that is here by default."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from topo.document import read_document
from topo.parts.media import Medium, Transceiver
from topo.parts.sizes import BoxSize, size_of
from topo.parts.switches import SWITCHES

__all__ = [
    "DEFAULT_PRICES",
    "BoxPrice",
    "CablePrice",
    "PriceList",
    "Priced",
    "TransceiverPrice",
    "price_list",
    "read_prices",
    "switch_size",
]

_DEEPSEEK = (
    "DeepSeek-V3, ISCA 2025, table 3: both fat trees come out at $1,280 a port of 400 Gb/s and $550 a link with its "
    "optics"
)
_Text = Annotated[str, Field(max_length=500)]
_Name = Annotated[str, Field(min_length=1, max_length=100)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class BoxPrice(_Row):
    """Price of a box, or of each of its Gb/s of ports; its power without optics in kW where the file states one."""

    price: float | None = Field(default=None, ge=0, le=1e9)
    per_gbps: float | None = Field(default=None, ge=0, le=1e6)
    power_kw: float | None = Field(default=None, ge=0, le=1e4)
    source: _Text = ""


class CablePrice(_Row):
    """Price of a cable: so much for each, for each metre, for each link it carries, for each Gb/s of those links."""

    price: float = Field(default=0.0, ge=0, le=1e7)
    per_m: float = Field(default=0.0, ge=0, le=1e6)
    per_link: float = Field(default=0.0, ge=0, le=1e7)
    per_gbps: float = Field(default=0.0, ge=0, le=1e6)
    source: _Text = ""


class TransceiverPrice(_Row):
    """Price of a transceiver; its power in W where the file states one."""

    price: float = Field(default=0.0, ge=0, le=1e7)
    power_w: float | None = Field(default=None, ge=0, le=1e4)
    source: _Text = ""


_Kind = TypeVar("_Kind", bound=_Row)


@dataclass(frozen=True, slots=True)
class Priced:
    """Price of one piece, None where the list has none; and where it is written."""

    price: float | None
    source: str


class PriceList(_Row):
    """Prices by glob: boxes by part, name of the size, then word; cables by title, then kind; transceivers by title.

    The first pattern that fits holds, in the order of the file. What no pattern fits has no price, and a bill says so.

    >>> DEFAULT_PRICES.switch("qm9700", 64 * 400).price, DEFAULT_PRICES.host("dgx-h100").price
    (81920.0, None)
    """

    currency: Annotated[str, Field(min_length=1, max_length=8)] = "USD"
    title: _Text = ""
    switches: dict[_Name, BoxPrice] = Field(default_factory=dict, max_length=1000)
    hosts: dict[_Name, BoxPrice] = Field(default_factory=dict, max_length=1000)
    cables: dict[_Name, CablePrice] = Field(default_factory=dict, max_length=1000)
    transceivers: dict[_Name, TransceiverPrice] = Field(default_factory=dict, max_length=1000)

    def switch(self, part: str, gbps: float, word: str = "switch") -> Priced:
        """Price of a switch whose ports carry ``gbps`` together, one direction."""
        row = _first(self.switches, part, word)
        if row is None:
            return Priced(None, "")
        if row.price is not None:
            return Priced(row.price, row.source)
        return Priced(None if row.per_gbps is None else row.per_gbps * gbps, row.source)

    def host(self, part: str, word: str = "host") -> Priced:
        """Price of a server."""
        row = _first(self.hosts, part, word)
        return Priced(None, "") if row is None else Priced(row.price, row.source)

    def cable(self, medium: Medium, length_m: float, gbps: float, links: int = 1) -> Priced:
        """Price of one cable of a length, with so many links of ``gbps`` each, whatever faster ones its medium takes.

        >>> from topo.parts.media import medium_of
        >>> DEFAULT_PRICES.cable(medium_of("multimode", 400), 10, 400).price
        550.0
        """
        row = _first(self.cables, medium.title, medium.kind)
        if row is None:
            return Priced(None, "")
        each = row.per_link + row.per_gbps * gbps
        return Priced(row.price + row.per_m * length_m + each * links, row.source)

    def transceiver(self, one: Transceiver) -> Priced:
        """Price of a transceiver."""
        row = _first(self.transceivers, one.title, one.kind)
        return Priced(None, "") if row is None else Priced(row.price, row.source)

    def powered(self, size: BoxSize, part: str, word: str) -> BoxSize:
        """The size of a box with the power that the list states for it; one that a racks file states stays.

        >>> prices = PriceList(switches={"qm9700": BoxPrice(power_kw=1.5)})
        >>> prices.powered(switch_size("qm9700"), "qm9700", "switch").power_kw
        1.5
        """
        row = _first(self.switches if "switch" in word else self.hosts, part or size.name, word)
        if row is None or row.power_kw is None or size.label == "stated":
            return size
        return replace(size, power_kw=row.power_kw, label="stated", source=row.source or "the price list")

    def transceiver_w(self, one: Transceiver) -> float:
        """Power of a transceiver: the list's, else the part's."""
        row = _first(self.transceivers, one.title, one.kind)
        return one.power_w if row is None or row.power_w is None else row.power_w


DEFAULT_PRICES = PriceList(
    title="DeepSeek's prices of switch ports and links; no prices of servers",
    switches={"*": BoxPrice(per_gbps=3.2, source=_DEEPSEEK)},
    cables={"*": CablePrice(per_gbps=1.375, source=f"{_DEEPSEEK}; other rates in proportion")},
    transceivers={"*": TransceiverPrice(price=0.0, source="in the price of the link")},
)
"""Prices where no file is given: those of one published comparison, in proportion to the rate."""


def read_prices(path: str | Path) -> PriceList:
    """The price list in a YAML file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "prices.yaml")
    ...     n = file.write_text("currency: EUR\\nswitches:\\n  qm9700: {price: 30000, source: offer of May}\\n")
    ...     prices = read_prices(file)
    >>> prices.switch("qm9700", 25600), prices.switch("sn5600", 51200)
    (Priced(price=30000.0, source='offer of May'), Priced(price=None, source=''))

    :raises InputError: no such file, or a key or a value that does not fit, with its line.
    """
    return read_document(path).checked(PriceList, what="a price list", template="prices")


def price_list(prices: PriceList | str | Path | None) -> PriceList:
    """The price list itself, the one in a file, or the usual one."""
    if isinstance(prices, PriceList):
        return prices
    return DEFAULT_PRICES if prices is None else read_prices(prices)


def switch_size(part: str) -> BoxSize:
    """Size and power of a switch by its part, or of a switch of which nothing is known.

    >>> switch_size("qm9700").units, switch_size("").name
    (1, 'switch')
    """
    found = size_of(part) if any(row.name == part for row in SWITCHES) else None
    return found or _known("switch")


def _known(name: str) -> BoxSize:
    found = size_of(name)
    assert found is not None
    return found


def _first(rows: Mapping[str, _Kind], *names: str) -> _Kind | None:
    for pattern, row in rows.items():
        if any(name and fnmatch.fnmatchcase(name, pattern) for name in names):
            return row
    return None
