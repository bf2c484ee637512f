"""How long a collective takes on a fabric: its flows placed, routed and loaded, and what binds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collectives.carried import (
    Conditions,
    Wire,
    draws_for,
    inside_first,
    payload_gbps,
    phase_loads,
    phase_seconds,
)
from topo.analysis.collectives.cost import busbw_factor
from topo.analysis.collectives.flows import PLACED, Ranks, collective_phases
from topo.analysis.collectives.phase import Phase
from topo.analysis.collectives.wire import MessageTime, message_time
from topo.analysis.intervals import student_half_width
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import Fabric, State, expect_fabric
from topo.result import Result, Row, Standing, hidden
from topo.routing.next_hops import NextHops
from topo.routing.scheme import FLUID, Routing
from topo.routing.walk import at_random, walk
from topo.table import Array
from topo.traffic.demand import Demand
from topo.view.text import plural

__all__ = [
    "CollectiveLoads",
    "CollectiveTime",
    "Crossing",
    "best_by_size",
    "collective_loads",
    "collective_time",
    "message_on_fabric",
    "time_of_phases",
]


@dataclass(frozen=True)
class CollectiveTime(Result):
    """A collective on a fabric: time, what of it is latency, bandwidths in nccl-tests' sense, what binds it."""

    fabric: str
    collective: str
    algorithm: str
    bytes: float
    groups: int
    ranks: int
    time_s: float
    latency_s: float
    transfer_s: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
    phases: tuple[tuple[str, int, float], ...]
    overlapped_s: float
    binding: str
    samples: int
    half_width_s: float
    assumptions: tuple[str, ...]
    standing: Standing
    draws_s: NDArray[np.float64] = hidden()

    title: ClassVar[str] = "Collective on a fabric"

    def rows(self) -> list[Row]:
        """Time first, then bandwidths, phases, what binds."""
        many = f"{self.groups} groups of " if self.groups > 1 else ""
        follows = Standing(self.standing.kind)
        rows = [
            Row("collective", f"{self.collective}, {self.algorithm}, {many}{self.ranks} ranks on {self.fabric}"),
            Row("time", 1e3 * self.time_s, "ms", self.standing),
            Row("of it latency", 1e3 * self.latency_s, "ms", follows),
            Row("of it transfer", 1e3 * self.transfer_s, "ms", follows),
            Row("algbw, bytes over time", self.algbw_gbyte_s, "GB/s", follows),
            Row("busbw, as nccl-tests prints", self.busbw_gbyte_s, "GB/s", follows),
        ]
        if len(self.phases) > 1:
            rows += [Row(f"  {name}, {repeats} x", 1e3 * time, "ms") for name, repeats, time in self.phases[:12]]
            rows.append(Row("phases overlapped, at best", 1e3 * self.overlapped_s, "ms"))
        rows.append(Row("binds", self.binding or "nothing"))
        return rows + [Row("assumes", text) for text in self.assumptions]


