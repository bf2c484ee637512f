"""Links slower than the like: single ones, and switches and hosts most of whose links are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.text import natural_key
from topo.wiring.cabling import Cabling, modes
from topo.wiring.finding import finding, listed
from topo.wiring.hosts import slot_labels
from topo.wiring.kinds import named
from topo.wiring.learnt import BIG, MINN, SUPPORT, Learnt

__all__ = ["judge_rates"]

_SLACK = 1e-6
_ALIKE = 3


@dataclass(eq=False)
class _Links:
    """Links of a pair of tiers whose rates are judged, and what they should run at.

    ``near`` and ``far`` are their ends: switches, or the boxes of hosts, which are numbered behind all nodes where a
    host is known.
    """

    what: str
    rows: NDArray[np.int64]
    near: NDArray[np.int64]
    far: NDArray[np.int64]
    rate: NDArray[np.float64]
    wanted: NDArray[np.float64]

    @property
    def slow(self) -> NDArray[np.bool_]:
        """Which of them run slower than they should."""
        mask: NDArray[np.bool_] = self.rate < self.wanted * (1 - _SLACK)
        return mask

    def said(self, i: int) -> str:
        """How many of the like run at the rate that one of them should have."""
        like = self.wanted == self.wanted[i]
        return f"{(self.rate == self.wanted)[like].sum():,} of {like.sum():,} like links run at {self.wanted[i]:g}"


@dataclass(eq=False)
class _Slow:
    """The links of one switch or host most of which are slow, of one pair of tiers or several."""

    what: str = ""
    links: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    runs: set[float] = field(default_factory=set)
    wanted: float = 0.0
    n_all: int = 0
    n_lone: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all its links are slow."""
        return len(self.links) == self.n_all

    def add(self, links: _Links, end: int, mine: Array) -> None:
        """Slow links of a pair of tiers, those of hosts with no other link counted apart."""
        total = int(((links.near == end) | (links.far == end)).sum())
        runs = np.unique(links.rate[mine]).tolist()
        rates = ", ".join(f"{gbps:g}" for gbps in runs)
        self.what = links.what
        self.links += links.rows[mine].tolist()
        self.said.append(f"{len(mine):,} of its {total:,} {links.what} run at {rates} Gb/s; {links.said(int(mine[0]))}")
        self.runs.update(runs)
        self.wanted = max(self.wanted, float(links.wanted[mine].max()))
        self.n_all += total
        self.n_lone += int((np.bincount(links.near)[links.near[mine]] == 1).sum())


def judge_rates(cabling: Cabling, learnt: Learnt) -> None:
    """Links slower than at least 80 % of those of the same pair of tiers, or of the same port of all switches.

    A switch or host most of whose links are slow is one finding; rules name those that are of another kind by design.
    Cables that stay dark for another finding are not judged.
    """
    dark = [row for one in learnt.findings for row in one.dark]
    lit, lit_access = (~np.isin(rows, dark) for rows in (cabling.between, cabling.access))
    nodes = cabling.fabric.nodes
    host = nodes.host.codes[cabling.nic].astype(np.int64)
    box = np.where(host >= 0, len(nodes) + host, cabling.nic)
    single = np.bincount(box)[box] == 1
    # A lone adapter that is slow is a fault where all hosts have one, and another kind of machine elsewhere.
    judged = lit_access & ~single if single.sum() < SUPPORT * len(box) else lit_access
    for rows, near, far, is_kind in (
        (cabling.between[lit], cabling.low[lit], cabling.high[lit], _is_other_switch),
        (cabling.access[judged], box[judged], cabling.leaf[judged], _is_other_machine),
    ):
        most: dict[int, _Slow] = defaultdict(_Slow)
        for links in _judged_links(cabling, rows, near, far, learnt):
            _say_single(cabling, links, learnt)
            for end, mine in _mostly_slow(links):
                most[end].add(links, end, mine)
        others = {end for end, one in most.items() if is_kind(cabling, end, most)}
        _say_others(cabling, {end: most[end] for end in others}, learnt)
        for end, one in most.items():
            if end not in others:
                _say_slow(cabling, end, one, learnt)


