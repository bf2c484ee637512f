"""Collectives over two levels, a fast one inside hosts and a slow one between them: summed, and as a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topo.analysis.collectives.cost import collective_cost
from topo.errors import ParameterError
from topo.result import Result, Row, Standing

__all__ = ["HierarchicalCost", "Level", "hierarchical_all_reduce", "two_level_all_to_all"]


@dataclass(frozen=True, slots=True)
class Level:
    """One level: ranks in a group, latency of a message, rate of a rank (GB/s, one direction)."""

    ranks: int
    alpha_us: float
    bandwidth_gbyte_s: float


@dataclass(frozen=True)
class HierarchicalCost(Result):
    """A collective in phases: ``sum_s`` when one waits for the other, ``pipelined_s`` at best when they overlap."""

    collective: str
    bytes: float
    phases: tuple[tuple[str, float], ...]
    sum_s: float
    pipelined_s: float
    busbw_sum_gbyte_s: float
    busbw_pipelined_gbyte_s: float
    standing: Standing

    title: ClassVar[str] = "Collective over two levels, closed form"

    def rows(self) -> list[Row]:
        """Phases, then both ends of what the whole takes."""
        return [
            *(Row(name, 1e3 * time, "ms") for name, time in self.phases),
            Row("phases one after another", 1e3 * self.sum_s, "ms", self.standing),
            Row("phases overlapped, at best", 1e3 * self.pipelined_s, "ms"),
            Row("busbw, one after another", self.busbw_sum_gbyte_s, "GB/s"),
            Row("busbw, overlapped", self.busbw_pipelined_gbyte_s, "GB/s"),
        ]


def hierarchical_all_reduce(size: float, inner: Level, outer: Level) -> HierarchicalCost:
    """Reduce-scatter inside, all-reduce of 1/G between, all-gather inside; G ranks a host, one NIC each.

    Sum = 2 [(G-1) a_i + ((G-1)/G) S/B_i] + 2 (N-1) a_e + 2 ((N-1)/N) (S/G)/B_e. Pipelined, no part takes longer
    than the levels' own totals: at best the larger of the two. A flat ring over all NICs is often faster than the
    sum. The two-dimensional all-reduce over n1 x n2 ranks is the same formula.

    >>> answer = hierarchical_all_reduce(2**30, Level(8, 0, 370), Level(8, 0, 50))
    >>> round(1e3 * answer.sum_s, 2), round(1e3 * answer.pipelined_s, 2)
    (9.78, 5.08)

    :raises ParameterError: as :func:`collective_cost`.
    """
    inside = {"bytes": size, "ranks": inner.ranks, "alpha_us": inner.alpha_us, "algorithm": "ring"}
    scatter = collective_cost("reduce_scatter", bandwidth_gbyte_s=inner.bandwidth_gbyte_s, **inside)  # type: ignore[arg-type]
    between = collective_cost(
        "all_reduce",
        bytes=size / inner.ranks,
        ranks=outer.ranks,
        alpha_us=outer.alpha_us,
        bandwidth_gbyte_s=outer.bandwidth_gbyte_s,
        algorithm="ring",
    )
    phases = (
        ("reduce-scatter inside hosts", scatter.time_s),
        ("all-reduce between hosts", between.time_s),
        ("all-gather inside hosts", scatter.time_s),
    )
    n = inner.ranks * outer.ranks
    return _answer("all_reduce", size, phases, max(2 * scatter.time_s, between.time_s), 2 * (n - 1) / n)


def two_level_all_to_all(size: float, inner: Level, outer: Level, *, relay: bool = True) -> HierarchicalCost:
    """All-to-all of ``size`` bytes a rank over N hosts of G ranks: over the NIC S (n-G)/n, inside S (G-1)/n.

    With ``relay`` (NCCL's PXN) what leaves goes first to the accelerator of the right rail, S ((n-G)/n) ((G-1)/G)
    more over the inner level, and a rank sends N - 1 messages instead of n - G.

    >>> answer = two_level_all_to_all(256 * 2**20, Level(8, 0, 370), Level(8, 0, 50))
    >>> [round(1e3 * time, 4) for _, time in answer.phases]
    [0.0794, 0.5555, 4.6976]

    :raises ParameterError: a level with no rank, a rate not above 0.
    """
    for level in (inner, outer):
        if level.ranks < 1 or level.bandwidth_gbyte_s <= 0 or level.alpha_us < 0:
            raise ParameterError(f"{level}: ranks must be at least 1, alpha at least 0 and the rate above 0")
    g, n = inner.ranks, inner.ranks * outer.ranks
    away = size * (n - g) / n
    inside = size * (g - 1) / n / (inner.bandwidth_gbyte_s * 1e9) + (g - 1) * inner.alpha_us * 1e-6
    relayed = away * (g - 1) / g / (inner.bandwidth_gbyte_s * 1e9) if relay else 0.0
    messages = (outer.ranks - 1) if relay else n - g
    between = away / (outer.bandwidth_gbyte_s * 1e9) + messages * outer.alpha_us * 1e-6
    phases = (("inside hosts", inside), ("to the accelerator of the right rail", relayed), ("between hosts", between))
    return _answer("all_to_all", size, phases, max(inside + relayed, between), (n - 1) / n)


def _answer(
    collective: str, size: float, phases: tuple[tuple[str, float], ...], pipelined: float, factor: float
) -> HierarchicalCost:
    total = sum(time for _, time in phases)
    return HierarchicalCost(
        collective=collective,
        bytes=float(size),
        phases=phases,
        sum_s=total,
        pipelined_s=pipelined,
        busbw_sum_gbyte_s=size / total / 1e9 * factor if total > 0 else float("inf"),
        busbw_pipelined_gbyte_s=size / pipelined / 1e9 * factor if pipelined > 0 else float("inf"),
        standing=Standing("model", "alpha-beta closed form; the truth lies between sum and overlap"),
    )
