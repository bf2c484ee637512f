"""The picture of a placement: the job's hosts by leaf group, and the load of the links that carry it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.errors import InputError
from topo.fabric import Fabric, State
from topo.placement.contention import demand_of
from topo.placement.fold import Hosts, hosts_of, name_mask
from topo.placement.job import Job
from topo.placement.measure import end_tree, measured
from topo.placement.placement import Placed, placement_of
from topo.view.heat import Strip, cells_of, draw_heat
from topo.view.scene import tier_word
from topo.view.text import plural
from topo.view.tiers import Drawing

__all__ = ["draw_placement"]

_MOST_ROWS = 32


def draw_placement(
    fabric: Fabric,
    job: Job,
    placement: Placed,
    *,
    busy: Any = None,
    pxn: bool = True,
    state: State | None = None,
) -> Drawing:
    """Draw where a job is and what its links carry: strips of cells, one column a leaf group or lower switch.

    In the first strip a cell is a host: dark where the job has it, the shade the share of its endpoints; pale where it
    is free; blank where it is not. Where there are more hosts than cells, the darkest of them shows. Below it the
    links between switches by tier and direction: load over capacity under even shares on all shortest paths, scaled so
    that the job's busiest endpoint runs at its line rate.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8)
    >>> names = [f"host-{i:02}" for i in range(1, 13)]
    >>> print(draw_placement(fabric, Job(12), names, busy=["host-2*"]).alt)
    job on leaf-spine 4x4: 12 of its 32 hosts, in 2 of 4 leaf groups, 10 more are free. leaf to spine: 16 links, most
    72.7 %. spine to leaf: 16 links, most 72.7 %.

    :raises ParameterError: a placement that is none, an unknown host.
    """
    hosts = hosts_of(fabric, state=state)
    where = placement_of(hosts, job, placement)
    strips = [_hosts_strip(hosts, where.rows, name_mask(hosts, busy))]
    mine = measured(end_tree(hosts), job, where, pxn=pxn)
    said = f"{job.name} on {fabric.name}: {', '.join(strips[0].said)}."
    try:
        loads = _link_strips(fabric, mine, state)
    except InputError as error:
        said += f" Link loads are not drawn: {error}."
        loads = []
    said += "".join(f" {strip.name}: {strip.said[0]}." for strip in loads)
    title = f"{job.name} on {fabric.name}"
    return draw_heat([*strips, *loads], title=title, alt=said, unit="host in use, link load")


def _hosts_strip(hosts: Hosts, rows: NDArray[np.int64], busy: NDArray[np.bool_]) -> Strip:
    """A cell a host: the share of its endpoints that the job has; what is not free is blank."""
    used = np.bincount(hosts.of_node[np.unique(rows)], minlength=len(hosts)) / np.maximum(hosts.size, 1)
    own = used > 0
    placed = np.flatnonzero(hosts.leaf >= 0)
    value = np.where(own, used, np.where(busy, -np.inf, 0.0))[placed]
    cells = cells_of(hosts.leaf[placed], value, most_rows=_MOST_ROWS)
    name = hosts.tree.levels[0].name
    groups = len(np.unique(hosts.leaf[own]))
    free = int((~own & ~busy & (hosts.leaf >= 0)).sum())
    said = (
        f"{int(own.sum()):,} of its {len(hosts):,} hosts",
        f"in {groups:,} of {plural(len(name), 'leaf group')}",
        f"{free:,} more are free",
    )
    return Strip("the job's hosts", said, cells, f"{name[0]} … {name[-1]}, across; blank: not free")


def _link_strips(fabric: Fabric, mine: Any, state: State | None) -> list[Strip]:
    """A strip for every pair of tiers and direction between switches that carries something.

    :raises InputError: rates are unknown, or the job has too many pairs to route.
    """
    from topo.routing.loads import link_loads

    loads = link_loads(fabric, demand_of(mine), state=state)
    arcs = np.flatnonzero(loads.is_network_arc & (loads.capacity_gbps > 0))
    source, target = fabric.arc_source[arcs].astype(np.int64), fabric.arc_target[arcs].astype(np.int64)
    tier = fabric.nodes.tier.astype(np.int64)
    full = loads.arc_gbps[arcs] / loads.capacity_gbps[arcs]
    low, high = tier[source], tier[target]
    strips = []
    for a, b in sorted(set(zip(low.tolist(), high.tolist(), strict=True)), key=lambda s: (s[1] < s[0], min(s))):
        stage = (low == a) & (high == b)
        if not full[stage].any():
            continue
        home = source[stage] if a <= b else target[stage]
        ends = fabric.nodes.name[[home.min(), home.max()]]
        said = (f"{plural(int(stage.sum()), 'link')}, most {100 * full[stage].max():.3g} %",)
        columns = f"{ends[0]} … {ends[1]}, across"
        strips.append(Strip(f"{tier_word(a)} to {tier_word(b)}", said, cells_of(home, full[stage]), columns))
    return strips
