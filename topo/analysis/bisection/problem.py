"""The bisection question on arrays: units that may not be split, and the switches and links between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from topo.analysis.bisection.opened import Edges, direct_edges, has_parts
from topo.analysis.flow import common_unit
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Selector, State
from topo.network import Network
from topo.table import Array, freeze
from topo.view.text import plural

__all__ = ["KEEP", "Problem", "even_sizes", "inner_switches", "make_problem", "with_edges"]

KEEP = ("host", "domain", "pod", "none")
_KEPT = {"host": "host", "domain": "scale-up domain", "pod": "pod"}


@dataclass(frozen=True, eq=False)
class Problem:
    """Vertices 0..n_units-1 are units, the rest switches; edges are merged bundles of links, capacity in Gb/s.

    Opened hosts stand in it by their direct links, so that its cuts bound the fabric's from below.
    ``vertex_of_node`` maps fabric rows to vertices, -1 where a node takes no part. ``weight`` is endpoints in a unit.
    """

    network: Network
    n_units: int
    n_vertices: int
    weight: NDArray[np.int64]
    vertex_of_node: NDArray[np.int64]
    edge_a: NDArray[np.int64]
    edge_b: NDArray[np.int64]
    capacity: NDArray[np.float64]

    @cached_property
    def chosen(self) -> NDArray[np.int64]:
        """Node rows of the endpoints that take part."""
        return freeze(np.flatnonzero((self.vertex_of_node >= 0) & (self.vertex_of_node < self.n_units)))

    @cached_property
    def unit_gbps(self) -> float:
        """Largest rate that divides every bundle; 0 where there is none."""
        return common_unit(self.capacity)

    @cached_property
    def adjacency(self) -> csr_array:
        """Symmetric capacities between vertices."""
        a, b = np.concatenate([self.edge_a, self.edge_b]), np.concatenate([self.edge_b, self.edge_a])
        shape = (self.n_vertices, self.n_vertices)
        return csr_array((np.concatenate([self.capacity, self.capacity]), (a, b)), shape=shape)

    @cached_property
    def injection(self) -> NDArray[np.float64]:
        """Capacity of each unit's own links."""
        total: Array = np.bincount(self.edge_a, self.capacity, self.n_vertices)
        total = total + np.bincount(self.edge_b, self.capacity, self.n_vertices)
        return total[: self.n_units]

    @cached_property
    def is_uniform(self) -> bool:
        """Every unit holds the same number of endpoints."""
        return bool((self.weight == self.weight[0]).all())

    def cut_gbps(self, side: Array) -> float:
        """Capacity between the vertices of the two sides, exact to the common unit."""
        crossing = self.capacity[side[self.edge_a] != side[self.edge_b]]
        if self.unit_gbps:
            return float(np.rint(crossing / self.unit_gbps).sum() * self.unit_gbps)
        return float(np.sort(crossing).sum())


def make_problem(
    fabric: Fabric, endpoints: Selector, keep: str, *, kinds: Sequence[str] | None, state: State | None
) -> Problem:
    """Reduce a fabric to units and switches.

    Endpoints that were not asked for take no part; neither do nodes that forward nothing and are no endpoint.

    :raises ParameterError: fewer than two units, an unknown ``keep``, or pods where there are none.
    :raises DisconnectedError: no path joins all units.
    """
    if keep not in KEEP:
        raise ParameterError(f"keep is {keep!r}; choose one of {', '.join(KEEP)}")
    network = Network.of(fabric, kinds=kinds, state=state)
    chosen = fabric.endpoint_rows(endpoints)
    if state is not None and state.node_present is not None:
        chosen = chosen[state.node_present[chosen]]
    unit = _unit_of(fabric, chosen, keep)
    n_units = int(unit.max(initial=-1)) + 1
    if n_units < 2:
        raise ParameterError(
            f"{plural(len(chosen), 'endpoint')}{_kept(keep, n_units)} cannot be split into halves"
            + ('; with keep "none" endpoints are split singly' if keep != "none" and len(chosen) > 1 else "")
        )
    vertex = np.full(len(fabric.nodes), -1, np.int64)
    relays = fabric.nodes.forwards != FORWARDS_NOTHING
    if state is not None and state.node_present is not None:
        relays &= state.node_present
    vertex[relays] = n_units + np.arange(int(relays.sum()))
    vertex[chosen] = unit
    edges = Edges(network.a.astype(np.int64), network.b.astype(np.int64), network.capacity_gbps)
    weight = np.bincount(unit, minlength=n_units)
    problem = _merged(network, weight, vertex, edges)
    _require_connected(problem)
    if has_parts(network):
        problem = _without_dead_ends(_merged(network, weight, vertex, direct_edges(network, chosen)))
    return with_edges(problem, problem.capacity > 0)


