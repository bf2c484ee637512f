"""What collisions cost a placed job: the slowest step of a ring, or of the phases of an all-to-all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collisions.answer import EcmpCollisions, Estimate, figure
from topo.analysis.collisions.ask import collisions_of
from topo.analysis.collisions.flow_set import check_whole
from topo.analysis.intervals import student_half_width
from topo.errors import ParameterError
from topo.fabric import Fabric, State, expect_fabric
from topo.result import Result, Row, Standing, hidden
from topo.routing.scheme import Routing
from topo.table import check_rows
from topo.traffic.demand import Demand
from topo.traffic.patterns import pair_rates

__all__ = ["COLLECTIVES", "JobCollisions", "job_collisions"]

COLLECTIVES = ("ring", "all-to-all")
_MOST_PHASES = 128
_SAMPLES = 2000


@dataclass(frozen=True, eq=False)
class JobCollisions(Result):
    """How much longer a collective takes because its flows collide.

    ``stretch`` is the mean time over the time without sharing. A ring keeps its flows, so each of its steps is as
    slow as the slowest flow: E max(1, largest load over capacity). An all-to-all of n ranks goes through n - 1
    shifts, each with flows of its own: the mean of their stretches. ``slowest_step`` lists (t, lower, upper,
    estimate) of P(no step takes more than t times its time without sharing).
    """

    fabric_name: str
    collective: str
    ranks: int
    phases: int
    phases_asked: int
    queue_pairs: int
    stretch: Estimate
    slowest_step: tuple[tuple[float, float, float, float], ...]
    phase_stretch: NDArray[np.float64] = hidden()

    title: ClassVar[str] = "Collisions of a placed job"

    def rows(self) -> list[Row]:
        """Stretch, then quantiles of the slowest step."""
        out = [
            Row("fabric", self.fabric_name),
            Row("collective", f"{self.collective} of {self.ranks:,} ranks, {self.phases:,} phase(s)"),
            Row("queue pairs a flow", self.queue_pairs),
            Row("mean stretch", self.stretch.text(), "times", self.stretch.standing),
            Row("mean share of the speed without collisions", figure(100 / self.stretch.estimate), "%"),
        ]
        for share in (0.5, 0.9, 0.99):
            t = self.quantile(share)
            if t is not None:
                out.append(Row(f"slowest step, {100 * share:.0f} % of jobs at most", t, "times"))
        if self.phases_asked < self.phases:
            out.append(Row("phases worked out", self.phases_asked))
        return out

    def quantile(self, share: float) -> float | None:
        """The stretch of the slowest step that this share of jobs stays within, by the estimate; None if unknown."""
        return next((t for t, _, _, p in self.slowest_step if p >= share), None)


def job_collisions(
    fabric: Fabric,
    ranks: ArrayLike,
    collective: str = "ring",
    *,
    queue_pairs: int = 1,
    routing: Routing | str = "ecmp",
    most_phases: int = _MOST_PHASES,
    seed: int = 0,
    state: State | None = None,
) -> JobCollisions:
    """Law of the slowest step of a job whose rank r is at node row ``ranks[r]``, and the stretch it causes.

    Ring: rank r sends to rank r + 1 throughout. All-to-all: in phase s rank r sends to rank r + s, s = 1 .. n - 1;
    above ``most_phases`` phases that many are drawn. Exact where single flow sets are (a leaf-to-leaf shift),
    otherwise between proven bounds with an estimate; sampled inside opened hosts.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=8, spines=8, hosts_per_leaf=1)
    >>> job_collisions(f, f.endpoints, "ring").stretch.text()
    '1'

    :raises ParameterError: fewer than two ranks, a rank twice, one that is no endpoint, an unknown collective.
    """
    expect_fabric(fabric)
    if collective not in COLLECTIVES:
        raise ParameterError(f"unknown collective {collective!r}; known: {', '.join(COLLECTIVES)}")
    check_whole("most_phases", most_phases, 1, 1_000_000)
    rows = _ranks(fabric, ranks)
    n = len(rows)
    shifts = np.array([1]) if collective == "ring" else np.arange(1, n)
    asked = shifts
    if len(shifts) > most_phases:
        drawn = np.random.default_rng(np.random.SeedSequence(seed)).choice(len(shifts), most_phases, replace=False)
        asked = shifts[np.sort(drawn)]
    found = []
    for shift in asked.tolist():
        to = np.roll(rows, -shift)
        demand = Demand.of(fabric, f"shift by {shift}", source=rows, sink=to, gbps=pair_rates(fabric, rows, to))
        found.append(_asked(fabric, demand, queue_pairs, routing, seed, state))
    stretches = [one.slowdown for one in found]
    if any(one is None for one in stretches):
        raise ParameterError("some rank's traffic meets a link of rate 0 or has no path; the stretch is unbounded")
    known = [one for one in stretches if one is not None]
    return JobCollisions(
        fabric_name=fabric.name,
        collective=collective,
        ranks=n,
        phases=len(shifts),
        phases_asked=len(asked),
        queue_pairs=queue_pairs,
        stretch=_mean(known, len(shifts)),
        slowest_step=_slowest_step(found, len(shifts)),
        phase_stretch=np.array([one.estimate for one in known]),
    )


def _asked(
    fabric: Fabric, demand: Demand, queue_pairs: int, routing: Routing | str, seed: int, state: State | None
) -> EcmpCollisions:
    """Sampled only where nothing else is known."""
    found = collisions_of(
        fabric,
        demand,
        routing=routing,
        queue_pairs=queue_pairs,
        at_least=_SAMPLES,
        tolerance=0.01,
        seed=seed,
        state=state,
    )
    assert found is not None
    if found.lost_flows:
        a, b = found.lost_pairs[0]
        raise ParameterError(
            f"{found.lost_flows} flow(s) of the job have no path, first {a} to {b}; place it elsewhere"
        )
    return found


def _mean(parts: Sequence[Estimate], phases: int) -> Estimate:
    """Mean over phases; the expectation is linear, whatever they share."""
    lower, upper, middle = (
        float(np.mean([getattr(part, name) for part in parts])) for name in ("lower", "upper", "estimate")
    )
    kinds = {part.standing.kind for part in parts}
    if len(parts) < phases:
        half = student_half_width(np.array([part.estimate for part in parts]))
        how = f"{len(parts)} of {phases} phases drawn; 95 % interval"
        return Estimate(max(1.0, lower - half), upper + half, middle, Standing("sampled", how))
    kind = "exact" if kinds == {"exact"} else "sampled" if "sampled" in kinds else "bracket"
    return Estimate(
        lower, upper, middle, Standing(kind, parts[0].standing.how if len(kinds) == 1 else "phase by phase")
    )


def _slowest_step(found: Sequence[EcmpCollisions], phases: int) -> tuple[tuple[float, float, float, float], ...]:
    """P(no phase above t): phases hash apart, so their laws multiply."""
    if any(not one.slowest_law for one in found):
        return ()
    grid = np.unique(np.concatenate([[line[0] for line in one.slowest_law] for one in found]))
    log_total = np.zeros((3, len(grid)))
    for one in found:
        table = np.array(one.slowest_law)
        at = np.searchsorted(table[:, 0], grid * (1 + 1e-12), side="right") - 1
        with np.errstate(divide="ignore"):
            log_total += np.log(table[at, 1:].T)
    p = np.exp(log_total * (phases / len(found)))
    return tuple((float(t), float(a), float(b), float(c)) for t, a, b, c in zip(grid, *p, strict=True))


def _ranks(fabric: Fabric, ranks: ArrayLike) -> NDArray[np.int64]:
    rows = check_rows(np.asarray(ranks), len(fabric.nodes), "nodes")
    if len(rows) < 2:
        raise ParameterError(f"a job of {len(rows)} rank(s) sends nothing; give at least two endpoint rows")
    found, count = np.unique(rows, return_counts=True)
    if (count > 1).any():
        name = str(fabric.nodes.name[found[count > 1][0]])
        raise ParameterError(f"{name!r} holds two ranks; give each endpoint row once")
    other = np.flatnonzero(~fabric.nodes.is_endpoint[rows])
    if other.size:
        name = str(fabric.nodes.name[rows[other[0]]])
        raise ParameterError(f"rank {other[0]} is at {name!r}, which is no endpoint of {fabric.name!r}")
    return np.asarray(rows, dtype=np.int64)
