"""An old fabric inside a new one: which cables stay, which move with one end, which are new, and on which ports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric
from topo.repair.moves import Bench, Job, job_of, replaced_after, settled, slower
from topo.repair.targets import Target, growing_of, targets_of
from topo.view.text import natural_key
from topo.wiring.cabling import Cabling
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Operation
from topo.wiring.matching import Laying, Matched, lay_over, matched_by_name

__all__ = ["Plan", "planned_jobs"]

_FEWEST = "no list has fewer for this target, |f| + |q| - m: every cable that can keep an end does"
_SERVES = 0.5
_WRONG = 0.25


@dataclass(frozen=True, eq=False)
class Plan:
    """Jobs from old to new in no order yet, the fabric that holds both, what was counted."""

    comparison: Comparison
    jobs: list[Job]
    n_stay: int
    n_old: int
    n_new: int
    n_new_switches: int
    n_new_endpoints: int
    n_old_nodes: int
    targets: list[Target]
    how: str
    notes: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]

    def n_between(self, kind: str) -> int:
        """Jobs of a kind whose cable joins two switches."""
        both = self.comparison.both
        full = both.nodes.forwards[both.ports.node] == FORWARDS_ALL
        return sum(bool(full[job.kept] and full[job.entered]) for job in self.jobs if job.kind == kind)


def planned_jobs(old: Fabric, new: Fabric) -> Plan:
    """What has to be done to the cables, devices of one name being one, ports as free as they can be.

    A port number of the new plan is followed where it is free; a cable that stays keeps the port it has, and what the
    plan wants there takes a port that another cable leaves.

    :raises ParameterError: a side without cables; fewer than half of the old switches are in the new fabric, or hardly
        any of their cables.
    """
    found, planned = Cabling.of(old), Cabling.of(new)
    for side in (found, planned):
        if not len(side.links):
            raise ParameterError(f"{side.fabric.name!r} has no cable between devices; there is nothing to grow")
    laying = matched_by_name(found, planned)
    _expect_grown(found, planned, laying)
    laying, renamed = _with_the_rest(found, planned, laying)
    matched = lay_over(found, planned, laying, by_device=True)
    _expect_cables(found, planned, matched.n_common)
    both = matched.comparison.both
    moves, removes, adds = _fewest(matched)
    bench = Bench(matched.comparison, by_device=True)
    operations = [Operation("move", f, q, "") for f, q in moves]
    operations += [Operation("remove", f, -1, "") for f in removes]
    operations += [Operation("add", -1, q, "") for q in adds]
    jobs = settled(bench, [job_of(bench, operation, 0) for operation in operations])
    jobs += [*_too_slow(matched, new), *replaced_after(both, jobs)]
    is_new = np.arange(len(both.nodes)) >= len(old.nodes)
    used = np.zeros(len(both.nodes), bool)
    rows = np.flatnonzero(matched.comparison.planned)
    used[both.link_a[rows]] = used[both.link_b[rows]] = True
    switch = both.nodes.forwards == FORWARDS_ALL
    return Plan(
        matched.comparison, jobs, matched.n_common, len(found.links), len(planned.links),
        int((is_new & used & switch).sum()), max(0, len(new.endpoints) - len(old.endpoints)),
        len(old.nodes),
        _targets(matched, found, planned), _FEWEST, _notes(found, planned, laying, renamed), renamed,
    )  # fmt: skip


def _expect_grown(found: Cabling, planned: Cabling, laying: Laying) -> None:
    mine = np.unique(np.concatenate([found.low, found.high, found.leaf]))
    known = np.unique(laying.node[laying.node >= 0])
    n_known = int(np.isin(mine, known).sum())
    if n_known < _SERVES * len(mine):
        raise ParameterError(
            f"only {n_known:,} of the {len(mine):,} switches of {found.fabric.name!r} are in {planned.fabric.name!r} "
            "by name: is this its growth? Give both with the same names of devices ('topo validate OLD --against "
            "DESIGN' says which is which)"
        )


def _expect_cables(found: Cabling, planned: Cabling, n_common: int) -> None:
    """Where hosts' cables are known: those stay in a growth, so that few in common are chance."""
    if len(found.leaf) and n_common < _WRONG * min(len(found.links), len(planned.links)):
        raise ParameterError(
            f"only {n_common:,} of the {len(found.links):,} cables of {found.fabric.name!r} join what "
            f"{planned.fabric.name!r} joins, though switches share their names: is this its growth? Give the plan of "
            "the same fabric made larger ('topo list' shows the catalogue)"
        )


