"""Clos, rail and plane families in several sizes, and which of them are large enough for a majority to outvote faults.

Nothing is chosen by hand: a family in a size is large enough for a number of faults where ``halved`` is below
``MOST_HALVED``. What is smaller is scored too, and judged against its design only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from injected_faults import as_read

import topo
from topo.fabric import Fabric
from topo.wiring.cabling import Cabling

FAMILIES: dict[str, Callable[[], Fabric]] = {
    "leaf-spine 16 x 8 x 2": lambda: topo.leaf_spine(16, 8, 16, parallel=2),
    "leaf-spine 32 x 16 x 2": lambda: topo.leaf_spine(32, 16, 16, parallel=2),
    "leaf-spine 64 x 32": lambda: topo.leaf_spine(64, 32, 16),
    "fat tree k = 4": lambda: topo.fat_tree(4),
    "fat tree k = 8": lambda: topo.fat_tree(8),
    "fat tree k = 12": lambda: topo.fat_tree(12),
    "fat tree k = 16": lambda: topo.fat_tree(16),
    "clos of two tiers, 256": lambda: topo.clos(256, tiers=2, radix=32),
    "clos of two tiers, 1,024": lambda: topo.clos(1024, tiers=2, radix=64),
    "clos of three tiers, 512": lambda: topo.clos(512, tiers=3, radix=16),
    "clos of three tiers, 4,096": lambda: topo.clos(4096, tiers=3, radix=32),
    "4-ary 3-tree": lambda: topo.k_ary_n_tree(4, 3),
    "8-ary 3-tree": lambda: topo.k_ary_n_tree(8, 3),
    "12-ary 3-tree": lambda: topo.k_ary_n_tree(12, 3),
    "extended tree": lambda: topo.xgft([16, 16, 8], [1, 16, 16]),
    "extended tree, two columns": lambda: topo.xgft([8, 8, 16], [1, 8, 2]),
    "extended tree, four columns": lambda: topo.xgft([8, 16, 16], [1, 8, 4]),
    "tapered pods, four": lambda: topo.tapered_pods(
        4, leaves_per_pod=16, hosts_per_leaf=16, spines_per_pod=8, taper=2
    ),
    "tapered pods, eight": lambda: topo.tapered_pods(
        8, leaves_per_pod=16, hosts_per_leaf=16, spines_per_pod=8, taper=2
    ),
    "pods under narrow cores": lambda: topo.tapered_pods(
        4, leaves_per_pod=32, hosts_per_leaf=4, rails=8, spines_per_pod=16, taper=7, spine_radix=128
    ),
    "tapered pods, sixteen": lambda: topo.tapered_pods(
        16, leaves_per_pod=16, hosts_per_leaf=16, spines_per_pod=8, taper=2
    ),
    "two tiers, 64 ports": lambda: topo.load("deepseek-ft2"),
    "joined zones": lambda: topo.load("deepseek-fire-flyer-2"),
    "dual top of rack": lambda: topo.load("alibaba-hpn-segment"),
    "dual top of rack, rails apart": lambda: topo.dual_tor(
        8, hosts_per_segment=32, rails=8, tors=2, planes=2, join_rails=False, radix=64
    ),
    "opened hosts, GB200 2 SU": lambda: topo.load("nvidia-superpod-gb200-2su-nvl72"),
    "rails and storage, H100 4 SU": lambda: topo.load("nvidia-superpod-h100-4su-dgx"),
    "split host links, MegaScale": lambda: topo.load("bytedance-megascale"),
    "split host links, two cores a block": lambda: topo.rail_optimized(
        384, rails=8, hosts_per_unit=64, radix=64, tiers=3, uplinks=32, spine_groups=6, link_gbps=400,
        host_gbps=200, breakout=2,
    ),
    "rails alone, four": lambda: topo.rail_only(1024, rails=4, radix=64),
    "rails alone, eight": lambda: topo.rail_only(512, rails=8, radix=64),
    "rails alone, 256": lambda: topo.rail_only(256, rails=8, radix=32),
    "two planes": lambda: topo.multi_plane(256, planes=2, nic_gbps=800, radix=32),
    "two planes, 1,024": lambda: topo.multi_plane(1024, planes=2, nic_gbps=800, radix=64),
    "two planes, leaves filled host by host": lambda: topo.multi_plane(271, planes=2, rails=4, radix=64, taper=1.5),
    "four planes": lambda: topo.multi_plane(1024, planes=4, nic_gbps=800, radix=64),
    "eight planes": lambda: topo.multi_plane(512, planes=8, nic_gbps=800, radix=64),
    **{
        f"rails, {name}": (lambda name=name: topo.load(f"nvidia-superpod-{name}"))
        for name in (
            "a100-256", "a100-7su",
            "h100-1su", "h100-2su", "h100-3su", "h100-4su", "h100-8su",
            "b200-2su", "b200-4su", "b200-8su",
            "b300-spectrumx-1su", "b300-spectrumx-2su", "b300-spectrumx-4su",
            "b300-xdr-1su", "b300-xdr-2su", "b300-xdr-4su",
            "gb200-1su", "gb200-2su", "gb200-4su", "gb300-16su",
        )
    },
}  # fmt: skip

MOST_HALVED = 0.005
"""In 199 draws of faults of 200 every switch keeps at least half of its pairs: then there is a majority everywhere."""


@cache
def good(family: str) -> Fabric:
    """The family's fabric without a fault."""
    return FAMILIES[family]()


@cache
def halved(family: str, n_faults: int) -> float:
    """Expected number of switches that ``n_faults`` leave less than half of their pairs, by the good wiring alone.

    With n faults over C switch cables a pair is struck with p = n / C; a switch with m neighbours in the next tier, or
    in that below, loses more than half of these pairs with P[Binomial(m, p) > m / 2]. Summed over switches and sides.
    """
    from scipy.stats import binom

    cabling = Cabling.of(as_read(good(family)))
    total = 0.0
    for lower in range(1, int(cabling.tier.max())):
        mine = (cabling.tier[cabling.low] == lower) & (cabling.tier[cabling.high] == lower + 1)
        pairs = np.unique(np.stack([cabling.low[mine], cabling.high[mine]]), axis=1)
        for ends in pairs:
            neighbours = np.bincount(ends)
            neighbours = neighbours[neighbours > 0]
            struck = min(1.0, n_faults / len(cabling.between))
            total += float(binom.sf(neighbours // 2, neighbours, struck).sum())
    return total


def is_large_enough(family: str, n_faults: int) -> bool:
    """The criterion: fewer than ``MOST_HALVED`` switches are expected to lose more than half of their pairs."""
    return halved(family, n_faults) < MOST_HALVED
