"""Scale-up domains larger than a host: racks and pods of accelerators behind their own switch chips."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.layers import positive
from topo.build.opened import HostNames, OpenedHosts, add_opened_hosts, notes_of
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.parts import DomainTemplate, scale_up_template
from topo.parts.domains import ualink_template
from topo.table import Labels
from topo.units import parse_gbps

__all__ = ["add_domains", "scale_up_domain", "ualink_pod"]

_MOST_UALINK = 1024


def add_domains(
    assembly: Assembly,
    template: DomainTemplate,
    domains: int,
    *,
    hosts: int | None = None,
    inside: bool = True,
    ports_per_adapter: int | None = None,
    hosts_per_unit: int = 0,
) -> OpenedHosts:
    """Add ``domains`` racks or pods of a template, with ``hosts`` hosts each (default: the template's).

    Without ``inside`` the hosts are their accelerators and compute adapters; scale-up links are always there, since
    they are the domain. An upper chip forwards everything that reaches it: only its own domain's accelerators do,
    and those pass on their own host's traffic alone, so that it never carries another domain's.

    :raises ParameterError: more hosts than the chips have ports for, with both numbers and the most that fit.
    """
    each = template.n_hosts if hosts is None else hosts
    positive(domains=domains, hosts=each)
    template.check_hosts(each)
    parts = each * sum(block.count for block in template.host.parts) + template.n_uppers
    refuse_too_many(float(domains) * parts, "parts of scale-up domains")
    names = _host_names(template, domains, each, hosts_per_unit)
    opened = add_opened_hosts(
        assembly, template.host, names, inside=inside, ports_per_adapter=ports_per_adapter, in_domain=True
    )
    lower = opened.blocks[template.lower].reshape(domains, each, -1)
    uppers = _add_uppers(assembly, template, domains, lower.shape[2])
    # In planes, lower part i of every host meets the chips of plane i alone; else all meet all.
    planes = lower.shape[2] if template.in_planes else 1
    below = lower.transpose(0, 2, 1).reshape(domains, planes, -1)
    above = uppers.reshape(domains, planes, -1)
    assembly.stripe(below, above, template.parallel, template.gbps, kind="scale_up")
    return opened


def _host_names(template: DomainTemplate, domains: int, hosts: int, hosts_per_unit: int) -> HostNames:
    n = domains * hosts
    domain, number = np.repeat(np.arange(domains), hosts), np.tile(np.arange(1, hosts + 1), domains)
    word = template.name
    names = numbered(f"{word}-{{}}-host-{{}}", domain + 1, number)
    rack = None
    if template.hosts_per_rack:
        per_domain = -(-hosts // template.hosts_per_rack)
        code = domain * per_domain + (number - 1) // template.hosts_per_rack
        rack = Labels(code, numbered("rack-{}", np.arange(1, domains * per_domain + 1)))
    pod = None
    if hosts_per_unit:
        unit = np.arange(n) // hosts_per_unit
        pod = Labels(unit, numbered("su-{}", np.arange(1, unit[-1] + 2)))
    return HostNames(names, Labels(domain, numbered(f"{word}-{{}}", np.arange(1, domains + 1))), pod, rack)


def _add_uppers(assembly: Assembly, template: DomainTemplate, domains: int, lowers: int) -> NDArray[np.int64]:
    per_domain = template.uppers * (lowers if template.in_planes else 1)
    domain, number = np.repeat(np.arange(domains), per_domain), np.tile(np.arange(per_domain), domains)
    names = numbered(f"{template.name}-{{}}-{template.upper_name}-{{}}", domain + 1, number + 1)
    chassis = None
    if template.uppers_per_tray:
        trays = -(-per_domain // template.uppers_per_tray)
        code = domain * trays + number // template.uppers_per_tray
        tray = np.arange(domains * trays)
        chassis = Labels(code, numbered(f"{template.name}-{{}}-tray-{{}}", tray // trays + 1, tray % trays + 1))
    plane = number // template.uppers if template.in_planes else number
    rows = assembly.add_nodes(
        names,
        kind="scale_up_switch",
        tier=-2 if template.host.has_scale_up else -1,
        radix=template.upper_ports,
        port_gbps=template.gbps,
        domain=Labels(domain, numbered(f"{template.name}-{{}}", np.arange(1, domains + 1))),
        plane=Labels(plane, numbered("scale-up-plane-{}", np.arange(1, int(plane.max()) + 2))),
        chassis=chassis,
        part=template.upper_name,
    )
    return rows.reshape(domains, per_domain)


def scale_up_domain(
    template: str, *, domains: int = 1, hosts: int | None = None, inside: bool = True, name: str | None = None
) -> Fabric:
    """Racks or pods of a standard kind by themselves: gb200-nvl72, gb300-nvl72, cloudmatrix384, dgx-h100-nvlink-256.

    ``hosts`` takes fewer or more hosts than a full domain. Several domains by themselves are not joined.

    >>> f = scale_up_domain("gb200-nvl72")
    >>> len(f.endpoints), int(f.links.kind.is_any("scale_up").sum())
    (72, 1296)

    :raises ParameterError: no such domain, or more hosts than its chips have ports for.
    """
    domain = scale_up_template(template)
    assembly = Assembly(name or domain.title)
    add_domains(assembly, domain, domains, hosts=hosts, inside=inside)
    made_by = f"scale_up_domain({template!r}, domains={domains}, hosts={hosts}, inside={inside})"
    return assembly.finish(Origin(made_by=made_by, notes=notes_of(domain.host)))


def ualink_pod(
    accelerators: int = 1024,
    *,
    accelerators_per_host: int = 4,
    stations: int = 4,
    switch_ports: int = 1024,
    station_gbps: float = 800,
    name: str | None = None,
) -> Fabric:
    """A UALink pod: each accelerator has one station on each of ``stations`` switches, and a switch port to itself.

    The standard addresses at most 1,024 accelerators and gives 800 Gb/s to a station of four lanes (UALink 200G 1.0).

    >>> f = ualink_pod(64, switch_ports=64)
    >>> len(f.endpoints), len(f.links)
    (64, 256)

    :raises ParameterError: more accelerators than ids or than ports of a switch, with the most that fit.
    """
    positive(accelerators=accelerators, accelerators_per_host=accelerators_per_host, stations=stations)
    positive(switch_ports=switch_ports)
    most = min(_MOST_UALINK, switch_ports) // accelerators_per_host * accelerators_per_host
    if accelerators > min(_MOST_UALINK, switch_ports):
        limit = f"{switch_ports} ports" if switch_ports < _MOST_UALINK else f"{_MOST_UALINK} ids in a pod"
        raise ParameterError(
            f"accelerators is {accelerators}; each needs a port of its own on every switch and there are {limit}: "
            f"at most {most}"
        )
    if accelerators % accelerators_per_host:
        below = accelerators // accelerators_per_host * accelerators_per_host
        near = below or accelerators_per_host
        raise ParameterError(
            f"accelerators is {accelerators}, no multiple of accelerators_per_host {accelerators_per_host}; use {near}"
        )
    template = ualink_template(
        accelerators_per_host,
        accelerators // accelerators_per_host,
        stations,
        switch_ports=switch_ports,
        station_gbps=parse_gbps(station_gbps),
    )
    assembly = Assembly(name or f"UALink pod of {accelerators}")
    add_domains(assembly, template, 1)
    made_by = (
        f"ualink_pod({accelerators}, accelerators_per_host={accelerators_per_host}, stations={stations}, "
        f"switch_ports={switch_ports}, station_gbps={station_gbps})"
    )
    return assembly.finish(Origin(made_by=made_by))
