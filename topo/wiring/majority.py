"""Smaller rules learnt from the majority: rates, parts, islands, oversubscription, free ports."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import product

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.io.port_names import place_of_port
from topo.parts.switches import part_called
from topo.view.text import plural
from topo.wiring.cabling import BOTH_WAYS, Cabling
from topo.wiring.finding import finding, listed
from topo.wiring.kinds import kinds_of, stem
from topo.wiring.learnt import MINN, SUPPORT, Learnt
from topo.wiring.rates import judge_rates

__all__ = ["judge_majority"]

_NARROWER = 1.5
_MORE = 3
_SMALL = 0.1
_FEW_PARTS = 8
_GAPS = 4
_MOST_HOLES = 1000
_NUMBER = re.compile(r"\d+")
_LAST = re.compile(r"\D*\d+\Z")


def judge_majority(cabling: Cabling, learnt: Learnt) -> None:
    """Every check that differs from a majority and is no matter of pairs or rails, one function a fault."""
    judge_rates(cabling, learnt)
    _other_parts(cabling, learnt)
    _islands(cabling, learnt)
    _oversubscription(cabling, learnt)
    _radix_gaps(cabling, learnt)


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
                name, at = str(cabling.fabric.nodes.name[node]), cabling.first_place(node)
                lost = 0.0 if part_called(part[node]) else math.nan
                learnt.findings.append(finding("part-mismatch", name, said, at=at, lost_gbps=lost))


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
    torn = set()
    if not cabling.between.size and len(islands) > _FEW_PARTS:
        learnt.rules.append(f"no cable between switches: that its {len(islands) + 1:,} parts are apart is not judged")
        return
    if sum(map(len, islands.values())) > _SMALL * total and len(islands) <= _FEW_PARTS:
        torn = {key for key in islands if _is_torn_off(cabling, part[:n] == key, part[:n] == main)}
        if len(torn) < len(islands):
            own = len(islands) - len(torn) + 1
            learnt.rules.append(f"{own} parts that no cable joins are taken for networks of their own")
        islands = {key: islands[key] for key in torn}
    rate = np.where(fabric.nodes.is_endpoint[cabling.nic], fabric.links.capacity_gbps[cabling.access], 0.0)
    # What is sent to endpoints of the same part still gets there.
    leaves = (ends.sum() - ends) / max(ends.sum() - 1, 1)
    lost = BOTH_WAYS * np.bincount(part[cabling.nic], weights=rate, minlength=len(ends)) * leaves
    cabled, first = np.unique(part[a[cabling.links]], return_index=True)
    line = dict(zip(cabled.tolist(), cabling.links[first].tolist(), strict=True))
    for key, nodes in islands.items():
        nodes.sort(key=lambda node: not cabling.is_switch[node])
        names = fabric.nodes.name[nodes]
        shown = ", ".join(names[:3].tolist()) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        count = f"{plural(len(nodes), 'device')}, {plural(int(ends[key]), 'endpoint')}"
        said = f"{count} that no cable joins to the other {total - len(nodes):,}"
        said += "; its topmost switches have no uplink, their like there have one" if key in torn else ""
        at = cabling.place(line[key]) if key in line else ("", 0)
        learnt.findings.append(finding("island", shown, said, at=at, lost_gbps=float(lost[key])))


def _is_torn_off(cabling: Cabling, part: NDArray[np.bool_], main: NDArray[np.bool_]) -> bool:
    """Whether a part (a mask) is a piece of the main one: its kinds of switches, without the uplinks they have there.

    A plane, a rail or a network of its own has its top switches where the others have theirs, or switches of its own.
    Switches of another name without a cable between them are a piece where their hosts are of the main one's kinds.
    """
    if _is_stranded(cabling, part, main):
        return True
    kind = np.full(len(part), -1)
    kind[cabling.is_switch] = kinds_of(cabling.fabric.nodes.name[cabling.is_switch].tolist())
    part, main = part & cabling.is_switch, main & cabling.is_switch
    if kind.max(initial=0) == 0 or not part.any() or not np.isin(kind[part], kind[main]).all():
        return False
    has_up = np.bincount(cabling.low[cabling.tier[cabling.high] > cabling.tier[cabling.low]], minlength=len(part)) > 0
    top = part & (cabling.tier == cabling.tier[part].max())
    like = main & np.isin(kind, kind[top])
    return bool(like.sum() >= MINN and has_up[like].sum() >= SUPPORT * like.sum())


def _is_stranded(cabling: Cabling, part: NDArray[np.bool_], main: NDArray[np.bool_]) -> bool:
    """Whether hosts of the main part's kinds are on switches that no cable leads on from, as one leads from theirs."""
    fabric = cabling.fabric
    if part[cabling.low].any() or not part[cabling.nic].any():
        return False
    onward = np.zeros(len(part), bool)
    onward[cabling.low] = True
    theirs = cabling.leaf[main[cabling.leaf]]
    if onward[theirs].sum() < SUPPORT * max(1, len(theirs)):
        return False
    kinds = [set[str](), set[str]()]
    for names, mask in zip(kinds, (part, main), strict=True):
        rows = np.unique(cabling.nic[mask[cabling.nic]])
        pairs = zip(fabric.nodes.host.values(rows).tolist(), fabric.nodes.name[rows].tolist(), strict=True)
        names |= {stem(str(host or name)) for host, name in pairs}
    return kinds[0] <= kinds[1]


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
        lost = BOTH_WAYS * max(cabling.gbps_down(leaf) / max(1.0, usual) - cabling.gbps_up(leaf), 0.0)
        name, at = str(cabling.fabric.nodes.name[leaf]), cabling.first_place(leaf)
        learnt.findings.append(finding("oversubscription-unlike", name, said, at=at, lost_gbps=lost))