def _is_other_switch(cabling: Cabling, end: int, most: Mapping[int, _Slow]) -> bool:
    """Whether a switch is of another kind: alone by name, one of three that are slow throughout, or with slow hosts."""
    one, tier = most[end], cabling.tier
    if cabling.is_alone[end]:
        return True
    alike = [other for other, its in most.items() if tier[other] == tier[end] and its.is_whole and its.runs == one.runs]
    if one.is_whole and len(alike) >= _ALIKE:
        return True
    rate = cabling.fabric.links.capacity_gbps[cabling.access]
    mine, known = rate[cabling.leaf == end], rate[~np.isnan(rate)]
    mine = mine[~np.isnan(mine)]
    if not one.is_whole or not len(mine):
        return False
    values, times = np.unique(known, return_counts=True)
    return bool(np.median(mine) < values[np.argmax(times)] * (1 - _SLACK))


def _is_other_machine(cabling: Cabling, end: int, most: Mapping[int, _Slow]) -> bool:
    """Whether a host is slow throughout, or a leaf has mostly hosts of one adapter that are: other machines."""
    one = most[end]
    return (
        one.is_whole if end >= len(cabling.is_switch) or not cabling.is_switch[end] else 2 * one.n_lone > len(one.links)
    )


def _say_others(cabling: Cabling, others: Mapping[int, _Slow], learnt: Learnt) -> None:
    """A rule for each pair of tiers that names what is left out."""
    of_what: dict[str, list[int]] = defaultdict(list)
    for end, one in others.items():
        of_what[one.what].append(end)
    for what, ends in of_what.items():
        names = named(sorted((_name(cabling, end) for end in ends), key=natural_key))
        n = sum(len(others[end].links) for end in ends)
        learnt.rules.append(f"{what}: {n:,} slower ones of {names} are taken for another kind's, and not judged")


def _say_slow(cabling: Cabling, end: int, one: _Slow, learnt: Learnt) -> None:
    learnt.slow.update(dict.fromkeys(one.links, one.wanted))
    fix = f"reseat or change its {len(one.links):,} slow cables, or set their ports to {one.wanted:g} Gb/s"
    learnt.findings.append(
        finding("link-slow", _name(cabling, end), "; ".join(one.said), at=cabling.place(one.links[0]), fix=fix,
                extra=tuple(one.links))
    )  # fmt: skip


def _name(cabling: Cabling, end: int) -> str:
    nodes = cabling.fabric.nodes
    return str(nodes.name[end] if end < len(nodes) else nodes.host.labels[end - len(nodes)])


def _judged_links(cabling: Cabling, rows: Array, near: Array, far: Array, learnt: Learnt) -> Iterator[_Links]:
    """The links of each pair of tiers, where a rule tells their rates."""
    rate = cabling.fabric.links.capacity_gbps[rows]
    tier = np.append(cabling.tier, np.zeros(int(near.max(initial=0)) + 1, np.int64))
    tiers = tier[near] * 128 + tier[far]
    for group in np.unique(tiers).tolist():
        mine = np.flatnonzero((tiers == group) & ~np.isnan(rate))
        if len(mine) < BIG:
            continue
        values, times = np.unique(rate[mine], return_counts=True)
        usual = float(values[times == times.max()][-1])
        what = f"links of tiers {group // 128} and {group % 128}"
        wanted = np.full(len(mine), usual)
        regular: list[str] = []
        if np.isin(rows[mine], cabling.access).all():
            regular = _by_port(cabling, rows[mine], rate[mine], what, wanted)
        plain = wanted == usual
        agree = int((rate[mine] == usual)[plain].sum())
        if not learnt.rule(f"{what} at {usual:g} Gb/s", agree, int(plain.sum())):
            said = f"{times.max():,} of {len(mine):,} at {usual:g} Gb/s, the most at one rate"
            learnt.rules.append(f"{what} are not judged by their rates: {said}")
            continue
        learnt.rules += regular
        yield _Links(what, rows[mine], near[mine], far[mine], rate[mine], wanted)


