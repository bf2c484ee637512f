"""From a job to its split: which degrees stay in the scale-up domain, and what each alternative costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from topo.analysis.collectives.carried import Wire
from topo.analysis.collectives.flows import Ranks
from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.parts.models import ModelShape, model_shape
from topo.result import Result, Row, Standing
from topo.traffic.rates import line_rate_gbps
from topo.training.plan import Plan
from topo.training.rates import GROUPS, Interconnect
from topo.training.step import training_step

__all__ = ["Split", "Splits", "split_job"]

_CHUNKS = (1, 2, 3, 4, 6, 8)
_MICRO = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Split:
    """One split: time by the bound (rates of the ports alone), and routed on the fabric where that was done."""

    plan: Plan
    bound_s: float
    mfu_bound: float
    routed_s: float | None
    mfu: float | None
    inside: tuple[str, ...]
    memory_gib: float

    @property
    def text(self) -> str:
        """Degrees in words."""
        p = self.plan
        parts = [f"{name} {_of(p, name)}" for name in _ORDER if _of(p, name) > 1]
        extra = f", micro-batch {p.micro_batch}" + (f", {p.chunks} chunks" if p.chunks > 1 else "")
        return (" x ".join(parts) or "one rank") + extra + f", recompute {p.recompute}"


_ORDER = ("tensor", "context", "pipeline", "data", "expert")


def _of(plan: Plan, name: str) -> int:
    return int(getattr(plan, name))


@dataclass(frozen=True)
class Splits(Result):
    """Splits by time, the best first; each is compared with the best."""

    model: str
    ranks: int
    n_tried: int
    n_fit: int
    refused: dict[str, int]
    best: tuple[Split, ...]
    proved: bool
    standing: Standing

    title: ClassVar[str] = "How to cut the job"

    def rows(self) -> list[Row]:
        """The best splits, then how many were looked at."""
        rows = [Row("model and ranks", f"{self.model} on {self.ranks:,}")]
        first = self.best[0].routed_s or self.best[0].bound_s
        for split in self.best:
            time = split.routed_s or split.bound_s
            inside = ", ".join(split.inside) or "nothing"
            said = f"{time:.4g} s ({100 * (time / first - 1):+.1f} %), bound {split.bound_s:.4g} s"
            rows.append(Row(split.text, f"{said}; in the scale-up domain: {inside}; {split.memory_gib:.0f} GiB"))
        rows.append(Row("splits tried", self.n_tried))
        rows.append(Row("of them fit", self.n_fit))
        rows += [Row(f"refused: {why}", count) for why, count in self.refused.items()]
        rows.append(Row("no other split can be faster", self.proved, standing=self.standing))
        return rows


def split_job(
    model: ModelShape | str,
    ranks: int,
    batch: int,
    *,
    part: str = "h100-sxm",
    network: Interconnect | None = None,
    fabric: Fabric | None = None,
    placement: ArrayLike | None = None,
    base: Plan | None = None,
    recompute: Sequence[str] = ("selective", "full"),
    keep: int = 10,
    **given: Any,
) -> Splits:
    """Every split of a job over ``ranks``, bounded in closed form; on a ``fabric`` the best ``keep`` are routed.

    All degrees tensor x context x pipeline x data (and expert dividing data) that multiply to the ranks, times
    micro-batch, chunks and recomputation, that fit the model and the memory. The bound takes every group at its ports'
    rate, which no routing beats; where the best routed time is at most the bound of what was not routed, nothing else
    is faster. ``base`` gives all that is not varied (sequence parallelism, sharding, overlap).

    >>> found = split_job("gpt-22b", 16, 64, part="a100-80gb", recompute=("selective",), keep=3)
    >>> found.n_fit > 10, found.best[0].bound_s <= found.best[1].bound_s, found.best[0].inside[:1]
    (True, True, ('tensor',))

    :raises ParameterError: no split fits; the commonest reason is told.
    """
    shape = model_shape(model) if isinstance(model, str) else model
    if ranks < 1 or batch < 1 or keep < 1:
        raise ParameterError(f"ranks is {ranks}, batch {batch} and keep {keep}; all must be at least 1")
    chosen = network or _ports(fabric, placement)
    start = base or Plan(batch=batch, sequence_parallel=True, shard="optimizer", overlap_data=True)
    found, refused, tried = [], dict[str, int](), 0
    for plan in _plans(shape, ranks, batch, start, recompute):
        tried += 1
        try:
            step = training_step(shape, plan, part=part, network=chosen, **given)
        except ParameterError as error:
            why = "too large for memory" if "GiB" in str(error) else "degrees that do not fit the model"
            refused[why] = refused.get(why, 0) + 1
            continue
        inside = tuple(g for g in GROUPS if plan.group_size(g) > 1 and step.rates[g].is_inside)
        found.append(Split(plan, step.time_s, step.mfu, None, None, inside, step.memory_gib))
    if not found:
        most = max(refused, key=lambda why: refused[why]) if refused else "no split has these ranks and this batch"
        raise ParameterError(f"no split of {shape.name} over {ranks:,} ranks fits: {most}")
    found.sort(key=lambda split: (split.bound_s, split.text))
    best, proved = found[:keep], True
    if fabric is not None:
        best = sorted(_routed(shape, best, fabric, placement, part, given), key=lambda s: s.routed_s or s.bound_s)
        fastest = best[0].routed_s or best[0].bound_s
        proved = len(found) <= keep or fastest <= found[keep].bound_s
    how = "bounds at the ports' rates" + (f", best {len(best)} routed on {fabric.name}" if fabric is not None else "")
    return Splits(
        shape.name, ranks, tried, len(found), refused, tuple(best), proved, Standing("model", how)
    )  # fmt: skip


def _ports(fabric: Fabric | None, placement: ArrayLike | None) -> Interconnect:
    """The fabric in three numbers that no routing beats: ranks of a domain, the fastest port's payload."""
    if fabric is None:
        return Interconnect()
    rows = np.asarray(fabric.endpoints if placement is None else placement, np.int64)
    ranks = Ranks.of(fabric, rows)
    line = line_rate_gbps(fabric)[np.searchsorted(fabric.endpoints, rows)]
    return Interconnect(domain=ranks.local, nic_gbyte_s=float(line.max()) / 8 * Wire().efficiency)


