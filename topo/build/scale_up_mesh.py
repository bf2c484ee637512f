"""Scale-up pods without switches: full meshes of accelerators, and meshes and tori under a scale-out fabric."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import meshed, whole_dimensions
from topo.build.hosts import HostPorts, port_gbps_of
from topo.build.layers import positive
from topo.build.opened import OpenedHosts
from topo.build.torus import accelerator_torus
from topo.build.tpu import tpu_slice
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST, Fabric, GroupTable, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["DIRECT", "DirectDomain", "DirectHosts", "add_direct_domains", "full_mesh_pod"]


def full_mesh_pod(
    dims: Sequence[int], *, link_gbps: float, links: int = 1, racks_from: int = 2, name: str | None = None
) -> Fabric:
    """Accelerators on a grid, each joined to all that differ from it in one coordinate: an n-dimensional full mesh.

    There are prod(dims) accelerators and, for each dimension of size d, prod(dims) * (d - 1) / 2 pairs of ``links``
    links; the diameter is the number of dimensions. The accelerators forward: between two that differ in several
    coordinates there is nothing else. A host is a row of the first dimension, a rack the first ``racks_from``.

    UB-Mesh is such a pod of 8 x 8 accelerators in a rack and 4 x 4 racks (arXiv 2503.20377).

    >>> f = full_mesh_pod([8, 8], link_gbps=100)
    >>> len(f.endpoints), len(f.links)
    (64, 448)

    :raises ParameterError: no dimension, or one below 2.
    """
    dims = whole_dimensions(dims)
    positive(links=links, racks_from=racks_from)
    rate = parse_gbps(link_gbps)
    total = math.prod(dims)
    refuse_too_many(float(total), "accelerators")
    refuse_too_many(float(total) * sum(size - 1 for size in dims) / 2 * links, "links")
    assembly = Assembly(name or f"full mesh {' x '.join(map(str, dims))}")
    # The first dimension runs fastest, so that a host is a run of rows.
    host = np.arange(total) // dims[0]
    rack = np.arange(total) // math.prod(dims[:racks_from])
    host_names = numbered("host-{}", np.arange(1, host[-1] + 2))
    rows = assembly.add_nodes(
        np.char.add(host_names[host], numbered("-npu-{}", np.arange(total) % dims[0] + 1)),
        kind="accelerator",
        is_endpoint=True,
        forwards=FORWARDS_ALL,
        host=Labels(host, host_names),
        domain="pod-1",
        rack=Labels(rack, numbered("rack-{}", np.arange(1, rack[-1] + 2))),
        local_index=np.arange(total) % dims[0],
    )
    for axis in range(len(dims)):
        a, b = meshed(dims, axis)
        assembly.connect(np.repeat(rows[a], links), np.repeat(rows[b], links), rate, kind="scale_up")
    made_by = f"full_mesh_pod({dims}, link_gbps={link_gbps}, links={links}, racks_from={racks_from})"
    return assembly.finish(Origin(made_by=made_by))


DIRECT: Mapping[str, tuple[str, Callable[..., Fabric]]] = {
    "full-mesh-pod": ("pod", full_mesh_pod),
    "accelerator-torus": ("torus", accelerator_torus),
    "tpu-slice": ("slice", tpu_slice),
}
"""Every scale-up domain whose accelerators are joined directly, by name: the word for one, and what builds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectDomain:
    """The numbers of a scale-up domain without switches; ``nic_gbps`` is each accelerator's adapter to the scale-out.

    The others are those of :func:`topo.full_mesh_pod` (``links``, ``racks_from``), :func:`topo.accelerator_torus`
    (``links``, ``host_dims``, ``wrap``, ``twist``) or :func:`topo.tpu_slice` (``twisted``).
    """

    dims: Sequence[int]
    link_gbps: float
    nic_gbps: float
    links: int | None = None
    racks_from: int | None = None
    host_dims: Sequence[int] | None = None
    wrap: bool | Sequence[bool] | None = None
    twist: Sequence[Sequence[int]] | None = None
    twisted: bool | None = None

    def alone(self, template: str) -> Fabric:
        """One such domain by itself, whose accelerators forward everything.

        >>> len(DirectDomain(dims=[4, 4], link_gbps=400, nic_gbps=400).alone("full-mesh-pod").endpoints)
        16

        :raises ParameterError: numbers that the domain does not have, or that its builder refuses.
        """
        build = DIRECT[template][1]
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        given = {name: value for name, value in given.items() if name != "nic_gbps" and value is not None}
        known = [field.name for field in dataclasses.fields(self) if field.name in inspect.signature(build).parameters]
        for name, value in given.items():
            if name not in known:
                raise ParameterError(f"{name} is {value}, but {template} takes none; it takes {', '.join(known)}")
        return build(**given)


