"""Next-hop tables, walks and fair rates at full size.

Run with ``python -m pytest tests/benchmarks/test_bench_paths.py -s``: adds lines to the table. Nothing has a limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import topo
from topo.fabric import State
from topo.routing.fair import max_min_rates
from topo.routing.next_hops import NextHops
from topo.routing.walk import at_random, walk


def best(work: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    """Least processor time of some rounds, and the last answer."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        answer = work()
        spent.append(time.process_time() - start)
    return min(spent), answer


@pytest.mark.parametrize(("k", "share"), [(32, 0.0), (64, 0.0), (64, 0.01)])
def test_next_hop_table(record, k: int, share: float) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.fat_tree(k)
    gone = np.flatnonzero(np.random.default_rng(0).random(len(fabric.links)) < share)
    state = State.without(fabric, links=gone)
    seconds, hops = best(lambda: NextHops.of(fabric, state=state))
    # None, then by leaf; by spine up and to each leaf of its pod; by core to each pod. Lost links tell more apart.
    whole = 1 + k * k // 2 + k * k // 2 * (1 + k // 2) + (k // 2) ** 2 * k
    assert hops.n_sets == whole if share == 0 else hops.n_sets > whole
    record(f"next hops, fat-tree k={k}, {share:.0%} of links lost", "topo", seconds, f"{hops.n_sets:,} sets")


def test_hashed_permutations(record) -> None:  # type: ignore[no-untyped-def]
    """1,000 samples of 8,192 flows are a hundred of these batches."""
    fabric = topo.fat_tree(32)
    hops, ends, batch = NextHops.of(fabric), fabric.endpoints, 10
    capacity = np.repeat(fabric.links.capacity_gbps, 2)
    random = np.random.default_rng(0)

    def sampled() -> float:
        order = random.permuted(np.tile(ends, (batch, 1)), axis=1)
        sink = np.roll(order, 1, axis=1)
        arcs = walk(hops, order.ravel(), sink.ravel(), at_random(random)).reshape(-1, batch, len(ends))
        return float(max_min_rates(arcs, capacity, 400.0).mean() / 400)

    seconds, mean = best(sampled)
    record("one permutation of 8,192 flows hashed and shared, k=32", "topo", seconds / batch, f"mean {mean:.4f}")
    assert 0.40 < mean < 0.42
