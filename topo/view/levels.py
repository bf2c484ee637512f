"""Hosts that relay for each other over levels of switches, BCube's way: hosts below, a row of switches a level."""

from __future__ import annotations

import numpy as np

from topo.view.canvas import Canvas
from topo.view.relays import Relays
from topo.view.text import plural

__all__ = ["draw_levels"]

_MOST_HOSTS = 81
_LEFT, _RIGHT = 120.0, 980.0
_GAP = 120.0


def draw_levels(relays: Relays) -> tuple[Canvas, str, tuple[str, ...]] | None:
    """The first hosts, and those switches of each level that join at least two of them."""
    fabric = relays.fabric
    switch, host = relays.to_switches
    if not len(switch):
        return None
    shown = _shown(relays)
    mine = host < shown
    chosen, count = np.unique(switch[mine], return_counts=True)
    chosen = chosen[count > 1]
    level = fabric.nodes.plane.codes[chosen].astype(np.int64)
    levels = np.unique(level)
    canvas = Canvas()
    x_host = _LEFT + (np.arange(shown) + 0.5) * (_RIGHT - _LEFT) / shown
    y_host = 30 + _GAP * len(levels)
    marked = _marked_pairs(relays)
    for i, code in enumerate(levels.tolist()):
        rows = chosen[level == code]
        y = y_host - _GAP * (i + 1)
        label = str(fabric.nodes.plane.labels[code]) if code >= 0 else "switches"
        canvas.text(12, y + 4, label, "h", most=14)
        x = _LEFT + (np.arange(len(rows)) + 0.5) * (_RIGHT - _LEFT) / len(rows)
        for place, row in zip(x.tolist(), rows.tolist(), strict=True):
            for one in host[(switch == row) & mine].tolist():
                bold = (row, one) in marked
                canvas.line(place, y, x_host[one], y_host, "c" if bold else "f")
            canvas.dot(place, y, 7, str(fabric.nodes.name[row]), f"t{min(i + 1, 3)}")
    for one, place in enumerate(x_host.tolist()):
        canvas.dot(place, y_host, min(6.0, 380 / shown), relays.name(one), "t0")
    canvas.text(12, y_host + 4, "hosts", "h")
    canvas.height = y_host + 16
    many = len(np.unique(fabric.nodes.plane.codes[np.unique(switch)]))
    n_switches = len(np.unique(switch))
    alt = (
        f"{plural(len(relays), 'host')} that relay for each other, under {plural(many, 'level')} of switches, "
        f"{n_switches:,} in all."
    )
    notes = ["Each host has a link to one switch of every level; each line is one link."]
    if shown < len(relays):
        notes.append(
            f"Shown are the first {shown:,} of {len(relays):,} hosts and the levels that join them; "
            "further levels join such blocks the same way."
        )
    return canvas, alt, tuple(notes)


def _shown(relays: Relays) -> int:
    """As many of the first hosts as whole blocks of switches hold, at most 81."""
    n = len(relays)
    if n <= _MOST_HOSTS:
        return n
    switch, _ = relays.to_switches
    size = int(np.bincount(switch).max())
    block = size
    while block * size <= _MOST_HOSTS:
        block *= size
    return min(max(block, 2), n) if block <= _MOST_HOSTS else _MOST_HOSTS


def _marked_pairs(relays: Relays) -> set[tuple[int, int]]:
    """Nothing between hosts and switches is in ``relays.link``: found again by the ends of the marked links."""
    fabric = relays.fabric
    number = {int(row): i for i, row in enumerate(relays.rows)}
    pairs = set()
    for link in np.flatnonzero(relays.every_marked).tolist():
        a, b = int(fabric.link_a[link]), int(fabric.link_b[link])
        for switch, host in ((a, b), (b, a)):
            if host in number and switch not in number:
                pairs.add((switch, number[host]))
    return pairs
