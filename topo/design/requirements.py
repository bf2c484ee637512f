"""What a fabric has to do: accelerators, rates, the switch it is built of, and limits; from arguments or a file."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from topo.document import read_document
from topo.errors import ParameterError
from topo.parts.switches import SWITCHES, SwitchPart, switch_part
from topo.units import format_gbps, parse_gbps

__all__ = ["Requirements", "read_requirements"]

_MOST_ACCELERATORS = 262_144
_MOST_RADIX = 4096
_LANES = 8


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """What is asked of a fabric.

    ``accelerators`` in hosts of ``rails``, each with an adapter of ``nic_gbps``, Gb/s one direction. Switches are of
    ``switch``, a part by name, else of ``radix`` ports at the adapters' rate (64 where neither is given). The fabric
    may be oversubscribed at most ``oversubscription`` to 1, has to reach ``growth`` times as many accelerators in the
    same family and part, and may draw ``power_kw`` and cost ``price`` (in the currency of the price list) at most,
    both without hosts. ``planes`` is how many an adapter of the multi-plane fabric splits into; None chooses.

    >>> asked = Requirements(accelerators=1000, nic_gbps=400, switch="qm9700")
    >>> asked.n_hosts, asked.ports(400), asked.ports(200), asked.ports(100)
    (125, 64, 128, None)

    :raises ParameterError: a value outside what can be asked, or a part without ports of that rate.
    """

    accelerators: int
    nic_gbps: float | str = 400.0
    rails: int = 8
    switch: str | None = None
    radix: int | None = None
    oversubscription: float = 1.0
    growth: float = 1.0
    power_kw: float | None = None
    price: float | None = None
    planes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _checked(field.name, getattr(self, field.name)))
        self._expect_together()

    def _expect_together(self) -> None:
        if self.switch is not None and self.radix is not None:
            raise ParameterError(
                f"switch is {self.switch!r} and radix is {self.radix}: the part has its own ports; give one of the two"
            )
        if self.rails > self.accelerators:
            raise ParameterError(
                f"rails is {self.rails}, more than the {self.accelerators} accelerators; use {self.accelerators} rails "
                "or fewer"
            )
        if self.ports(self.gbps) is None:
            assert self.part is not None
            able = [part.name for part in SWITCHES if part.mode(self.gbps) is not None]
            with_it = f", or a switch that has such ports: {', '.join(able)}" if able else ""
            raise ParameterError(
                f"switch {self.switch!r} has no ports of {format_gbps(self.gbps)}, but {self.part.modes_text}; use a "
                f"NIC rate of one of those{with_it}"
            )
        if self.planes is not None and self.ports(self.gbps / self.planes) is None:
            splits = " or ".join(map(str, self.possible_planes)) or "no planes"
            raise ParameterError(
                f"planes is {self.planes}, but switch {self.switch!r} has no ports of "
                f"{format_gbps(self.gbps / self.planes)}; use {splits}"
            )

    @property
    def gbps(self) -> float:
        """Rate of an adapter."""
        return float(self.nic_gbps)

    @property
    def n_hosts(self) -> int:
        """Hosts, the last one perhaps with accelerators to spare."""
        return -(-self.accelerators // self.rails)

    @property
    def n_endpoints(self) -> int:
        """Adapters of all hosts."""
        return self.n_hosts * self.rails

    @property
    def part(self) -> SwitchPart | None:
        """The switch part, None where only a radix is given."""
        return None if self.switch is None else switch_part(self.switch)

    @property
    def possible_planes(self) -> tuple[int, ...]:
        """Numbers of planes above one that an adapter's lanes split into and the switch has ports for."""
        return tuple(n for n in (2, 4, 8) if self.ports(self.gbps / n) is not None)

    def ports(self, gbps: float) -> int | None:
        """Ports of the switch at a rate, None where it has no such mode; a radix splits as the rate divides."""
        part = self.part
        if part is not None:
            mode = part.mode(gbps)
            return None if mode is None else mode.n_ports
        radix = 64 if self.radix is None else self.radix
        return round(radix * self.gbps / gbps)

    def cage(self, gbps: float) -> int:
        """Ports that share a cage at a rate; 0 where each has its own."""
        mode = self.part.mode(gbps) if self.part is not None else None
        return 0 if mode is None or mode.ports_per_cage < 2 else mode.ports_per_cage

    @property
    def text(self) -> str:
        """What is asked, in words."""
        of = self.switch or f"switches of {self.ports(self.gbps)} ports"
        limits = [f"at most {self.oversubscription:g}:1"]
        if self.growth > 1:
            limits.append(f"to grow {self.growth:g} times")
        if self.power_kw is not None:
            limits.append(f"at most {self.power_kw:g} kW")
        if self.price is not None:
            limits.append(f"a price of at most {self.price:,.0f}")
        hosts = f"{self.n_hosts:,} hosts of {self.rails}"
        return f"{self.accelerators:,} accelerators at {format_gbps(self.gbps)}, {hosts}, {of}, {', '.join(limits)}"