def _radix_gaps(cabling: Cabling, learnt: Learnt) -> None:
    """Ports between those that nearly all like switches of a tier have, on none of them cabled or free: one to four.

    A port list with a hole in it, as device libraries have them; or a port that everybody leaves out. Fewer than five
    switches tell it where their free ports are listed and the part has just as many ports as the list without holes.
    """
    ports, part = cabling.fabric.ports, cabling.fabric.nodes.part
    tiers = np.where(cabling.is_switch, cabling.tier, 0) * (len(part.labels) + 1) + part.codes + 1
    for group in np.unique(tiers[cabling.is_switch & (cabling.tier > 0)]).tolist():
        mine = np.flatnonzero((tiers == group)[ports.node] & (ports.label.codes >= 0))
        shapes: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
        for code in np.unique(ports.label.codes[mine]).tolist():
            shape, numbers = _in_numbers(str(ports.label.labels[code]))
            shapes[shape][code] = numbers
        shapes.pop("", None)
        for shape, numbers_of in shapes.items():
            rows = mine[np.isin(ports.label.codes[mine], list(numbers_of))]
            said = _gaps_said(cabling, rows, shape, numbers_of)
            if said:
                place = f"switches of tier {group // (len(part.labels) + 1)}"
                learnt.findings.append(finding("radix-gap", place, said))


def _gaps_said(cabling: Cabling, rows: NDArray[np.int64], shape: str, numbers_of: dict[int, tuple[int, ...]]) -> str:
    """What lacks among ports whose names have one form, '' for nothing; ``numbers_of`` each label's code."""
    ports = cabling.fabric.ports
    nodes = np.unique(ports.node[rows])
    codes, times = np.unique(ports.label.codes[rows], return_counts=True)
    usual = [numbers_of[code] for code in codes[times >= SUPPORT * len(nodes)].tolist()]
    there = set(numbers_of.values())
    gaps = [each for each in _holes(there) if usual and min(usual) < each < max(usual)]
    if not 0 < len(gaps) <= _GAPS:
        return ""
    total = len(there) + len(gaps)
    names = listed("port", [shape.format(*each) for each in gaps])
    said = f"{names} on none of {plural(len(nodes), 'switch')} of this tier"
    known = part_called(cabling.fabric.nodes.part[int(nodes[0])])
    if known and any(mode.n_ports == total for mode in known.modes) and not cabling.cabled[rows].all():
        return f"{said}; {len(there)} of the {total} ports of a {known.name} are named"
    return said if len(nodes) >= MINN else ""


def _in_numbers(label: str) -> tuple[str, tuple[int, ...]]:
    """The form of a switch port's name without its leg, and the numbers in it; '' for a name that tells no place.

    >>> _in_numbers("P22.1"), _in_numbers("swp17s0"), _in_numbers("mgmt")
    (('P{}.{}', (22, 1)), ('swp{}', (17,)), ('', ()))
    """
    place = place_of_port(label)
    if place.cage < 0:
        return "", ()
    whole = _LAST.sub("", label.strip()) if place.leg >= 0 else label.strip()
    return _NUMBER.sub("{}", whole), tuple(map(int, _NUMBER.findall(whole)))


def _holes(there: set[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """What lacks of a grid; lanes counted by fours are no holes.

    >>> _holes({(0, 0), (0, 1), (1, 1), (2, 0), (2, 1)}), _holes({(0,), (4,), (12,)})
    ([(1, 0)], [(8,)])
    """
    axes = [np.unique(axis) for axis in zip(*there, strict=True)]
    steps = [max(1, int(np.gcd.reduce(np.diff(axis), initial=0))) for axis in axes]
    lines = [range(int(axis[0]), int(axis[-1]) + 1, step) for axis, step in zip(axes, steps, strict=True)]
    if math.prod(map(len, lines)) > len(there) + _MOST_HOLES:
        return []
    return [each for each in product(*lines) if each not in there]
