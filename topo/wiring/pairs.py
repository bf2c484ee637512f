"""Pairs of switches that have other cables than the like: what differs, as few operations as explain it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.text import natural_key
from topo.wiring.blocks import blocks_of, port_owners
from topo.wiring.cabling import Cabling, modes
from topo.wiring.difference import difference, grouped_moves
from topo.wiring.finding import Operation, finding, listed
from topo.wiring.joints import joint_sides
from topo.wiring.kinds import named
from topo.wiring.lacking import Sides, Taken, against_like, say_lacking
from topo.wiring.learnt import BIG, MINN, SUPPORT, Learnt
from topo.wiring.tier_pairs import Block, TierPair
from topo.wiring.totals import judge_degrees, say_odd, say_spread

__all__ = ["judge_pairs"]

_FEW = 0.05
_STRAY = 0.2
_FOREIGN = 0.4
_ALIKE = 3
_FEWEST_LIKE = 2


def judge_pairs(cabling: Cabling, learnt: Learnt) -> list[TierPair]:
    """Learn the blocks of every pair of tiers and say what differs; the tier pairs, for other checks."""
    sides = Sides()
    top = int(cabling.tier[cabling.is_switch].max(initial=0))
    tier_pairs = [pair for lower in range(1, top) if len((pair := blocks_of(cabling, lower)).rows)]
    step = cabling.tier[cabling.high] - cabling.tier[cabling.low]
    known = cabling.tier[cabling.low] > 0
    for pair in tier_pairs:
        _say_rule(cabling, pair, learnt)
        if pair.is_ruled:
            for block in pair.blocks:
                _block_sides(cabling, pair, block, sides)
            _joint_sides(cabling, pair, sides)
            _say_beside(cabling, pair, learnt)
            say_odd(cabling, pair, learnt)
            say_spread(cabling, pair, learnt)
            _say_crossed(cabling, pair, learnt)
    is_flat = bool((known & (step == 0)).sum() > _FEW * max(len(cabling.low), 1))
    if any(pair.is_ruled for pair in tier_pairs):
        for code, wrong in (("same-tier-link", known & (step == 0)), ("tier-skip-link", known & (step > 1))):
            for i in np.flatnonzero(_stray(cabling, wrong)).tolist():
                pair_of = int(cabling.low[i]), int(cabling.high[i])
                sides.extra.append(pair_of)
                sides.why[pair_of] = code
    if sides.alone:
        names = sorted(set(cabling.fabric.nodes.name[sides.alone].tolist()))
        learnt.rules.append(f"not judged, alone of its kind and cabled otherwise: {named(names)}")
    _judge_sides(cabling, sides, learnt)
    judge_degrees(cabling, tier_pairs, is_flat, learnt)
    return tier_pairs


def _stray(cabling: Cabling, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which cables of an unusual kind are strays: few of all, and few of those of both their switches.

    Switches that exist to join others across tiers have nothing else, and are no fault.
    """
    if not wrong.any() or wrong.sum() >= _FEW * len(cabling.low):
        return np.zeros_like(wrong)
    n = len(cabling.fabric.nodes)
    ends = np.concatenate([cabling.low, cabling.high])
    odd = np.bincount(ends[np.tile(wrong, 2)], minlength=n)
    most = 2 * odd > np.bincount(ends, minlength=n)
    return wrong & ~most[cabling.low] & ~most[cabling.high]


def _say_rule(cabling: Cabling, pair: TierPair, learnt: Learnt) -> None:
    agree = sum(block.n_agree for block in pair.blocks)
    what = f"cables of a pair of tiers {pair.lower} and {pair.lower + 1}"
    if pair.is_ruled:
        counts = sorted({n for block in pair.blocks for n in _counts(block)})
        shown = ", ".join(map(str, counts[:6])) + ("..." if len(counts) > 6 else "")
        blocks = f"{len(pair.blocks):,} blocks" if len(pair.blocks) > 1 else "1 block"
        learnt.rules.append(f"{what}, {blocks}, {shown} a pair: {agree:,}/{pair.n_ruled:,} pairs agree")
        return
    if pair.n_pairs < BIG:
        learnt.rules.append(f"{what}: too few to learn from")
        return
    best = sum(((block.count == np.bincount(block.count.ravel()).argmax()).sum() for block in pair.blocks), 0)
    said = f"no block rule for {what}: {int(best):,} of {pair.n_pairs:,} pairs agree; only numbers of links are judged"
    learnt.findings.append(finding("rule-not-learnt", f"tiers {pair.lower} and {pair.lower + 1}", said))