def _checked(name: str, value: Any) -> Any:
    """One value, converted where it is a rate.

    :raises ParameterError: naming it, what it is, and what is allowed.
    """
    wholes = {
        "accelerators": (2, _MOST_ACCELERATORS), "rails": (1, 64), "radix": (3, _MOST_RADIX), "planes": (2, _LANES),
    }  # fmt: skip
    numbers = {"oversubscription": (1.0, 100.0), "growth": (1.0, 1000.0), "power_kw": (0.0, 1e7), "price": (0.0, 1e12)}
    if value is None and name in ("switch", "radix", "planes", "power_kw", "price"):
        return None
    if name == "nic_gbps":
        try:
            gbps = parse_gbps(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
        except ParameterError as error:
            raise ParameterError(f"nic_gbps: {error}") from None
        if gbps <= 0:
            raise ParameterError(f"nic_gbps is {value!r}; it must be a rate above 0, such as 400 or '400G'")
        return gbps
    if name == "switch":
        if not isinstance(value, str):
            raise ParameterError(f"switch is {value!r}; it must be the name of a part, such as 'qm9700'")
        return switch_part(value).name
    if name in wholes:
        low, high = wholes[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ParameterError(f"{name} is {value!r}; it must be a whole number from {low:,} to {high:,}")
        if name == "planes" and _LANES % value:
            raise ParameterError(f"planes is {value}; an adapter of {_LANES} lanes splits into 2, 4 or 8")
        return value
    least, most = numbers[name]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not least <= value <= most or (least == 0 and value == 0):
        words = "above 0" if least == 0 else f"at least {least:g}"
        raise ParameterError(f"{name} is {value!r}; it must be a number {words} and at most {most:,.0f}")
    return float(value)


class RequirementsFile(BaseModel):
    """A requirements file: the keys its schema and its reader take; :class:`Requirements` says what they mean."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    accelerators: int | None = None
    nic_gbps: float | str | None = None
    rails: int | None = None
    switch: str | None = None
    radix: int | None = None
    oversubscription: float | None = None
    growth: float | None = None
    power_kw: float | None = None
    price: float | None = None
    planes: int | None = None


def read_requirements(path: str | Path | None = None, **given: Any) -> Requirements:
    """The requirements in a YAML file; what is ``given`` and not None goes before what the file says.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "asked.yaml")
    ...     n = file.write_text("accelerators: 2048\\nnic_gbps: 400G\\nswitch: qm9700\\n")
    ...     asked = read_requirements(file, rails=4)
    >>> asked.accelerators, asked.rails, asked.switch
    (2048, 4, 'qm9700')

    :raises InputError: no such file, an unknown key, or a value that does not fit, with its line.
    :raises ParameterError: no number of accelerators, or values that do not fit together.
    """
    values: dict[str, Any] = {}
    if path is not None:
        document = read_document(path)
        found = document.checked(RequirementsFile, what="a file of requirements", template="requirements")
        values = {name: value for name, value in found.model_dump().items() if value is not None}
        for name, value in values.items():
            try:
                _checked(name, value)
            except ParameterError as error:
                raise document.error((name,), str(error)) from None
    values |= {name: value for name, value in given.items() if value is not None}
    if "accelerators" not in values:
        raise ParameterError("how many accelerators is not said; give accelerators (--accelerators) or a file with it")
    return Requirements(**values)
