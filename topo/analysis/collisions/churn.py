"""Churn: which flows move when a next hop or a link dies, by the way a switch selects."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collisions.hashed import hashed_paths
from topo.errors import ParameterError
from topo.fabric import Fabric, LinkSet, State, expect_fabric
from topo.hashing.keys import FlowKeys, roce_keys
from topo.hashing.scheme import EcmpHash
from topo.hashing.selection import BucketTable, check_selection
from topo.result import Result, Row, Standing, hidden
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.walk import lost_mask
from topo.table import check_rows, freeze
from topo.traffic.demand import Demand
from topo.units import format_number

__all__ = ["LinkChurn", "NextHopChurn", "link_churn", "next_hop_churn"]

_UNIFORM = Standing("exact", "hashes uniform")
_MOST_NEXT_HOPS = 1 << 16


@dataclass(frozen=True)
class NextHopChurn(Result):
    """Shares of all flows: ``moved_share`` change their next hop, ``needed_share`` had the one that died.

    ``moved`` and ``needed`` are the same as fractions in lowest terms. The difference moved for nothing: they arrive
    out of order once.
    """

    next_hops: int
    removed: int
    selection: str
    moved: str
    moved_share: float
    needed: str
    needed_share: float
    standing: Standing

    title: ClassVar[str] = "Churn when a next hop dies"

    def rows(self) -> list[Row]:
        """What moves, and what had to."""
        return [
            Row("next hops before", self.next_hops),
            Row("removed, counted from 0", self.removed),
            Row("selection", self.selection),
            Row("flows that move", f"{self.moved}, {format_number(100 * self.moved_share, 4)} %", "", self.standing),
            Row("flows that had to", f"{self.needed}, {format_number(100 * self.needed_share, 4)} %"),
        ]


def next_hop_churn(next_hops: int, *, removed: int = 0, selection: str = "modulo", buckets: int = 64) -> NextHopChurn:
    """Share of flows that change next hop when one of ``next_hops`` dies and the hashes stay.

    With N next hops, uniform hashes and next hop i gone: modulo moves (N - 1) / N; range (hash-threshold) moves
    (i (i + 1) + (N - 1 - i) (N - i)) / (2 N (N - 1)), between a quarter and a half (RFC 2992); resilient moves the
    buckets of the dead one, 1 / N where N divides the ``buckets``.

    >>> [next_hop_churn(4, removed=i, selection="range").moved for i in range(4)]
    ['1/2', '1/3', '1/3', '1/2']
    >>> next_hop_churn(8).moved, next_hop_churn(8, selection="resilient").moved
    ('7/8', '1/8')

    :raises ParameterError: fewer than two next hops, no such next hop, an unknown selection, too few buckets.
    """
    check_selection(selection)
    for name, value in (("next_hops", next_hops), ("removed", removed), ("buckets", buckets)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ParameterError(f"{name} is {value!r}; it must be a whole number")
    n, i = int(next_hops), int(removed)
    if not 2 <= n <= _MOST_NEXT_HOPS:
        raise ParameterError(f"next_hops is {n}; churn needs 2 to {_MOST_NEXT_HOPS}, one to die and one to stay")
    if not 0 <= i < n:
        raise ParameterError(f"removed is {i}; next hops are counted from 0 to {n - 1}")
    needed = moved = Fraction(1, n)
    if selection == "modulo":
        moved = Fraction(n - 1, n)
    elif selection == "range":
        moved = Fraction(i * (i + 1) + (n - 1 - i) * (n - i), 2 * n * (n - 1))
    else:
        held = int((BucketTable(buckets, n).member == i).sum())
        needed = moved = Fraction(held, buckets)
    return NextHopChurn(n, i, selection, str(moved), float(moved), str(needed), float(needed), _UNIFORM)


@dataclass(frozen=True, eq=False)
class LinkChurn(Result):
    """Flows of a fabric when links die: ``on_links`` crossed one, ``moved`` have another path now, ``lost`` none.

    ``moved_needlessly`` moved though no link of theirs died. ``moved_flows`` and ``lost_flows`` are positions in
    the demand's list of pairs.
    """

    fabric: str
    links: LinkSet
    hash: str
    flows: int
    on_links: int
    moved: int
    moved_needlessly: int
    lost: int
    standing: Standing
    moved_flows: NDArray[np.int64] = hidden()
    lost_flows: NDArray[np.int64] = hidden()

    title: ClassVar[str] = "Churn when links die"

    def rows(self) -> list[Row]:
        """Counts, and what share they are."""
        names = ", ".join(map(str, list(self.links)[:4])) + (", ..." if len(self.links) > 4 else "")
        counts = {
            "flows on these links": self.on_links,
            "flows that move": self.moved,
            "flows that move though their links live": self.moved_needlessly,
            "flows left without a path": self.lost,
        }
        rows = [
            Row("links that die", f"{len(self.links):,}: {names}"),
            Row("hash", self.hash),
            Row("flows", self.flows),
        ]
        for label, count in counts.items():
            rows.append(Row(label, f"{count:,}, {format_number(100 * count / max(self.flows, 1), 4)} %"))
        return [*rows, Row("keys", str(self.standing))]


def link_churn(
    fabric: Fabric,
    links: ArrayLike,
    demand: Demand,
    *,
    hash: EcmpHash | str = "vendor-mixing",
    keys: FlowKeys | None = None,
    routing: Routing | str = "ecmp",
    seed: int = 0,
) -> LinkChurn:
    """Which flows change their path when the given link rows die: every pair of the demand is one hashed flow.

    Paths are found twice, before and after, by hashing the same keys. Switches that lose a next hop choose anew as
    their selection says (see :func:`next_hop_churn`), on the way up at the link and on the way down at all that
    reached it; resilient tables keep the buckets of living next hops. Under ``wcmp`` weights change too, so that
    flows may move away from links that live, and whose share shrank. ``keys`` has one key a pair, RoCEv2 flows of
    random queue pairs drawn from ``seed`` where it is not given.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=1)
    >>> demand = Demand.of(f, "many", source=[0] * 4000, sink=[1] * 4000, gbps=0.1)
    >>> uplink = np.flatnonzero((f.link_a == f.rows("leaf-1")) & (f.link_b == f.rows("spine-2")))
    >>> modulo, resilient = (link_churn(f, uplink, demand, hash=EcmpHash(selection=s)) for s in ("modulo", "resilient"))
    >>> round(modulo.moved / 4000, 1), resilient.moved == resilient.on_links, resilient.moved_needlessly
    (0.8, True, 0)

    :raises ParameterError: no link given, a row outside the table, keys that differ in number from the pairs.
    """
    expect_fabric(fabric)
    array = np.asarray(links)
    rows = np.unique(check_rows(array if array.size else array.astype(np.int64), len(fabric.links), "links"))
    if not rows.size:
        raise ParameterError("no link is given; name the link rows that die")
    scheme, chosen = EcmpHash.of(hash), Routing.of(routing)
    if chosen.scheme not in ("ecmp", "wcmp"):
        raise ParameterError(
            f"churn follows hashed flows over next hops, but the routing is {str(chosen)!r}; use 'ecmp' or 'wcmp'"
        )
    demand.expect_made_for(fabric)
    source, sink, _ = demand.pairs()
    standing = Standing("exact", "the keys given, hashed")
    if keys is None:
        keys = roce_keys(fabric, source, sink, seed=seed)
        standing = Standing("sampled", f"RoCEv2 flows of random queue pairs, seed {seed}")
    before = NextHops.of(fabric, routing=chosen)
    after = NextHops.of(fabric, routing=chosen, state=State.without(fabric, links=rows))
    old = hashed_paths(before, source, sink, keys, hash=scheme)
    new = hashed_paths(after, source, sink, keys, hash=scheme, before=before)
    was, lost = ~lost_mask(old), lost_mask(new)
    died = np.append(np.isin(np.arange(2 * len(fabric.links)) // 2, rows), False)  # the last answers for -1
    on_links = died[old].any(axis=0)
    moved = _differ(old, new) & was & ~lost
    return LinkChurn(
        fabric=fabric.name,
        links=LinkSet.of(fabric, rows),
        hash=str(scheme),
        flows=len(source),
        on_links=int(on_links.sum()),
        moved=int(moved.sum()),
        moved_needlessly=int((moved & ~on_links).sum()),
        lost=int((was & lost).sum()),
        standing=standing,
        moved_flows=freeze(np.flatnonzero(moved)),
        lost_flows=freeze(np.flatnonzero(was & lost)),
    )


def _differ(old: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which flows (columns) have another path."""
    hops = max(len(old), len(new))
    one, other = (np.pad(arcs, ((0, hops - len(arcs)), (0, 0)), constant_values=-1) for arcs in (old, new))
    result: NDArray[np.bool_] = (one != other).any(axis=0)
    return result