def _say_beside(cabling: Cabling, pair: TierPair, learnt: Learnt) -> None:
    """A rule that names the switches of a ruled pair of tiers that are of no block with a rule."""
    ruled = [block for block in pair.blocks if block.planned is not None or block.spread is not None]
    rows = np.setdiff1d(np.arange(len(pair.rows)), np.concatenate([block.rows for block in ruled]))
    rows = np.setdiff1d(rows, [row for row, _ in pair.odd])
    rows = rows[pair.count[rows].any(axis=1)]  # those without any cable are told by themselves
    columns = np.setdiff1d(np.arange(len(pair.columns)), np.concatenate([block.columns for block in ruled]))
    columns = columns[:0] if joint_sides(cabling, pair) else columns
    beside = np.concatenate([pair.rows[rows], pair.columns[columns]])
    if beside.size:
        names = sorted(map(str, cabling.fabric.nodes.name[beside]), key=natural_key)
        what = f"cables of a pair of tiers {pair.lower} and {pair.lower + 1}"
        learnt.rules.append(f"{what} are not judged at {named(names)}: too few others are cabled like that")


def _counts(block: Block) -> set[int]:
    if block.spread is not None:
        return set(block.spread)
    return set(np.unique(block.planned).tolist()) if block.planned is not None else set()


def _block_sides(cabling: Cabling, pair: TierPair, block: Block, sides: Sides) -> None:
    """Surplus and deficit of the pairs of a block, and cables that leave it."""
    rows, columns = pair.rows[block.rows], pair.columns[block.columns]
    if block.planned is None:
        return
    for nodes, above in ((rows, True), (columns, False)):
        for node, n in zip(nodes.tolist(), block.planned.sum(axis=int(above)).tolist(), strict=True):
            sides.planned[node, above] += n
    agrees = block.count == block.planned
    # alone of its kind, and cabled otherwise: its peers do not tell of it
    foreign_row = cabling.is_alone[rows] & (2 * agrees.sum(axis=1) <= len(columns))
    foreign_column = cabling.is_alone[columns] & (2 * agrees.sum(axis=0) <= len(rows))
    sides.alone += [*rows[foreign_row].tolist(), *columns[foreign_column].tolist()]
    differs = np.argwhere(~agrees & ~foreign_row[:, None] & ~foreign_column[None, :])
    for i, j in differs.tolist():
        low, high = int(rows[i]), int(columns[j])
        count, planned = int(block.count[i, j]), int(block.planned[i, j])
        says = f"{block.n_agree:,} of {block.count.size:,} like pairs have {planned}"
        sides.wanted[low, high] = count, planned, says
        sides.lack += [(low, high)] * max(planned - count, 0)
        sides.extra += [(low, high)] * max(count - planned, 0)
        sides.why[low, high] = "pair-thick"
    strays = _strays(pair, block)
    if len(differs) or len(strays):
        _block_ports(cabling, rows, columns, sides)
    for i, j in strays.tolist():
        low, high, n = int(rows[i]), int(pair.columns[j]), int(pair.count[block.rows[i], j])
        others = int((pair.count[block.rows, j] > 0).sum()) - 1
        says = f"{others or 'none'} of {len(rows) - 1:,} like switches {'have' if others > 1 else 'has'} one"
        sides.extra += [(low, high)] * n
        sides.wanted[low, high] = n, 0, says
        sides.why[low, high] = "pair-unexpected"