def collective_time(
    fabric: Fabric,
    placement: ArrayLike | None = None,
    collective: str = "all_reduce",
    *,
    bytes: float,
    algorithm: str | None = None,
    alpha_us: float = 5.0,
    inner_alpha_us: float = 1.0,
    routing: Routing | str = "ecmp",
    wire: Wire | None = None,
    state: State | None = None,
    queue_pairs: int = 1,
    samples: int | None = None,
    seed: int = 0,
    others: Demand | None = None,
) -> CollectiveTime:
    """Time of a collective of ``bytes`` (S as in :func:`collective_cost`) over placed ranks.

    ``placement`` lists endpoint rows in rank order, or several groups that run at once as rows of a matrix (all
    endpoints where it is None). Phases run one after another: T = sum of repeats x (alpha + largest load over rate of
    any arc), loads from the routing kernel; rates are line rates, or payload with ``wire``. Routing ``ecmp``, ``wcmp``
    and ``spray`` split like a fluid; ``single-path`` hashes each flow's ``queue_pairs``, ``samples`` times (100 where
    not given, fewer where flows are many): then T = W / E[W/T], the mean of the rates that a job gets; flows inside a
    scale-up domain are striped over its links, not hashed. ``others`` offer Gb/s beside it. algbw = S/T, busbw is algbw
    times nccl-tests' factor; only reduction in switches may show more than the wire carries.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=8, link_gbps=400)
    >>> answer = collective_time(f, bytes=2**30)
    >>> round(1e3 * answer.time_s, 3)
    37.651

    :raises ParameterError: an unknown collective or algorithm, a placement that is none, other numbers out of range.
    :raises DisconnectedError: ranks that no path joins.
    """
    expect_fabric(fabric)
    for name, value in (("alpha_us", alpha_us), ("inner_alpha_us", inner_alpha_us)):
        if not math.isfinite(value) or value < 0:
            raise ParameterError(f"{name} is {value}; it must be finite and at least 0")
    ranks = Ranks.of(fabric, placement)
    phases = collective_phases(
        fabric, ranks, collective, bytes, algorithm=algorithm, alpha_us=alpha_us, inner_alpha_us=inner_alpha_us
    )
    under = Conditions(
        payload_gbps(fabric, wire, state), state, inside_first(fabric, routing), queue_pairs,
        draws_for(phases, queue_pairs, samples), seed, others
    )  # fmt: skip
    times, latency, each = time_of_phases(fabric, phases, under)
    if not np.isfinite(times).all():
        raise DisconnectedError(f"some ranks of the {collective} have no path to each other on {fabric.name!r}")
    time = _mean_rate_time(times)
    rate = bytes / time / 1e9 if time > 0 else math.inf
    name = algorithm or PLACED[collective][0]
    overlapped, binding = _together(fabric, phases, under)
    return CollectiveTime(
        fabric=fabric.name,
        collective=collective,
        algorithm=name,
        bytes=float(bytes),
        groups=len(ranks.rows),
        ranks=ranks.size,
        time_s=time,
        latency_s=latency,
        transfer_s=time - latency,
        algbw_gbyte_s=rate,
        busbw_gbyte_s=rate * (1.0 if collective == "send" else busbw_factor(collective, ranks.size)),
        phases=each,
        overlapped_s=overlapped,
        binding=binding,
        samples=len(times) if under.is_drawn else 0,
        half_width_s=_half_width(times),
        assumptions=_assumptions(ranks, under, wire, name),
        standing=_standing(under, times),
        draws_s=times,
    )


def time_of_phases(
    fabric: Fabric, phases: Sequence[Phase], under: Conditions, *, latency: bool = True
) -> tuple[NDArray[np.float64], float, tuple[tuple[str, int, float], ...]]:
    """Time of all phases, one entry a draw; the latency in it; and (name, repeats, seconds) of each phase."""
    total, waited, each = np.zeros(1), 0.0, []
    for phase in phases:
        transfer = phase.repeats * phase_seconds(fabric, phase, under)
        extra = phase.latency_s(float(transfer.mean())) if latency else 0.0
        total = total + transfer + extra
        waited += extra
        each.append((phase.name, phase.repeats, float(transfer.mean()) + extra))
    return total, waited, tuple(each)


@dataclass(frozen=True, eq=False)
class CollectiveLoads:
    """Payload gigabits that a whole collective puts on every arc, and the seconds it takes."""

    gigabits: NDArray[np.float64]
    time_s: float


