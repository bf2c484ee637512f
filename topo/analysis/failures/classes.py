"""Which elements are alike to a measure: one evaluation serves all of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.elements import Elements
from topo.analysis.failures.measures import Measure, ThroughputMeasure
from topo.symmetry import Symmetry
from topo.table import Array

__all__ = ["demand_label", "element_classes", "is_symmetric"]


def is_symmetric(measure: Measure) -> bool:
    """Whether automorphisms leave the measure alone: all but lists of single pairs."""
    return not isinstance(measure, ThroughputMeasure) or not len(measure.demand.source)


def demand_label(measure: Measure) -> Array | None:
    """What of the demand's blocks an automorphism must keep, one integer a node."""
    if not isinstance(measure, ThroughputMeasure):
        return None
    label = np.zeros(len(measure.fabric.nodes), np.int64)
    for block in measure.demand.blocks:
        for rows, weight in ((block.sources, block.source_weight), (block.sinks, block.sink_weight)):
            mark = np.zeros(len(label))
            mark[rows] = weight + 1
            values, rank = np.unique(mark, return_inverse=True)
            _, label = np.unique(label * len(values) + rank, return_inverse=True)
    return label


def element_classes(every: Elements, found: Symmetry | None) -> NDArray[np.int64]:
    """Class of each element: one computation serves all of a class.

    A single node or link has its verified class; several parallel links of one pair are told by their class and
    number, as parallel equal links can be exchanged. Anything else stands for itself.
    """
    n = len(every)
    alone = np.arange(n)
    if found is None:
        return alone
    n_nodes, n_links = np.diff(every.node_start), np.diff(every.link_start)
    one_node = (n_nodes == 1) & (n_links == 0)
    bundle = (n_nodes == 0) & (n_links >= 1) & _is_one_bundle(every)
    node_class = found.node_class[every.node[every.node_start[:-1][one_node]]]
    link_class = found.link_class[every.link[every.link_start[:-1][bundle]]]
    key = 4 * alone
    # What is outside the network (behind a switch that is down, say) changes nothing: all of it is one class.
    key[one_node] = np.where(node_class < 0, 1, 4 * node_class + 2)
    size = n_links[bundle]
    key[bundle] = np.where(link_class < 0, 1, 4 * (link_class * (int(size.max(initial=0)) + 1) + size) + 3)
    return np.asarray(np.unique(key, return_inverse=True)[1], np.int64)


def _is_one_bundle(every: Elements) -> NDArray[np.bool_]:
    """Elements whose links all join the same two nodes at the same rate."""
    fabric, size = every.fabric, np.diff(every.link_start)
    a, b = fabric.link_a[every.link].astype(np.int64), fabric.link_b[every.link].astype(np.int64)
    rate = np.unique(np.nan_to_num(fabric.links.capacity_gbps[every.link], nan=-1.0), return_inverse=True)[1]
    pair = (np.minimum(a, b) * len(fabric.nodes) + np.maximum(a, b)) * (int(rate.max(initial=0)) + 1) + rate
    owner = np.repeat(np.arange(len(every)), size)
    has = size > 0
    differs = pair != np.repeat(pair[every.link_start[:-1][has]], size[has])
    return np.asarray(np.bincount(owner[differs], minlength=len(every)) == 0)
