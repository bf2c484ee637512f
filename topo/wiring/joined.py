"""Planes, rails and pods that touch where they must not, and parts that are cut off where they must join."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL
from topo.io.infer_tiers import components
from topo.view.text import natural_key, plural
from topo.wiring.codes import CODES
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Finding
from topo.wiring.kinds import named

__all__ = ["Piece", "n_parts", "parts_of", "pieces_of", "touching"]

_STRAYS = ("pair-unexpected", "same-tier-link", "tier-skip-link", "unplanned")


@dataclass(frozen=True)
class Piece:
    """Switches, two at least, that no cable found joins to the rest of their plane, and the planned cables that would.

    ``place`` names the first few, ``text`` says how many they are.
    """

    place: str
    text: str
    rows: tuple[int, ...]


def touching(comparison: Comparison, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those whose cables join parts that should be apart saying so.

    Parts are those that cables between switches join; hosts join nothing here: rails and planes meet in them.
    """
    between = _between(comparison)
    planned = parts_of(comparison, between & comparison.planned)
    return [_touching(comparison, planned, between, one) for one in findings]


def n_parts(comparison: Comparison, there: NDArray[np.bool_]) -> int:
    """Parts of two switches or more that cables between switches join, with just the cables ``there`` (a mask)."""
    full = comparison.both.nodes.forwards == FORWARDS_ALL
    part = parts_of(comparison, _between(comparison) & there)
    return int((np.bincount(part[full]) > 1).sum()) if full.any() else 0


def _between(comparison: Comparison) -> NDArray[np.bool_]:
    fabric = comparison.both
    full = fabric.nodes.forwards == FORWARDS_ALL
    between: NDArray[np.bool_] = full[fabric.link_a] & full[fabric.link_b]
    return between


def parts_of(comparison: Comparison, mask: NDArray[np.bool_], *, hosts_join: bool = False) -> NDArray[np.int64]:
    """Part of each node that the cables of a mask join, and the adapters of one host too if ``hosts_join``."""
    fabric = comparison.both
    a, b, n = fabric.link_a[mask], fabric.link_b[mask], len(fabric.nodes)
    if not hosts_join:
        return components(n, a, b)
    host = fabric.nodes.host.codes.astype(np.int64)
    held = np.flatnonzero(host >= 0)
    size = n + len(fabric.nodes.host.labels)
    return components(size, np.concatenate([a, held]), np.concatenate([b, n + host[held]]))[:n]


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


def pieces_of(comparison: Comparison, *, hosts_join: bool = False) -> list[Piece]:
    """What fell off each plane that should be one: all its parts of two switches or more but the largest.

    With ``hosts_join`` what fell off altogether: leaves that serve adapters of one host are of one part. As many parts
    as planned, with other members, are none: cables that are exchanged say so themselves.
    """
    fabric, between = comparison.both, _between(comparison)
    torn = between & comparison.planned & ~comparison.found
    if not torn.any():
        return []
    joining = np.ones(len(between), bool) if hosts_join else between
    planned, found = (
        parts_of(comparison, joining & mask, hosts_join=hosts_join) for mask in (comparison.planned, comparison.found)
    )
    rows = np.flatnonzero(between & comparison.planned)
    nodes = np.unique(np.concatenate([fabric.link_a[rows], fabric.link_b[rows]]))
    pairs, piece, size = np.unique(
        np.stack([planned[nodes], found[nodes]]), axis=1, return_inverse=True, return_counts=True
    )
    several = size > 1
    whole, times = np.unique(pairs[0, several], return_counts=True)
    split = np.isin(pairs[0], whole[times > 1]) & several
    if len(np.unique(pairs[1, split])) <= (times > 1).sum():
        return []
    of_node = np.full(len(fabric.nodes), -1)
    of_node[nodes] = piece.ravel()
    names = {i: sorted(map(str, fabric.nodes.name[of_node == i]), key=natural_key) for i in np.flatnonzero(split)}
    first, second = of_node[fabric.link_a], of_node[fabric.link_b]
    pieces: dict[int, list[Piece]] = defaultdict(list)
    for i in sorted(names, key=lambda i: (-size[i], names[i])):
        mine = tuple(np.flatnonzero(torn & ((first == i) != (second == i))).tolist())
        text = f"{plural(len(names[i]), 'switch')} ({named(names[i])})"
        pieces[int(pairs[0, i])].append(Piece(named(names[i]), text, mine))
    return [one for parts in pieces.values() for one in parts[1:]]
