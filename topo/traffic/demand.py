"""Demand: who wants to send how much to whom, as blocks and single pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.table import check_rows, freeze
from topo.units import parse_gbps

__all__ = ["Block", "Demand"]

_MOST_PAIRS = 50_000_000
_EMPTY_ROWS = freeze(np.empty(0, np.int64))
_EMPTY_RATES = freeze(np.empty(0, np.float64))


@dataclass(frozen=True, eq=False)
class Block:
    """Every source sends to every sink: pair (s, t), s != t, at ``gbps * source_weight[s] * sink_weight[t]``.

    An all-to-all of 16,384 endpoints is one block. ``sources`` and ``sinks`` are distinct node rows; weights have
    one entry a row. A node that is in both sends nothing to itself.
    """

    sources: NDArray[np.int64]
    sinks: NDArray[np.int64]
    gbps: float
    source_weight: NDArray[np.float64]
    sink_weight: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        sources: ArrayLike,
        sinks: ArrayLike,
        gbps: float,
        *,
        source_weight: ArrayLike | None = None,
        sink_weight: ArrayLike | None = None,
    ) -> Block:
        """A block with weights of 1 where none are given.

        :raises ParameterError: a row listed twice, weights of another length, a rate or weight that is negative,
            infinite or nan.
        """
        from_rows, to_rows = _distinct("sources", sources), _distinct("sinks", sinks)
        return cls(
            from_rows,
            to_rows,
            float(_rates("gbps", [gbps], 1)[0]),
            _weights("source_weight", source_weight, len(from_rows)),
            _weights("sink_weight", sink_weight, len(to_rows)),
        )

    @cached_property
    def n_pairs(self) -> int:
        """Ordered pairs, a node with itself left out."""
        return len(self.sources) * len(self.sinks) - len(self._in_both[0])

    @cached_property
    def _in_both(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the nodes that are in both stand in either."""
        if np.array_equal(self.sources, self.sinks):
            return np.arange(len(self.sources)), np.arange(len(self.sinks))
        _, at_source, at_sink = np.intersect1d(self.sources, self.sinks, assume_unique=True, return_indices=True)
        return at_source, at_sink

    @property
    def total_gbps(self) -> float:
        """Sum over all pairs."""
        at_source, at_sink = self._in_both
        to_self = float(self.source_weight[at_source] @ self.sink_weight[at_sink])
        return self.gbps * (float(self.source_weight.sum()) * float(self.sink_weight.sum()) - to_self)