@dataclass(frozen=True, eq=False)
class DirectHosts:
    """Direct domains put into an assembly, and the shared-risk groups of their links."""

    hosts: OpenedHosts
    groups: GroupTable


def add_direct_domains(
    assembly: Assembly,
    template: str,
    direct: DirectDomain,
    domains: int,
    *,
    ports_per_adapter: int | None = None,
    hosts_per_unit: int = 0,
) -> DirectHosts:
    """Add ``domains`` meshes or tori as the first parts of an assembly; their accelerators are their own adapters.

    A domain is one ``host``, and its accelerators forward for their host alone: over the mesh they relay for each
    other, and never for another domain. For the scale-out a host is what it is in the domain by itself, a row of the
    mesh or a block of the torus, and its accelerators are on as many rails.

    :raises ParameterError: a domain that cannot be built, or adapters that do not split so.
    """
    positive(domains=domains)
    nic = parse_gbps(direct.nic_gbps)
    if nic <= 0:
        raise ParameterError(f"nic_gbps is {nic:g}; each accelerator has an adapter to the scale-out: give its rate")
    ports = 1 if ports_per_adapter is None else ports_per_adapter
    gbps = port_gbps_of(nic, ports, what="ports_per_adapter")
    one = direct.alone(template)
    n, n_links = len(one.nodes), len(one.links)
    refuse_too_many(float(domains) * n, "accelerators")
    refuse_too_many(float(domains) * n_links, "links")
    rows = _add_copies(assembly, DIRECT[template][0], one, domains, hosts_per_unit)
    a, b = rows[:, one.link_a], rows[:, one.link_b]
    assembly.connect(a.ravel(), b.ravel(), parse_gbps(direct.link_gbps), kind="scale_up")
    per_host = int(one.nodes.local_index.max()) + 1
    by_host = rows[:, np.lexsort((one.nodes.local_index, one.nodes.host.codes))].reshape(-1, per_host, 1)
    compute = HostPorts(np.repeat(by_host, ports, axis=2), gbps)
    return DirectHosts(OpenedHosts({"accelerator": rows}, compute, None), _copied_groups(one, rows))


def _add_copies(assembly: Assembly, word: str, one: Fabric, domains: int, hosts_per_unit: int) -> NDArray[np.int64]:
    """The accelerators of a domain ``domains`` times, each time one host; rows (domains, accelerators)."""
    nodes, n = one.nodes, len(one.nodes)
    domain = np.repeat(np.arange(domains), n)
    names = numbered(f"{word}-{{}}", np.arange(1, domains + 1))
    own = Labels(domain, names)
    rail = np.tile(nodes.local_index.astype(np.int64), domains)
    pod = None
    if hosts_per_unit:
        hosts = int(nodes.host.codes.max()) + 1
        unit = (domain * hosts + np.tile(nodes.host.codes, domains)) // hosts_per_unit
        pod = Labels(unit, numbered("su-{}", np.arange(1, int(unit.max()) + 2)))
    rows = assembly.add_nodes(
        np.char.add(np.char.add(names[domain], "-"), np.tile(nodes.name, domains)),
        kind="accelerator",
        is_endpoint=True,
        forwards=FORWARDS_OWN_HOST,
        host=own,
        domain=own,
        rail=Labels(rail, numbered("rail-{}", np.arange(1, int(rail.max()) + 2))),
        rack=_of_each(nodes.rack, names),
        coordinates=Labels(np.tile(nodes.coordinates.codes, domains), nodes.coordinates.labels),
        pod=pod,
        local_index=np.tile(nodes.local_index, domains),
    )
    return rows.reshape(domains, n)


def _of_each(group: Labels, names: Array) -> Labels | None:
    """A group's labels again for each domain, the domain's name before them."""
    n = len(group.labels)
    if not n:
        return None
    codes = (np.arange(len(names))[:, None] * n + group.codes).ravel()
    labels = np.char.add(np.char.add(np.repeat(names, n), "-"), np.tile(group.labels, len(names)))
    return Labels(codes, labels)


def _copied_groups(one: Fabric, rows: Array) -> GroupTable:
    """The shared-risk groups of a domain's links for each copy; links of the copies come first in the fabric."""
    groups, domains = one.groups, len(rows)
    names = numbered("domain-{}", np.arange(1, domains + 1))
    group = _of_each(groups.group, names)
    if group is None:
        return groups
    row = np.arange(domains)[:, None] * len(one.links) + groups.row
    return GroupTable(group=group, element=Labels.constant("link", row.size), row=row.ravel().astype(np.int32))
