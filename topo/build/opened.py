"""Hosts opened: accelerators, switch chips, PCIe, CPUs and adapters as nodes, from a template of the parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.hosts import HostPorts
from topo.build.layers import positive
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric, Note, Origin
from topo.parts import HostTemplate, host_template
from topo.parts.template import Adapters, Pairs, PartBlock, Wires
from topo.table import Array, Labels

__all__ = ["HostNames", "OpenedHosts", "add_opened_hosts", "join_parts", "notes_of", "server"]


@dataclass(frozen=True, eq=False)
class HostNames:
    """Names and groups of hosts that are put together: one label a host in each."""

    host: NDArray[np.str_]
    domain: Labels | None = None
    pod: Labels | None = None
    rack: Labels | None = None

    @classmethod
    def plain(cls, hosts: int, hosts_per_unit: int = 0) -> HostNames:
        """Hosts numbered from 1, each a scale-up domain of its own, in scalable units if those are given.

        >>> HostNames.plain(3, 2).pod.values().tolist()
        ['su-1', 'su-1', 'su-2']
        """
        names = numbered("host-{}", np.arange(1, hosts + 1))
        unit = np.arange(hosts) // max(hosts_per_unit, 1)
        pod = Labels(unit, numbered("su-{}", np.arange(1, unit[-1] + 2))) if hosts_per_unit else None
        return cls(names, Labels.distinct(names), pod)

    def of_each(self, group: Labels | None, count: int) -> Labels | None:
        """A group's labels for ``count`` parts of every host."""
        return None if group is None else Labels(np.repeat(group.codes, count), group.labels)


@dataclass(frozen=True, eq=False)
class OpenedHosts:
    """Hosts put into an assembly: the rows of each block of parts (hosts, count), and the ports that wait for cables.

    ``storage`` is None where the hosts have no storage adapters or are not opened.
    """

    blocks: Mapping[str, NDArray[np.int64]]
    compute: HostPorts
    storage: HostPorts | None


def server(
    template: str, *, hosts: int = 1, inside: bool = True, ports_per_adapter: int | None = None, name: str | None = None
) -> Fabric:
    """Servers of a standard kind by themselves: opened, or as their accelerators or adapters alone.

    Opened, the accelerators are the endpoints; parts of a host forward their own host's traffic, CPUs only where the
    template says so; scale-up links are of kind ``scale_up``, PCIe and the like of kind ``host_io``.

    >>> f = server("dgx-h100")
    >>> len(f.endpoints), int(f.links.kind.is_any("scale_up").sum())
    (8, 144)

    :raises ParameterError: no such server, or a number of ports that its adapters do not split into.
    """
    positive(hosts=hosts)
    host = host_template(template)
    refuse_too_many(float(hosts) * sum(block.count for block in host.parts), "parts of hosts")
    assembly = Assembly(name or (host.title if hosts == 1 else f"{hosts} x {host.title}"))
    add_opened_hosts(assembly, host, HostNames.plain(hosts), inside=inside, ports_per_adapter=ports_per_adapter)
    made_by = f"server({template!r}, hosts={hosts}, inside={inside})"
    return assembly.finish(Origin(made_by=made_by, notes=notes_of(host)))


def notes_of(*templates: HostTemplate) -> tuple[Note, ...]:
    """What a template says of itself, and which of its numbers are from memory."""
    notes = [Note(text, template.name) for template in templates for text in template.notes]
    for template in templates:
        unsure = [f"{w.a} to {w.b}, {w.known.source}" for w in template.wires if w.known.label == "M"]
        unsure += [f"{p.count} x {p.name}, {p.known.source}" for p in template.parts if p.known.label == "M"]
        if unsure:
            told = "; ".join(unsure).replace(", from memory", "")
            notes.append(Note(f"from memory, not confirmed: {told}", template.name))
    return tuple(notes)


def add_opened_hosts(
    assembly: Assembly,
    template: HostTemplate,
    names: HostNames,
    *,
    inside: bool = True,
    ports_per_adapter: int | None = None,
    in_domain: bool = False,
) -> OpenedHosts:
    """Add hosts of a template; without ``inside`` only their adapters, or the accelerators that are their own.

    ``ports_per_adapter`` uses each compute adapter as so many ports of equal rate. With ``in_domain`` the hosts are
    to be joined by scale-up links: without ``inside`` they are then their accelerators, each with the ports of the
    adapter that serves it, and the switch chips between them.

    :raises ParameterError: the adapters do not split so.
    """
    refuse_too_many(float(len(names.host)) * sum(block.count for block in template.parts), "parts of hosts")
    compute = template.compute
    ports = compute.splits[0] if ports_per_adapter is None else ports_per_adapter
    gbps = compute.port_gbps(ports)
    shown = _shown(template, inside, in_domain)
    blocks = {
        block.name: _add_block(assembly, template, block, names, alone=not (inside or in_domain), in_domain=in_domain)
        for block in shown
    }
    for wires in template.wires:
        if (inside or in_domain) and wires.a in blocks and wires.b in blocks:
            join_parts(assembly, blocks, wires)
    storage = template.of_purpose("storage")
    waiting = None
    if storage is not None and storage.block in blocks:
        split = storage.splits[0]
        waiting = _ports_of(storage, blocks[storage.block], split, storage.port_gbps(split))
    if compute.block in blocks:
        return OpenedHosts(blocks, _ports_of(compute, blocks[compute.block], ports, gbps), waiting)
    folded = blocks[template.accelerators.name][:, compute.accelerators]
    return OpenedHosts(blocks, _ports_of(compute, folded, ports, gbps), waiting)


