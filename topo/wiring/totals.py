"""Switches whose numbers of links differ from their peers': other patterns, uneven spreads, degrees alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.units import format_gbps
from topo.wiring.bare import bare_switches
from topo.wiring.cabling import BOTH_WAYS, Cabling
from topo.wiring.even import Grid, Symptom, say_uneven, usual_total
from topo.wiring.finding import finding
from topo.wiring.flat import say_flat
from topo.wiring.learnt import Learnt
from topo.wiring.tier_pairs import TierPair

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
    words, lost = _fewer(cabling, node, total, usual)
    name, at = str(cabling.fabric.nodes.name[node]), cabling.first_place(node)
    learnt.findings.append(finding("uplinks-fewer", name, said, at=at, words=words, lost_gbps=lost))


def say_spread(cabling: Cabling, pair: TierPair, learnt: Learnt) -> None:
    """Blocks whose rule is two neighbouring counts: pairs outside both, and switches whose total is unlike."""
    name = cabling.fabric.nodes.name
    for block in pair.blocks:
        if block.spread is None:
            continue
        low, high = block.spread
        grid = Grid(pair.rows[block.rows], pair.columns[block.columns], block.count, block.spread)
        symptoms = {}
        for i, j in np.argwhere((block.count < low) | (block.count > high)).tolist():
            a, b = int(grid.low[i]), int(grid.high[j])
            said = (
                f"{block.count[i, j]} cables; {block.n_agree:,} of {block.count.size:,} like pairs have {low} or {high}"
            )
            symptoms[a, b] = Symptom("pair-uneven", f"{name[a]} - {name[b]}", said, near_place(cabling, a, b))
        say_uneven(cabling, grid, symptoms | _totals_of(cabling, grid, learnt), learnt)


def _totals_of(cabling: Cabling, grid: Grid, learnt: Learnt) -> dict[tuple[int, int], Symptom]:
    """Switches of either side with another number of cables than their peers, by (lower, upper), -1 for all."""
    lower = _unlike(cabling, grid.low, grid.count.sum(axis=1), "uplinks", learnt)
    upper = _unlike(cabling, grid.high, grid.count.sum(axis=0), "downlinks", learnt)
    return {(one, -1): said for one, said in lower.items()} | {(-1, one): said for one, said in upper.items()}


def _unlike(cabling: Cabling, nodes: Array, totals: NDArray[np.int64], word: str, learnt: Learnt) -> dict[int, Symptom]:
    """Switches whose number of links differs from that of at least 80 % of their peers."""
    usual = usual_total(totals)
    if usual is None:
        return {}
    agree = int((totals == usual).sum())
    learnt.rule(f"{word} of {len(nodes):,} switches, {usual} each", agree, len(nodes))
    unlike = {}
    for i in np.flatnonzero(totals != usual).tolist():
        node, total = int(nodes[i]), int(totals[i])
        name, at = str(cabling.fabric.nodes.name[node]), cabling.first_place(node)
        said = f"{total} {word}; {agree:,} of {len(nodes):,} like switches have {usual}"
        if word == "uplinks" and total < usual:
            words, lost = _fewer(cabling, node, total, usual)
            unlike[node] = Symptom("uplinks-fewer", name, said, at, words, lost)
        else:
            unlike[node] = Symptom("spine-uneven" if word == "downlinks" else "links-unlike", name, said, at)
    return unlike


def _fewer(cabling: Cabling, node: int, total: int, usual: int) -> tuple[str, float]:
    """What those below a switch with fewer uplinks than its peers can send up, in words, and what they cannot."""
    up, down = cabling.gbps_up(node), cabling.gbps_down(node)
    should = up * usual / total if total else down
    words = f"its uplinks carry {format_gbps(up)} of {format_gbps(should)}; below it are {format_gbps(down)}"
    return "" if not total or math.isnan(down - should) else words, BOTH_WAYS * max(min(down, should) - up, 0.0)


def judge_degrees(cabling: Cabling, tier_pairs: list[TierPair], is_flat: bool, learnt: Learnt) -> None:
    """Numbers of links where no pair has a rule: all of a flat fabric, up and down of a random one."""
    if is_flat and not any(pair.is_ruled for pair in tier_pairs):
        learnt.rules.append("cables inside a tier are usual here: degrees only, exchanged cables cannot be seen")
        say_flat(cabling, learnt)
        return
    for pair in tier_pairs:
        if not pair.is_ruled and pair.count.size:
            grid = Grid(pair.rows, pair.columns, pair.count, (0, int(pair.count.max())))
            say_uneven(cabling, grid, _totals_of(cabling, grid, learnt), learnt)
    for lower in range(1, int(cabling.tier.max(initial=0))):
        told = [pair.rows[block.rows] for pair in tier_pairs if pair.lower == lower for block in pair.blocks]
        bare = np.setdiff1d(bare_switches(cabling, lower), np.concatenate(told) if told else [])
        n_all = int((cabling.is_switch & (cabling.tier == lower)).sum())
        for node in bare.tolist():
            said = f"no uplink, as its peers have; there are {n_all:,} switches of its tier"
            _say_fewer(cabling, node, 0, 0, said, learnt)
