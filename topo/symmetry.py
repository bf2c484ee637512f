"""Symmetry that is proved: automorphisms of a network, and the classes of nodes, links and arcs they join."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.errors import FabricError, ParameterError
from topo.fabric import FORWARDS_OWN_HOST, Fabric
from topo.network import Network
from topo.table import Array, freeze, ranges
from topo.twins import fold

__all__ = ["Symmetry", "symmetry"]

_MOST_VERTICES = 60_000


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Classes of a network's nodes, links and arcs under verified automorphisms.

    Two rows with the same entry of ``node_class`` (``arc_class``) can be exchanged by relabelling the network
    without changing it: kinds, forwarding, tiers, presence, rates and wiring stay. A measure that reads nothing
    else is the same at both. Rows outside the network have class -1. Finer classes than the true ones are
    possible and safe; coarser ones are not: ``n_generators`` permutations were each checked link by link.
    """

    node_class: NDArray[np.int64]
    arc_class: NDArray[np.int64]
    n_generators: int

    @cached_property
    def link_class(self) -> NDArray[np.int64]:
        """Classes of links, both directions taken together; -1 outside the network."""
        pairs = self.arc_class.reshape(-1, 2)
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        joined = _components(int(pairs.max(initial=0)) + 1, low[low >= 0], high[low >= 0])
        return freeze(_compact(np.where(low >= 0, joined[low], -1)))

    def representatives(self, which: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First row of each class of ``node``, ``link`` or ``arc``, in class order, and how many rows each has."""
        of = {"node": self.node_class, "link": self.link_class, "arc": self.arc_class}[which]
        inside = np.flatnonzero(of >= 0)
        _, first, count = np.unique(of[inside], return_index=True, return_counts=True)
        return inside[first], count


def symmetry(network: Network, *, label: Array | None = None) -> Symmetry:
    """Verified symmetry classes of a network; ``label`` (one integer a node) is kept as well.

    Nodes with equal neighbours are folded first, with all that hangs on them alone, which is an automorphism by
    construction, then parallel equal cables; igraph's BLISS proposes generators of what is left (up to 60,000
    vertices; beyond, only twins are used), and every proposal is verified on all links at the nodes it moves. Parts
    of opened hosts keep their host and domain.

    >>> import topo
    >>> found = symmetry(topo.Network.of(topo.fat_tree(4)))
    >>> found.representatives("link")[1].tolist()   # host links, leaf-spine, spine-core
    [16, 16, 16]

    :raises ParameterError: ``label`` of another length than the nodes.
    """
    n = len(network.links)
    folded = _Folded.of(network, label)
    proposals = folded.proposed()
    moves = [folded.arc_images(moved, image) for moved, image in proposals]
    of = _joined(folded.n, proposals)
    arc = _joined(len(folded.key), moves)
    arcs = np.full(2 * len(network.fabric.links), -1, np.int64)
    arcs[2 * network.links] = arc[folded.arc_of[:n]]
    arcs[2 * network.links + 1] = arc[folded.arc_of[n : 2 * n]]
    nodes = of[folded.vertex[: len(network.fabric.nodes)]]
    return Symmetry(freeze(_compact(nodes)), freeze(_compact(arcs)), len(proposals))


@dataclass(frozen=True, eq=False)
class _Folded:
    """The network with twins folded into vertices and parallel equal cables into arcs (sorted integer keys)."""

    n: int
    vertex: NDArray[np.int64]
    colour: NDArray[np.int64]
    code: NDArray[np.int64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    n_codes: int
    key: NDArray[np.int64]
    arc_of: NDArray[np.int64]

    @classmethod
    def of(cls, network: Network, label: Array | None) -> _Folded:
        fabric = network.fabric
        _, code = np.unique(_link_code(network), return_inverse=True)
        part, owner, owner_code = _memberships(fabric)
        n = len(fabric.nodes) + len(owner_code)
        code_of_member = int(code.max(initial=0)) + 1 + owner_code[owner - len(fabric.nodes)]
        a, b = network.a.astype(np.int64), network.b.astype(np.int64)
        tail, head = np.concatenate([a, b, part, owner]), np.concatenate([b, a, owner, part])
        code = np.concatenate([code, code, code_of_member, code_of_member]).astype(np.int64)
        colour = _node_colour(network, label)
        colour = np.concatenate([colour, int(colour.max(initial=0)) + 1 + owner_code])
        real = np.arange(n) < len(fabric.nodes)
        vertex, colour = fold(colour, tail, head, code, real)
        key_tail, key_head = vertex[tail], vertex[head]
        key = (key_tail * n + key_head) * (int(code.max(initial=0)) + 1) + code
        distinct, first, inverse, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        _, kind = np.unique(code[first] * (int(count.max(initial=0)) + 1) + count, return_inverse=True)
        n_codes = int(kind.max(initial=0)) + 1
        ends = key_tail[first], key_head[first]
        sorted_key = (ends[0] * n + ends[1]) * n_codes + kind
        order = np.argsort(sorted_key)
        rank = np.empty(len(distinct), np.int64)
        rank[order] = np.arange(len(distinct))
        return cls(
            n, vertex, colour, kind[order], ends[0][order], ends[1][order], n_codes, sorted_key[order], rank[inverse]
        )

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where the arcs of each tail begin."""
        return np.asarray(np.searchsorted(self.tail, np.arange(self.n + 1)), np.int64)

    @cached_property
    def reverse(self) -> NDArray[np.int64]:
        """The arc the other way round."""
        return np.asarray(np.searchsorted(self.key, (self.head * self.n + self.tail) * self.n_codes + self.code))

    def arc_images(self, moved: Array, image: Array) -> tuple[Array, Array]:
        """Arcs at moved vertices and the arcs they are mapped to.

        :raises FabricError: an arc without an image: what was proposed is no automorphism.
        """
        to = np.arange(self.n)
        to[moved] = image
        out, _ = ranges(self.start[moved], self.start[moved + 1] - self.start[moved])
        at = np.concatenate([out, self.reverse[out]])
        wanted = (to[self.tail[at]] * self.n + to[self.head[at]]) * self.n_codes + self.code[at]
        found = np.minimum(np.searchsorted(self.key, wanted), max(len(self.key) - 1, 0))
        bad = np.flatnonzero(self.key[found] != wanted) if len(self.key) else np.empty(0, np.int64)
        if bad.size:
            arc = at[bad[0]]
            raise FabricError(
                f"no automorphism: the link between nodes {self.tail[arc]} and {self.head[arc]} would lie between "
                f"{to[self.tail[arc]]} and {to[self.head[arc]]}, where there is none like it"
            )
        return at, found

    def proposed(self) -> list[tuple[Array, Array]]:
        """Generators found by BLISS on the folded graph; arcs of another code than the commonest are vertices."""
        used = np.unique(self.vertex)
        forward = np.flatnonzero(self.tail < self.head)
        if not forward.size or len(used) > _MOST_VERTICES:
            return []
        import igraph

        at = np.full(self.n, -1)
        at[used] = np.arange(len(used))
        pair_code = self.code[forward]
        special = np.flatnonzero(pair_code != np.bincount(pair_code).argmax())
        middle = len(used) + np.arange(len(special))
        plain = np.ones(len(forward), bool)
        plain[special] = False
        tail, head = at[self.tail[forward]], at[self.head[forward]]
        edges = np.concatenate(
            [
                np.stack([tail[plain], head[plain]], axis=1),
                np.stack([tail[special], middle], axis=1),
                np.stack([middle, head[special]], axis=1),
            ]
        )
        colours = np.concatenate([self.colour[used], int(self.colour.max()) + 1 + pair_code[special]])
        _, colours = np.unique(colours, return_inverse=True)
        graph = igraph.Graph(n=len(used) + len(special), edges=edges.tolist())
        found = []
        for generator in graph.automorphism_group(color=colours.tolist()):
            image = np.asarray(generator)[: len(used)]
            moved = np.flatnonzero(image != np.arange(len(used)))
            found.append((used[moved], used[image[moved]]))
        return found


