"""From a fabric to its placement trees: hosts by the leaves they attach to, leaf groups by what lies above them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.errors import InputError, ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, State
from topo.network import Network
from topo.placement.tree import Level, Tree
from topo.table import Array, freeze, ranges

__all__ = ["Hosts", "fold", "hosts_of", "name_mask"]

_MOST_LEVELS = 8
_HOST_LIST = re.compile(r"\[(?=[\d,-]*\])(?:[^\]]*,|[^\]]*\d\d+-|[^\]]*-\d\d)[^\]]*\]")


@dataclass(frozen=True, eq=False)
class Hosts:
    """The hosts of a fabric with their endpoints, and the tree over them; ``leaf[h]`` is the leaf group of host h.

    A host without a label is its one endpoint. ``endpoint`` lists endpoint rows host by host, in local order:
    those of host h are ``endpoint[start[h]:start[h + 1]]``. ``leaf`` is -1 for a host that attaches to no switch.
    """

    fabric: Fabric
    network: Network
    name: NDArray[np.str_]
    endpoint: NDArray[np.int64]
    start: NDArray[np.int64]
    leaf: NDArray[np.int64]
    leaf_switches: NDArray[np.int64]
    tree: Tree

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Endpoints of each host."""
        return freeze(np.diff(self.start))

    @cached_property
    def of_node(self) -> NDArray[np.int64]:
        """Host of every node row; -1 for what is no endpoint."""
        out = np.full(len(self.fabric.nodes), -1, np.int64)
        out[self.endpoint] = np.repeat(np.arange(len(self)), self.size)
        return freeze(out)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Position of every endpoint row inside its host; -1 for what is no endpoint."""
        out = np.full(len(self.fabric.nodes), -1, np.int64)
        out[self.endpoint] = np.arange(len(self.endpoint)) - np.repeat(self.start[:-1], self.size)
        return freeze(out)

    def numbers(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Numbers of hosts by name, in the order given.

        :raises ParameterError: a name that is no host of the fabric.
        """
        index = self._index
        wanted = [str(name) for name in names]
        unknown = [name for name in wanted if name not in index]
        if unknown:
            raise ParameterError(_unknown(self, unknown))
        return np.array([index[name] for name in wanted], np.int64)

    def has(self, name: str) -> bool:
        """Whether a host bears this very name."""
        return name in self._index

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.name.tolist())}


def name_mask(hosts: Hosts, which: Iterable[str] | str | Array | None) -> NDArray[np.bool_]:
    """A mask over hosts from names, globs or Slurm's host lists, a mask, or nothing.

    Brackets with a comma or a range of numbers of several digits are a host list (``n[01-16,20]``); other brackets
    are a glob's (``n[1-4]``, where both mean the same), unless only the host list names hosts.

    :raises ParameterError: a name or pattern that no host bears, or a mask of another length.
    """
    mask = np.zeros(len(hosts), bool)
    if which is None:
        return mask
    if isinstance(which, np.ndarray) and which.dtype == bool:
        if len(which) != len(hosts):
            raise ParameterError(f"a mask over hosts must have {len(hosts)} entries, got {len(which)}")
        return which.copy()
    names = [which] if isinstance(which, str) else [str(name) for name in which]
    plain = [name for name in names if not any(sign in name for sign in "*?[,") or hosts.has(name)]
    mask[hosts.numbers(plain)] = True
    for pattern in names:
        if any(sign in pattern for sign in "*?[,") and not hosts.has(pattern):
            mask |= _matching(hosts, pattern)
    return mask


def _matching(hosts: Hosts, pattern: str) -> NDArray[np.bool_]:
    """Hosts that a glob or a host list names."""
    from topo.io.hostlist import expand_hosts
    from topo.table import glob_mask

    mask = np.zeros(len(hosts), bool)
    is_list = _HOST_LIST.search(pattern) is not None or "," in pattern
    if not is_list or "*" in pattern or "?" in pattern:
        mask = glob_mask(hosts.name, pattern)
        if mask.any():
            return mask
    if "[" not in pattern and "," not in pattern:
        raise ParameterError(_unknown(hosts, [pattern]))
    try:
        listed = expand_hosts(pattern)
    except InputError as error:
        if not is_list:  # a glob with other signs in its brackets
            raise ParameterError(_unknown(hosts, [pattern])) from None
        raise ParameterError(str(error)) from None
    if not is_list and not any(hosts.has(name) for name in listed):
        raise ParameterError(_unknown(hosts, [pattern]))
    mask[hosts.numbers(listed)] = True
    return mask