def collective_loads(
    fabric: Fabric,
    placement: ArrayLike | None = None,
    collective: str = "all_reduce",
    *,
    bytes: float,
    algorithm: str | None = None,
    routing: Routing | str = "ecmp",
    wire: Wire | None = None,
    state: State | None = None,
    **given: object,
) -> CollectiveLoads:
    """Gigabits on every arc over all phases and repeats, arguments as :func:`collective_time`.

    Row 2 l is link l from its end a to b, row 2 l + 1 the other way. Over the time they are mean rates.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=8, link_gbps=400)
    >>> found = collective_loads(f, bytes=2**30, alpha_us=0)
    >>> round(float(found.gigabits.max()) / 8, 3), round(float(found.gigabits.max()) / found.time_s)
    (1.879, 400)

    :raises ParameterError: as :func:`collective_time`.
    :raises DisconnectedError: ranks that no path joins.
    """
    timed = collective_time(
        fabric, placement, collective, bytes=bytes, algorithm=algorithm, routing=routing, wire=wire, state=state,
        **given,  # type: ignore[arg-type]
    )  # fmt: skip
    phases = collective_phases(fabric, Ranks.of(fabric, placement), collective, bytes, algorithm=algorithm)
    under = Conditions(payload_gbps(fabric, wire, state), state, inside_first(fabric, routing))
    return CollectiveLoads(_gigabits(fabric, phases, under), timed.time_s)


@dataclass(frozen=True, slots=True)
class Crossing:
    """From ``bytes`` up ``algorithm`` is the fastest."""

    bytes: float
    algorithm: str


def best_by_size(
    fabric: Fabric,
    placement: ArrayLike | None = None,
    collective: str = "all_reduce",
    *,
    smallest: float = 1024.0,
    largest: float = 2.0**34,
    algorithms: Sequence[str] | None = None,
    **given: object,
) -> tuple[Crossing, ...]:
    """The fastest algorithm by size, and where it changes, between ``smallest`` and ``largest`` bytes.

    Each algorithm's time is a + b S (latency, and seconds a byte by its loads), so that the lower envelope of lines
    is the answer. Algorithms that do not take the number of ranks are left out, reduction in switches unless named.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=64, link_gbps=400)
    >>> [(c.algorithm, round(c.bytes / 2**20, 2)) for c in best_by_size(f, algorithms=["ring", "double_tree"])]
    [('double_tree', 0.0), ('ring', 869.75)]

    :raises ParameterError: as :func:`collective_time`.
    """
    lines = {}
    for name in algorithms or [name for name in PLACED.get(collective, ()) if name not in ("in_network", "pairwise")]:
        try:
            answer = collective_time(fabric, placement, collective, bytes=largest, algorithm=name, **given)  # type: ignore[arg-type]
        except ParameterError as error:
            if "power of two" in str(error):
                continue
            raise
        lines[name] = (answer.latency_s, answer.transfer_s / largest)
    if not lines:
        raise ParameterError(f"no algorithm of {collective!r} is known on a fabric; known: {', '.join(PLACED)}")
    size = smallest
    now = min(lines, key=lambda name: (lines[name][0] + lines[name][1] * size, lines[name][1]))
    out = [Crossing(size, now)]
    while True:
        a, b = lines[now]
        ahead = {name: (c - a) / (b - d) for name, (c, d) in lines.items() if d < b}
        ahead = {name: at for name, at in ahead.items() if size < at <= largest}
        if not ahead:
            return tuple(out)
        now = min(ahead, key=lambda name: (ahead[name], lines[name][1]))
        size = ahead[now]
        out.append(Crossing(size, now))


