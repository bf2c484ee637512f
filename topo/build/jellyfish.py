"""Random graphs of switches: Jellyfish, and the random graph of the same equipment as any fabric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import drawn_by, switches_with_hosts
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin, expect_fabric
from topo.table import Array, freeze, grouped_order
from topo.units import parse_gbps

__all__ = ["is_connected", "jellyfish", "random_graph_like", "random_links"]

_MOST_DRAWS = 100
_MOST_TRIES = 10_000


def jellyfish(
    switches: int,
    links_per_switch: int,
    hosts_per_switch: int,
    *,
    seed: int = 0,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """A random graph in which every switch has ``links_per_switch`` links to others and so many hosts.

    There are switches * links_per_switch / 2 links, no two of them between the same switches; the graph is connected.
    ``seed`` draws it, the same one every time (Singla et al., NSDI 2012). Draws are repaired pairings of ports, close
    to uniform over such graphs.

    >>> f = jellyfish(20, 4, 2)
    >>> len(f.endpoints), int(f.links.kind.is_any("scale_out").sum())
    (40, 40)

    :raises ParameterError: an odd number of ports, or more links a switch than others, with the nearest that can be.
    """
    positive(switches=switches, links_per_switch=links_per_switch, hosts_per_switch=hosts_per_switch)
    refuse_too_many(float(switches) * links_per_switch / 2, "links")
    if links_per_switch > switches - 1:
        raise ParameterError(
            f"links_per_switch is {links_per_switch}, but a switch has {switches - 1} others; use at most so many"
        )
    if links_per_switch == 1 and switches > 2:
        raise ParameterError("links_per_switch is 1, which joins two switches and no more; the nearest is 2")
    if switches % 2 and links_per_switch % 2:
        near = " or ".join(str(n) for n in (links_per_switch - 1, links_per_switch + 1) if 1 < n < switches)
        raise ParameterError(
            f"links_per_switch is {links_per_switch}, odd on an odd number of {switches} switches; use {near} "
            f"or {switches + 1} switches"
        )
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"Jellyfish of {switches} switches, seed {seed}")
    rows = switches_with_hosts(
        assembly,
        numbered("switch-{}", np.arange(1, switches + 1)),
        hosts_per_switch,
        link_gbps=rate,
        host_gbps=rate if host_gbps is None else parse_gbps(host_gbps),
        radix=radix,
    )
    a, b = random_links(np.full(switches, links_per_switch), drawn_by(seed))
    assembly.connect(rows[a], rows[b], rate)
    made_by = f"jellyfish({switches}, {links_per_switch}, {hosts_per_switch}, seed={seed})"
    return assembly.finish(Origin(made_by=made_by))


def random_graph_like(fabric: Fabric, *, seed: int = 0) -> Fabric:
    """The same switches, hosts, ports and rates with the cables between switches drawn anew at random.

    Every switch keeps its hosts and as many cables of each rate to other switches as it had, so nothing is bought or
    sold: the yardstick against which Singla et al. (NSDI 2012) and Jyothi et al. (SC 2016) hold topologies. Two
    switches may get parallel cables only where the numbers leave no other way.

    >>> import topo
    >>> tree = topo.fat_tree(8)
    >>> drawn = random_graph_like(tree, seed=1)
    >>> len(drawn.links) == len(tree.links), drawn.equals(tree)
    (True, False)

    :raises ParameterError: no cables between switches, or none of the draws is connected.
    """
    expect_fabric(fabric)
    switch = fabric.nodes.kind.is_any("switch")
    rows = np.flatnonzero(switch[fabric.link_a] & switch[fabric.link_b])
    if not len(rows):
        raise ParameterError(f"{fabric.name} has no cables between switches to draw anew")
    rng = drawn_by(seed)
    rate, kind = fabric.links.capacity_gbps[rows], fabric.links.kind.codes[rows]
    classes = np.unique(np.stack([np.nan_to_num(rate, nan=-1.0), kind]), axis=1, return_inverse=True)[1].ravel()
    before = _n_parts(len(fabric.nodes), fabric.link_a, fabric.link_b)
    for _ in range(_MOST_DRAWS):
        port_a, port_b = fabric.links.port_a.copy(), fabric.links.port_b.copy()
        for one in range(int(classes.max()) + 1):
            mine = rows[classes == one]
            port_a[mine], port_b[mine] = _redrawn(fabric, mine, rng)
        a, b = fabric.ports.node[port_a], fabric.ports.node[port_b]
        if _n_parts(len(fabric.nodes), a, b) <= before:
            cable = fabric.links.cable.copy()
            cable[rows] = -1
            links = replace(fabric.links, port_a=freeze(port_a), port_b=freeze(port_b), cable=freeze(cable))
            origin = Origin(made_by=f"random_graph_like({fabric.name}, seed={seed})")
            return replace(fabric, name=f"random graph like {fabric.name}, seed {seed}", links=links, origin=origin)
    raise ParameterError(
        f"no connected graph in {_MOST_DRAWS} draws from the equipment of {fabric.name}; use more links"
    )


def _redrawn(fabric: Fabric, links: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Ports of the links, paired anew."""
    ports = np.concatenate([fabric.links.port_a[links], fabric.links.port_b[links]])
    node = fabric.ports.node[ports]
    owners, place = np.unique(node, return_inverse=True)
    degree = np.bincount(place)
    a, b = random_links(degree, rng, connected=False, simple=False)
    held = ports[np.argsort(place, kind="stable")]
    ends = np.concatenate([a, b])
    order = grouped_order(ends.astype(np.int32), len(owners))
    given = np.empty(len(ends), held.dtype)
    given[order] = held
    return given[: len(a)], given[len(a) :]


