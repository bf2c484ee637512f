"""Blocks of a pair of tiers: switches cabled alike, and how many cables each pair of them should have."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.learnt import BIG, SUPPORT

__all__ = ["Block", "TierPair", "bare_switches", "blocks_of", "port_owners"]

_ALIKE = 0.5
_PATTERN = 0.8
_FEWEST_OF_PATTERN = 3
_SECOND = 0.15
_PORT_SUPPORT = 0.6
_PAIRS_BY_PORT = 0.4
_CHUNK = 512
_TOY = 4


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
    """All cables between one tier and the next: the counts of all pairs, the blocks, the rows of another pattern."""

    lower: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    count: NDArray[np.int64]
    blocks: list[Block] = field(default_factory=list)
    odd: list[tuple[int, Block]] = field(default_factory=list)

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
    columns, c = np.unique(pairs[1], return_inverse=True)
    count = np.zeros((len(rows), len(columns)), np.int64) if len(rows) * len(columns) < 50_000_000 else None
    if count is None:  # too wide to hold: only a fabric of tens of thousands of switches
        return TierPair(lower, rows, columns, np.zeros((0, 0), np.int64))
    count[r, c] = times
    pair = TierPair(lower, rows, columns, count)
    groups = _groups(cabling, pair)
    for members in groups:
        block = _block(pair, members)
        if block is None:
            continue
        pair.blocks += _split_patterns(pair, block)
    _give_rules(cabling, pair, mine)
    return pair


def _groups(cabling: Cabling, pair: TierPair) -> list[NDArray[np.int64]]:
    """Rows alike by weighted Jaccard (sum of least over sum of greatest counts), lone ones joined where they belong."""
    n = len(pair.rows)
    a, b = _alike(pair.count)
    part = components(n, a, b)
    size = np.bincount(part)
    groups = {code: np.flatnonzero(part == code) for code in np.flatnonzero(size > 1).tolist()}
    usual = int(np.median(size[size > 1])) if (size > 1).any() else 1
    lone = np.flatnonzero(size[part] == 1)
    for row in lone.tolist():
        best: tuple[tuple[float, bool], int] | None = None
        for code, members in groups.items():
            if not _fits(cabling, pair, row, members):
                continue
            reach = 2 * (pair.count[members] > 0).sum(axis=0) > len(members)
            held = pair.count[row][reach].sum() / max(pair.count[row].sum(), 1)
            rank = (float(held), len(members) < usual)
            if held >= 0.5 and (best is None or rank > best[0]):
                best = rank, code
        if best is not None:
            groups[best[1]] = np.append(groups[best[1]], row)
    bare = lone[pair.count[lone].sum(axis=1) == 0]
    short = [code for code, members in groups.items() if len(members) < usual]
    if len(bare) == len(short) == 1 and _fits(cabling, pair, int(bare[0]), groups[short[0]]):
        groups[short[0]] = np.append(groups[short[0]], bare)
    return [np.sort(members) for members in groups.values()]


def bare_switches(cabling: Cabling, lower: int) -> Array:
    """Switches of a tier that no cable joins to the next, where at least 80 % of their peers have some.

    The peers of a spine are those that share half of its neighbours below, so that the spines of a smaller network
    beside a larger one are no fault; those of a leaf all leaves with endpoints.
    """
    tier, n = cabling.tier, len(cabling.fabric.nodes)
    up = np.bincount(cabling.low[tier[cabling.high] == lower + 1], minlength=n)
    nodes = np.flatnonzero(cabling.is_switch & (tier == lower))
    if lower == 1:
        nodes = nodes[cabling.n_endpoints[nodes] > 0]
        few: Array = nodes[up[nodes] == 0]
        return few if few.size <= (1 - SUPPORT) * len(nodes) else few[:0]
    bare: Array = nodes[up[nodes] == 0]
    if not bare.size or bare.size == len(nodes):
        return bare[:0]
    from scipy.sparse import csr_array

    below = tier[cabling.low] == lower - 1
    joined = csr_array((np.ones(int(below.sum())), (cabling.high[below], cabling.low[below])), shape=(n, n))
    joined.data[:] = 1
    mine = joined[bare]
    shared = (mine @ joined[nodes].T).toarray()
    peers = 2 * shared >= np.maximum(np.asarray(mine.sum(axis=1)).ravel(), 1)[:, None]
    has = peers.astype(np.int64) @ (up[nodes] > 0).astype(np.int64)
    told: Array = bare[(has > 0) & (has >= SUPPORT * (peers.sum(axis=1) - 1))]
    return told


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


def _block(pair: TierPair, members: Array) -> Block | None:
    reached = (pair.count[members] > 0).sum(axis=0)
    reach = 2 * reached > len(members)
    if len(members) <= _TOY:  # two cables of one column gone leave half of it: it is of the block that has most of it
        own = pair.count[members].sum(axis=0)
        reach |= (2 * reached == len(members)) & (2 * own >= pair.count.sum(axis=0))
    if not reach.any():
        return None
    return Block(members, np.flatnonzero(reach), pair.count[np.ix_(members, np.flatnonzero(reach))])


def _mode(values: Array) -> tuple[int, float]:
    """Most common count and the share that has it."""
    if not values.size:
        return 0, 0.0
    times = np.bincount(values.ravel())
    return int(np.argmax(times)), float(times.max() / values.size)


def _split_patterns(pair: TierPair, block: Block) -> list[Block]:
    """A block and the classes of rows in it that have another multiplicity; one or two such rows are set apart."""
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
        else:
            pair.odd += [(int(row), block) for row in mine.tolist()]
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
        each = _held_by_each(number, far, n_near, owners)
        if each and (block.count == each).mean() >= _PAIRS_BY_PORT:
            return each
    return None


def _held_by_each(number: Array, far: Array, n_near: int, owners: Array) -> int:
    """Ports that belong to each of the owners where all have equally many and most devices agree; else 0."""
    if n_near < _FEWEST_OF_PATTERN:
        return 0
    owner, support = port_owners(number, far, n_near)
    held = np.array([(owner[:, 1] == one).sum() for one in owners.tolist()])
    if not len(owner) or support < _PORT_SUPPORT or not held.size or held.min() != held.max():
        return 0
    each = int(held[0])
    return each if len(owner) == each * len(owners) else 0


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
