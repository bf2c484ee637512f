"""What a fabric is before anything fails, kept so that a sweep looks at what failed alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, State
from topo.network import Network
from topo.table import Array

__all__ = ["Healthy"]


@dataclass(frozen=True, eq=False)
class Healthy:
    """The endpoints' network of a fabric in which nothing failed."""

    fabric: Fabric

    @cached_property
    def links(self) -> NDArray[np.int64]:
        """Links of the endpoints' network."""
        return Network.of(self.fabric).links

    @cached_property
    def links_at(self) -> NDArray[np.int64]:
        """How many links of it each node has."""
        return self._ends_of(self.links)

    def gone(self, state: State) -> NDArray[np.int64]:
        """Links of it that are absent in a state."""
        rows: NDArray[np.int64] = self.links[~state.link_mask(self.fabric)[self.links]]
        return rows

    def is_up(self, state: State) -> NDArray[np.bool_]:
        """Which nodes still have a link."""
        left: NDArray[np.bool_] = self.links_at > self._ends_of(self.gone(state))
        return left

    def keeps_rates(self, state: State) -> bool:
        """Whether no link of an endpoint or of a part of a host changed, so that endpoints send as before."""
        if state.capacity_gbps is not None:
            return False
        gone = self.gone(state)
        return not (self._is_own[self.fabric.link_a[gone]] | self._is_own[self.fabric.link_b[gone]]).any()

    def _ends_of(self, links: Array) -> NDArray[np.int64]:
        n = len(self.fabric.nodes)
        at_a = np.bincount(self.fabric.link_a[links], minlength=n)
        return np.asarray(at_a + np.bincount(self.fabric.link_b[links], minlength=n), np.int64)

    @cached_property
    def _is_own(self) -> NDArray[np.bool_]:
        nodes = self.fabric.nodes
        own: NDArray[np.bool_] = nodes.is_endpoint | (nodes.host.codes >= 0)
        return own
