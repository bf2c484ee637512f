"""Folded Clos fabrics: leaf-spine, k-ary fat-tree, and any number of tiers with radix and taper per tier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.build.hosts import HostPorts, add_hosts
from topo.build.layers import (
    SWITCH_WORDS,
    Layer,
    add_layer,
    even_width,
    positive,
    refuse_split_above,
    split_ports,
)
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["ClosPlan", "clos", "fat_tree", "leaf_spine", "sized_clos"]

_BLOCK = {2: "pod", 3: "zone"}


@dataclass(frozen=True, slots=True)
class ClosPlan:
    """A folded Clos to stand over hosts: the leaves take the hosts' ports in order, ``ends_per_leaf`` each.

    ``leaf_radix`` 0 gives leaves just the ports they use; ``breakout`` is how many host links share a leaf's port, and
    ``uplink_breakout`` how many links of link_gbps / uplink_breakout share one above.
    """

    ends_per_leaf: int
    layers: tuple[Layer, ...]
    link_gbps: float
    leaf_radix: int = 0
    breakout: int = 1
    uplink_breakout: int = 1
    ports_per_cage: int = 0
    switch_part: str | None = None
    leaf_part: str | None = None

    @property
    def has_pods(self) -> bool:
        """Whether leaves stand in pods: there is more than one tier above them."""
        return len(self.layers) > 1

    def over(self, assembly: Assembly, ports: HostPorts) -> Array:
        """Add the switches and join them to every port of the hosts, those on standby last; returns the leaves."""
        ends = ports.node.ravel()
        if ports.standby is not None:
            ends = np.concatenate([ends, ports.standby.node.ravel()])
        leaf = np.arange(len(ends)) // self.ends_per_leaf
        number = np.arange(int(leaf[-1]) + 1)
        pod = number // self.layers[0].children if self.has_pods else number * 0
        names = numbered("leaf-{}", number + 1)
        if self.has_pods:
            names = numbered("pod-{}-leaf-{}", pod + 1, number % self.layers[0].children + 1)
        rows = assembly.add_nodes(
            names,
            kind="switch",
            tier=1,
            radix=self.leaf_radix,
            port_gbps=max(self.link_gbps, ports.gbps * self.breakout) if self.leaf_radix else np.nan,
            ports_per_cage=self.ports_per_cage,
            pod=Labels(pod, numbered("pod-{}", np.arange(1, pod[-1] + 2))) if self.has_pods else None,
            part=self.leaf_part or self.switch_part,
        )
        assembly.connect(ends, rows[leaf], ports.gbps, kind="access", legs=self.breakout)
        below = rows.reshape(-1, 1)
        for tier, layer in enumerate(self.layers, start=2):
            below = add_layer(
                assembly,
                below,
                layer,
                self.link_gbps / self.uplink_breakout,
                tier=tier,
                switch=SWITCH_WORDS.get(tier, f"tier{tier}"),
                block=_BLOCK.get(tier, f"block{tier}"),
                part=self.switch_part,
                ports_per_cage=self.ports_per_cage * self.uplink_breakout,
                legs=self.uplink_breakout,
            )
        return rows


def _folded(name: str, n_hosts: int, plan: ClosPlan, *, host_gbps: float, made_by: str) -> Fabric:
    assembly = Assembly(name)
    hosts_per_pod = plan.ends_per_leaf * plan.layers[0].children if plan.has_pods else 0
    plan.over(assembly, add_hosts(assembly, n_hosts, gbps=host_gbps, hosts_per_pod=hosts_per_pod))
    return assembly.finish(Origin(made_by=made_by))


def leaf_spine(
    leaves: int,
    spines: int,
    hosts_per_leaf: int,
    *,
    link_gbps: float = 400,
    host_gbps: float = 400,
    parallel: int = 1,
) -> Fabric:
    """Two tiers: every leaf joined to every spine by ``parallel`` links of ``link_gbps``.

    Oversubscription of a leaf is hosts_per_leaf * host_gbps / (spines * parallel * link_gbps).

    >>> f = leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, parallel=2)
    >>> len(f.endpoints), len(f.switches), len(f.links)
    (32, 6, 48)

    :raises ParameterError: a count below 1 or a rate that is not one.
    """
    positive(leaves=leaves, spines=spines, hosts_per_leaf=hosts_per_leaf, parallel=parallel)
    return _folded(
        f"leaf-spine {leaves}x{spines}",
        leaves * hosts_per_leaf,
        ClosPlan(hosts_per_leaf, (Layer(leaves, spines, parallel),), parse_gbps(link_gbps)),
        host_gbps=parse_gbps(host_gbps),
        made_by=f"leaf_spine(leaves={leaves}, spines={spines}, hosts_per_leaf={hosts_per_leaf}, "
        f"link_gbps={link_gbps}, host_gbps={host_gbps}, parallel={parallel})",
    )


def fat_tree(k: int, *, link_gbps: float = 400) -> Fabric:
    """The k-ary fat-tree of switches with k ports: k pods of k/2 leaves and k/2 spines, k^2/4 cores, k^3/4 hosts.

    5 k^2 / 4 switches and 3 k^3 / 4 links, host links included (Al-Fares et al., SIGCOMM 2008).

    >>> f = fat_tree(8)
    >>> len(f.endpoints), len(f.switches), len(f.links)
    (128, 80, 384)

    :raises ParameterError: k is odd or below 2.
    """
    positive(k=k)
    if k % 2:
        raise ParameterError(
            f"k is {k}; a fat-tree needs an even number of ports, so {f'{k - 1} or ' if k > 1 else ''}{k + 1}"
        )
    half = k // 2
    return _folded(
        f"fat-tree k={k}",
        k * half * half,
        ClosPlan(half, (Layer(half, half), Layer(k, half)), parse_gbps(link_gbps)),
        host_gbps=parse_gbps(link_gbps),
        made_by=f"fat_tree({k}, link_gbps={link_gbps})",
    )


def clos(
    hosts: int,
    *,
    tiers: int = 2,
    radix: int | Sequence[int] = 64,
    taper: float | Sequence[float] = 1.0,
    link_gbps: float = 400,
    host_gbps: float | None = None,
) -> Fabric:
    """A folded Clos of any number of tiers for ``hosts`` endpoints, with radix and taper of each tier.

    ``radix`` is ports of a switch, one number or one a tier; ``taper`` is down over up capacity, one number or one
    for each tier below the top. Each switch takes as many down-ports as its taper allows; the switches above are the
    fewest that fit and divide the uplinks, so that parallel links are striped evenly (see :func:`even_width`).

    >>> f = clos(1024, tiers=2, radix=64)
    >>> f.nodes.tier[f.switches].tolist().count(2)
    16

    :raises ParameterError: the hosts do not fit, with the most that do.
    """
    link = parse_gbps(link_gbps)
    host = link if host_gbps is None else parse_gbps(host_gbps)
    return _folded(
        f"clos {tiers} tiers, {hosts} hosts",
        hosts,
        sized_clos(hosts, tiers=tiers, radix=radix, taper=taper, link_gbps=link, host_gbps=host),
        host_gbps=host,
        made_by=f"clos({hosts}, tiers={tiers}, radix={radix}, taper={taper}, link_gbps={link_gbps}, "
        f"host_gbps={host_gbps})",
    )


def sized_clos(
    ends: int,
    *,
    tiers: int,
    radix: int | Sequence[int],
    taper: float | Sequence[float] = 1.0,
    link_gbps: float,
    host_gbps: float,
    breakout: int = 1,
    uplink_breakout: int = 1,
) -> ClosPlan:
    """The smallest folded Clos of these tiers, radices and tapers that takes ``ends`` host ports.

    ``breakout`` of them share a port of a leaf; with ``uplink_breakout`` n every uplink of a leaf is n legs, and a
    spine has n times its radix in ports of link_gbps / n.

    >>> [(layer.children, layer.width) for layer in sized_clos(64, tiers=3, radix=8, link_gbps=1, host_gbps=1).layers]
    [(4, 4), (4, 2)]

    :raises ParameterError: the ends do not fit, with the most that do.
    """
    positive(hosts=ends, tiers=tiers, breakout=breakout, uplink_breakout=uplink_breakout)
    refuse_split_above(uplink_breakout, tiers)
    radices = _per_tier(radix, tiers, "radix")
    tapers = _per_tier(taper, max(tiers - 1, 1), "taper")
    positive(**{f"radix of tier {i}": int(r) for i, r in enumerate(radices, 1)})
    if any(not (t > 0 and math.isfinite(t)) for t in tapers):
        raise ParameterError(f"taper is {taper!r}; it must be above 0, 1.0 for non-blocking")
    ports = [int(r) * (uplink_breakout if tier else 1) for tier, r in enumerate(radices)]
    down, layers = _sized(
        ends,
        ports,
        [float(t) for t in tapers],
        link_gbps,
        host_gbps,
        breakout=breakout,
        uplink_breakout=uplink_breakout,
    )
    return ClosPlan(
        down,
        tuple(layers),
        link_gbps,
        leaf_radix=ports[0],
        breakout=breakout,
        uplink_breakout=uplink_breakout,
    )


def _per_tier(value: float | Sequence[float], n: int, name: str) -> list[float]:
    if isinstance(value, (int, float)):
        return [value] * n
    if len(value) != n:
        raise ParameterError(f"{name} lists {len(value)} values; this fabric needs {n}, one for each tier")
    return list(value)


def _sized(
    hosts: int,
    radices: list[int],
    tapers: list[float],
    link: float,
    host: float,
    *,
    breakout: int,
    uplink_breakout: int,
) -> tuple[int, list[Layer]]:
    """Hosts a leaf and the layers above, each as small as the hosts allow."""
    tiers = len(radices)
    if tiers == 1:
        if hosts > radices[0] * breakout:
            shared = f" that {breakout} share each" if breakout > 1 else ""
            raise ParameterError(f"{hosts} hosts do not fit one switch of {radices[0]} ports{shared}; use more tiers")
        return hosts, []
    down, uplinks = split_ports(radices[0], tapers[0], down_gbps=host * breakout, up_gbps=link)
    down, uplinks = down * breakout, uplinks * uplink_breakout
    most = down
    for tier in range(1, tiers):
        most *= radices[tier] if tier == tiers - 1 else split_ports(radices[tier], tapers[tier])[0]
    if hosts > most:
        raise ParameterError(
            f"{hosts} hosts do not fit {tiers} tiers of radix {radices}: at most {most}; use more tiers"
        )
    blocks = math.ceil(hosts / down)
    layers: list[Layer] = []
    for tier in range(1, tiers):
        is_top = tier == tiers - 1
        ports_down = radices[tier] if is_top else split_ports(radices[tier], tapers[tier])[0]
        groups = 1 if is_top else math.ceil(blocks / ports_down)
        children = math.ceil(blocks / groups)
        width = even_width(children * uplinks, ports_down, uplinks)
        layers.append(Layer(children, width, uplinks // width, radices[tier]))
        if not is_top:
            used_down = children * uplinks // width
            uplinks = math.ceil(used_down / tapers[tier] - 1e-9)
        blocks = groups
    return down, layers
