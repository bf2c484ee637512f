"""Times of kernels, layers and schedules against worked values, and against layers measured alone."""

import numpy as np
import pytest

from topo.parts.accelerators import accelerator, calibration
from topo.parts.models import MODELS, model_shape
from topo.training.exposure import layer_waits
from topo.training.kernels import Engine, head_seconds, layer_kernels
from topo.training.plan import Plan
from topo.training.rates import Interconnect, group_rates
from topo.training.schedule import bubble_share, pipeline_s, pipeline_timeline
from topo.training.step import training_step

# The worked values were made without the filling of tiles; with it the efficiency is another.
UNFILLED = accelerator("a100-80gb").with_(fill_depth=0)
A100 = Engine(UNFILLED, 0.7472)
SELENE = Interconnect(nic_gbyte_s=25 * 4096 / 4122)
GPT_175B = Plan(batch=64, tensor=8, pipeline=8, chunks=3, recompute="full")


def layer(model: str, plan: Plan, engine: Engine = A100) -> tuple[dict[str, float], object]:
    shape = model_shape(model)
    kernels = layer_kernels(shape, plan, engine)
    waits = layer_waits(shape, plan, kernels, group_rates(plan, engine.part, SELENE))
    forward = kernels.forward + sum(w.exposed_s for w in waits if w.when == "forward")
    backward = kernels.backward + kernels.recomputed(plan.recompute)
    backward += sum(w.exposed_s for w in waits if w.when != "forward")
    return {"forward": 1e3 * forward, "backward": 1e3 * backward}, kernels


def test_rings_of_eight_take_the_latency_of_their_steps() -> None:
    rate = group_rates(GPT_175B, A100.part, SELENE)["tensor"]
    assert 1e6 * rate.reduce_s(50_331_648) == pytest.approx(423.00, abs=0.01)
    assert 1e6 * rate.gather_s(50_331_648) == pytest.approx(215.70, abs=0.01)
    # Two collectives pay a base latency more than one.
    assert 2 * rate.gather_s(50_331_648) - rate.reduce_s(50_331_648) == pytest.approx(8.4e-6)


def test_a_layer_of_175b_part_by_part() -> None:
    times, k = layer("gpt-175b", GPT_175B)
    worked = {
        "linear_forward": 4.477, "linear_input": 4.477, "linear_weight": 4.104, "attention_forward": 0.1307,
        "attention_memory_forward": 0.2614, "attention_memory_backward": 0.3194, "memory_forward": 0.3775,
        "memory_backward": 0.6498,
    }  # fmt: skip
    for name, ms in worked.items():
        assert 1e3 * getattr(k, name) == pytest.approx(ms, abs=6e-4), name
    assert times["forward"] == pytest.approx(6.093, abs=1e-3)
    assert times["backward"] == pytest.approx(15.904, abs=1e-3)
    selective = GPT_175B.with_(recompute="selective", sequence_parallel=True)
    times, k = layer("gpt-175b", selective)
    assert 1e3 * k.memory_forward == pytest.approx(0.098, abs=5e-4)
    assert 1e3 * k.recomputed("selective") == pytest.approx(0.392, abs=5e-4)
    assert times == pytest.approx({"forward": 5.830, "backward": 10.152}, abs=1e-3)
    kernels = sum(head_seconds(model_shape("gpt-175b"), GPT_175B, A100))
    gathered = group_rates(GPT_175B, A100.part, SELENE)["tensor"].gather_s(50_331_648)
    assert 1e3 * (kernels + gathered) == pytest.approx(4.995, abs=1e-3)


# arXiv 2205.05198, table 4: one layer of the 22B model, forward and backward in ms.
TABLE_4 = (
    ({"recompute": "none"}, 7.7, 11.9, 7.75, 11.66),
    ({"recompute": "none", "sequence_parallel": True}, 7.2, 11.8, 7.21, 11.49),
    ({"recompute": "full"}, 7.7, 19.5, 7.75, 19.41),
    ({"recompute": "selective"}, 7.7, 13.2, 7.75, 12.71),
    ({"recompute": "selective", "sequence_parallel": True}, 7.2, 13.1, 7.21, 12.54),
)


def test_ten_measured_layer_times_within_2_and_3_percent() -> None:
    off = []
    frozen = Engine(accelerator("a100-80gb"), calibration("a100-megatron").efficiency)
    for changes, forward, backward, worked_forward, worked_backward in TABLE_4:
        plan = Plan(batch=4, micro_batch=4, tensor=8, **changes)
        worked, _ = layer("gpt-22b", plan)
        assert worked == pytest.approx({"forward": worked_forward, "backward": worked_backward}, abs=9e-3)
        times, _ = layer("gpt-22b", plan, frozen)
        off += [times["forward"] / forward - 1, times["backward"] / backward - 1]
    assert np.mean(np.abs(off)) <= 0.02
    assert np.max(np.abs(off)) <= 0.03


