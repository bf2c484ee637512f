"""Rates of a job's groups taken from a placement on a fabric, all groups of a dimension talking at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collectives.carried import Conditions, Wire, inside_first, payload_gbps
from topo.analysis.collectives.flows import Ranks, collective_phases
from topo.analysis.collectives.on_fabric import time_of_phases
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import Fabric, State
from topo.parts.accelerators import Accelerator, accelerator
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand
from topo.training.plan import Plan
from topo.training.rates import GROUPS, GroupRate, mean_hop_us

__all__ = ["fabric_rates"]

_COLLECTIVE = {
    "tensor": ("all_gather", "ring"), "context": ("all_gather", "ring"), "expert": ("all_to_all", "direct"),
    "pipeline": ("send", "direct"), "data": ("all_gather", "ring"),
}  # fmt: skip
_SIZE = 1e9


def fabric_rates(
    fabric: Fabric,
    placement: ArrayLike,
    plan: Plan,
    *,
    part: Accelerator | str = "h100-sxm",
    routing: Routing | str = "ecmp",
    wire: Wire | None = None,
    state: State | None = None,
    queue_pairs: int = 1,
    samples: int = 30,
    seed: int = 0,
    others: Demand | None = None,
) -> dict[str, GroupRate]:
    """What :func:`~topo.training.step.training_step` takes as ``rates``: GB/s of payload a rank, by dimension.

    ``placement`` lists endpoint rows in rank order. For each dimension all groups run their collective (ring,
    exchange, sends) at once, one dimension after another; the rate is bytes sent over the time of the slowest, with
    loads from the routing kernel. Scale-up links give no more than collectives get of them; where the fabric has no
    links inside hosts, groups inside one run at that rate. Fluid routing at 16,384 ranks takes seconds.

    >>> import topo
    >>> f = topo.rail_optimized(hosts=8, rails=8, hosts_per_unit=8, radix=16)
    >>> rates = fabric_rates(f, f.endpoints, Plan(batch=64, tensor=8, data=8), wire=Wire())
    >>> rates["tensor"].how, round(rates["data"].gbyte_s, 2)
    ('scale-up port', 49.02)

    :raises ParameterError: a placement of another length than the ranks.
    :raises DisconnectedError: a group that no path joins.
    """
    chip = accelerator(part) if isinstance(part, str) else part
    rows = np.asarray(placement, np.int64)
    if rows.shape != (plan.ranks,):
        raise ParameterError(f"the placement has {rows.size:,} endpoints, but the plan has {plan.ranks:,} ranks")
    under = Conditions(
        payload_gbps(fabric, wire or Wire(), state), state, inside_first(fabric, routing), queue_pairs, samples, seed,
        others,
    )  # fmt: skip
    return {
        dimension: _rate(fabric, rows, plan, dimension, chip, under)
        for dimension in GROUPS
        if plan.group_size(dimension) > 1
    }


def _rate(
    fabric: Fabric, rows: NDArray[np.int64], plan: Plan, dimension: str, part: Accelerator, under: Conditions
) -> GroupRate:
    groups = rows[plan.groups(dimension)]
    n = groups.shape[1]
    ranks = Ranks.of(fabric, groups)
    if dimension == "pipeline" and plan.chunks > 1:
        # The last stage sends to the first one's next chunk.
        ranks = Ranks(np.concatenate([groups, groups[:, :1]], axis=1), ranks.host, 1, ranks.dropped)
    collective, algorithm = _COLLECTIVE[dimension]
    phases = collective_phases(fabric, ranks, collective, _SIZE, algorithm=algorithm)
    times, _, _ = time_of_phases(fabric, phases, under, latency=False)
    if not np.isfinite(times).all():
        raise DisconnectedError(f"some {dimension} group has ranks without a path to each other on {fabric.name!r}")
    sent = _SIZE if dimension == "pipeline" else _SIZE * (n - 1) / n
    inside = int(min(np.unique(ranks.host[0], return_counts=True)[1].max(), n))
    found = sent / 1e9 * float(np.mean(1 / times)) if times.all() else np.inf
    how = f"{dimension} groups on {fabric.name}, {under.routing}"
    if found >= part.scale_up_gbyte_s:
        found, how = part.scale_up_gbyte_s, "scale-up port"
    return GroupRate(float(found), inside, n, part.ring_base_us, mean_hop_us(n, inside, part), how)
