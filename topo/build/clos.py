"""Folded Clos fabrics: leaf-spine, k-ary fat-tree, and any number of tiers with radix and taper per tier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["Layer", "add_layer", "clos", "even_width", "fat_tree", "leaf_spine", "positive", "split_ports"]

_SWITCH = {1: "leaf", 2: "spine", 3: "core"}
_BLOCK = {2: "pod", 3: "zone"}


@dataclass(frozen=True, slots=True)
class Layer:
    """A switch tier above the leaves: each block joins ``children`` blocks below.

    Switch i of every child block connects to its own ``width`` switches of this tier, by ``parallel`` links each.
    """

    children: int
    width: int
    parallel: int = 1
    radix: int = 0


def positive(**numbers: int) -> None:
    """Refuse counts that are not whole numbers of at least 1.

    :raises ParameterError: naming the parameter and its value.
    """
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ParameterError(f"{name} is {value!r}; it must be a whole number of at least 1")


def even_width(links_below: int, ports_down: int, uplinks: int) -> int:
    """Fewest upper switches that take ``links_below`` cables on ``ports_down`` ports each and divide ``uplinks``.

    The second condition gives every pair of switches the same number of parallel links; published spine counts
    follow it: 24 leaves of 32 uplinks need 12 spines of 64 ports, but 32 is not a multiple of 12, so 16 are built.

    >>> even_width(24 * 32, 64, 32), even_width(32 * 72, 144, 72)
    (16, 18)

    :raises ParameterError: even one upper switch for each uplink has too few ports.
    """
    least = math.ceil(links_below / ports_down)
    for width in range(max(1, least), uplinks + 1):
        if uplinks % width == 0:
            return width
    raise ParameterError(
        f"{links_below} links from below do not fit: with {uplinks} uplinks a switch there are at most {uplinks} "
        f"switches of {ports_down} ports above; use a larger radix, fewer switches below, or one more tier"
    )


def split_ports(radix: int, taper: float, *, down_gbps: float = 1.0, up_gbps: float = 1.0) -> tuple[int, int]:
    """Most down-ports with the up-ports that keep down over up capacity at or below ``taper``.

    >>> split_ports(64, 1.0), split_ports(48, 2.0), split_ports(64, 2.0)
    ((32, 32), (32, 16), (42, 21))
    """
    for down in range(radix - 1, 0, -1):
        up = math.ceil(down * down_gbps / (taper * up_gbps) - 1e-9)
        if down + up <= radix:
            return down, up
    raise ParameterError(f"a switch of {radix} ports cannot hold a taper of {taper:g}:1")


def add_layer(
    assembly: Assembly,
    below: Array,
    layer: Layer,
    gbps: float,
    *,
    tier: int,
    switch: str,
    block: str,
    part: str | None = None,
    label_blocks: bool = True,
) -> Array:
    """Add one switch tier over ``below``, an array (blocks, switches); returns the new one (blocks, switches).

    Switch i of a lower block goes to plane i: ``layer.width`` switches that take switch i of every child block.
    """
    n_blocks, per_block = below.shape
    group = np.arange(n_blocks) // layer.children
    n_groups = int(group[-1]) + 1
    size = per_block * layer.width
    block_no = np.repeat(np.arange(1, n_groups + 1), size)
    switch_no = np.tile(np.arange(1, size + 1), n_groups)
    names = numbered(f"{switch}-{{}}", switch_no)
    pod: Labels | None = None
    if n_groups > 1:
        names = numbered(f"{block}-{{}}-{switch}-{{}}", block_no, switch_no)
        if label_blocks:
            pod = Labels(block_no - 1, numbered(f"{block}-{{}}", np.arange(1, n_groups + 1)))
    rows = assembly.add_nodes(names, kind="switch", tier=tier, radix=layer.radix, port_gbps=gbps, pod=pod, part=part)
    upper = rows.reshape(n_groups, per_block, layer.width)
    assembly.stripe(below[:, :, None], upper[group], layer.parallel, gbps)
    return rows.reshape(n_groups, size)


def _folded(
    name: str,
    n_hosts: int,
    hosts_per_leaf: int,
    layers: Sequence[Layer],
    *,
    link_gbps: float,
    host_gbps: float,
    leaf_radix: int = 0,
    made_by: str,
) -> Fabric:
    assembly = Assembly(name)
    n_leaves = math.ceil(n_hosts / hosts_per_leaf)
    leaf = np.arange(n_hosts) // hosts_per_leaf
    pods = len(layers) > 1
    pod_of_leaf = np.arange(n_leaves) // layers[0].children if pods else np.zeros(n_leaves, int)
    pod_names = numbered("pod-{}", np.arange(1, pod_of_leaf[-1] + 2))
    hosts = numbered("host-{}", np.arange(1, n_hosts + 1))
    host_rows = assembly.add_nodes(
        hosts,
        kind="host",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels(np.arange(n_hosts), hosts),
        pod=Labels(pod_of_leaf[leaf], pod_names) if pods else None,
    )
    if pods:
        leaf_names = numbered("pod-{}-leaf-{}", pod_of_leaf + 1, np.arange(n_leaves) % layers[0].children + 1)
    else:
        leaf_names = numbered("leaf-{}", np.arange(1, n_leaves + 1))
    leaf_rows = assembly.add_nodes(
        leaf_names,
        kind="switch",
        tier=1,
        radix=leaf_radix,
        port_gbps=link_gbps if leaf_radix else np.nan,
        pod=Labels(pod_of_leaf, pod_names) if pods else None,
    )
    assembly.connect(host_rows, leaf_rows[leaf], host_gbps, kind="access")
    below = leaf_rows.reshape(-1, 1)
    for tier, layer in enumerate(layers, start=2):
        below = add_layer(
            assembly,
            below,
            layer,
            link_gbps,
            tier=tier,
            switch=_SWITCH.get(tier, f"tier{tier}"),
            block=_BLOCK.get(tier, f"block{tier}"),
        )
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
        hosts_per_leaf,
        [Layer(leaves, spines, parallel)],
        link_gbps=parse_gbps(link_gbps),
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
        raise ParameterError(f"k is {k}; a fat-tree needs an even number of ports, so {k - 1 or 2} or {k + 1}")
    half = k // 2
    return _folded(
        f"fat-tree k={k}",
        k * half * half,
        half,
        [Layer(half, half, 1), Layer(k, half, 1)],
        link_gbps=parse_gbps(link_gbps),
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
    positive(hosts=hosts, tiers=tiers)
    radices = _per_tier(radix, tiers, "radix")
    tapers = _per_tier(taper, max(tiers - 1, 1), "taper")
    positive(**{f"radix of tier {i}": int(r) for i, r in enumerate(radices, 1)})
    if any(not (t > 0 and math.isfinite(t)) for t in tapers):
        raise ParameterError(f"taper is {taper!r}; it must be above 0, 1.0 for non-blocking")
    link = parse_gbps(link_gbps)
    host = link if host_gbps is None else parse_gbps(host_gbps)
    down, layers = _sized(hosts, [int(r) for r in radices], [float(t) for t in tapers], link, host)
    return _folded(
        f"clos {tiers} tiers, {hosts} hosts",
        hosts,
        down,
        layers,
        link_gbps=link,
        host_gbps=host,
        leaf_radix=int(radices[0]),
        made_by=f"clos({hosts}, tiers={tiers}, radix={radix}, taper={taper}, link_gbps={link_gbps}, "
        f"host_gbps={host_gbps})",
    )


def _per_tier(value: float | Sequence[float], n: int, name: str) -> list[float]:
    if isinstance(value, (int, float)):
        return [value] * n
    if len(value) != n:
        raise ParameterError(f"{name} lists {len(value)} values; this fabric needs {n}, one for each tier")
    return list(value)


def _sized(hosts: int, radices: list[int], tapers: list[float], link: float, host: float) -> tuple[int, list[Layer]]:
    """Hosts a leaf and the layers above, each as small as the hosts allow."""
    tiers = len(radices)
    if tiers == 1:
        if hosts > radices[0]:
            raise ParameterError(f"{hosts} hosts do not fit one switch of {radices[0]} ports; use more tiers")
        return hosts, []
    down, uplinks = split_ports(radices[0], tapers[0], down_gbps=host, up_gbps=link)
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
