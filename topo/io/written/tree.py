"""A fabric as schedulers see it: a tree of groups of switches with hosts under the lowest, every tier kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.io.written import as_written, host_titles, left_unsaid, unique_names

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["Group", "SchedulerTree", "domains_of", "hosts_of", "one_a_host", "scheduler_tree"]


@dataclass(slots=True)
class Group:
    """Switches that reach the same hosts at one tier, as one switch: its name, groups below, or hosts."""

    name: str
    tier: int
    children: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SchedulerTree:
    """Groups, the lowest tier first, and what a tree cannot say of the fabric."""

    groups: list[Group]
    lost: tuple[str, ...]


def scheduler_tree(fabric: Fabric) -> SchedulerTree:
    """The tree of a fabric: at every tier, hosts and switches up to it that are joined are one group.

    A host under eight rail leaves is in one group with all of them; no host is in two. Where nothing joins two groups
    the result is a forest. A group of one switch bears its name; others bear their pod's, else what the names of their
    switches share before the number, else the word of the tier. Where that does not tell groups of one tier apart, all
    of them are numbered: ``spine-group-1``, ``su-1-leaf-group-2``.

    >>> import topo
    >>> tree = scheduler_tree(topo.fat_tree(4))
    >>> [(group.name, group.children or group.hosts) for group in tree.groups[-2:]]
    [('pod-4', ['pod-4-leaf-1', 'pod-4-leaf-2']), ('core', ['pod-1', 'pod-2', 'pod-3', 'pod-4'])]

    :raises ParameterError: no host under any switch.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = fabric.nodes
    host, titles, changed = hosts_of(fabric)
    n_hosts = len(titles)
    switch = nodes.kind.is_any("switch", "router") & (nodes.tier > 0)
    vertex = np.where(host >= 0, host, np.where(switch, n_hosts + np.cumsum(switch) - 1, -1))
    rows = np.flatnonzero(switch)
    tier = np.concatenate([np.zeros(n_hosts, int), nodes.tier[rows].astype(int)])
    wired = fabric.links.kind.is_any("scale_out", "access")
    a, b = vertex[fabric.link_a[wired]], vertex[fabric.link_b[wired]]
    joined = (a >= 0) & (b >= 0) & (a != b)
    a, b = a[joined], b[joined]
    groups: list[Group] = []
    inside = np.full(n_hosts, -1, np.int64)
    taken = set(titles)
    for level in sorted(set(tier[n_hosts:].tolist())):
        low = (tier[a] <= level) & (tier[b] <= level)
        graph = coo_array((np.ones(int(low.sum()), np.int8), (a[low], b[low])), shape=(len(tier), len(tier)))
        _, component = connected_components(graph, directed=False)
        members = np.flatnonzero(tier == level)
        held: dict[int, list[int]] = {}
        for row, label in zip(rows[members - n_hosts].tolist(), component[members].tolist(), strict=True):
            held.setdefault(label, []).append(row)
        inside = _level(fabric, level, component[:n_hosts], inside, groups, titles, held, taken)
    if not groups:
        raise ParameterError(f"no host of {fabric.name!r} is under a switch; a scheduler's tree would be empty")
    n_switches = int(switch.sum())
    groups = _without_mixed(groups, taken)
    lost = [
        *changed,
        *([f"names of switches: {n_switches:,} stand there as {len(groups):,}"] if n_switches != len(groups) else []),
        *one_a_host(fabric, n_hosts),
        "how many cables join whom, and their rates: a tree says who is under whom",
        *left_unsaid(fabric, nodes=("name", "kind", "tier", "host", "is_endpoint", "forwards", "domain")),
    ]
    return SchedulerTree(groups, tuple(lost))


