"""Blocks of a pair of tiers: switches cabled alike, and how many cables each pair of them should have."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.table import Array
from topo.wiring.bare import bare_switches, hanging_switches
from topo.wiring.cabling import Cabling
from topo.wiring.learnt import BIG, SUPPORT

__all__ = ["Block", "TierPair", "blocks_of", "port_owners"]

_ALIKE = 0.5
_PATTERN = 0.8
_FEWEST_OF_PATTERN = 3
_OTHER = 0.25
_SECOND = 0.15
_PORT_SUPPORT = 0.6
_PAIRS_BY_PORT = 0.4
_CHUNK = 512
_TOY = 4
_COLUMNS_ALIKE = 0.5


@dataclass(eq=False)
class Block:
    """Lower switches cabled alike (``rows``) and the upper ones that most of them reach (``columns``).

    ``count`` is found cables, ``planned`` what each pair should have (None: no rule), of shape (rows, columns).
    ``spread`` is the two neighbouring counts where that is the rule instead. ``how`` says which rule it is.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    count: NDArray[np.int64]
    planned: NDArray[np.int64] | None = None
    spread: tuple[int, int] | None = None
    how: str = ""

    @property
    def n_agree(self) -> int:
        """Pairs that have what they should."""
        if self.spread is not None:
            return int(np.isin(self.count, self.spread).sum())
        return int((self.count == self.planned).sum()) if self.planned is not None else 0


@dataclass(eq=False)
class TierPair:
    """All cables between one tier and the next: the counts of all pairs, the blocks, the rows of another pattern.

    ``between`` masks the columns that serve several small blocks and are of none.
    """

    lower: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    count: NDArray[np.int64]
    blocks: list[Block] = field(default_factory=list)
    odd: list[tuple[int, Block]] = field(default_factory=list)
    between: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def n_pairs(self) -> int:
        """Pairs inside blocks."""
        return sum(block.count.size for block in self.blocks)

    @property
    def n_ruled(self) -> int:
        """Pairs that a rule speaks of."""
        return sum(block.count.size for block in self.blocks if block.planned is not None or block.spread)

    @property
    def is_ruled(self) -> bool:
        """Whether enough pairs have a rule to name a pair as faulty."""
        return self.n_ruled >= SUPPORT * max(self.n_pairs, 1) and self.n_ruled > 0


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
    groups = _groups(cabling, pair)
    pair.between = _between(pair, groups)
    for members in groups:
        block = _block(pair, members)
        if block is None:
            continue
        pair.blocks += _split_patterns(pair, block)
    _adopt_columns(cabling, pair)
    _give_rules(cabling, pair, mine)
    return pair


def _groups(cabling: Cabling, pair: TierPair) -> list[NDArray[np.int64]]:
    """Rows alike by weighted Jaccard (sum of least over sum of greatest counts), lone ones joined where they belong."""
    n = len(pair.rows)
    part = components(n, *_alike(pair.count))
    size = np.bincount(part)
    groups = {code: np.flatnonzero(part == code) for code in np.flatnonzero(size > 1).tolist()}
    usual = int(np.median(size[size > 1])) if (size > 1).any() else 1
    _dissolve_pairs(pair, groups, usual)
    held = np.concatenate([np.empty(0, np.int64), *groups.values()])
    lone = np.setdiff1d(np.arange(n), held)
    whole = dict(groups)
    # Those with most cables first: what they fill is no longer open to one that has hardly any left.
    for row in lone[np.argsort(-pair.count[lone].sum(axis=1), kind="stable")].tolist():
        code = _home(cabling, pair, row, (groups, whole), usual)
        if code is not None:
            groups[code] = np.append(groups[code], row)
    return [np.sort(members) for members in groups.values()]


def _dissolve_pairs(pair: TierPair, groups: dict[int, NDArray[np.int64]], usual: int) -> None:
    """Two rows alike that reach only what larger groups reach are no block of their own: exchanged cables do that."""
    reach = {code: 2 * (pair.count[members] > 0).sum(axis=0) > len(members) for code, members in groups.items()}
    larger = [mask for code, mask in reach.items() if len(groups[code]) > 2]
    if usual <= 2 or not larger:
        return
    elsewhere = np.any(larger, axis=0)
    for code in [code for code, members in groups.items() if len(members) == 2]:
        if elsewhere[reach[code]].all():
            del groups[code]