def random_links(
    degree: Array, rng: np.random.Generator, *, connected: bool = True, simple: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A random graph with these degrees: ports paired at random, then loops and doubles traded away.

    With ``simple`` False doubles that cannot be traded away stay, loops never do.

    :raises ParameterError: no such graph was found.
    """
    n = len(degree)
    regular = bool((degree == degree[0]).all())
    if regular and 2 * int(degree[0]) > n - 1 >= int(degree[0]):
        return _complement(n, n - 1 - int(degree[0]), rng)
    for _ in range(_MOST_DRAWS):
        stubs = rng.permutation(np.repeat(np.arange(n), degree))
        a, b = stubs[0::2].copy(), stubs[1::2].copy()
        if _traded(a, b, n, rng, simple=simple) and (not connected or is_connected(n, a, b)):
            return a, b
    raise ParameterError(f"no connected graph of {n} switches with these numbers of links in {_MOST_DRAWS} draws")


def _complement(n: int, missing: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """A dense regular graph as all pairs but those of a sparse one."""
    absent = np.ones((n, n), bool)
    if missing:
        a, b = random_links(np.full(n, missing), rng, connected=False)
        absent[a, b] = absent[b, a] = False
    low, high = np.triu_indices(n, 1)
    mine = absent[low, high]
    return low[mine], high[mine]


def _traded(a: Array, b: Array, n: int, rng: np.random.Generator, *, simple: bool) -> bool:
    """Trade ends of bad links with random good ones, in place; whether none is left that may not stay."""
    key = np.minimum(a, b) * n + np.maximum(a, b)
    first = np.zeros(len(a), bool)
    first[np.unique(key, return_index=True)[1]] = True
    bad = np.flatnonzero((a == b) | ~first)
    good = np.ones(len(a), bool)
    good[bad] = False
    held = set(key[good].tolist())
    for one in bad.tolist():
        for other in rng.integers(len(a), size=_MOST_TRIES).tolist():
            if not good[other]:
                continue
            new, moved = _key(a[one], a[other], n), _key(b[one], b[other], n)
            if a[one] == a[other] or b[one] == b[other] or new == moved or new in held or moved in held:
                a[other], b[other] = b[other], a[other]
                continue
            held.discard(_key(a[other], b[other], n))
            held |= {new, moved}
            a[other], b[one] = b[one], a[other]
            good[one] = True
            break
        else:
            if simple or a[one] == b[one]:
                return False
    return True


def _key(x: int, y: int, n: int) -> int:
    return int(min(x, y)) * n + int(max(x, y))


def is_connected(n: int, a: Array, b: Array) -> bool:
    """Whether links a - b join all of n nodes."""
    return _n_parts(n, a, b) == 1


def _n_parts(n: int, a: Array, b: Array) -> int:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n))
    return int(connected_components(joined, directed=False)[0])
