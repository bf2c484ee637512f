"""Time of a training step: compute, exposed communication, bubble, optimizer, stragglers, checkpoints; MFU and HFU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from topo.analysis.collectives.carried import Wire
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.parts.accelerators import Accelerator, Calibration, accelerator, calibration
from topo.parts.models import ModelShape, model_shape
from topo.routing.scheme import Routing
from topo.training.answer import TrainingStep
from topo.training.exposure import Wait, activation_bytes, layer_waits
from topo.training.flops import hardware_flops, model_flops
from topo.training.kernels import Engine, Kernels, head_seconds, layer_kernels
from topo.training.losses import Checkpoints, Straggler
from topo.training.memory import held_parameters, refuse_too_large, training_memory
from topo.training.on_fabric import fabric_rates
from topo.training.plan import Plan
from topo.training.rates import GroupRate, Interconnect, checked_rates, group_rates
from topo.training.schedule import pipeline_s

__all__ = ["training_step"]

_OPTIMIZER_PASSES = 50
"""Bytes a parameter that an Adam step in mixed precision moves: scale and check 8, norm 4, clip 4, Adam 30, zero 4."""


def training_step(
    model: ModelShape | str,
    plan: Plan,
    *,
    part: Accelerator | str = "h100-sxm",
    efficiency: Calibration | str | float | None = None,
    network: Interconnect | None = None,
    rates: Mapping[str, GroupRate] | None = None,
    fabric: Fabric | None = None,
    placement: ArrayLike | None = None,
    routing: Routing | str = "ecmp",
    wire: Wire | None = None,
    state: State | None = None,
    ranks: int | None = None,
    straggler: Straggler | None = None,
    checkpoints: Checkpoints | None = None,
    count: str = "full",
    check_memory: bool = True,
) -> TrainingStep:
    """Time of one step of a job, its terms, and the shares of peak MFU and HFU.

    T = m (v t_c + head) + (p - 1) t_c + optimizer + data parallel + straggler + checkpoints; t_c is a chunk of
    layers forward and backward with the collectives it waits for and its two sends. ``efficiency`` is the one
    calibrated number (a name of :data:`~topo.parts.accelerators.CALIBRATIONS`, or a share of peak). Rates come from
    ``network`` in three numbers, from ``rates`` of each dimension, or from a ``placement`` (endpoint rows in rank
    order; all endpoints where None) on a ``fabric`` under ``routing``, ``wire`` and ``state``, by
    :func:`~topo.training.on_fabric.fabric_rates`. ``count`` is how model
    operations are counted (:func:`~topo.training.flops.model_flops`). A model: eight measured iteration times within
    4 %, fitted on them; :func:`~topo.training.comparisons.published_comparisons` lists all that it was held against.

    >>> plan = Plan(batch=64, tensor=8, pipeline=8, chunks=3, recompute="full", order=("tensor", "context", "data",
    ...             "pipeline"))
    >>> answer = training_step("gpt-175b", plan, part="a100-80gb", network=Interconnect(nic_gbyte_s=25 * 0.9937))
    >>> round(answer.time_s, 2)   # measured: 18.13 s
    18.17

    :raises ParameterError: degrees that do not fit the model or the ranks, a model too large for the memory, an
        efficiency outside 0 to 1.
    """
    shape = model_shape(model) if isinstance(model, str) else model
    chip = accelerator(part) if isinstance(part, str) else part
    if fabric is not None:
        placed = fabric.endpoints if placement is None else np.asarray(placement, np.int64)
        plan.check(shape, len(placed))
        rates = fabric_rates(fabric, placed, plan, part=chip, routing=routing, wire=wire, state=state)
    plan.check(shape, ranks)
    memory = refuse_too_large(shape, plan, chip) if check_memory else training_memory(shape, plan)
    share, fitted = _efficiency(chip, efficiency)
    chosen = network or Interconnect()
    found = checked_rates(plan, rates) if rates is not None else group_rates(plan, chip, chosen)
    work = _Work(shape, plan, Engine(chip, share), found)
    nic = found["data"].gbyte_s if rates is not None else chosen.nic_gbyte_s
    terms = work.terms(straggler, checkpoints, nic)
    time = sum(terms.values())
    peak = plan.ranks * chip.peak_tflops * 1e12
    flops = model_flops(shape, plan.batch, count=count)
    return TrainingStep(
        model=shape.name,
        accelerator=chip.name,
        ranks=plan.ranks,
        batch=plan.batch,
        efficiency=share,
        time_s=time,
        mfu=flops / time / peak,
        hfu=hardware_flops(shape, plan.batch, recompute=plan.recompute, count=count) / time / peak,
        tokens_s=plan.batch * shape.sequence / time,
        tflops_per_accelerator=flops / time / plan.ranks / 1e12,
        terms=terms,
        memory_gib=memory.total_bytes / 2**30,
        chunk_forward_s=work.forward_s(),
        chunk_backward_s=sum(work.chunk().values()) - work.forward_s(),
        head_s=sum(work.head()),
        waits=work.waits_per_step(),
        rates={name: rate for name, rate in found.items() if plan.group_size(name) > 1},
        plan=plan,
        assumptions=_assumptions(plan, fitted, count),
    )


@dataclass(frozen=True, eq=False)
class _Work:
    """All parts of a step."""

    model: ModelShape
    plan: Plan
    engine: Engine
    rates: dict[str, GroupRate]

    def layer(self, moe: bool) -> tuple[Kernels, tuple[Wait, ...]]:
        kernels = layer_kernels(self.model, self.plan, self.engine, moe=moe)
        return kernels, layer_waits(self.model, self.plan, kernels, self.rates, moe=moe)

    def kinds(self) -> list[tuple[bool, float]]:
        """(mixture of experts or not, layers of it in the chunk that paces)."""
        places = (self.model.layers + self.plan.spare_layers) / (self.plan.pipeline * self.plan.chunks)
        layers = self.plan.layers_per_chunk(self.model) if places == int(places) else places
        if self.plan.pipeline == 1:
            layers = self.model.layers
        moe = min(float(self.model.moe_layers), float(layers))
        return [(kind, n) for kind, n in ((True, moe), (False, layers - moe)) if n > 0]

    def boundary(self) -> tuple[float, float]:
        """Seconds of one send between stages: over the network, and inside the host to put it together."""
        if self.plan.pipeline == 1:
            return 0.0, 0.0
        size, t = activation_bytes(self.model, self.plan), self.plan.tensor
        split = self.plan.sequence_parallel or self.plan.scatter_gather
        rate = self.rates["pipeline"]
        sent = size / t if split else size
        across = self.engine.part.send_us * 1e-6 + sent / (rate.gbyte_s * 1e9)
        gathered = split and not self.plan.sequence_parallel
        return across, self.rates["tensor"].gather_s(size) if gathered else 0.0

    def head(self) -> tuple[float, float]:
        """Kernels and exposed collectives of output layer and loss, forward and backward of a micro-batch."""
        if self.plan.spare_layers:
            return 0.0, 0.0
        forward, backward = head_seconds(self.model, self.plan, self.engine)
        return forward + backward, self.rates["tensor"].gather_s(activation_bytes(self.model, self.plan))

    def chunk(self) -> dict[str, float]:
        """Parts of one chunk, forward and backward of a micro-batch, in seconds."""
        parts = dict.fromkeys(("compute", "tensor", "context", "expert"), 0.0)
        for moe, layers in self.kinds():
            kernels, waits = self.layer(moe)
            parts["compute"] += layers * (kernels.forward + kernels.backward + kernels.recomputed(self.plan.recompute))
            for wait in waits:
                parts[wait.dimension] += layers * wait.exposed_s
        across, gathered = self.boundary()
        parts["pipeline"] = 2 * (across + gathered)
        return parts

    def forward_s(self) -> float:
        """The forward part of a chunk, one send counted."""
        total = sum(self.boundary())
        for moe, layers in self.kinds():
            kernels, waits = self.layer(moe)
            total += layers * (kernels.forward + sum(wait.exposed_s for wait in waits if wait.when == "forward"))
        return total

    def terms(self, straggler: Straggler | None, checkpoints: Checkpoints | None, nic: float) -> dict[str, float]:
        """Every term in seconds; they add up to the step."""
        plan, parts = self.plan, self.chunk()
        m, v, p = plan.micro_batches, plan.chunks, plan.pipeline
        chunk_s = sum(parts.values())
        head_kernels, head_waits = self.head()
        paid = dict(parts, pipeline=0.0) if plan.asynchronous_sends else parts
        steady = pipeline_s(1, v, m, sum(paid.values()), head_kernels + head_waits)
        out = {
            "compute": m * v * paid["compute"],
            "output layer": m * head_kernels,
            "exposed tensor": m * (v * paid["tensor"] + head_waits),
            "exposed context": m * v * paid["context"],
            "exposed expert": m * v * paid["expert"],
            "exposed pipeline": m * v * paid["pipeline"],
        }
        assert abs(sum(out.values()) - steady) <= 1e-9 * steady
        out["bubble"] = (p - 1) * chunk_s
        held = self.held()
        out["optimizer"] = self.engine.memory_s(_OPTIMIZER_PASSES * held[1])
        out["exposed data"] = self.data_s(held[0], chunk_s)
        out["straggler"] = straggler.lost_s(out["compute"], plan.ranks) if straggler else 0.0
        out["checkpoints"] = checkpoints.lost_s(self.model, plan.ranks, nic) if checkpoints else 0.0
        return out

    def held(self) -> tuple[float, float]:
        """Parameters of the largest stage on a rank, embedding counted; and those its optimizer updates."""
        common, routed = held_parameters(self.model, self.plan)
        common += self.model.vocabulary * self.model.hidden / self.plan.tensor
        ranks, sharded = self.plan.replicas, self.plan.shard != "none"
        updated = common / (ranks if sharded else 1) + routed / (max(1, ranks // self.plan.expert) if sharded else 1)
        # Experts are reduced over fewer ranks; in a ring over all, that is a smaller size.
        fewer = (1 - self.plan.expert / ranks) / (1 - 1 / ranks) if ranks > 1 else 0.0
        return common + routed * fewer, updated

    def data_s(self, held: float, chunk_s: float) -> float:
        """Exposed part of the gradients' reduction and the weights' gathering."""
        plan, rate = self.plan, self.rates["data"]
        if plan.replicas == 1:
            return 0.0
        gradients, weights = plan.gradient_bytes * held, plan.weight_bytes * held
        if plan.shard == "none":
            times = [rate.reduce_s(gradients)]
        else:
            times = [rate.gather_s(gradients)] + [rate.gather_s(weights)] * (2 if plan.shard == "weights" else 1)
        if not plan.overlap_data:
            return sum(times)
        # All but the last piece travels while the other chunks, or layers, of the last micro-batches run.
        pieces = plan.chunks if plan.pipeline > 1 else max(1, round(gradients / (plan.bucket_mib * 2**20)))
        third = chunk_s / 3
        hiding = third * ((plan.chunks - 1) * plan.pipeline if plan.pipeline > 1 else 1)
        return sum(max(time / pieces, time - hiding) for time in times)

    def waits_per_step(self) -> tuple[tuple[Wait, float], ...]:
        """Every collective of a layer, with how often a rank runs it in a step."""
        times = self.plan.micro_batches * self.plan.chunks
        return tuple((wait, times * layers) for moe, layers in self.kinds() for wait in self.layer(moe)[1])


def _efficiency(part: Accelerator, given: Calibration | str | float | None) -> tuple[float, str]:
    """The share of peak, and where it comes from."""
    if isinstance(given, (int, float)):
        if not 0 < given <= 1:
            raise ParameterError(f"efficiency is {given}; it is a share of peak above 0 and at most 1")
        return float(given), f"efficiency {given:g} as given"
    found = given if isinstance(given, Calibration) else calibration(given or part.name)
    if found.accelerator != part.name:
        raise ParameterError(
            f"calibration {found.name!r} belongs to {found.accelerator}, not to {part.name}; it does not carry over, "
            "give an efficiency instead"
        )
    return found.efficiency, f"efficiency {found.efficiency:g}, calibration {found.name}: {found.fitted_on}"


def _assumptions(plan: Plan, fitted: str, count: str) -> tuple[str, ...]:
    said = [fitted, f"operations counted: {count}"]
    if plan.tensor > 1:
        hidden = "behind weight and input gradients" if plan.overlap_tensor else "not overlapped"
        said.append(f"tensor-parallel collectives exposed forward, backward {hidden}")
    if plan.pipeline > 1:
        said.append(
            "sends between stages cost time in the fill alone" if plan.asynchronous_sends
            else "sends between stages block, one forward and one backward a chunk"
        )  # fmt: skip
    if plan.replicas > 1:
        said.append(
            "gradients travel behind other chunks or layers, the last piece exposed" if plan.overlap_data
            else "gradients are reduced after the passes, all exposed"
        )  # fmt: skip
    if plan.expert > 1:
        said.append(f"all-to-alls of experts wait for the busiest rank, {plan.expert_skew:g} times the mean")
    return tuple(said)