@pytest.mark.parametrize(
    ("recompute", "sequence_parallel", "step", "steady", "fill"),
    [("full", False, 18.105, 17.401, 0.623), ("selective", True, 13.2315, 12.6994, 0.4513)],
)
def test_a_step_of_175b_term_by_term(
    recompute: str, sequence_parallel: bool, step: float, steady: float, fill: float
) -> None:
    plan = GPT_175B.with_(recompute=recompute, sequence_parallel=sequence_parallel)
    answer = training_step("gpt-175b", plan, part=UNFILLED, efficiency=0.7472, network=SELENE)
    assert answer.time_s == pytest.approx(step, abs=1e-3)
    assert answer.terms["bubble"] == pytest.approx(fill, abs=6e-4)
    assert answer.terms["optimizer"] == pytest.approx(0.0807, abs=4e-4)
    rest = sum(v for name, v in answer.terms.items() if name not in ("bubble", "optimizer"))
    assert rest == pytest.approx(steady, abs=1e-3)
    assert sum(answer.terms.values()) == pytest.approx(answer.time_s, rel=1e-12)


@pytest.mark.parametrize(
    ("p", "v", "m", "head", "time"),
    [(4, 1, 8, 0, 33), (4, 2, 8, 0, 57), (8, 3, 64, 0, 597), (8, 3, 64, 0.12, 604.68), (35, 3, 280, 0.6, 2790),
     (64, 1, 512, 0.75, 2109), (64, 1, 64, 0.75, 429)],
)  # fmt: skip
def test_the_formula_is_the_schedule(p: int, v: int, m: int, head: float, time: float) -> None:
    assert pipeline_s(p, v, m, 3.0, head) == pytest.approx(time, abs=0.03)
    if p * v * m > 20_000:
        m = 2 * p
    run = pipeline_timeline(p, v, m, 1.0, 2.0, head / 3, 2 * head / 3)
    assert run.time_s == pytest.approx(pipeline_s(p, v, m, 3.0, head), rel=1e-12)


def test_a_timeline_runs_every_operation_once_and_never_two_at_a_time() -> None:
    run = pipeline_timeline(4, 2, 8, 1.0, 2.0)
    seen = set(zip(run.stage, run.backward, run.micro_batch, run.chunk, strict=True))
    assert len(seen) == len(run.stage) == 2 * 4 * 2 * 8
    for stage in range(4):
        mine = run.stage == stage
        assert (run.start_s[mine][1:] >= run.end_s[mine][:-1] - 1e-12).all()
    assert bubble_share(4, 2, 8) * 2 * 8 * 3 == pytest.approx(run.time_s - 2 * 8 * 3)


def test_the_timeline_of_a_step_is_its_terms() -> None:
    step = training_step("gpt-175b", GPT_175B, part="a100-80gb", network=SELENE)
    apart = ("optimizer", "exposed data", "straggler", "checkpoints")
    assert step.timeline().time_s == pytest.approx(sum(v for k, v in step.terms.items() if k not in apart), rel=1e-12)
    assert step.chunk_backward_s > 2 * step.chunk_forward_s
    assert step.timeline(8).time_s < step.time_s


@pytest.mark.parametrize("shape", MODELS, ids=lambda shape: shape.name)
def test_names_say_the_size(shape) -> None:
    printed = {
        "gpt-1.7b": 1.65, "gpt-3.6b": 3.56, "gpt-7.5b": 7.47, "gpt-18b": 18.45, "gpt-39b": 39.10, "gpt-76b": 76.05,
        "gpt-146b": 145.62, "gpt-310b": 310.13, "gpt-530b": 529.60, "gpt-1t": 1008.04, "llama-3-8b": 8.03,
        "llama-3-70b": 70.55, "llama-3-405b": 405.85, "mixtral-8x7b": 46.70, "deepseek-v3": 671.03,
        "qwen3-235b-a22b": 235.09, "gpt-22b": 22.07, "gpt-175b": 174.62, "megascale-175b": 174.77,
    }  # fmt: skip
    assert shape.parameters / 1e9 == pytest.approx(printed[shape.name], abs=0.006)
    assert shape.source


def test_active_parameters_of_experts() -> None:
    assert model_shape("mixtral-8x7b").active_parameters / 1e9 == pytest.approx(12.9, abs=0.05)
    assert model_shape("qwen3-235b-a22b").active_parameters / 1e9 == pytest.approx(22, abs=0.3)
    # 37 printed: without the embedding, which is looked up and not multiplied.
    deepseek = model_shape("deepseek-v3")
    assert (deepseek.active_parameters - deepseek.vocabulary * deepseek.hidden) / 1e9 == pytest.approx(36.6, abs=0.1)
