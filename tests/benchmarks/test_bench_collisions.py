"""Collisions at size: hashed permutations sampled, and laws worked out, on fat-trees."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import topo
from topo.analysis.collisions import ecmp_collisions
from topo.analysis.collisions.sample import Sampler, draw
from topo.routing.next_hops import NextHops
from topo.traffic import permutation


def test_a_thousand_hashed_permutations(record) -> None:  # type: ignore[no-untyped-def]
    """1,000 hashes of 8,192 flows with max-min rates on two processes: 30 s asked, 3.7 s tried elsewhere."""
    fabric = topo.fat_tree(32)
    demand = permutation(fabric, seed=1)
    begin = time.perf_counter()
    sampler = Sampler(
        NextHops.of(fabric), demand.source, demand.sink, demand.gbps, np.full(2 * len(fabric.links), 400.0), 1
    )
    with ProcessPoolExecutor(2) as pool:
        found = draw(sampler, samples=1000, tolerance=0, seed=1, executor=pool)
    seconds = time.perf_counter() - begin
    look = found.looks[-1]
    record("1,000 hashed permutations of 8,192 flows", "topo", seconds, f"{look.mean:.4f} +- {look.half_width:.4f}")
    assert abs(look.mean - 0.408) < 0.004
    assert seconds < 30


def test_laws_of_every_link(record) -> None:  # type: ignore[no-untyped-def]
    """The law of each of 262,144 arcs, of each stage, and the slowest flow's bracket, without sampling."""
    for k in (16, 32, 64):
        fabric = topo.fat_tree(k)
        demand = permutation(fabric, seed=1)
        begin = time.perf_counter()
        found = ecmp_collisions(fabric, demand, samples=0)
        seconds = time.perf_counter() - begin
        assert found.slowest_rate is not None
        record(
            f"collisions of {demand.n_pairs:,} flows, exact and bracketed", "topo", seconds, found.slowest_rate.text()
        )
        assert found.slowest_rate.upper - found.slowest_rate.lower < 0.03