def _with_the_rest(found: Cabling, planned: Cabling, laying: Laying) -> tuple[Laying, tuple[tuple[str, str], ...]]:
    """The laying with switches of no common name taken for the new ones that share most cables with them.

    Overlap of old switch s and new switch t: sum over known neighbours of min(old cables, new cables); the assignment
    with the greatest sum is taken. Also gives the old and new name of each.
    """
    from scipy.optimize import linear_sum_assignment

    old = np.unique(np.concatenate([found.low, found.high, found.leaf]))
    new = np.unique(np.concatenate([planned.low, planned.high, planned.leaf]))
    left, free = np.setdiff1d(old, laying.node), new[laying.node[new] < 0]
    if not len(left) or not len(free):
        return laying, ()
    shared = _shared_cables(found, planned, laying, left, free)
    at, to = linear_sum_assignment(-shared)
    good = shared[at, to] > 0
    node, port = laying.node.copy(), laying.port.copy()
    node[free[to[good]]] = left[at[good]]
    known = {
        (int(found.fabric.ports.node[row]), found.fabric.ports.label[row]): row
        for row in np.flatnonzero(np.isin(found.fabric.ports.node, left)).tolist()
    }
    for row in np.flatnonzero(np.isin(planned.fabric.ports.node, free[to[good]])).tolist():
        mine = int(node[planned.fabric.ports.node[row]])
        port[row] = known.get((mine, planned.fabric.ports.label[row]), -1)
    names = zip(found.fabric.nodes.name[left[at[good]]], planned.fabric.nodes.name[free[to[good]]], strict=True)
    return Laying(port, node, laying.how), tuple((str(a), str(b)) for a, b in names)