def _shown(template: HostTemplate, inside: bool, in_domain: bool) -> tuple[PartBlock, ...]:
    """The parts that become nodes: all, or adapters alone, or accelerators with what scale-up links join."""
    if inside:
        return template.parts
    if not in_domain:
        return (template.block(template.compute.block),)
    return tuple(block for block in template.parts if block.kind in ("accelerator", "scale_up_switch"))


def _add_block(
    assembly: Assembly, template: HostTemplate, block: PartBlock, names: HostNames, *, alone: bool, in_domain: bool
) -> NDArray[np.int64]:
    hosts, count = len(names.host), block.count
    host, number = np.repeat(np.arange(hosts), count), np.tile(np.arange(count), hosts)
    is_accelerator = block.kind == "accelerator"
    is_endpoint = is_accelerator or alone
    scales_up = (in_domain or template.has_scale_up) and block.kind in ("accelerator", "scale_up_switch")
    adapters = next((a for a in template.adapters if a.block == block.name), None)
    rails: tuple[int, ...] = ()
    if is_accelerator:
        rails = _rail_of_accelerator(template)
    elif adapters is not None and adapters.purpose == "compute":
        rails = adapters.rails
    groups: dict[str, Any] = {
        "pod": names.of_each(names.pod, count),
        "rack": names.of_each(names.rack, count),
        "domain": names.of_each(names.domain, count) if scales_up else None,
        "rail": _rail_labels(rails, hosts) if rails else None,
    }
    # What stands for its host alone relays nothing; opened, it passes on what its own host sends.
    relays = block.relays and not alone
    rows = assembly.add_nodes(
        _part_names(names.host, block.name, count),
        kind=block.kind,
        tier=0 if is_endpoint else -1,
        is_endpoint=is_endpoint,
        forwards=FORWARDS_OWN_HOST if relays else FORWARDS_NOTHING,
        radix=block.radix,
        host=Labels(host, names.host),
        local_index=number,
        part=block.part or None,
        cages=None if adapters is None or min(adapters.cages) < 0 else _cages(adapters, hosts),
        **groups,
    )
    return rows.reshape(hosts, count)


def _part_names(hosts: Array, part: str, count: int) -> NDArray[np.str_]:
    ends = numbered(f"-{part}-{{}}", np.arange(1, count + 1))
    return np.char.add(np.repeat(hosts, count), np.tile(ends, len(hosts)))


def _cages(adapters: Adapters, hosts: int) -> Array:
    """One number for each cage of each host."""
    per_host = max(adapters.cages) + 1
    cages: Array = (np.arange(hosts)[:, None] * per_host + np.array(adapters.cages)).ravel()
    return cages


def _rail_of_accelerator(template: HostTemplate) -> tuple[int, ...]:
    """The rail of the adapter that serves each accelerator, -1 where none does."""
    compute = template.compute
    rails = dict(zip(compute.accelerators, compute.rails, strict=True))
    return tuple(rails.get(i, -1) for i in range(template.n_accelerators))


def _rail_labels(rails: tuple[int, ...], hosts: int) -> Labels:
    return Labels(np.tile(np.array(rails), hosts), numbered("rail-{}", np.arange(1, max(rails) + 2)))


def _ports_of(adapters: Adapters, rows: Array, ports: int, gbps: float) -> HostPorts:
    """Ports by host, rail and port: adapters (hosts, adapters) in the order of their rails, not of their numbers."""
    by_rail = rows[:, np.argsort(adapters.rails, kind="stable")]
    node = np.repeat(by_rail.reshape(len(rows), adapters.n_rails, adapters.per_rail), ports, axis=2)
    return HostPorts(node, gbps)


def join_parts(assembly: Assembly, blocks: Mapping[str, Array], wires: Wires) -> None:
    """Connect two blocks of parts inside every host, as the template lists the pairs."""
    a, b = _ends(wires.pairs)
    assembly.connect(blocks[wires.a][:, a].ravel(), blocks[wires.b][:, b].ravel(), wires.gbps, kind=wires.kind)


def _ends(pairs: Pairs) -> tuple[Array, Array]:
    table = np.array(pairs, np.int64).reshape(-1, 3)
    return np.repeat(table[:, 0], table[:, 2]), np.repeat(table[:, 1], table[:, 2])
