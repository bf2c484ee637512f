"""What Slurm, Kueue and Volcano choose: every published or worked row, and properties on random states."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from placement_states import FOUR_LEAVES, busy_but, half_full, superpod, superpod_tree

import topo
from topo.errors import ParameterError
from topo.placement.affinity import fewest
from topo.placement.compare import RULES, compare_schedulers
from topo.placement.job import Constraints, Job
from topo.placement.kueue import Domain, kueue_choice
from topo.placement.slurm_block import block_choice, block_fragmentation, spanning_segments
from topo.placement.slurm_tree import dragonfly_choice, tree_choice
from topo.placement.tree import Tree
from topo.placement.volcano import binpack_score, volcano_choice

FLAT = Tree.of_counts([8] * 4)
PODS = Tree.of_counts([8] * 4, pods=[0, 0, 1, 1])


@pytest.mark.parametrize(
    ("n", "choice"),
    [
        (3, [(1, 3)]), (4, [(0, 4)]), (6, [(3, 6)]), (7, [(2, 7)]), (9, [(2, 8), (1, 1)]), (12, [(2, 8), (0, 4)]),
        (14, [(2, 8), (3, 6)]), (15, [(2, 8), (3, 6), (1, 1)]), (20, [(2, 8), (3, 6), (0, 5), (1, 1)]), (23, None),
    ],
)  # fmt: skip
def test_slurm_tree_on_leaves_5_3_8_6(n: int, choice) -> None:  # type: ignore[no-untyped-def]
    assert tree_choice(FLAT, [5, 3, 8, 6], n) == choice


@pytest.mark.parametrize(
    ("free", "n", "choice"),
    [
        ([4, 4, 8, 1], 4, [(0, 4)]), ([4, 4, 8, 1], 5, [(2, 5)]), ([4, 4, 8, 1], 8, [(2, 8)]),
        ([4, 4, 8, 1], 9, [(2, 8), (3, 1)]), ([4, 4, 8, 1], 10, [(2, 8), (0, 2)]), ([4, 4, 8, 1], 12, [(2, 8), (0, 4)]),
        ([4, 4, 7, 2], 8, [(0, 4), (1, 4)]), ([4, 4, 7, 2], 9, [(2, 7), (3, 2)]), ([4, 4, 7, 2], 10, [(2, 7), (0, 3)]),
        ([1, 2, 1, 2], 4, [(1, 2), (0, 1), (2, 1)]),
    ],
)  # fmt: skip
def test_slurm_tree_on_two_pods(free, n: int, choice) -> None:  # type: ignore[no-untyped-def]
    assert tree_choice(PODS, free, n) == choice


def test_slurm_tree_uses_fewest_leaves_on_two_levels() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        free = rng.integers(0, 7, 4)
        for n in range(1, int(free.sum()) + 2):
            choice = tree_choice(FLAT, free, n)
            assert (choice is None) == (n > free.sum())
            if choice is not None:
                assert len(choice) == fewest(free, n)
                assert sum(count for _, count in choice) == n


def on_superpod(choice: list[tuple[int, int]]) -> tuple[int, int, int, int]:
    tree, _ = superpod_tree()
    x = np.zeros(64, int)
    for leaf, count in choice:
        x[leaf] += count
    n, pods = int(x.sum()), tree.count(x)[1]
    hop = 2 * n * (n - 1) + 2 * int((x * (n - x)).sum()) + 2 * int((pods * (n - pods)).sum())
    return int((x > 0).sum()), int((pods > 0).sum()), hop, int((x * (n - x)).max())


def test_slurm_on_the_half_full_superpod() -> None:
    tree, free = superpod_tree()
    assert on_superpod(tree_choice(tree, free, 128)) == (7, 4, 81_656, 2247)
    assert on_superpod(tree_choice(tree, free, 256)) == (14, 6, 359_740, 5359)
    assert on_superpod(dragonfly_choice(tree, free, 128)) == (64, 16, 95_488, 252)
    assert on_superpod(dragonfly_choice(tree, free, 256)) == (64, 16, 382_464, 1008)
    for sizes in ([32], [32 * 2**i for i in range(7)]):
        assert block_choice(free, 128, block_sizes=sizes) is None
    for n, segment, wanted in [
        (128, 16, (8, 7, 88_832)),
        (128, 8, (16, 12, 92_928)),
        (256, 16, (16, 12)),
        (256, 8, (30, 16)),
    ]:
        parts = block_choice(free, n, block_sizes=[32], segment=segment)
        assert parts is not None
        assert on_superpod([pair for part in parts for pair in part])[: len(wanted)] == wanted


def blocks(free, n: int, sizes, **how):  # type: ignore[no-untyped-def]
    """Nodes by block (numbered from 1), all segments together; None where it does not place."""
    found = block_choice(free, n, block_sizes=sizes, **how)
    return None if found is None else [[(block + 1, count) for block, count in part] for part in found]


def test_slurm_block_rows() -> None:
    empty, some = [4] * 8, [1, 4, 4, 4, 4, 4, 4, 3]
    sizes = [4, 8, 16, 32]
    assert sorted(blocks(empty, 5, sizes)[0]) == [(7, 1), (8, 4)]
    assert sorted(blocks(empty, 9, sizes)[0]) == [(6, 1), (7, 4), (8, 4)]
    assert sorted(blocks(empty, 16, sizes)[0]) == [(5, 4), (6, 4), (7, 4), (8, 4)]
    assert blocks(some, 3, sizes) == [[(8, 3)]]
    assert blocks(some, 4, sizes) == [[(7, 4)]]
    assert blocks(some, 6, sizes) == [[(7, 4), (8, 2)]]
    assert sorted(blocks(some, 8, sizes)[0]) == [(5, 4), (6, 4)]
    assert sorted(blocks(some, 13, sizes)[0]) == [(1, 1), (2, 4), (3, 4), (4, 4)]
    assert sorted(blocks([8] * 12, 12, [8, 16, 32])[0]) == [(11, 4), (12, 8)]
    assert sorted(blocks([8] * 12, 33, [8, 16, 32])[0]) == [(8, 1), (9, 8), (10, 8), (11, 8), (12, 8)]


def test_slurm_block_segments() -> None:
    three, two = [17] * 3, [17] * 2
    assert blocks(three, 36, [17], segment=12) == [[(3, 12)], [(2, 12)], [(1, 12)]]
    assert blocks(three, 36, [17]) == [[(3, 17), (2, 17), (1, 2)]]
    assert blocks(two, 36, [17], segment=12) is None
    assert blocks(two, 24, [17], segment=12) == [[(2, 12)], [(1, 12)]]
    assert blocks(three, 32, [17], segment=8) == [[(3, 8)], [(3, 8)], [(2, 8)], [(2, 8)]]
    assert blocks(three, 32, [17], segment=8, spread=True) is None
    assert spanning_segments([0] * 17 + [1] * 17 + [2] * 2, 12) == 2
    assert spanning_segments([2] * 12 + [1] * 12 + [0] * 12, 12) == 0
    with pytest.raises(ParameterError, match="no multiple of the segment 8"):
        block_choice(three, 36, block_sizes=[17], segment=8)
    with pytest.raises(ParameterError, match="power of two"):
        block_choice(three, 36, block_sizes=[17, 51])


def test_every_segment_lies_in_one_aggregate() -> None:
    rng = np.random.default_rng(1)
    placed = 0
    for _ in range(300):
        free = rng.integers(0, 5, 8)
        for segment, per in ((3, 1), (4, 1), (6, 2), (8, 2), (12, 4)):
            for consolidate in (False, True):
                found = block_choice(
                    free, 2 * segment, block_sizes=[4, 8, 16, 32], segment=segment, consolidate=consolidate
                )
                if found is None:
                    continue
                placed += 1
                taken: Counter[int] = Counter()
                for part in found:
                    assert sum(count for _, count in part) == segment
                    assert len({block // per for block, _ in part}) == 1
                    taken.update(dict(part))
                assert all(taken[block] <= free[block] for block in taken)
    assert placed > 300


@pytest.mark.parametrize(
    ("free", "number"),
    [([0] * 8, 160), ([4] * 8, 0), ([3, *[4] * 7], 61), ([1, *[4] * 7], 63), ([1, *[4] * 6, 3], 92)],
)
def test_slurm_block_fragmentation(free, number: int) -> None:  # type: ignore[no-untyped-def]
    assert block_fragmentation(free, block_sizes=[4, 8, 16, 32, 64], block_nodes=[4] * 8) == number


def nodes(*pods: int) -> list[Domain]:
    return [Domain((f"n{i}",), p) for i, p in enumerate(pods)]


def counts(choice) -> list[int]:  # type: ignore[no-untyped-def]
    return [count for _, count in choice]


def test_kueue_rows() -> None:
    assert kueue_choice(nodes(3, 3, 2, 1), 7) == [(("n0",), 3), (("n1",), 3), (("n3",), 1)]
    assert counts(kueue_choice(nodes(3, 3, 2, 1), 7, mode="unconstrained")) == [3, 1, 2, 1]
    assert dict(kueue_choice(nodes(6, 5, 4, 3, 2), 12, slice_size=2)) == {("n0",): 6, ("n2",): 4, ("n4",): 2}
    least = dict(kueue_choice(nodes(6, 5, 4, 3, 2), 10, slice_size=2, mode="unconstrained"))
    assert least == {("n1",): 2, ("n2",): 4, ("n3",): 2, ("n4",): 2}


def racks() -> list[Domain]:
    return [
        Domain((f"r{i}",), 0, [Domain((f"r{i}", f"h{j}"), 1) for j in range(k)]) for i, k in enumerate((5, 3, 8, 6))
    ]


@pytest.mark.parametrize(
    ("how", "by_rack"),
    [
        ({"level": 0}, {"r0": 5, "r2": 7}),
        ({"mode": "unconstrained"}, {"r0": 5, "r1": 3, "r2": 4}),
        ({"level": 0, "slice_size": 4, "slice_level": 0}, {"r2": 8, "r0": 4}),
    ],
)
def test_kueue_with_a_host_level(how, by_rack) -> None:  # type: ignore[no-untyped-def]
    taken: Counter[str] = Counter()
    for label, count in kueue_choice(racks(), 12, **how):
        taken[label[0]] += count
    assert dict(taken) == by_rack


def test_kueue_with_the_rack_lowest_and_its_properties() -> None:
    assert dict(kueue_choice(nodes(5, 3, 8, 6), 12)) == {("n2",): 8, ("n0",): 4}
    assert kueue_choice(racks(), 9, mode="required", level=0) is None
    assert kueue_choice(nodes(1, 1), 3) is None
    labels = [label for label, _ in kueue_choice([Domain((f"h{i}",), 1) for i in range(12)], 3)]
    assert labels == [("h0",), ("h1",), ("h10",)]  # labels are text
    rng = np.random.default_rng(2)
    for _ in range(200):
        free = rng.integers(0, 6, 6).tolist()
        n = int(rng.integers(1, max(2, sum(free))))
        for mode in ("preferred", "unconstrained"):
            found = kueue_choice(nodes(*free), n, mode=mode)
            assert (found is None) == (n > sum(free))
            if found is not None:
                assert sum(counts(found)) == n
                assert all(count <= free[int(label[0][1:])] for label, count in found)
    with pytest.raises(ParameterError, match="unknown mode"):
        kueue_choice(nodes(1), 1, mode="best")


def test_volcano_domains() -> None:
    for n, level, tie in ((3, 0, 1), (5, 0, 0), (6, 0, 3), (8, 0, 2), (12, 1, 1)):
        found = volcano_choice(PODS, [5, 3, 8, 6], [8] * 4, n)
        assert found is not None
        assert (found.level, found.ties) == (level, (tie,))
    for seed in range(20):
        found = volcano_choice(PODS, [5, 3, 8, 6], [8] * 4, 12, seed=seed)
        assert found is not None
        assert sum(found.sampled) == 12
        assert found.sampled[0] == found.sampled[1] == 0
        wide = volcano_choice(PODS, [5, 3, 8, 6], [8] * 4, 15, seed=seed)
        assert wide is not None
        assert (wide.level, sum(wide.sampled)) == (2, 15)
    assert volcano_choice(PODS, [5, 3, 8, 6], [8] * 4, 23) is None


def test_volcano_scores() -> None:
    """Two tasks of 4 cpu and 4 G; domains by what is used of what they have."""
    even = {"cpu": 1.0, "memory": 1.0}
    ask = {"cpu": 8.0, "memory": 8.0}

    def score(used: float, size: float) -> float:
        return binpack_score({"cpu": used, "memory": used}, ask, {"cpu": size, "memory": size}, even)

    assert score(0, 32) == 25.0
    assert score(8, 16) == 100.0
    assert score(12, 16) == 0.0
    mixed = binpack_score(
        {"cpu": 2.0, "memory": 4.0},
        {"cpu": 2.0, "memory": 2.0},
        {"cpu": 8.0, "memory": 8.0},
        {"cpu": 3.0, "memory": 1.0},
    )
    assert mixed == pytest.approx(100 * (3 * 0.5 + 0.75) / 4)


def test_all_rules_side_by_side() -> None:
    fabric = topo.leaf_spine(**FOUR_LEAVES)
    busy = busy_but([5, 3, 8, 6])
    answer = compare_schedulers(fabric, Job(12), rules=tuple(RULES), busy=busy, block_sizes=[8, 16, 32])
    by_rule = {choice.rule: choice for choice in answer.choices}
    assert by_rule["ours, leaves"].leaf_counts == {"leaf-1": 4, "leaf-3": 8}
    assert by_rule["slurm-tree"].leaf_counts == {"leaf-1": 4, "leaf-3": 8}
    assert set(by_rule["slurm-dragonfly"].leaf_counts.values()) == {3}
    assert by_rule["kueue-bestfit"].leaf_counts == {"leaf-1": 5, "leaf-3": 7}
    for choice in answer.choices:
        if choice.affinity is not None:
            assert sum(choice.leaf_counts.values()) == 12
            assert not set(choice.hosts) & set(busy)
            assert choice.affinity.leaves_spanned >= answer.choices[0].affinity.leaves_spanned
    assert "slurm-tree" in str(answer)
    with pytest.raises(ParameterError, match="unknown rule 'lsf'"):
        compare_schedulers(fabric, Job(12), rules=["lsf"])


def test_rules_on_the_half_full_superpod_through_the_fabric() -> None:
    job = Job(1024, pattern_bytes=1 / 64, constraints=Constraints())
    rules = tuple(rule for rule in RULES if rule != "kueue-required")
    answer = compare_schedulers(superpod(), job, rules=rules, busy=~half_full().ravel())
    scores = {choice.rule: choice.affinity for choice in answer.choices}
    hop = {rule: (a.leaves_spanned, a.pods_spanned, a.hop_bytes) for rule, a in scores.items() if a is not None}
    assert hop["ours, leaves"][0::2] == (7, 79_920)
    assert hop["slurm-tree"] == (7, 4, 81_656)
    assert hop["slurm-dragonfly"] == (64, 16, 95_488)
    assert hop["kueue-bestfit"] == (8, 2, 77_524)
    assert hop["kueue-leastfree"] == (8, 2, 77_464)
    assert scores["slurm-block"] is None
    assert hop["volcano-binpack"][2] >= 77_100