def _shared_cables(
    found: Cabling, planned: Cabling, laying: Laying, left: NDArray[np.int64], free: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Cables that each old switch of ``left`` would keep as each new one of ``free``."""
    shared = np.zeros((len(left), len(free)), np.int64)
    tables = []
    for side, rows in ((found, left), (planned, free)):
        a, b = side.fabric.link_a[side.links].astype(np.int64), side.fabric.link_b[side.links].astype(np.int64)
        own, far = np.concatenate([a, b]), np.concatenate([b, a])
        far = far if side is found else laying.node[far]
        place = np.full(len(side.fabric.nodes), -1)
        place[rows] = np.arange(len(rows))
        mine = (place[own] >= 0) & (far >= 0)
        tables.append(Counter(zip(far[mine].tolist(), place[own[mine]].tolist(), strict=True)))
    by_neighbour: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (far, t), n in tables[1].items():
        by_neighbour[far].append((t, n))
    for (far, s), n in tables[0].items():
        for t, m in by_neighbour.get(far, ()):
            shared[s, t] += min(n, m)
    return shared


def _notes(found: Cabling, planned: Cabling, laying: Laying, renamed: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    mine = np.unique(np.concatenate([found.low, found.high, found.leaf]))
    gone = mine[~np.isin(mine, laying.node[laying.node >= 0])]
    notes = ["devices of one name are one; the new plan's port numbers are followed where those ports are free"]
    if renamed:
        said = ", ".join(f"{old} is {new}" for old, new in renamed[:3]) + (", ..." if len(renamed) > 3 else "")
        notes.append(f"{len(renamed):,} switches are known by their cables and keep their old names here: {said}")
    if len(gone):
        names = ", ".join(found.fabric.nodes.name[gone[:3]].tolist())
        notes.append(
            f"{len(gone):,} switches are not in the new fabric and go: {names}" + ("..." if len(gone) > 3 else "")
        )
    return tuple(notes)


def _fewest(matched: Matched) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Moves (found row, planned row), rows to remove and to lay; the lower end of a moved cable stays where it can.

    Of each lower device as many surplus cables as it lacks others are moved. That is the largest matching whenever it
    uses up all surplus, or reaches the size of one; else that one is taken.
    """
    best = matched.best
    f = np.setdiff1d(np.arange(len(matched.found_links)), best.common[0])
    q = np.setdiff1d(np.arange(len(matched.planned_links)), best.common[1])
    rows_f, rows_q = matched.found_links[f], matched.planned_links[q]
    have, want = _by_low_end(matched.comparison.both, rows_f), _by_low_end(matched.comparison.both, rows_q)
    moves = [pair for low, mine in have.items() for pair in zip(mine, want.get(low, ()), strict=False)]
    if len(moves) < len(best.moves):
        at = zip(best.moves.found.tolist(), best.moves.planned.tolist(), strict=True)
        moves = [(int(matched.found_links[i]), int(matched.planned_links[j])) for i, j in at]
    moved, filled = {row for row, _ in moves}, {row for _, row in moves}
    return (
        moves,
        [row for row in rows_f.tolist() if row not in moved],
        [row for row in rows_q.tolist() if row not in filled],
    )


def _by_low_end(fabric: Fabric, rows: NDArray[np.int64]) -> dict[int, list[int]]:
    """Links by their lower device, those of each in the natural order of the higher one's name."""
    a, b = fabric.link_a[rows], fabric.link_b[rows]
    tier = fabric.nodes.tier
    turned = tier[a] > tier[b]
    low, high = np.where(turned, b, a), np.where(turned, a, b)
    names = fabric.nodes.name
    rank = {node: i for i, node in enumerate(sorted(set(high.tolist()), key=lambda n: natural_key(str(names[n]))))}
    grouped: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, below, above in zip(rows.tolist(), low.tolist(), high.tolist(), strict=True):
        grouped[below].append((rank[above], row))
    return {below: [row for _, row in sorted(mine)] for below, mine in grouped.items()}


def _too_slow(matched: Matched, new: Fabric) -> list[Job]:
    """Cables that stay where a faster one is planned are replaced."""
    links = matched.comparison.both.links
    mine = matched.found_links[matched.best.common[0]]
    wanted = new.links.capacity_gbps[matched.planned_row[matched.best.common[1]]]
    slow = slower(links.capacity_gbps[mine], wanted)
    return [
        Job("replace", row, row, int(links.port_a[row]), int(links.port_b[row]), -1, gbps, 0)
        for row, gbps in zip(mine[slow].tolist(), wanted[slow].tolist(), strict=True)
    ]


def _targets(matched: Matched, found: Cabling, planned: Cabling) -> list[Target]:
    """The asked wiring and cheaper ones, where both are two tiers of equal pairs."""
    both = matched.comparison.both
    tier = both.nodes.tier
    ends = np.stack([both.link_a, both.link_b])
    between = (both.nodes.forwards[ends] == FORWARDS_ALL).all(axis=0)
    if not between.any() or set(np.unique(tier[ends[:, between]]).tolist()) != {1, 2}:
        return []
    low = np.where(tier[ends[0]] < tier[ends[1]], ends[0], ends[1])
    high = np.where(tier[ends[0]] < tier[ends[1]], ends[1], ends[0])
    counts = []
    for mask in (matched.comparison.found, matched.comparison.planned):
        rows = np.flatnonzero(between & mask)
        leaves, i = np.unique(low[rows], return_inverse=True)
        spines, j = np.unique(high[rows], return_inverse=True)
        counts.append((leaves, spines, np.bincount(i * len(spines) + j, minlength=len(leaves) * len(spines))))
    (old_leaves, old_spines, m0), (leaves, spines, m1) = counts
    if not (np.isin(old_leaves, leaves).all() and np.isin(old_spines, spines).all()):
        return []
    radix = int(planned.n_ports[planned.is_switch & (planned.tier == 2)].max(initial=0))
    growing = growing_of(m0.reshape(len(old_leaves), len(old_spines)), m1.reshape(len(leaves), len(spines)), radix)
    return targets_of(growing) if growing is not None else []