def _by_port(cabling: Cabling, rows: Array, rate: Array, what: str, wanted: NDArray[np.float64]) -> list[str]:
    """Rates of one port of nearly all leaves, or one adapter of nearly all hosts: by design, written to ``wanted``.

    Returned are the rules of those that differ from the usual rate.
    """
    at = np.searchsorted(cabling.access, rows)
    texts = slot_labels(cabling)
    labels, slot = np.unique(np.array([texts[i] for i in at.tolist()], np.str_), return_inverse=True)
    number, leaf = cabling.number[cabling.leaf_port[at]], cabling.leaf[at]
    values, code = np.unique(rate, return_inverse=True)
    usual = float(wanted[0])
    rules = []
    for word, group, one in (("port", number, leaf), ("adapter", slot.ravel(), np.arange(len(at)))):
        keys, of_key = np.unique(group, return_inverse=True)
        common, times = modes(of_key, code.ravel(), len(keys))
        size = np.bincount(of_key)
        n_each = np.bincount(np.unique(np.stack([of_key, one]), axis=1)[0], minlength=len(keys))
        is_rule = (times >= SUPPORT * size) & (n_each >= MINN) & (values[common] != usual) & (keys >= 0)
        is_rule &= len(keys) > 1
        for gbps in np.unique(values[common[is_rule]]).tolist():
            of_rate = np.flatnonzero(is_rule & (values[common] == gbps))
            mine = np.isin(of_key, of_rate)
            wanted[mine & (wanted == usual)] = gbps
            if word == "port":
                first = [int(np.argmax(of_key == i)) for i in of_rate[:8].tolist()]
                names = [str(cabling.fabric.ports.label[int(cabling.leaf_port[at[i]])]) for i in first]
            else:
                names = [str(labels[keys[i]]) for i in of_rate[:8].tolist()]
            more = ", ..." if len(of_rate) > 8 else ""
            agree = int((rate[mine] == gbps).sum())
            which = f"{'on' if word == 'port' else 'of'} {listed(word, names)}{more}"
            rules.append(f"{what} {which} at {gbps:g} Gb/s: {agree:,}/{mine.sum():,} agree")
    return rules


def _most(end: Array, slow: Array) -> NDArray[np.bool_]:
    """Which ends have two links or more, and most of them slow."""
    n, total = np.bincount(end, weights=slow), np.bincount(end)
    mask: NDArray[np.bool_] = (2 * n > total) & (total > 1)
    return mask


def _say_single(cabling: Cabling, links: _Links, learnt: Learnt) -> None:
    """A finding for each slow link between ends that have most of theirs at the usual rate."""
    lone = links.slow & ~_most(links.near, links.slow)[links.near] & ~_most(links.far, links.slow)[links.far]
    for i in np.flatnonzero(lone).tolist():
        link = int(links.rows[i])
        learnt.slow[link] = float(links.wanted[i])
        said, place = f"{links.rate[i]:g} Gb/s; {links.said(i)}", learnt.link_text(link)
        learnt.findings.append(finding("link-slow", place, said, at=cabling.place(link), extra=(link,)))


def _mostly_slow(links: _Links) -> list[tuple[int, NDArray[np.int64]]]:
    """Ends most of whose links are slow, those with most first, and their slow links that are told with no other."""
    left = links.slow.copy()
    told: list[tuple[int, NDArray[np.int64]]] = []
    most = [set(np.flatnonzero(_most(end, links.slow)).tolist()) for end in (links.near, links.far)]
    while True:
        n = [np.bincount(end, weights=left) for end in (links.near, links.far)]
        open_to = [(int(n[side][end]), -end, side) for side in (0, 1) for end in most[side] if n[side][end]]
        if not open_to:
            return told
        _, end, side = max(open_to)
        mine = np.flatnonzero(left & ((links.near, links.far)[side] == -end))
        told.append((-end, mine))
        left[mine] = False
