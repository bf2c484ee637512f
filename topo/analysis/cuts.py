"""Exact minimum cut between two sets of nodes, with the links of the cut by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.attachments import attachments, network_parts
from topo.analysis.flow import Flow, max_flow
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST, Fabric, LinkSet, Selector, State, expect_fabric
from topo.network import Network, kinds_in_words
from topo.result import Result, Row, Standing, hidden
from topo.table import Array

__all__ = ["MinCut", "component_sizes", "min_cut", "usable_arcs"]


@dataclass(frozen=True, eq=False)
class MinCut(Result):
    """Least capacity whose loss separates the sources from the sinks, in Gb/s one direction, and the links it runs
    through; equal to the most traffic the sources can send the sinks (Ford and Fulkerson)."""

    capacity_gbps: float
    exact: bool
    links: LinkSet
    n_sources: int
    n_sinks: int
    kinds: tuple[str, ...]
    source_side: NDArray[np.bool_] = hidden()
    title: ClassVar[str] = "Minimum cut"

    @property
    def standing(self) -> Standing:
        """Exact, or an upper bound where the flow may pass through a host that holds both a source and a sink."""
        if self.exact:
            return Standing("exact", "max-flow equals the cut")
        return Standing("upper bound", "traffic of others may pass through hosts that hold a source and a sink")

    def rows(self) -> list[Row]:
        """The answer line by line."""
        return [
            Row("capacity, one direction", self.capacity_gbps, "Gb/s", self.standing),
            Row("links in the cut", len(self.links)),
            Row("sources, sinks", f"{self.n_sources:,}, {self.n_sinks:,}"),
            Row("links looked at", kinds_in_words(self.kinds)),
        ]


def min_cut(
    fabric: Fabric,
    sources: Selector,
    sinks: Selector,
    *,
    kinds: Sequence[str] | None = None,
    state: State | None = None,
    one_sided: bool = False,
) -> MinCut:
    """Minimum cut from ``sources`` to ``sinks`` over the links that carry traffic; parallel links all count.

    Both are selectors: globs over node or host names, rows, or a mask. Nothing relays through a node that does not
    forward. A link at rate 0 is present: it may stand in the cut with 0. Exact, the cut's capacity equals a flow;
    an upper bound only where traffic enters and leaves an opened host that holds both a source and a sink, since
    whose it is cannot be told apart. Nodes that ``state`` takes down are no sources or sinks.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4)
    >>> cut = min_cut(f, "host-[1-4]", "host-[5-8]")
    >>> cut.capacity_gbps, len(cut.links)
    (800.0, 2)

    :raises ParameterError: a selector matches nothing, a node is both source and sink, or an unknown link kind.
    :raises DisconnectedError: no path joins them, with the sizes of the parts.
    :raises InputError: a link of unknown rate.
    """
    expect_fabric(fabric)
    source_rows, sink_rows = fabric.rows(sources), fabric.rows(sinks)
    if state is not None and state.node_present is not None:
        source_rows, sink_rows = source_rows[state.node_present[source_rows]], sink_rows[state.node_present[sink_rows]]
    if not source_rows.size or not sink_rows.size:
        raise ParameterError("min_cut needs at least one source and one sink that are up")
    label = np.arange(2, len(fabric.nodes) + 2, dtype=np.int32)
    label[source_rows] = 0
    both = sink_rows[label[sink_rows] == 0]
    if both.size:
        raise ParameterError(
            f"{str(fabric.nodes.name[both[0]])!r} is both source and sink ({both.size} in all); choose disjoint sets"
        )
    network = Network.of(fabric, kinds=kinds, state=state, one_sided=one_sided)
    tail, head, link = usable_arcs(network, source_rows, sink_rows)
    label[sink_rows] = 1
    capacity = np.zeros(len(fabric.links))
    capacity[network.links] = network.capacity_gbps
    used = np.zeros(len(fabric.nodes) + 2, bool)
    used[:2] = True
    from_, to = label[tail], label[head]
    used[from_] = used[to] = True
    number = np.cumsum(used) - 1
    flow = max_flow(int(number[-1]) + 1, number[from_], number[to], capacity[link], 0, 1)
    if flow.value == 0:
        _require_path(network, label, tail, head)
    node_side = (flow.source_side[number] & used)[label]
    crossing = node_side[tail] & ~node_side[head]
    in_cut = np.zeros(len(fabric.links), bool)
    in_cut[link[crossing]] = True
    rows = np.flatnonzero(in_cut)
    total = math.fsum(capacity[link[crossing]].tolist())
    if abs(total - flow.value) > 1e-9 * max(1.0, total):
        raise ArithmeticError(f"flow {flow.value} and cut {total} differ; please report this fabric")
    links = LinkSet.of(fabric, rows, capacity[rows])
    exact = not _may_pass_a_mixed_host(fabric, source_rows, sink_rows, label, number, flow)
    return MinCut(total, exact, links, len(source_rows), len(sink_rows), network.kinds, node_side)


def _may_pass_a_mixed_host(
    fabric: Fabric, sources: Array, sinks: Array, label: Array, number: Array, flow: Flow
) -> bool:
    """Whether the flow both enters and leaves an opened host that holds a source and a sink."""
    host = fabric.nodes.host.codes
    own = (fabric.nodes.forwards == FORWARDS_OWN_HOST) & (host >= 0)
    if not own.any():
        return False
    mixed = np.intersect1d(host[sources], host[sinks])
    mine = own & np.isin(host, mixed[mixed >= 0])
    if not mine.any():
        return False
    host_of = np.full(len(flow.source_side), -1)
    host_of[number[label[mine]]] = host[mine]
    inside, outside = host_of[flow.tail], host_of[flow.head]
    crossing = (inside != outside) & (flow.tail > 1) & (flow.head > 1)
    leaves, enters = inside[crossing & (inside >= 0)], outside[crossing & (outside >= 0)]
    return bool(np.isin(leaves, enters).any())


def usable_arcs(network: Network, sources: Array, sinks: Array) -> tuple[Array, Array, Array]:
    """Arcs that traffic from ``sources`` to ``sinks`` may use: (tail, head, link row).

    A node that forwards nothing is used only as an end. A part of a host carries only its own host's traffic: arcs
    into a host without sinks and out of a host without sources are left out, but for those over which traffic of the
    host goes through the switch chips of its scale-up domain and comes back.
    """
    fabric = network.fabric
    forwards = fabric.nodes.forwards
    is_source = np.zeros(len(fabric.nodes), bool)
    is_sink = np.zeros(len(fabric.nodes), bool)
    is_source[sources], is_sink[sinks] = True, True
    tail = np.concatenate([network.a, network.b])
    head = np.concatenate([network.b, network.a])
    may_leave = (forwards == FORWARDS_ALL) | is_source
    may_enter = (forwards == FORWARDS_ALL) | is_sink
    own = forwards == FORWARDS_OWN_HOST
    keep = may_leave[tail] & may_enter[head]
    if own.any():
        host = fabric.nodes.host.codes
        has_source, has_sink = _host_holds(host, is_source), _host_holds(host, is_sink)
        own_leave, own_enter = may_leave | (own & has_source), may_enter | (own & has_sink)
        may_pass = own | may_leave | may_enter
        inside = (host[tail] == host[head]) & (has_source | has_sink)[tail] & may_pass[tail] & may_pass[head]
        # Over the switch chips of its domain a host's own traffic may come back to another part of the host.
        domain = fabric.nodes.domain.codes
        scale_up = np.tile(fabric.links.kind.is_any("scale_up")[network.links], 2)
        passes = may_leave | may_enter | (own & (has_source | has_sink))
        within = scale_up & (domain[tail] == domain[head]) & (domain[tail] >= 0) & passes[tail] & passes[head]
        keep = (own_leave[tail] & own_enter[head]) | inside | within
    link = np.concatenate([network.links, network.links])
    return tail[keep], head[keep], link[keep]


def _host_holds(host: Array, mask: Array) -> Array:
    """Which nodes sit in a host that holds a node of ``mask``."""
    held = np.zeros(int(host.max(initial=-1)) + 2, bool)
    held[host[mask & (host >= 0)]] = True
    return held[host] & (host >= 0)


def component_sizes(network: Network) -> tuple[int, ...]:
    """Endpoints in each part of the network that relays join, largest first.

    One on several parts, as with separate planes, counts in each, since it relays for nobody; one on none is a part.
    """
    sizes, _, alone = network_parts(attachments(network))
    return (*sizes, *[1] * alone)


def _require_path(network: Network, label: Array, tail: Array, head: Array) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(label) + 2
    a, b = label[tail], label[head]
    moves = a != b
    graph = coo_array((np.ones(int(moves.sum()), np.int8), (a[moves], b[moves])), shape=(n, n)).tocsr()
    if 1 not in breadth_first_order(graph, 0, directed=True, return_predecessors=False):
        sizes = component_sizes(network)
        shown = ", ".join(f"{s:,}" for s in sizes[:8]) + (", ..." if len(sizes) > 8 else "")
        raise DisconnectedError(
            f"no path from the sources to the sinks over {network.kinds_text}: disconnected; "
            f"components of {shown} endpoints",
            sizes,
        )
