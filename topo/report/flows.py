"""Where traffic goes: loads of links as heat, what binds, how hashed flows collide, what helps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.answer import Estimate, figure
from topo.errors import TopoError
from topo.fabric import FORWARDS_NOTHING
from topo.parts.forwarding import infiniband_assumption
from topo.report.answers import why_not
from topo.report.asked import LeftOut
from topo.report.content import Facts, Grid, Picture, Section, Text
from topo.result import Row
from topo.table import Array
from topo.units import format_gbps, format_number
from topo.view.curves import Axis, Curve, draw_curves
from topo.view.heat import Strip, cells_of, draw_heat
from topo.view.text import plural, sentence
from topo.view.units import tier_word

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from topo.analysis.collisions.answer import EcmpCollisions
    from topo.analysis.collisions.remedies import EcmpRemedies
    from topo.analysis.throughput.answer import Throughput
    from topo.fabric import Fabric
    from topo.routing.loads import LinkLoads

__all__ = ["CollisionAnswers", "FlowAnswers", "ask_collisions", "ask_flows", "collisions_section", "throughput_section"]

_SHOWN = 8
_SMALL = 1_200
_QUEUE_PAIRS = (2, 4, 8, 16)
_FEW_QUEUE_PAIRS = (4, 8)
_TENTHS = (0, 20, 40, 60, 80, 100)


@dataclass(frozen=True, eq=False)
class FlowAnswers:
    """All-to-all under even shares with the loads behind it, and the other demands and routings beside."""

    throughput: Throughput
    loads: LinkLoads
    beside: tuple[Throughput, ...]


@dataclass(frozen=True, eq=False)
class CollisionAnswers:
    """A random permutation of hashed flows; remedies, or only striping where flows are many."""

    collisions: EcmpCollisions
    remedies: EcmpRemedies | None
    striped: tuple[EcmpCollisions, ...]


def ask_flows(fabric: Fabric, seed: int = 0) -> FlowAnswers:
    """Throughput of the two demands everybody compares by, exact for fluid shares."""
    from topo.analysis.throughput import throughput
    from topo.routing.loads import link_loads
    from topo.traffic import all_to_all, permutation

    everyone = all_to_all(fabric)
    beside = [throughput(fabric, everyone, routing="wcmp"), throughput(fabric, permutation(fabric, seed=seed))]
    return FlowAnswers(throughput(fabric, everyone), link_loads(fabric, everyone), tuple(beside))


def ask_collisions(
    fabric: Fabric, named: bool, seed: int = 0, executor: Executor | None = None
) -> CollisionAnswers | LeftOut:
    """Collisions of a random permutation; hashes are drawn, and hosts looked into, only when asked for by name."""
    from topo.analysis.collisions.ask import collisions_of
    from topo.analysis.collisions.fabric_remedies import ecmp_remedies
    from topo.analysis.collisions.remedies import QUEUE_PAIRS
    from topo.traffic import permutation

    flows = permutation(fabric, seed=seed)
    found = collisions_of(fabric, flows, samples=256 if named else 0, seed=seed, executor=executor)
    if found is None:
        return LeftOut("collisions", "paths inside opened hosts can only be sampled")
    small = len(fabric.endpoints) <= _SMALL or named
    if small and found.laws is not None:
        queue_pairs = QUEUE_PAIRS if named else _QUEUE_PAIRS
        remedies = ecmp_remedies(fabric, flows, queue_pairs=queue_pairs, samples=0, seed=seed)
        return CollisionAnswers(found, remedies, ())
    striped = [collisions_of(fabric, flows, queue_pairs=q, samples=0, seed=seed) for q in _FEW_QUEUE_PAIRS]
    return CollisionAnswers(found, None, tuple(one for one in striped if one is not None))


def throughput_section(fabric: Fabric, answer: FlowAnswers | LeftOut | TopoError) -> Section:
    """How much of the demands fits, the fullest links by name, and the heat of all."""
    title = "Where traffic goes"
    if isinstance(answer, TopoError):
        return Section("throughput", title, why_not(answer))
    if isinstance(answer, LeftOut):
        return Section("throughput", title, [Text(str(answer))])
    return Section("throughput", title, list(_throughput_items(fabric, answer)))


def _throughput_items(fabric: Fabric, answer: FlowAnswers) -> Iterator[Text | Grid | Picture]:
    yield Text(
        "theta is the largest share of every wanted rate that fits at once. Every endpoint wants its line rate: spread "
        "evenly over all others (all-to-all), or to one partner (permutation)."
    )
    rows = tuple(
        (one.demand, one.routing, format_number(one.theta_lower, 4), _where(one), str(one.standing_of_theta))
        for one in (answer.throughput, *answer.beside)
    )
    yield Grid(("demand", "routing", "theta", "what binds", "standing"), rows, "How much of a demand fits")
    for text in infiniband_assumption(fabric, ()):
        yield Text(sentence(text), "warning")
    if answer.throughput.lost_pairs:
        count = f"{answer.throughput.lost_pairs:,} of {answer.throughput.n_pairs:,} pairs"
        yield Text(f"No path joins {count}; theta speaks of the others.", "warning")
    full = _utilization(answer.loads)
    yield _fullest(fabric, answer.loads, full)
    strips = _strips(fabric, answer.loads, full)
    worst = format_number(100 * float(full.max(initial=0)), 4)
    alt = f"Load over capacity of all links under an all-to-all at line rate: at most {worst} %. " + "; ".join(
        f"{strip.name}: {', '.join(strip.said)}" for strip in strips
    )
    caption = "Every link under an all-to-all at line rate, even shares: one strip a tier and direction"
    yield Picture.of_chart(draw_heat, strips, title="Link loads", alt=alt, caption=caption)


def _where(found: Throughput) -> str:
    if not found.n_binding:
        return "-"
    more = f" and {plural(found.n_binding - 1, 'more link direction')}" if found.n_binding > 1 else ""
    return found.binding_direction[0] + more


def _utilization(loads: LinkLoads) -> NDArray[np.float64]:
    """Load over capacity of every arc; infinite where a load meets none, 0 where neither is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(loads.arc_gbps / loads.capacity_gbps, nan=0.0, posinf=np.inf)


