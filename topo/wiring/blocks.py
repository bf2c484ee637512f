"""Blocks of a pair of tiers: switches cabled alike, and how many cables each pair of them should have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.bare import bare_switches, hanging_switches
from topo.wiring.cabling import Cabling
from topo.wiring.groups import is_like, row_groups
from topo.wiring.learnt import BIG, SUPPORT
from topo.wiring.tier_pairs import Block, TierPair

__all__ = ["blocks_of", "port_owners"]

_PATTERN = 0.8
_FEWEST_OF_PATTERN = 3
_OTHER = 0.25
_SECOND = 0.15
_PORT_SUPPORT = 0.6
_PAIRS_BY_PORT = 0.4
_TOY = 4
_COLUMNS_ALIKE = 0.5


def blocks_of(cabling: Cabling, lower: int) -> TierPair:
    """The blocks of the cables from tier ``lower`` to the next, each with its rule where one is learnt."""
    tier = cabling.tier
    mine = (tier[cabling.low] == lower) & (tier[cabling.high] == lower + 1)
    pairs, times = np.unique(np.stack([cabling.low[mine], cabling.high[mine]]), axis=1, return_counts=True)
    rows = np.union1d(pairs[0], bare_switches(cabling, lower)) if len(pairs[0]) else pairs[0]
    r = np.searchsorted(rows, pairs[0])
    columns = np.union1d(pairs[1], hanging_switches(cabling, lower + 1)) if len(pairs[1]) else pairs[1]
    c = np.searchsorted(columns, pairs[1])
    count = np.zeros((len(rows), len(columns)), np.int64) if len(rows) * len(columns) < 50_000_000 else None
    if count is None:  # too wide to hold: only a fabric of tens of thousands of switches
        return TierPair(lower, rows, columns, np.zeros((0, 0), np.int64))
    count[r, c] = times
    pair = TierPair(lower, rows, columns, count)
    groups = row_groups(cabling, pair)
    pair.between = _between(pair, groups)
    for members in groups:
        block = _block(pair, members)
        if block is None:
            continue
        pair.blocks += _split_patterns(pair, block)
    _adopt_columns(cabling, pair)
    _give_rules(cabling, pair, mine)
    _adopt_stripped(cabling, pair)
    return pair


def _between(pair: TierPair, groups: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Columns that half or more, but not all, of the rows of every group reach, two groups or more of up to four rows.

    In a larger group a switch that half of the rows reach is told from one that lost cables by their number.
    """
    between = np.full(len(pair.columns), len(groups) > 1 and max(map(len, groups)) <= _TOY)
    for members in groups:
        reached = (pair.count[members] > 0).sum(axis=0)
        between &= (2 * reached >= len(members)) & (reached < len(members))
    return between


def _block(pair: TierPair, members: Array) -> Block | None:
    reached = (pair.count[members] > 0).sum(axis=0)
    own, total = pair.count[members].sum(axis=0), pair.count.sum(axis=0)
    # One that about half of the rows reach, and as many of others, serves several blocks and is of none.
    reach = (2 * reached > len(members)) & ((3 * reached >= 2 * len(members)) | (3 * own >= 2 * total))
    if len(members) <= _TOY:  # two cables of one column gone leave half of it: it is of the block that has most of it
        reach |= (2 * reached == len(members)) & (2 * own >= total)
    reach &= ~pair.between
    if not reach.any():
        return None
    return Block(members, np.flatnonzero(reach), pair.count[np.ix_(members, np.flatnonzero(reach))])


def _adopt_columns(cabling: Cabling, pair: TierPair) -> None:
    """An upper switch that lost most of its cables joins the block that lacks one, where nearly all have equally many.

    It belongs where most of its cables go; where two blocks hold as many, nothing tells.
    """
    held = np.zeros(len(pair.columns), bool)
    if len(pair.blocks) < _FEWEST_OF_PATTERN:
        return
    held[np.concatenate([block.columns for block in pair.blocks])] = True
    usual, share = _mode(np.array([len(block.columns) for block in pair.blocks]))
    if held.all() or share < _COLUMNS_ALIKE:
        return
    for column in np.flatnonzero(~held).tolist():
        cables = np.array([pair.count[block.rows, column].sum() for block in pair.blocks])
        best = int(np.argmax(cables))
        block = pair.blocks[best]
        if (cables == cables[best]).sum() > 1:  # of equal ones that which lacks a switch
            short = [i for i in np.flatnonzero(cables == cables[best]).tolist() if len(pair.blocks[i].columns) < usual]
            if len(short) != 1:
                continue
            block = pair.blocks[short[0]]
        if len(block.columns) >= usual or not is_like(cabling, int(pair.columns[column]), pair.columns[block.columns]):
            continue
        columns = np.sort(np.append(block.columns, column))
        block.columns, block.count = columns, pair.count[np.ix_(block.rows, columns)]


