"""ECMP collisions: exact, bracketed or sampled laws of the load of links and the rate of flows."""

from __future__ import annotations

from concurrent.futures import Executor

from topo.analysis.collisions.answer import EcmpCollisions, Estimate, LinkLoad, TierLoads
from topo.analysis.collisions.ask import collisions_of
from topo.errors import ParameterError
from topo.fabric import Fabric, State, expect_fabric
from topo.hashing.scheme import EcmpHash
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand

__all__ = ["EcmpCollisions", "Estimate", "LinkLoad", "TierLoads", "ecmp_collisions"]


def ecmp_collisions(
    fabric: Fabric,
    flows: Demand,
    *,
    routing: Routing | str = "ecmp",
    queue_pairs: int = 1,
    hash: EcmpHash | str | None = None,
    samples: int = 1024,
    tolerance: float = 0.002,
    seed: int = 0,
    state: State | None = None,
    executor: Executor | None = None,
) -> EcmpCollisions:
    """How often hashed flows collide, and what rate that leaves the mean and the slowest of them.

    Each flow is ``queue_pairs`` hashed flows of 1/q of its rate. At every switch each takes one of its next hops,
    parallel links each counting, independently and evenly (under ``wcmp`` by weight, as link loads are split); with
    ``hash`` its header is hashed as the switches do it, weighted next hops standing in tables of 1,024 entries.
    For independent hashes these are exact: the law of every link (Poisson-binomial), of the largest load of each
    stage whose flows choose alike, and the mean equal share on whole Clos fabrics. The probability that nothing is
    overloaded and the rate of the slowest flow, min(1, least capacity over load), are exact for one stage, and for
    two tiers where each set of leaves that exchange flows has at most 4,096 states (the product over pairs and rates
    of their flows plus 1); elsewhere bracketed with an estimate. Scale-up and host links are striped over, not
    hashed. The max-min mean is sampled: until the half-width of its 95 % interval is ``tolerance``, at most
    ``samples`` times (0: not at all), the same for any ``executor``.

    Model: fluid shares, no queues; InfiniBand forwards by destination instead, and there the answer is that of ideal
    hashing. Cost: a second for 1,024 or 8,192 flows on a three-tier fat-tree, eight for 65,536.

    >>> import topo
    >>> from topo.traffic import shift
    >>> f = topo.leaf_spine(leaves=8, spines=8, hosts_per_leaf=8)
    >>> found = ecmp_collisions(f, shift(f, by=8), samples=0)
    >>> round(found.slowest_rate.estimate, 6), round(found.mean_equal_share.estimate, 6)
    (0.285903, 0.656391)

    :raises ParameterError: more queue pairs than UDP ports, more than 5,000,000 flows times queue pairs, a routing
        under which nothing is hashed, no flow, a demand for another fabric, or samples, tolerance and seed that are
        none.
    """
    expect_fabric(fabric)
    flows.expect_made_for(fabric)
    found = collisions_of(
        fabric,
        flows,
        routing=routing,
        queue_pairs=queue_pairs,
        hash=hash,
        samples=samples,
        tolerance=tolerance,
        seed=seed,
        state=state,
        executor=executor,
    )
    if found is None:
        raise ParameterError(
            "samples is 0, but this case (a real hash, or paths inside opened hosts or scale-up domains) can only be "
            "sampled; allow some"
        )
    return found