def _link_code(network: Network) -> Array:
    """One integer a link for what its rate and kind are (unknown rates are alike)."""
    rate = network.fabric.links.capacity_gbps
    if network.state is not None:
        rate = network.state.link_capacity_gbps(network.fabric)
    _, rate_code = np.unique(np.nan_to_num(rate[network.links], nan=-1.0), return_inverse=True)
    kinds = network.fabric.links.kind
    code = np.asarray(rate_code * (len(kinds.labels) + 1) + kinds.codes[network.links] + 1, np.int64)
    # Routing may charge links between groups more, so an automorphism must keep them apart.
    return 2 * code + network.is_global


def _node_colour(network: Network, label: Array | None) -> Array:
    """One integer a node for the columns an analysis may read."""
    nodes = network.fabric.nodes
    present = np.ones(len(nodes), bool)
    if network.state is not None and network.state.node_present is not None:
        present = network.state.node_present
    columns = [nodes.kind.codes, nodes.tier, nodes.is_endpoint, nodes.forwards, present]
    if label is not None:
        if len(label) != len(nodes):
            raise ParameterError(f"label has {len(label)} entries for {len(nodes)} nodes")
        columns.append(label)
    colour = np.zeros(len(nodes), np.int64)
    for column in columns:
        values, rank = np.unique(np.asarray(column), return_inverse=True)
        _, colour = np.unique(colour * len(values) + rank, return_inverse=True)
    return colour.astype(np.int64)


def _memberships(fabric: Fabric) -> tuple[Array, Array, Array]:
    """Parts of opened hosts and domains with a vertex for each of those: (part, owner vertex), and owner kinds.

    Who may relay for whom depends on sharing a host or a domain, so an automorphism must keep both.
    """
    nodes, n = fabric.nodes, len(fabric.nodes)
    part, owner, kinds, n_owners = [], [], [], 0
    for kind, labels in enumerate((nodes.host, nodes.domain)):
        of = labels.codes.astype(np.int64)
        opened = np.unique(of[(nodes.forwards == FORWARDS_OWN_HOST) & (of >= 0)])
        index = np.full(len(labels.labels) + 1, -1, np.int64)
        index[opened] = n_owners + np.arange(len(opened))
        member = np.flatnonzero(index[of] >= 0)
        part.append(member)
        owner.append(n + index[of[member]])
        kinds.append(np.full(len(opened), kind))
        n_owners += len(opened)
    return np.concatenate(part), np.concatenate(owner), np.concatenate(kinds)


def _joined(n: int, moves: list[tuple[Array, Array]]) -> NDArray[np.int64]:
    """For each of n elements the least one that the moves (elements, their images) join it with."""
    if not moves:
        return np.arange(n)
    return _components(n, np.concatenate([a for a, _ in moves]), np.concatenate([b for _, b in moves]))


def _components(n: int, a: Array, b: Array) -> NDArray[np.int64]:
    """For each of n elements the least element joined with it."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, of = connected_components(coo_array((np.ones(len(a), bool), (a, b)), shape=(n, n)), directed=False)
    _, first = np.unique(of, return_index=True)
    return np.asarray(first[of], np.int64)


def _compact(of: Array) -> NDArray[np.int64]:
    """The same classes numbered 0, 1, ... by first row; -1 stays."""
    inside = of >= 0
    _, first, inverse = np.unique(of[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    out = np.full(len(of), -1, np.int64)
    out[inside] = rank[inverse]
    return out
