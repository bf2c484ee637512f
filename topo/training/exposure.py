"""Which collectives a layer waits for: each with its bytes, its time, and the work that may hide it."""

from __future__ import annotations

from dataclasses import dataclass

from topo.parts.models import ModelShape
from topo.training.kernels import Kernels
from topo.training.plan import Plan
from topo.training.rates import GroupRate

__all__ = ["Wait", "activation_bytes", "layer_waits"]

_HALF = 2


@dataclass(frozen=True, slots=True)
class Wait:
    """One collective of a layer and micro-batch: bytes that a rank sends, seconds it takes, seconds that hide it."""

    dimension: str
    primitive: str
    when: str
    sent_bytes: float
    time_s: float
    window_s: float = 0.0

    @property
    def exposed_s(self) -> float:
        """What the layer waits for: max(0, time - window)."""
        return max(0.0, self.time_s - self.window_s)


def activation_bytes(model: ModelShape, plan: Plan) -> float:
    """A = 2 b s h / c: the activations between two layers of one micro-batch, on one context rank."""
    return float(_HALF) * plan.micro_batch * model.sequence / plan.context * model.hidden


def layer_waits(
    model: ModelShape, plan: Plan, kernels: Kernels, rates: dict[str, GroupRate], *, moe: bool = False
) -> tuple[Wait, ...]:
    """Collectives of one layer of one micro-batch, forward and backward, recomputation included.

    Tensor parallel: two all-reduces each way, the backward ones behind weight gradients; with sequence parallelism
    two all-gathers and two reduce-scatters each way and two more gathers of saved inputs in the backward pass, behind
    input gradients. Context parallel: keys and values gathered once forward, gathered and scattered backward, exposed
    (Llama 3). Experts: dispatch and combine each way.
    """
    waits = list(_tensor_forward(model, plan, rates["tensor"], "forward"))
    waits += _tensor_backward(model, plan, kernels, rates["tensor"])
    waits += _context(model, plan, rates["context"])
    if moe:
        waits += _expert(model, plan, kernels, rates["expert"], "forward")
        waits += _expert(model, plan, kernels, rates["expert"], "backward")
    if plan.recompute == "full":
        waits += _tensor_forward(model, plan, rates["tensor"], "backward, recomputed")
        if moe:
            waits += _expert(model, plan, kernels, rates["expert"], "backward, recomputed")
        waits += _context_forward(model, plan, rates["context"], "backward, recomputed")
    return tuple(waits)


def _tensor_forward(model: ModelShape, plan: Plan, rate: GroupRate, when: str) -> list[Wait]:
    t = plan.tensor
    if t == 1:
        return []
    size = activation_bytes(model, plan)
    part = size * (t - 1) / t
    if not plan.sequence_parallel:
        return [Wait("tensor", "all-reduce", when, 2 * part, rate.reduce_s(size))] * 2
    gather = Wait("tensor", "all-gather", when, part, rate.gather_s(size))
    scatter = Wait("tensor", "reduce-scatter", when, part, rate.gather_s(size))
    return [gather, scatter] * 2


def _tensor_backward(model: ModelShape, plan: Plan, kernels: Kernels, rate: GroupRate) -> list[Wait]:
    t = plan.tensor
    if t == 1:
        return []
    size = activation_bytes(model, plan)
    part, gather = size * (t - 1) / t, rate.gather_s(size)
    over = 1.0 if plan.overlap_tensor else 0.0
    if not plan.sequence_parallel:
        whole = rate.reduce_s(size)
        return [
            Wait("tensor", "all-reduce", "backward", 2 * part, whole, over * window)
            for window in kernels.weight_gradient
        ]
    waits = [Wait("tensor", "all-gather", "backward", part, gather)] * 2
    for window in kernels.input_gradient:
        waits.append(Wait("tensor", "all-gather", "backward, saved input", part, gather, over * window))
    for window in kernels.weight_gradient:
        waits.append(Wait("tensor", "reduce-scatter", "backward", part, gather, over * window))
    return waits


def _context_forward(model: ModelShape, plan: Plan, rate: GroupRate, when: str) -> list[Wait]:
    c = plan.context
    if c == 1:
        return []
    # Keys and values of the whole sequence; a tensor rank needs those of its own heads.
    size = 2.0 * _HALF * plan.micro_batch * model.sequence * model.kv_width / min(plan.tensor, model.kv_heads)
    return [Wait("context", "all-gather", when, size * (c - 1) / c, rate.gather_s(size))]


def _context(model: ModelShape, plan: Plan, rate: GroupRate) -> list[Wait]:
    forward = _context_forward(model, plan, rate, "forward")
    if not forward:
        return []
    again = forward[0]
    scatter = Wait("context", "reduce-scatter", "backward", again.sent_bytes, again.time_s)
    return [again, Wait("context", "all-gather", "backward", again.sent_bytes, again.time_s), scatter]


def _expert(model: ModelShape, plan: Plan, kernels: Kernels, rate: GroupRate, when: str) -> list[Wait]:
    e = plan.expert
    if e == 1 or model.experts is None:
        return []
    copies = activation_bytes(model, plan) * model.experts.per_token
    if plan.sequence_parallel:
        copies /= plan.tensor
    sent = copies * (e - 1) / e
    window = (kernels.forward if when == "forward" else kernels.backward) / 2 if plan.overlap_expert else 0.0
    # The busiest expert rank receives skew times the mean; everybody waits for it.
    time = rate.exchange_s(copies * plan.expert_skew)
    return [Wait("expert", f"all-to-all ({name})", when, sent, time, window) for name in ("dispatch", "combine")]