@dataclass(frozen=True, eq=False)
class Demand:
    """Wanted rates in Gb/s between endpoints of one fabric: ``blocks`` plus single pairs, all added up.

    ``source[i]`` wants to send ``gbps[i]`` to ``sink[i]``; rows are node rows of the fabric it was made for.
    Several pairs with the same ends are several flows. ``name`` says what it is, for results.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, link_gbps=100)
    >>> demand = Demand.of(f, "two flows", source=f.rows("host-1"), sink=f.rows("host-4"), gbps=100)
    >>> demand.n_pairs, demand.total_gbps
    (1, 100.0)
    """

    name: str
    blocks: tuple[Block, ...] = ()
    source: NDArray[np.int64] = field(default_factory=lambda: _EMPTY_ROWS)
    sink: NDArray[np.int64] = field(default_factory=lambda: _EMPTY_ROWS)
    gbps: NDArray[np.float64] = field(default_factory=lambda: _EMPTY_RATES)
    made_for: str = ""
    """Mark of the fabric it was made for: of its nodes' names and which of them are endpoints; '' for none."""

    @classmethod
    def of(
        cls,
        fabric: Fabric,
        name: str,
        *,
        blocks: tuple[Block, ...] = (),
        source: ArrayLike = (),
        sink: ArrayLike = (),
        gbps: ArrayLike = (),
    ) -> Demand:
        """A checked demand; ``gbps`` may be one rate for all pairs.

        Rates may be text as people write it, such as ``400G``.

        :raises ParameterError: a row that is no endpoint, a flow to itself, unequal lengths, a rate that is
            negative, infinite, nan or not to be read; the first offender is named.
        """
        from_rows, to_rows = _endpoints(fabric, "source", source), _endpoints(fabric, "sink", sink)
        if len(from_rows) != len(to_rows):
            raise ParameterError(f"{len(from_rows)} sources and {len(to_rows)} sinks; each pair needs both")
        itself = np.flatnonzero(from_rows == to_rows)
        if itself.size:
            name = str(fabric.nodes.name[from_rows[itself[0]]])
            raise ParameterError(f"pair {itself[0]} is a flow from {name!r} to itself; leave it out")
        for block in blocks:
            _endpoints(fabric, "sources", block.sources)
            _endpoints(fabric, "sinks", block.sinks)
        rates = _rates("gbps", gbps, len(from_rows))
        return cls(name, tuple(blocks), from_rows, to_rows, rates, _mark_of(fabric))

    def expect_made_for(self, fabric: Fabric) -> None:
        """Refuse a fabric whose rows are other nodes than those of the fabric this demand was made for.

        Nodes are compared by name and by whether they are endpoints; wiring and rates may differ, as in questions
        of what if. A demand that was put together from bare rows has no mark, and only its rows are checked.

        :raises ParameterError: rows beyond the fabric's nodes, or nodes of other names.
        """
        rows = [self.source, self.sink, *(side for block in self.blocks for side in (block.sources, block.sinks))]
        last = max((int(side.max()) for side in rows if len(side)), default=-1)
        if last >= len(fabric.nodes):
            raise ParameterError(
                f"demand {self.name!r} names node row {last}, but {fabric.name!r} has {len(fabric.nodes)} nodes; "
                "make the demand for this fabric"
            )
        if self.made_for and self.made_for != _mark_of(fabric):
            raise ParameterError(
                f"demand {self.name!r} was made for another fabric than {fabric.name!r}: the nodes of its rows have "
                "other names there; make the demand for this fabric"
            )

    @property
    def n_pairs(self) -> int:
        """Ordered pairs in blocks and lists."""
        return len(self.source) + sum(block.n_pairs for block in self.blocks)

    @property
    def total_gbps(self) -> float:
        """Sum of all wanted rates."""
        return float(self.gbps.sum()) + sum(block.total_gbps for block in self.blocks)

    def sent_gbps(self, fabric: Fabric) -> NDArray[np.float64]:
        """Wanted rate out of every node row."""
        return self._per_node(fabric, outward=True)

    def received_gbps(self, fabric: Fabric) -> NDArray[np.float64]:
        """Wanted rate into every node row."""
        return self._per_node(fabric, outward=False)

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every pair as (source, sink, gbps), blocks expanded in row order after the single pairs.

        :raises ParameterError: more than 50 million pairs.
        """
        if self.n_pairs > _MOST_PAIRS:
            raise ParameterError(
                f"{self.name} has {self.n_pairs:,} pairs, more than the {_MOST_PAIRS:,} that can be listed one by one"
            )
        source, sink, gbps = [self.source], [self.sink], [self.gbps]
        for block in self.blocks:
            from_rows, to_rows = np.repeat(block.sources, len(block.sinks)), np.tile(block.sinks, len(block.sources))
            rate = block.gbps * np.outer(block.source_weight, block.sink_weight).ravel()
            other = from_rows != to_rows
            source.append(from_rows[other])
            sink.append(to_rows[other])
            gbps.append(rate[other])
        return np.concatenate(source), np.concatenate(sink), np.concatenate(gbps)

    def scaled(self, factor: float) -> Demand:
        """The same demand times ``factor``."""
        blocks = tuple(Block(b.sources, b.sinks, b.gbps * factor, b.source_weight, b.sink_weight) for b in self.blocks)
        return Demand(self.name, blocks, self.source, self.sink, freeze(self.gbps * factor), self.made_for)

    def __add__(self, other: Demand) -> Demand:
        if self.made_for and other.made_for and self.made_for != other.made_for:
            raise ParameterError(
                f"{self.name!r} and {other.name!r} were made for two fabrics; add up demands of one fabric"
            )
        return Demand(
            f"{self.name} + {other.name}",
            self.blocks + other.blocks,
            freeze(np.concatenate([self.source, other.source])),
            freeze(np.concatenate([self.sink, other.sink])),
            freeze(np.concatenate([self.gbps, other.gbps])),
            self.made_for or other.made_for,
        )

    def __repr__(self) -> str:
        return f"<Demand {self.name!r}: {self.n_pairs:,} pairs, {self.total_gbps:,.6g} Gb/s>"

    def _per_node(self, fabric: Fabric, *, outward: bool) -> NDArray[np.float64]:
        rows = self.source if outward else self.sink
        total = np.bincount(rows, weights=self.gbps, minlength=len(fabric.nodes)).astype(float)
        for block in self.blocks:
            own, own_weight = (block.sources, block.source_weight) if outward else (block.sinks, block.sink_weight)
            far, far_weight = (block.sinks, block.sink_weight) if outward else (block.sources, block.source_weight)
            _, at_own, at_far = np.intersect1d(own, far, return_indices=True)
            partners = np.full(len(own), far_weight.sum())
            partners[at_own] -= far_weight[at_far]
            np.add.at(total, own, block.gbps * own_weight * partners)
        return total


def _distinct(name: str, rows: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(rows, dtype=np.int64).ravel()
    if not array.size:
        raise ParameterError(f"{name} of a block are empty; a block needs at least one")
    found, count = np.unique(array, return_counts=True)
    if (count > 1).any():
        raise ParameterError(f"{name} list node row {found[count > 1][0]} twice; a block lists each node once")
    return freeze(array)


def _weights(name: str, weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    return freeze(np.ones(n)) if weights is None else _rates(name, weights, n)


def _rates(name: str, values: ArrayLike, n: int) -> NDArray[np.float64]:
    array = _numbers(name, values)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ParameterError(f"{name} has {array.size} values for {n} entries")
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if bad.size:
        raise ParameterError(f"{name}[{bad[0]}] is {array[bad[0]]}; it must be finite and at least 0")
    return freeze(array)


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Values as numbers; text is read as a rate."""
    array = np.asarray(values)
    if array.dtype.kind in "fiu":
        return array.astype(float)
    try:
        return np.array([parse_gbps(value) for value in array.ravel().tolist()], float).reshape(array.shape)
    except (ParameterError, TypeError) as error:
        raise ParameterError(f"{name}: {error}") from None


_marks: WeakKeyDictionary[Fabric, str] = WeakKeyDictionary()


def _mark_of(fabric: Fabric) -> str:
    """A short mark of the nodes' names and of which are endpoints; computed once a fabric."""
    mark = _marks.get(fabric)
    if mark is None:
        names = fabric.nodes.name
        # As wide as the longest name, whatever the column's own width.
        width = max(1, int(np.char.str_len(names).max(initial=1)))
        found = blake2b(np.ascontiguousarray(names.astype(f"<U{width}")).tobytes(), digest_size=16)
        found.update(np.packbits(fabric.nodes.is_endpoint).tobytes())
        mark = _marks[fabric] = found.hexdigest()
    return mark


def _endpoints(fabric: Fabric, name: str, rows: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(rows)
    index = check_rows(array if array.size else array.astype(np.int64), len(fabric.nodes), "nodes")
    other = np.flatnonzero(~fabric.nodes.is_endpoint[index])
    if other.size:
        node = str(fabric.nodes.name[index[other[0]]])
        raise ParameterError(
            f"{name}: {node!r} is no endpoint of {fabric.name!r}; traffic starts and ends at endpoints"
        )
    return freeze(index)
