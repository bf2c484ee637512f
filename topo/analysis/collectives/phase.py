"""A phase of a collective: flows that run at once, so many times over, with the latency of its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collectives.cost import chain_time
from topo.fabric import Fabric
from topo.table import Array
from topo.traffic.demand import Demand

__all__ = ["Phase", "sum_of_phases"]


@dataclass(frozen=True, eq=False)
class Phase:
    """Flows that run at once, ``repeats`` times over: ``demand`` holds gigabits a repeat in its rates.

    ``steps`` is how many latencies a repeat costs. With ``chain`` ranks a pipeline of the best number of pieces is
    meant. ``own_links`` counts the ranks' own links alone, as where switches add up. ``less`` lists pairs of the
    demand that are not sent, at the rates they have there: an all-to-all between hosts is one block less the pairs
    inside hosts, and since loads are linear it costs no more than a block.
    """

    name: str
    demand: Demand
    repeats: int
    alpha_us: float
    steps: float = 1.0
    chain: int = 0
    own_links: bool = False
    less: Demand | None = None

    @property
    def total_gbps(self) -> float:
        """Gigabits of a repeat, all flows together."""
        return self.demand.total_gbps - (0.0 if self.less is None else self.less.total_gbps)

    @property
    def n_pairs(self) -> int:
        """Flows of a repeat."""
        return self.demand.n_pairs - (0 if self.less is None else self.less.n_pairs)

    def sent_gbps(self, fabric: Fabric) -> NDArray[np.float64]:
        """Gigabits out of every node row."""
        return self._per_node(self.demand.sent_gbps(fabric), None if self.less is None else self.less.sent_gbps(fabric))

    def received_gbps(self, fabric: Fabric) -> NDArray[np.float64]:
        """Gigabits into every node row."""
        less = None if self.less is None else self.less.received_gbps(fabric)
        return self._per_node(self.demand.received_gbps(fabric), less)

    def signed(self) -> Demand:
        """The demand with what is not sent as pairs below 0: for sums over cuts alone, which are linear."""
        d, less = self.demand, self.less
        if less is None:
            return d
        ends = [np.concatenate([one, other]) for one, other in ((d.source, less.source), (d.sink, less.sink))]
        return Demand(d.name, d.blocks, ends[0], ends[1], np.concatenate([d.gbps, -less.gbps]), d.made_for)

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every flow as (source, sink, gigabits).

        :raises ParameterError: too many to be listed one by one.
        """
        source, sink, gigabits = self.demand.pairs()
        keep = gigabits > 0
        if self.less is not None:
            n = int(max(source.max(initial=0), sink.max(initial=0))) + 1
            keep &= ~np.isin(source * n + sink, self.less.source * n + self.less.sink)
        return source[keep], sink[keep], gigabits[keep]

    def listed(self) -> Demand:
        """The flows as one demand without exceptions: itself where nothing is left out, else pair by pair.

        :raises ParameterError: too many to be listed one by one.
        """
        if self.less is None:
            return self.demand
        return Demand(self.demand.name, (), *self.pairs(), self.demand.made_for)

    @staticmethod
    def _per_node(whole: Array, less: Array | None) -> NDArray[np.float64]:
        if less is None:
            return whole
        # A difference of equal sums is nothing.
        left: NDArray[np.float64] = np.where(whole - less > 1e-9 * whole, whole - less, 0.0)
        return left

    def latency_s(self, transfer_s: float) -> float:
        """What all repeats cost beyond moving the bytes, ``transfer_s`` being all their transfers."""
        alpha = self.alpha_us * 1e-6
        if not self.chain or not math.isfinite(transfer_s):
            return self.repeats * self.steps * alpha
        return chain_time(self.chain, alpha, transfer_s) - transfer_s


def sum_of_phases(phases: tuple[Phase, ...], name: str) -> Demand:
    """Everything that the phases send, repeats counted: gigabits in all, as one demand.

    :raises ParameterError: pairs that have to be listed one by one and are too many.
    """
    whole = Demand(name)
    for phase in phases:
        whole = whole + phase.listed().scaled(phase.repeats)
    return replace(whole, name=name)
