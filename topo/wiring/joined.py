"""Planes, rails and pods that touch where they must not, or are apart where they must join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL
from topo.io.infer_tiers import components
from topo.wiring.codes import CODES
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Finding, finding

__all__ = ["judge_joined", "n_parts"]

_STRAYS = ("pair-unexpected", "same-tier-link", "tier-skip-link", "unplanned")


def judge_joined(comparison: Comparison, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those whose cables join parts that should be apart saying so; and parts that fell apart.

    Where one finding holds every cable that lacks between the parts, it says that they fell apart.
    Parts are those that cables between switches join; hosts join nothing here: rails and planes meet in them.
    """
    fabric = comparison.both
    full = fabric.nodes.forwards == FORWARDS_ALL
    between = full[fabric.link_a] & full[fabric.link_b]
    planned, found = (_parts(comparison, between & mask) for mask in (comparison.planned, comparison.found))
    result = [_touching(comparison, planned, between, one) for one in findings]
    apart = _apart(comparison, planned, found, between)
    if apart is None:
        return result
    torn = between & comparison.planned & ~comparison.found & (found[fabric.link_a] != found[fabric.link_b])
    for i, one in enumerate(result):
        if one.severity == "error" and set(np.flatnonzero(torn).tolist()) <= set(one.lacks):
            result[i] = replace(one, evidence=f"{one.evidence}; this leaves {apart.evidence.partition(';')[0]}")
            return result
    return [*result, apart]


def n_parts(comparison: Comparison, there: NDArray[np.bool_]) -> int:
    """Parts of two switches or more that cables between switches join, with just the cables ``there`` (a mask)."""
    fabric = comparison.both
    full = fabric.nodes.forwards == FORWARDS_ALL
    part = _parts(comparison, full[fabric.link_a] & full[fabric.link_b] & there)
    return int((np.bincount(part[full]) > 1).sum()) if full.any() else 0


def _parts(comparison: Comparison, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    fabric = comparison.both
    return components(len(fabric.nodes), fabric.link_a[mask], fabric.link_b[mask])


def _touching(comparison: Comparison, part: NDArray[np.int64], between: NDArray[np.bool_], one: Finding) -> Finding:
    fabric = comparison.both
    rows = np.array(one.extra, np.int64)
    rows = rows[between[rows]] if rows.size else rows
    size = np.bincount(part)
    a, b = part[fabric.link_a[rows]], part[fabric.link_b[rows]]
    # A switch alone in its part is one the plan does not have: nothing is joined by it.
    joins = (a != b) & (size[a] > 1) & (size[b] > 1)
    if not joins.any():
        return one
    row = int(rows[joins][0])
    names = fabric.nodes.name
    ends = f"{names[fabric.link_a[row]]} and {names[fabric.link_b[row]]}"
    said = f"{one.evidence}; {ends} are in parts that no other cable joins"
    if one.code in _STRAYS:
        return replace(one, code="planes-touch", severity=CODES["planes-touch"].severity, evidence=said,
                       fix=CODES["planes-touch"].fix)  # fmt: skip
    return replace(one, evidence=said)


def _apart(
    comparison: Comparison, planned: NDArray[np.int64], found: NDArray[np.int64], between: NDArray[np.bool_]
) -> Finding | None:
    """Parts that should be one and are several, more than planned, where each holds two switches at least."""
    fabric = comparison.both
    rows = np.flatnonzero(between & comparison.planned)
    nodes = np.unique(np.concatenate([fabric.link_a[rows], fabric.link_b[rows]]))
    size = np.bincount(found[nodes], minlength=int(found.max(initial=0)) + 1)
    nodes = nodes[size[found[nodes]] > 1]
    pairs = np.unique(np.stack([planned[nodes], found[nodes]]), axis=1)
    whole, times = np.unique(pairs[0], return_counts=True)
    split = whole[times > 1]
    if not split.size:
        return None
    pieces = pairs[1][np.isin(pairs[0], split)]
    if len(np.unique(pieces)) <= len(split):
        return None  # as many parts as planned, with other members: the cables that are exchanged say so themselves
    firsts = [str(fabric.nodes.name[nodes[found[nodes] == piece][0]]) for piece in pieces.tolist()]
    lacking = int((between & comparison.planned & ~comparison.found).sum())
    said = f"{len(pieces)} parts that should be {len(split)}; {lacking:,} cables between switches are missing"
    return finding("planes-apart", ", ".join(firsts[:4]), said)
