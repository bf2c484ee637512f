"""Cables that a rule misses and no cable shows: of a device that is not there, or of a switch without any uplink.

Which cables they are is told by the like: an adapter's by its rank, a switch's by what its peers are cabled to. They
are no jobs, as nobody knows their ports; the fabric as it should be has them, and so each costs what the same fault
costs against a design.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from topo.fabric import FORWARDS_ALL
from topo.table import Array
from topo.view.text import natural_key
from topo.wiring.cabling import Cabling
from topo.wiring.comparison import Comparison, NewCables, appended, with_laid
from topo.wiring.finding import Finding, Supposed
from topo.wiring.hosts import Seats
from topo.wiring.joined import parts_of
from topo.wiring.kinds import kinds_of
from topo.wiring.learnt import SUPPORT

__all__ = ["laid", "supposed_adapter", "with_uplinks"]

Row = tuple[tuple[int, int], ...]
"""Far switches of one switch, each with its number of cables."""


def supposed_adapter(
    cabling: Cabling, seats: Seats, place: tuple[int, int], leaf: int, new_leaf: str = ""
) -> tuple[Supposed, ...]:
    """The cable of one rank of one host (``place``) to a leaf, or to a new one that is like it; () where no leaf is.

    Where the ranks of other hosts share an adapter, its cable is one more of the adapter that is there.
    """
    if leaf < 0:
        return ()
    host, rank = place
    mine = np.flatnonzero(seats.host == host)
    group = int(seats.group[mine[0]])
    alike = np.flatnonzero((seats.group == group) & (seats.rank == rank))
    rows = seats.row[alike] if len(alike) else seats.row[mine]
    links = cabling.fabric.links
    rate = float(np.median(links.capacity_gbps[cabling.access[rows]]))
    kind = str(links.kind[int(cabling.access[rows[0]])])
    nic = cabling.nic[seats.row]
    beside = seats.rank[np.isin(nic, nic[alike]) & (seats.rank != rank) & (seats.group == group)]
    for row in mine.tolist():
        if 2 * int((beside == seats.rank[row]).sum()) > len(alike):
            return (Supposed(int(nic[row]), leaf, rate, kind, "", new_leaf),)
    adapter = f"{seats.name[host]} {seats.labels[group][rank].partition('/')[0]}"
    return (Supposed(int(nic[mine[0]]), leaf, rate, kind, adapter, new_leaf),)


def with_uplinks(comparison: Comparison, cabling: Cabling, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those of switches without uplinks, there or not, with the uplinks that their peers tell.

    Where the peers do not tell, nothing is supposed of them.
    """
    names = comparison.both.nodes.name.tolist()
    row_of = dict(zip(reversed(names), reversed(range(len(names))), strict=True))
    part = parts_of(comparison, comparison.found, hosts_join=True)
    bare = {i: _bare(comparison, cabling, one, part, row_of) for i, one in enumerate(findings)}
    every = [each for several in bare.values() for each in several]
    peers = _Peers(comparison, cabling, [node for node, new in every if not new])
    given = peers.rows_of(every)
    told = list(findings)
    for i, several in bare.items():
        if not several:
            continue
        rows = [given.get(each) for each in several]
        cables = [one for each, row in zip(several, rows, strict=True) if row for one in peers.cables(each, row)]
        whole = all(row is not None for row in rows)
        told[i] = replace(findings[i], supposed=(*findings[i].supposed, *cables) if whole else ())
    return told


def _bare(
    comparison: Comparison, cabling: Cabling, one: Finding, part: Array, row_of: dict[str, int]
) -> list[tuple[int, str]]:
    """Switches of a finding that no planned cable joins to those above: node, and the name of one that is not there."""
    if one.code == "leaf-missing":
        return list(dict.fromkeys((each.b, each.new_b) for each in one.supposed))
    node = row_of.get(one.place.split(", ")[0])
    if one.code not in ("island", "uplinks-fewer") or one.lacks or node is None:
        return []
    mine = np.array([node], np.int64)
    if one.code == "island":
        inside = (part == part[node]) & cabling.is_switch
        mine = np.flatnonzero(inside & (cabling.tier == cabling.tier[inside].max(initial=-1)))
    has_up = np.zeros(len(part), bool)
    has_up[_low_and_high(comparison, cabling)[0]] = True
    return [(row, "") for row in mine[~has_up[mine]].tolist()]


def _low_and_high(comparison: Comparison, cabling: Cabling) -> tuple[Array, Array]:
    """Lower and upper switch of every planned cable that leads up."""
    fabric, tier = comparison.both, cabling.tier
    full = fabric.nodes.forwards == FORWARDS_ALL
    rows = np.flatnonzero(comparison.planned & full[fabric.link_a] & full[fabric.link_b])
    a, b = fabric.link_a[rows], fabric.link_b[rows]
    low, high = np.where(tier[a] < tier[b], a, b), np.where(tier[a] < tier[b], b, a)
    leads = tier[low] < tier[high]
    return low[leads], high[leads]


