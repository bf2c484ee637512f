"""Cables that are all slow at one device: one finding of the device, as one wrong setting or part does that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from topo.fabric import FORWARDS_ALL
from topo.wiring.cabling import KINDS
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Finding, finding

__all__ = ["slowed"]

_SLOW = ("link-slow", "rate-unlike-plan", "port-too-slow")
_FEWEST = 3
_FIX = "look at the speed that its ports are set to, at its part, and at what its cables have in common"


def slowed(comparison: Comparison, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those of slow cables told as one where they are all that a switch has to one tier, or to hosts.

    The switch with most of them is taken first. What a cable alone shows stays a finding of that cable.
    """
    told: list[Finding | None] = list(findings)
    for code in _SLOW:
        holder = {one.extra[0]: i for i, one in enumerate(findings) if one.code == code and len(one.extra) == 1}
        if len(holder) < _FEWEST:
            continue
        groups = _whole(comparison, set(holder))
        for node in sorted(groups, key=lambda node: (-len(groups[node]), node)):
            mine = [holder[row] for row in groups[node] if told[holder[row]] is not None]
            if len(mine) < _FEWEST:
                continue
            told[min(mine)] = _of_device(comparison, node, [findings[i] for i in sorted(mine)])
            for i in set(mine) - {min(mine)}:
                told[i] = None
    return [one for one in told if one is not None]


def _whole(comparison: Comparison, slow: set[int]) -> dict[int, list[int]]:
    """Slow cables of every switch, towards those tiers (or hosts) to which it has no other cable."""
    fabric = comparison.both
    full, tier = fabric.nodes.forwards == FORWARDS_ALL, fabric.nodes.tier.astype(np.int64)
    towards = np.where(full, tier, -1)
    sides: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in np.flatnonzero(comparison.found & fabric.links.kind.is_any(*KINDS)).tolist():
        a, b = int(fabric.link_a[row]), int(fabric.link_b[row])
        for near, far in ((a, b), (b, a)):
            if full[near]:
                sides[near, int(towards[far])].append(row)
    groups: dict[int, list[int]] = defaultdict(list)
    for (node, _), rows in sides.items():
        if slow.issuperset(rows):
            groups[node] += rows
    return groups


def _of_device(comparison: Comparison, node: int, symptoms: Sequence[Finding]) -> Finding:
    """One finding of the switch, at the first of its slow cables."""
    first = symptoms[0]
    rows = tuple(one.extra[0] for one in symptoms)
    fabric = comparison.both
    far = np.where(fabric.link_a[list(rows)] == node, fabric.link_b[list(rows)], fabric.link_a[list(rows)])
    is_switch = fabric.nodes.forwards[far] == FORWARDS_ALL
    to = "cables to switches" if is_switch.all() else "cables" if is_switch.any() else "cables to hosts"
    said = f"all its {len(rows)} {to} are slow, {first.place} as the first: {first.evidence}"
    name, at = str(fabric.nodes.name[node]), (first.source, first.line)
    return finding(first.code, name, said, at=at, fix=_FIX, extra=rows)