def _unknown(hosts: Hosts, names: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(names[0], hosts.name[:5000].tolist(), n=3, cutoff=0.6)
    hint = f"; did you mean {', '.join(map(repr, close))}?" if close else f"; names look like {hosts.name[:3].tolist()}"
    more = f" (and {len(names) - 1:,} more)" if len(names) > 1 else ""
    return f"no host of {hosts.fabric.name!r} is called {names[0]!r}{more}{hint}"


def hosts_of(fabric: Fabric, *, state: State | None = None) -> Hosts:
    """Hosts of a fabric with the placement tree over them.

    Hosts with the same set of access switches form a leaf group: the leaf of a plain leaf-spine, the scalable unit
    with all its rail leaves, the pair of a dual-homed host. Groups whose switches have the same upper neighbours form
    a pod, and so on. Groups come in the order of their first switch.

    >>> import topo
    >>> hosts = hosts_of(topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16))
    >>> len(hosts), hosts.leaf.tolist(), hosts.tree.levels[0].name.tolist()
    (8, [0, 0, 0, 0, 1, 1, 1, 1], ['su-1', 'su-2'])

    :raises ParameterError: a fabric without endpoints.
    """
    network = Network.of(fabric, state=state)
    ends = fabric.endpoints
    if state is not None and state.node_present is not None:
        ends = ends[state.node_present[ends]]
    if not len(ends):
        raise ParameterError(f"{fabric.name!r} has no endpoint to place a job on")
    nodes = fabric.nodes
    code = nodes.host.codes.astype(np.int64)
    owner_code = np.where(code >= 0, code, len(nodes.host.labels) + np.arange(len(nodes)))
    order = np.lexsort((ends, nodes.local_index[ends], owner_code[ends]))
    _, first, number = np.unique(owner_code[ends], return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # hosts in the order of their first endpoint
    order = order[np.argsort(rank[number[order]], kind="stable")]
    host_of_end = rank[number]
    n = len(first)
    owner_of_code = np.full(len(nodes.host.labels) + len(nodes), -1, np.int64)
    owner_of_code[owner_code[ends]] = host_of_end
    owner = np.where(nodes.forwards == FORWARDS_ALL, -1, owner_of_code[owner_code])
    owner[ends] = host_of_end
    leaf, switches, tree = fold(network, owner, n)
    if not len(switches):
        leaf, switches, tree = _without_switches(fabric, ends[np.sort(first)])
    named = nodes.host.values(ends[np.sort(first)])
    name = np.where(named != "", named, nodes.name[ends[np.sort(first)]])
    start = np.concatenate([[0], np.cumsum(np.bincount(host_of_end, minlength=n))])
    return Hosts(
        fabric, network, freeze(name), freeze(ends[order]), freeze(start), freeze(leaf), freeze(switches), tree
    )


def _without_switches(fabric: Fabric, ends: Array) -> tuple[Array, Array, Tree]:
    """Hosts that no switch joins: those of one scale-up domain are a group, any other is one by itself."""
    domain = fabric.nodes.domain.codes[ends].astype(np.int64)
    key = np.where(domain >= 0, domain, len(fabric.nodes.domain.labels) + np.arange(len(ends)))
    _, first, leaf = np.unique(key, return_index=True, return_inverse=True)
    name = np.where(domain[first] >= 0, fabric.nodes.domain.values(ends[first]), fabric.nodes.name[ends[first]])
    level = Level.of(name, np.zeros(len(first), int), real=np.full(len(first), len(first) > 1))
    return leaf, np.zeros(len(first), np.int64), Tree((level,), symmetric=False, why_not="no switch joins the hosts")


def fold(network: Network, owner: Array, n_owners: int) -> tuple[Array, Array, Tree]:
    """Leaf group of each owner (-1: none), leaf switches of each group, and the tree over the groups.

    ``owner[v]`` is the owner of node v (a host, or an endpoint), -1 for switches.
    """
    nodes = network.fabric.nodes
    outward = network.fabric.links.kind.is_any("access", "scale_out", "internal")[network.links]
    a, b = network.a[outward], network.b[outward]
    links = network.links[outward]
    rate = network.fabric.links.capacity_gbps
    if network.state is not None:
        rate = network.state.link_capacity_gbps(network.fabric)
    rate = rate[links]
    relay = nodes.forwards == FORWARDS_ALL
    inner_a, inner_b = (owner[a] >= 0) & relay[b] & (owner[b] < 0), (owner[b] >= 0) & relay[a] & (owner[a] < 0)
    who = np.concatenate([owner[a[inner_a]], owner[b[inner_b]]])
    switch = np.concatenate([b[inner_a], a[inner_b]]).astype(np.int64)
    group, sets = _grouped(who, switch, n_owners)
    both = relay[a] & relay[b] & (owner[a] < 0) & (owner[b] < 0)
    up = _Upward(nodes.tier.astype(np.int64), a[both].astype(np.int64), b[both].astype(np.int64), rate[both])
    passing = relay[a] & relay[b] & ~both
    if passing.any():
        up = up.with_hosts(np.stack([a[passing], b[passing]]).astype(np.int64))
    if not sets:
        return group, np.empty(0, np.int64), Tree((), symmetric=False)
    return group, np.array([len(s) for s in sets], np.int64), _levels(network.fabric, up, sets)


def _grouped(who: Array, switch: Array, n_owners: int) -> tuple[Array, list[Array]]:
    """Owners by their set of switches, groups in the order of their first switch; and the sets."""
    from topo.analysis.attachments import distinct_sets

    span = int(switch.max()) + 1 if len(switch) else 1
    key = np.unique(who * span + switch)
    of, start, keys = distinct_sets(key // span, key % span, n_owners)
    sets = [keys[start[i] : start[i + 1]] for i in range(len(start) - 1)]
    order = sorted(range(len(sets)), key=lambda i: sets[i].tolist())
    rank = np.empty(len(sets) + 1, np.int64)
    rank[order] = np.arange(len(sets))
    rank[-1] = -1
    return rank[of], [sets[i] for i in order]


class _Upward:
    """Links from a switch to one of a higher tier, with their rates, by lower switch; and those inside a tier."""

    def __init__(self, tier: Array, a: Array, b: Array, rate: Array) -> None:
        climbs = tier[a] < tier[b]
        falls = tier[a] > tier[b]
        self.low = np.concatenate([a[climbs], b[falls]])
        self.high = np.concatenate([b[climbs], a[falls]])
        self.rate = np.concatenate([rate[climbs], rate[falls]])
        order = np.argsort(self.low, kind="stable")
        self.low, self.high, self.rate = self.low[order], self.high[order], self.rate[order]
        self.has_lateral = bool((tier[a] == tier[b]).any())
        self._ends, self._rates = np.stack([a, b]), rate
        self._hosts: Array | None = None

    @property
    def hosts_relay(self) -> bool:
        """Whether hosts pass on what is for others, so that switches are joined through them."""
        return self._hosts is not None

    def with_hosts(self, ends: Array) -> _Upward:
        """The same with the links by which hosts that relay join what they touch."""
        self._hosts = ends
        return self

    def beyond(self, sets: list[Array]) -> list[tuple[Array, Array, Array]]:
        """For each set of switches the links that lead out of it in any direction, as (own switch, other, rate)."""
        ends = self._ends
        n = max(int(ends.max(initial=0)), *(int(s.max()) for s in sets)) + 1
        group = np.full(n, -1, np.int64)
        for i, switches in enumerate(sets):
            group[switches] = i
        own, other = np.concatenate([ends[0], ends[1]]), np.concatenate([ends[1], ends[0]])
        rate = np.concatenate([self._rates, self._rates])
        out = np.flatnonzero((group[own] >= 0) & (group[own] != group[other]))
        out = out[np.argsort(group[own[out]], kind="stable")]
        start = np.searchsorted(group[own[out]], np.arange(len(sets) + 1))
        picked = [out[start[i] : start[i + 1]] for i in range(len(sets))]
        return [(own[at], other[at], rate[at]) for at in picked]

    def parts(self, sets: list[Array]) -> Array:
        """Which sets of switches some path joins: a number for each, in the order they appear."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        first = np.array([switches[0] for switches in sets])
        own = np.concatenate([np.stack([np.full(len(s) - 1, s[0]), s[1:]]) for s in sets], axis=1)
        more = [] if self._hosts is None else [self._hosts]
        a, b = np.concatenate([self._ends, own, *more], axis=1)
        n = int(max(first.max(), a.max(initial=0), b.max(initial=0))) + 1
        _, label = connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)
        _, at, part = np.unique(label[first], return_index=True, return_inverse=True)
        return np.argsort(np.argsort(at))[part]

    def of(self, switches: Array) -> tuple[Array, Array, Array]:
        """(lower switch, upper switch, rate) of every uplink of some switches."""
        left, right = np.searchsorted(self.low, switches, "left"), np.searchsorted(self.low, switches, "right")
        at, _ = ranges(left, right - left)
        return self.low[at], self.high[at], self.rate[at]


def _levels(fabric: Fabric, up: _Upward, sets: list[Array]) -> Tree:
    """Fold level by level until one node is left, or nothing leads further up."""
    levels: list[Level] = []
    problems: list[str] = ["links inside a tier"] if up.has_lateral else []
    problems += ["hosts relay for each other"] if up.hosts_relay else []
    current, joined = sets, True
    while len(levels) < _MOST_LEVELS:
        found = [up.of(switches) for switches in current]
        above = [np.unique(high) for _, high, _ in found]
        lone = [i for i, high in enumerate(above) if not len(high)]
        is_last = len(lone) == len(current)
        parent, parents = _parents(current, above, problems)
        if is_last:
            if len(current) > 1:
                found, part = up.beyond(current), up.parts(current)
                above = [other for _, other, _ in found]
                joined, apart = not part.any(), len(np.unique(part)) == len(current)
                levels.append(_level(fabric, current, found, np.zeros_like(part) if joined or apart else part, above))
                if not joined and not apart:  # parts of several nodes each: a level of stand-ins that cost nothing
                    levels.append(_parts_level(levels[-1], part))
            break
        problems += [word for i, links in enumerate(found) if (word := _uneven(links, len(current[i])))]
        levels.append(_level(fabric, current, found, parent, above))
        current = parents
        if len(current) == 1 and not len(up.of(current[0])[1]):
            break
    if not levels:  # everything hangs on one set of switches
        found = [up.of(switches) for switches in current]
        levels.append(_level(fabric, current, found, np.zeros(len(current), np.int64), [f[1] for f in found]))
    unique = list(dict.fromkeys(problems))
    return Tree(tuple(levels), symmetric=not unique, joined=joined, why_not="; ".join(unique))


def _parents(current: list[Array], above: list[Array], problems: list[str]) -> tuple[Array, list[Array]]:
    """Parent of each node: nodes with the same upper switches; overlapping sets are joined, and noted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sets = [high if len(high) else current[i] for i, high in enumerate(above)]
    owner = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    members = np.concatenate(sets)
    values, index = np.unique(members, return_inverse=True)
    graph = coo_array(
        (np.ones(len(owner)), (owner, len(sets) + index)), shape=(len(sets) + len(values), len(sets) + len(values))
    )
    _, label = connected_components(graph, directed=False)
    _, first, parent = np.unique(label[: len(sets)], return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    parent = order[parent]
    parents = [np.unique(np.concatenate([sets[i] for i in np.flatnonzero(parent == p)])) for p in range(len(first))]
    if any(len(sets[i]) != len(parents[p]) for i, p in enumerate(parent.tolist())):
        problems.append("nodes that share some upper switches but not all")
    return parent, parents


def _uneven(links: tuple[Array, Array, Array], n_switches: int) -> str:
    """Why the uplinks of a node do not split evenly, or nothing."""
    low, _, rate = links
    if not len(low):
        return "switches without uplinks beside others that have some"
    each = np.unique(low, return_counts=True)[1]
    if len(each) != n_switches or (each != each[0]).any():
        return "switches of one group with different numbers of uplinks"
    if len(np.unique(np.nan_to_num(rate, nan=-1.0))) > 1:
        return "uplinks of different rates in one group"
    return ""


def _level(
    fabric: Fabric, sets: list[Array], found: list[tuple[Array, Array, Array]], parent: Array, above: list[Array]
) -> Level:
    return Level.of(
        _names(fabric, sets),
        parent,
        capacity_gbps=[float(rate.sum()) if len(rate) else np.nan for _, _, rate in found],
        uplinks=[len(rate) for _, _, rate in found],
        slowest_gbps=[float(rate.min()) if len(rate) else np.nan for _, _, rate in found],
        real=[len(high) > 0 for high in above],
    )


def _parts_level(below: Level, part: Array) -> Level:
    first = np.unique(part, return_index=True)[1]
    return Level.of(below.name[first], np.zeros(len(first), int), real=np.zeros(len(first), bool))


def _names(fabric: Fabric, sets: list[Array]) -> list[str]:
    """One switch gives its name; several their common pod where it tells groups apart, else first and last."""
    nodes = fabric.nodes
    pods = [set(nodes.pod.values(switches).tolist()) for switches in sets]
    single = [next(iter(pod)) if len(pod) == 1 and "" not in pod else "" for pod in pods]
    names = []
    for i, switches in enumerate(sets):
        if len(switches) == 1:
            names.append(str(nodes.name[switches[0]]))
        elif single[i] and single.count(single[i]) == 1:
            names.append(single[i])
        else:
            names.append(f"{nodes.name[switches[0]]}..{nodes.name[switches[-1]]}")
    return names
