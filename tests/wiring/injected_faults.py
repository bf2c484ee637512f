"""Faults put into good fabrics, without overlap, and the score of what a validation says of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from topo.fabric import Fabric
from topo.io.infer_tiers import Wiring, switch_tiers
from topo.table import Labels
from topo.wiring import Validation
from topo.wiring.cabling import Cabling

SWITCH_KINDS = ("missing", "bundle", "move", "swap")
HOST_KINDS = ("railswap", "nicmissing", "unitcross")
CODES = {
    "missing": "missing",
    "bundle": "missing",
    "move": "miswired",
    "swap": "swapped",
    "railswap": "swapped",
    "nicmissing": "missing",
    "unitcross": "swapped",
}


@dataclass(frozen=True)
class Injected:
    """A damaged fabric and the faults in it: kind and the links of the good fabric that it touched."""

    fabric: Fabric
    faults: tuple[tuple[str, frozenset[int]], ...]


def as_read(fabric: Fabric) -> Fabric:
    """What a reader would know: no rails, pods or planes, tiers inferred from the wiring."""
    n = len(fabric.nodes)
    none = Labels.constant(None, n)
    tier = switch_tiers(Wiring.of(fabric)).astype(np.int8)
    nodes = replace(fabric.nodes, tier=tier, rail=none, pod=none, plane=none, local_index=np.full(n, -1, np.int16))
    return replace(fabric, nodes=nodes)


class _Bench:
    """The cables of a fabric, ports that can be re-plugged, and what was touched already."""

    def __init__(self, fabric: Fabric, rng: np.random.Generator) -> None:
        self.fabric, self.rng, self.side = fabric, rng, Cabling.of(fabric)
        self.port_a = fabric.links.port_a.astype(np.int64).copy()
        self.port_b = fabric.links.port_b.astype(np.int64).copy()
        self.gone: set[int] = set()
        self.used: set[int] = set()
        self.used_pairs: set[tuple[int, int]] = set()
        self.hosts_used: set[int] = set()
        self.host = fabric.nodes.host.codes[self.side.nic]
        # Where some adapters have a rail, those without have no leaf of their own: storage takes leaves in sequence.
        self.railed = fabric.nodes.rail.codes[self.side.nic] >= 0
        if not self.railed.any():
            self.railed[:] = True
        known = self.railed & (self.host >= 0)
        self.railed = known & (np.bincount(self.host[known], minlength=self.host.max(initial=0) + 1)[self.host] >= 2)
        self.hosts = np.unique(self.host[self.railed]).tolist()
        free = np.flatnonzero(~self.side.cabled & self.side.is_switch[fabric.ports.node])
        self.free: dict[int, list[int]] = {}
        for port in free.tolist():
            self.free.setdefault(int(fabric.ports.node[port]), []).append(port)

    def pair(self, link: int) -> tuple[int, int]:
        a, b = int(self.fabric.link_a[link]), int(self.fabric.link_b[link])
        return min(a, b), max(a, b)

    def switch_link(self) -> int | None:
        for _ in range(200):
            link = int(self.rng.choice(self.side.between))
            if link not in self.used and self.pair(link) not in self.used_pairs:
                return link
        return None

    def take(self, *links: int) -> frozenset[int]:
        self.used.update(links)
        self.used_pairs.update(self.pair(link) for link in links)
        return frozenset(links)

    def high_is_b(self, link: int) -> bool:
        return bool(self.side.tier[self.fabric.link_b[link]] > self.side.tier[self.fabric.link_a[link]])

    def swap_ends(self, one: int, other: int, one_b: bool, other_b: bool) -> None:
        ends = [self.port_b if flag else self.port_a for flag in (one_b, other_b)]
        ends[0][one], ends[1][other] = ends[1][other], ends[0][one]

    def missing(self) -> frozenset[int] | None:
        link = self.switch_link()
        if link is None:
            return None
        self.gone.add(link)
        return self.take(link)

    def bundle(self) -> frozenset[int] | None:
        link = self.switch_link()
        if link is None:
            return None
        a, b = self.pair(link)
        ends = np.stack([self.fabric.link_a[self.side.between], self.fabric.link_b[self.side.between]])
        mine = self.side.between[(ends.min(axis=0) == a) & (ends.max(axis=0) == b)].tolist()
        self.gone.update(mine)
        return self.take(*mine)

    def move(self) -> frozenset[int] | None:
        link = self.switch_link()
        if link is None:
            return None
        end = bool(self.rng.integers(2))
        mine, kept = (self.fabric.link_b, self.fabric.link_a) if end else (self.fabric.link_a, self.fabric.link_b)
        tier = self.side.tier[mine[link]]
        for node in self.rng.permutation(list(self.free)).tolist():
            pair = min(node, int(kept[link])), max(node, int(kept[link]))
            if self.side.tier[node] == tier and node != mine[link] and self.free[node] and pair not in self.used_pairs:
                (self.port_b if end else self.port_a)[link] = self.free[node].pop()
                self.used_pairs.add(pair)
                return self.take(link)
        return None

    def swap(self) -> frozenset[int] | None:
        one = self.switch_link()
        if one is None:
            return None
        for _ in range(200):
            other = self.switch_link()
            if other is None:
                return None
            # Two cables without a common switch exchange their upper ends.
            if set(self.pair(one)) & set(self.pair(other)):
                continue
            flags = self.high_is_b(one), self.high_is_b(other)
            low = [int((self.fabric.link_a if flag else self.fabric.link_b)[link])
                   for flag, link in zip(flags, (one, other), strict=True)]  # fmt: skip
            high = [int((self.fabric.link_b if flag else self.fabric.link_a)[link])
                    for flag, link in zip(flags, (one, other), strict=True)]  # fmt: skip
            crossed = [tuple(sorted((low[0], high[1]))), tuple(sorted((low[1], high[0])))]
            if self.side.tier[high[0]] != self.side.tier[high[1]] or any(pair in self.used_pairs for pair in crossed):
                continue
            self.swap_ends(one, other, *flags)
            self.used_pairs.update(crossed)
            return self.take(one, other)
        return None

    def _host_links(self, host: int) -> list[int]:
        return self.side.access[self.railed & (self.host == host)].tolist()

    def _fresh_host(self) -> int | None:
        left = [code for code in self.hosts if code not in self.hosts_used]
        return int(self.rng.choice(left)) if left else None

    def railswap(self) -> frozenset[int] | None:
        host = self._fresh_host()
        links = self._host_links(host) if host is not None else []
        if len(links) < 2:
            return None
        one, other = self.rng.choice(links, 2, replace=False).tolist()
        if self._leaf(one) == self._leaf(other):
            return None
        self.hosts_used.add(host)
        self.swap_ends(one, other, self._leaf_is_b(one), self._leaf_is_b(other))
        return self.take(one, other)

    def _leaf_is_b(self, link: int) -> bool:
        return bool(self.side.is_switch[self.fabric.link_b[link]])

    def _leaf(self, link: int) -> int:
        return int((self.fabric.link_b if self._leaf_is_b(link) else self.fabric.link_a)[link])

    def nicmissing(self) -> frozenset[int] | None:
        host = self._fresh_host()
        links = self._host_links(host) if host is not None else []
        if len(links) < 2:
            return None
        self.hosts_used.add(host)
        link = int(self.rng.choice(links))
        self.gone.add(link)
        return self.take(link)

    def unitcross(self) -> frozenset[int] | None:
        for _ in range(50):
            host = self._fresh_host()
            if host is None:
                return None
            self.hosts_used.add(host)
            other = self._fresh_host()
            self.hosts_used.discard(host)
            if other is None:
                return None
            a, b = self._host_links(host), self._host_links(other)
            if len(a) < 2 or len(b) < 2 or {self._leaf(x) for x in a} & {self._leaf(x) for x in b}:
                continue
            one, two = int(self.rng.choice(a)), int(self.rng.choice(b))
            self.hosts_used |= {host, other}
            self.swap_ends(one, two, self._leaf_is_b(one), self._leaf_is_b(two))
            return self.take(one, two)
        return None

    def result(self) -> Fabric:
        links = replace(self.fabric.links, port_a=self.port_a, port_b=self.port_b)
        damaged = replace(self.fabric, links=links)
        return damaged.without(links=sorted(self.gone)) if self.gone else damaged


def inject(fabric: Fabric, n: int, seed: int, kinds: tuple[str, ...]) -> Injected:
    """``n`` faults of random kinds that share no cable, pair or host."""
    bench = _Bench(fabric, np.random.default_rng(seed))
    faults = []
    for _ in range(20 * n):
        if len(faults) == n:
            break
        kind = str(bench.rng.choice(kinds))
        links = getattr(bench, kind)()
        if links is not None:
            faults.append((kind, links))
    return Injected(bench.result(), tuple(faults))


def pair_counts(fabric: Fabric, links: np.ndarray) -> Counter[tuple[int, int]]:
    """Cables of each pair of nodes."""
    a, b = fabric.link_a[links], fabric.link_b[links]
    return Counter(zip(np.minimum(a, b).tolist(), np.maximum(a, b).tolist(), strict=True))


def true_items(good: Fabric, damaged: Fabric) -> set[tuple]:
    """Pairs of switches and hosts that differ: the least difference, whatever was injected."""
    one, other = (pair_counts(f, Cabling.of(f).links) for f in (good, damaged))
    return _items(good, {pair for pair in one.keys() | other.keys() if one[pair] != other[pair]})


def _items(fabric: Fabric, pairs: set[tuple[int, int]]) -> set[tuple]:
    is_switch = Cabling.of(fabric).is_switch
    items: set[tuple] = set()
    for a, b in pairs:
        if is_switch[a] and is_switch[b]:
            items.add(("pair", a, b))
        else:
            nic = b if is_switch[a] else a
            items.add(("host", fabric.nodes.host[nic] or str(fabric.nodes.name[nic])))
    return items


def said_items(answer: Validation) -> set[tuple]:
    """Pairs and hosts that the findings above note speak of."""
    comparison = answer.comparison
    both = comparison.both
    rows = [row for one in answer.findings if one.severity != "note" for row in (*one.lacks, *one.extra)]
    found, planned = (
        pair_counts(both, np.array([row for row in rows if mask[row]], int))
        for mask in (comparison.found, comparison.planned)
    )
    items = _items(both, {pair for pair in found.keys() | planned.keys() if found[pair] != planned[pair]})
    for one in answer.findings:
        if one.code == "nic-missing":
            items.add(("host", one.place.split(" ")[0]))
        if one.severity != "note" and not (one.lacks or one.extra) and one.code != "nic-missing":
            items.add((one.code, one.place))
    return items


def precision_recall(truth: set, said: set) -> tuple[float, float]:
    """Part of what is said that is true, part of what is true that is said."""
    hit = len(truth & said)
    return (hit / len(said) if said else 1.0), (hit / len(truth) if truth else 1.0)
