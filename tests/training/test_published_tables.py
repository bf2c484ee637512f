"""Published tables: comparisons with the network's share, what was refitted, days of training, tails of many ranks."""

import math
from dataclasses import replace

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.parts.accelerators import accelerator
from topo.parts.models import model_shape
from topo.training.ablation import ABLATIONS, ablations
from topo.training.comparisons import published_comparisons
from topo.training.flops import hardware_flops
from topo.training.losses import expected_largest, quantile_of_largest
from topo.training.published import megatron_2022
from topo.training.waterfall import goodput


def test_every_published_point_with_the_networks_share_and_a_linear_scaling() -> None:
    found = published_comparisons()
    assert {name: len(found.of(name)) for name in found.series} == {
        "Megatron-LM 2022": 8, "Megatron-LM 2021": 10, "Megatron-LM on MegaScale, batch 768": 4,
        "Megatron-LM on MegaScale, batch 6144": 4, "MegaScale": 4, "Llama 3": 3,
    }  # fmt: skip
    held = {name: found.mean_and_worst(name) for name in found.series}
    assert held["Megatron-LM 2022"][0] <= 0.0365 and held["Megatron-LM 2022"][1] <= 0.089
    assert held["Megatron-LM 2021"][0] <= 0.04 and held["Megatron-LM 2021"][1] <= 0.09
    column = [p for p in found.points if p.series.startswith("Megatron-LM on")]
    off = np.abs([p.error for p in column])
    assert off.mean() <= 0.045 and off.max() <= 0.085
    # Linear scaling, from the printed seconds alone: 29.02 s x 3072 / 12288 against 8.57 s.
    last = column[-1]
    assert last.linear == pytest.approx(29.02 / 4) and last.linear_error == pytest.approx(29.02 / 4 / 8.57 - 1)
    # Of every size that grew, the model is nearer than the linear scaling.
    grown = [p for p in found.points if math.isfinite(p.linear) and p.ranks > 3072 and not p.is_base]
    assert len(grown) == 7 and all(abs(p.error) < abs(p.linear_error) for p in grown)
    # Waiting for the network: 5 to 11 % of the points of 2022, a fifth at 12,288 ranks.
    assert all(0.04 < p.network_share < 0.12 for p in found.of("Megatron-LM 2022"))
    assert last.network_share == pytest.approx(0.196, abs=0.01)
    text = str(found)
    assert "12,288" in text and "linear 7.255 (-15.3 %)" in text and "network 19.2 %" in text and "-0.0 %" not in text


# Mean and worst error in percent, refitted with nothing filled into a tile: the model as it was first tried.
TRIED = {
    "reference": (2.9, 5.7), "pipeline sends free": (2.7, 5.0), "scale-up at 300 GB/s without latency": (3.7, 7.1),
    "scale-up at 195 GB/s": (2.5, 4.5), "no bubble": (1.7, 3.5), "no output layer": (2.3, 3.8),
    "output layer averaged over stages": (2.2, 3.9), "no overlap in the backward pass": (1.5, 2.7),
    "optimizer of 16 bytes a parameter": (4.1, 9.9), "optimizer of 100 bytes a parameter": (2.2, 4.5),
    "memory passes x 0.8": (3.6, 7.0), "memory passes x 1.25": (2.5, 4.0),
    "no scatter and gather of boundaries": (4.8, 8.8),
}  # fmt: skip


def test_the_ablations_come_out_as_tried() -> None:
    bare = accelerator("a100-80gb").with_(fill_depth=0)
    found = ablations([replace(point, part=bare) for point in megatron_2022()])
    assert [line.name for line in found.lines] == list(TRIED) == list(ABLATIONS)
    for line in found.lines:
        # Here the memory's rate is changed, which output layer and small products feel too.
        spread = 0.5 if line.name.startswith("memory") else 0.06
        assert (100 * line.mean_error, 100 * line.worst_error) == pytest.approx(TRIED[line.name], abs=spread), line


def test_the_eight_points_cannot_tell_a_wrong_model_from_the_right_one() -> None:
    lines = {line.name: line for line in ablations(megatron_2022()).lines}
    assert 100 * lines["reference"].mean_error == pytest.approx(2.0, abs=0.05)
    # Without a bubble, which is wrong by construction, it is no worse; without the boundary's split it is.
    assert lines["no bubble"].mean_error < lines["reference"].mean_error
    assert lines["no scatter and gather of boundaries"].mean_error > 1.5 * lines["reference"].mean_error
    assert "no bubble" in str(ablations(megatron_2022(), ["no bubble"]))
    with pytest.raises(ParameterError, match="unknown change 'x'; known: reference"):
        ablations(megatron_2022(), ["x"])
    with pytest.raises(ParameterError, match="no measured step"):
        ablations([])


