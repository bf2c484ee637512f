"""Tables over counts against brute force and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from placement_states import count_vectors, superpod_tree, uniform_cost

from topo.placement.bounds import table_of_loads
from topo.placement.counts import best_counts, water_level, waterfilled_load
from topo.placement.job import Job
from topo.placement.profile import pattern_of
from topo.placement.search import Problem
from topo.placement.tree import Tree


def random_tree(rng: np.random.Generator) -> tuple[Tree, np.ndarray, int]:
    n_leaves = int(rng.integers(1, 6))
    free = rng.integers(0, 5, n_leaves)
    pods = np.unique(rng.integers(0, 3, n_leaves), return_inverse=True)[1]
    tree = Tree.of_counts(free, pods=pods) if rng.random() < 0.5 else Tree.of_counts(free)
    n = int(rng.integers(1, max(2, int(free.sum()) + 2)))
    return tree, free, n


@pytest.mark.parametrize("seed", range(120))
def test_tables_equal_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, free, n = random_tree(rng)
    base = [rng.integers(0, 20, len(level)).astype(float) for level in tree.levels]
    capacity = [rng.integers(1, 4, len(level)).astype(float) for level in tree.levels]
    most = int(rng.integers(1, len(free) + 1)) if rng.random() < 0.5 else None

    def hop(level: int, node: int, k: np.ndarray) -> np.ndarray:
        return 2.0 * k * (n - k) + (1000.0 * (k > 0) if level == 0 and seed % 2 else 0.0)

    def load(level: int, node: int, k: np.ndarray) -> np.ndarray:
        cut = k * (n - k)
        return np.where(cut > 0, (base[level][node] + cut) / capacity[level][node], 0.0)

    vectors = [x for x in count_vectors(free.tolist(), n) if most is None or (x > 0).sum() <= most]
    for cost, bottleneck in ((hop, False), (load, True)):
        found = best_counts(tree, free, n, cost, bottleneck=bottleneck, most_leaves=most)
        if not vectors:
            assert found is None
            continue
        best = np.inf
        for x in vectors:
            each = [
                cost(level, node, np.array([k]))[0]
                for level, counts in enumerate(tree.count(x)[:-1])
                for node, k in enumerate(counts.tolist())
            ]
            best = min(best, max(each) if bottleneck else sum(each))
        assert found is not None
        assert found.value == pytest.approx(best)
        assert found.hosts.sum() == n
        assert (found.hosts <= free).all()
        assert most is None or (found.hosts > 0).sum() <= most


@pytest.mark.parametrize("seed", range(60))
def test_bottleneck_table_equals_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.integers(0, 9, int(rng.integers(1, 8)))
    total = int(free.sum())
    if not total:
        free[0] = total = 3
    n = int(rng.integers(1, total + 1))
    tree = Tree.of_counts(free)
    for m in range(1, len(free) + 1):
        found = best_counts(tree, free, n, lambda level, node, k: k * (n - k) * 1.0, bottleneck=True, most_leaves=m)
        if int(np.sort(free)[::-1][:m].sum()) >= n:
            assert found is not None
            assert found.value == waterfilled_load(free, n, m)
        else:
            assert found is None


def test_two_levels_largest_first_is_best_for_hop_bytes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        free = rng.integers(0, 6, 4)
        n = int(rng.integers(1, int(free.sum()) + 1)) if free.sum() else 0
        if not n:
            continue
        order = np.argsort(-free, kind="stable")
        largest = np.zeros(4, int)
        rest = n
        for leaf in order.tolist():
            largest[leaf] = min(rest, free[leaf])
            rest -= int(largest[leaf])
        tree = Tree.of_counts(free)
        assert uniform_cost(tree, largest)[0] == min(uniform_cost(tree, x)[0] for x in count_vectors(free.tolist(), n))


def test_half_full_superpod() -> None:
    tree, free = superpod_tree()
    n = 128
    assert int(free.sum()) == 1022
    compact = best_counts(tree, free, n, lambda level, node, k: 2.0 * k * (n - k) + 1e7 * (k > 0) * (level == 0))
    assert compact is not None
    assert ((compact.hosts > 0).sum(), compact.value % 1e7 + 2 * n * (n - 1)) == (7, 79_920)
    near = best_counts(tree, free, n, lambda level, node, k: 2.0 * k * (n - k))
    assert near is not None
    assert ((near.hosts > 0).sum(), near.value + 2 * n * (n - 1)) == (8, 77_100)
    wanted = {7: 2071, 8: 1792, 9: 1695, 10: 1495, 12: 1287, 16: 960, 24: 732, 32: 496, 48: 375, 64: 252}
    assert {m: waterfilled_load(free, n, m) for m in wanted} == wanted


@pytest.mark.parametrize(("seed", "least"), [(0, 76_148), (1, 77_100), (2, 76_396), (3, 76_740), (4, 76_464)])
def test_least_hop_bytes_of_other_seeds(seed: int, least: int) -> None:
    free = (np.random.default_rng(seed).random((64, 32)) >= 0.5).sum(axis=1)
    tree = Tree.of_counts(free, pods=np.arange(64) // 4)
    found = best_counts(tree, free, 128, lambda level, node, k: 2.0 * k * (128 - k))
    assert found is not None
    assert found.value + 2 * 128 * 127 == least


def test_closed_form_values() -> None:
    even = np.array([8, 8, 8, 8])
    assert [waterfilled_load(even, 12, m) for m in (2, 3, 4)] == [32, 32, 27]
    assert waterfilled_load(np.array([12, 1]), 12) == 0
    assert water_level(even, 32) == 8
    with pytest.raises(ValueError, match="do not fit"):
        water_level(even, 33)


@pytest.mark.parametrize("seed", range(12))
def test_loads_by_leaf_groups_equal_the_table_with_a_second_index(seed: int) -> None:
    """Halving over loads against the table over (leaf groups, hosts), with pods, other jobs' loads, and without."""
    rng = np.random.default_rng(seed)
    pods = rng.permutation(np.repeat(np.arange(3), 3)) if seed % 3 else None
    free = rng.integers(0, 7, 9)
    tree = Tree.of_counts([6] * 9, pods=pods)
    n = int(rng.integers(2, max(3, int(free.sum()))))
    capacity = [np.ones(9), rng.integers(1, 4, 3).astype(float)][: tree.depth]
    base = [rng.integers(0, 9, len(level)).astype(float) * (seed % 2) for level in tree.levels]
    problem = Problem(tree, free, pattern_of(Job(n), 1), "uplink_load", capacity, base)

    def cost(level: int, node: int, k: np.ndarray) -> np.ndarray:
        cut = k * (n - k)
        return np.where(cut > 0, (cut + base[level][node]) / capacity[level][node], 0.0)

    expected = {}
    for m in range(1, 10):
        found = best_counts(tree, free, n, cost, bottleneck=True, most_leaves=m)
        if found is not None:
            expected[m] = found.value
    assert table_of_loads(problem, list(range(1, 10))) == pytest.approx(expected)