def _home(
    cabling: Cabling,
    pair: TierPair,
    row: int,
    groups: tuple[dict[int, NDArray[np.int64]], dict[int, NDArray[np.int64]]],
    usual: int,
) -> int | None:
    """The group that a lone row belongs to; None where nothing tells.

    That with at least half of its cables; else, of those short of members and without one that stands over the same
    switches, that with most of its cables, if it is the only one. ``groups`` is as it is filled and as it was first:
    rows that were joined already count as members, and tell nothing of what is usual.
    """
    ranked: list[tuple[tuple[float, int, int, bool], int]] = []
    for code, members in groups[1].items():
        if not _fits(cabling, pair, row, members):
            continue
        reach = 2 * (pair.count[members] > 0).sum(axis=0) > len(members)
        held = float(pair.count[row][reach].sum() / max(pair.count[row].sum(), 1))
        is_short = len(groups[0][code]) < usual
        if held >= 0.5 or is_short:
            at_home, siblings = _likeness(cabling, pair, row, groups[0][code])
            ranked.append(((held, at_home, -siblings, is_short), code))
    if not ranked:
        return None
    ranked.sort(reverse=True)
    if ranked[0][0][0] >= 0.5:
        return ranked[0][1]
    open_to_it = [(rank[0], code) for rank, code in ranked if rank[3] and rank[2] == 0]
    most = [code for held, code in open_to_it if held == open_to_it[0][0]]
    return most[0] if len(most) == 1 else None


def _likeness(cabling: Cabling, pair: TierPair, row: int, members: Array) -> tuple[int, int]:
    """What tells where a row belongs that lies between two blocks.

    Cables on the ports that most members plug alike, above and below; and members that stand over the same switches,
    of which a block seldom has two.
    """
    near, n = pair.rows[members], len(cabling.fabric.nodes)
    key = cabling.number[cabling.low_port] * n + cabling.high
    keys, times = np.unique(key[np.isin(cabling.low, near)], return_counts=True)
    own = key[cabling.low == pair.rows[row]]
    at_home = int(np.isin(own, keys[2 * times >= len(members)]).sum())
    beneath = cabling.high == pair.rows[row]
    ports, times = np.unique(cabling.number[cabling.low_port[np.isin(cabling.high, near)]], return_counts=True)
    usual = ports[2 * times >= times.max(initial=0)] if len(ports) else ports
    alike = np.isin(cabling.number[cabling.low_port[beneath]], usual)
    at_home += int(2 * alike.sum() > len(alike))
    below = cabling.low[beneath]
    shared = np.isin(cabling.low, below) & np.isin(cabling.high, near)
    held = np.unique(np.stack([cabling.high[shared], cabling.low[shared]]), axis=1)[0]
    _, common = np.unique(held, return_counts=True)
    return at_home, int((2 * common >= max(len(np.unique(below)), 1)).sum())


def _alike(count: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of rows whose weighted Jaccard similarity is at least one half."""
    from scipy.sparse import csr_array, hstack

    most = int(count.max(initial=0))
    copies = [csr_array((count >= copy).astype(np.float32)) for copy in range(1, most + 1) if (count >= copy).any()]
    unary = csr_array(hstack(copies)) if copies else csr_array((len(count), 1), dtype=np.float32)
    total = count.sum(axis=1)
    a, b = [], []
    for start in range(0, len(count), _CHUNK):
        shared = csr_array(unary[start : start + _CHUNK] @ unary.T).tocoo()
        row, column = shared.row + start, shared.col
        near = shared.data >= _ALIKE * (total[row] + total[column] - shared.data)
        a.append(row[near])
        b.append(column[near])
    return np.concatenate(a) if a else np.empty(0, np.int64), np.concatenate(b) if b else np.empty(0, np.int64)


def _fits(cabling: Cabling, pair: TierPair, row: int, members: Array) -> bool:
    """Whether a lone row may be one of a block that lost its cables: same ports, about as many endpoints."""
    ports = cabling.n_ports[pair.rows]
    if ports[row] != np.median(ports[members]):
        return False
    if pair.lower != 1:
        return True
    ends = cabling.n_endpoints[pair.rows]
    usual = float(np.median(ends[members]))
    return bool(0.5 * usual <= ends[row] <= 2 * usual)


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
    ports = cabling.n_ports[pair.columns]
    for column in np.flatnonzero(~held).tolist():
        cables = np.array([pair.count[block.rows, column].sum() for block in pair.blocks])
        best = int(np.argmax(cables))
        block = pair.blocks[best]
        if (cables == cables[best]).sum() > 1:  # of equal ones that which lacks a switch
            short = [i for i in np.flatnonzero(cables == cables[best]).tolist() if len(pair.blocks[i].columns) < usual]
            if len(short) != 1:
                continue
            block = pair.blocks[short[0]]
        if len(block.columns) >= usual or ports[column] != np.median(ports[block.columns]):
            continue
        columns = np.sort(np.append(block.columns, column))
        block.columns, block.count = columns, pair.count[np.ix_(block.rows, columns)]


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