def inner_switches(problem: Problem) -> NDArray[np.bool_]:
    """Vertices that are switches and touch units only."""
    a, b = problem.edge_a, problem.edge_b
    is_unit = np.arange(problem.n_vertices) < problem.n_units
    between = ~is_unit[a] & ~is_unit[b]
    outer, touched = np.zeros(problem.n_vertices, bool), np.zeros(problem.n_vertices, bool)
    outer[a[between]] = outer[b[between]] = True
    touched[a] = touched[b] = True
    inner: NDArray[np.bool_] = touched & ~is_unit & ~outer
    return inner


def _merged(network: Network, weight: Array, vertex: Array, edges: Edges) -> Problem:
    a, b = vertex[edges.a], vertex[edges.b]
    used = (a >= 0) & (b >= 0) & (a != b)
    low, high = np.minimum(a[used], b[used]), np.maximum(a[used], b[used])
    n = int(vertex.max()) + 1
    merged = coo_array((edges.gbps[used], (low, high)), shape=(n, n)).tocsr().tocoo()
    rows, columns = merged.row.astype(np.int64), merged.col.astype(np.int64)
    return Problem(network, len(weight), n, weight, vertex, rows, columns, merged.data)


def with_edges(problem: Problem, kept: Array) -> Problem:
    """The problem with the given bundles only: leaving links out never raises a cut."""
    return replace(
        problem, edge_a=problem.edge_a[kept], edge_b=problem.edge_b[kept], capacity=problem.capacity[kept]
    )  # fmt: skip


def _without_dead_ends(problem: Problem) -> Problem:
    """Switches of one neighbour left out, again and again: nothing passes through them."""
    while True:
        degree = np.bincount(np.concatenate([problem.edge_a, problem.edge_b]), minlength=problem.n_vertices)
        dead = degree == 1
        dead[: problem.n_units] = False
        if not dead.any():
            return problem
        problem = with_edges(problem, ~dead[problem.edge_a] & ~dead[problem.edge_b])


def _kept(keep: str, n_units: int) -> str:
    """In how many hosts, domains or pods that stay whole the endpoints are, as a phrase after them."""
    if keep == "none" or not n_units:
        return ""
    return f" in {plural(n_units, _KEPT[keep])} kept whole"


def even_sizes(weight: Array) -> tuple[int, int]:
    """Endpoints in the smaller and larger half of the most even split that whole units allow.

    >>> even_sizes(np.array([1] * 7)), even_sizes(np.array([8] * 127)), even_sizes(np.array([8, 8, 1, 1, 1]))
    ((3, 4), (504, 512), (9, 10))
    """
    total = int(weight.sum())
    if (weight == weight[0]).all():
        smaller = int(weight[0]) * (len(weight) // 2)
        return smaller, total - smaller
    reachable = 1  # bit i set: some units hold exactly i endpoints
    sizes, counts = np.unique(weight, return_counts=True)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        taken = 1
        while count > 0:  # binary splitting: 1, 2, 4, ... copies at once
            copies = min(taken, count)
            reachable |= reachable << (size * copies)
            count -= copies
            taken *= 2
    smaller = total // 2
    while not reachable >> smaller & 1:
        smaller -= 1
    return smaller, total - smaller


def _unit_of(fabric: Fabric, chosen: Array, keep: str) -> Array:
    """Unit number of each chosen endpoint; those without a host or domain are units of their own."""
    if keep == "none":
        return np.arange(len(chosen))
    codes = getattr(fabric.nodes, keep).codes[chosen].astype(np.int64)
    alone = codes < 0
    if keep == "pod" and alone.all():
        raise ParameterError(f"no endpoint of {fabric.name!r} is in a pod; keep hosts whole instead")
    codes[alone] = codes.max(initial=0) + 1 + np.arange(int(alone.sum()))
    _, unit = np.unique(codes, return_inverse=True)
    return unit


def _parts_of_units(problem: Problem) -> tuple[int, ...]:
    """Endpoints in each connected part, largest first."""
    n = problem.n_vertices
    ones = np.ones(len(problem.edge_a), np.int8)
    _, part = connected_components(coo_array((ones, (problem.edge_a, problem.edge_b)), shape=(n, n)), directed=False)
    sizes = np.bincount(part[: problem.n_units], problem.weight).astype(int)
    return tuple(np.sort(sizes[sizes > 0])[::-1].tolist())


def _require_connected(problem: Problem) -> None:
    sizes = _parts_of_units(problem)
    if len(sizes) == 1:
        return
    shown = ", ".join(f"{s:,}" for s in sizes[:8]) + (", ..." if len(sizes) > 8 else "")
    raise DisconnectedError(
        f"the endpoints are disconnected over {problem.network.kinds_text}: {len(sizes)} components of {shown} "
        "endpoints; bisection bandwidth is of one component: choose its endpoints (--endpoints on the command line)",
        sizes,
    )
