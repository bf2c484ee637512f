"""Pods of full or chosen bisection under a tapered top tier."""

from __future__ import annotations

from topo.build.assembly import Assembly
from topo.build.clos import ClosPlan
from topo.build.hosts import add_adapters
from topo.build.layers import Layer, even_width, positive
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.units import parse_gbps

__all__ = ["tapered_pods", "tapered_pods_plan"]


def tapered_pods(
    pods: int,
    *,
    leaves_per_pod: int,
    hosts_per_leaf: int,
    rails: int = 1,
    spines_per_pod: int,
    leaf_uplinks: int | None = None,
    taper: float = 1.0,
    leaf_radix: int = 64,
    spine_radix: int = 64,
    core_radix: int = 64,
    link_gbps: float = 400,
    ports_per_cage: int = 0,
    leaf_part: str | None = None,
    spine_part: str | None = None,
    host_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """Pods of leaves and spines, joined by a top tier that has 1 / ``taper`` of a pod's capacity.

    A leaf takes all ``rails`` adapters of ``hosts_per_leaf`` hosts and has ``leaf_uplinks`` (default: as many), spread
    evenly over the pod's spines. A spine has as many uplinks as come nearest to down / ``taper``; spine i of every pod
    goes to its own cores, the fewest that take the links and divide the uplinks. ``spine_part`` also names the cores.

    >>> f = tapered_pods(4, leaves_per_pod=8, hosts_per_leaf=16, spines_per_pod=4, taper=4, spine_radix=48)
    >>> len(f.endpoints), len(f.switches)
    (512, 52)

    :raises ParameterError: ports that do not fit the radix, uplinks that the spines do not divide.
    """
    positive(hosts_per_leaf=hosts_per_leaf, rails=rails, pods=pods, leaves_per_pod=leaves_per_pod)
    link = parse_gbps(link_gbps)
    plan = tapered_pods_plan(
        pods,
        leaves_per_pod=leaves_per_pod,
        ends_per_leaf=hosts_per_leaf * rails,
        spines_per_pod=spines_per_pod,
        leaf_uplinks=leaf_uplinks,
        taper=taper,
        leaf_radix=leaf_radix,
        spine_radix=spine_radix,
        core_radix=core_radix,
        link_gbps=link,
        ports_per_cage=ports_per_cage,
        leaf_part=leaf_part,
        spine_part=spine_part,
    )
    assembly = Assembly(name or f"{pods} pods of {leaves_per_pod} leaves, {taper:g}:1 above")
    hosts_per_pod = leaves_per_pod * hosts_per_leaf
    ports = add_adapters(
        assembly,
        pods * hosts_per_pod,
        rails=rails,
        gbps=link,
        hosts_per_unit=hosts_per_pod,
        unit="pod",
        on_rails=False,
        part=host_part,
    )
    plan.over(assembly, ports)
    return assembly.finish(
        Origin(
            made_by=f"tapered_pods({pods}, leaves_per_pod={leaves_per_pod}, hosts_per_leaf={hosts_per_leaf}, "
            f"rails={rails}, spines_per_pod={spines_per_pod}, taper={taper:g})"
        )
    )


def tapered_pods_plan(
    pods: int,
    *,
    leaves_per_pod: int,
    ends_per_leaf: int,
    spines_per_pod: int,
    leaf_uplinks: int | None = None,
    taper: float = 1.0,
    leaf_radix: int = 64,
    spine_radix: int = 64,
    core_radix: int = 64,
    link_gbps: float = 400,
    ports_per_cage: int = 0,
    leaf_part: str | None = None,
    spine_part: str | None = None,
) -> ClosPlan:
    """The switches of :func:`tapered_pods`, to stand over hosts that fill every leaf with ``ends_per_leaf`` ports.

    :raises ParameterError: uplinks that the spines do not divide, a taper that is none.
    """
    positive(pods=pods, leaves_per_pod=leaves_per_pod, ends_per_leaf=ends_per_leaf, spines_per_pod=spines_per_pod)
    uplinks = ends_per_leaf if leaf_uplinks is None else leaf_uplinks
    positive(leaf_uplinks=uplinks)
    if uplinks % spines_per_pod:
        fitting = [n for n in range(1, uplinks + 1) if uplinks % n == 0]
        nearest = min(fitting, key=lambda n: abs(n - spines_per_pod))
        raise ParameterError(
            f"spines_per_pod is {spines_per_pod}, which does not divide the {uplinks} uplinks of a leaf; use {nearest}"
        )
    if not taper > 0:
        raise ParameterError(f"taper is {taper!r}; it must be above 0, 1.0 for non-blocking")
    down = leaves_per_pod * uplinks // spines_per_pod
    up = max(1, round(down / taper))
    if down + up > spine_radix:
        raise ParameterError(
            f"spine_radix is {spine_radix}, but {down} ports down and {up} up make {down + up}; "
            f"use a larger switch, more spines, or fewer than {leaves_per_pod} leaves_per_pod"
        )
    cores = even_width(pods * up, core_radix, up)
    layers = (
        Layer(leaves_per_pod, spines_per_pod, uplinks // spines_per_pod, spine_radix),
        Layer(pods, cores, up // cores, core_radix),
    )
    return ClosPlan(
        ends_per_leaf,
        layers,
        link_gbps,
        leaf_radix=leaf_radix,
        ports_per_cage=ports_per_cage,
        switch_part=spine_part,
        leaf_part=leaf_part,
    )
