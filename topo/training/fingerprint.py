"""The fingerprint of a job: what each parallel dimension sends in a step, to whom, in what messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.parts.accelerators import accelerator
from topo.parts.models import ModelShape, model_shape
from topo.result import Result, Row, Standing
from topo.table import Array
from topo.traffic.demand import Block, Demand
from topo.training.exposure import activation_bytes, layer_waits
from topo.training.kernels import Engine, layer_kernels
from topo.training.losses import CHECKPOINT_BYTES
from topo.training.plan import Plan
from topo.training.rates import Interconnect, group_rates

__all__ = ["Fingerprint", "Line", "parallelism", "step_demand"]

_GIGABIT = 8e-9
_TRAITS = {
    "tensor": (
        "latency and bandwidth, several times a layer, mostly exposed",
        "leaving the scale-up domain costs most",
    ),
    "context": ("bandwidth, once a layer, exposed", "long sequences over slow links"),
    "expert": ("bisection and incast; waits for the busiest expert", "skewed experts, oversubscribed tiers"),
    "pipeline": ("latency of single messages", "hardly any: few bytes, point to point"),
    "data": ("bandwidth, once a step, largest bytes", "hash collisions and rank order: the slowest ring sets the time"),
    "storage": ("bandwidth in bursts", "incast at storage; shares NICs with gradients if not apart"),
    "decode": ("latency alone, every layer of every token", "anything but the scale-up domain"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of traffic: bytes are means over ranks; ``count`` collectives a rank and step, ``ranks`` in a group.

    ``message_bytes`` is what one rank sends one other in one go.
    """

    dimension: str
    primitive: str
    when: str
    count: float
    collective_bytes: float
    message_bytes: float
    step_bytes: float
    ranks: int
    place: str
    sensitive_to: str
    risk: str


@dataclass(frozen=True)
class Fingerprint(Result):
    """Bytes that a rank sends a step by dimension and primitive, with where it goes and what hurts it."""

    model: str
    ranks: int
    lines: tuple[Line, ...]
    buckets: int
    apart: tuple[Line, ...]
    assumptions: tuple[str, ...]
    standing: Standing

    title: ClassVar[str] = "What a job sends"
    derived: ClassVar[tuple[str, ...]] = ("step_bytes",)

    @property
    def step_bytes(self) -> dict[str, float]:
        """Bytes a rank sends a step, by dimension."""
        out: dict[str, float] = {}
        for line in self.lines:
            out[line.dimension] = out.get(line.dimension, 0.0) + line.step_bytes
        return out

    def rows(self) -> list[Row]:
        """The sums by dimension, then every line, then what is no part of a step."""
        rows = [Row("model and ranks", f"{self.model} on {self.ranks:,}")]
        rows += [
            Row(f"{name}, a rank and step", size / 1e9, "GB", self.standing) for name, size in self.step_bytes.items()
        ]
        for line in self.lines + self.apart:
            messages = f"messages {line.message_bytes / 1e3:,.4g} kB"
            sent = f"{line.count:,.6g} x {line.collective_bytes / 1e6:,.4g} MB, {messages}"
            rows.append(
                Row(
                    f"{line.dimension}: {line.primitive} ({line.when})",
                    f"{sent}, {line.ranks:,} ranks, {line.place}; {line.sensitive_to}; risk: {line.risk}",
                )
            )
        return rows + [Row("gradient buckets", self.buckets)] + [Row("assumes", text) for text in self.assumptions]