def message_on_fabric(
    fabric: Fabric,
    source: int,
    sink: int,
    size: int,
    *,
    wire: Wire | None = None,
    alpha_us: float = 2.0,
    switch_us: float = 0.3,
    fibre_ns_per_m: float = 5.0,
    store_and_forward: bool = False,
    state: State | None = None,
) -> MessageTime:
    """One message over a shortest path: alpha + switches and cables on it + bytes on the wire at its least rate.

    Latencies of end hosts (2 us) and switches (0.3 us) are judgements, to be replaced by one's own; cables of
    unknown length count 0.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, link_gbps=400)
    >>> answer = message_on_fabric(f, int(f.endpoints[0]), int(f.endpoints[3]), 1 << 20, alpha_us=0, switch_us=0)
    >>> round(answer.wire_us, 2)
    21.39

    :raises DisconnectedError: no path.
    """
    given = wire or Wire()
    arcs = walk(NextHops.of(fabric, state=state, sinks=[sink]), [source], [sink], at_random(0))[:, 0]
    arcs = arcs[arcs >= 0]
    if not arcs.size:
        names = fabric.nodes.name
        raise DisconnectedError(f"no path leads from {str(names[source])!r} to {str(names[sink])!r}")
    rates = payload_gbps(fabric, None, state)[arcs]
    length = float(np.nansum(fabric.links.length_m[arcs // 2]))
    latency = alpha_us + (len(arcs) - 1) * switch_us + length * fibre_ns_per_m / 1000
    return message_time(
        size, float(rates.min()), transport_name=given.transport, mtu=given.mtu, alpha_us=latency, hops=len(arcs),
        store_and_forward=store_and_forward,
    )  # fmt: skip


def _mean_rate_time(times: Array) -> float:
    """W / E[W/T]: the harmonic mean of the draws."""
    if not times.any():
        return 0.0
    return float(1 / np.mean(1 / times))


def _half_width(times: Array) -> float:
    """Half of the 95 % interval of the mean; 0 where all draws are alike but for rounding."""
    if len(times) < 2 or float(np.ptp(times)) <= 1e-9 * float(times.mean()):
        return 0.0
    return student_half_width(times)


def _together(fabric: Fabric, phases: Sequence[Phase], under: Conditions) -> tuple[float, str]:
    """Largest load over rate of all phases' bytes together, split like a fluid, and the arc that binds."""
    if not sum(phase.repeats * phase.total_gbps for phase in phases) > 0 or phases[0].own_links:
        return 0.0, "the ranks' own links" if phases else ""
    load = _gigabits(fabric, phases, under)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = np.where(load > 1e-12 * load.max(initial=0.0), load / under.capacity_gbps, 0.0)
    arc = int(np.argmax(time))
    names = fabric.nodes.name
    kind = fabric.links.kind[arc // 2]
    return float(time[arc]), f"{names[fabric.arc_source[arc]]} to {names[fabric.arc_target[arc]]} ({kind})"


def _gigabits(fabric: Fabric, phases: Sequence[Phase], under: Conditions) -> NDArray[np.float64]:
    """What all phases put on every arc, split like a fluid: the mean over draws where paths are hashed."""
    fluid = under if under.routing.scheme in FLUID else under.fluid()
    total = np.zeros(2 * len(fabric.links))
    for phase in phases:
        total += phase.repeats * phase_loads(fabric, phase, fluid)[0]
    return total


def _assumptions(ranks: Ranks, under: Conditions, wire: Wire | None, algorithm: str) -> tuple[str, ...]:
    said = [f"routing {under.routing}", "phases one after another; every flow of a phase at once"]
    said.append("line rates" if wire is None else f"payload of {wire.transport} at MTU {wire.mtu}")
    if under.is_drawn:
        said.append(f"{plural(under.queue_pairs, 'queue pair')} a flow hashed independently, the slowest ends a phase")
    if ranks.dropped and ranks.local > 1:
        said.append("links inside hosts are not modelled: what ranks of one host say to each other costs nothing")
    if algorithm == "in_network":
        said.append("switches add up: each rank's own links alone are counted, busbw may exceed the wire")
    return tuple(said)


def _standing(under: Conditions, times: Array) -> Standing:
    half = _half_width(times)
    if under.is_drawn and half:
        return Standing(
            "sampled", f"{len(times)} draws, seed {under.seed}, 95 % interval of the mean +- {1e3 * half:.3g} ms"
        )
    if under.is_drawn:
        return Standing("model", f"alpha-beta over routed loads, all {len(times)} draws alike; no queues")
    return Standing("model", "alpha-beta over routed loads; fluid shares, no queues")
