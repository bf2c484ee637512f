"""Demands: who sends how much to whom. Every pattern returns a :class:`~topo.traffic.demand.Demand`."""

from topo.traffic.demand import Block, Demand
from topo.traffic.rates import line_rate_gbps

__all__ = ["Block", "Demand", "line_rate_gbps"]