# SC'21, table 2: (model, accelerators, printed TFLOP/s, printed days for 300 billion tokens, days by equation 3).
DAYS = (
    ("gpt-175b", 384, 144, 90, 90.0), ("gpt-175b", 768, 88, 74, 73.7), ("gpt-175b", 1536, 44, 74, 73.7),
    ("gpt-530b", 640, 138, 169, 169.2), ("gpt-530b", 1120, 98, 137, 136.2), ("gpt-530b", 2240, 48, 140, 139.0),
    ("gpt-175b", 384, 153, 84, 84.7), ("gpt-175b", 768, 149, 43, 43.5), ("gpt-175b", 1536, 141, 23, 23.0),
    ("gpt-530b", 560, 171, 156, 156.1), ("gpt-530b", 1120, 167, 80, 79.9), ("gpt-530b", 2240, 159, 42, 42.0),
)  # fmt: skip


@pytest.mark.parametrize(("model", "ranks", "tflops", "printed", "days"), DAYS)
def test_days_for_300_billion_tokens(model: str, ranks: int, tflops: float, printed: float, days: float) -> None:
    shape = model_shape(model)
    each = hardware_flops(shape, 1, recompute="full") / shape.sequence
    found = 300e9 * each / (ranks * tflops * 1e12) / 86400
    assert found == pytest.approx(days, abs=0.06)
    assert found == pytest.approx(printed, abs=1.05)


def test_tails_of_many_ranks() -> None:
    assert pytest.approx(4.3e-5, abs=5e-7) == 0.99**1000
    for law in ("normal", "exponential"):
        one = quantile_of_largest(1, 0.99, law)
        # q^n: all of a thousand below the quantile of one.
        assert quantile_of_largest(1000, 0.99**1000, law) == pytest.approx(one, rel=1e-12)
        # Against draws: the median and the 90 % quantile of the largest of 64.
        draw = np.random.default_rng(3)
        many = (draw.normal(size=(40_000, 64)) if law == "normal" else draw.exponential(size=(40_000, 64))).max(axis=1)
        for share in (0.5, 0.9):
            assert quantile_of_largest(64, share, law) == pytest.approx(np.quantile(many, share), abs=0.05)
    # The mean of the largest exponential lies above its median, H_n against ln n + 0.3665.
    assert quantile_of_largest(8192, 0.5, "exponential") == pytest.approx(
        math.log(8192) - math.log(math.log(2)), abs=1e-3
    )
    assert expected_largest(8192, "exponential") > quantile_of_largest(8192, 0.5, "exponential")
    # Nothing is rounded to 1 where ranks are very many.
    assert quantile_of_largest(10**12, 0.5, "exponential") == pytest.approx(math.log(1e12 / math.log(2)), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, 0.5), "largest of 0"),
        ((5, 1.0), "share is 1.0"),
        ((5, math.nan), "share is nan"),
        ((5, 0.5, "x"), "law 'x'"),
    ],
)
def test_tails_refused(given: tuple, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        quantile_of_largest(*given)


def test_all_to_all_in_phases_of_pairs_keeps_a_sixth_of_the_line() -> None:
    # One flow a host at a time, 32 hosts on 16 uplinks: the schedule belongs to the demand, 0.165 and not 0.50.
    f = topo.leaf_spine(leaves=8, spines=16, hosts_per_leaf=32, link_gbps=400)
    given = {"bytes": 2.0**28, "samples": 40, "alpha_us": 0.0}
    phased = goodput(f, None, "all_to_all", algorithm="pairwise", **given)
    routed = next(level for level in phased.levels if level.effect == "routing")
    assert routed.mean_time_gbps / phased.line_gbps == pytest.approx(0.165, abs=0.007)
    assert routed.mean_time_gbps <= routed.gbps
    best = next(level for level in phased.levels if level.effect == "oversubscription")
    assert best.gbps / phased.line_gbps == pytest.approx(0.54, abs=0.005)
    assert routed.gbps < 0.4 * best.gbps
