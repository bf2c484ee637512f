"""What helps against collisions, in one table: more queue pairs, more or faster uplinks, planes, rails, pinning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topo.analysis.collisions.answer import Estimate
from topo.analysis.collisions.bundles import split_mean_rate
from topo.analysis.collisions.flow_set import check_queue_pairs, check_whole
from topo.analysis.collisions.occupancy import binomial_above, max_load_distribution, p_max_at_most
from topo.analysis.ecmp import ecmp_stage
from topo.errors import ParameterError
from topo.result import Result, Row, Standing

__all__ = ["QUEUE_PAIRS", "EcmpRemedies", "Remedy", "known", "round_robin_rate", "stage_remedies"]

QUEUE_PAIRS = (2, 4, 8, 16, 32, 64)
_EXACT = Standing("exact", "one stage, independent even hashes")
_LIMIT = Standing("model", "the fluid limit: an even split of every packet stream")
_PINNED = Standing("exact", "edge colouring of the flow graph (König)")
_ROUND_ROBIN = Standing("model", "processor sharing in a closed network; one stage, many queue pairs")
_MOST_SPLIT = 1 << 21


@dataclass(frozen=True)
class Remedy:
    """One line: what is done, the mean rate of the slowest flow, the mean rate of a flow, as shares of its own rate.

    ``kind`` is ``as is``, ``striping``, ``round robin``, ``flowlets``, ``links``, ``planes``, ``rails``, ``pinning``
    or ``spraying``; ``amount`` counts (queue pairs, times the links).
    """

    name: str
    kind: str
    amount: float
    slowest: Estimate
    mean: Estimate | None

    def text(self) -> str:
        """Both rates for people."""
        mean = f", mean {self.mean.text(100)} %" if self.mean is not None else ""
        return f"slowest {self.slowest.text(100)} %{mean}"


@dataclass(frozen=True)
class EcmpRemedies(Result):
    """Remedies against ECMP collisions, the present state first.

    A striped flow sends 1/q over each queue pair and waits for the slowest; its mean is that of such waiting flows, so
    that few queue pairs may lower it while the slowest link's flow gains. Round robin sends whole messages over one
    queue pair after another.
    """

    case: str
    remedies: tuple[Remedy, ...]
    assumptions: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Remedies without a value here: their names, and why."""

    title: ClassVar[str] = "Remedies against ECMP collisions"
    derived: ClassVar[tuple[str, ...]] = ("sentence",)

    def rows(self) -> list[Row]:
        """One line a remedy."""
        lines = [Row(remedy.name, remedy.text(), "", remedy.slowest.standing) for remedy in self.remedies]
        lines += [Row(name, f"not worked out: {why}") for name, why in self.left_out]
        return [Row("case", self.case), *lines, Row("in short", self.sentence)] + [
            Row("assumption", text) for text in self.assumptions
        ]

    @property
    def sentence(self) -> str:
        """What striping over 8 queue pairs (or as many as were asked about) does."""
        striped = [remedy for remedy in self.remedies if remedy.kind == "striping"]
        if not striped:
            return f"{self.case}: the slowest link's flow gets {self.remedies[0].slowest.estimate:.3f} of line rate"
        chosen = next((remedy for remedy in striped if remedy.amount == 8), striped[-1])
        before = self.remedies[0].slowest
        about = "" if before.is_exact and chosen.slowest.is_exact else "about "
        after = chosen.slowest
        change = f"{after.estimate - before.estimate:.3f}"
        verb = "lifts" if after.estimate > before.estimate else "lowers"
        if float(change) == 0:
            return (
                f"{self.case}: striping over {int(chosen.amount)} queue pairs leaves the slowest link's flow at "
                f"{about}{before.estimate:.3f} of line rate"
            )
        return (
            f"{self.case}: striping over {int(chosen.amount)} queue pairs {verb} the slowest link's flow from "
            f"{about}{before.estimate:.3f} to {about}{chosen.slowest.estimate:.3f} of line rate"
        )

    def curve(self) -> list[tuple[int, Estimate, Estimate | None]]:
        """Queue pairs, slowest and mean rate: the remedy curve, from 1 queue pair on."""
        first = self.remedies[0]
        points = [(int(r.amount), r.slowest, r.mean) for r in self.remedies if r.kind == "striping"]
        return [(1, first.slowest, first.mean), *points]


