"""How many leaves and pods a set of hosts spans, and how few it could."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topo.analysis.attachments import Attachments, attachments, distinct_sets
from topo.errors import ParameterError
from topo.fabric import Fabric, Selector, State
from topo.network import Network
from topo.result import Result, Row, Standing
from topo.table import Array

__all__ = ["LeavesSpanned", "leaves_spanned"]

_MOST_NAMED = 40


@dataclass(frozen=True)
class LeavesSpanned(Result):
    """Leaf switches and pods that a set of hosts touches, beside the least possible for as many hosts.

    ``least_leaves`` and ``least_pods`` need not be reached by the same choice of hosts. Pods are those
    labelled on the leaves, a leaf without a label being one of its own; None where no touched leaf bears one.
    """

    fabric: str
    kinds: tuple[str, ...]
    n_hosts: int
    n_endpoints: int
    n_leaves: int
    leaves: tuple[str, ...]
    least_leaves: int
    least_leaves_standing: Standing
    n_pods: int | None
    pods: tuple[str, ...]
    least_pods: int | None
    least_pods_standing: Standing | None
    n_unattached_endpoints: int

    title: ClassVar[str] = "Leaves spanned"

    def rows(self) -> list[Row]:
        """What is spanned, then what is possible."""
        rows = [
            Row("hosts", self.n_hosts),
            Row("endpoints", self.n_endpoints),
            Row("leaves spanned", self.n_leaves),
            Row("leaves", _listed(self.leaves)),
            Row("least possible leaves", self.least_leaves, standing=self.least_leaves_standing),
        ]
        if self.n_pods is None or self.least_pods is None:
            rows.append(Row("pods spanned", "unknown: the leaves bear no pod"))
        else:
            rows.append(Row("pods spanned", self.n_pods))
            rows.append(Row("pods", _listed(self.pods)))
            rows.append(Row("least possible pods", self.least_pods, standing=self.least_pods_standing))
        if self.n_unattached_endpoints:
            rows.append(Row("endpoints that attach to no leaf", self.n_unattached_endpoints))
        return rows


def leaves_spanned(
    fabric: Fabric, hosts: Selector, *, kinds: Sequence[str] | None = None, state: State | None = None
) -> LeavesSpanned:
    """Leaves and pods touched by the selected hosts' endpoints, and the fewest that as many hosts can touch.

    ``hosts`` are globs over host and endpoint names, rows, or a mask; an endpoint without a host is its own
    host. An endpoint touches the switches it attaches to, through parts of its host where there are any. On a
    rail-optimized fabric k hosts of one unit of 8 rails touch its 8 leaves. The least is over all hosts of
    the fabric with as many attached endpoints, busy or not: exact where their sets of leaves are equal or
    disjoint (fewest sets by size; a knapsack where sets differ in size), else exact if a greedy choice meets
    the bound, else the lower bound: the fewest leaves whose hosts, each counted at one of its leaves,
    suffice. If only part of some host is selected, single endpoints are counted instead of hosts.

    >>> import topo
    >>> span = leaves_spanned(topo.rail_optimized(128), ["host-001", "host-002", "host-033"])
    >>> span.n_leaves, span.least_leaves, span.n_pods, span.least_pods
    (16, 8, 2, 1)

    :raises ParameterError: the selector names nothing, or no endpoint that is present; an unknown link kind.
    """
    attached = attachments(Network.of(fabric, kinds=kinds, state=state))
    rows = fabric.endpoint_rows(hosts)
    index = np.searchsorted(attached.endpoints, rows)
    index = index[np.isin(rows, attached.endpoints)]
    if not len(index):
        raise ParameterError(f"{hosts!r} selects no endpoint of {fabric.name!r} that is present in this state")
    chosen = np.zeros(len(attached.endpoints), bool)
    chosen[index] = True
    host = _host_numbers(fabric, attached)
    leaf = attached.relay[attached.leaf_mask[attached.relay]]
    owner = attached.endpoint[attached.leaf_mask[attached.relay]]
    pod = fabric.nodes.pod.codes[attached.relays[leaf]]
    spanned = np.unique(leaf[chosen[owner]])
    n_labels = len(fabric.nodes.pod.labels)
    has_pods = bool((pod[chosen[owner]] >= 0).any())
    # A leaf without a label is a pod of its own: leaving it out would make hosts on it free.
    pod = np.where(pod >= 0, pod, n_labels + attached.relays[leaf])
    pods = np.unique(pod[chosen[owner]]) if has_pods else np.empty(0, np.int64)
    unit, noun = _units(host, chosen)
    least, standing = _least(unit, chosen, owner, leaf, noun, "leaves")
    least_pods: int | None = None
    pod_standing: Standing | None = None
    if len(pods):
        least_pods, pod_standing = _least(unit, chosen, owner, pod, noun, "pods")
    names = fabric.nodes.name[attached.relays[spanned]]
    return LeavesSpanned(
        fabric=fabric.name,
        kinds=attached.network.kinds,
        n_hosts=len(np.unique(host[chosen])),
        n_endpoints=int(chosen.sum()),
        n_leaves=len(spanned),
        leaves=tuple(names.tolist()),
        least_leaves=least,
        least_leaves_standing=standing,
        n_pods=len(pods) if len(pods) else None,
        pods=(
            *fabric.nodes.pod.labels[pods[pods < n_labels]].tolist(),
            *fabric.nodes.name[pods[pods >= n_labels] - n_labels].tolist(),
        ),
        least_pods=least_pods,
        least_pods_standing=pod_standing,
        n_unattached_endpoints=int((~np.isin(np.flatnonzero(chosen), owner)).sum()),
    )


def _host_numbers(fabric: Fabric, attached: Attachments) -> Array:
    """A number for the host of each endpoint; one of its own where there is none."""
    codes = fabric.nodes.host.codes[attached.endpoints].astype(np.int64)
    return np.where(codes >= 0, codes, len(fabric.nodes.host.labels) + np.arange(len(codes)))


def _units(host: Array, chosen: Array) -> tuple[Array, str]:
    """What is placed: whole hosts where the selection keeps hosts whole, else single endpoints."""
    values, number = np.unique(host, return_inverse=True)
    size = np.bincount(number, minlength=len(values))
    taken = np.bincount(number[chosen], minlength=len(values))
    if np.all((taken == 0) | (taken == size)):
        return number, "hosts"
    return np.arange(len(host)), "endpoints"


def _least(unit: Array, chosen: Array, owner: Array, place: Array, noun: str, what: str) -> tuple[int, Standing]:
    """Fewest places that as many units of the chosen sizes can touch; other sizes are no substitute."""
    n_units = int(unit.max()) + 1
    n_places = int(place.max()) + 1 if len(place) else 1
    key = np.unique(unit[owner] * n_places + place)
    of, start, places = distinct_sets(key // n_places, key % n_places, n_units)
    attached_ends = np.bincount(unit[np.unique(owner)], minlength=n_units)
    wanted = np.unique(unit[chosen])
    wanted = wanted[of[wanted] >= 0]
    sizes = np.unique(attached_ends[wanted])
    best, exact = 0, True
    for size in sizes.tolist():
        number = int((attached_ends[wanted] == size).sum())
        alike = of[(attached_ends == size) & (of >= 0)]
        sets, hosts = np.unique(alike, return_counts=True)
        members = [places[start[s] : start[s + 1]] for s in sets.tolist()]
        fewest, is_exact = _fewest(members, hosts, number)
        if fewest > best:
            best = fewest
        exact &= is_exact
    if len(sizes) > 1:
        return best, Standing("lower bound", f"the largest need of {noun} of one size; they differ in size here")
    if exact:
        return best, Standing("exact", f"over all {noun} of this size")
    return best, Standing("lower bound", f"sets of {what} overlap; each host counted at one of its {what}")


def _fewest(members: list[Array], hosts: Array, number: int) -> tuple[int, bool]:
    """Fewest places so that ``number`` units have all theirs among them, or a lower bound and False."""
    lengths = np.array([len(m) for m in members])
    everything = np.concatenate(members)
    if len(np.unique(everything)) == len(everything):
        if (lengths == lengths[0]).all():
            sets = _fewest_largest(hosts, number)
            return sets * int(lengths[0]), True
        return _knapsack(lengths, hosts, number), True
    # A unit inside the chosen places is counted at each of its places, at least least-length times.
    shortest = int(lengths.min())
    _, index = np.unique(everything, return_inverse=True)
    counted = np.bincount(index, weights=np.repeat(hosts, lengths))
    bound = max(_fewest_largest(counted, number * shortest), shortest)
    return bound, _greedy(members, hosts, number) == bound


def _fewest_largest(sizes: Array, number: int) -> int:
    running = np.cumsum(np.sort(sizes)[::-1])
    return int(np.searchsorted(running, number)) + 1


def _knapsack(costs: Array, sizes: Array, number: int) -> int:
    """Least total cost of sets that together hold ``number``: most held for each cost, set by set."""
    order = np.lexsort((-sizes, costs))
    most = np.zeros(1)
    for cost in np.unique(costs).tolist():
        # Of equal cost the largest come first, so only how many of them matters.
        held = np.concatenate([[0], np.cumsum(sizes[order][costs[order] == cost])]).astype(float)
        wider = np.full(len(most) + cost * (len(held) - 1), -math.inf)
        for taken, extra in enumerate(held.tolist()):
            window = wider[taken * cost : taken * cost + len(most)]
            np.maximum(window, most + extra, out=window)
        most = wider
    return int(np.flatnonzero(most >= number)[0])


def _greedy(members: list[Array], hosts: Array, number: int) -> int:
    """Places touched when the set with the fewest new places for its hosts is taken first, over and over."""
    touched: set[int] = set()
    left = list(range(len(members)))
    while number > 0 and left:
        new = [len(set(members[i].tolist()) - touched) for i in left]
        best = min(range(len(left)), key=lambda i: (new[i] / min(int(hosts[left[i]]), number), -hosts[left[i]]))
        taken = left.pop(best)
        touched |= set(members[taken].tolist())
        number -= int(hosts[taken])
    return len(touched)


def _listed(names: tuple[str, ...]) -> str:
    more = f", ... {len(names):,} in all" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
