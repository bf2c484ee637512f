"""Valiant's randomized routing as a demand: every flow goes by way of a random endpoint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.traffic.demand import Block, Demand

__all__ = ["valiant"]


def valiant(fabric: Fabric, demand: Demand, *, by: ArrayLike | None = None) -> Demand:
    """The demand in two legs, from its sources to all endpoints alike (or those of rows ``by``) and on to its sinks.

    With N endpoints a pair (s, t) of rate d becomes d / N from s to every endpoint and d / N from every endpoint to t,
    whatever the pairs are: on minimal routes each leg loads links as uniform traffic does, so that any demand gets at
    least half of what an all-to-all gets (Valiant 1982). Dragonflies run so where minimal paths share one global link.

    Where every switch with endpoints has as many, links between switches carry what Valiant routing by random switches
    puts on them. The endpoints' own links carry their share of strangers' traffic as well, which switches would spare
    them: read the links you mean from :func:`topo.link_loads`.

    >>> import topo
    >>> f = topo.dragonfly(p=2, a=4, h=2)
    >>> neighbours = topo.traffic.shift(f, by=8)
    >>> for demand in (neighbours, valiant(f, neighbours)):
    ...     round(topo.throughput(f, demand).theta_lower, 3)
    0.125
    0.507

    As a routing it is asked for by ``routing="valiant"``.

    :raises ParameterError: a demand without a rate above 0.
    """
    sent, received = demand.sent_gbps(fabric), demand.received_gbps(fabric)
    if not sent.any():
        raise ParameterError(f"{demand.name} wants nothing: no pair has a rate above 0")
    every = fabric.endpoints if by is None else np.asarray(by)
    source, sink = np.flatnonzero(sent), np.flatnonzero(received)
    share = 1.0 / len(every)
    blocks = (
        Block.of(source, every, share, source_weight=sent[source]),
        Block.of(every, sink, share, sink_weight=received[sink]),
    )
    return Demand.of(fabric, f"{demand.name}, by way of random endpoints", blocks=blocks)
