"""Rates in every unit, refusals at file:line, and the published figures they reproduce."""

import math

import numpy as np
import pytest

import topo
from topo.analysis.failures.checkpointing import effective_training_time
from topo.analysis.failures.rates import FailureRates, read_failure_rates
from topo.errors import InputError, ParameterError
from topo.parts.failure_rates import HOURS_PER_MONTH, PUBLISHED_CAUSES


def test_units_of_a_rate():
    rates = FailureRates.of(
        {
            "link": {"fit": 1000, "mttr_h": 1},
            "switch": {"afr": 0.05, "mttr_h": 1},
            "host": {"mtbf_h": 500, "mttr_h": 1},
            "nic": [{"per_day": 2, "mttr_h": 0.01}, {"mtbf_h": 1000, "mttr_h": 10}],
        }
    )
    per_hour = {which: [cause.failures_per_hour for cause in causes] for which, causes in rates.causes.items()}
    assert per_hour["link"] == pytest.approx([1e-6], rel=1e-12)
    assert 1 - math.exp(-8766 * per_hour["switch"][0]) == pytest.approx(0.05, rel=1e-12)
    assert per_hour["host"] == [1 / 500]
    assert per_hour["nic"] == [2 / 24, 1 / 1000]


def test_unavailability_is_mttr_over_mtbf_plus_mttr_and_causes_multiply():
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    rates = FailureRates.of(
        {
            "switch": [{"mtbf_h": 90, "mttr_h": 10}, {"mtbf_h": 80, "mttr_h": 20}],
            "switch:spine-2": {"mtbf_h": 1, "mttr_h": 1},
        }
    )
    (rated,) = rates.on(fabric)
    assert rated.unavailability == pytest.approx([1 - 0.9 * 0.8] * 3 + [0.5])
    assert rated.failures_per_hour[:3] == pytest.approx([1 / 90 + 1 / 80] * 3)


def test_published_rates_give_one_to_two_crashes_a_month_on_single_tors():
    # HPN, section 2.3: 3,000 GPUs see 1 to 2 job crashes a month from access links and ToRs.
    link, switch = (PUBLISHED_CAUSES[kind][0].failures_per_hour for kind in ("link", "switch"))
    tors = 3000 / 1024 * 16  # 1,024 GPUs of a segment on 16 ToRs, were each NIC on one of them
    per_month = (3000 * link + tors * switch) * HOURS_PER_MONTH
    assert 1 <= per_month <= 2
    assert 30_720 * link * HOURS_PER_MONTH == pytest.approx(17.5, abs=0.05)


def test_a_link_rate_is_for_cables_not_for_what_is_inside_a_host():
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    rated = FailureRates.published("link").on(fabric)[0]
    kinds = fabric.links.kind.values(rated.elements.link)
    assert set(kinds.tolist()) <= {"scale_out", "access"}
    assert len(rated.elements) == int(fabric.links.kind.is_any("scale_out", "access").sum())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("swich: {mtbf_h: 1, mttr_h: 1}\n", "rates.yaml:1: unknown kind of element 'swich'; did you mean 'switch'"),
        ("switch:\n  mttr_h: 1\n", "exactly one of fit, afr, mtbf_h, per_day is needed; none is given"),
        ("switch:\n  mtbf_h: 1\n  fit: 2\n  mttr_h: 1\n", "fit and mtbf_h are given"),
        ("switch:\n  mtbf_h: 100\n", "mttr_h, the mean hours until repair, is missing"),
        ("switch:\n  mtbf_h: -5\n  mttr_h: 1\n", "rates.yaml:2: switch: mtbf_h is -5; it must be a number above 0"),
        ("switch:\n  afr: 5\n  mttr_h: 1\n", "afr is 5; it is a share"),
        ("switch:\n  mtbf: 5\n  mttr_h: 1\n", "unknown key 'mtbf'; did you mean 'mtbf_h'"),
        ("switch: 5\n", "a cause is keys with values"),
        ("[1]\n", "failure rates are keys"),
    ],
)
def test_refusals_name_the_line(tmp_path, text, words):
    path = tmp_path / "rates.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        read_failure_rates(path)


def test_a_pattern_that_matches_nothing_is_refused():
    rates = FailureRates.of({"switch:core-*": {"mtbf_h": 1, "mttr_h": 1}})
    with pytest.raises(ParameterError, match=r"no switch of .* matches 'core-\*'"):
        rates.on(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2))


@pytest.mark.parametrize(
    ("nodes", "write_s", "restart_s", "interval_s", "best_s", "share"),
    [
        (1500, 0, 300, 3600, None, 0.7630),
        (1500, 0, 300, 300, None, 0.9492),
        (1500, 10, 300, None, 421, 0.9205),
        (2048, 60, 300, None, 882.5, 0.8294),
    ],
)
def test_effective_training_time_as_worked_from_the_paper(nodes, write_s, restart_s, interval_s, best_s, share):
    result = effective_training_time(
        nodes * 6.5e-3 / 24, checkpoint_write_s=write_s, restart_s=restart_s, interval_s=interval_s
    )
    assert result.effective_share == pytest.approx(share, abs=6e-5)
    if best_s is not None:
        assert result.checkpoint_interval_s == pytest.approx(best_s, abs=0.6)


def test_mean_time_to_failure_of_published_sizes():
    # arXiv 2410.21680 projects 1.8 h at 16,384 GPUs and 0.23 h at 131,072 from 6.50 in 1,000 node-days.
    for gpus, hours in ((16_384, 1.803), (131_072, 0.2254)):
        result = effective_training_time(gpus / 8 * 6.5e-3 / 24, checkpoint_write_s=1, restart_s=1)
        assert result.mttf_h == pytest.approx(hours, abs=5e-4)


def test_the_best_interval_is_best_and_bad_input_is_refused():
    best = effective_training_time(0.1, checkpoint_write_s=20, restart_s=0)
    for factor in (0.8, 1.25):
        other = effective_training_time(
            0.1, checkpoint_write_s=20, restart_s=0, interval_s=factor * best.checkpoint_interval_s
        )
        assert other.effective_share < best.effective_share
    with pytest.raises(ParameterError, match="give interval_s"):
        effective_training_time(0.1, checkpoint_write_s=0, restart_s=0)
    with pytest.raises(ParameterError, match="failures_per_hour is -1"):
        effective_training_time(-1, checkpoint_write_s=1, restart_s=0)
    assert effective_training_time(0, checkpoint_write_s=1, restart_s=9).effective_share == 1.0
    assert np.isinf(effective_training_time(0, checkpoint_write_s=1, restart_s=9).mttf_h)
