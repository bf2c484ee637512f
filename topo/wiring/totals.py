"""Switches whose numbers of links differ from their peers': other patterns, uneven spreads, degrees alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.table import Array
from topo.units import format_gbps
from topo.wiring.bare import bare_switches
from topo.wiring.blocks import TierPair
from topo.wiring.cabling import Cabling
from topo.wiring.finding import finding
from topo.wiring.learnt import Learnt

__all__ = ["judge_degrees", "near_place", "say_odd", "say_spread"]


def near_place(cabling: Cabling, low: int, high: int) -> tuple[str, int]:
    """File and line of a cable of the pair, else of one of the lower switch."""
    for mask in ((cabling.low == low) & (cabling.high == high), cabling.low == low):
        rows = np.flatnonzero(mask)
        if rows.size:
            return cabling.place(int(cabling.between[rows[0]]))
    return "", 0


def say_odd(cabling: Cabling, pair: TierPair, learnt: Learnt) -> None:
    """Rows of another pattern: a note, and a finding only where the total is below the others'."""
    name = cabling.fabric.nodes.name
    for row, block in pair.odd:
        total, usual = int(pair.count[row].sum()), int(np.bincount(block.count.sum(axis=1)).argmax())
        entries = pair.count[row][pair.count[row] > 0]
        said = f"{len(entries)} switches above it by {int(np.bincount(entries).argmax())} cables, {total} in all"
        who = str(name[pair.rows[row]])
        if total < usual:
            _say_fewer(cabling, int(pair.rows[row]), total, usual, f"{said}; its peers have {usual}", learnt)
        else:
            at = cabling.first_place(pair.rows[row])
            learnt.findings.append(finding("pattern-other", who, f"{said}, as its peers have {usual}", at=at))


def _say_fewer(cabling: Cabling, node: int, total: int, usual: int, said: str, learnt: Learnt) -> None:
    """A switch with fewer uplinks than its peers, and what those below it could send up and now cannot."""
    up, down = cabling.gbps_up(node), cabling.gbps_down(node)
    should = up * usual / total if total else down
    words = f"its uplinks carry {format_gbps(up)} of {format_gbps(should)}; below it are {format_gbps(down)}"
    learnt.findings.append(
        finding(
            "uplinks-fewer", str(cabling.fabric.nodes.name[node]), said, at=cabling.first_place(node),
            words="" if not total or math.isnan(down - should) else words, lost_gbps=max(min(down, should) - up, 0.0),
        )
    )  # fmt: skip


def say_spread(cabling: Cabling, pair: TierPair, learnt: Learnt) -> None:
    """Blocks whose rule is two neighbouring counts: pairs outside both, and switches whose total is unlike."""
    name = cabling.fabric.nodes.name
    for block in pair.blocks:
        if block.spread is None:
            continue
        low, high = block.spread
        rows, columns = pair.rows[block.rows], pair.columns[block.columns]
        for i, j in np.argwhere((block.count < low) | (block.count > high)).tolist():
            place = f"{name[rows[i]]} - {name[columns[j]]}"
            said = (
                f"{block.count[i, j]} cables; {block.n_agree:,} of {block.count.size:,} like pairs have {low} or {high}"
            )
            learnt.findings.append(
                finding("pair-uneven", place, said, at=near_place(cabling, int(rows[i]), int(columns[j])))
            )
        # A switch of an uneven pair is told already; a spine that a leaf's lacking cable leaves short as well.
        odd = (block.count < low) | (block.count > high)
        up, down = block.count.sum(axis=1), block.count.sum(axis=0)
        _say_totals(cabling, rows, up, "uplinks-fewer", learnt, told=odd.any(axis=1))
        short = int(np.maximum(np.bincount(up).argmax() - up, 0).sum())
        both = short > 0 and short == int(np.maximum(np.bincount(down).argmax() - down, 0).sum())
        _say_totals(cabling, columns, down, "spine-uneven", learnt, told=odd.any(axis=0) | both)


def _say_totals(
    cabling: Cabling,
    nodes: Array,
    totals: NDArray[np.int64],
    code: str,
    learnt: Learnt,
    *,
    told: ArrayLike = False,
) -> None:
    """Switches whose number of links differs from that of at least 80 % of their peers."""
    word = {"uplinks-fewer": "uplinks", "spine-uneven": "downlinks"}.get(code, "links to switches")
    if len(totals) < 4:
        return
    usual = int(np.bincount(totals).argmax())
    agree = int((totals == usual).sum())
    if not learnt.rule(f"{word} of {len(nodes):,} switches, {usual} each", agree, len(nodes)):
        return
    for i in np.flatnonzero((totals != usual) & ~np.asarray(told)).tolist():
        one = "links-unlike" if code == "uplinks-fewer" and totals[i] > usual else code
        said = f"{totals[i]} {word}; {agree:,} of {len(nodes):,} like switches have {usual}"
        if one == "uplinks-fewer":
            _say_fewer(cabling, int(nodes[i]), int(totals[i]), usual, said, learnt)
            continue
        name, at = str(cabling.fabric.nodes.name[nodes[i]]), cabling.first_place(nodes[i])
        learnt.findings.append(finding(one, name, said, at=at))


def judge_degrees(cabling: Cabling, tier_pairs: list[TierPair], is_flat: bool, learnt: Learnt) -> None:
    """Numbers of links where no pair has a rule: all of a flat fabric, up and down of a random one."""
    n = len(cabling.fabric.nodes)
    degree = np.bincount(cabling.low, minlength=n) + np.bincount(cabling.high, minlength=n)
    if is_flat and not any(pair.is_ruled for pair in tier_pairs):
        learnt.rules.append("cables inside a tier are usual here: degrees only, exchanged cables cannot be seen")
        for tier in range(1, int(cabling.tier.max(initial=0)) + 1):
            nodes = np.flatnonzero(cabling.is_switch & (cabling.tier == tier))
            _say_totals(cabling, nodes, degree[nodes], "links-unlike", learnt)
        return
    for pair in tier_pairs:
        if not pair.is_ruled and pair.count.size:
            _say_totals(cabling, pair.rows, pair.count.sum(axis=1), "uplinks-fewer", learnt)
            _say_totals(cabling, pair.columns, pair.count.sum(axis=0), "spine-uneven", learnt)
    for lower in range(1, int(cabling.tier.max(initial=0))):
        told = [pair.rows[block.rows] for pair in tier_pairs if pair.lower == lower for block in pair.blocks]
        bare = np.setdiff1d(bare_switches(cabling, lower), np.concatenate(told) if told else [])
        n_all = int((cabling.is_switch & (cabling.tier == lower)).sum())
        for node in bare.tolist():
            said = f"no uplink, as its peers have; there are {n_all:,} switches of its tier"
            _say_fewer(cabling, node, 0, 0, said, learnt)