def parallelism(
    model: ModelShape | str, plan: Plan, *, domain: int = 8, decode_batch: int = 64, ranks: int | None = None
) -> Fingerprint:
    """Bytes, messages, ranks and place of every collective of a step, as means over the ranks.

    With A = 2 b s h / c the activations of a micro-batch and t, p, d, c, e the degrees, a rank sends per layer and
    micro-batch: tensor 8 (all-reduce) or 10 (sequence parallel) elements b s h (t - 1)/t, 4 more with full
    recomputation; context 2 s b h_kv/t (c - 1)/c forward, twice that backward; experts four all-to-alls of top_k A
    (e - 1)/e. Per boundary A (A/t with sequence parallelism or scatter-gather); gradients 2 (r - 1)/r of a rank's
    parameters over its r replicas, with sharded weights 3. ``domain`` ranks share scale-up links.

    >>> plan = Plan(batch=64, tensor=8, pipeline=8, data=16, gradient_bytes=2, micro_batch=1)
    >>> round(parallelism("gpt-175b", plan).step_bytes["data"] / 1e9, 2)
    10.23

    :raises ParameterError: degrees that do not fit the model or the ranks.
    """
    shape = model_shape(model) if isinstance(model, str) else model
    plan.check(shape, ranks)
    if domain < 1 or decode_batch < 1:
        raise ParameterError(f"domain is {domain} and decode_batch {decode_batch}; both must be at least 1")
    lines = [
        *_layer_lines(shape, plan, domain),
        *_pipeline_line(shape, plan, domain),
        *_data_lines(shape, plan, domain),
    ]
    held = shape.parameters / (plan.tensor * plan.pipeline)
    return Fingerprint(
        model=shape.name,
        ranks=plan.ranks,
        lines=tuple(lines),
        buckets=max(1, -(-int(plan.gradient_bytes * held) // int(plan.bucket_mib * 2**20))),
        apart=_apart(shape, plan, domain, decode_batch),
        assumptions=(
            "rings for all-reduce, all-gather and reduce-scatter; direct exchange for all-to-all",
            "two bytes an activation; parameters spread evenly over stages",
        ),
        standing=Standing("exact", "closed forms; means over the ranks"),
    )


def step_demand(
    fabric: Fabric,
    placement: ArrayLike,
    model: ModelShape | str,
    plan: Plan,
    *,
    dimensions: Sequence[str] | None = None,
) -> Demand:
    """What a step sends on a placement, as a demand of gigabits a step; ``placement`` lists endpoints in rank order.

    Ring neighbours for tensor, context and data, all pairs of a group for experts (the first rank of a group has the
    busiest experts), neighbouring stages both ways for pipeline. Its sum is the fingerprint's bytes times ranks.

    :raises ParameterError: as :func:`parallelism`, or a placement of another length than the ranks.
    """
    shape = model_shape(model) if isinstance(model, str) else model
    rows = np.asarray(placement, np.int64)
    sent = parallelism(shape, plan, ranks=len(rows)).step_bytes
    source, sink, gigabits, blocks = [], [], [], []
    for dimension, size in sent.items():
        if dimensions is not None and dimension not in dimensions:
            continue
        groups = rows[plan.groups(dimension)]
        n = groups.shape[1]
        if dimension == "expert":
            weight = np.full(n, (n - plan.expert_skew) / (n - 1))
            weight[0] = plan.expert_skew
            piece = size / (n - 1) * _GIGABIT
            blocks += [Block.of(group, group, piece, sink_weight=weight) for group in groups]
            continue
        if dimension == "pipeline":
            ends, amount = _boundaries(groups, plan.chunks, size * n * len(groups))
        else:
            ends = groups.ravel(), np.roll(groups, -1, axis=1).ravel()
            amount = np.full(groups.size, size)
        source.append(ends[0])
        sink.append(ends[1])
        gigabits.append(amount * _GIGABIT)
    none = np.empty(0, np.int64)
    return Demand.of(
        fabric, f"a step of {shape.name}, gigabits", blocks=tuple(blocks), source=np.concatenate([*source, none]),
        sink=np.concatenate([*sink, none]), gbps=np.concatenate([*gigabits, np.empty(0)]),
    )  # fmt: skip


def _boundaries(groups: Array, chunks: int, total: float) -> tuple[tuple[Array, Array], Array]:
    """Sends between stages, activations forth, gradients back; from the last stage to the first once a chunk less."""
    often = np.full(groups.shape, float(chunks))
    often[:, -1] = chunks - 1
    keep = often.ravel() > 0
    one, other = groups.ravel()[keep], np.roll(groups, -1, axis=1).ravel()[keep]
    times = often.ravel()[keep]
    amount = np.concatenate([times, times])
    return (np.concatenate([one, other]), np.concatenate([other, one])), amount * (total / amount.sum())


def _place(plan: Plan, dimension: str, domain: int) -> str:
    n, k = plan.group_size(dimension), plan.members_inside(dimension, domain)
    if k >= n:
        return "scale-up"
    return "scale-out" if k == 1 else f"scale-out, {k} of a group in a domain"


def _line(
    plan: Plan, domain: int, dimension: str, primitive: str, when: str, count: float, size: float, message: float
) -> Line:
    return Line(
        dimension, primitive, when, count, size, message, count * size, plan.group_size(dimension),
        _place(plan, dimension, domain), *_TRAITS[dimension],
    )  # fmt: skip


def _layer_lines(model: ModelShape, plan: Plan, domain: int) -> list[Line]:
    """Collectives of layers, like ones added up."""
    part = accelerator("h100-sxm")
    rates = group_rates(plan, part, Interconnect())
    found: dict[tuple[str, str, str, float], float] = {}
    for moe, layers in ((False, model.layers - model.moe_layers), (True, model.moe_layers)):
        if not layers:
            continue
        kernels = layer_kernels(model, plan, Engine(part, 0.5), moe=moe)
        for wait in layer_waits(model, plan, kernels, rates, moe=moe):
            key = (wait.dimension, wait.primitive, wait.when, wait.sent_bytes)
            found[key] = found.get(key, 0.0) + plan.micro_batches * layers / plan.pipeline
    lines = []
    for (dimension, primitive, when, size), count in found.items():
        # A ring sends its bytes in n - 1 messages a pass, an all-reduce in twice as many; an exchange to each other.
        steps = (plan.group_size(dimension) - 1) * (2 if primitive == "all-reduce" else 1)
        lines.append(_line(plan, domain, dimension, primitive, when, count, size, size / steps))
    return lines


def _pipeline_line(model: ModelShape, plan: Plan, domain: int) -> list[Line]:
    if plan.pipeline == 1:
        return []
    split = plan.sequence_parallel or plan.scatter_gather
    size = activation_bytes(model, plan) / (plan.tensor if split else 1)
    each = plan.micro_batches * (plan.pipeline * plan.chunks - 1) / plan.pipeline
    return [
        _line(plan, domain, "pipeline", "send", way, each, size, size) for way in ("forward", "backward")
    ]  # fmt: skip


def _data_lines(model: ModelShape, plan: Plan, domain: int) -> list[Line]:
    r = plan.replicas
    if r == 1:
        return []
    routed = model.moe_layers * model.experts.count * model.expert_parameters if model.experts else 0
    shards = plan.tensor * plan.pipeline
    common, of_experts = (model.parameters - routed) / shards, routed / (shards * plan.expert)
    fewer = r // plan.expert
    share = common * (r - 1) / r + of_experts * (fewer - 1) / max(fewer, 1)
    gradients, weights = share * plan.gradient_bytes, share * plan.weight_bytes
    chunk = plan.bucket_mib * 2**20 / r
    if plan.shard == "none":
        return [_line(plan, domain, "data", "all-reduce of gradients", "after backward", 1, 2 * gradients, chunk)]
    lines = [_line(plan, domain, "data", "reduce-scatter of gradients", "in backward", 1, gradients, chunk)]
    lines.append(_line(plan, domain, "data", "all-gather of weights", "before forward", 1, weights, chunk))
    if plan.shard == "weights":
        lines.append(_line(plan, domain, "data", "all-gather of weights", "in backward", 1, weights, chunk))
    return lines


def _apart(model: ModelShape, plan: Plan, domain: int, decode_batch: int) -> tuple[Line, ...]:
    """What is no part of a step: checkpoint writes, and decoding with the same tensor groups."""
    state = CHECKPOINT_BYTES * model.parameters / plan.ranks
    rows = [
        Line(
            "storage", "checkpoint write", "now and then", 1, state, state, state, plan.ranks, "storage network",
            *_TRAITS["storage"],
        )
    ]  # fmt: skip
    t = plan.tensor
    if t > 1:
        size = 2 * 2.0 * decode_batch * model.hidden * (t - 1) / t
        rows.append(
            Line(
                "decode", f"all-reduce, {decode_batch} tokens at once", "inference, each token", 2 * model.layers, size,
                size / (2 * (t - 1)), 2 * model.layers * size, t, _place(plan, "tensor", domain), *_TRAITS["decode"],
            )
        )  # fmt: skip
    return tuple(rows)
