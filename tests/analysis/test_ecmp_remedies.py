"""Remedies in one table, against the table of the note; and what collisions cost a placed job."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from collision_oracle import between_leaves

import topo
from topo import ParameterError
from topo.analysis.collisions.fabric_remedies import ecmp_remedies
from topo.analysis.collisions.job import job_collisions
from topo.analysis.collisions.remedies import EcmpRemedies, Remedy, round_robin_rate, stage_remedies
from topo.analysis.collisions.sample import LARGEST, SLOWEST, Sampler, draw
from topo.analysis.collisions.variants import faster_uplinks, upper_switches, with_copies
from topo.fabric import State
from topo.routing.next_hops import NextHops
from topo.traffic import permutation, shift


def named(table: EcmpRemedies, name: str) -> Remedy:
    return next(remedy for remedy in table.remedies if remedy.name == name)


def test_the_sentence() -> None:
    table = topo.stage_remedies(32, 32, queue_pairs=(8,))
    assert table.sentence == (
        "32 flows on 32 links: striping over 8 queue pairs lifts the slowest link's flow "
        "from 0.295 to 0.563 of line rate"
    )


def test_stage_of_eight() -> None:
    table = stage_remedies(8, 8)
    slowest = [point[1].estimate for point in table.curve()]
    assert slowest == pytest.approx([0.409994, 0.497454, 0.583067, 0.664566, 0.737252, 0.798865, 0.848934], abs=6e-7)
    means = [point[2].estimate for point in table.curve() if point[2] is not None]
    assert means == pytest.approx([0.656391, 0.628962, 0.641044, 0.683107, 0.740541, 0.799039, 0.848935], abs=1e-6)
    robin = [remedy.slowest.estimate for remedy in table.remedies if remedy.kind == "round robin"]
    assert robin == pytest.approx([8 / 15, 16 / 23, 32 / 39, 64 / 71], rel=1e-12)
    assert named(table, "8 flowlets a flow").mean.estimate == pytest.approx(0.869453, abs=6e-7)  # type: ignore[union-attr]
    fast = named(table, "uplinks twice as fast, half as many")
    assert fast.slowest.estimate == pytest.approx(topo.ecmp_stage(8, 4, link_gbps=2).slowest_rate, rel=1e-12)
    assert named(table, "twice the uplinks").slowest.estimate == pytest.approx(0.531036, abs=6e-7)
    assert all(remedy.slowest.is_exact for remedy in table.remedies if remedy.kind not in ("round robin", "spraying"))


def test_oversubscribed_stage_is_never_better_than_its_limit() -> None:
    table = stage_remedies(16, 8, queue_pairs=(2, 8))
    limit = named(table, "packets sprayed, or adaptive routing, at best").slowest.estimate
    assert limit == named(table, "paths pinned, none shared needlessly").slowest.estimate == 0.5
    for remedy in table.remedies:
        if remedy.kind in ("as is", "striping", "flowlets", "round robin", "planes"):
            assert remedy.slowest.estimate < limit


@pytest.mark.parametrize(("n", "m", "planes"), [(3, 4, 2), (2, 8, 4), (4, 4, 2)])
def test_planes_of_a_stage_equal_all_choices_counted(n: int, m: int, planes: int) -> None:
    links = m // planes
    one: dict[tuple[int, ...], int] = {}
    for choice in itertools.product(range(links), repeat=n):
        loads = tuple(choice.count(choice[i]) for i in range(n))
        one[loads] = one.get(loads, 0) + 1
    slowest = mean = 0.0
    for joint in itertools.product(one.items(), repeat=planes):
        weight = math.prod(count for _, count in joint) / links ** (n * planes)
        worst = [max(loads[i] for loads, _ in joint) for i in range(n)]
        slowest += weight * min(1.0, planes / max(worst))
        mean += weight * sum(min(1.0, planes / x) for x in worst) / n
    found = named(stage_remedies(n, m, queue_pairs=()), f"striped over {planes} planes of {links} uplinks")
    assert found.slowest.estimate == pytest.approx(slowest, rel=1e-12)
    assert found.mean is not None and found.mean.estimate == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(("in_flight", "simulated"), [(1, 0.538), (2, 0.695), (4, 0.828)])
def test_round_robin_against_simulation(in_flight: int, simulated: float) -> None:
    """Processor sharing simulated event by event elsewhere: within its error of 0.009."""
    assert round_robin_rate(8, 8, in_flight) == pytest.approx(simulated, abs=0.01)


# 16 leaves, spines, hosts, a random permutation between leaves: bounds and estimate of the slowest flow.
TABLE = [
    ("as it is", 0.200, 0.226, 0.2102),
    ("an eighth more spines", 0.214, 0.236, 0.2197),
    ("twice the uplinks", 0.247, 0.290, 0.2670),
    ("uplinks twice as fast, half as many", 0.309, 0.339, 0.3163),
    ("uplinks twice as fast", 0.400, 0.452, 0.4204),
    ("striped over 2 queue pairs", 0.273, 0.302, 0.2835),
    ("striped over 4 queue pairs", 0.361, 0.390, 0.3690),
    ("striped over 8 queue pairs", 0.452, 0.483, 0.4618),
    ("striped over 16 queue pairs", 0.547, 0.575, 0.5553),
    ("striped over 32 queue pairs", 0.636, 0.662, 0.6435),
    ("striped over 64 queue pairs", 0.715, 0.737, 0.7219),
    ("paths pinned, none shared needlessly", 1, 1, 1),
    ("packets sprayed, or adaptive routing, at best", 1, 1, 1),
]


@pytest.fixture(scope="module")
def table() -> EcmpRemedies:
    f = topo.leaf_spine(16, 16, 16)
    return ecmp_remedies(f, between_leaves(f, 16, 1), samples=64)


@pytest.mark.parametrize(("name", "lower", "upper", "estimate"), TABLE)
def test_fabric_table(table: EcmpRemedies, name: str, lower: float, upper: float, estimate: float) -> None:
    """Another permutation than the note's: its bounds move in the third digit."""
    slowest = named(table, name).slowest
    assert slowest.lower == pytest.approx(lower, abs=0.008)
    assert slowest.upper == pytest.approx(upper, abs=0.002)
    assert slowest.estimate == pytest.approx(estimate, abs=0.002)