def hosts_of(fabric: Fabric) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Number of the host of every node that has one or is an endpoint, -1 for the rest; names; what was changed.

    >>> import topo
    >>> number, names, changed = hosts_of(topo.fat_tree(2))
    >>> number.tolist(), names, changed
    ([0, 1, -1, -1, -1, -1, -1], ['host-1', 'host-2'], [])
    """
    nodes = fabric.nodes
    names, changed = unique_names(fabric)
    titles, renamed = host_titles(fabric, names)
    index: dict[str, int] = {}
    found = np.full(len(nodes), -1, np.int64)
    inside = np.flatnonzero(nodes.is_endpoint | (nodes.host.codes >= 0) & ~nodes.kind.is_any("switch", "router"))
    for row in inside.tolist():
        found[row] = index.setdefault(titles[row] or names[row], len(index))
    return found, list(index), [*changed, *renamed]


def one_a_host(fabric: Fabric, n_hosts: int) -> list[str]:
    """That a scheduler knows hosts, where a host has several endpoints."""
    n = len(fabric.endpoints)
    return [f"endpoints: {n:,} are in {n_hosts:,} hosts, and each host is one there"] if n > n_hosts else []


def _level(
    fabric: Fabric, level: int, found: NDArray[np.int32], inside: NDArray[np.int64], groups: list[Group],
    titles: list[str], held: dict[int, list[int]], taken: set[str],
) -> NDArray[np.int64]:  # fmt: skip
    """Add the groups of one tier that hold a switch of it and a host; the group that each host is in from now on."""
    listed = list(dict.fromkeys(label for label in found.tolist() if label in held))
    at = {label: len(groups) + i for i, label in enumerate(listed)}
    groups += [Group(title, level) for title in _titles(fabric, [held[label] for label in listed], level, taken)]
    seen = set[int]()
    result = inside.copy()
    for host, (label, below) in enumerate(zip(found.tolist(), inside.tolist(), strict=True)):
        if label not in held:
            continue
        result[host] = at[label]
        if below < 0:
            groups[at[label]].hosts.append(titles[host])
        elif below not in seen:
            seen.add(below)
            groups[at[label]].children.append(groups[below].name)
    return result


def _without_mixed(groups: list[Group], taken: set[str]) -> list[Group]:
    """Hosts beside groups below one group get a group of their own: schedulers take either, not both."""
    result = []
    for group in groups:
        if group.children and group.hosts:
            title, number = f"{group.name}-hosts", 1
            while title in taken:
                number += 1
                title = f"{group.name}-hosts-{number}"
            taken.add(title)
            result.append(Group(title, group.tier, hosts=group.hosts))
            group = Group(group.name, group.tier, [*group.children, title])
        result.append(group)
    return result


def _titles(fabric: Fabric, rows: list[list[int]], level: int, taken: set[str]) -> list[str]:
    """Names for the groups of one tier, each the switches of some rows, that no other group and no host bears."""
    choices = [_choices(fabric, each, level) for each in rows]
    titles = [""] * len(rows)
    for rank in range(3):
        asked = Counter(choice[rank] for choice, title in zip(choices, titles, strict=True) if not title)
        for i, choice in enumerate(choices):
            if not titles[i] and choice[rank] and asked[choice[rank]] == 1 and choice[rank] not in taken:
                titles[i] = choice[rank]
        taken.update(titles)
    number = Counter[str]()
    for i, (*_, base) in enumerate(choices):
        while not titles[i]:
            number[base] += 1
            title = f"{base}-{number[base]}"
            titles[i] = "" if title in taken else title
        taken.add(titles[i])
    return titles


def _choices(fabric: Fabric, rows: list[int], level: int) -> tuple[str, str, str, str]:
    """Names for a group, the most wanted first, '' for none: of its one switch, its pod, by words; base of numbers."""
    names = [as_written(str(fabric.nodes.name[row])) for row in rows]
    word = {1: "leaf", 2: "spine", 3: "core"}.get(level, f"tier-{level}")
    if len(names) == 1:
        return names[0], "", "", names[0] or word
    pods = set(fabric.nodes.pod.values(rows).tolist())
    pod = as_written(pods.pop()) if len(pods) == 1 else ""
    stems = {name.rstrip("0123456789").rstrip("-_.") for name in names}
    said = f"{pod}-{word}" if pod else (stems.pop() if len(stems) == 1 else "") or word
    return "", pod, said, f"{said}-group"


def domains_of(fabric: Fabric) -> dict[str, list[str]]:
    """Hosts by scale-up domain, in order; domains that lie inside one host are none of a scheduler's business."""
    nodes = fabric.nodes
    found: dict[str, dict[str, None]] = {}
    host, titles, _ = hosts_of(fabric)
    rows = np.flatnonzero(nodes.is_endpoint & (nodes.domain.codes >= 0))
    for row, domain in zip(host[rows].tolist(), nodes.domain.values(rows).tolist(), strict=True):
        found.setdefault(as_written(domain), {})[titles[row]] = None
    listed = {domain: list(members) for domain, members in found.items()}
    return listed if any(len(members) > 1 for members in listed.values()) else {}
