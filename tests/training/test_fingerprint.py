"""What a job sends: published volumes, and the same bytes on a placement."""

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.parts.models import ModelShape, model_shape
from topo.training.fingerprint import parallelism, step_demand
from topo.training.plan import Plan

GPT = model_shape("gpt-175b")
BSH = 50_331_648


def lines(model: ModelShape | str, plan: Plan, dimension: str) -> list:
    return [line for line in parallelism(model, plan).lines if line.dimension == dimension]


def per_layer(model: ModelShape | str, plan: Plan, dimension: str) -> float:
    shape = model if isinstance(model, ModelShape) else model_shape(model)
    return sum(line.step_bytes for line in lines(model, plan, dimension)) / (
        plan.micro_batches * shape.layers / plan.pipeline
    )


def test_tensor_parallel_bytes_by_kind() -> None:
    plain = Plan(batch=16, tensor=8)
    assert per_layer(GPT, plain, "tensor") == pytest.approx(352_321_536)
    # Sequence parallelism gathers the saved inputs again: 10 units of b s h (t-1)/t elements, not 8; recomputed, 12.
    unit = BSH * 7 / 8
    assert per_layer(GPT, plain, "tensor") == pytest.approx(8 * unit)
    assert per_layer(GPT, plain.with_(sequence_parallel=True), "tensor") == pytest.approx(10 * unit)
    assert per_layer(GPT, plain.with_(recompute="full"), "tensor") == pytest.approx(12 * unit)
    with_both = plain.with_(sequence_parallel=True, recompute="selective")
    assert per_layer(GPT, with_both, "tensor") == pytest.approx(10 * unit)


def test_pipeline_boundaries() -> None:
    plan = Plan(batch=64, tensor=8, pipeline=8)
    found = lines(GPT, plan, "pipeline")
    assert {line.collective_bytes for line in found} == {6_291_456}
    # Seven boundaries among eight stages; each of 64 micro-batches crosses them, both ways.
    assert sum(line.step_bytes for line in found) * 8 == pytest.approx(2 * 64 * 7 * 6_291_456)
    many = lines(GPT, plan.with_(chunks=3), "pipeline")
    assert sum(line.step_bytes for line in many) * 8 == pytest.approx(2 * 64 * 23 * 6_291_456)
    whole = lines(GPT, plan.with_(scatter_gather=False), "pipeline")
    assert whole[0].collective_bytes == BSH


@pytest.mark.parametrize(
    ("changes", "gbyte"),
    [({"gradient_bytes": 2}, 10.230), ({"gradient_bytes": 4}, 20.461),
     ({"gradient_bytes": 2, "shard": "weights"}, 15.346), ({"gradient_bytes": 2, "shard": "optimizer"}, 10.230)],
)  # fmt: skip
def test_gradients_of_175b_over_sixteen(changes: dict, gbyte: float) -> None:
    plan = Plan(batch=64, tensor=8, pipeline=8, data=16, **changes)
    sent = parallelism(GPT, plan).step_bytes["data"] / 1e9
    assert sent == pytest.approx(gbyte, abs=2e-3)


def test_experts_and_context() -> None:
    moe = model_shape("deepseek-v3").with_(sequence=4096)
    plan = Plan(batch=64, data=64, expert=64)
    exchanges = lines(moe, plan, "expert")
    assert {round(line.collective_bytes / 1e6, 2) for line in exchanges} == {462.42}
    total = sum(line.step_bytes for line in exchanges)
    assert total / moe.moe_layers / plan.micro_batches / 1e9 == pytest.approx(1.850, abs=1e-3)
    long = model_shape("llama-3-405b").with_(sequence=131072)
    ring = lines(long, Plan(batch=1, context=16), "context")
    forward = next(line for line in ring if line.when == "forward")
    assert forward.collective_bytes / 1e6 == pytest.approx(503.3, abs=0.05)
    assert sum(line.step_bytes for line in ring) == pytest.approx(3 * forward.step_bytes)
    # Eight key heads over eight tensor ranks: an eighth each.
    split = lines(long, Plan(batch=1, context=16, tensor=8), "context")
    assert split[0].collective_bytes == pytest.approx(forward.collective_bytes / 8)


