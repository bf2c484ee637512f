"""Plans that cannot be are refused, both numbers named."""

import pytest

from topo.errors import ParameterError
from topo.parts.accelerators import accelerator, calibration
from topo.parts.models import ModelShape, model_shape
from topo.training.losses import Checkpoints, Straggler, expected_largest
from topo.training.plan import Plan
from topo.training.rates import GroupRate, Interconnect
from topo.training.step import training_step


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({"tensor": 5}, ("96", "5")),
        ({"pipeline": 7}, ("96", "7")),
        ({"batch": 65, "data": 2}, ("65", "2")),
        ({"tensor": 8, "pipeline": 8, "chunks": 3, "batch": 60}, ("60", "8")),
        ({"expert": 2, "data": 2}, ("2", "no experts")),
        ({"context": 3}, ("2,048", "6")),
        ({"chunks": 2}, ("2", "pipeline 1")),
    ],
)
def test_degrees_that_do_not_fit(changes: dict[str, int], numbers: tuple[str, str]) -> None:
    plan = Plan(**{"batch": 64, **changes})
    with pytest.raises(ParameterError) as caught:
        training_step("gpt-175b", plan, part="a100-80gb")
    assert all(number in str(caught.value) for number in numbers)


def test_degrees_that_do_not_multiply_to_the_ranks() -> None:
    with pytest.raises(ParameterError, match=r"tensor 8 x context 1 x pipeline 8 x data 1 is 64 ranks, but 128"):
        training_step("gpt-175b", Plan(batch=64, tensor=8, pipeline=8), part="a100-80gb", ranks=128)


def test_a_model_larger_than_memory_names_need_and_have() -> None:
    with pytest.raises(ParameterError, match=r"needs 1\d\d\.\d GiB on each a100-80gb .* but it has 80 GiB"):
        training_step("gpt-1t", Plan(batch=512, tensor=8, pipeline=64), part="a100-80gb")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Plan(batch=0), "batch is 0"),
        (lambda: Plan(batch=8, recompute="some"), "known: none, selective, full"),
        (lambda: Plan(batch=8, data=6, expert=4), "expert 4 does not divide data 6"),
        (lambda: Plan.of({"tensor": 2}), "needs a batch"),
        (lambda: Plan.of({"batch": 2, "tensr": 2}), "did you mean 'tensor'"),
        (lambda: model_shape("gpt-174b"), "gpt-175b"),
        (lambda: accelerator("a100"), "a100-80gb"),
        (lambda: calibration("tpu"), "known"),
        (lambda: ModelShape("odd", 2, 10, 3, 100, 16), "no multiple of heads 3"),
        (lambda: training_step("gpt-22b", Plan(batch=4, tensor=8), part="b200-sxm"), "b200-sxm"),
        (lambda: training_step("gpt-22b", Plan(batch=4, tensor=8), efficiency="a100-megatron"), "belongs to a100-80gb"),
        (lambda: training_step("gpt-22b", Plan(batch=4, tensor=8), part="h100-sxm", efficiency=1.5), "1.5"),
        (lambda: training_step("gpt-22b", Plan(batch=4, tensor=8), rates={}), "rates say nothing of tensor"),
        (lambda: Interconnect(share=0), "share 0"),
        (lambda: Straggler(0.1, "cauchy"), "normal, exponential"),
        (lambda: Checkpoints(0, 100), "interval_steps is 0"),
        (lambda: expected_largest(0), "0 draws"),
    ],
)  # fmt: skip
def test_other_nonsense(make, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert said in str(caught.value)


def test_stragglers_and_checkpoints_are_terms_of_their_own() -> None:
    plan = Plan(batch=64, tensor=8, pipeline=8, chunks=3, recompute="full")
    plain = training_step("gpt-175b", plan, part="a100-80gb")
    with_both = training_step(
        "gpt-175b", plan, part="a100-80gb", straggler=Straggler(0.01), checkpoints=Checkpoints(100, 273.0)
    )
    assert with_both.terms["straggler"] == pytest.approx(0.01 * plain.terms["compute"] * expected_largest(64))
    assert with_both.terms["checkpoints"] == pytest.approx(14 * 174.62e9 / 273e9 / 100, rel=1e-3)
    added = with_both.terms["straggler"] + with_both.terms["checkpoints"]
    assert with_both.time_s - plain.time_s == pytest.approx(added)
    assert with_both.mfu < plain.mfu


def test_the_largest_of_many_by_two_laws() -> None:
    assert expected_largest(8192, "exponential") == pytest.approx(9.588, abs=5e-4)
    # E[max] of 2, 3 standard normals: 1/sqrt(pi), 3/(2 sqrt(pi)).
    assert expected_largest(2) == pytest.approx(0.5641896, abs=1e-6)
    assert expected_largest(3) == pytest.approx(0.8462844, abs=1e-6)


def test_a_group_with_several_members_in_a_host_drives_several_nics() -> None:
    from topo.training.rates import group_rates

    part, nics = accelerator("a100-80gb"), Interconnect(nic_gbyte_s=25)
    found = {t: group_rates(Plan(batch=64, tensor=t, data=64 // t), part, nics)["data"] for t in (1, 2, 8)}
    assert [found[t].gbyte_s for t in (1, 2, 8)] == [200, 100, 25]
    assert [found[t].members_inside for t in (1, 2, 8)] == [8, 4, 1]
    assert GroupRate(10.0, 4, 4, 1.0, 1.0, "").is_inside and not found[1].is_inside