@dataclass(frozen=True, eq=False)
class _Peers:
    """What the switches of each kind and tier are cabled to above them, as they should be; not the ``bare`` ones."""

    comparison: Comparison
    cabling: Cabling
    bare: Sequence[int]

    def rows_of(self, bare: Sequence[tuple[int, str]]) -> dict[tuple[int, str], Row]:
        """The row of every bare switch that its peers tell: theirs, where nearly all have one; else that of a class.

        Peers fall into classes of one row each: the leaves of a pod, the spines of all pods that one group of cores
        serves. Where those short of the usual number lack as many as are bare, each takes the place of one, in the
        order of names; and one place in every class where all spines of a pod are bare.
        """
        kind = np.full(len(self.cabling.is_switch), -1)
        switches = np.flatnonzero(self.cabling.is_switch)
        kind[switches] = kinds_of(self.comparison.both.nodes.name[switches].tolist())
        of_tier: dict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
        for each in dict.fromkeys(bare):
            of_tier[int(self.cabling.tier[each[0]]), int(kind[each[0]])].append(each)
        rows = self._rows()
        given: dict[tuple[int, str], Row] = {}
        for (tier, sort), mine in of_tier.items():
            alike = switches[(self.cabling.tier[switches] == tier) & (kind[switches] == sort)]
            classes: dict[Row, list[str]] = defaultdict(list)
            for node in np.setdiff1d(alike, np.array(self.bare, np.int64)).tolist():
                classes[rows.get(node, ())].append(str(self.comparison.both.nodes.name[node]))
            mine.sort(key=lambda each: natural_key(each[1] or str(self.comparison.both.nodes.name[each[0]])))
            given |= _assigned(mine, classes, has_below=tier > 1)
        return given

    def _rows(self) -> dict[int, Row]:
        low, high = _low_and_high(self.comparison, self.cabling)
        pairs, times = np.unique(np.stack([low, high]), axis=1, return_counts=True)
        rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for a, b, n in zip(*pairs.tolist(), times.tolist(), strict=True):
            rows[a].append((b, n))
        return {node: tuple(row) for node, row in rows.items()}

    def cables(self, each: tuple[int, str], row: Row) -> list[Supposed]:
        """The cables of a bare switch to those of a row, at the usual rate of each."""
        node, new = each
        return [
            Supposed(node, far, self.cabling.usual_gbps(node, far), "scale_out", new)
            for far, n in row
            for _ in range(n)
        ]


def _assigned(
    bare: Sequence[tuple[int, str]], classes: dict[Row, list[str]], *, has_below: bool
) -> dict[tuple[int, str], Row]:
    """The row of each bare switch; nothing where the classes of its peers do not tell it."""
    n = sum(map(len, classes.values()))
    if not n:
        return {}
    most = max(classes, key=lambda row: len(classes[row]))
    if len(classes[most]) >= SUPPORT * n:
        return dict.fromkeys(bare, most)
    sizes = Counter(map(len, classes.values()))
    usual = sizes.most_common(1)[0][0]
    if has_below and len(sizes) == 1 and len(bare) == len(classes):
        usual += 1
    in_order = sorted(classes, key=lambda row: natural_key(min(classes[row], key=natural_key)))
    places = [row for row in in_order for _ in range(usual - len(classes[row]))]
    return dict(zip(bare, places, strict=True)) if len(places) == len(bare) else {}


def laid(comparison: Comparison, findings: Sequence[Finding]) -> tuple[Comparison, list[Finding], Array]:
    """The comparison with all supposed cables planned, the findings lacking theirs, what each new node is like."""
    every = [each for one in findings for each in one.supposed]
    if not every:
        return comparison, list(findings), np.empty(0, np.int64)
    both = comparison.both
    new: dict[str, int] = {}
    for each in every:
        for node, name in ((each.a, each.new_a), (each.b, each.new_b)):
            if name:
                new.setdefault(name, node)
    row_of = {name: len(both.nodes) + i for i, name in enumerate(new)}
    like = np.array(list(new.values()), np.int64)
    if len(like):
        taken = both.nodes.take(like)
        columns = {name: getattr(taken, name) for name in taken.columns()}
        columns |= {"name": np.array(list(new)), "uid": np.full(len(like), "")}
        both = replace(both, nodes=appended(both.nodes, len(like), **columns))
    ends = [(row_of.get(each.new_a, each.a), row_of.get(each.new_b, each.b)) for each in every]
    unknown = np.full(len(every), -1)
    cables = NewCables(
        np.array([a for a, _ in ends], np.int64), np.array([b for _, b in ends], np.int64), unknown, unknown,
        np.array([each.gbps for each in every], np.float64), np.array([each.kind for each in every], np.str_),
    )  # fmt: skip
    n, there = len(both.links), np.ones(len(every), bool)
    wider = Comparison(
        with_laid(both, cables), np.append(comparison.found, ~there), np.append(comparison.planned, there)
    )
    ends_at = n + np.cumsum([len(one.supposed) for one in findings])
    told = [
        replace(one, lacks=(*one.lacks, *range(last - len(one.supposed), last)))
        for one, last in zip(findings, ends_at.tolist(), strict=True)
    ]
    return wider, told, like
