"""What failures do to jobs: which element stops or slows which, how often, and what training time is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.checkpointing import effective_training_time
from topo.analysis.failures.elements import Elements
from topo.analysis.failures.rates import FailureRates, RatedElements
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Selector, State, expect_fabric
from topo.network import Network
from topo.parts.failure_rates import HOURS_PER_MONTH
from topo.result import Result, Row, Standing
from topo.table import Array
from topo.units import format_number

__all__ = ["Blast", "JobFailures", "JobRisk", "job_failures"]


@dataclass(frozen=True, slots=True)
class JobRisk:
    """One job: how often the network stops it or slows it, and the share of time that makes kept progress."""

    job: str
    n_endpoints: int
    stops_per_month: float
    slowdowns_per_month: float
    effective_share: float


@dataclass(frozen=True, slots=True)
class Blast:
    """One element: what its loss does, and how often that happens over all the ``n_alike`` like it."""

    element: str
    n_alike: int
    endpoints_cut_off: int
    endpoints_slowed: int
    jobs_stopped: tuple[str, ...]
    jobs_slowed: tuple[str, ...]
    per_month: float


@dataclass(frozen=True)
class JobFailures(Result):
    """Job-stopping failures by job and by element, worst first (endpoints hit times how often)."""

    fabric: str
    stops_on: str
    jobs: tuple[JobRisk, ...]
    worst: tuple[Blast, ...]
    checkpoint_write_s: float
    restart_s: float
    assumptions: tuple[str, ...]
    standing: Standing

    title: ClassVar[str] = "Failures and jobs"

    def rows(self) -> list[Row]:
        """Each job, then the elements that hit most."""
        rows = []
        for risk in self.jobs:
            rows += [
                Row(f"{risk.job} ({risk.n_endpoints:,} endpoints), stopped", risk.stops_per_month, "times a month"),
                Row(f"{risk.job}, slowed", risk.slowdowns_per_month, "times a month"),
                Row(f"{risk.job}, time that makes kept progress", 100 * risk.effective_share, "%", self.standing),
            ]
        for blast in self.worst:
            alike = f", or one of {blast.n_alike - 1:,} alike" if blast.n_alike > 1 else ""
            hit = f"{blast.endpoints_cut_off:,} endpoints cut off, {blast.endpoints_slowed:,} slowed; "
            jobs = f"stops {', '.join(blast.jobs_stopped) or 'no job'}; {format_number(blast.per_month, 3)} a month"
            rows.append(Row(f"without {blast.element}{alike}", hit + jobs))
        return rows


def job_failures(
    fabric: Fabric,
    jobs: Mapping[str, Selector],
    rates: FailureRates | str | Path | dict[str, Any] | None = None,
    *,
    stops_on: str = "cut off",
    checkpoint_write_s: float = 60.0,
    restart_s: float = 300.0,
    state: State | None = None,
    n_worst: int = 10,
) -> JobFailures:
    """Rates of failures that stop or slow each job, the elements with the widest reach, and training time kept.

    ``jobs`` maps names to endpoints (a selector: globs over hosts or nodes, rows, a mask). An endpoint is cut off by
    an element that is it or takes all its links into the fabric, slowed by one that takes some. A job stops when
    one of its endpoints is cut off; with ``stops_on="any link"`` also when one is slowed (a library without
    failover). The rate of stops is the sum over the elements that stop it; kept time follows
    :func:`effective_training_time` at the best checkpoint interval. Elements above the leaves slow nobody's own
    links; what they cost is a matter of throughput (:func:`survivability`).

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4)
    >>> answer = job_failures(f, {"a": ["host-1", "host-2"]}, {"switch": {"mtbf_h": 7305, "mttr_h": 1}})
    >>> round(answer.jobs[0].stops_per_month, 9), answer.worst[0].element
    (0.1, 'leaf-1')

    :raises ParameterError: no job, an unknown ``stops_on``, a selector that matches no endpoint.
    """
    expect_fabric(fabric)
    if stops_on not in ("cut off", "any link"):
        raise ParameterError(f"stops_on is {stops_on!r}; known: 'cut off', 'any link'")
    if not jobs:
        raise ParameterError("no job is given; map names to their endpoints")
    members = {name: _members(fabric, which) for name, which in jobs.items()}
    stated = FailureRates.of(rates)
    attached = _attachment(fabric, state)
    stops = dict.fromkeys(jobs, 0.0)
    slows = dict.fromkeys(jobs, 0.0)
    blasts: list[Blast] = []
    for rated in stated.on(fabric):
        cut, slowed = _hit(fabric, rated.elements, attached)
        for name, mask in members.items():
            stopped = (cut[:, mask].sum(axis=1) > 0) | ((stops_on == "any link") & (slowed[:, mask].sum(axis=1) > 0))
            hit = (slowed[:, mask].sum(axis=1) > 0) & ~stopped
            stops[name] += float(rated.failures_per_hour[stopped].sum())
            slows[name] += float(rated.failures_per_hour[hit].sum())
        blasts += _blasts(rated, cut, slowed, members, stops_on)
    blasts.sort(key=lambda b: (-(b.endpoints_cut_off + b.endpoints_slowed / 2) * b.per_month, b.element))
    risks = []
    for name, mask in members.items():
        time = effective_training_time(stops[name], checkpoint_write_s=checkpoint_write_s, restart_s=restart_s)
        per_month = (stops[name] * HOURS_PER_MONTH, slows[name] * HOURS_PER_MONTH)
        risks.append(JobRisk(name, len(mask), *per_month, time.effective_share))
    return JobFailures(
        fabric=fabric.name,
        stops_on=stops_on,
        jobs=tuple(risks),
        worst=tuple(blasts[:n_worst]),
        checkpoint_write_s=checkpoint_write_s,
        restart_s=restart_s,
        assumptions=stated.assumptions,
        standing=Standing("model", "independent failures of the named elements only; first order in their rate"),
    )


def _members(fabric: Fabric, which: Selector) -> NDArray[np.int64]:
    """Positions of a job's endpoints among the fabric's."""
    return np.searchsorted(fabric.endpoints, fabric.endpoint_rows(which))


def _attachment(fabric: Fabric, state: State | None) -> tuple[Array, Array]:
    """Pairs (link into the fabric, endpoint position): an opened host's links serve each of its endpoints that own
    no link of their own."""
    network = Network.of(fabric, kinds=None, state=state)
    nodes = fabric.nodes
    outward = fabric.links.kind.is_any("scale_out", "access")[network.links]
    links, a, b = network.links[outward], network.a[outward], network.b[outward]
    far = nodes.forwards != FORWARDS_ALL
    near = np.concatenate([a[far[a]], b[far[b]]]).astype(np.int64)
    link = np.concatenate([links[far[a]], links[far[b]]])
    position = np.full(len(nodes), -1, np.int64)
    position[fabric.endpoints] = np.arange(len(fabric.endpoints))
    direct = position[near] >= 0
    owners = [position[near[direct]]]
    found = [link[direct]]
    host = nodes.host.codes.astype(np.int64)
    parts = np.flatnonzero(~direct & (host[near] >= 0))
    at_host = np.flatnonzero((host[fabric.endpoints] >= 0) & ~np.isin(np.arange(len(fabric.endpoints)), owners[0]))
    for_host = host[fabric.endpoints[at_host]]
    order = np.argsort(for_host, kind="stable")
    low = np.searchsorted(for_host[order], host[near[parts]], side="left")
    count = np.searchsorted(for_host[order], host[near[parts]], side="right") - low
    start = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64) if len(count) else np.empty(0, np.int64)
    pick = np.repeat(low - start, count) + np.arange(int(count.sum()))
    owners.append(at_host[order][pick])
    found.append(np.repeat(link[parts], count))
    return np.concatenate(found), np.concatenate(owners)


def _hit(fabric: Fabric, every: Elements, attached: tuple[Array, Array]) -> tuple[Any, Any]:
    """Sparse masks (elements x endpoints): cut off, slowed."""
    from scipy.sparse import csr_array

    link, owner = attached
    n, n_ends, n_links, n_nodes = len(every), len(fabric.endpoints), len(fabric.links), len(fabric.nodes)
    of_link = np.repeat(np.arange(n), np.diff(every.link_start))
    of_node = np.repeat(np.arange(n), np.diff(every.node_start))
    nodes = csr_array((np.ones(len(every.node)), (of_node, every.node)), shape=(n, n_nodes))
    ends = np.concatenate([fabric.link_a, fabric.link_b])
    rows = np.tile(np.arange(n_links), 2)
    incident = csr_array((np.ones(2 * n_links), (ends, rows)), shape=(n_nodes, n_links))
    own = csr_array((np.ones(len(every.link)), (of_link, every.link)), shape=(n, n_links))
    down = ((own + nodes @ incident) > 0).astype(np.float64)
    serves = csr_array((np.ones(len(link)), (link, owner)), shape=(n_links, n_ends))
    lost = (down @ serves).tocoo()
    total = np.bincount(owner, minlength=n_ends)
    itself = nodes[:, fabric.endpoints].tocoo()
    all_lost = lost.data >= total[lost.col]
    cut = csr_array(
        (
            np.ones(int(all_lost.sum()) + itself.nnz, bool),
            (np.concatenate([lost.row[all_lost], itself.row]), np.concatenate([lost.col[all_lost], itself.col])),
        ),
        shape=(n, n_ends),
    )
    slowed = csr_array(
        (np.ones(int((~all_lost).sum()), bool), (lost.row[~all_lost], lost.col[~all_lost])), shape=(n, n_ends)
    )
    return cut, slowed


def _blasts(
    rated: RatedElements, cut: Any, slowed: Any, members: dict[str, NDArray[np.int64]], stops_on: str
) -> list[Blast]:
    """Elements with the same reach and the same jobs, one of each."""
    names = list(members)
    n_cut, n_slow = _counts(cut), _counts(slowed)
    stop = np.stack([_counts(cut[:, members[name]]) > 0 for name in names], axis=1)
    slow = np.stack([_counts(slowed[:, members[name]]) > 0 for name in names], axis=1)
    if stops_on == "any link":
        stop |= slow
    key = np.concatenate([np.stack([n_cut, n_slow], axis=1), stop, slow], axis=1).astype(np.int64)
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    rate = np.bincount(inverse.ravel(), weights=rated.failures_per_hour) * HOURS_PER_MONTH
    count = np.bincount(inverse.ravel())
    out = []
    for c, i in enumerate(first.tolist()):
        if n_cut[i] + n_slow[i] == 0:
            continue
        stopped = tuple(name for name, yes in zip(names, stop[i], strict=True) if yes)
        slower = tuple(n for n, yes in zip(names, slow[i], strict=True) if yes and n not in stopped)
        out.append(
            Blast(rated.elements.name(i), int(count[c]), int(n_cut[i]), int(n_slow[i]), stopped, slower, float(rate[c]))
        )
    return out


def _counts(matrix: Any) -> NDArray[np.int64]:
    return np.asarray(matrix.sum(axis=1), np.int64).ravel()