def _routed(
    model: ModelShape,
    splits: Sequence[Split],
    fabric: Fabric,
    placement: ArrayLike | None,
    part: str,
    given: dict[str, Any],
) -> Iterator[Split]:
    rows = np.asarray(fabric.endpoints if placement is None else placement, np.int64)
    for s in splits:
        step = training_step(model, s.plan, part=part, fabric=fabric, placement=rows, **given)
        yield Split(s.plan, s.bound_s, s.mfu_bound, step.time_s, step.mfu, s.inside, s.memory_gib)


def _plans(model: ModelShape, ranks: int, batch: int, base: Plan, recompute: Sequence[str]) -> Iterator[Plan]:
    """Plans whose degrees multiply to the ranks and divide what they must; the rest is left to their check."""
    for t in _divisors(ranks):
        if model.heads % t:
            continue
        for c in _divisors(ranks // t):
            for p in _divisors(ranks // t // c):
                d = ranks // (t * c * p)
                if batch % d or p > model.layers + base.spare_layers:
                    continue
                for e in _divisors(d) if model.experts is not None else (1,):
                    yield from _schedules(
                        base.with_(tensor=t, context=c, pipeline=p, data=d, expert=e, batch=batch), model, recompute
                    )


def _schedules(plan: Plan, model: ModelShape, recompute: Sequence[str]) -> Iterator[Plan]:
    places = model.layers + plan.spare_layers
    for b in _MICRO:
        if plan.batch % (plan.data * b):
            continue
        for v in _CHUNKS if plan.pipeline > 1 else (1,):
            if places % (plan.pipeline * v) or (v > 1 and plan.batch // (plan.data * b) % plan.pipeline):
                continue
            for mode in recompute:
                yield plan.with_(
                    micro_batch=b,
                    chunks=v,
                    recompute=mode,
                    sequence_parallel=plan.sequence_parallel and plan.tensor > 1,
                )


def _divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]