def _fullest(fabric: Fabric, loads: LinkLoads, full: Array) -> Grid:
    """The fullest link directions, each with how many are as full."""
    some = np.argsort(-full, kind="stable")[:_SHOWN]
    ports = fabric.ports
    names = fabric.nodes.name
    rows = []
    for arc in some.tolist():
        link, back = arc // 2, arc % 2
        ends = (int(fabric.links.port_a[link]), int(fabric.links.port_b[link]))
        out, into = ends[::-1] if back else ends
        rows.append(
            (
                str(names[fabric.arc_source[arc]]), ports.label[out], str(names[fabric.arc_target[arc]]),
                ports.label[into], format_gbps(float(loads.arc_gbps[arc])),
                f"{format_number(100 * float(full[arc]), 4)} %",
            )
        )  # fmt: skip
    alike = int((full >= full.max(initial=0) * (1 - 1e-9)).sum())
    note = f"{alike:,} link directions are as full as the fullest." if alike > 1 else ""
    head = ("from", "port", "to", "port", "load, one direction", "of its rate")
    return Grid(head, tuple(rows), "The fullest links, worst first", note)


def _strips(fabric: Fabric, loads: LinkLoads, full: Array) -> list[Strip]:
    """One strip for each pair of tiers and direction that carries something, the switches across, their links down."""
    nodes = fabric.nodes
    # What neither sends nor forwards, such as an engine inside a switch, is no end of a strip.
    carries = nodes.is_endpoint | (nodes.forwards != FORWARDS_NOTHING)
    arcs = np.flatnonzero((loads.capacity_gbps > 0) & carries[fabric.arc_source] & carries[fabric.arc_target])
    tier = nodes.tier.astype(np.int64)
    source, target = fabric.arc_source[arcs].astype(np.int64), fabric.arc_target[arcs].astype(np.int64)
    stages = sorted(set(zip(tier[source].tolist(), tier[target].tolist(), strict=True)), key=_upward_first)
    out = []
    for low, high in stages:
        mine = (tier[source] == low) & (tier[target] == high)
        # Columns are the switches below, or above where the links lead to endpoints.
        home = source[mine] if (low < high) != (min(low, high) <= 0) else target[mine]
        value = full[arcs[mine]]
        if not value.any():
            continue
        columns = np.unique(home)
        worst = int(np.argmax(value))
        ends = f"{fabric.nodes.name[source[mine][worst]]} to {fabric.nodes.name[target[mine][worst]]}"
        mean, most = (format_number(100 * float(v), 3) for v in (value.mean(), value.max()))
        said = (f"{plural(int(mine.sum()), 'link')}, mean {mean} %, most {most} %", ends)
        first, last = (str(fabric.nodes.name[columns[i]]) for i in (0, -1))
        out.append(
            Strip(
                f"{_word(low)} to {_word(high)}", said, cells_of(home, value, most_rows=6), f"{first} … {last}, across"
            )
        )
    return out


def _upward_first(stage: tuple[int, int]) -> tuple[bool, int]:
    low, high = stage
    return (high < low, low if high >= low else -low)


def _word(tier: int) -> str:
    return "endpoint" if tier == 0 else "scale-up or inside a host" if tier < 0 else tier_word(tier)


def collisions_section(
    fabric: Fabric, answer: CollisionAnswers | LeftOut | TopoError, *, is_model_told: bool = False
) -> Section:
    """What hashing leaves the flows of a permutation, the law of the slowest, and what helps.

    ``is_model_told`` says that a section above tells already of what is a model where the fabric is InfiniBand's.
    """
    title = "When flows are hashed"
    if isinstance(answer, TopoError):
        return Section("collisions", title, why_not(answer))
    if isinstance(answer, LeftOut):
        return Section("collisions", title, [Text(str(answer))])
    model = () if is_model_told else infiniband_assumption(fabric, ())
    return Section("collisions", title, list(_collision_items(answer, model)))


