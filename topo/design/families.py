"""Requirements to a fabric of each family: the parameters that meet them, or why none does and what would."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.build.direct import add_ends
from topo.build.dragonfly import dragonfly
from topo.build.jellyfish import random_links
from topo.build.layers import split_ports
from topo.build.planes import multi_plane, rail_only
from topo.build.rail import rail_optimized
from topo.build.torus import torus
from topo.design.requirements import Requirements
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.table import Labels
from topo.view.text import plural

__all__ = ["ALLOWED", "FAMILIES", "Plan", "RefusedError", "clos_largest", "random_plan"]

ALLOWED = 1.01
"""How far an all-to-all may stay below what the oversubscription asks: the N / (N - 1) of small fabrics."""

_MOST_DIMENSIONS = 6
_TORUS_PORTS = 5
_FULL = 1e-9


class RefusedError(ParameterError):
    """Why a family cannot meet the requirements; ``largest`` accelerators it can have with that switch, if known."""

    def __init__(self, message: str, largest: int | None = None) -> None:
        super().__init__(message)
        self.largest = largest

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.largest)


@dataclass(frozen=True)
class Plan:
    """How a family would meet the requirements; ``largest`` accelerators it can have with that switch, None: no end."""

    build: Callable[[], Fabric]
    largest: int | None
    note: str = ""


def clos_largest(radix: int, tiers: int, oversubscription: float) -> int:
    """Most endpoints of a folded Clos: k for one tier, d1 * k for two, d1 * (k/2) * k for three.

    d1 is the most down-ports of a leaf that keep within the oversubscription, k / 2 at 1:1.

    >>> clos_largest(64, 2, 1.0), clos_largest(64, 3, 1.0), clos_largest(8, 3, 1.0)
    (2048, 65536, 128)
    """
    most = radix
    for tier in range(1, tiers):
        most *= split_ports(radix, oversubscription if tier == 1 else 1.0)[0]
    return most


def _radix(asked: Requirements) -> int:
    ports = asked.ports(asked.gbps)
    assert ports is not None
    return ports


def _wider(asked: Requirements, largest: Callable[[int, float], int]) -> int | None:
    """The fewest ports a switch must have for as many accelerators as are asked; None where 16 times as many fail."""
    radix = _radix(asked)
    wider = (k for k in range(radix + 1, 16 * radix) if largest(k, asked.oversubscription) >= asked.n_endpoints)
    return next(wider, None)


def _refused(family: str, most: int, asked: Requirements, largest: Callable[[int, float], int]) -> RefusedError:
    """Too many accelerators, with the radix and the oversubscription that would do."""
    radix, n = _radix(asked), asked.n_endpoints
    wider = _wider(asked, largest)
    steps = (round(asked.oversubscription + 0.5 * i, 2) for i in range(1, 2 * radix))
    looser = next((o for o in steps if largest(radix, o) >= n), None)
    ways = [f"{most:,} accelerators"]
    ways += [f"switches of {wider:,} ports"] if wider else []
    ways += [f"{looser:g}:1"] if looser else []
    return RefusedError(
        f"{family} of {radix}-port switches: at most {most:,} accelerators at {asked.oversubscription:g}:1, "
        f"{n:,} are asked; the nearest that can: {', or '.join(ways)}",
        most,
    )


def _tapers(tiers: int, asked: Requirements) -> float | list[float]:
    """The leaves are tapered, all tiers above are not."""
    return asked.oversubscription if tiers < 3 else [asked.oversubscription] + [1.0] * (tiers - 2)


def _clos(tiers: int, name: str) -> Callable[[Requirements], Plan]:
    def plan(asked: Requirements) -> Plan:
        radix = _radix(asked)
        largest = clos_largest(radix, tiers, asked.oversubscription)
        if asked.n_endpoints > largest:
            raise _refused(name, largest, asked, lambda k, o: clos_largest(k, tiers, o))

        def build() -> Fabric:
            return multi_plane(
                asked.n_hosts, planes=1, rails=asked.rails, nic_gbps=asked.gbps, tiers=tiers, radix=radix,
                taper=_tapers(tiers, asked), ports_per_cage=asked.cage(asked.gbps), switch_part=asked.switch, name=name,
            )  # fmt: skip

        return Plan(build, largest)

    return plan


def _rail_optimized(asked: Requirements) -> Plan:
    radix = _radix(asked)
    down, up = split_ports(radix, asked.oversubscription)
    unit = min(down, asked.n_hosts)
    up = min(up, math.ceil(unit / asked.oversubscription - _FULL))
    units = math.ceil(asked.n_hosts / unit)
    largest = clos_largest(radix, 3, asked.oversubscription)
    if asked.n_endpoints > largest:
        raise _refused("rail-optimized", largest, asked, lambda k, o: clos_largest(k, 3, o))
    tiers = 2 if units * asked.rails <= radix else 3

    def build() -> Fabric:
        return rail_optimized(
            asked.n_hosts, rails=asked.rails, hosts_per_unit=unit, radix=radix, tiers=tiers, uplinks=up,
            link_gbps=asked.gbps, ports_per_cage=asked.cage(asked.gbps), switch_part=asked.switch,
            name="rail-optimized",
        )  # fmt: skip

    return Plan(build, largest, f"{tiers} tiers, units of {plural(unit, 'host')}")


def _rail_only(asked: Requirements) -> Plan:
    radix = _radix(asked)
    sizes = {tiers: clos_largest(radix, tiers, asked.oversubscription) for tiers in (1, 2, 3)}
    tiers = next((tiers for tiers, most in sizes.items() if asked.n_hosts <= most), 0)
    largest = asked.rails * sizes[3]
    if not tiers:
        raise _refused("rail-only", largest, asked, lambda k, o: asked.rails * clos_largest(k, 3, o))

    def build() -> Fabric:
        return rail_only(
            asked.n_hosts, rails=asked.rails, nic_gbps=asked.gbps, tiers=tiers, radix=radix,
            taper=_tapers(tiers, asked), ports_per_cage=asked.cage(asked.gbps), switch_part=asked.switch,
            name="rail-only",
        )  # fmt: skip

    return Plan(build, largest, f"{plural(tiers, 'tier')} a rail; between rails traffic relays inside hosts")


def _multi_plane(asked: Requirements) -> Plan:
    possible = asked.possible_planes if asked.planes is None else (asked.planes,)
    if not possible:
        assert asked.part is not None
        raise RefusedError(
            f"{asked.switch} has no ports of a half, a quarter or an eighth of {asked.gbps:g} Gb/s, but "
            f"{asked.part.modes_text}; the nearest that can: a faster NIC or another switch"
        )

    def most(planes: int, tiers: int) -> int:
        return clos_largest(asked.ports(asked.gbps / planes) or 0, tiers, asked.oversubscription)

    # Adapters are split once: with room to grow in two tiers where that can be, else as few planes as do today.
    wanted = (asked.growth * asked.accelerators, asked.n_endpoints)
    planes = next((n for size in wanted for n in possible if max(size, asked.n_endpoints) <= most(n, 2)), 0)
    tiers = 2 if planes else 3
    planes = planes or possible[-1]
    largest = most(planes, 3)
    if asked.n_endpoints > largest:
        raise _refused("multi-plane", largest, asked, lambda k, o: clos_largest(k * planes, 3, o))
    gbps = asked.gbps / planes
    radix = asked.ports(gbps) or 0

    def build() -> Fabric:
        return multi_plane(
            asked.n_hosts, planes=planes, rails=asked.rails, nic_gbps=asked.gbps, tiers=tiers, radix=radix,
            taper=_tapers(tiers, asked), ports_per_cage=asked.cage(gbps), switch_part=asked.switch, name="multi-plane",
        )  # fmt: skip

    return Plan(build, largest, f"{planes} planes of {gbps:g} Gb/s, {tiers} tiers")


def _dragonfly(asked: Requirements) -> Plan:
    """Balanced groups a = 2 p = 2 h of p + a - 1 + h ports, as many as the endpoints need."""
    radix = _radix(asked)
    p = (radix + 1) // 4
    a, h = 2 * p, p
    largest = a * p * (a * h + 1)
    if asked.n_endpoints > largest:
        wider = next(4 * q - 1 for q in itertools.count(p + 1) if 2 * q * q * (2 * q * q + 1) >= asked.n_endpoints)
        raise RefusedError(
            f"a balanced dragonfly of {radix}-port switches (p={p}, a={a}, h={h}) takes at most {largest:,} "
            f"accelerators; the nearest that can: {largest:,}, or switches of {wider:,} ports",
            largest,
        )
    groups = math.ceil(asked.n_endpoints / (a * p))
    if groups < 2:
        raise RefusedError(
            f"one group of {a} switches holds {a * p:,} accelerators, {asked.n_endpoints:,} are asked: no dragonfly is "
            f"needed; the nearest that is one has {a * p + 1:,} or more, or fewer ports a switch",
            largest,
        )
    pair = a * h // (groups - 1)

    def build() -> Fabric:
        made = dragonfly(
            p, a, h, groups=groups, pair_links=pair, hosts=asked.n_endpoints, link_gbps=asked.gbps, radix=radix,
            name="dragonfly",
        )  # fmt: skip
        return _of_part(in_hosts(made, asked.rails), asked)

    direct = min(1.0, pair / (a * p))
    worst = f"minimal routes give groups that each send to the next {100 * direct:.3g} % of line rate"
    if direct < 0.5:
        worst += ", Valiant's routes half of what an all-to-all gets"
    return Plan(build, largest, f"p={p}, a={a}, h={h}, {groups} groups, {plural(pair, 'link')} a pair; {worst}")


def _torus_carries(p: int, switches: int, side: int, links: int, oversubscription: float) -> bool:
    """Whether a torus carries an all-to-all at the oversubscription.

    Of n dimensions, the largest of even size d, an all-to-all at line rate puts p * d / 8 * N / (N - 1) endpoints'
    rate on each of the L cables to the next switch, of N = p * switches endpoints in all: p * d <= 8 * L *
    oversubscription, where what N - 1 adds is within what :data:`ALLOWED` forgives. A side of 2 has no second way
    around: its cables carry what those of a ring of 4 do.
    """
    load, most, n = max(4, side) * p, 8 * links * oversubscription, p * switches
    return load <= most + _FULL and load * n <= most * (n - 1) * ALLOWED


def _tori(asked: Requirements) -> Iterator[tuple[int, int, int, tuple[int, ...], int]]:
    """Tori that carry what is asked: switches, dimensions, endpoints a switch, sizes of the dimensions, links.

    A switch has 2 * n * L + p ports for n dimensions, L cables to each neighbour and p endpoints.
    """
    radix, n = _radix(asked), asked.n_endpoints
    for dims in range(2, _MOST_DIMENSIONS + 1):
        for p in range(1, radix - 2 * dims + 1):
            links = (radix - p) // (2 * dims)
            sides = _sides(math.ceil(n / p), dims)
            switches = math.prod(sides)
            if _torus_carries(p, switches, max(sides), links, asked.oversubscription):
                yield switches, dims, p, sides, links


def _sides(least: int, dims: int) -> tuple[int, ...]:
    """Sizes, near each other, each even, of the smallest such grid with at least so many nodes."""
    low = max(2, 2 * math.floor(least ** (1 / dims) / 2))
    found = [
        (math.prod(sides), sides)
        for sides in itertools.combinations_with_replacement((low, low + 2), dims)
        if math.prod(sides) >= least
    ]
    return min(found)[1]


def _torus_largest(radix: int, oversubscription: float) -> tuple[int, int, int]:
    """The most accelerators, with how many dimensions of which size; zeros where a switch has fewer than 5 ports."""
    most = (0, 0, 0)
    for dims in range(2, _MOST_DIMENSIONS + 1):
        for p in range(1, radix - 2 * dims + 1):
            links = (radix - p) // (2 * dims)
            side = math.floor(8 * links * oversubscription / p + _FULL) // 2 * 2
            while side > 2 and not _torus_carries(p, side**dims, side, links, oversubscription):
                side -= 2
            if side >= 2 and _torus_carries(p, side**dims, side, links, oversubscription):
                most = max(most, (p * side**dims, dims, side))
    return most


def _torus(asked: Requirements) -> Plan:
    radix = _radix(asked)
    largest, dims, side = _torus_largest(radix, asked.oversubscription)

    def most(ports: int, oversubscription: float) -> int:
        return _torus_largest(ports, oversubscription)[0]

    if radix < _TORUS_PORTS:
        raise RefusedError(
            f"a torus takes {_TORUS_PORTS} ports a switch, one for an accelerator and two for each of two dimensions, "
            f"and the switches have {radix}; the nearest that can: switches of {_wider(asked, most):,} ports for "
            f"{asked.n_endpoints:,} accelerators at {asked.oversubscription:g}:1"
        )
    found = min(_tori(asked), default=None)
    if found is None:
        raise _refused("torus", largest, asked, most)
    switches, _, p, sides, links = found

    def build() -> Fabric:
        made = torus(sides, hosts_per_switch=p, links=links, link_gbps=asked.gbps, name="torus")
        return _of_part(in_hosts(made, asked.rails), asked)

    size = " x ".join(map(str, sides))
    return Plan(
        build,
        largest,
        f"{size}, {plural(p, 'accelerator')} a switch, {switches * p:,} in all, {plural(links, 'cable')} to each "
        f"neighbour; the largest "
        f"has {dims} dimensions of {side}, {dims * (side // 2) + 2} hops across",
    )


def random_plan(asked: Requirements, like: Fabric, *, seed: int = 0) -> Plan:
    """A random graph of as many switches, and no more cables between them, as another fabric; hosts on all of them.

    That is Jellyfish (Singla et al., NSDI 2012): the endpoints are dealt evenly, the ports left are joined at random.
    """
    radix, n = _radix(asked), asked.n_endpoints

    def build() -> Fabric:
        is_switch = like.nodes.kind.is_any("switch")
        total = int(is_switch.sum())
        cables = int((is_switch[like.link_a] & is_switch[like.link_b]).sum())
        assembly = Assembly("random graph")
        ends = add_ends(assembly, n, adapters_per_host=asked.rails)
        switches = assembly.add_nodes(
            numbered("switch-{}", np.arange(1, total + 1)), kind="switch", tier=1, radix=radix, port_gbps=asked.gbps,
            part=asked.switch, ports_per_cage=asked.cage(asked.gbps),
        )  # fmt: skip
        place = np.arange(n) * total // n
        assembly.connect(ends, switches[place], asked.gbps, kind="access")
        degree = np.minimum(radix - np.bincount(place, minlength=total), total - 1)
        spare = max(0, int(degree.sum()) - 2 * cables)
        degree[:] -= spare // total
        degree[: spare % total] -= 1
        if degree.sum() % 2:
            degree[int(np.argmax(degree))] -= 1
        a, b = random_links(degree, np.random.default_rng(seed))
        assembly.connect(switches[a], switches[b], asked.gbps)
        return assembly.finish(Origin(made_by=f"a random graph of the equipment of {like.name}, seed {seed}"))

    return Plan(build, None, f"of the switches and cables of {like.name}, seed {seed}")


def in_hosts(fabric: Fabric, rails: int) -> Fabric:
    """The same with every ``rails`` endpoints in a row made adapters of one host.

    >>> import topo
    >>> made = in_hosts(topo.torus([2, 2], hosts_per_switch=2), 4)
    >>> made.nodes.host[0], made.nodes.host[5]
    ('host-1', 'host-2')
    """
    ends, nodes = fabric.endpoints, fabric.nodes
    number = np.arange(len(ends)) // rails
    host = np.full(len(nodes), -1)
    host[ends] = number
    index = nodes.local_index.copy()
    index[ends] = np.arange(len(ends)) % rails
    name = nodes.name.astype(object)
    hosts = numbered("host-{}", np.arange(1, int(number[-1]) + 2))
    name[ends] = numbered("host-{}-nic-{}", number + 1, index[ends] + 1)
    kinds = nodes.kind.values().astype(object)
    kinds[ends] = "nic"
    given = replace(
        nodes, name=name.astype(str), kind=Labels.of(kinds.tolist()), host=Labels(host, hosts), local_index=index
    )
    return replace(fabric, nodes=given)


def _of_part(fabric: Fabric, asked: Requirements) -> Fabric:
    """The same with its switches of the part that is asked for, their ports in its cages, in order."""
    if asked.switch is None:
        return fabric
    mask = fabric.nodes.kind.is_any("switch")
    part = np.where(mask, asked.switch, fabric.nodes.part.values())
    found = replace(fabric, nodes=replace(fabric.nodes, part=Labels.of(part.tolist())))
    per_cage = asked.cage(asked.gbps)
    if not per_cage:
        return found
    node = fabric.ports.node.astype(np.int64)
    order = np.argsort(node, kind="stable")
    first = np.searchsorted(node[order], np.arange(len(fabric.nodes)))
    slot = np.empty(len(node), np.int64)
    slot[order] = np.arange(len(node)) - first[node[order]]
    held = -(-int(slot.max(initial=0) + 1) // per_cage)
    cage = np.where(mask[node], node * held + slot // per_cage, -1)
    cage[mask[node]] = np.unique(cage[mask[node]], return_inverse=True)[1]
    return replace(found, ports=replace(fabric.ports, cage=cage.astype(fabric.ports.cage.dtype)))


FAMILIES: dict[str, Callable[[Requirements], Plan]] = {
    "leaf-spine": _clos(2, "leaf-spine"),
    "three tiers": _clos(3, "three tiers"),
    "rail-optimized": _rail_optimized,
    "rail-only": _rail_only,
    "multi-plane": _multi_plane,
    "dragonfly": _dragonfly,
    "torus": _torus,
}
"""Every family by name; a plan or a ParameterError that says why there is none and what would do."""