def _adopt_stripped(cabling: Cabling, pair: TierPair) -> None:
    """An upper switch that lost half of its cables or more joins the block that has nearly all it has left.

    Such are few beside the block's others, and like them; where the others are one or two, also the lower switch of
    each port is the same. Where nearly all rows have equally many cables to switches of no block, these serve a few
    rows each. The block's rule is that of its others: with this one it might not be learnt.
    """
    apart = ~pair.between
    for block in pair.blocks:
        apart[block.columns] = False
    if not apart.any():
        return
    total = pair.count.sum(axis=0)
    for block in pair.blocks:
        usual = np.unique(block.planned) if block.planned is not None else np.empty(0, np.int64)
        held, share = _mode(pair.count[np.ix_(block.rows, np.flatnonzero(apart))].sum(axis=1))
        if len(usual) != 1 or (held and share >= SUPPORT):
            continue
        inside = pair.count[block.rows].sum(axis=0)
        likely = apart & (inside > 0) & (inside >= SUPPORT * total) & (pair.count[block.rows].max(axis=0) <= usual[0])
        peers = pair.columns[block.columns]
        mine = [one for one in np.flatnonzero(likely).tolist() if is_like(cabling, int(pair.columns[one]), peers)]
        if len(block.columns) < _FEWEST_OF_PATTERN:
            mine = [one for one in mine if _on_ports_of(cabling, int(pair.columns[one]), peers)]
        if not mine or len(mine) > max(1, (1 - SUPPORT) * len(peers)):
            continue
        apart[mine] = False
        columns = np.sort(np.append(block.columns, mine))
        block.columns, block.count = columns, pair.count[np.ix_(block.rows, columns)]
        block.planned = np.full(block.count.shape, usual[0])


def _on_ports_of(cabling: Cabling, upper: int, peers: Array) -> bool:
    """Whether an upper switch has every lower one on the port where each of its peers has it."""
    n = len(cabling.fabric.nodes)
    key = cabling.number[cabling.high_port] * n + cabling.low
    return all(bool(np.isin(key[cabling.high == upper], key[cabling.high == peer]).all()) for peer in peers.tolist())


def _mode(values: Array) -> tuple[int, float]:
    """Most common count and the share that has it."""
    if not values.size:
        return 0, 0.0
    times = np.bincount(values.ravel())
    return int(np.argmax(times)), float(times.max() / values.size)


def _split_patterns(pair: TierPair, block: Block) -> list[Block]:
    """A block and the classes of rows in it that have another multiplicity.

    One or two such rows are set apart where their multiplicity is far from the usual one and their cables stay in the
    block: a switch whose cables were exchanged with others' has single ones too.
    """
    usual = _mode(block.count[block.count > 0])[0]
    own = np.full(len(block.rows), usual)
    for i, row in enumerate(block.rows.tolist()):
        entries = pair.count[row][pair.count[row] > 0]
        mode, share = _mode(entries)
        if mode != usual and share >= _PATTERN and len(entries) >= _FEWEST_OF_PATTERN:
            own[i] = mode
    result = []
    kept = own == usual
    for mode in np.unique(own[~kept]).tolist():
        mine = block.rows[own == mode]
        if len(mine) >= _FEWEST_OF_PATTERN:
            result += [part for part in [_block(pair, mine)] if part is not None]
        elif abs(mode - usual) < _OTHER * max(mode, usual):  # single cables lacking everywhere do that
            kept |= own == mode
        else:
            inside = pair.count[np.ix_(mine, block.columns)].sum(axis=1) >= SUPPORT * pair.count[mine].sum(axis=1)
            kept[np.isin(block.rows, mine[~inside])] = True
            pair.odd += [(int(row), block) for row in mine[inside].tolist()]
    if kept.all():
        return [block]
    base = _block(pair, block.rows[kept])
    return ([base] if base is not None else []) + result


