"""How a host or a scale-up domain is described as data: parts of a kind, the wires between them, adapters and cages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from topo.errors import ParameterError

__all__ = [
    "PCIE_CODING",
    "Adapters",
    "DomainTemplate",
    "HostTemplate",
    "Known",
    "PartBlock",
    "Wires",
    "each_to_each",
    "in_turn",
    "mesh_pairs",
    "pcie_gbps",
]

PCIE_CODING = {2.5: 0.8, 5.0: 0.8, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 242 / 256}
"""Share of a PCIe lane's transfers (GT/s) that carries data: 8 bits in 10, 128 in 130, 242 bytes in flits of 256."""

_GIGATRANSFERS = {3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}

Pairs = tuple[tuple[int, int, int], ...]
"""(index in block a, index in block b, parallel links) of each joined pair."""


def pcie_gbps(generation: int, width: int = 16) -> float:
    """Rate of a PCI Express link in Gb/s one direction after line coding, rounded down to whole numbers.

    >>> pcie_gbps(4), pcie_gbps(5), pcie_gbps(6)
    (252.0, 504.0, 968.0)

    :raises ParameterError: another generation, or a width below 1.
    """
    if generation not in _GIGATRANSFERS or width < 1:
        raise ParameterError(f"PCIe generation {generation} x{width} is not known; generations 3 to 6, width 1 or more")
    transfers = _GIGATRANSFERS[generation]
    return float(math.floor(transfers * width * PCIE_CODING[transfers]))


def each_to_each(lower: int, upper: Iterable[int]) -> Pairs:
    """Every one of ``lower`` parts to every upper part, by so many links as ``upper`` lists for it.

    >>> each_to_each(2, (5, 4))
    ((0, 0, 5), (0, 1, 4), (1, 0, 5), (1, 1, 4))
    """
    counts = tuple(upper)
    return tuple((i, j, n) for i in range(lower) for j, n in enumerate(counts))


def in_turn(upper: Iterable[int]) -> Pairs:
    """Lower part i by one link to the upper part that ``upper`` lists for it.

    >>> in_turn((0, 0, 1))
    ((0, 0, 1), (1, 0, 1), (2, 1, 1))
    """
    return tuple((i, j, 1) for i, j in enumerate(upper))


def mesh_pairs(size: int, parallel: int = 1) -> Pairs:
    """Every two of ``size`` parts joined by ``parallel`` links.

    >>> len(mesh_pairs(8))
    28
    """
    return tuple((i, j, parallel) for i in range(size) for j in range(i + 1, size))


@dataclass(frozen=True, slots=True)
class Known:
    """Where a number comes from, and how sure it is: P, S, D, P+D or M as in the specs of fabrics."""

    label: Literal["P", "S", "D", "P+D", "M"]
    source: str


@dataclass(frozen=True, slots=True)
class PartBlock:
    """``count`` like parts of a host: accelerators, switch chips, PCIe switches, CPUs (one a NUMA node), adapters.

    ``relays`` says whether a part passes its own host's traffic on; ``radix`` is its ports where that is known.
    """

    name: str
    kind: str
    count: int
    known: Known
    part: str = ""
    radix: int = 0
    relays: bool = True


@dataclass(frozen=True, slots=True)
class Wires:
    """Links between two blocks of a host, all of one rate: ``gbps`` of one link, one direction."""

    a: str
    b: str
    pairs: Pairs
    gbps: float
    kind: Literal["scale_up", "host_io"]
    medium: str
    known: Known

    @property
    def n_links(self) -> int:
        """Links, parallel ones counted."""
        return sum(parallel for _, _, parallel in self.pairs)


@dataclass(frozen=True, slots=True)
class Adapters:
    """The adapters of one purpose: which accelerator each serves, on which rail it is, in which cage it ends.

    All three are indices from 0, one for each part of ``block``, -1 for none; a rail is not an accelerator's index.
    An adapter carries ``gbps`` in all, as one port or in any of ``splits`` equal ports; the first is the usual one.
    """

    purpose: Literal["compute", "storage", "in_band"]
    block: str
    gbps: float
    accelerators: tuple[int, ...]
    rails: tuple[int, ...]
    cages: tuple[int, ...]
    known: Known
    splits: tuple[int, ...] = (1,)

    @property
    def n_rails(self) -> int:
        """Rails that the adapters are on."""
        return len(set(self.rails))

    @property
    def per_rail(self) -> int:
        """Adapters of a host on each rail."""
        return len(self.rails) // self.n_rails

    def port_gbps(self, ports: int) -> float:
        """Rate of a port when each adapter is used as ``ports`` of them.

        :raises ParameterError: the adapter cannot be split so; the nearest that it can is told.
        """
        if ports in self.splits:
            return self.gbps / ports
        near = min(self.splits, key=lambda split: (abs(split - ports), split))
        raise ParameterError(
            f"ports_per_adapter is {ports}, but an adapter of {self.gbps:g} Gb/s splits into "
            f"{' or '.join(map(str, self.splits))} here; the nearest that works is {near}"
        )


