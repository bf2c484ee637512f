"""Degraded capacity, survivability, availability, jobs: worked examples, exhaustive checks, published behaviour."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import topo
from topo.analysis.degradation import degradation_curve
from topo.analysis.failures import sampling
from topo.analysis.failures.availability import availability
from topo.analysis.failures.degraded import degraded_capacity
from topo.analysis.failures.elements import Elements, down_state, elements
from topo.analysis.failures.jobs import job_failures
from topo.analysis.failures.measures import BisectionMeasure, ThroughputMeasure, largest_part, measure_of
from topo.analysis.failures.platform import platform_loss
from topo.analysis.failures.replay import Event, read_events, replay
from topo.analysis.failures.survivability import survivability
from topo.analysis.failures.worst import worst_failures
from topo.errors import InputError, ParameterError
from topo.fabric import State
from topo.report.drains import drains
from topo.traffic import Demand


@pytest.fixture(scope="module")
def paired():
    """4 leaves x 4 hosts, 2 spines, two parallel links each, all of one rate: the worked example."""
    return topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=2, link_gbps=100, host_gbps=100)


def _one_lost(fabric):
    return down_state(fabric, ["link:leaf-1/5--spine-1"])


def test_all_to_all_with_one_of_two_parallel_links_lost(paired):
    answer = degraded_capacity(paired, _one_lost(paired), beside=("wcmp", "optimal"))
    assert answer.share == pytest.approx(0.625, rel=1e-12)
    assert [kept.share_lower for kept in answer.beside] == pytest.approx([0.9375, 0.9375], rel=1e-6)
    assert answer.kept.degraded_lower == pytest.approx(62.5)
    assert (answer.n_links_down, answer.cut_off, answer.lost_pairs) == (1, 0, 0)


def test_leaf_to_leaf_demand_keeps_half_by_even_splitting_and_three_quarters_by_weights(paired):
    ends = paired.endpoints.reshape(4, 4)
    demand = Demand.of(paired, "leaf 2 to leaf 1", source=ends[1], sink=ends[0], gbps=100)
    answer = degraded_capacity(paired, _one_lost(paired), demand, beside=("wcmp", "optimal"))
    assert answer.share == pytest.approx(0.5)
    assert [kept.share_lower for kept in answer.beside] == pytest.approx([0.75, 0.75], rel=1e-6)


def test_single_links_per_pair_lose_only_their_share():
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    demand = Demand.of(fabric, "leaf 2 to leaf 1", source=fabric.endpoints[4:8], sink=fabric.endpoints[:4], gbps=100)
    answer = degraded_capacity(fabric, down_state(fabric, ["link:leaf-1--spine-1"]), demand)
    assert answer.share == pytest.approx(3 / 4)
    assert answer.beside[0].share_lower == pytest.approx(3 / 4)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_spines_lost_leave_the_rest(k):
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    ends = fabric.endpoints.reshape(4, 4)
    demand = Demand.of(fabric, "leaf shift", source=ends.ravel(), sink=np.roll(ends, 1, axis=0).ravel(), gbps=100)
    state = down_state(fabric, [f"spine-{i + 1}" for i in range(k)])
    assert degraded_capacity(fabric, state, demand).share == pytest.approx((4 - k) / 4)


def test_one_tor_lost_leaves_dual_homed_endpoints_at_half_and_cuts_single_homed_ones_off():
    dual = topo.load("alibaba-hpn-segment")
    answer = degraded_capacity(dual, down_state(dual, ["plane-1-segment-1-leaf-1"]))
    assert answer.share == pytest.approx(0.5, rel=1e-12)
    assert (answer.cut_off, answer.reduced) == (0, 128)
    single = topo.load("nvidia-superpod-h100-1su")
    answer = degraded_capacity(single, down_state(single, ["su-1-leaf-1"]))
    assert answer.cut_off == 31
    assert answer.share == 1.0


def test_a_lost_nvlink_switch_of_a_rack_costs_each_accelerator_an_eighteenth():
    fabric = topo.load("nvidia-gb200-nvl72")
    chips = elements(fabric, "scale_up_switch")
    answer = degraded_capacity(fabric, chips.state([0]))
    assert answer.share == pytest.approx(17 / 18)
    assert answer.reduced == 72
    assert answer.platform is None


def test_one_leaf_lost_halves_the_rate_of_a_two_plane_endpoint():
    fabric = topo.load("nvidia-superpod-b300-spectrumx-1su")
    leaf = fabric.nodes.name[fabric.switches[0]]
    answer = degraded_capacity(fabric, down_state(fabric, [str(leaf)]))
    assert answer.share == pytest.approx(0.5)
    assert answer.cut_off == 0


def test_an_h100_host_with_a_dead_nvswitch_is_out_of_service_with_most_wires_left():
    fabric = topo.load("nvidia-dgx-h100")
    shares = set()
    for i in range(4):
        loss = platform_loss(fabric, elements(fabric, "scale_up_switch").state([i]))
        assert loss.n_hosts == 1
        shares.add((round(loss.wired_share_min, 2), round(loss.wired_share_max, 2)))
    assert shares == {(0.72, 0.72), (0.78, 0.78)}


def test_survivability_by_symmetry_equals_every_element_by_itself():
    for fabric in (
        topo.fat_tree(4),
        topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=2, parallel=2),
    ):
        for measure in ("all-to-all", "endpoints"):
            quick = survivability(fabric, measure)
            slow = survivability(fabric, measure, use_symmetry=False)
            assert quick.n_evaluated < slow.n_evaluated == slow.n_elements == quick.n_elements
            for kind in ("switch", "link"):
                one = [quick.losses[i].share_lower for i in quick.loss_class[kind]]
                other = [slow.losses[i].share_lower for i in slow.loss_class[kind]]
                assert one == pytest.approx(other, rel=1e-12)
            assert [v.n_safe for v in quick.verdicts] == [v.n_safe for v in slow.verdicts]


def test_published_superpod_losses_of_one_element():
    answer = survivability(topo.load("nvidia-superpod-b200-64su"))
    share = {(loss.kind, loss.tier): loss.share_lower for loss in answer.losses}
    assert share["link", "leaf-spine"] == pytest.approx(0.97059, abs=5e-6)
    assert share["link", "spine-core"] == pytest.approx(0.79995, abs=5e-6)
    assert share["switch", "spine"] == pytest.approx(0.97059, abs=5e-6)
    assert share["switch", "core"] == pytest.approx(0.93328, abs=5e-6)
    assert share["switch", "leaf"] == 1.0
    assert answer.n_elements == 32_768 + 16_384 + 1_280
    assert answer.n_evaluated <= 6


def test_drains_are_safe_against_what_is_down_already():
    fabric = topo.leaf_spine(leaves=4, spines=8, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    fresh = survivability(fabric, kinds=["switch"], require=0.9)
    spine = next(v for v in fresh.verdicts if v.tier == "spine")
    assert (spine.n_safe, spine.passes) == (8, True)
    tired = down_state(fabric, ["spine-1", "spine-2", "spine-3", "spine-4", "spine-5"])
    now = survivability(fabric, kinds=["switch"], require=0.9, state=tired)
    spine = next(v for v in now.verdicts if v.tier == "spine")
    assert (spine.n_elements, spine.n_safe, spine.passes) == (3, 0, False)


def test_all_pairs_are_met_by_the_worst_two():
    fabric = topo.leaf_spine(leaves=3, spines=3, hosts_per_leaf=3, parallel=2, link_gbps=100, host_gbps=100)
    measure = measure_of(fabric, "all-to-all")
    every = elements(fabric, "link")
    least = min(measure(every.state(list(pair))).lower for pair in itertools.combinations(range(len(every)), 2))
    answer = worst_failures(fabric, 2, kinds=["link"])
    assert answer.left == pytest.approx(least, rel=1e-12)
    assert answer.standing.kind == "exact"


def test_the_bound_on_worse_failures_holds_for_bisection():
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    answer = worst_failures(fabric, 3, "bisection", kinds=["switch"])
    measure = BisectionMeasure(fabric)
    every = elements(fabric, "switch")
    least = min(measure(every.state(list(trio))).upper for trio in itertools.combinations(range(len(every)), 3))
    assert answer.left_at_least <= least <= answer.left


def test_all_trios_are_met_where_the_classes_are_few_and_0_is_the_bound_else(monkeypatch: pytest.MonkeyPatch):
    fabric = topo.leaf_spine(leaves=3, spines=3, hosts_per_leaf=3, parallel=2, link_gbps=100, host_gbps=100)
    fabric = fabric.without(links=[9])  # one cable lost already: less symmetry, uneven shares
    measure = measure_of(fabric, "all-to-all")
    every = elements(fabric, "link")
    least = min(measure(every.state(list(trio))).lower for trio in itertools.combinations(range(len(every)), 3))
    answer = worst_failures(fabric, 3, kinds=["link"])
    assert answer.left == answer.left_at_least == pytest.approx(least, rel=1e-12)
    assert answer.standing.kind == "exact"
    monkeypatch.setattr("topo.analysis.failures.worst._MOST_LINKS", 0)
    found = worst_failures(fabric, 3, kinds=["link"], keep=1)
    assert found.left_at_least == 0 <= least <= found.left and found.standing.kind == "upper bound"
    assert "lower bound" in str(found)


def test_enumeration_equals_brute_force_over_all_states():
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, link_gbps=100, host_gbps=100)
    rates = {"switch:spine-*": {"mtbf_h": 90, "mttr_h": 10}}
    answer = availability(fabric, rates=rates)
    measure = measure_of(fabric, "all-to-all")
    spines = elements(fabric, "switch")
    rows = [i for i in range(len(spines)) if "spine" in spines.name(i)]
    law = {}
    for down in itertools.chain.from_iterable(itertools.combinations(rows, r) for r in range(3)):
        value = round(measure(spines.state(list(down)) if down else None).lower, 9)
        law[value] = law.get(value, 0.0) + 0.1 ** len(down) * 0.9 ** (2 - len(down))
    assert dict(zip(answer.level.round(9).tolist(), answer.probability.tolist(), strict=True)) == pytest.approx(law)
    assert answer.unknown == pytest.approx(0, abs=1e-12)
    assert answer.standing.kind == "exact"


class _Bracketed(ThroughputMeasure):
    """All-to-all of which only half is sure."""

    def __init__(self, fabric):
        sure = measure_of(fabric, "all-to-all")
        super().__init__(fabric, sure.demand, sure.routing, sure.name)

    def __call__(self, state):
        value = super().__call__(state)
        return replace(value, upper=2 * value.upper)


def test_a_bracketed_measure_is_not_called_exact(tmp_path):
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    rates = {"switch:spine-*": {"mtbf_h": 90, "mttr_h": 10}}
    sure = availability(fabric, rates=rates)
    bracketed = availability(fabric, _Bracketed(fabric), rates=rates)
    assert bracketed.standing.kind == "bracket" and "lower bounds" in bracketed.standing.how
    assert bracketed.mean_lower == sure.mean_lower
    assert bracketed.mean_upper == pytest.approx(2 * sure.mean_lower)
    drawn = availability(fabric, _Bracketed(fabric), rates=rates, method="monte-carlo", n_samples=400)
    assert drawn.mean_lower < sure.mean_lower and drawn.mean_upper > 2 * sure.mean_lower
    log = tmp_path / "log.csv"
    log.write_text("time,element,event\n2026-01-01,spine-1,down\n2026-01-02,spine-1,up\n")
    assert replay(fabric, log).standing.kind == "exact"
    assert replay(fabric, log, _Bracketed(fabric)).standing.kind == "lower bound"


def test_enumeration_and_sampling_agree_and_workers_do_not_matter():
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    rates = {"switch": {"mtbf_h": 99, "mttr_h": 1}, "link": {"mtbf_h": 999, "mttr_h": 1}}
    exact = availability(fabric, rates=rates)
    drawn = availability(fabric, rates=rates, method="monte-carlo", n_samples=800, seed=4)
    middle, deviation = (drawn.mean_lower + drawn.mean_upper) / 2, (drawn.mean_upper - drawn.mean_lower) / 3.92
    assert exact.mean_lower - 4 * deviation <= middle <= exact.mean_upper + 4 * deviation
    for share in (0.8, 0.9):
        low, high = exact.held(share)
        assert drawn.held(share)[0] <= high
        assert drawn.held(share)[1] >= low
    two = availability(fabric, rates=rates, method="monte-carlo", n_samples=800, seed=4, workers=2)
    assert two.level.tobytes() == drawn.level.tobytes()
    assert two.probability.tobytes() == drawn.probability.tobytes()
    assert two.to_dict() == drawn.to_dict()


def test_samples_of_one_element_down_are_the_same_with_and_without_symmetry(monkeypatch):
    fabric = topo.fat_tree(4)
    rates = {"switch": {"mtbf_h": 99, "mttr_h": 1}, "link": {"mtbf_h": 99, "mttr_h": 1}}
    quick = availability(fabric, rates=rates, method="monte-carlo", n_samples=600, seed=4)
    monkeypatch.setattr(sampling, "_WORTH_SYMMETRY", np.inf)
    slow = availability(fabric, rates=rates, method="monte-carlo", n_samples=600, seed=4)
    assert quick.n_states < slow.n_states
    np.testing.assert_allclose(quick.level, slow.level, rtol=1e-12)
    np.testing.assert_array_equal(quick.probability, slow.probability)
    assert quick.cut_off_mean == slow.cut_off_mean


def test_a_kind_may_be_narrowed_and_named_twice():
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    whole = survivability(fabric)
    some = survivability(fabric, kinds=["link:leaf-*--spine-*", "switch:spine-*", "switch:spine-*"])
    assert [(v.kind, v.tier, v.n_elements) for v in some.verdicts] == [
        ("link:leaf-*--spine-*", "leaf-spine", 16), ("switch:spine-*", "spine", 4),
    ]  # fmt: skip
    shares = {(loss.kind, loss.tier): loss.share_lower for loss in whole.losses}
    assert {(loss.kind, loss.tier): loss.share_lower for loss in some.losses}.items() <= shares.items()
    assert [entry.verdict.n_elements for entry in drains(fabric, some)] == [16, 4]
    assert worst_failures(fabric, 2, kinds=["switch:spine-*"] * 2).elements == ("spine-1", "spine-2")
    with pytest.raises(ParameterError, match="no link of .* matches 'nowhere'"):
        survivability(fabric, kinds=["link:nowhere"])


@pytest.mark.parametrize("ask", [survivability, availability, worst_failures, degraded_capacity, degradation_curve])
def test_no_fabric_is_refused_whatever_the_measure(ask, paired):
    more = {worst_failures: [1], degraded_capacity: [State()]}.get(ask, [])
    for measure in (topo.traffic.all_to_all(paired), BisectionMeasure(paired)):
        with pytest.raises(ParameterError, match=r"a Fabric is wanted.*topo\.load\('deepseek-ft2'\)"):
            ask("deepseek-ft2", *more, measure=measure)
    with pytest.raises(ParameterError, match="a Fabric is wanted, not NoneType"):
        elements(None, "link")


def test_all_up_and_one_spare_probabilities():
    # A = .999: all of 8 up .992028, all of 16 .984119 (no worked example is as large as a fabric).
    for n, share in ((8, 0.992028), (16, 0.984119)):
        fabric = topo.leaf_spine(leaves=2, spines=n, hosts_per_leaf=n, link_gbps=100, host_gbps=100)
        answer = availability(fabric, rates={"switch:spine-*": {"mtbf_h": 999, "mttr_h": 1}})
        nothing_down = answer.probability[answer.level >= answer.healthy * (1 - 1e-12)].sum()
        assert nothing_down >= share - 5e-7
    fabric = topo.leaf_spine(leaves=2, spines=8, hosts_per_leaf=16, link_gbps=100, host_gbps=100)
    answer = availability(fabric, rates={"switch:spine-*": {"mtbf_h": 999, "mttr_h": 1}})
    assert answer.at_least[-1] == pytest.approx(0.992028, abs=5e-7)
    assert answer.at_least[-2] == pytest.approx(0.999972, abs=5e-7)


def test_removing_an_element_never_raises_optimal_throughput_but_may_raise_ecmp():
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=6, parallel=3, link_gbps=100, host_gbps=100)
    two = down_state(fabric, ["link:leaf-1/7--spine-1", "link:leaf-1/8--spine-1"])
    three = down_state(fabric, ["link:leaf-1--spine-1"])
    best, even = (measure_of(fabric, "all-to-all", routing) for routing in ("optimal", "ecmp"))
    assert best(three).upper <= best(two).lower * (1 + 1e-6)
    # One of three links to a spine left still draws half the traffic; with none left all of it goes the other way.
    answer = survivability(fabric, state=two, kinds=["link"])
    assert even(three).lower > even(two).lower * 1.3
    assert answer.n_better >= 1
    last = next(loss for loss in answer.losses if loss.name == "leaf-1/9--spine-1/3")
    assert last.share_lower == pytest.approx(even(three).lower / even(two).lower)


def test_jobs_single_homed_stop_and_dual_homed_slow_down():
    rates = {"switch": {"mtbf_h": 7305, "mttr_h": 1}}
    single = topo.load("nvidia-superpod-h100-1su")
    answer = job_failures(single, {"a": "host-01-*", "b": ["host-02-*", "host-03-*"]}, rates)
    assert [risk.stops_per_month for risk in answer.jobs] == pytest.approx([0.8, 0.8])
    assert answer.worst[0].jobs_stopped == ("a", "b")
    assert answer.worst[0].n_alike == 8
    dual = topo.load("alibaba-hpn-segment")
    answer = job_failures(dual, {"a": "host-001-*"}, rates)
    assert (answer.jobs[0].stops_per_month, round(answer.jobs[0].slowdowns_per_month, 9)) == (0.0, 1.6)
    stubborn = job_failures(dual, {"a": "host-001-*"}, rates, stops_on="any link")
    assert stubborn.jobs[0].stops_per_month == pytest.approx(1.6)


def test_a_log_is_replayed_to_daily_minima(tmp_path):
    path = tmp_path / "flaps.csv"
    path.write_text(
        "time,element,event\n"
        "2026-01-01T10:00:00,spine-1,down\n"
        "2026-01-01T16:00:00,spine-1,up\n"
        "2026-01-02T22:00:00,spine-2,200G\n"
        "2026-01-04T00:00:00Z,spine-2,up\n"
    )
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    answer = replay(fabric, path)
    assert answer.days == ("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04")
    half = answer.daily_minimum[0]
    assert half < answer.healthy
    assert answer.daily_minimum[1] == answer.daily_minimum[2] == answer.daily_minimum[3] == half
    hours = np.array([6, 30, 26])
    expected = (hours * np.array([half, answer.healthy, half])).sum() / hours.sum()
    assert answer.mean == pytest.approx(expected)
    assert answer.n_states == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,element\n", r"flaps.csv:1: column 'event' is missing"),
        ("time,element,event\n", "no event"),
        ("time,element,event\nyesterday,spine-1,down\n", "flaps.csv:2: time 'yesterday' is not ISO 8601"),
        ("time,element,event\n2026-01-01T00:00:00,spine-1,broken\n", "event 'broken' is not down, up or a rate"),
        ("time,element,event\n2026-01-01T00:00:00,spine-7,down\n", "flaps.csv:2: nothing in .* is called 'spine-7'"),
        (
            "time,element,event\n2026-01-02T00:00:00,spine-1,down\n2026-01-01T00:00:00,spine-1,up\n",
            "flaps.csv:3: .* is before the line above",
        ),
        ("time,element,event\n2026-01-02T00:00:00\n", "1 cells where the header has 3"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_at_its_line(tmp_path, text, words):
    path = tmp_path / "flaps.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        replay(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2), path)
    with pytest.raises(InputError, match="no such file"):
        read_events(tmp_path / "none.csv")


def test_a_log_may_be_utf_16(tmp_path):
    path = tmp_path / "flaps.csv"
    path.write_text("time,element,event\n2026-01-02T00:00:00,spine-1,down\n", "utf-16")
    assert [event.element for event in read_events(path)] == ["spine-1"]


def test_bad_questions(paired):
    with pytest.raises(ParameterError, match="unknown measure 'speed'; known: all-to-all"):
        degraded_capacity(paired, State(), "speed")
    with pytest.raises(ParameterError, match="require is 2"):
        survivability(paired, require=2)
    with pytest.raises(ParameterError, match="no chassis of .* is there to fail"):
        survivability(paired, kinds=["chassis"])
    with pytest.raises(ParameterError, match="k is 0"):
        worst_failures(paired, 0)
    with pytest.raises(ParameterError, match="unknown method 'guess'"):
        availability(paired, method="guess")
    with pytest.raises(ParameterError, match="n_samples is 5"):
        availability(paired, method="monte-carlo", n_samples=5)
    with pytest.raises(ParameterError, match="stops_on is 'x'"):
        job_failures(paired, {"a": None}, stops_on="x")
    with pytest.raises(ParameterError, match="no job is given"):
        job_failures(paired, {})
    with pytest.raises(ParameterError, match="no event"):
        replay(paired, [])
    with pytest.raises(ParameterError, match="share is 1.0"):
        availability(paired, "endpoints").held(1.0)


def test_largest_part_counts_planes_and_isolated_rails():
    rails = topo.load("deepseek-mpft")
    assert len(largest_part(rails, None)) == len(rails.endpoints) // 8
    planes = topo.load("nvidia-superpod-b300-spectrumx-1su")
    one_leaf = down_state(planes, [str(planes.nodes.name[planes.switches[0]])])
    assert len(largest_part(planes, one_leaf)) == len(planes.endpoints)


def test_every_result_renders(paired):
    state = _one_lost(paired)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    for answer in (
        degraded_capacity(paired, state),
        survivability(paired),
        worst_failures(paired, 1),
        availability(paired),
        availability(paired, "endpoints", method="monte-carlo", n_samples=100),
        job_failures(paired, {"a": None}),
        replay(paired, [Event(day, "spine-1", "down"), Event(day, "spine-1", "up")]),
    ):
        assert str(answer)
        assert "<table" in answer._repr_html_()
        assert answer.to_dict() == __import__("json").loads(answer.to_json())
        assert len(answer.to_frame()) == len(answer.rows())


def test_elements_are_a_value(paired):
    every = elements(paired, "switch")
    assert isinstance(every.take(np.array([1, 0])), Elements)
    assert every.take(np.array([1, 0])).name(0) == every.name(1)


def test_shares_never_count_what_lost_pairs_wanted():
    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, link_gbps=400, host_gbps=400)
    answer = degraded_capacity(fabric, down_state(fabric, ["spine-*"]))
    # What is left is the traffic inside each leaf, at full rate; 192 of the 240 pairs have no path.
    assert answer.lost_pairs == 4 * 4 * 12
    assert answer.cut_off == 12
    assert answer.kept.degraded_lower == pytest.approx(400)
