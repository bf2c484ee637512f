"""Hosts, the ranks of their adapters, the units their leaves form, and the slots they take on the leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.table import Array
from topo.view.text import natural_key
from topo.wiring.cabling import Cabling, modes

__all__ = ["Seats", "seats_of", "slot_labels"]

_FEWEST = 3
_USUAL = 0.3
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, eq=False)
class Seats:
    """The cables of hosts that have the usual set of adapters, or part of it.

    ``row`` is the place in ``Cabling.access``; ``host`` numbers the hosts, ``group`` the sets of adapters of one size,
    ``rank`` the place of the adapter in its full set. ``unit`` is that of each host, ``unit_of_leaf`` of each node
    (-1: none); ``name`` names the hosts, ``full`` how many adapters each should have, ``labels[group]`` those names.
    """

    row: NDArray[np.int64]
    host: NDArray[np.int64]
    rank: NDArray[np.int64]
    leaf: NDArray[np.int64]
    group: NDArray[np.int64]
    name: tuple[str, ...]
    full: NDArray[np.int64]
    unit: NDArray[np.int64]
    unit_of_leaf: NDArray[np.int64]
    n_units: int
    n_other: int
    labels: tuple[tuple[str, ...], ...]

    @property
    def n_hosts(self) -> int:
        """How many hosts there are."""
        return len(self.name)

    def group_of_host(self) -> NDArray[np.int64]:
        """Group of each host."""
        group = np.zeros(self.n_hosts, np.int64)
        group[self.host] = self.group
        return group


def slot_labels(cabling: Cabling) -> list[str]:
    """What each cable to a host is plugged into, inside the host: the adapter's name, and its port if it has several.

    The adapter's name is what its node's name says beyond the host's. Where most adapters of like names hold several
    cables, one that holds a single one is told with its port too: the other cable may be what lacks.
    """
    nodes, ports = cabling.fabric.nodes, cabling.fabric.ports
    rows, back = np.unique(cabling.nic, return_inverse=True)
    used = np.bincount(back, minlength=len(rows))
    said = []
    for row in rows.tolist():
        host, name = nodes.host[row], str(nodes.name[row])
        said.append(name[len(host) :].strip(" -_/:.") if host and name.startswith(host) else "")
    labels = ports.label.values(cabling.nic_port).tolist()
    _, shape = np.unique([_DIGITS.sub("#", text) for text in said], return_inverse=True)
    is_single = 2 * np.bincount(shape, weights=used == 1) > np.bincount(shape) if len(rows) else used == 1
    return [
        said[i] if used[i] == 1 and is_single[shape[i]] and said[i] else "/".join(filter(None, (said[i], label)))
        for i, label in zip(back.tolist(), labels, strict=True)
    ]


def seats_of(cabling: Cabling) -> Seats | None:
    """The seats of hosts with the usual adapters; None where no host is known to have several.

    A scheme is an adapter's name without its digits. In each, the commonest full set of names (at least three hosts
    and 30 % of them) gives the ranks, in natural order; hosts with at least half of it, and nothing else, count.
    """
    host = cabling.fabric.nodes.host.codes[cabling.nic].astype(np.int64)
    texts = slot_labels(cabling)
    usable = (host >= 0) & np.array([bool(text) for text in texts], bool)
    at = np.flatnonzero(usable)
    if not at.size:
        return None
    names, label = np.unique(np.array([texts[i] for i in at.tolist()]), return_inverse=True)
    schemes, scheme = np.unique([_DIGITS.sub("#", text) for text in names.tolist()], return_inverse=True)
    _, entity = np.unique(host[at] * len(schemes) + scheme[label], return_inverse=True)
    order = np.lexsort((label, entity))
    at, label, entity = at[order], label[order], entity[order]
    doubled = np.zeros(int(entity.max()) + 1, bool)
    doubled[entity[1:][(entity[1:] == entity[:-1]) & (label[1:] == label[:-1])]] = True
    rank, full, scheme_of = _ranks(entity, label, scheme, doubled, names)
    kept = rank >= 0
    if not kept.any():
        return None
    old, number = np.unique(entity[kept], return_inverse=True)
    n_other = int(len(full) - len(old))
    first = np.unique(number, return_index=True)[1]
    host_of = host[at[kept]][first]
    sizes, group = np.unique(full[old], return_inverse=True)
    rows = at[kept]
    unit_of_leaf = _units(number, cabling.leaf[rows], len(cabling.fabric.nodes), len(old))
    unit = modes(number, unit_of_leaf[cabling.leaf[rows]], len(old))[0]
    host_names = cabling.fabric.nodes.host.labels[host_of].tolist()
    labels = tuple(_names_of(scheme_of, full, int(size), names) for size in sizes)
    return Seats(
        rows, number, rank[kept], cabling.leaf[rows], group[number], tuple(host_names), full[old], unit,
        unit_of_leaf, int(unit_of_leaf.max(initial=-1)) + 1, n_other, labels,
    )  # fmt: skip


def _ranks(
    entity: Array, label: Array, scheme: Array, doubled: Array, names: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, NDArray[np.int64]]]:
    """Rank of each seat (-1: of no class), size of each entity's full set (0: none), the full set of each scheme."""
    n = len(doubled)
    random = np.random.default_rng(0).integers(1, 2**63, len(names), dtype=np.uint64)
    code = np.zeros(n, np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(code, entity, random[label])
    size = np.bincount(entity, minlength=n)
    scheme_of = np.zeros(n, np.int64)
    scheme_of[entity] = scheme[label]
    rank, full = np.full(len(entity), -1), np.zeros(n, np.int64)
    sets: dict[int, NDArray[np.int64]] = {}
    for one in np.unique(scheme_of).tolist():
        mine = np.flatnonzero((scheme_of == one) & ~doubled)
        sets_of, first, times = np.unique(code[mine], return_index=True, return_counts=True)
        best = np.lexsort((size[mine[first]], times))[-1] if len(sets_of) else -1
        if best < 0 or times[best] < max(_FEWEST, _USUAL * len(mine)) or size[mine[first[best]]] < 2:
            continue
        members = label[entity == mine[first[best]]]
        ordered = np.array(sorted(members.tolist(), key=lambda i: natural_key(str(names[i]))), np.int64)
        place = np.full(len(names), -1)
        place[ordered] = np.arange(len(ordered))
        own = np.zeros(n, bool)
        own[mine] = True
        seat = own[entity]
        inside = np.bincount(entity[seat], weights=place[label[seat]] >= 0, minlength=n)
        own &= (inside == size) & (2 * size >= len(ordered))
        rank[own[entity]] = place[label[own[entity]]]
        full[own] = len(ordered)
        sets[one] = ordered
    return rank, full, sets


def _names_of(sets: dict[int, NDArray[np.int64]], full: Array, size: int, names: Array) -> tuple[str, ...]:
    """Names of the ranks of a group, those of several schemes together: ``HCA-1 or mlx5_0``."""
    alike = [ordered for ordered in sets.values() if len(ordered) == size]
    return tuple(" or ".join(str(names[ordered[rank]]) for ordered in alike) for rank in range(size))


def _units(host: Array, leaf: Array, n: int, n_hosts: int) -> NDArray[np.int64]:
    """Unit of every leaf: leaves that share more than half of the adapters of the hosts on the lesser one.

    With w the adapters of a host on a leaf, leaves a and b are one unit where
    ``sum over hosts of min(w(a), w(b)) > 0.5 min(sum w(a), sum w(b))``. Adapters are counted, not hosts: one exchanged
    cable between two top-of-rack leaves would join them otherwise. A leaf with several adapters of one host, and
    nobody else's, is no unit with one of several hosts: where leaves are filled host by host the last ends so.
    """
    from scipy.sparse import csr_array

    pairs, weight = np.unique(np.stack([host, leaf]), axis=1, return_counts=True)
    shared = csr_array((n, n), dtype=np.int64)
    for copy in range(1, int(weight.max(initial=0)) + 1):
        more = weight >= copy
        part = csr_array((np.ones(int(more.sum()), np.int64), (pairs[0, more], pairs[1, more])), shape=(n_hosts, n))
        shared = csr_array(shared + part.T @ part)
    total = np.bincount(leaf, minlength=n)
    pairs_of = shared.tocoo()
    joined = 2 * pairs_of.data > np.minimum(total[pairs_of.row], total[pairs_of.col])
    is_rest = (np.bincount(pairs[1], minlength=n) == 1) & (total > 1)
    joined &= is_rest[pairs_of.row] == is_rest[pairs_of.col]
    part_of = components(n, pairs_of.row[joined], pairs_of.col[joined])
    unit = np.full(n, -1)
    leaves = np.flatnonzero(total)
    unit[leaves] = np.unique(part_of[leaves], return_inverse=True)[1]
    return unit
