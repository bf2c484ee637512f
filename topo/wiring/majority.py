"""Smaller rules learnt from the majority: rates, parts, islands, oversubscription, free ports."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.view.text import plural
from topo.wiring.cabling import Cabling
from topo.wiring.finding import finding, listed
from topo.wiring.learnt import BIG, MINN, SUPPORT, Learnt

__all__ = ["judge_majority", "judge_rates"]

_NARROWER = 1.5
_MORE = 3
_SLACK = 1e-6
_SMALL = 0.1
_GAPS = 4


def judge_majority(cabling: Cabling, learnt: Learnt) -> None:
    """Every check that differs from a majority and is no matter of pairs or rails, one function a fault."""
    judge_rates(cabling, learnt)
    _other_parts(cabling, learnt)
    _islands(cabling, learnt)
    _oversubscription(cabling, learnt)
    _radix_gaps(cabling, learnt)


def judge_rates(cabling: Cabling, learnt: Learnt) -> None:
    """Links slower than at least 80 % of those of the same pair of tiers, and of the same switches."""
    nodes = cabling.fabric.nodes
    host = nodes.host.codes[cabling.nic].astype(np.int64)
    box = np.where(host >= 0, len(nodes) + host, cabling.nic)
    single = np.bincount(box)[box] == 1
    # A lone adapter that is slow is a fault where all hosts have one, and another kind of machine elsewhere.
    judged = ~single if single.sum() < SUPPORT * len(box) else np.ones(len(box), bool)
    _slow_among(cabling, cabling.between, cabling.low, cabling.high, np.ones(len(cabling.low), bool), learnt)
    _slow_among(cabling, cabling.access, box, cabling.leaf, judged, learnt)


def _slow_among(
    cabling: Cabling,
    rows: NDArray[np.int64],
    near: NDArray[np.int64],
    far: NDArray[np.int64],
    judged: NDArray[np.bool_],
    learnt: Learnt,
) -> None:
    rate = cabling.fabric.links.capacity_gbps[rows]
    tier = np.append(cabling.tier, np.zeros(int(near.max(initial=0)) + 1, np.int64))
    tiers = tier[near] * 128 + tier[far]
    for group in np.unique(tiers).tolist():
        mine = np.flatnonzero((tiers == group) & ~np.isnan(rate) & judged)
        if len(mine) < BIG:
            continue
        values, times = np.unique(rate[mine], return_counts=True)
        usual = values[np.argmax(times)]
        what = f"links of tiers {group // 128} and {group % 128} at {usual:g} Gb/s"
        if not learnt.rule(what, int(times.max()), len(mine)):
            continue
        # A switch or host whose links are mostly slow is of another kind: no fault of the link.
        for i in mine[rate[mine] < usual * (1 - _SLACK)].tolist():
            if all(_is_usual(rate[mine][end[mine] == end[i]], usual) for end in (near, far)):
                link = int(rows[i])
                said = f"{rate[i]:g} Gb/s; {times.max():,} of {len(mine):,} like links run at {usual:g}"
                learnt.findings.append(finding("link-slow", learnt.link_text(link), said, at=cabling.place(link)))


def _is_usual(rates: NDArray[np.float64], usual: float) -> bool:
    return len(rates) < 2 or bool((rates >= usual * (1 - _SLACK)).sum() * 2 >= len(rates))


def _other_parts(cabling: Cabling, learnt: Learnt) -> None:
    """A switch of another part than at least 80 % of the switches of its tier, where it is one or two of them."""
    part = cabling.fabric.nodes.part
    for tier in range(1, int(cabling.tier.max(initial=0)) + 1):
        nodes = np.flatnonzero(cabling.is_switch & (cabling.tier == tier) & (part.codes >= 0))
        if len(nodes) < MINN:
            continue
        codes, times = np.unique(part.codes[nodes], return_counts=True)
        usual = codes[np.argmax(times)]
        if times.max() < SUPPORT * len(nodes):
            continue
        for code, n in zip(codes.tolist(), times.tolist(), strict=True):
            if code == usual or n > 2:
                continue
            for node in nodes[part.codes[nodes] == code].tolist():
                said = f"{part[node]}; {times.max():,} of {len(nodes):,} switches of its tier are {part.labels[usual]}"
                learnt.findings.append(finding("part-mismatch", str(cabling.fabric.nodes.name[node]), said))


def _islands(cabling: Cabling, learnt: Learnt) -> None:
    """Parts that neither cables nor shared hosts join to the largest; switches without any cable."""
    fabric = cabling.fabric
    n = len(fabric.nodes)
    a, b = fabric.link_a.astype(np.int64), fabric.link_b.astype(np.int64)
    host = fabric.nodes.host.codes.astype(np.int64)
    held = np.flatnonzero(host >= 0)
    size = n + len(fabric.nodes.host.labels)
    part = components(size, np.concatenate([a, held]), np.concatenate([b, n + host[held]]))
    ends = np.bincount(part[:n][fabric.nodes.is_endpoint], minlength=int(part.max(initial=0)) + 1)
    boxes = np.unique(np.concatenate([np.flatnonzero(cabling.is_switch), cabling.nic, cabling.leaf]))
    if not boxes.size:
        return
    main = int(np.argmax(np.bincount(part[boxes], minlength=len(ends))))
    islands: dict[int, list[int]] = defaultdict(list)
    for node in boxes[part[boxes] != main].tolist():
        islands[int(part[node])].append(node)
    total = len(boxes)
    if sum(map(len, islands.values())) > _SMALL * total and len(islands) <= 8:
        learnt.rules.append(f"{len(islands) + 1} parts that no cable joins are taken for networks of their own")
        return
    for nodes in islands.values():
        nodes.sort(key=lambda node: not cabling.is_switch[node])
        names = fabric.nodes.name[nodes]
        shown = ", ".join(names[:3].tolist()) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        count = f"{plural(len(nodes), 'device')}, {plural(int(ends[part[nodes[0]]]), 'endpoint')}"
        said = f"{count} that no cable joins to the other {total - len(nodes):,}"
        learnt.findings.append(finding("island", shown, said))


def _oversubscription(cabling: Cabling, learnt: Learnt) -> None:
    """Leaves with far more endpoints to an uplink than at least 80 % of the others, as they should be cabled."""
    n = len(cabling.fabric.nodes)
    up = np.bincount(cabling.low[cabling.tier[cabling.low] == 1], minlength=n)
    leaves = np.flatnonzero(cabling.is_switch & (cabling.tier == 1) & (cabling.n_endpoints > 0) & (up > 0))
    up += learnt.uplinks_changed()  # a leaf that lacks cables was said already
    leaves = leaves[up[leaves] > 0]
    if len(leaves) < 5:
        return
    ratio = cabling.n_endpoints[leaves] / up[leaves]
    usual = float(np.median(ratio))
    ends = cabling.n_endpoints[leaves]
    is_wide = (ratio >= _NARROWER * usual) & (ends >= np.median(ends) + _MORE)
    wide = leaves[is_wide & ~cabling.is_alone[leaves]]
    if not wide.size or wide.size > (1 - SUPPORT) * len(leaves):
        return
    for leaf in wide.tolist():
        own = cabling.n_endpoints[leaf] / up[leaf]
        count = f"{cabling.n_endpoints[leaf]} cables to hosts on {up[leaf]} uplinks"
        said = f"{count}, {own:.2f}:1; the median leaf has {usual:.2f}:1"
        learnt.findings.append(finding("oversubscription-unlike", str(cabling.fabric.nodes.name[leaf]), said))


def _radix_gaps(cabling: Cabling, learnt: Learnt) -> None:
    """Port numbers between the first and the last that no switch of a tier has, cabled or free: one to four of them.

    A port list with a hole in it, as device libraries have them; or a port that everybody leaves out.
    """
    fabric = cabling.fabric
    if not all(text.isdecimal() for text in fabric.ports.label.labels.tolist()):
        return
    for tier in range(1, int(cabling.tier.max(initial=0)) + 1):
        nodes = np.flatnonzero(cabling.is_switch & (cabling.tier == tier))
        if len(nodes) < MINN:
            continue
        there = np.unique(cabling.number[np.isin(fabric.ports.node, nodes)])
        gaps = np.setdiff1d(np.arange(there.min(initial=1), there.max(initial=0) + 1), there)
        if 0 < gaps.size <= _GAPS:
            said = f"{listed('port', gaps.tolist())} on none of {len(nodes):,} switches of this tier"
            learnt.findings.append(finding("radix-gap", f"switches of tier {tier}", said))
