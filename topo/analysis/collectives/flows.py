"""Collectives as phases of flows between placed ranks: who sends how much to whom, how often, one after another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collectives.phase import Phase
from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.table import Array, ranges
from topo.traffic.demand import Block, Demand
from topo.traffic.rings import double_tree_parents

__all__ = ["PLACED", "Ranks", "collective_phases", "islands"]

PLACED: dict[str, tuple[str, ...]] = {
    "all_reduce": ("ring", "double_tree", "hierarchical", "halving_doubling", "in_network"),
    "reduce_scatter": ("ring",),
    "all_gather": ("ring",),
    "all_to_all": ("direct", "relayed", "pairwise"),
    "broadcast": ("chain",),
    "send": ("direct",),
}
"""Algorithms that can be placed on a fabric, by collective; the first is taken where none is named."""

_GIGABIT = 8e-9
_MOST_SHIFTS = 4096


@dataclass(frozen=True, eq=False)
class Ranks:
    """Groups that run the same collective at once: node rows (groups, ranks), in hosts of ``local`` ranks each.

    ``local`` is above 1 only where every group fills whole hosts one after another; ``dropped`` tells that flows
    inside hosts are left out, because the fabric has no links there.
    """

    rows: NDArray[np.int64]
    host: NDArray[np.int64]
    local: int
    dropped: bool

    @property
    def size(self) -> int:
        """Ranks of a group."""
        return int(self.rows.shape[1])

    @property
    def hosts(self) -> int:
        """Hosts of a group, counted as whole."""
        return self.size // self.local

    @classmethod
    def of(cls, fabric: Fabric, placement: ArrayLike | None) -> Ranks:
        """A placement: endpoint rows in rank order, or several groups of them as rows of a matrix; None: all.

        :raises ParameterError: a row that is no endpoint, listed twice, or no rank at all.
        """
        rows = fabric.endpoints if placement is None else np.asarray(placement)
        if rows.dtype.kind not in "iu":
            rows = fabric.endpoint_rows(placement)
        rows = rows.astype(np.int64)
        rows = rows.reshape(1, -1) if rows.ndim == 1 else rows
        if rows.ndim != 2 or not rows.size:
            raise ParameterError(
                f"a placement of shape {rows.shape}; give endpoint rows, or groups as rows of a matrix"
            )
        _check_endpoints(fabric, rows)
        host = islands(fabric)[rows]
        local = _local(host)
        # Without scale-up links nothing inside a host is modelled that its ranks could talk over.
        inner = bool(fabric.links.kind.is_any("scale_up", "host_io").any())
        return cls(rows, host, local, not inner)


def collective_phases(
    fabric: Fabric,
    ranks: Ranks,
    collective: str,
    size: float,
    *,
    algorithm: str | None = None,
    alpha_us: float = 5.0,
    inner_alpha_us: float = 1.0,
) -> tuple[Phase, ...]:
    """The phases of a collective of ``size`` bytes, as :func:`~topo.analysis.collectives.cost.collective_cost` has S.

    A ring over hosts of G ranks has G channels, each leaving and entering a host on one rail; a tree has one over the
    hosts for each local rank; ``hierarchical`` scatters inside, reduces between, gathers inside; ``relayed`` sends
    inside the host first to the rank on the sink's rail. ``in_network`` has every rank send and receive S once.

    :raises ParameterError: an unknown collective or algorithm, a rank number the algorithm does not take.
    """
    if collective not in PLACED:
        raise ParameterError(f"unknown collective {collective!r} on a fabric; known: {', '.join(PLACED)}")
    name = algorithm or PLACED[collective][0]
    if name not in PLACED[collective]:
        raise ParameterError(
            f"unknown algorithm {name!r} of {collective} on a fabric; known: {', '.join(PLACED[collective])}"
        )
    if not math.isfinite(size) or size < 0:
        raise ParameterError(f"bytes is {size}; it must be finite and at least 0")
    make = _Maker(fabric, ranks, float(size), alpha_us, inner_alpha_us)
    if ranks.size == 1:
        return ()
    return make.phases(collective, name)


@dataclass(frozen=True, eq=False)
class _Maker:
    """Phases of one collective over given ranks."""

    fabric: Fabric
    ranks: Ranks
    size: float
    alpha: float
    inner_alpha: float

    def phases(self, collective: str, name: str) -> tuple[Phase, ...]:
        n = self.ranks.size
        if name == "ring":
            times = 2 * (n - 1) if collective == "all_reduce" else n - 1
            return (self._phase("ring", *self._ring(self.size / n), repeats=times),)
        if collective == "send":
            rows = self.ranks.rows
            return (self._phase("send", rows[:, :-1].ravel(), rows[:, 1:].ravel(), self.size),)
        if name == "chain":
            rows = self.ranks.rows
            return (self._phase("chain", rows[:, :-1].ravel(), rows[:, 1:].ravel(), self.size, chain=n),)
        return {
            "double_tree": self._tree, "hierarchical": self._hierarchical, "halving_doubling": self._halving,
            "in_network": self._in_network, "direct": self._direct, "relayed": self._relayed,
            "pairwise": self._pairwise,
        }[name]()  # fmt: skip

    def _ring(self, piece: float) -> tuple[Array, Array, float]:
        """Edges of all channels; each carries its share of a piece of S/n."""
        order = self._channels()
        source, sink = order, np.roll(order, -1, axis=2)
        return source.ravel(), sink.ravel(), piece / order.shape[1]

    def _channels(self) -> NDArray[np.int64]:
        """Rank rows (groups, channels, ranks): channel c enters even hosts at c and leaves as the next is entered."""
        g, hosts = self.ranks.local, self.ranks.hosts
        if g == 1 or hosts == 1:
            return self.ranks.rows[:, None, :]
        c, i, j = np.arange(g)[:, None, None], np.arange(hosts)[None, :, None], np.arange(g)[None, None, :]
        local = np.where(i % 2 == 0, c + j, c - 1 - j) % g
        order = (i * g + local).reshape(g, hosts * g)
        return self.ranks.rows[:, order]

    def _tree(self) -> tuple[Phase, ...]:
        g, hosts = self.ranks.local, self.ranks.hosts
        rows = self.ranks.rows.reshape(len(self.ranks.rows), hosts, g)
        source, sink, amount = [], [], []
        for parents in double_tree_parents(hosts) if hosts > 1 else ():
            child = np.flatnonzero(parents >= 0)
            up, down = rows[:, child, :].ravel(), rows[:, parents[child], :].ravel()
            source += [up, down]
            sink += [down, up]
            amount.append(np.full(2 * up.size, self.size / (2 * g)))
        if g > 1:
            # Inside a host the channel of rank c gathers along a chain that ends at c, and spreads back.
            chain = (np.arange(g)[:, None] + np.arange(g)[None, :]) % g
            near, far = rows[:, :, chain[:, :-1]].ravel(), rows[:, :, chain[:, 1:]].ravel()
            source += [near, far]
            sink += [far, near]
            amount.append(np.full(2 * near.size, self.size / g))
        depth = max(1, math.ceil(math.log2(hosts))) if hosts > 1 else 0
        between, inside = 2 * depth * self.alpha, 2 * (g - 1) * self.inner_alpha
        phase = self._phase(
            "double tree", np.concatenate(source), np.concatenate(sink), np.concatenate(amount), steps=between + inside,
            alpha=1.0,
        )  # fmt: skip
        return (phase,)

    def _hierarchical(self) -> tuple[Phase, ...]:
        g, hosts = self.ranks.local, self.ranks.hosts
        rows = self.ranks.rows.reshape(len(self.ranks.rows), hosts, g)
        between, phases = rows.transpose(0, 2, 1), []
        ring = self._phase(
            "ring between hosts", between.ravel(), np.roll(between, -1, axis=2).ravel(), self.size / (g * hosts),
            repeats=2 * (hosts - 1),
        )  # fmt: skip
        if g > 1:
            ends = rows.ravel(), np.roll(rows, -1, axis=2).ravel()
            phases = [
                self._phase(f"{what} inside hosts", *ends, self.size / g, repeats=g - 1, alpha=self.inner_alpha)
                for what in ("reduce-scatter", "all-gather")
            ]
        if hosts == 1:
            return tuple(phases)
        return (phases[0], ring, phases[1]) if phases else (ring,)

    def _halving(self) -> tuple[Phase, ...]:
        n, rows = self.ranks.size, self.ranks.rows
        if n & (n - 1):
            low = 1 << (n.bit_length() - 1)
            raise ParameterError(f"halving_doubling needs a power of two of ranks, not {n}; near: {low} or {2 * low}")
        phases = []
        for k in range(n.bit_length() - 1):
            partner = np.arange(n) ^ (1 << k)
            piece = self.size * (1 << k) / n
            phases.append(
                self._phase(f"exchange over {1 << k}", rows.ravel(), rows[:, partner].ravel(), piece, repeats=2)
            )
        return tuple(phases)

    def _in_network(self) -> tuple[Phase, ...]:
        rows = self.ranks.rows
        ends = rows.ravel(), np.roll(rows, -1, axis=1).ravel()
        return (self._phase("reduction in switches", *ends, self.size, steps=2, own_links=True),)

    def _direct(self) -> tuple[Phase, ...]:
        n, piece, name = self.ranks.size, self.size / self.ranks.size * _GIGABIT, "all pairs at once"
        blocks = tuple(Block.of(group, group, piece) for group in self.ranks.rows)
        less = self._inside(piece) if self.ranks.dropped else None
        demand = Demand.of(self.fabric, name, blocks=blocks)
        return (Phase(name, demand, 1, self.alpha, steps=n - 1, less=less),)

    def _inside(self, piece: float) -> Demand | None:
        """Pairs of one group in one host; None where there are none."""
        n = self.ranks.size
        group = np.repeat(np.arange(len(self.ranks.rows)), n)
        key = group * (int(self.ranks.host.max(initial=0)) + 1) + self.ranks.host.ravel()
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        size = np.diff(np.append(first, len(key)))
        if (size == 1).all():
            return None
        # Every member of a host beside every member of it.
        many = np.repeat(size, size)
        sink, source = ranges(np.repeat(first, size), many)
        rows = self.ranks.rows.ravel()[order]
        apart = source != sink
        return Demand.of(self.fabric, "inside hosts", source=rows[source[apart]], sink=rows[sink[apart]], gbps=piece)

    def _relayed(self) -> tuple[Phase, ...]:
        g, hosts, n = self.ranks.local, self.ranks.hosts, self.ranks.size
        if g == 1 or hosts == 1:
            return self._direct()
        rows = self.ranks.rows.reshape(len(self.ranks.rows), hosts, g)
        piece = self.size / n
        a, b = np.nonzero(~np.eye(g, dtype=bool))
        i, j = np.nonzero(~np.eye(hosts, dtype=bool))
        # Inside: what stays, and what leaves on another rail; between: everything of the host for one rank.
        inside = rows[:, :, a].ravel(), rows[:, :, b].ravel()
        between = rows[:, i, :].ravel(), rows[:, j, :].ravel()
        source, sink = np.concatenate([inside[0], between[0]]), np.concatenate([inside[1], between[1]])
        amount = np.concatenate([np.full(inside[0].size, piece * hosts), np.full(between[0].size, piece * g)])
        return (self._phase("all pairs, over the sink's rail", source, sink, amount, steps=hosts - 1),)

    def _pairwise(self) -> tuple[Phase, ...]:
        n, rows = self.ranks.size, self.ranks.rows
        if n > _MOST_SHIFTS:
            raise ParameterError(f"pairwise over {n:,} ranks is {n - 1:,} phases; use direct above {_MOST_SHIFTS:,}")
        piece = self.size / n
        return tuple(
            self._phase(f"shift by {k}", rows.ravel(), np.roll(rows, -k, axis=1).ravel(), piece) for k in range(1, n)
        )

    def _phase(
        self,
        name: str,
        source: Array,
        sink: Array,
        amount: Array | float,
        *,
        repeats: int = 1,
        alpha: float | None = None,
        steps: float = 1.0,
        chain: int = 0,
        own_links: bool = False,
    ) -> Phase:
        gigabits = np.broadcast_to(np.asarray(amount, float) * _GIGABIT, source.shape)
        keep = source != sink
        if self.ranks.dropped:
            host = islands(self.fabric)
            keep &= host[source] != host[sink]
        demand = Demand.of(self.fabric, name, source=source[keep], sink=sink[keep], gbps=gigabits[keep])
        chosen = self.alpha if alpha is None else alpha
        return Phase(name, demand, repeats, chosen, steps, chain, own_links)


def islands(fabric: Fabric) -> NDArray[np.int64]:
    """Scale-up island of every node: its domain, else its host, else the node by itself."""
    nodes = fabric.nodes
    host = nodes.host.codes.astype(np.int64)
    domain = nodes.domain.codes.astype(np.int64)
    alone = len(nodes.host.labels) + len(nodes.domain.labels) + np.arange(len(nodes))
    return np.where(domain >= 0, len(nodes.host.labels) + domain, np.where(host >= 0, host, alone))


def _local(host: NDArray[np.int64]) -> int:
    """Ranks a host where every group fills hosts one after another with equally many, else 1."""
    first = host[0]
    change = np.flatnonzero(first[1:] != first[:-1]) + 1
    local = int(change[0]) if change.size else len(first)
    if len(first) % local:
        return 1
    blocks = host.reshape(len(host), -1, local)
    whole = (blocks == blocks[:, :, :1]).all()
    distinct = all(len(np.unique(group)) == len(group) for group in blocks[:, :, 0])
    return local if whole and distinct else 1


def _check_endpoints(fabric: Fabric, rows: NDArray[np.int64]) -> None:
    flat = rows.ravel()
    if flat.min() < 0 or flat.max() >= len(fabric.nodes):
        raise ParameterError(
            f"placement names row {flat.min() if flat.min() < 0 else flat.max()}, no node of the fabric"
        )
    other = np.flatnonzero(~fabric.nodes.is_endpoint[flat])
    if other.size:
        node = str(fabric.nodes.name[flat[other[0]]])
        raise ParameterError(f"placement: {node!r} is no endpoint of {fabric.name!r}; ranks are endpoints")
    found, count = np.unique(flat, return_counts=True)
    if (count > 1).any():
        raise ParameterError(f"{str(fabric.nodes.name[found[count > 1][0]])!r} is placed twice; a rank has its own")