def _give_rules(cabling: Cabling, pair: TierPair, mine: Array) -> None:
    """The rule of each block: its own mode, that of all, its ports, or two neighbouring counts."""
    if not pair.blocks:
        return
    pooled, share = _mode(np.concatenate([block.count.ravel() for block in pair.blocks]))
    for block in pair.blocks:
        mode, own = _mode(block.count)
        if own >= SUPPORT and mode > 0 and block.count.size >= BIG:
            block.planned, block.how = np.full(block.count.shape, mode), "most pairs"
        elif pooled > 0 and share >= SUPPORT and (block.count == pooled).mean() >= 0.5:
            block.planned, block.how = np.full(block.count.shape, pooled), "most pairs of all blocks"
        elif (by_port := _by_ports(cabling, pair, block, mine)) is not None:
            block.planned, block.how = np.full(block.count.shape, by_port), "ports"
        else:
            block.spread = _neighbours(block.count)


def _neighbours(count: Array) -> tuple[int, int] | None:
    """Two counts in a row that hold 80 % of the pairs, 15 % each at least."""
    if count.size < BIG:
        return None
    times = np.bincount(count.ravel(), minlength=2) / count.size
    both = times[:-1] + times[1:]
    low = int(np.argmax(both))
    if low < 1 or both[low] < SUPPORT or min(times[low], times[low + 1]) < _SECOND:
        return None
    return low, low + 1


def _by_ports(cabling: Cabling, pair: TierPair, block: Block, mine: Array) -> int | None:
    """Cables of each pair by the ports that most rows use for each upper switch, or most columns for each lower one."""
    rows, columns = pair.rows[block.rows], pair.columns[block.columns]
    inside = mine & np.isin(cabling.low, rows) & np.isin(cabling.high, columns)
    lower, upper = (cabling.number[ports[inside]] for ports in (cabling.low_port, cabling.high_port))
    for number, far, n_near, owners in (
        (lower, cabling.high[inside], len(rows), columns),
        (upper, cabling.low[inside], len(columns), rows),
    ):
        each, filled = _held_by_each(number, far, n_near, owners)
        # Of eight parallel cables one suffices to spoil a pair: their ports may still agree. But where nearly all
        # rows have another number of cables in all, the spread is uneven by design.
        usual, most = _mode(block.count.sum(axis=1))
        if (
            each
            and (most < SUPPORT or usual == each * len(columns))
            and ((block.count == each).mean() >= _PAIRS_BY_PORT or filled >= _PORT_SUPPORT)
        ):
            return each
    return None


def _held_by_each(number: Array, far: Array, n_near: int, owners: Array) -> tuple[int, float]:
    """Ports that belong to each of the owners where most have equally many and most devices agree, else 0.

    Beside it the share of these ports, over all devices, that hold a cable to their owner. An owner may seem to have
    another number only as far as ports without a clear owner can explain it: one that all devices plug alike is meant.
    """
    named = number >= 0  # a port that nobody named has no owner
    number, far = number[named], far[named]
    if n_near < _FEWEST_OF_PATTERN:
        return 0, 0.0
    owner, support = port_owners(number, far, n_near)
    if not len(owner) or support < _PORT_SUPPORT:
        return 0, 0.0
    column = np.searchsorted(owners, owner[:, 1])
    each, share = _mode(np.bincount(column, minlength=len(owners)))
    of_number = np.full(int(number.max()) + 1, -1)
    of_number[owner[:, 0]] = owner[:, 1]
    good = of_number[number] == far
    filled = np.bincount(number[good], minlength=len(of_number))[owner[:, 0]]
    clear = np.bincount(column[filled >= SUPPORT * n_near], minlength=len(owners))
    unclear = len(np.unique(number)) - int(clear.sum())
    if share < _PORT_SUPPORT or clear.max() > each or (each - clear).sum() > unclear:
        return 0, 0.0
    return each, float(good.sum() / (n_near * max(each * len(owners), 1)))


def port_owners(number: Array, far: Array, n_rows: int) -> tuple[NDArray[np.int64], float]:
    """(port number, far device) of each port that at least half of ``n_rows`` devices plug alike; share that agree.

    >>> port_owners(np.array([1, 1, 1, 2]), np.array([7, 7, 8, 9]), 3)
    (array([[1, 7]]), 0.75)
    """
    if not len(number):
        return np.empty((0, 2), np.int64), 0.0
    pairs, times = np.unique(np.stack([number, far]), axis=1, return_counts=True)
    order = np.lexsort((times, pairs[0]))
    last = np.flatnonzero(np.diff(pairs[0][order], append=np.iinfo(np.int64).max))
    best = order[last]
    agree = float(times[best].sum() / times.sum())
    return pairs[:, best[2 * times[best] >= n_rows]].T, agree
