"""A slow oracle that shares nothing with the kernel: dicts, a heap, exact fractions, one destination at a time.

Positions are (node, phase): a part of a host on the way ``out`` of it or on the way ``in``; relays have phase ``""``.
A switch chip of a scale-up domain is passed by a host's own traffic as ``out 3`` or ``in 3`` (3 being the host): from
there it may come back to parts of that host.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from topo.fabric import Fabric, State
from topo.network import LINK_KINDS, Network
from topo.routing.scheme import Routing

Position = tuple[int, str]
Arc = tuple[Position, Position, int, int]  # tail, head, fabric arc, cost


class Oracle:
    """Loads of single pairs on a fabric in a state."""

    def __init__(self, fabric: Fabric, routing: Routing, state: State | None = None) -> None:
        self.fabric, self.routing = fabric, routing
        nodes = fabric.nodes
        self.host = [h if h >= 0 else -1 - i for i, h in enumerate(nodes.host.codes.tolist())]
        self.forwards = nodes.forwards.tolist()
        self.accelerator = nodes.kind.is_any("accelerator").tolist()
        self.tier = nodes.tier.tolist()
        self.domain = nodes.domain.codes.tolist()
        now = Network.of(fabric, state=state)
        self.rate = dict.fromkeys(range(2 * len(fabric.links)), Fraction(0))
        for link, gbps in zip(now.links.tolist(), now.capacity_gbps.tolist(), strict=True):
            self.rate[2 * link] = self.rate[2 * link + 1] = Fraction(gbps)
        self.now = list(self.arcs(now))
        built = Network.of(fabric)
        self.built_rate = {}
        for link, gbps in zip(built.links.tolist(), built.capacity_gbps.tolist(), strict=True):
            self.built_rate[2 * link] = self.built_rate[2 * link + 1] = Fraction(gbps)
        self.built = list(self.arcs(built))
        self.cache: dict[int, tuple[dict[Position, int], dict[Position, list[tuple[Arc, Fraction]]], Position]] = {}

    def arcs(self, network: Network) -> Iterator[Arc]:
        """Arcs between positions, with what relaying accelerators cost besides."""
        opened = {
            v for v, f in enumerate(self.forwards) if self.accelerator[v] and f == 1 and self.host[v] >= 0
        }  # fmt: skip
        rule, costs = self.routing.pxn, dict(self.routing.costs)
        scale_up = costs.get("scale_up", 1)
        more = {"out": 0, "in": 0}
        if opened and rule == "always":
            costs = {kind: (1 + scale_up) * costs.get(kind, 1) for kind in (*LINK_KINDS, "global")}
            costs["scale_up"], more["in"] = scale_up, 1
        elif opened and rule == "needed":
            more = {"out": 1_000_000, "in": 1_000_001}
        for tail, head, arc, cost in self.arcs_at(network, costs):
            yield tail, head, arc, cost + (more.get(tail[1], 0) if tail[0] in opened else 0)

    def arcs_at(self, network: Network, costs: dict[str, int]) -> Iterator[Arc]:
        """Arcs between positions, at the costs of their links."""
        kinds = self.fabric.links.kind.values(network.links).tolist()
        beside = defaultdict(set)
        found = []
        for link, a, b, kind in zip(network.links.tolist(), network.a.tolist(), network.b.tolist(), kinds, strict=True):
            for tail, head, arc in ((a, b, 2 * link), (b, a, 2 * link + 1)):
                comes_back = kind == "scale_up" and self.shares_chip(tail, head)
                found.append((tail, head, arc, costs.get(kind, 1), comes_back))
                if comes_back:
                    beside[head].add(self.host[tail])
        for tail, head, arc, cost, comes_back in found:
            relay_tail, relay_head = self.forwards[tail] == 2, self.forwards[head] == 2
            host = self.host[tail]
            if comes_back:
                yield (tail, "out"), (head, f"out {host}"), arc, cost
                yield (tail, "in"), (head, f"in {host}"), arc, cost
            elif not relay_tail and not relay_head and host == self.host[head]:
                yield (tail, "out"), (head, "out"), arc, cost
                yield (tail, "in"), (head, "in"), arc, cost
            else:
                yield (tail, "" if relay_tail else "out"), (head, "" if relay_head else "in"), arc, cost
            for host in beside[tail]:
                if self.host[head] == host and not relay_head:
                    yield (tail, f"out {host}"), (head, "out"), arc, cost
                    yield (tail, f"in {host}"), (head, "in"), arc, cost
                else:
                    yield (tail, f"out {host}"), (head, "" if relay_head else "in"), arc, cost

    def shares_chip(self, tail: int, head: int) -> bool:
        """Whether an arc leads from a part of a host that passes traffic on to a switch chip of its domain."""
        if self.forwards[tail] != 1 or self.host[tail] < 0 or not self.passes((tail, "out")):
            return False
        return self.forwards[head] == 2 and self.domain[tail] == self.domain[head] >= 0

    def passes(self, position: Position) -> bool:
        """Whether a position carries what is not for itself."""
        node = position[0]
        if self.accelerator[node] and self.forwards[node] != 2 and self.routing.pxn == "never":
            return False
        return self.forwards[node] > 0

    def goes_up(self, arc: Arc) -> int:
        """1 up a tier, -1 down, 0 within one."""
        (tail, tail_phase), (head, head_phase), _, _ = arc
        if head_phase.startswith("in"):
            return -1
        if tail_phase.startswith("out"):
            return 1
        return (self.tier[head] > self.tier[tail]) - (self.tier[head] < self.tier[tail])

    def sinks(self, node: int) -> list[Position]:
        """Where traffic to a node ends; an endpoint on one relay counts as that relay."""
        if self.forwards[node] == 2:
            return [(node, "")]
        arcs = self.built if self.keeps_built else self.now
        before = {(arc[0], arc[3]) for arc in arcs if arc[1] == (node, "in")}
        around = [arc for arc in arcs if arc[1][0] == node]
        if len(before) == 1 and all(arc[0][1] == "" for arc in around):
            alive = any(self.weight_of(a) for a in around)
            return [next(iter(before))[0]] if alive else []
        return [(node, "in"), (node, "out")]

    @property
    def keeps_built(self) -> bool:
        """Whether weights look at what was built."""
        return self.routing.scheme == "wcmp" and self.routing.weights == "path"

    def weight_of(self, arc: Arc) -> Fraction:
        """Split weight before aggregation."""
        return self.rate[arc[2]] if self.routing.scheme == "wcmp" else Fraction(1)

    def distances(self, arcs: list[Arc], sinks: list[Position]) -> dict[Position, tuple[int, bool]]:
        """Least cost to a sink, and whether it is reached going down only (up/down), for every position."""
        if not self.routing.up_down:
            return {p: (d, True) for p, d in self.dijkstra(arcs, dict.fromkeys(sinks, 0), sinks).items()}
        down = self.dijkstra([a for a in arcs if self.goes_up(a) < 0], dict.fromkeys(sinks, 0), sinks)
        up = self.dijkstra([a for a in arcs if self.goes_up(a) > 0 and a[0] not in down], dict(down), sinks)
        return {p: (d, p in down) for p, d in up.items()}

    def dijkstra(self, arcs: list[Arc], start: dict[Position, int], sinks: list[Position]) -> dict[Position, int]:
        """Least costs backwards from ``start``; what does not pass is entered only where it is a sink."""
        into = defaultdict(list)
        for arc in arcs:
            into[arc[1]].append(arc)
        found: dict[Position, int] = {}
        heap = [(d, p) for p, d in start.items()]
        heapq.heapify(heap)
        while heap:
            d, position = heapq.heappop(heap)
            if position in found:
                continue
            found[position] = d
            if position not in sinks and not self.passes(position):
                continue
            for arc in into[position]:
                heapq.heappush(heap, (d + arc[3], arc[0]))
        return found

    def next_hops(
        self, arcs: list[Arc], distance: dict[Position, tuple[int, bool]], sinks: list[Position]
    ) -> dict[Position, list[Arc]]:
        """Arcs of every position that lie on its least-cost paths."""
        result = defaultdict(list)
        for arc in arcs:
            tail, head, _, cost = arc
            if tail not in distance or head not in distance or tail in sinks:
                continue
            if head not in sinks and not self.passes(head):
                continue
            if distance[tail][0] != distance[head][0] + cost:
                continue
            if self.routing.up_down:
                way = self.goes_up(arc)
                if way == 0 or (way < 0) != distance[tail][1] or (way < 0 and not distance[head][1]):
                    continue
            result[tail].append(arc)
        return result

    def towards(
        self, sink_node: int
    ) -> tuple[dict[Position, tuple[int, bool]], dict[Position, list[tuple[Arc, Fraction]]], list[Position]]:
        """Distances and shares of every next hop towards a node."""
        if sink_node in self.cache:
            return self.cache[sink_node]
        sinks = self.sinks(sink_node)
        arcs = [a for a in self.now if self.weight_of(a) > 0]
        distance = self.distances(arcs, sinks)
        hops = self.next_hops(arcs, distance, sinks)
        favour = self.favours(distance, hops, sinks)
        shares = {}
        for position, mine in hops.items():
            weights = [self.aggregated(a, mine) * favour.get(a[1], 1) for a in mine]
            shares[position] = [(a, w / sum(weights)) for a, w in zip(mine, weights, strict=True)]
        self.cache[sink_node] = distance, shares, sinks
        return self.cache[sink_node]

    def aggregated(self, arc: Arc, hops: list[Arc]) -> Fraction:
        """Weight of an arc; members of an aggregate share theirs evenly."""
        if not self.routing.lag:
            return self.weight_of(arc)
        group = [a for a in hops if a[1] == arc[1] and a[3] == arc[3]]
        if self.routing.scheme == "wcmp":
            return sum(map(self.weight_of, group)) / len(group)
        return Fraction(1, len(group))

    def favours(self, distance, hops, sinks) -> dict[Position, Fraction]:  # type: ignore[no-untyped-def]
        """min(1, what goes on from a position over what could come in as built), nearest positions first."""
        if not self.keeps_built:
            return {}
        built_distance = self.distances([a for a in self.built if self.built_rate[a[2]] > 0], sinks)
        built_hops = self.next_hops([a for a in self.built if self.built_rate[a[2]] > 0], built_distance, sinks)
        inflow: dict[Position, Fraction] = defaultdict(Fraction)
        for arc in self.entered(built_hops, sinks):
            inflow[arc[1]] += self.built_rate[arc[2]]
        favour = dict.fromkeys(sinks, Fraction(1))
        for position in sorted(distance, key=lambda p: distance[p][0]):
            if position in favour:
                continue
            onward = sum(
                (self.aggregated(a, hops[position]) * favour.get(a[1], Fraction(1)) for a in hops[position]),
                Fraction(0),
            )
            room = inflow.get(position, Fraction(0))
            favour[position] = min(Fraction(1), onward / room) if room else Fraction(1)
        return favour

    def entered(self, hops: dict[Position, list[Arc]], sinks: list[Position]) -> Iterator[Arc]:
        """Arcs that something could come over: those out of parts on the way in only if something comes in there."""
        starts = [p for p in hops if not p[1].startswith("in") and (self.passes(p) or self.is_end(p[0]))]
        seen, todo = set(starts), starts
        while todo:
            position = todo.pop()
            for arc in hops.get(position, []):
                yield arc
                if arc[1] not in seen and arc[1] not in sinks:
                    seen.add(arc[1])
                    todo.append(arc[1])

    def is_end(self, node: int) -> bool:
        """Whether traffic starts at a node."""
        return bool(self.fabric.nodes.is_endpoint[node])

    def pair(self, source: int, sink: int) -> dict[int, Fraction] | None:
        """Share of a flow on every fabric arc; None where no path joins the pair."""
        distance, shares, sinks = self.towards(sink)
        start = (source, "" if self.forwards[source] == 2 else "out")
        load: dict[int, Fraction] = defaultdict(Fraction)
        held = defaultdict(Fraction, {start: Fraction(1)})
        if sinks and start not in distance and sinks != [start]:
            return None
        if not sinks:
            return None
        for position in sorted(distance, key=lambda p: -distance[p][0]):
            amount = held.get(position, Fraction(0))
            if not amount or position in sinks:
                continue
            for arc, share in shares[position]:
                load[arc[2]] += amount * share
                held[arc[1]] += amount * share
        self.last_hop(sink, sinks, load)
        return load

    def valley(self, source: int, sink: int) -> Fraction:
        """Share of a flow that goes down a tier and later up."""
        distance, shares, sinks = self.towards(sink)
        fresh: dict[Position, Fraction] = defaultdict(Fraction)
        sunk: dict[Position, Fraction] = defaultdict(Fraction)
        fresh[source, "" if self.forwards[source] == 2 else "out"] = Fraction(1)
        risen = Fraction(0)
        for position in sorted(distance, key=lambda p: -distance[p][0]):
            if position in sinks:
                continue
            for arc, share in shares.get(position, []):
                way = self.goes_up(arc)
                if way > 0:
                    risen += sunk[position] * share
                else:
                    sunk[arc[1]] += sunk[position] * share
                (sunk if way < 0 else fresh)[arc[1]] += fresh[position] * share
        return risen

    def last_hop(self, sink: int, sinks: list[Position], load: dict[int, Fraction]) -> None:
        """From the relay that stands for an endpoint to the endpoint itself."""
        if sinks[0][0] == sink:
            return
        arcs = [a for a in self.now if a[1] == (sink, "in") and self.weight_of(a) > 0]
        weights = [self.aggregated(a, arcs) for a in arcs]
        for arc, weight in zip(arcs, weights, strict=True):
            load[arc[2]] += weight / sum(weights)
