"""Composition: hosts or scale-up domains under a scale-out fabric, with a storage network beside it, as one fabric."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.hosts import HostPorts
from topo.build.layers import positive
from topo.build.opened import HostNames, OpenedHosts, add_opened_hosts, notes_of
from topo.build.planes import Plan
from topo.build.plans import ClosOver, hosts_per_unit_of
from topo.build.scale_up import add_domains
from topo.build.scale_up_mesh import DIRECT, DirectDomain, add_direct_domains
from topo.document import nearest
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin
from topo.parts import DOMAINS, SERVERS, DomainTemplate, HostTemplate
from topo.table import Labels

__all__ = ["ClusterHosts", "StorageNetwork", "cluster"]


@dataclass(frozen=True, slots=True)
class ClusterHosts:
    """What stands under a scale-out fabric: ``count`` servers, or racks and pods, of a standard kind.

    ``inside`` opens them; without it a server is its compute adapters, and a rack its accelerators with the ports of
    the adapters that serve them. ``ports_per_adapter`` uses each adapter as so many ports, one for each plane.
    ``hosts_per_domain`` takes fewer hosts than a full rack or pod.

    ``direct`` gives the numbers of a pod without switches, of template full-mesh-pod, accelerator-torus or tpu-slice.
    Its accelerators are all there is inside, and the whole pod is one host whose members relay for each other only.

    >>> import topo
    >>> f = topo.cluster(ClusterHosts("dgx-h100", 4), topo.ClosOver(radix=64))
    >>> len(f.endpoints), int(f.nodes.kind.is_any("scale_up_switch").sum())
    (32, 16)
    """

    template: str
    count: int
    inside: bool = True
    ports_per_adapter: int | None = None
    hosts_per_domain: int | None = None
    direct: DirectDomain | None = None

    def resolved(self) -> HostTemplate | DomainTemplate:
        """The template itself; a pod without switches has none.

        :raises ParameterError: no such server, rack or pod, or ``direct`` beside one that has switches.
        """
        known: dict[str, HostTemplate | DomainTemplate] = {template.name: template for template in SERVERS}
        known |= {template.name: template for template in DOMAINS}
        if self.template not in known:
            meant = nearest(self.template, [*known, *DIRECT])
            raise ParameterError(f"template is {self.template!r}, which is no server, rack or pod{meant}")
        if self.direct is not None:
            raise ParameterError(
                f"direct is given, but {self.template} is no pod without switches; leave it out or use a template of "
                f"{', '.join(DIRECT)}"
            )
        return known[self.template]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageNetwork:
    """A folded Clos of its own over the hosts' storage adapters and ``servers`` storage servers.

    Every server has ``ports_per_server`` ports of the rate of the hosts' storage ports.

    >>> import topo
    >>> hosts = topo.ClusterHosts("dgx-h100", 4)
    >>> f = topo.cluster(hosts, topo.ClosOver(radix=64), storage=StorageNetwork(servers=2, tiers=1))
    >>> int(f.links.kind.is_any("storage").sum())
    12
    """

    servers: int
    ports_per_server: int = 2
    tiers: int = 2
    radix: int = 64
    taper: float = 1.0
    link_gbps: float = 400


def cluster(
    hosts: ClusterHosts, scale_out: Plan, *, storage: StorageNetwork | None = None, name: str | None = None
) -> Fabric:
    """Hosts or scale-up domains under a scale-out fabric, and a storage network, as one fabric.

    Links know their kind: ``scale_up`` and ``host_io`` inside, ``access`` and ``scale_out`` above, ``storage`` beside.
    Where hosts are opened the accelerators are the endpoints. Storage has its own adapters and switches, whose links no
    compute flow takes.

    >>> from topo.build.rail import RailPlan
    >>> f = cluster(ClusterHosts("dgx-h100", 32), RailPlan(hosts_per_unit=32))
    >>> len(f.endpoints), len(f.switches), sorted(f.links.kind.labels.tolist())
    (256, 12, ['access', 'host_io', 'scale_out', 'scale_up'])

    :raises ParameterError: numbers that do not fit each other, with the ones that do.
    """
    positive(count=hosts.count)
    made_by = f"cluster({hosts}, {scale_out}, storage={storage})"
    if hosts.template in DIRECT:
        return replace(_over_direct(hosts, scale_out, storage, made_by), name=name or _title(hosts))
    template = hosts.resolved()
    refuse_too_many(float(hosts.count) * 8, "parts of hosts at least")
    unit = hosts_per_unit_of(scale_out)
    assembly = Assembly(name or f"{hosts.count} x {template.title}")
    if isinstance(template, DomainTemplate):
        inner = template.host
        template.check_hosts(hosts.hosts_per_domain or template.n_hosts, "hosts_per_domain")
        placed = add_domains(
            assembly,
            template,
            hosts.count,
            hosts=hosts.hosts_per_domain,
            inside=hosts.inside,
            ports_per_adapter=hosts.ports_per_adapter,
            hosts_per_unit=unit,
        )
    else:
        inner = template
        placed = _add_servers(assembly, template, hosts, unit)
    scale_out.over(assembly, placed.compute)
    if storage is not None:
        _add_storage(assembly, storage, inner, placed)
    return assembly.finish(Origin(made_by=made_by, notes=notes_of(inner) if hosts.inside else ()))


def _title(hosts: ClusterHosts) -> str:
    return f"{hosts.count} x {hosts.template}"


def _over_direct(hosts: ClusterHosts, scale_out: Plan, storage: StorageNetwork | None, made_by: str) -> Fabric:
    """Pods without switches under a scale-out fabric."""
    if hosts.direct is None:
        raise ParameterError(
            f"template is {hosts.template}, whose sizes are its own; give direct with dims, link_gbps and nic_gbps"
        )
    if hosts.hosts_per_domain is not None:
        raise ParameterError(
            f"hosts_per_domain is {hosts.hosts_per_domain}, but the dims of {hosts.template} say how many there are"
        )
    if storage is not None:
        raise ParameterError(
            f"storage needs adapters of its own, and {hosts.template} here has none; leave the storage network out"
        )
    assembly = Assembly(_title(hosts))
    placed = add_direct_domains(
        assembly,
        hosts.template,
        hosts.direct,
        hosts.count,
        ports_per_adapter=hosts.ports_per_adapter,
        hosts_per_unit=hosts_per_unit_of(scale_out),
    )
    scale_out.over(assembly, placed.hosts.compute)
    word = DIRECT[hosts.template][0]
    fabric = assembly.finish(Origin(made_by=made_by, assumptions=(_RELAYS.format(word=word),)))
    return replace(fabric, groups=placed.groups)


_RELAYS = (
    "The accelerators of a {word} relay for each other only: a {word} is one host, and no other's traffic enters it."
)


def _add_servers(assembly: Assembly, template: HostTemplate, hosts: ClusterHosts, unit: int) -> OpenedHosts:
    if hosts.hosts_per_domain is not None:
        raise ParameterError(
            f"hosts_per_domain is {hosts.hosts_per_domain}, but {template.name} is one server: its scale-up domain "
            "does not leave it"
        )
    names = HostNames.plain(hosts.count, unit)
    return add_opened_hosts(assembly, template, names, inside=hosts.inside, ports_per_adapter=hosts.ports_per_adapter)


def _add_storage(assembly: Assembly, storage: StorageNetwork, template: HostTemplate, placed: OpenedHosts) -> None:
    """The storage servers and switches, joined to the hosts' storage adapters; port by port, so that a host's
    adapters meet different leaves."""
    positive(servers=storage.servers, ports_per_server=storage.ports_per_server)
    if placed.storage is None:
        has = template.of_purpose("storage") is not None
        way = "open the hosts with inside: true" if has else "leave the storage network out"
        what = "keeps them out" if has else "has none"
        raise ParameterError(f"storage needs adapters of its own, and {template.name} here {what}; {way}")
    names = numbered("storage-{}", np.arange(1, storage.servers + 1))
    rows = assembly.add_nodes(
        names, kind="storage", forwards=FORWARDS_NOTHING, host=Labels(np.arange(storage.servers), names)
    )
    of_hosts = placed.storage.node.transpose(1, 2, 0).ravel()
    ends = np.concatenate([of_hosts, np.tile(rows, storage.ports_per_server)])
    plan = ClosOver(tiers=storage.tiers, radix=storage.radix, taper=storage.taper, link_gbps=storage.link_gbps)
    beside = _Beside(assembly)
    with beside.within("storage-"):
        plan.over(beside, HostPorts(ends.reshape(-1, 1, 1), placed.storage.gbps))


class _Beside(Assembly):
    """An assembly as a plan sees it that builds the storage network: its switches and links are storage's alone."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly.name)
        self._whole = assembly

    def add_nodes(self, names: ArrayLike, *, kind: str, **rest: Any) -> NDArray[np.int64]:
        return self._whole.add_nodes(names, kind="storage_switch" if kind == "switch" else kind, **rest)

    def connect(self, a: ArrayLike, b: ArrayLike, gbps: float, *, kind: str = "storage", legs: int = 1) -> None:
        self._whole.connect(a, b, gbps, kind="storage", legs=legs)

    @contextmanager
    def within(self, prefix: str, **groups: str) -> Iterator[None]:
        with self._whole.within(prefix, **groups):
            yield