def test_places_buckets_and_what_is_apart() -> None:
    found = parallelism(GPT, Plan(batch=64, tensor=8, pipeline=8, data=2))
    places = {line.dimension: line.place for line in found.lines}
    assert places == {"tensor": "scale-up", "pipeline": "scale-out", "data": "scale-out"}
    wide = parallelism(GPT, Plan(batch=64, tensor=16, pipeline=4), domain=8)
    assert wide.lines[0].place == "scale-out, 8 of a group in a domain"
    assert found.buckets == -(-int(4 * GPT.parameters / 64) // (160 * 2**20))
    names = [line.dimension for line in found.apart]
    assert names == ["storage", "decode"]
    assert found.apart[0].step_bytes * 128 == pytest.approx(14 * GPT.parameters)
    text = str(found)
    assert "checkpoint write" in text and "waits for" not in text
    assert found.to_dict()["step_bytes"]["tensor"] > 0


TINY = ModelShape("tiny", 8, 64, 8, 512, 128, biases=True, tied=True, positions=128)
MOE = model_shape("mixtral-8x7b").with_(layers=8, sequence=256)


@pytest.mark.parametrize(
    ("model", "plan"),
    [
        (TINY, Plan(batch=32, tensor=4, pipeline=2, data=4)),
        (TINY, Plan(batch=32, tensor=2, pipeline=4, data=4, chunks=2, sequence_parallel=True, recompute="full")),
        (TINY, Plan(batch=8, tensor=2, context=4, pipeline=2, data=2, shard="weights")),
        (MOE, Plan(batch=32, tensor=2, pipeline=2, data=8, expert=4, expert_skew=1.7)),
        (MOE, Plan(batch=32, tensor=1, pipeline=2, data=16, expert=8, order=("tensor", "context", "data", "pipeline"))),
    ],
)
def test_the_demand_is_the_fingerprint(model: ModelShape, plan: Plan) -> None:
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=16)
    placement = f.endpoints[np.random.default_rng(1).permutation(64)][: plan.ranks]
    found = parallelism(model, plan)
    whole = step_demand(f, placement, model, plan)
    assert whole.total_gbps / 8e-9 == pytest.approx(sum(found.step_bytes.values()) * plan.ranks, rel=1e-12)
    for dimension, size in found.step_bytes.items():
        part = step_demand(f, placement, model, plan, dimensions=[dimension])
        assert part.total_gbps / 8e-9 == pytest.approx(size * plan.ranks, rel=1e-12)
        assert part.sent_gbps(f).sum() == pytest.approx(part.total_gbps)
    if plan.expert_skew > 1:
        received = step_demand(f, placement, model, plan, dimensions=["expert"]).received_gbps(f)[placement]
        groups = received[plan.groups("expert")]
        assert (groups.argmax(axis=1) == 0).all()
        # The busiest takes skew times the mean, from the others.
        assert groups[:, 0] / groups.sum(axis=1) == pytest.approx(plan.expert_skew / plan.expert)


def test_sixteen_thousand_ranks_are_a_moment() -> None:
    plan = Plan(batch=2048, tensor=8, pipeline=16, data=128, chunks=8, spare_layers=2, sequence_parallel=True)
    assert parallelism("llama-3-405b", plan).ranks == 16384


def test_refusals() -> None:
    f = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=4)
    with pytest.raises(ParameterError, match="is 4 ranks, but 8 are given"):
        step_demand(f, f.endpoints, TINY, Plan(batch=8, tensor=4))
    with pytest.raises(ParameterError, match="domain is 0"):
        parallelism(TINY, Plan(batch=8), domain=0)
