"""Knees, scaling, sensitivity and splits: worked values, and what must hold for any job."""

import math

import numpy as np
import pytest

import topo
from topo.analysis.collectives.carried import Wire
from topo.build.cluster import ClusterHosts
from topo.build.rail import RailPlan
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import State
from topo.parts.accelerators import accelerator
from topo.parts.models import model_shape
from topo.training.knee import exposure
from topo.training.on_fabric import fabric_rates
from topo.training.plan import Plan
from topo.training.rates import Interconnect, group_rates
from topo.training.scaling import scaling_efficiency
from topo.training.sensitivity import fabric_sensitivity
from topo.training.splits import split_job
from topo.training.step import training_step

SELENE = Interconnect(nic_gbyte_s=25 * 4096 / 4122)
UNFILLED = accelerator("a100-80gb").with_(fill_depth=0)
SELECTIVE = Plan(batch=64, tensor=8, pipeline=8, chunks=3, recompute="selective", sequence_parallel=True)


def step_at(gbyte_s: float) -> float:
    network = Interconnect(nic_gbyte_s=SELENE.nic_gbyte_s, scale_up_gbyte_s=gbyte_s)
    return training_step("gpt-175b", SELECTIVE, part=UNFILLED, efficiency=0.7472, network=network).time_s


def test_knees_of_175b_and_the_step_below_them() -> None:
    step = training_step("gpt-175b", SELECTIVE, part=UNFILLED, efficiency=0.7472, network=SELENE)
    knees = sorted(knee.gbyte_s for knee in exposure(step, "tensor").knees if math.isfinite(knee.gbyte_s))
    assert knees == pytest.approx([30.2, 33.0, 40.5, 45.7], abs=0.05)
    worked = {240: 13.23, 120: 14.12, 60: 15.90, 40: 17.79, 30: 20.27}
    for rate, seconds in worked.items():
        assert step_at(rate) == pytest.approx(seconds, abs=0.015)


def test_exposed_time_is_convex_and_is_the_steps_own_at_the_rate_at_hand() -> None:
    step = training_step("gpt-175b", SELECTIVE, part="a100-80gb", network=SELENE)
    inverse = np.linspace(1 / 240, 1 / 10, 60)
    found = np.array([seconds for _, seconds in exposure(step, "tensor", (1 / inverse).tolist()).curve])
    assert (np.diff(found) > 0).all() and (np.diff(found, 2) > -1e-9).all()
    heads = step.plan.micro_batches * step.rates["tensor"].gather_s(50_331_648)
    assert found[0] == pytest.approx(step.terms["exposed tensor"] - heads, rel=1e-9)
    with pytest.raises(ParameterError, match="this job has tensor"):
        exposure(step, "expert")


def test_scaling_falls_and_amdahls_terms_explain_it() -> None:
    plan = Plan(batch=6144, tensor=8, pipeline=8, chunks=6, recompute="selective", sequence_parallel=True)
    found = scaling_efficiency("gpt-175b", plan, [4, 8, 16, 32, 64, 128], part="a100-80gb", network=SELENE)
    assert found.ranks == (256, 512, 1024, 2048, 4096, 8192)
    assert (np.diff(found.efficiency) < 0).all()
    assert (np.diff(found.network_share) > 0).all()
    n = np.array(found.ranks) / 256
    again = found.serial_s + found.parallel_s / n
    assert again == pytest.approx(found.time_s, rel=0.01)
    weak = scaling_efficiency("gpt-175b", plan.with_(batch=192), [1, 4, 16], mode="weak", part="a100-80gb")
    assert weak.efficiency[0] == 1 and weak.efficiency[2] > 0.9


def test_rates_of_a_healthy_fabric_are_the_ports() -> None:
    f = topo.rail_optimized(hosts=16, rails=8, hosts_per_unit=16, radix=64)
    plan = Plan(batch=64, tensor=4, pipeline=2, data=16)
    part = accelerator("h100-sxm")
    found = fabric_rates(f, f.endpoints, plan, part=part, wire=Wire())
    ports = group_rates(plan, part, Interconnect())
    for dimension in ("tensor", "data"):
        assert found[dimension].gbyte_s == pytest.approx(ports[dimension].gbyte_s)
        assert found[dimension].hop_us == pytest.approx(ports[dimension].hop_us)
    # Opened hosts: tensor groups over their own scale-up links, never over the NICs beside them.
    inside = topo.cluster(ClusterHosts("dgx-h100", 16), RailPlan(hosts_per_unit=16))
    opened = fabric_rates(inside, inside.endpoints, plan, part=part, wire=Wire())
    assert opened["tensor"].gbyte_s == part.scale_up_gbyte_s
    assert opened["data"].gbyte_s == pytest.approx(ports["data"].gbyte_s)


