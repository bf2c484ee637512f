"""Which boxes belong together: a unit with its hosts and leaves, a leaf with its hosts, spines of one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import SWITCH_WORDS, Boxes
from topo.design.rules import RackRules
from topo.document import nearest
from topo.errors import ParameterError
from topo.table import Array, glob_mask

__all__ = ["Cell", "cells_of"]


@dataclass(frozen=True, eq=False)
class Cell:
    """Boxes that are racked side by side: ``named`` racks, ``groups`` of hosts with the leaf on top of them, each
    whole in one rack, ``hosts`` in order, ``switches`` in racks of their own. ``name`` is that of the one rack of a
    cell that has a given name.
    """

    name: str = ""
    named: list[Cell] = field(default_factory=list)
    groups: list[NDArray[np.int64]] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)
    switches: list[int] = field(default_factory=list)
    where: str = "end_of_row"
    word: str = ""


def cells_of(boxes: Boxes, rules: RackRules, power: Array) -> tuple[list[Cell], list[Cell]]:
    """The cells of hosts in the order of their hosts, and those of the switches and managers that serve all."""
    named = _named_racks(boxes, rules)
    free = np.array([not name for name in named], bool)
    above = boxes.is_switch
    of_access = above[boxes.a] != above[boxes.b]
    host = np.where(above[boxes.a], boxes.b, boxes.a)[of_access]
    leaf = np.where(above[boxes.a], boxes.a, boxes.b)[of_access]
    computing = np.array([word == "host" for word in boxes.word], bool)
    host, leaf = host[computing[host]], leaf[computing[host]]
    cell_of = _cell_numbers(boxes, host, leaf, computing)
    where = rules.leaf if rules.leaf in ("end_of_row", "middle_of_row") else "end_of_row"
    made: dict[int, Cell] = {}
    used = ~free
    for group in _tops(boxes, rules, power, host, leaf, (cell_of >= 0) & free):
        made.setdefault(int(cell_of[group[0]]), Cell(where=where)).groups.append(group)
        used[group] = True
    for row in np.flatnonzero((cell_of >= 0) & ~used).tolist():
        cell = made.setdefault(int(cell_of[row]), Cell(where=where))
        (cell.switches if above[row] else cell.hosts).append(row)
    last = len(boxes)
    for rack in _given_cells(boxes, named):
        number = min((int(cell_of[row]) for row in rack.hosts if cell_of[row] >= 0), default=last)
        made.setdefault(number, Cell(where=where)).named.append(rack)
    for cell in made.values():
        _rails_together(boxes, cell.switches)
    return [made[number] for number in sorted(made)], _middle(boxes, np.flatnonzero(free & (cell_of < 0)).tolist())


def _named_racks(boxes: Boxes, rules: RackRules) -> list[str]:
    """The rack each box is to stand in by the rules, else by the fabric; '' where none is said.

    :raises ParameterError: a rule that means no box.
    """
    labels = boxes.fabric.nodes.rack.labels
    names = [str(labels[code]) if code >= 0 else "" for code in boxes.rack.tolist()]
    of_box = np.array(boxes.name, np.str_)
    for rule in rules.place:
        rows = np.flatnonzero(glob_mask(of_box, rule.boxes)).tolist()
        if not rows:
            hint = nearest(rule.boxes, boxes.name, most=3)
            raise ParameterError(f"place has no box like {rule.boxes!r} to put into rack {rule.rack!r}{hint}")
        for i in rows:
            names[i] = rule.rack
    if any(names):
        _follow_leaves(boxes, names)
    return names


def _follow_leaves(boxes: Boxes, names: list[str]) -> None:
    """Hosts of which no rack is said stand in that of their leaves, where all of them stand in one."""
    above = boxes.is_switch
    racks: dict[int, set[str]] = {}
    for a, b in zip(boxes.a.tolist(), boxes.b.tolist(), strict=True):
        if above[a] != above[b]:
            host, leaf = (b, a) if above[a] else (a, b)
            if not names[host]:
                racks.setdefault(host, set()).add(names[leaf])
    for host, found in racks.items():
        if len(found) == 1 and boxes.word[host] == "host":
            names[host] = found.pop()


def _given_cells(boxes: Boxes, named: Sequence[str]) -> list[Cell]:
    cells: dict[str, Cell] = {}
    above = boxes.is_switch
    for i, name in enumerate(named):
        if name:
            cell = cells.setdefault(name, Cell(name))
            (cell.switches if above[i] else cell.hosts).append(i)
    return list(cells.values())


def _cell_numbers(boxes: Boxes, host: Array, leaf: Array, computing: Array) -> NDArray[np.int64]:
    """The number of the cell of every box, -1 for those that serve all; numbers follow the order of the hosts.

    A host is in the cell of its first leaf: that leaf's pod, else all that shares leaves with it. A switch joins the
    cell that all below it are in.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(boxes)
    pair = coo_array((np.ones(len(host), np.int8), (host, leaf)), shape=(n, n))
    _, part = connected_components(pair, directed=False)
    key = part.astype(np.int64)
    pods = boxes.pod
    first_leaf = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first_leaf, host, leaf)
    attached = first_leaf < np.iinfo(np.int64).max
    pod = np.full(n, -1, np.int64)
    pod[attached] = pods[first_leaf[attached]]
    key[pod >= 0] = n + pod[pod >= 0]
    if not attached.any():
        key[:] = 0  # no switch joins hosts: they stand in their order, one cell
    cell = np.full(n, -1, np.int64)
    _, first, code = np.unique(key[computing], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    cell[computing] = rank[code]
    _join_above(boxes, cell)
    return cell


def _join_above(boxes: Boxes, cell: NDArray[np.int64]) -> None:
    """Give every switch the cell that all its neighbours below are in, tier by tier."""
    n = len(boxes)
    above = boxes.is_switch
    tier = np.where(above, np.maximum(boxes.tier, 1), 0)
    deciding = np.array([word == "host" or word in SWITCH_WORDS for word in boxes.word], bool)
    for level in range(1, int(tier.max(initial=0)) + 1):
        low = np.full(n, np.iinfo(np.int64).max)
        high = np.full(n, -2)
        for up, down in ((boxes.a, boxes.b), (boxes.b, boxes.a)):
            mine = (tier[up] == level) & (tier[down] < level) & deciding[down]
            np.minimum.at(low, up[mine], cell[down[mine]])
            np.maximum.at(high, up[mine], cell[down[mine]])
        rows = np.flatnonzero((low == high) & (low >= 0))
        cell[rows] = low[rows]


def _tops(
    boxes: Boxes, rules: RackRules, power: Array, host: Array, leaf: Array, able: Array
) -> list[NDArray[np.int64]]:
    """Leaves with all their hosts where that is one rackful, each as one group: hosts first, leaves behind them.

    :raises ParameterError: leaves are to be on top, and some do not fit there.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if rules.leaf not in ("auto", "top") or not len(host):
        return []
    n = len(boxes)
    pair = coo_array((np.ones(len(host), np.int8), (host, leaf)), shape=(n, n))
    count, part = connected_components(pair, directed=False)
    members = np.unique(np.concatenate([host, leaf]))
    closed = np.array([bool(size.per_rack) for size in boxes.size], bool)
    units = np.bincount(part[members], weights=boxes.units[members], minlength=count)
    draw = np.bincount(part[members], weights=power[members], minlength=count)
    shut = np.bincount(part[members], weights=closed[members] | ~able[members], minlength=count) > 0
    fits = (units <= rules.rack.units) & (draw <= rules.rack.power_kw) & ~shut & (units > 0)
    over = members[~fits[part[members]] & boxes.is_switch[members] & able[members]]
    if rules.leaf == "top" and over.size:
        i = int(over[0])
        raise ParameterError(
            f"leaf is top, but {boxes.name[i]} and all that shares leaves with its hosts take "
            f"{units[part[i]]:,.0f} rack units and {draw[part[i]]:,.1f} kW, more than one rack of {rules.rack.units} "
            f"units and {rules.rack.power_kw:g} kW, or stand in closed racks; use auto, end_of_row or middle_of_row"
        )
    chosen = members[fits[part[members]]]
    order = np.lexsort((chosen, boxes.is_switch[chosen], part[chosen]))
    chosen = chosen[order]
    groups = np.split(chosen, np.flatnonzero(np.diff(part[chosen])) + 1) if len(chosen) else []
    return sorted((group for group in groups if len(group)), key=lambda group: int(group[0]))


def _rails_together(boxes: Boxes, switches: list[int]) -> None:
    """Leaves in the order of their rails, then planes; what is above them last."""
    switches.sort(key=lambda i: (boxes.tier[i], boxes.rail[i], boxes.plane[i], i))


def _middle(boxes: Boxes, rest: Sequence[int]) -> list[Cell]:
    """Switches that serve several cells, network by network, those of one tier, plane and group side by side; then
    managers and storage.
    """
    cells = []
    for word, title in (("switch", "spines"), ("scale-up switch", "spines"), ("storage switch", "storage")):
        switches = [i for i in rest if boxes.word[i] == word]
        switches.sort(key=lambda i: (boxes.tier[i], boxes.plane[i], boxes.pod[i], i))
        if switches:
            has_cores = word == "switch" and int(boxes.tier[switches].max()) > 2
            cells.append(Cell(switches=switches, word="spines and cores" if has_cores else title))
    others = sorted((i for i in rest if not boxes.is_switch[i]), key=lambda i: (boxes.word[i], i))
    if others:
        cells.append(Cell(hosts=others, word="service"))
    return cells