def _strays(pair: TierPair, block: Block) -> NDArray[np.int64]:
    """Pairs (place in the block's rows, column of the tier pair) whose cables leave the block, as few of the rows' do.

    Where nearly all rows have as many cables as this one to switches of no block, these serve a few rows each.
    """
    outside = pair.count[block.rows].copy()
    outside[:, block.columns] = 0
    if len(outside) <= _FEWEST_LIKE:
        return np.empty((0, 2), np.int64)
    reached = (outside > 0).sum(axis=0)
    # An upper switch that has a block of its own is foreign here; one without may serve these few on purpose.
    elsewhere = np.zeros(len(pair.columns), bool)
    elsewhere[np.concatenate([other.columns for other in pair.blocks])] = True
    most = np.where(elsewhere, _FOREIGN, _STRAY) * len(outside)
    few = elsewhere & (outside.sum(axis=0) <= (1 - SUPPORT) * pair.count.sum(axis=0))
    stray = (reached > 0) & ((reached <= np.maximum(1, most)) | few)
    held = outside[:, ~elsewhere].sum(axis=1)
    usual = held == np.bincount(held).argmax()
    if usual.sum() >= SUPPORT * len(held) and held[usual].any():
        outside[np.ix_(usual, ~elsewhere)] = 0
    return np.argwhere(outside * stray)


def _joint_sides(cabling: Cabling, pair: TierPair, sides: Sides) -> None:
    """Surplus and deficit of the cables to switches that serve a few cables of every row of a block."""
    for one in joint_sides(cabling, pair):
        says = f"{one.n_agree:,} of {one.n_rows:,} like switches have {one.usual} to the switches beside their block"
        for pairs, planned, into in ((one.lack, 1, sides.lack), (one.extra, 0, sides.extra)):
            into += pairs
            for low, high in pairs:
                sides.wanted[low, high] = 1 - planned, planned, says
        for low, high in one.extra:
            sides.why[low, high] = "pair-unexpected"


def _block_ports(cabling: Cabling, rows: Array, columns: Array, sides: Sides) -> None:
    """Ports of every switch of a block that most of the like use for each switch of the other tier."""
    inside = np.isin(cabling.low, rows) & np.isin(cabling.high, columns)
    for near, far, port, n in (
        (cabling.low, cabling.high, cabling.low_port, len(rows)),
        (cabling.high, cabling.low, cabling.high_port, len(columns)),
    ):
        if n < 3:
            continue
        owners, support = port_owners(cabling.number[port[inside]], far[inside], n)
        if support < SUPPORT:
            continue
        switches = np.unique(near[inside])
        mine = np.flatnonzero(np.isin(cabling.fabric.ports.node, switches))
        of_number = dict(owners.tolist())
        for row in mine.tolist():
            owner = of_number.get(int(cabling.number[row]))
            if owner is not None:
                sides.ports[int(cabling.fabric.ports.node[row]), owner].append(row)


def _judge_sides(cabling: Cabling, sides: Sides, learnt: Learnt) -> None:
    """The fewest operations from the surplus to what lacks, and the findings they belong to."""
    links = _links_of(cabling, sides)
    extra = np.array(sides.extra, np.int64).reshape(-1, 2)
    lack = np.array(sides.lack, np.int64).reshape(-1, 2)
    best = difference(extra, lack)
    moves = best.moves
    taken = Taken(cabling, links, sides)
    for code, numbers in grouped_moves(moves, chains=False):
        operations, lacks, extras, said = [], [], [], []
        for i in numbers:
            link, (low, high) = links[moves.found[i]], sides.lack[moves.planned[i]]
            kept = low if moves.entered[i] == high else high
            laid = taken.lay(learnt, low, high, keep=(kept, link))
            name = cabling.fabric.nodes.name
            text = f"move {learnt.link_text(link)} from {name[moves.left[i]]} to {name[moves.entered[i]]}"
            operations.append(learnt.move(link, laid, text + taken.port_text(laid, int(moves.entered[i]))))
            lacks.append(laid)
            extras.append(link)
            said.append(against_like(cabling, sides, (low, high)))
        place = "; ".join(learnt.link_text(link) for link in extras[:3]) + ("; ..." if len(extras) > 3 else "")
        learnt.findings.append(
            finding(code, place, "; ".join(said), at=cabling.place(extras[0]), operations=tuple(operations),
                    lacks=tuple(lacks), extra=tuple(extras))
        )  # fmt: skip
    say_lacking(cabling, sides, [sides.lack[i] for i in best.adds.tolist()], taken, learnt)
    _say_surplus(cabling, sides, [(sides.extra[i], links[i]) for i in best.removes.tolist()], learnt)