def test_means_of_the_fabric_table(table: EcmpRemedies) -> None:
    """Max-min means: those without striping as the note has them, striped ones above their equal shares."""
    expected = {"as it is": 0.509, "an eighth more spines": 0.540, "twice the uplinks": 0.677}
    expected |= {"uplinks twice as fast, half as many": 0.648, "uplinks twice as fast": 0.841}
    for name, mean in expected.items():
        found = named(table, name).mean
        assert found is not None and found.estimate == pytest.approx(mean, abs=0.006)
    equal = {2: 0.501, 4: 0.542, 8: 0.599, 16: 0.664, 32: 0.732, 64: 0.795}
    for q, mean in equal.items():
        found = named(table, f"striped over {q} queue pairs").mean
        assert found is not None and mean - 0.003 < found.estimate < mean + 0.025


def test_uplinks_twice_and_queue_pairs_together() -> None:
    f = topo.leaf_spine(16, 32, 16)
    slowest = named(
        ecmp_remedies(f, between_leaves(f, 16, 1), queue_pairs=(4,), samples=0), "striped over 4 queue pairs"
    )
    assert slowest.slowest.estimate == pytest.approx(0.5215, abs=0.002)


def test_more_remedies_on_real_fabrics() -> None:
    f = topo.load("nvidia-superpod-h100-1su")
    rails = ecmp_remedies(f, shift(f, by=8), queue_pairs=(8,), samples=16)
    kept = named(rails, "flows kept on their rails (PXN)")
    assert kept.slowest.estimate == 1.0
    mixed = ecmp_remedies(f, permutation(f, seed=1), queue_pairs=(8,), samples=16)
    assert named(mixed, "flows kept on their rails (PXN)").slowest.estimate < 1.0
    tree = ecmp_remedies(topo.fat_tree(4), permutation(topo.fat_tree(4), seed=1), queue_pairs=(4,), samples=16)
    assert named(tree, "paths pinned, none shared needlessly").slowest.estimate == 1.0
    assert named(tree, "striped over 4 queue pairs").slowest.estimate > tree.remedies[0].slowest.estimate


