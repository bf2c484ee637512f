"""What is no parameter of a family is refused in words, whatever its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import topo

ANY: Any = topo  # called with what a type checker would refuse


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: ANY.torus(4), r"dims is 4; it is a list, such as \[4, 4\]"),
        (lambda: ANY.mesh("44"), "dims is '44'; it is a list"),
        (lambda: ANY.torus([4, 4], twist=1), "twist is 1; it is a list"),
        (lambda: ANY.torus([4, 4], twist=[[1, 2, 1.5]]), "three whole numbers"),
        (lambda: ANY.accelerator_torus([4, 4], host_dims=2, link_gbps=1), r"host_dims is 2; it is a list"),
        (lambda: ANY.tpu_slice(8), r"dims is 8; it is a list, such as \[8, 8, 8\]"),
        (lambda: ANY.tpu_slice([8, 8]), r"a slice has 3, such as \[8, 8, 8\]"),
        (lambda: ANY.hyperx(4, 2), "dims is 4; it is a list"),
        (lambda: ANY.k_ary_n_tree(1, 3), "k is 1; the nearest that can be built is 2"),
        (lambda: ANY.k_ary_n_tree(2, 40), "n is 40; the nearest that can be built is 9"),
        (lambda: ANY.fat_tree(1), "k is 1; a fat-tree needs an even number of ports, so 2$"),
        (lambda: ANY.tpu_slice([6, 4, 4]), r"dims\[1\] is 6; cubes of 4 make sides of 4 or 8"),
        (lambda: ANY.hamming_mesh([2, 2], [1200, 2]), r"boards\[1\] is 1200; .* at most 1024 boards"),
        (lambda: ANY.hamming_mesh(2, [4, 4]), "board is 2; it is a list"),
        (lambda: ANY.xgft(4, [1]), "children is 4; it is a list"),
        (lambda: ANY.dragonfly(2, 4, 2, groups=1.5), "groups is 1.5; it must be a whole number"),
        (lambda: ANY.dragonfly(2, 4, 2, pair_links=1.5), "pair_links is 1.5; it must be a whole number"),
        (lambda: ANY.dragonfly(2, 4, 2, pair_links=[1]), r"such as \[\[1\]\]"),
        (lambda: ANY.dragonfly(2, 4, 2, hosts=0), "hosts is 0; it must be"),
        (lambda: ANY.dragonfly_plus(2, 2, 2, 2, groups=1.5), "groups is 1.5"),
        (lambda: ANY.jellyfish(20, 4, 2, seed=-1), "seed is -1; it must be a whole number of at least 0"),
        (lambda: ANY.xpander(4, 5, 2, seed=1.5), "seed is 1.5; it must be a whole number of at least 0"),
        (lambda: ANY.random_graph_like(topo.fat_tree(4), seed=-1), "seed is -1"),
    ],
)
def test_refused_in_words(build: Callable[[], object], said: str) -> None:
    with pytest.raises(topo.ParameterError, match=said):
        build()