def _collision_items(answer: CollisionAnswers, model: tuple[str, ...]) -> Iterator[Text | Facts | Grid | Picture]:
    found = answer.collisions
    yield Text(
        f"Each of {found.flows:,} flows ({found.demand}) takes one of the equal paths at every switch, chosen by a "
        "hash of its header. Flows that meet on a link share it, while other links stay idle."
    )
    for text in model:
        yield Text(sentence(text), "warning")
    rates: list[tuple[str, Estimate | None]] = [
        ("mean rate of a flow", found.mean_rate or found.mean_equal_share),
        ("mean rate of the slowest flow", found.slowest_rate),
    ]
    rows = [Row(name, value.text(100), "% of its rate", value.standing) for name, value in rates if value is not None]
    rows.append(Row("chance that no link is overloaded", found.p_no_overload.text(), "", found.p_no_overload.standing))
    yield Facts(tuple(rows))
    worst = [link for link in found.worst_links if link.p_overload_upper > 0]
    if worst:
        lines = tuple(
            (
                link.source, link.source_port, link.target, format_gbps(link.capacity_gbps),
                f"{format_number(100 * link.mean_utilization, 4)} %", figure(link.p_overload_upper),
            )
            for link in worst[:_SHOWN]
        )  # fmt: skip
        note = f"{found.worst_alike:,} link directions are as bad as the worst." if found.worst_alike > 1 else ""
        head = ("from", "port", "to", "rate, one direction", "mean load", "chance of overload")
        yield Grid(head, lines, "Links that collisions overload most often, worst first", note)
    if found.slowest_law:
        yield _slowest_picture(found)
    yield from _remedy_items(answer)


def _slowest_picture(found: EcmpCollisions) -> Picture:
    """P(the slowest flow gets at least a share r) over r: the law of the largest utilization t, r = min(1, 1/t)."""
    law = np.array(found.slowest_law)
    over = law[law[:, 0] > 1 + 1e-12]
    within = law[law[:, 0] <= 1 + 1e-12]
    # P(largest utilization <= 1), then at every rate below, then certainty: low, high, estimate.
    p = np.concatenate([within[-1:, 1:] if len(within) else np.zeros((1, 3)), over[:, 1:], np.ones((1, 3))])
    low, high, middle = (100 * p).T.tolist()
    rate = [100.0, *(100 / over[:, 0]).tolist(), 0.0]
    # From the right: at a rate of 1/t the slowest gets that much if the largest utilization is at most t.
    series = Curve("the slowest flow gets at least this much", rate, middle, low, high, shape="steps")
    mean = found.slowest_rate.text(100) if found.slowest_rate else "not known"
    alt = f"Distribution of the rate of the slowest flow; its mean is {mean} % of the flow's rate."
    # Rates that the slowest never reaches are left out.
    reached = max((r for r, share in zip(rate, high, strict=True) if share > 0.1), default=100.0)
    end = min(100, 20 * math.ceil(reached / 20 + 1e-9))
    x = Axis("rate of the slowest flow, % of its wanted rate", 0, end, range(0, end + 1, end // 10))
    y = Axis("probability, %", 0, 100, _TENTHS)
    caption = "How slow the slowest flow is"
    return Picture.of_chart(draw_curves, [series], x, y, title="Slowest flow", alt=alt, caption=caption)


def _remedy_items(answer: CollisionAnswers) -> Iterator[Text | Grid | Picture]:
    if answer.remedies is not None:
        points = [(q, slowest, mean) for q, slowest, mean in answer.remedies.curve()]
    else:
        points = [
            (one.queue_pairs, one.slowest_rate, None)
            for one in (answer.collisions, *answer.striped)
            if one.slowest_rate is not None
        ]
    points = [point for point in points if not math.isnan(point[1].estimate)]
    if len(points) > 1:
        yield _remedy_picture(points)
    if answer.remedies is not None:
        rows = tuple(
            (one.name, one.slowest.text(100), one.mean.text(100) if one.mean else "-", one.slowest.standing.kind)
            for one in answer.remedies.remedies
            if not math.isnan(one.slowest.estimate)
        )
        head = ("remedy", "slowest flow, %", "mean flow, %", "standing")
        yield Grid(head, rows, "What would help", answer.remedies.sentence + ".")


def _remedy_picture(points: list[tuple[int, Estimate, Estimate | None]]) -> Picture:
    q = [float(point[0]) for point in points]
    low, middle, high = ([100 * getattr(point[1], name) for point in points] for name in ("lower", "estimate", "upper"))
    curves = [Curve("the slowest flow, with its bounds", q, middle, low, high)]
    x = Axis("queue pairs a flow is striped over", 1, max(q), q, log=True)
    y = Axis("mean rate, % of the wanted rate", 0, 100, _TENTHS)
    said = ", ".join(f"{int(a)}: {format_number(b, 3)} %" for a, b in zip(q, middle, strict=True))
    alt = f"Mean rate of the slowest flow by queue pairs: {said}."
    caption = "What striping over more queue pairs gives the slowest flow"
    return Picture.of_chart(draw_curves, curves, x, y, title="Queue pairs", alt=alt, caption=caption)