@dataclass(frozen=True, slots=True)
class HostTemplate:
    """A server as data: its parts, the wires between them, its adapters by purpose.

    :raises ParameterError: rails, cages and adapters that do not add up, or a wire to a part that is not there.
    """

    name: str
    title: str
    parts: tuple[PartBlock, ...]
    wires: tuple[Wires, ...]
    adapters: tuple[Adapters, ...]
    known: Known
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        counts = {block.name: block.count for block in self.parts}
        for wires in self.wires:
            for end, which in ((wires.a, 0), (wires.b, 1)):
                top = max((pair[which] for pair in wires.pairs), default=-1)
                if top >= counts.get(end, 0):
                    raise ParameterError(
                        f"{self.name}: a wire goes to {end} {top + 1}, but the host has {counts.get(end, 0)} of them"
                    )
        for adapters in self.adapters:
            _check_adapters(self.name, adapters, counts.get(adapters.block, 0), self.n_accelerators)

    def block(self, name: str) -> PartBlock:
        """The parts of that name."""
        return next(block for block in self.parts if block.name == name)

    def of_purpose(self, purpose: str) -> Adapters | None:
        """The adapters of a purpose, None where the host has none."""
        return next((adapters for adapters in self.adapters if adapters.purpose == purpose), None)

    @property
    def compute(self) -> Adapters:
        """The adapters on the compute fabric.

        :raises ParameterError: the host has none.
        """
        found = self.of_purpose("compute")
        if found is None:
            raise ParameterError(f"{self.name} has no adapters on a compute fabric")
        return found

    @property
    def accelerators(self) -> PartBlock:
        """The accelerators."""
        return next(block for block in self.parts if block.kind == "accelerator")

    @property
    def n_accelerators(self) -> int:
        """Accelerators of the host."""
        return self.accelerators.count

    @property
    def has_scale_up(self) -> bool:
        """Whether scale-up links join the accelerators inside the host."""
        return any(wires.kind == "scale_up" for wires in self.wires)


def _check_adapters(host: str, adapters: Adapters, count: int, accelerators: int) -> None:
    for what, listed in (
        ("accelerators", adapters.accelerators),
        ("rails", adapters.rails),
        ("cages", adapters.cages),
    ):
        if len(listed) != count:
            raise ParameterError(
                f"{host}: {what} of {len(listed)} {adapters.purpose} adapters are given, but there are {count} "
                f"{adapters.block}: list {count}"
            )
    most = max(adapters.accelerators, default=-1)
    if most >= accelerators:
        raise ParameterError(f"{host}: an adapter serves accelerator {most}, but there are {accelerators}")
    on_rail = [adapters.rails.count(rail) for rail in sorted(set(adapters.rails))]
    if on_rail and len(set(on_rail)) > 1:
        near = [n for n in range(1, count + 1) if count % n == 0]
        best = min(near, key=lambda n: (abs(n - len(on_rail)), n))
        raise ParameterError(
            f"{host}: {count} adapters on {len(on_rail)} rails, from {min(on_rail)} to {max(on_rail)} a rail; every "
            f"rail takes equally many, so the nearest that works is {best} rails"
        )


@dataclass(frozen=True, slots=True)
class DomainTemplate:
    """A scale-up domain larger than a host: hosts whose ``lower`` parts all meet the same upper switch chips.

    Every lower part has ``parallel`` links of ``gbps`` to each of ``uppers`` chips of ``upper_ports`` ports. With
    ``in_planes`` each lower part of a host has ``uppers`` chips of its own, shared with the like part of every host.
    """

    name: str
    title: str
    host: HostTemplate
    n_hosts: int
    lower: str
    uppers: int
    upper_name: str
    upper_ports: int
    parallel: int
    gbps: float
    medium: str
    known: Known
    in_planes: bool = False
    uppers_per_tray: int = 0
    hosts_per_rack: int = 0

    @property
    def ports_per_host(self) -> int:
        """Ports of an upper chip that one host takes."""
        return self.parallel * (1 if self.in_planes else self.host.block(self.lower).count)

    @property
    def n_uppers(self) -> int:
        """Upper chips of the domain."""
        return self.uppers * (self.host.block(self.lower).count if self.in_planes else 1)

    def check_hosts(self, hosts: int, name: str = "hosts") -> None:
        """Refuse a domain that its switch chips cannot join; ``name`` is the caller's word for its hosts.

        :raises ParameterError: with both numbers, and the most hosts that fit.
        """
        needed = hosts * self.ports_per_host
        if needed > self.upper_ports:
            most = self.upper_ports // self.ports_per_host
            raise ParameterError(
                f"{name} is {hosts}: {hosts * self.host.n_accelerators} accelerators need {needed} ports of every "
                f"{self.upper_name} of {self.name}, which has {self.upper_ports}; at most {most} hosts "
                f"({most * self.host.n_accelerators} accelerators) fit"
            )