def _links_of(cabling: Cabling, sides: Sides) -> list[int]:
    """A found cable for each surplus one: of parallel ones first those on ports that belong to others."""
    wanted: dict[tuple[int, int], list[int]] = {pair: [] for pair in sides.extra}
    if not wanted:
        return []
    for i, pair in enumerate(zip(cabling.low.tolist(), cabling.high.tolist(), strict=True)):
        if pair in wanted:
            wanted[pair].append(i)
    for (low, high), rows in wanted.items():
        own_low, own_high = set(sides.ports.get((low, high), ())), set(sides.ports.get((high, low), ()))
        rows.sort(key=lambda i: (cabling.low_port[i] in own_low) + (cabling.high_port[i] in own_high), reverse=True)
    return [int(cabling.between[wanted[pair].pop()]) for pair in sides.extra]


def _say_surplus(cabling: Cabling, sides: Sides, rows: list[tuple[tuple[int, int], int]], learnt: Learnt) -> None:
    grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
    for pair, link in rows:
        grouped[pair].append(link)
    for pair, links in grouped.items():
        code = sides.why[pair]
        operations = []
        for link in links:
            learnt.remove(link)
            operations.append(Operation("remove", link, -1, f"remove {learnt.link_text(link)}"))
        if pair in sides.wanted:
            evidence = against_like(cabling, sides, pair)
        else:
            low, high = (int(cabling.tier[node]) for node in pair)
            evidence = f"joins tier {low} to tier {high}; nearly all cables join a tier to the next"
        place = "; ".join(learnt.link_text(link) for link in links[:3])
        learnt.findings.append(
            finding(code, place, evidence, at=cabling.place(links[0]), operations=tuple(operations),
                    extra=tuple(links))
        )  # fmt: skip


def _say_crossed(cabling: Cabling, pair: TierPair, learnt: Learnt) -> None:
    """Cables of pairs with the right number, on ports where most of the like go elsewhere: a note a switch."""
    n = len(cabling.fabric.nodes)
    block_of, good = np.full(n, -1), np.zeros(0, np.int64)
    for number, block in enumerate(pair.blocks):
        if block.planned is not None:
            block_of[pair.rows[block.rows]] = number
            i, j = np.nonzero(block.count == block.planned)
            good = np.append(good, pair.rows[block.rows[i]] * n + pair.columns[block.columns[j]])
    mine = np.flatnonzero((block_of[cabling.low] >= 0) & np.isin(cabling.low * n + cabling.high, good))
    label = cabling.number[cabling.low_port[mine]]
    key = block_of[cabling.low[mine]] * (int(label.max(initial=0)) + 1) + label
    kinds, group = np.unique(key, return_inverse=True)
    usual, times = modes(group, cabling.high[mine], len(kinds))
    agree = usual[group] == cabling.high[mine]
    share = np.bincount(block_of[cabling.low[mine]], weights=agree) / np.maximum(
        np.bincount(block_of[cabling.low[mine]]), 1
    )
    off = ~agree & (times[group] >= MINN) & (share[block_of[cabling.low[mine]]] >= SUPPORT)
    crossed: dict[str, list[int]] = defaultdict(list)
    for node in np.unique(cabling.low[mine[off]]).tolist():
        rows = mine[off & (cabling.low[mine] == node)]
        ports = ", ".join(cabling.fabric.ports.label.values(np.sort(cabling.low_port[rows])).tolist())
        crossed[ports].append(int(rows[0]))
    for ports, switches in crossed.items():
        if len(switches) >= _ALIKE:  # so many alike are a pattern of their own
            continue
        for row in switches:
            said = f"{listed('port', ports.split(', '))} lead where its like have other ports"
            said += "; every pair has its number of cables"
            at, name = cabling.place(int(cabling.between[row])), cabling.fabric.nodes.name[cabling.low[row]]
            learnt.findings.append(finding("port-off-pattern", str(name), said, at=at))
