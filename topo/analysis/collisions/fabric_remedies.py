"""Remedies for the flows of one fabric: each variant of it is built and asked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topo.analysis.collisions.answer import EcmpCollisions, Estimate
from topo.analysis.collisions.ask import collisions_of
from topo.analysis.collisions.clos_shape import ClosShape
from topo.analysis.collisions.flow_set import check_queue_pairs, check_whole
from topo.analysis.collisions.remedies import QUEUE_PAIRS, EcmpRemedies, Remedy, known, round_robin_rate
from topo.analysis.collisions.variants import (
    aligned_to_rails,
    faster_uplinks,
    most_at_a_leaf,
    upper_switches,
    with_copies,
)
from topo.fabric import Fabric, State, expect_fabric
from topo.progress import part, steps
from topo.result import Standing
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand

__all__ = ["ecmp_remedies"]

_DRAWN_FLOWS = 1_000_000
_FEWEST = 8
_BY_KIND = (
    ("round robin over many queue pairs", "round robin"),
    ("striped over planes", "planes"),
    ("paths pinned, none shared needlessly", "pinning"),
)
_WIDER = ("an eighth more spines", "twice the uplinks", "uplinks twice as fast", "uplinks twice as fast, half as many")
_PINNED = Standing("exact", "edge colouring of the flow graph (König), tier by tier")
_LIMIT = Standing("model", "the fluid limit: an even split of every packet stream over its next hops")
_ROUND_ROBIN = Standing("model", "processor sharing in a closed network; the fullest leaf alone, many queue pairs")


def ecmp_remedies(
    fabric: Fabric,
    flows: Demand,
    *,
    queue_pairs: Sequence[int] = QUEUE_PAIRS,
    routing: Routing | str = "ecmp",
    samples: int = 256,
    tolerance: float = 0.005,
    seed: int = 0,
    state: State | None = None,
) -> EcmpRemedies:
    """What helps the flows of a fabric against collisions: the slowest and the mean flow under each remedy.

    Striping over each number of ``queue_pairs``; round robin (a model, on the fullest leaf); twice the uplinks (a
    second one of every switch above the leaves) or uplinks twice as fast; on whole two-tier fabrics an eighth more
    spines, half as many of twice the rate, and planes; rails kept (PXN) where endpoints have rails; pinned paths;
    spraying as the limit. Slowest rates are exact or bracketed; means of striped flows wait for the slowest queue
    pair and are sampled, with fewer samples where flows are many, and left out below 8 of them.

    >>> import topo
    >>> from topo.traffic import shift
    >>> f = topo.leaf_spine(leaves=8, spines=8, hosts_per_leaf=8)
    >>> table = ecmp_remedies(f, shift(f, by=8), queue_pairs=(4, 16), samples=0)
    >>> [(q, round(slowest.estimate, 6)) for q, slowest, _ in table.curve()]
    [(1, 0.285903), (4, 0.4557), (16, 0.63434)]

    :raises ParameterError: as :func:`~topo.analysis.collisions.ecmp_collisions`.
    """
    expect_fabric(fabric)
    flows.expect_made_for(fabric)
    shares = [check_queue_pairs(q) for q in queue_pairs]
    check_whole("samples", samples, 0, 10_000_000)
    case = _Case(fabric, flows, Routing.of(routing), samples, tolerance, seed, state)
    with part("as it is", 1 / 16):
        now = case.ask()
    remedies = [_remedy("as it is", "as is", 1, now)]
    with part("striping", 1 / 2):
        for q in steps([q for q in shares if q > 1]):
            remedies.append(_remedy(f"striped over {q} queue pairs", "striping", q, case.ask(queue_pairs=q)))
    shape = ClosShape.of(fabric, state)
    even = now.flow_gbps is not None and now.lost_flows == 0
    if shape is not None and even:
        remedies += _round_robin(case, shape, now)
    with part("more and faster uplinks", 2 / 3):
        remedies += _wider(case, shape)
    if shape is not None and shape.tiers == 2 and even:
        remedies += _planes(case, shape)
    aligned = aligned_to_rails(fabric, flows)
    if aligned is not None:
        remedies.append(_remedy("flows kept on their rails (PXN)", "rails", 1, case.ask(flows=aligned)))
    if shape is not None and even:
        remedies += _pinned(case, shape, now)
    remedies.append(_sprayed(fabric, now, state))
    about = f"{now.flows:,} flows on {fabric.name} ({flows.name})"
    return EcmpRemedies(about, tuple(remedies), now.assumptions, _left_out(remedies, shape, case, even))


def _left_out(
    remedies: Sequence[Remedy], shape: ClosShape | None, case: _Case, even: bool
) -> tuple[tuple[str, str], ...]:
    """Every other remedy of the table, and why it has no value here."""
    if shape is None:
        why = "the fabric, in this state, is no whole Clos of equal links"
    elif not even:
        why = "the flows have several rates, or some have no path"
    elif case.state is not None:
        why = "only the fabric as wired is widened, and a state was given"
    else:
        why = "the tiers or the number of spines do not allow it"
    kept = {remedy.name for remedy in remedies}
    kinds = {remedy.kind for remedy in remedies}
    out = [(name, why) for name, kind in _BY_KIND if kind not in kinds]
    wired = "only the fabric as wired is widened, and a state was given" if case.state is not None else why
    out += [(name, wired) for name in _WIDER if name not in kept]
    if "rails" not in kinds:
        out.append(("flows kept on their rails (PXN)", "the endpoints are on no rails that a host could relay between"))
    return tuple(out)


@dataclass(frozen=True, eq=False)
class _Case:
    """The question, asked again and again with one thing changed."""

    fabric: Fabric
    flows: Demand
    routing: Routing
    samples: int
    tolerance: float
    seed: int
    state: State | None

    def ask(
        self,
        *,
        fabric: Fabric | None = None,
        flows: Demand | None = None,
        queue_pairs: int = 1,
        state: State | None = None,
    ) -> EcmpCollisions:
        """With as many samples as the flows allow."""
        wanted = flows or self.flows
        most = min(self.samples, _DRAWN_FLOWS // max(1, wanted.n_pairs * queue_pairs))
        most = most if most >= _FEWEST else 0

        found = collisions_of(
            fabric or self.fabric,
            wanted,
            routing=self.routing,
            queue_pairs=queue_pairs,
            samples=most,
            at_least=_FEWEST,
            tolerance=self.tolerance,
            seed=self.seed,
            state=state or (self.state if fabric is None else None),
        )
        assert found is not None
        return found


def _remedy(name: str, kind: str, amount: float, found: EcmpCollisions) -> Remedy:
    assert found.slowest_rate is not None
    mean = found.mean_striped if found.queue_pairs > 1 else found.mean_rate or found.mean_equal_share
    return Remedy(name, kind, amount, found.slowest_rate, mean)


def _round_robin(case: _Case, shape: ClosShape, now: EcmpCollisions) -> Iterator[Remedy]:
    source, sink, _ = case.flows.pairs()
    n, m = most_at_a_leaf(shape, source, sink), shape.spines * shape.parallel
    if n == 0 or now.flow_gbps is None:
        return
    for w in (1, 8):
        rate = known(round_robin_rate(n, m, w, shape.leaf_gbps / now.flow_gbps), _ROUND_ROBIN)
        yield Remedy(f"round robin over many queue pairs, messages in flight: {w}", "round robin", w, rate, rate)


def _wider(case: _Case, shape: ClosShape | None) -> Iterator[Remedy]:
    """Uplinks more and faster; a state is that of the fabric as it is, so only the fabric as wired is widened."""
    fabric, upper = case.fabric, upper_switches(case.fabric)
    if not len(upper):
        return
    spines = upper if shape is not None and shape.tiers == 2 else upper[:0]
    if case.state is None:
        if len(spines) and len(spines) % 8 == 0:
            more = with_copies(fabric, spines[: len(spines) // 8])
            yield _remedy("an eighth more spines", "links", 9 / 8, case.ask(fabric=more))
        yield _remedy("twice the uplinks", "links", 2, case.ask(fabric=with_copies(fabric, upper)))
        if len(spines) and len(spines) % 2 == 0:
            half = fabric.without(nodes=spines[len(spines) // 2 :])
            found = case.ask(fabric=half, state=faster_uplinks(half, 2))
            yield _remedy("uplinks twice as fast, half as many", "links", 1, found)
    found = case.ask(state=faster_uplinks(fabric, 2, case.state))
    yield _remedy("uplinks twice as fast", "links", 2, found)


def _planes(case: _Case, shape: ClosShape) -> Iterator[Remedy]:
    """A P-th of every flow on each of P planes; planes hash apart, so their laws multiply."""
    if case.state is not None:
        return
    spines = upper_switches(case.fabric)
    for planes in (2, 4, 8):
        if shape.spines % planes or shape.spines == planes:
            continue
        plane = case.fabric.without(nodes=spines[shape.spines // planes :])
        fast = faster_uplinks(plane, planes)
        found = collisions_of(plane, case.flows, routing=case.routing, state=fast)
        if found is not None and found.slowest_law and found.slowest_rate is not None:
            name = f"striped over {planes} planes of {shape.spines // planes} spines"
            yield Remedy(name, "planes", planes, _all_planes(found, planes), None)


def _all_planes(found: EcmpCollisions, planes: int) -> Estimate:
    """E min(1, 1/t) with P(largest utilization <= t) to the power of the planes."""
    assert found.slowest_rate is not None
    t, lower, upper, middle = (np.array(column) for column in zip(*found.slowest_law, strict=True))
    gain = 1 / t - np.append(1 / t[1:], 0.0)
    low, high, best = (float(p**planes @ gain) for p in (lower, upper, middle))
    high = max(low, high + float(1 - upper[-1] ** planes) / float(t[-1]))
    return Estimate(low, high, min(max(best, low), high), found.slowest_rate.standing)


def _pinned(case: _Case, shape: ClosShape, now: EcmpCollisions) -> Iterator[Remedy]:
    """Largest load ceil(D/S) by edge colouring; three tiers where every flow finds its own links."""
    source, sink, _ = case.flows.pairs()
    degree = most_at_a_leaf(shape, source, sink)
    if now.flow_gbps is None or degree == 0:
        return
    n_nodes = len(case.fabric.nodes)
    own = max(int(np.bincount(source, minlength=n_nodes).max()), int(np.bincount(sink, minlength=n_nodes).max()))
    if shape.tiers == 3 and (degree > shape.spines or shape.n_leaves // shape.n_pods > shape.cores):
        return
    most = math.ceil(degree / (shape.spines * shape.parallel))
    ratio = min(shape.leaf_gbps, shape.core_gbps) if shape.tiers == 3 else shape.leaf_gbps
    rate = min(1.0, ratio / now.flow_gbps / most)
    if own > 1:
        # Endpoints with several flows share their own links, which no choice of path changes.
        fluid = _sprayed(case.fabric, now, case.state).slowest.estimate
        rate = min(rate, fluid)
    value = known(rate, _PINNED)
    yield Remedy("paths pinned, none shared needlessly", "pinning", 1, value, value if rate == 1 else None)


def _sprayed(fabric: Fabric, now: EcmpCollisions, state: State | None) -> Remedy:
    """min(1, least capacity over mean load): what even splitting leaves the worst flow."""
    mean = now.arc_mean_gbps
    name = "packets sprayed, or adaptive routing, at best"
    used = np.flatnonzero(mean > 0)
    if not used.size or now.laws is None:
        return Remedy(name, "spraying", 1, known(math.nan, _LIMIT), None)
    rate = (state or State()).link_capacity_gbps(fabric)
    worst = min(1.0, float((rate[used // 2] / mean[used]).min()) * (1 + 1e-12))
    value = known(worst, _LIMIT)
    return Remedy(name, "spraying", 1, value, value if worst == 1 else None)