def test_planes_of_a_fabric_agree_with_sampling() -> None:
    f = topo.leaf_spine(4, 4, 4)
    demand = between_leaves(f, 4, 2)
    found = named(ecmp_remedies(f, demand, queue_pairs=(), samples=0), "striped over 2 planes of 2 spines")
    plane = topo.leaf_spine(4, 2, 4, link_gbps=800)
    ends = plane.endpoints
    sampler = Sampler(
        NextHops.of(plane),
        ends,
        ends[np.searchsorted(f.endpoints, demand.sink)],
        np.full(16, 400.0),
        np.repeat(plane.links.capacity_gbps, 2),
        1,
    )
    values = draw(sampler, samples=4000, tolerance=0, seed=1).values
    both = np.minimum(values[:2000, SLOWEST], values[2000:4000, SLOWEST])
    error = 4 * both.std() / math.sqrt(len(both))
    assert found.slowest.lower - error < both.mean() < found.slowest.upper + error


def test_copies_of_switches() -> None:
    f = topo.fat_tree(4)
    twice = with_copies(f, upper_switches(f))
    assert len(twice.switches) == 8 + 2 * 12
    assert len(twice.links) == len(f.links) + 32
    leaf = twice.rows("pod-1-leaf-1")[0]
    up = (twice.link_a == leaf) | (twice.link_b == leaf)
    assert int(up.sum()) == 2 + 4
    assert topo.bisection_bandwidth(twice).upper_gbps == topo.bisection_bandwidth(f).upper_gbps
    fast = faster_uplinks(f, 2).link_capacity_gbps(f)
    inner = f.links.kind.is_any("scale_out")
    assert set(fast[inner]) == {800.0} and set(fast[~inner]) == {400.0}


