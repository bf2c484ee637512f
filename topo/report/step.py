"""A usual training job on a fabric: its step as a timeline, what it waits for, and how it scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import ParameterError, TopoError
from topo.report.answers import why_not
from topo.report.asked import LeftOut
from topo.report.content import Facts, Grid, Picture, Section, Text
from topo.result import Row
from topo.view.curves import Axis, Curve, draw_curves
from topo.view.text import plural
from topo.view.timeline import Span, draw_timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from topo.fabric import Fabric
    from topo.training.answer import TrainingStep
    from topo.training.plan import Plan
    from topo.training.scaling import Scaling
    from topo.training.sensitivity import Sensitivity

__all__ = ["StepAnswers", "ask_step", "step_section", "usual_job"]

_BATCH = 2048
_PART = "h100-sxm"
_CHUNKS = {"llama-3-70b": 5, "llama-3-8b": 2}
_SIZES = 5
_SHOWN = 2


@dataclass(frozen=True, eq=False)
class StepAnswers:
    """A step on the fabric, the same job on fewer accelerators, and what changes of the fabric are worth to it."""

    step: TrainingStep
    scaling: Scaling
    sensitivity: Sensitivity


def usual_job(fabric: Fabric) -> tuple[str, Plan, NDArray[np.int64]]:
    """A model, how it is cut up, and the endpoints it runs on, in the order of the fabric.

    Llama 3 70B where hosts or scale-up domains hold eight ranks of a tensor group, else Llama 3 8B; four pipeline
    stages, as many replicas as fit, a power of two; 2,048 sequences of 8,192 tokens a step, as Llama 3 was trained.

    :raises ParameterError: fewer than two endpoints, or no such job fits their memory.
    """
    from topo.analysis.collectives.flows import Ranks
    from topo.parts.accelerators import accelerator
    from topo.parts.models import model_shape
    from topo.training.memory import refuse_too_large
    from topo.training.plan import Plan

    n = len(fabric.endpoints)
    if n < 2:
        raise ParameterError(f"{plural(n, 'endpoint')}; a job takes at least two")
    local = _local(fabric, Ranks.of(fabric, None).host.ravel())
    found: ParameterError | None = None
    for model, tensor in (("llama-3-70b", 8), ("llama-3-8b", local)):
        if tensor > local or tensor > n:
            continue
        stages = 4 if n >= 4 * tensor else 1
        replicas = 1 << (n // (tensor * stages)).bit_length() - 1
        plan = Plan(
            batch=max(_BATCH, stages * replicas), tensor=tensor, pipeline=stages, data=replicas,
            chunks=_CHUNKS[model] if stages > 1 else 1, sequence_parallel=tensor > 1, recompute="full", flash=True,
            shard="optimizer", overlap_data=True,
        )  # fmt: skip
        try:
            refuse_too_large(model_shape(model), plan, accelerator(_PART))
        except ParameterError as error:
            found = error
            continue
        return model, plan, np.asarray(fabric.endpoints[: plan.ranks], np.int64)
    raise found or ParameterError("no usual job fits")


def _local(fabric: Fabric, island: NDArray[np.int64]) -> int:
    """Ranks of a tensor group: the largest power of two up to 8 that divides the ranks of every host or domain."""
    size = np.unique(island, return_counts=True)[1]
    common = int(np.gcd.reduce(size))
    return max(k for k in (1, 2, 4, 8) if common % k == 0)


def ask_step(fabric: Fabric) -> StepAnswers:
    """The usual job on a fabric, flows spread evenly.

    :raises TopoError: no usual job fits, or some endpoints have no path.
    """
    from topo.training.scaling import scaling_efficiency
    from topo.training.sensitivity import fabric_sensitivity
    from topo.training.step import training_step

    model, plan, rows = usual_job(fabric)
    step = training_step(model, plan, part=_PART, fabric=fabric, placement=rows)
    sizes = [plan.data >> k for k in range(_SIZES)][::-1]
    replicas = [size for size in sizes if size >= 1 and plan.batch // size % plan.pipeline == 0]
    scaling = scaling_efficiency(model, plan, replicas, part=_PART, fabric=fabric, placement=rows, check_memory=False)
    worth = fabric_sensitivity(fabric, model, plan, part=_PART, placement=rows, routing="ecmp")
    return StepAnswers(step, scaling, worth)


def step_section(answer: StepAnswers | LeftOut | TopoError) -> Section:
    """The job and its step, the timeline, the terms, how it scales, and what a change of the fabric is worth."""
    title = "A training step"
    if isinstance(answer, LeftOut):
        return Section("step", title, [Text(str(answer))])
    if isinstance(answer, ParameterError):
        return Section("step", title, [Text(f"No usual job here: {answer}.")])
    if isinstance(answer, TopoError):
        return Section("step", title, why_not(answer))
    return Section("step", title, list(_items(answer)))


def _items(answer: StepAnswers) -> Iterator[Text | Facts | Grid | Picture]:
    step, plan = answer.step, answer.step.plan
    cut = f"{plan.tensor} tensor-parallel x {plural(plan.pipeline, 'stage')} x {plural(plan.data, 'replica')}"
    yield Text(
        f"{step.model} on the first {step.ranks:,} endpoints, each taken as one {step.accelerator}: {cut}, "
        f"{step.batch:,} sequences a step. {_span(step.time_s)} a step, MFU {100 * step.mfu:.1f} %, "
        f"{100 * step.network_share:.1f} % of the time waits for the network."
    )
    yield _timeline(step)
    known = next(row.standing for row in step.rows() if row.label == "time of a step")
    yield Facts(
        (
            Row("time of a step", _span(step.time_s), standing=known),
            Row("MFU, model operations over peak", f"{100 * step.mfu:.4g} %", standing=known),
            Row("HFU, recomputation counted", f"{100 * step.hfu:.4g} %", standing=known),
        )
    )
    terms = [(name, seconds) for name, seconds in step.terms.items() if seconds]
    rows = tuple((name, _span(seconds), f"{100 * seconds / step.time_s:.1f} %") for name, seconds in terms)
    shares = tuple(seconds / step.time_s for _, seconds in terms)
    note = f"Standing: {known}."
    yield Grid(("term", "time", "share"), rows, "What the step is made of", note, shares)
    if len(answer.scaling.ranks) > 1:
        yield _efficiency(answer.scaling)
    worth = tuple(
        (one.change, _span(one.time_s), f"{100 * one.mfu:.2f} %", f"{one.mfu_points + 0.0:+.2f}")
        for one in answer.sensitivity.variants
    )
    head = ("change", "time of a step", "MFU", "MFU points")
    yield Grid(head, worth, "What one change of the fabric is worth to this job", note)
    yield Text(f"Assumed: {'; '.join(step.assumptions)}.")


def _span(seconds: float) -> str:
    """A time with the unit that suits it.

    >>> _span(1.0981), _span(0.04417), _span(7.786e-05)
    ('1.098 s', '44.17 ms', '77.86 us')
    """
    for unit, least in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= least:
            return f"{seconds / least:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} us"


def _timeline(step: TrainingStep) -> Picture:
    """The schedule of a few micro-batches, or of one where there is no pipeline."""
    plan = step.plan
    many = min(plan.micro_batches, _SHOWN * plan.pipeline)
    run = step.timeline(many)
    spans = [
        Span(int(stage), 1e3 * float(start), 1e3 * float(end), int(backward))
        for stage, backward, start, end in zip(run.stage, run.backward, run.start_s, run.end_s, strict=True)
    ]
    after = ("optimizer", "exposed data")
    at = 1e3 * run.time_s
    for i, name in enumerate(after):
        width = 1e3 * step.terms[name]
        if width > 0:
            spans += [Span(lane, at, at + width, 2 + i) for lane in range(plan.pipeline)]
            at += width
    kinds = ["forward", "backward", "optimizer", "exposed gradients"]
    names = [f"stage {i + 1}" for i in range(plan.pipeline)]
    idle = 1 - sum(end - start for start, end in zip(run.start_s, run.end_s, strict=True)) / plan.pipeline / run.time_s
    last = [f"{_span(step.terms[name])} of {kind}" for name, kind in zip(after, kinds[2:], strict=True)]
    alt = (
        f"{plural(plan.pipeline, 'stage')} of one replica over {_span(1e-3 * at)}: micro-batches (here {many}) forward "
        f"and backward, {100 * idle:.0f} % of the passes' time idle, then {' and '.join(last)}."
    )
    caption = (
        f"Timeline of a step of {many} of its {plan.micro_batches:,} micro-batches; gaps are the bubble"
        if many < plan.micro_batches else "Timeline of a step; gaps are the bubble"
    )  # fmt: skip
    return Picture.of_chart(
        draw_timeline, names, spans, kinds, unit="ms", title="Timeline of a step", alt=alt, caption=caption
    )


def _efficiency(scaling: Scaling) -> Picture:
    """Efficiency and MFU against the number of accelerators."""
    n = [float(ranks) for ranks in scaling.ranks]
    curves = [
        Curve("scaling efficiency", n, [100 * value for value in scaling.efficiency]),
        Curve("MFU", n, [100 * value for value in scaling.mfu]),
        Curve("waiting for the network", n, [100 * value for value in scaling.network_share]),
    ]
    x = Axis("accelerators, the same batch for all", n[0], n[-1], n, log=True, labels=[f"{v:,.0f}" for v in n])
    y = Axis("%", 0, 100, (0, 25, 50, 75, 100))
    told = "; ".join(f"{v:,.0f}: {100 * e:.1f} %" for v, e in zip(n, scaling.efficiency, strict=True))
    alt = f"Scaling efficiency against accelerators, {told}."
    caption = f"Efficiency of {scaling.model} against accelerators, strong scaling: the same batch divided among more"
    return Picture.of_chart(
        draw_curves, curves, x, y, title="Efficiency against accelerators", alt=alt, caption=caption
    )
