"""The waterfall: from the port's line rate to what the application gets, one effect switched on after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collectives.carried import (
    Conditions,
    Wire,
    draws_for,
    inside_first,
    optimal_seconds,
    payload_gbps,
    phase_seconds,
    port_seconds,
)
from topo.analysis.collectives.flows import PLACED, Ranks, collective_phases
from topo.analysis.collectives.on_fabric import time_of_phases
from topo.analysis.collectives.phase import Phase
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import Fabric, State, expect_fabric
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.table import Array
from topo.traffic.demand import Demand
from topo.view.text import plural

__all__ = ["EFFECTS", "Goodput", "Level", "goodput"]

EFFECTS = (
    "line rate", "wire", "PCIe and NIC", "oversubscription", "routing", "failures", "contention", "algorithm",
)  # fmt: skip
"""Order in which effects are switched on; the bars depend on it, their sum does not."""

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Level:
    """What is left with this effect and all before it: Gb/s of an endpoint's ports, and what this one took.

    ``gbps`` is the mean rate over hash draws, E[W/T], what a job that keeps its draw expects; ``mean_time_gbps`` is
    W/E[T], what one gets that is drawn anew each time. The latter is never larger.
    """

    effect: str
    gbps: float
    lost_gbps: float
    half_width_gbps: float
    mean_time_gbps: float
    standing: Standing


@dataclass(frozen=True)
class Goodput(Result):
    """Line rate in, goodput out, and where the rest went; each bar is the difference of two joint evaluations."""

    fabric: str
    demand: str
    statistic: str
    endpoint_gigabits: float
    levels: tuple[Level, ...]
    time_s: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
    assumptions: tuple[str, ...]

    title: ClassVar[str] = "Where the bandwidth goes"
    derived: ClassVar[tuple[str, ...]] = ("line_gbps", "goodput_gbps")
    main_row: ClassVar[int] = len(EFFECTS) - 1

    @property
    def line_gbps(self) -> float:
        """What the port says."""
        return self.levels[0].gbps

    @property
    def goodput_gbps(self) -> float:
        """What the application gets."""
        return self.levels[-1].gbps

    @property
    def verdict(self) -> str:
        """The whole in one line."""
        worst = max(self.levels[1:], key=lambda level: level.lost_gbps)
        text = f"{self.line_gbps:.0f}G in, {self.goodput_gbps:.0f}G out"
        return f"{text}; most of the rest went to {worst.effect}" if worst.lost_gbps > 0 else text

    def rows(self) -> list[Row]:
        """The verdict, every level with its bar, what it rests on."""
        rows = [Row("verdict", self.verdict), Row("demand", f"{self.demand}, {self.statistic} flow")]
        for level in self.levels:
            bar = f", {round(-level.lost_gbps, 1) + 0.0:+.1f}" if level.effect != EFFECTS[0] else ""
            rows.append(Row(f"after {level.effect}", f"{level.gbps:.1f} Gb/s{bar}", standing=level.standing))
        follows = Standing(self.levels[-1].standing.kind)
        rows.append(Row("time", 1e3 * self.time_s, "ms", follows))
        if self.algbw_gbyte_s:
            rows.append(Row("algbw", self.algbw_gbyte_s, "GB/s", follows))
            rows.append(Row("busbw", self.busbw_gbyte_s, "GB/s", follows))
        return rows + [Row("assumes", text) for text in self.assumptions]


def goodput(
    fabric: Fabric,
    placement: ArrayLike | None = None,
    collective: str = "all_reduce",
    *,
    bytes: float = 2.0**30,
    algorithm: str | None = None,
    demand: Demand | None = None,
    alpha_us: float = 5.0,
    inner_alpha_us: float = 1.0,
    routing: Routing | str = "single-path",
    queue_pairs: int = 1,
    wire: Wire | None = None,
    failed: State | Sequence[State] | None = None,
    held: float = 0.99,
    others: Demand | None = None,
    statistic: str | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> Goodput:
    """From line rate to goodput of one collective (or plain ``demand``) on a fabric, effect by effect.

    The flows are fixed first. W is the most that one endpoint sends or receives over its scale-out ports, T_k the time
    of everything with effects 1 .. k on, r_k = W/T_k, bar k = r_(k-1) - r_k: (0) the ports' line rate, (1) headers,
    (2) host links and NICs, (3) all arcs of the healthy fabric under the best routing, (4) the routing in use (hashed
    ``single-path``, or ``spray`` for adaptive), (5) a degraded state (``failed``; of several that which keeps the rate
    in ``held`` of them), (6) what ``others`` offer beside it, (7) latency, steps and scale-up phases of the algorithm.
    r_7 is W over :func:`~topo.analysis.collectives.on_fabric.collective_time` of the same. ``statistic`` "slowest"
    (of collectives, where not given): a phase ends with its slowest flow, E[W/T] over hash draws; "mean" (of a plain
    ``demand``): mean of the flows' max-min rates, where a bar can be negative (of single paths; what splits like a
    fluid has one share for all flows of a phase). All evaluations draw the same numbers, ``samples`` times (100 where
    not given, fewer where flows are many).

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, link_gbps=400)
    >>> answer = goodput(f, None, "all_to_all", routing="spray", alpha_us=0)
    >>> [(level.effect, round(level.gbps, 1)) for level in answer.levels if level.lost_gbps > 0]
    [('wire', 392.1), ('oversubscription', 253.3)]

    :raises ParameterError: nothing leaves a host, an unknown collective or statistic, ``held`` outside 0 to 1.
    :raises DisconnectedError: ranks without a path.
    """
    expect_fabric(fabric)
    if not 0 < held <= 1:
        raise ParameterError(f"held is {held}; it is a share of the states, above 0 and at most 1")
    given = wire or Wire()
    full, outer, name, factor = _flows(
        fabric, placement, collective, bytes, algorithm, demand, alpha_us, inner_alpha_us
    )
    most = _most(fabric, outer)
    if most <= 0:
        raise ParameterError(f"{name}: nothing leaves a host of {fabric.name!r}; there is no fabric to ask about")
    chosen = inside_first(fabric, routing)
    counts = statistic or ("slowest" if demand is None else "mean")
    draws = draws_for(full, queue_pairs, samples)
    under = Conditions(payload_gbps(fabric, given), None, chosen, queue_pairs, draws, seed, None, None, counts)
    steps = _Steps(fabric, outer, most, given, under)
    state = steps.held_state(failed, held)
    rates = [steps.ports(1.0), steps.ports(given.efficiency), steps.host(), steps.best(), steps.routed(under)]
    degraded = under if state is None else under.with_(state=state, capacity_gbps=payload_gbps(fabric, given, state))
    rates.append(rates[4] if state is None else steps.routed(degraded))
    crowded = degraded.with_(others=others)
    rates.append(rates[5] if others is None else steps.routed(crowded))
    times, _, _ = time_of_phases(fabric, full, crowded)
    rates.append(most / times)
    if not all(np.isfinite(rate).all() and (rate > 0).all() for rate in rates) and counts == "slowest":
        raise DisconnectedError(f"{name}: some flow has no path on {fabric.name!r} in this state")
    levels = _levels(rates, under, steps.bracket)
    time = most / levels[-1].gbps
    return Goodput(
        fabric=fabric.name,
        demand=name,
        statistic=counts,
        endpoint_gigabits=most,
        levels=levels,
        time_s=time,
        algbw_gbyte_s=bytes / time / 1e9 if demand is None else 0.0,
        busbw_gbyte_s=bytes / time / 1e9 * factor if demand is None else 0.0,
        assumptions=_assumptions(fabric, chosen, queue_pairs, given, state, others),
    )


def _flows(
    fabric: Fabric, placement: ArrayLike | None, collective: str, size: float, algorithm: str | None,
    demand: Demand | None, alpha_us: float, inner_alpha_us: float,
) -> tuple[tuple[Phase, ...], tuple[Phase, ...], str, float]:  # fmt: skip
    """All phases; the part of them between hosts; a name; busbw over algbw."""
    from topo.analysis.collectives.cost import busbw_factor

    if demand is not None:
        phase = Phase(demand.name, demand, 1, 0.0)
        return (phase,), (phase,), demand.name, 1.0
    ranks = Ranks.of(fabric, placement)
    alphas = {"alpha_us": alpha_us, "inner_alpha_us": inner_alpha_us}
    full = collective_phases(fabric, ranks, collective, size, algorithm=algorithm, **alphas)
    outer = full
    if not ranks.dropped:
        outer = collective_phases(fabric, replace(ranks, dropped=True), collective, size, algorithm=algorithm, **alphas)
    chosen = algorithm or PLACED[collective][0]
    name = f"{collective} ({chosen}) of {size / 2**20:,.6g} MiB over {ranks.size:,} ranks"
    factor = 1.0 if collective == "send" else busbw_factor(collective, ranks.size)
    return full, outer, name, factor


def _most(fabric: Fabric, phases: tuple[Phase, ...]) -> float:
    """W: gigabits of the busiest endpoint over all phases."""
    total = np.zeros((2, len(fabric.nodes)))
    for phase in phases:
        total[0] += phase.repeats * phase.sent_gbps(fabric)
        total[1] += phase.repeats * phase.received_gbps(fabric)
    return float(total.max(initial=0.0))


@dataclass(eq=False)
class _Steps:
    """Rates r_k of one set of phases: W over the sum of the phases' times, one entry a draw."""

    fabric: Fabric
    phases: tuple[Phase, ...]
    most: float
    wire: Wire
    under: Conditions
    bracket: tuple[float, float] | None = None

    def ports(self, share: float) -> NDArray[np.float64]:
        """(0), (1): nothing but the endpoints' ports."""
        return self._rate(sum(p.repeats * port_seconds(self.fabric, p, share) for p in self.phases))

    def host(self) -> NDArray[np.float64]:
        """(2): the hosts' own links, fluid; where others of the host relay (PXN), still no more than the port's."""
        arcs = np.repeat(self.fabric.links.kind.is_any("access", "host_io"), 2)
        return np.minimum(self._rate(self._sum(self._fluid().with_(arcs=arcs))), self.ports(self.wire.efficiency))

    def best(self) -> NDArray[np.float64]:
        """(3): all arcs, best routing; where the even split loses nothing beyond (2), it is the best."""
        with np.errstate(divide="ignore"):  # a flow without a path has no rate
            even, bound = self._sum(self._fluid()), self.most / self.host()
        if (even <= bound * (1 + _SAME)).all():
            return self._rate(bound)
        found, floor = 0.0, 0.0
        for phase in self.phases:
            slow, fast = optimal_seconds(self.fabric, phase, self._fluid())
            found, floor = found + phase.repeats * slow, floor + phase.repeats * fast
        found = min(found, float(even[0]))
        self.bracket = (self.most / found, self.most / max(min(floor, found), float(bound[0])))
        return self._rate(found)

    def routed(self, under: Conditions) -> NDArray[np.float64]:
        """(4) to (6): the flows as they are routed."""
        return self._rate(self._sum(under))

    def held_state(self, failed: State | Sequence[State] | None, held: float) -> State | None:
        """The state given, or of several the one whose rate is kept in ``held`` of them."""
        if failed is None or isinstance(failed, State):
            return failed
        states = list(failed)
        if not states:
            raise ParameterError("failed holds no state; give one, several, or None")
        rates = []
        for state in states:
            there = self.under.with_(state=state, capacity_gbps=payload_gbps(self.fabric, self.wire, state))
            rates.append(float(np.mean(self.routed(there))))
        order = np.argsort(rates, kind="stable")
        return states[int(order[min(len(states) - 1, int((1 - held) * len(states) + 1e-9))])]

    def _fluid(self) -> Conditions:
        return self.under.fluid()

    def _sum(self, under: Conditions) -> NDArray[np.float64]:
        total = np.zeros(1)
        for phase in self.phases:
            total = total + phase.repeats * phase_seconds(self.fabric, phase, under)
        return total

    def _rate(self, time: float | NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.atleast_1d(self.most / np.asarray(time, float))


def _levels(
    rates: list[NDArray[np.float64]], under: Conditions, bracket: tuple[float, float] | None
) -> tuple[Level, ...]:
    out: list[Level] = []
    for effect, rate in zip(EFFECTS, rates, strict=True):
        mean = float(rate.mean())
        alike = float(np.ptp(rate)) <= _SAME * mean
        half = 0.0 if alike else float(1.96 * rate.std(ddof=1) / np.sqrt(len(rate)))
        with np.errstate(divide="ignore"):
            slow = mean if alike else float(1 / np.mean(1 / rate))
        standing = _standing(effect, rate, half, under)
        if effect == "oversubscription":
            low, high = bracket or (mean, mean)
            met = high <= low * (1 + _SAME)
            how = "best routing, its bounds meet" if met else f"best routing between {low:.4g} and {high:.4g} Gb/s"
            standing = Standing("exact" if met else "bracket", how)
        out.append(Level(effect, mean, out[-1].gbps - mean if out else 0.0, half, slow, standing))
    return tuple(out)


def _standing(effect: str, rate: Array, half: float, under: Conditions) -> Standing:
    """How well a level is known: exact where no draw matters, sampled where it does, a model of latency at the end."""
    if half:
        return Standing("sampled", f"{len(rate)} draws, seed {under.seed}, +- {half:.2g} Gb/s at 95 %")
    alike = f", all {len(rate)} draws alike" if len(rate) > 1 else ""
    if effect == EFFECTS[-1]:
        return Standing("model", f"latency as given{alike}")
    if effect in EFFECTS[:3]:
        return Standing("exact", "shares of rates")
    if under.routing.scheme == "single-path":
        return Standing("exact", f"one path a flow{alike}")
    return Standing("model", "flows split evenly, like fluids")


def _assumptions(
    fabric: Fabric, routing: Routing, queue_pairs: int, wire: Wire, state: State | None, others: Demand | None
) -> tuple[str, ...]:
    said = [
        f"effects in this order: {', '.join(EFFECTS)}; bars depend on it, their sum does not",
        f"{wire.transport} at MTU {wire.mtu}; routing {routing}"
        + (f", {plural(queue_pairs, 'queue pair')} a flow" if routing.scheme == "single-path" else ""),
        "a tapered fabric shows as oversubscription where the job meets it alone, as contention where it shares it",
    ]
    if wire.transport.startswith("infiniband") and routing.scheme == "single-path" and routing.table == "hash":
        said.append("InfiniBand forwards by destination, not by hash: this is the RoCE twin of the fabric")
    if state is None:
        said.append("nothing has failed")
    if others is None:
        said.append("no other job")
    return tuple(said)