def test_degraded_fabrics_have_remedies_too() -> None:
    f = topo.fat_tree(4)
    table = ecmp_remedies(
        f, permutation(f, seed=1), queue_pairs=(4,), samples=16, state=State.without(f, nodes="core-1")
    )
    kinds = {remedy.kind for remedy in table.remedies}
    assert kinds == {"as is", "striping", "links", "spraying"}
    limit = table.remedies[-1].slowest.estimate
    assert all(r.slowest.lower <= limit + 1e-9 for r in table.remedies if r.kind in ("as is", "striping"))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"flows": 0, "links": 4}, "flows"),
        ({"flows": 4, "links": 0}, "links"),
        ({"flows": 4, "links": 4, "ratio": 0}, "ratio"),
        ({"flows": 4, "links": 4, "ratio": math.nan}, "ratio"),
        ({"flows": 4, "links": 4, "queue_pairs": (20_000,)}, "UDP source ports"),
        ({"flows": 4, "links": 4, "flowlets": 0}, "queue_pairs"),
    ],
)
def test_bad_stages_are_named(options: dict[str, object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        stage_remedies(**options)  # type: ignore[arg-type]


def test_tables_render(table: EcmpRemedies) -> None:
    document = json.loads(table.to_json())
    assert document["remedies"][0]["kind"] == "as is"
    assert "about 0.210 to about 0.462" in document["sentence"]
    assert "striped over 8 queue pairs" in str(table)


def test_ring_of_leaves_is_exact() -> None:
    """Eight ranks a leaf, each sending to the next leaf: eight bundles, one stage each."""
    f = topo.leaf_spine(8, 8, 8)
    ranks = f.endpoints.reshape(8, 8).T.ravel()
    found = job_collisions(f, ranks, "ring")
    # Seven of eight rows stay in step; the last rank of a row goes on to the next row.
    assert found.stretch.is_exact
    assert found.stretch.estimate == pytest.approx(3.606961, abs=6e-7)
    law = topo.ecmp_stage(8, 8).max_load_pmf
    for t, lower, upper, estimate in found.slowest_step:
        assert lower == upper == estimate
        assert estimate == pytest.approx(sum(p for k, p in law.items() if k <= t) ** 8, rel=1e-9)
    assert found.quantile(0.5) == 4


def test_all_to_all_of_the_note() -> None:
    f = topo.leaf_spine(8, 8, 8)
    found = job_collisions(f, f.endpoints, "all-to-all")
    assert found.phases == found.phases_asked == 63
    assert found.stretch.estimate == pytest.approx(3.477, abs=0.0006)
    assert found.stretch.lower < 3.468 - 0.009 and found.stretch.upper > 3.468 + 0.009
    some = job_collisions(f, f.endpoints, "all-to-all", most_phases=20, seed=1)
    assert some.phases_asked == 20 and some.stretch.standing.kind == "sampled"
    assert some.stretch.lower < found.stretch.estimate < some.stretch.upper
    one = job_collisions(f, f.endpoints, "all-to-all", most_phases=1, seed=1)
    assert (one.stretch.lower, one.stretch.upper) == (1.0, math.inf), "one phase says nothing of the others"


def test_ring_between_bounds_agrees_with_sampling() -> None:
    f = topo.fat_tree(4)
    ranks = np.random.default_rng(3).permutation(f.endpoints)
    found = job_collisions(f, ranks, "ring", queue_pairs=2)
    sampler = Sampler(
        NextHops.of(f), ranks, np.roll(ranks, -1), np.full(16, 400.0), np.full(2 * len(f.links), 400.0), 2
    )
    largest = np.maximum(1, draw(sampler, samples=3000, tolerance=0, seed=1).values[:, LARGEST])
    error = 4 * largest.std() / math.sqrt(len(largest))
    assert found.stretch.lower - error < largest.mean() < found.stretch.upper + error
    for t, lower, upper, _ in found.slowest_step:
        share = float((largest <= t * (1 + 1e-9)).mean())
        assert lower - 0.04 < share < upper + 0.04


def test_placement_matters() -> None:
    f = topo.leaf_spine(4, 4, 4)
    packed = job_collisions(f, f.endpoints, "ring").stretch.estimate
    spread = job_collisions(f, f.endpoints.reshape(4, 4).T.ravel(), "ring").stretch.estimate
    assert packed == 1.0 < 2 < spread


@pytest.mark.parametrize(
    ("ranks", "collective", "match"),
    [
        ([0], "ring", "at least two"),
        ([0, 0], "ring", "two ranks"),
        ([0, 8], "ring", "no endpoint"),
        ([0, 1], "gossip", "gossip"),
    ],
)
def test_bad_jobs_are_named(ranks: list[int], collective: str, match: str) -> None:
    f = topo.leaf_spine(2, 2, 4)
    with pytest.raises(ParameterError, match=match):
        job_collisions(f, ranks, collective)


def test_jobs_without_a_path_are_refused() -> None:
    f = topo.leaf_spine(2, 2, 2)
    with pytest.raises(ParameterError, match="no path, first"):
        job_collisions(f, f.endpoints, "ring", state=State.without(f, links=[0]))


def test_jobs_inside_opened_hosts_are_sampled_and_render() -> None:
    f = topo.server("dgx-h100")
    found = job_collisions(f, f.endpoints, "ring")
    assert found.stretch.standing.kind == "sampled"
    assert json.loads(found.to_json())["collective"] == "ring"
    assert "mean stretch" in str(found)
