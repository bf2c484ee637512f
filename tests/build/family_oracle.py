"""What the tests of families count in a built fabric by other means than the builders' own formulas."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from topo.fabric import Fabric


def adjacency(fabric: Fabric, rows: np.ndarray) -> np.ndarray:
    """Number of cables between every two of ``rows``."""
    at = np.full(len(fabric.nodes), -1)
    at[rows] = np.arange(len(rows))
    a, b = at[fabric.link_a], at[fabric.link_b]
    mine = (a >= 0) & (b >= 0)
    counts = csr_array((np.ones(mine.sum(), int), (a[mine], b[mine])), shape=(len(rows), len(rows))).toarray()
    return counts + counts.T


def distances(fabric: Fabric, rows: np.ndarray) -> np.ndarray:
    """Hops between every two of ``rows`` over cables among them."""
    return shortest_path(csr_array(adjacency(fabric, rows)), unweighted=True)


def all_distances(fabric: Fabric) -> np.ndarray:
    """Hops between every two endpoints, where everything relays."""
    far = distances(fabric, np.arange(len(fabric.nodes)))
    return far[np.ix_(fabric.endpoints, fabric.endpoints)]


def mean_of_pairs(far: np.ndarray) -> float:
    """Mean over ordered pairs of distinct nodes."""
    n = len(far)
    return float(far.sum() / (n * (n - 1)))


def ports_used(fabric: Fabric, rows: np.ndarray) -> np.ndarray:
    """Cables at each of ``rows``."""
    return np.bincount(np.concatenate([fabric.link_a, fabric.link_b]), minlength=len(fabric.nodes))[rows]


def n_switch_links(fabric: Fabric) -> int:
    """Cables from switch to switch."""
    switch = fabric.nodes.kind.is_any("switch")
    return int((switch[fabric.link_a] & switch[fabric.link_b]).sum())