def stage_remedies(
    flows: int, links: int, *, ratio: float = 1.0, queue_pairs: Sequence[int] = QUEUE_PAIRS, flowlets: int = 8
) -> EcmpRemedies:
    """Remedies for ``flows`` equal flows hashed onto ``links`` equal links of ``ratio`` flow rates each.

    Striping over q queue pairs throws n q balls, threshold k/q; a connection waits for its slowest queue pair. Round
    robin with w messages in flight gives everybody min(1, w m c/(n w + m - 1)). Planes: m/P links each, one piece of
    every flow on each. All exact but for round robin (a queueing model) and spraying (a limit). Cost: two seconds
    for 32 on 32, nearly all for the mean over 64 queue pairs.

    >>> table = stage_remedies(32, 32, queue_pairs=(8,))
    >>> table.sentence
    "32 flows on 32 links: striping over 8 queue pairs lifts the slowest link's flow from 0.295 to 0.563 of line rate"

    :raises ParameterError: counts below 1, a ratio not above 0, more queue pairs than UDP ports.
    """
    n, m = check_whole("flows", flows, 1, 1_000_000), check_whole("links", links, 1, 1_000_000)
    if not (math.isfinite(ratio) and ratio > 0):
        raise ParameterError(f"ratio is {ratio!r}; it must be above 0: a link's rate over a flow's")
    shares = [check_queue_pairs(q) for q in queue_pairs]
    pieces = check_queue_pairs(flowlets)
    remedies = [_stage("as it is", "as is", 1, n, m, ratio)]
    remedies += [_striped(n, m, ratio, q) for q in shares if q > 1]
    remedies += [_round_robin(n, m, ratio, w) for w in (1, 2, 4, 8)]
    remedies.append(Remedy(f"{pieces} flowlets a flow", "flowlets", pieces, *_parts(n, m, ratio, pieces, waits=False)))
    remedies += _wider(n, m, ratio)
    remedies += _planes(n, m, ratio)
    pinned = min(1.0, ratio / math.ceil(n / m))
    fluid = min(1.0, ratio * m / n)
    remedies.append(_flat("paths pinned, none shared needlessly", "pinning", pinned, _PINNED))
    remedies.append(_flat("packets sprayed, or adaptive routing, at best", "spraying", fluid, _LIMIT))
    return EcmpRemedies(
        f"{n:,} flows on {m:,} links",
        tuple(remedies),
        (
            "one stage: every queue pair takes one link, evenly and independently",
            "fluid shares of link rate: no queues, no congestion control",
        ),
    )


def round_robin_rate(n: int, m: int, in_flight: int, ratio: float = 1.0) -> float:
    """Rate of each of n connections that keep ``in_flight`` messages under way, each message on a random link of m.

    A closed network of n w customers at m processor-sharing links of c = ``ratio`` flow rates: min(1, w m c/(n w + m -
    1)) of a flow's own rate.

    >>> round(round_robin_rate(8, 8, 1) * 15, 12)
    8.0
    """
    return min(1.0, ratio * in_flight * m / (n * in_flight + m - 1))


def known(value: float, standing: Standing = _EXACT) -> Estimate:
    """One number for bounds and estimate: exact, or of a model or limit that has no bounds, as ``standing`` says."""
    return Estimate(value, value, value, standing)


def _flat(name: str, kind: str, rate: float, standing: Standing) -> Remedy:
    return Remedy(name, kind, 1, known(rate, standing), known(rate, standing))


def _stage(name: str, kind: str, amount: float, n: int, m: int, ratio: float) -> Remedy:
    stage = ecmp_stage(n, m, link_gbps=ratio)
    return Remedy(name, kind, amount, known(stage.slowest_rate), known(stage.mean_rate))


def _striped(n: int, m: int, ratio: float, q: int) -> Remedy:
    return Remedy(f"striped over {q} queue pairs", "striping", q, *_parts(n, m, ratio, q, waits=True))


def _parts(n: int, m: int, ratio: float, q: int, *, waits: bool) -> tuple[Estimate, Estimate | None]:
    """Slowest link's flow, and the mean of a flow that waits for its slowest part, or of its parts."""
    pmf = max_load_distribution(n * q, m)
    slowest = math.fsum(p * min(1.0, ratio * q / load) for load, p in pmf.items())
    if not waits:
        return known(slowest), known(ecmp_stage(n * q, m, link_gbps=ratio * q).mean_rate)
    # The law of the slowest part is a sum over a plane of q by n q points.
    small = q * n * q <= _MOST_SPLIT
    return known(slowest), known(split_mean_rate(n, m, q, ratio=ratio)) if small else None


def _round_robin(n: int, m: int, ratio: float, w: int) -> Remedy:
    rate = known(round_robin_rate(n, m, w, ratio), _ROUND_ROBIN)
    return Remedy(f"round robin over many queue pairs, {w} messages in flight", "round robin", w, rate, rate)


def _wider(n: int, m: int, ratio: float) -> Iterator[Remedy]:
    if m % 8 == 0:
        yield _stage("an eighth more uplinks", "links", 9 / 8, n, m * 9 // 8, ratio)
    yield _stage("twice the uplinks", "links", 2, n, 2 * m, ratio)
    if m % 2 == 0:
        yield _stage("uplinks twice as fast, half as many", "links", 1, n, m // 2, 2 * ratio)
    yield _stage("uplinks twice as fast", "links", 2, n, m, 2 * ratio)


def _planes(n: int, m: int, ratio: float) -> Iterator[Remedy]:
    """Each flow in P equal pieces, one on each plane of m/P links."""
    for planes in (2, 4, 8):
        if m % planes or m == planes:
            continue
        links = m // planes
        slowest, before = 0.0, 0.0
        for k in range(1, n + 1):
            p = p_max_at_most(n, links, k) ** planes
            slowest += (p - before) * min(1.0, ratio * planes / k)
            before = p
            if p > 1 - 1e-14:
                break
        slowest += (1 - before) * min(1.0, ratio * planes / n)
        mean = _worst_of_planes(n, links, ratio, planes)
        yield Remedy(f"striped over {planes} planes of {links} uplinks", "planes", planes, known(slowest), known(mean))


def _worst_of_planes(n: int, links: int, ratio: float, planes: int) -> float:
    """E min over planes of min(1, P c/(1 + Bin(n - 1, 1/links))): a flow waits for its slowest plane."""
    others = np.arange(n)
    cdf = 1 - binomial_above(others, n - 1, 1 / links) if links > 1 else (others == n - 1).astype(float)
    law = np.diff(np.concatenate([[0.0], np.asarray(cdf) ** planes]))
    return float(law @ np.minimum(1.0, ratio * planes / (others + 1.0)))