def test_a_bad_order_of_ranks_shows_in_the_step() -> None:
    f = topo.rail_optimized(hosts=64, rails=8, hosts_per_unit=32, radix=64)
    plan = Plan(batch=512, tensor=8, data=64, micro_batch=1, sequence_parallel=True, recompute="selective")
    mixed = f.endpoints.reshape(2, 32, 8).transpose(1, 0, 2).ravel()
    given = {"efficiency": 0.5, "fabric": f, "check_memory": False, "routing": "single-path"}
    good = training_step("gpt-22b", plan, placement=f.endpoints, **given)
    bad = training_step("gpt-22b", plan, placement=mixed, **given)
    assert bad.terms["exposed data"] > 3 * good.terms["exposed data"]
    assert bad.mfu < good.mfu
    assert bad.terms["compute"] == pytest.approx(good.terms["compute"])
    with pytest.raises(ParameterError, match="is 512 ranks, but 511"):
        training_step("gpt-22b", plan, placement=f.endpoints[1:], **given)
    with pytest.raises(DisconnectedError):
        training_step("gpt-22b", plan, placement=mixed, state=State.without(f, nodes="spine-*"), **given)


def test_what_a_change_is_worth() -> None:
    f = topo.rail_optimized(hosts=64, rails=8, hosts_per_unit=32, radix=64)
    mixed = f.endpoints.reshape(2, 32, 8).transpose(1, 0, 2).ravel()
    plan = Plan(batch=256, tensor=8, data=64, sequence_parallel=True, recompute="selective")
    found = fabric_sensitivity(f, "gpt-22b", plan, placement=mixed, efficiency=0.5, check_memory=False)
    worth = {variant.change: variant.mfu_points for variant in found.variants}
    assert worth["as it is"] == 0
    assert worth["adaptive routing"] > 0 and worth["twice the uplinks"] > 0 and worth["one more rail"] > 0
    assert worth["one failed spine"] <= 0
    # A job without traffic between hosts does not care.
    alone = fabric_sensitivity(f, "gpt-22b", Plan(batch=4, tensor=8), placement=f.endpoints[:8], efficiency=0.5)
    assert {variant.mfu_points for variant in alone.variants} == {0.0}


def test_every_split_of_a_thousand() -> None:
    f = topo.rail_optimized(hosts=128, rails=8, hosts_per_unit=32, radix=64)
    moe = Plan(batch=1024, sequence_parallel=True, flash=True, shard="optimizer", overlap_data=True)
    found = split_job("qwen3-235b-a22b", 1024, 1024, base=moe, recompute=("none", "full"), efficiency=0.55, fabric=f)
    assert found.n_tried == found.n_fit + sum(found.refused.values())
    assert len(found.best) == 10 and found.best[0].routed_s is not None
    for split in found.best:
        assert split.plan.ranks == 1024
        assert split.routed_s is not None and split.routed_s >= split.bound_s * (1 - 1e-9)
        assert split.memory_gib <= accelerator("h100-sxm").memory_gib
    assert found.best[0].inside and "tensor" in found.best[0].inside
    with pytest.raises(ParameterError, match="too large for memory"):
        split_job("gpt-1t", 8, 8, part="a100-80gb")


def test_all_five_way_splits_are_looked_at() -> None:
    from topo.training.splits import _divisors, _plans

    assert _divisors(12) == [1, 2, 3, 4, 6, 12]
    shape = model_shape("qwen3-235b-a22b").with_(heads=1024, layers=1024, head_width=64, sequence=2**21)
    plans = _plans(shape, 1024, 1024, Plan(batch=1024), ("full",))
    degrees = {(p.tensor, p.context, p.pipeline, p.data // p.expert, p.expert) for p in plans}
    # 2^10 over five places: C(14, 4).
    assert len(degrees) == 1001


def test_sixteen_thousand_accelerators_with_five_dimensions_on_a_fabric() -> None:
    f = topo.rail_optimized(hosts=2048, rails=8, hosts_per_unit=32, radix=64, tiers=3)
    shape = model_shape("qwen3-235b-a22b").with_(sequence=8192)
    plan = Plan(
        batch=2048, tensor=4, context=2, pipeline=2, data=1024, expert=64, flash=True, sequence_parallel=True,
        shard="optimizer",
    )  # fmt: skip
    step = training_step(shape, plan, efficiency=0.5, fabric=f)
    assert sorted(step.rates) == ["context", "data", "expert", "pipeline", "tensor"]
    assert sum(step.terms.values()) == pytest.approx(step.time_s)
    assert step.terms["exposed expert"] > 0
    skewed = training_step(shape, plan.with_(expert_skew=2.0), efficiency=0.5, fabric=f)
    assert skewed.time_s > step.time_s
