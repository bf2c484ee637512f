"""Routing: from a fabric, a state, a scheme and a demand to next hops, paths and link loads."""

from topo.routing.scheme import Routing

__all__ = ["Routing"]
