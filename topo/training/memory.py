"""Memory of one accelerator: states of parameters and optimizer, and activations of micro-batches under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topo.errors import ParameterError
from topo.parts.accelerators import Accelerator
from topo.parts.models import ModelShape
from topo.result import Result, Row, Standing
from topo.training.plan import Plan

__all__ = ["Memory", "held_parameters", "refuse_too_large", "training_memory"]

GIB = float(2**30)
_OPTIMIZER_BYTES = 12


@dataclass(frozen=True)
class Memory(Result):
    """Bytes on the accelerator that holds most, the first stage's: by what they are for."""

    layer_state_bytes: float
    embedding_state_bytes: float
    activation_bytes: float
    head_bytes: float
    standing: Standing

    title: ClassVar[str] = "Memory of one accelerator"
    derived: ClassVar[tuple[str, ...]] = ("total_bytes",)

    @property
    def total_bytes(self) -> float:
        """All of it."""
        return self.layer_state_bytes + self.embedding_state_bytes + self.activation_bytes + self.head_bytes

    def rows(self) -> list[Row]:
        """Each part in GiB, then the sum."""
        return [
            Row("states of the layers' matrices", self.layer_state_bytes / GIB, "GiB"),
            Row("states of the embedding", self.embedding_state_bytes / GIB, "GiB"),
            Row("activations", self.activation_bytes / GIB, "GiB"),
            Row("logits", self.head_bytes / GIB, "GiB"),
            Row("together", self.total_bytes / GIB, "GiB", self.standing),
        ]


def held_parameters(model: ModelShape, plan: Plan) -> tuple[float, float]:
    """Matrix parameters of one stage's layers on one rank: (those of every data rank, those of experts)."""
    stages = plan.pipeline
    layers = (model.layers + plan.spare_layers) / stages
    moe = min(layers, model.moe_layers) if stages > 1 else float(model.moe_layers)
    dense = min(layers, model.layers) - moe
    common = (moe + dense) * model.attention_parameters + dense * model.dense_parameters
    routed = 0.0
    if model.experts is not None:
        common += moe * (model.experts.shared * model.expert_parameters + model.experts.count * model.hidden)
        routed = moe * model.experts.count * model.expert_parameters / plan.expert
    return common / plan.tensor, routed / plan.tensor


def training_memory(model: ModelShape, plan: Plan) -> Memory:
    """Bytes a rank holds: 18 a parameter (2 weight, 4 gradient, 12 optimizer, less where sharded), and activations.

    Activations of a GPT layer: s b h (10 + 24/t + 5 a s/(h t)) bytes, with sequence parallelism everything over t,
    without the last term where scores are recomputed or never written, only the 2 s b h of the input where all is
    recomputed. The first stage holds those of p micro-batches of l/p layers, times 1 + (p - 1)/(p v) when
    interleaved. Source: arXiv 2205.05198, sections 4 and 5; gated and mixture-of-experts layers by the same count.

    >>> from topo.parts.models import model_shape
    >>> plan = Plan(batch=64, tensor=8, pipeline=8, chunks=3, sequence_parallel=True, recompute="selective")
    >>> found = training_memory(model_shape("gpt-175b"), plan)
    >>> found.layer_state_bytes / 2**30, round(found.activation_bytes / 2**30, 4)
    (45.5625, 12.3516)
    """
    common, routed = held_parameters(model, plan)
    expert_data = max(1, plan.replicas // plan.expert)
    embedding = model.hidden * (model.vocabulary / plan.tensor + model.positions)
    p, v = plan.pipeline, plan.chunks
    under_way = min(p, plan.micro_batches) / p * (1 + (p - 1) / (p * v) if v > 1 else 1.0)
    layers = model.layers + plan.spare_layers
    moe = min(model.moe_layers, layers)
    of_layers = moe * layer_activation_bytes(model, plan, moe=True)
    of_layers += (layers - moe) * layer_activation_bytes(model, plan)
    tokens = plan.micro_batch * model.sequence / plan.context
    # The last stage alone holds logits; with several stages the first holds more for its micro-batches under way.
    head = 4.0 * tokens * model.vocabulary / plan.tensor if p == 1 else 0.0
    return Memory(
        layer_state_bytes=common * _state_bytes(plan, plan.replicas) + routed * _state_bytes(plan, expert_data),
        embedding_state_bytes=embedding * _state_bytes(plan, plan.replicas),
        activation_bytes=of_layers * under_way,
        head_bytes=head,
        standing=Standing("model", "18 bytes a parameter, activations by layer; no fragmentation, no buffers"),
    )


def layer_activation_bytes(model: ModelShape, plan: Plan, *, moe: bool = False) -> float:
    """Activations that one layer keeps for its backward pass of one micro-batch, on one rank."""
    tokens = plan.micro_batch * model.sequence / plan.context
    h, t = model.hidden, plan.tensor
    whole_share = t if plan.sequence_parallel else 1
    if plan.recompute == "full":
        return 2.0 * tokens * h / whole_share
    inner, copies = model.inner, 1.0
    if moe and model.experts is not None:
        copies = float(model.experts.per_token + model.experts.shared)
        inner = round(model.experts.width * copies)
    masks = 2.0 if model.biases else 0.0
    # Inputs of two norms, of QKV and of the feed-forward layer; then what is split over the tensor ranks.
    whole = (4 + 2 + 2 * copies + masks) * h
    split = 2.0 * (model.heads + 2 * model.kv_heads) * model.head + 2.0 * model.heads * model.head
    split += 2.0 * inner * (3 if model.gated else 2)
    scores = 0.0
    if plan.recompute == "none" and not plan.flash:
        scores = 5.0 * model.heads * model.sequence
    return tokens * (whole / whole_share + (split + scores) / t)


def refuse_too_large(model: ModelShape, plan: Plan, part: Accelerator) -> Memory:
    """The memory a job needs.

    :raises ParameterError: it is more than the accelerator has, naming both numbers.
    """
    found = training_memory(model, plan)
    have = part.memory_gib * GIB
    if found.total_bytes > have:
        states = (found.layer_state_bytes + found.embedding_state_bytes) / GIB
        raise ParameterError(
            f"{model.name} needs {found.total_bytes / GIB:.1f} GiB on each {part.name} with this plan ({states:.1f} of "
            f"states, {(found.activation_bytes + found.head_bytes) / GIB:.1f} of activations), but it has "
            f"{part.memory_gib:g} GiB; raise tensor or pipeline, shard, recompute, or take a smaller micro_batch"
        )
    return found


def _state_bytes(plan: Plan, ranks: int) -> float:
    """Bytes of state a parameter, each kind divided by the ranks it is sharded over."""
    level = ("none", "optimizer", "gradients", "weights").index(plan.shard)
    weight = plan.weight_bytes / (ranks if level >= 3 else 1)
    gradient = plan.gradient_bytes / (ranks if level >= 2 else 1)
    return weight + gradient + _OPTIMIZER_BYTES / (ranks if level >= 1 else 1)
