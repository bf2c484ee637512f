"""Demands that papers and benchmarks know by name: permutation, shift, all-to-all, incast, random pairing.

Every pattern is a unit demand: scaled so that an endpoint sends at most at its line rate (an incast wants more than
its one sink can take). ``theta = 1`` then means that the fabric carries it at full speed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, Selector, expect_fabric
from topo.table import Array
from topo.traffic.demand import Block, Demand
from topo.traffic.rates import line_rate_gbps, way_out_of_no_link

__all__ = ["all_to_all", "chosen", "incast", "pair_rates", "permutation", "random_pairing", "shift", "wanted_rates"]


def permutation(fabric: Fabric, endpoints: Selector = None, *, seed: int = 0) -> Demand:
    """Every endpoint sends to one other and receives from one other, drawn at random.

    The draw is uniform over the derangements, permutations without a flow to itself. Pair (s, t) wants
    min(line rate of s, line rate of t), Gb/s in one direction.

    >>> import topo
    >>> f = topo.fat_tree(4, link_gbps=100)
    >>> permutation(f, seed=7)
    <Demand 'random permutation, seed 7': 16 pairs, 1,600 Gb/s>

    :raises ParameterError: fewer than two endpoints, or none of them with a link.
    """
    rows = chosen(fabric, endpoints)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    # Rejection keeps the draw uniform; a random permutation has no fixed point with probability about 1/e.
    while (order == np.arange(len(rows))).any():
        order = rng.permutation(len(rows))
    return _pairs(fabric, f"random permutation, seed {seed}", rows, rows[order])


def shift(fabric: Fabric, endpoints: Selector = None, by: int = 1) -> Demand:
    """Endpoint i sends to endpoint i + ``by``, counted around in the order of ``endpoints``.

    Pair (s, t) wants min(line rate of s, line rate of t). A shift by half of a row of racks is the classic
    adversary of tapered trees, by 3 of 8 that of rings ("tornado").

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> demand = shift(f, by=2)
    >>> f.nodes.name[demand.sink].tolist()
    ['host-3', 'host-4', 'host-1', 'host-2']

    :raises ParameterError: fewer than two endpoints, or a shift that lands on the sender.
    """
    rows = chosen(fabric, endpoints)
    if by % len(rows) == 0:
        raise ParameterError(
            f"a shift by {by} of {len(rows)} endpoints sends {str(fabric.nodes.name[rows[0]])!r} to itself; "
            f"use 1 to {len(rows) - 1}"
        )
    return _pairs(fabric, f"shift by {by}", rows, np.roll(rows, -by))


def all_to_all(fabric: Fabric, endpoints: Selector = None, *, weights: ArrayLike | None = None) -> Demand:
    """Every endpoint sends to every other, as mixture-of-experts layers do; one block whatever the size.

    Each of N endpoints wants rate r = least line rate among them, in all: pair (s, t) wants r / (N - 1). With
    ``weights``, one an endpoint, sinks are popular by their weight (hot experts): pair (s, t) wants
    r * w_t / (sum of the weights of all but s).

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, link_gbps=300, host_gbps=300)
    >>> demand = all_to_all(f)
    >>> demand.n_pairs, demand.blocks[0].gbps
    (12, 100.0)
    >>> hot = all_to_all(f, weights=[3, 1, 1, 1])
    >>> hot.received_gbps(f)[f.endpoints].round(6).tolist()
    [540.0, 220.0, 220.0, 220.0]

    :raises ParameterError: fewer than two endpoints, a weight that is negative or nan, no weight above 0.
    """
    rows = chosen(fabric, endpoints)
    rate = float(wanted_rates(fabric, rows).min())
    if weights is None:
        return Demand.of(fabric, "all-to-all", blocks=(Block.of(rows, rows, rate / (len(rows) - 1)),))
    weight = Block.of(rows, rows, rate, sink_weight=weights).sink_weight
    if not weight.any():
        raise ParameterError("no weight is above 0; at least one endpoint must be wanted")
    others = weight.sum() - weight
    # Cancellation: whoever holds all the weight has nobody to send to.
    others[weight >= weight.sum() * (1 - 1e-15)] = 0
    share = np.divide(1.0, others, out=np.zeros(len(rows)), where=others > 0)
    block = Block.of(rows, rows, rate, source_weight=share, sink_weight=weight)
    return Demand.of(fabric, "weighted all-to-all", blocks=(block,))


def incast(fabric: Fabric, sink: Selector, sources: Selector = None) -> Demand:
    """Many endpoints send to one at once, each wanting min(its own line rate, the sink's).

    From n equal sources no routing lets more than theta = 1/n through: the sink's own link binds.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4)
    >>> incast(f, "host-1").n_pairs
    7

    :raises ParameterError: ``sink`` is not one endpoint, or is among ``sources``.
    """
    to = fabric.endpoint_rows(sink)
    if len(to) != 1:
        raise ParameterError(f"{sink!r} selects {len(to)} endpoints; an incast has one sink")
    rows = fabric.endpoint_rows(sources)
    if sources is None:
        rows = rows[rows != to[0]]
    name = str(fabric.nodes.name[to[0]])
    if not len(rows):
        raise ParameterError(f"nobody is left to send to {name!r}; an incast needs at least one source")
    if (rows == to[0]).any():
        raise ParameterError(f"{name!r} is the sink and among the sources, a flow to itself; leave it out")
    return _pairs(fabric, f"incast to {name}", rows, np.repeat(to, len(rows)))


def random_pairing(fabric: Fabric, endpoints: Selector = None, *, seed: int = 0, pattern: str = "uni") -> Demand:
    """A random bisection pairing: two random halves, each endpoint of one joined to one of the other.

    Its mean rate over many seeds is the effective bisection bandwidth (Hoefler, Schneider, Lumsdaine 2008).
    ``uni``: the first half sends; ``bi``: both send at once. Of an odd number one endpoint stays out. Pair (s, t)
    wants min(line rate of s, line rate of t).

    >>> import topo
    >>> f = topo.fat_tree(4)
    >>> random_pairing(f, seed=1).n_pairs, random_pairing(f, seed=1, pattern="bi").n_pairs
    (8, 16)

    :raises ParameterError: fewer than two endpoints, or an unknown pattern.
    """
    if pattern not in ("uni", "bi"):
        raise ParameterError(f"unknown pattern {pattern!r} of a pairing; known: uni, bi")
    rows = np.random.default_rng(seed).permutation(chosen(fabric, endpoints))
    half = len(rows) // 2
    one, other = rows[:half], rows[half : 2 * half]
    name = f"random pairing ({pattern}), seed {seed}"
    if pattern == "uni":
        return _pairs(fabric, name, one, other)
    return _pairs(fabric, name, np.concatenate([one, other]), np.concatenate([other, one]))


def chosen(fabric: Fabric, endpoints: Selector) -> NDArray[np.int64]:
    """The endpoints a pattern is made over, in the order given.

    :raises ParameterError: fewer than two, or one listed twice.
    """
    expect_fabric(fabric)
    rows = fabric.endpoint_rows(endpoints)
    if len(rows) < 2:
        raise ParameterError(f"{len(rows)} endpoint(s) of {fabric.name!r} chosen; a demand needs at least two")
    found, count = np.unique(rows, return_counts=True)
    if (count > 1).any():
        raise ParameterError(f"{str(fabric.nodes.name[found[count > 1][0]])!r} is listed twice; list it once")
    return rows


def wanted_rates(fabric: Fabric, rows: Array) -> NDArray[np.float64]:
    """What each endpoint wants to send: its line rate in Gb/s.

    One without any link as wired wants as much as the slowest that has one, so that it shows as lost rather than
    as wanting nothing.

    :raises ParameterError: none of them has a link of a rate above 0.
    """
    rate = line_rate_gbps(fabric)[np.searchsorted(fabric.endpoints, rows)]
    linked = rate > 0
    if not linked.any():
        raise ParameterError(
            f"none of the {len(np.unique(rows)):,} chosen endpoints of {fabric.name!r} has a link of a rate above 0; "
            f"{way_out_of_no_link(fabric)}"
        )
    return np.where(linked, rate, rate[linked].min())


def pair_rates(fabric: Fabric, source: Array, sink: Array) -> NDArray[np.float64]:
    """min(line rate of the source, line rate of the sink) for each pair, Gb/s."""
    rates = wanted_rates(fabric, np.concatenate([source, sink]))
    return np.minimum(rates[: len(source)], rates[len(source) :])


def _pairs(fabric: Fabric, name: str, source: Array, sink: Array) -> Demand:
    return Demand.of(fabric, name, source=source, sink=sink, gbps=pair_rates(fabric, source, sink))
