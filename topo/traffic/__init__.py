"""Demands: who sends how much to whom. Every pattern returns a :class:`~topo.traffic.demand.Demand`."""

from topo.traffic.demand import Block, Demand
from topo.traffic.files import from_file
from topo.traffic.matching import longest_matching
from topo.traffic.patterns import all_to_all, incast, permutation, random_pairing, shift
from topo.traffic.rates import line_rate_gbps
from topo.traffic.rings import double_tree, ring, tree
from topo.traffic.valiant import valiant

__all__ = [
    "Block",
    "Demand",
    "all_to_all",
    "double_tree",
    "from_file",
    "incast",
    "line_rate_gbps",
    "longest_matching",
    "permutation",
    "random_pairing",
    "ring",
    "shift",
    "tree",
    "valiant",
]
