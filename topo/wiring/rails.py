"""Where each adapter belongs: the leaf of its unit and rank, by majority; and the adapters that are elsewhere."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.text import plural
from topo.wiring.apart import of_another_pattern, on_own_leaves, units_of_ranks
from topo.wiring.cabling import BOTH_WAYS, Cabling, modes
from topo.wiring.difference import Moves, grouped_moves
from topo.wiring.finding import Finding, Supposed, finding, listed
from topo.wiring.hosts import Seats
from topo.wiring.kinds import kinds_of, named
from topo.wiring.learnt import MINN, SUPPORT, Learnt
from topo.wiring.supposed import supposed_adapter

__all__ = ["RailRule", "judge_hosts", "rail_rule"]

_SHOWN = 0.2
_FEWEST_LIKE = 2


@dataclass(frozen=True, eq=False)
class RailRule:
    """The leaf of every (unit, group, rank), -1 for none, and how many adapters of each group agree with it.

    ``unit[host, rank]`` is the unit that holds for each adapter, the host's own but where it stands between two.
    ``judged`` masks the seats that are judged: not those of part-filled hosts that obey it nowhere. ``offset`` is the
    port of each rank minus that of rank 0 (by group), ``slot[host, rank]`` the port that rank 0 of the host would have
    there, ``by_port`` whether the offsets hold for most.
    """

    leaf: NDArray[np.int64]
    unit: NDArray[np.int64]
    judged: NDArray[np.bool_]
    is_single: bool
    agree: NDArray[np.int64]
    total: NDArray[np.int64]
    offset: NDArray[np.int64]
    slot: NDArray[np.int64]
    by_port: bool

    def leaf_of(self, seats: Seats) -> NDArray[np.int64]:
        """The leaf each seat belongs on."""
        return self.leaf[self.unit[seats.host, seats.rank], seats.group, seats.rank]


def judge_hosts(cabling: Cabling, seats: Seats | None, learnt: Learnt) -> RailRule | None:
    """Learn where adapters belong and say which are elsewhere, which lack, and which leaf lacks."""
    if seats is None:
        if len(cabling.access):
            learnt.rules.append("no host is known to have several adapters: rails and hosts are not judged")
        _fewer_cables(cabling, set(), learnt)
        return None
    rule = rail_rule(cabling, seats)
    absent = _judge_seats(cabling, seats, rule, learnt)
    told = {seats.name[host] for host in np.flatnonzero(absent[seats.unit, seats.group_of_host()].any(axis=1)).tolist()}
    _fewer_cables(cabling, told, learnt)
    return rule if rule.judged.any() else None


def _judge_seats(cabling: Cabling, seats: Seats, rule: RailRule, learnt: Learnt) -> NDArray[np.bool_]:
    """Every check of adapters one by one; the ranks (unit, group, rank) that a missing leaf explains."""
    for group, labels in enumerate(seats.labels):
        agree, total = int(rule.agree[group]), int(rule.total[group])
        what = f"adapters of hosts with {len(labels)} on the leaf of their unit and rank"
        if not learnt.rule(what, agree, total):
            rule.judged[seats.group == group] = False
            if total >= MINN:
                said = f"no rail rule for hosts with {len(labels)} adapters: {agree:,} of {total:,} agree"
                learnt.findings.append(finding("rule-not-learnt", f"hosts with {len(labels)} adapters", said))
    if not rule.judged.any():
        absent = np.zeros(rule.leaf.shape, bool)
        _missing_adapters(cabling, seats, rule, absent, learnt)
        return absent
    right = rule.leaf_of(seats)
    wrong = rule.judged & (right >= 0) & (right != seats.leaf)
    rule.judged[of_another_pattern(seats, right, wrong)[seats.host]] = False
    between = np.flatnonzero((rule.unit != seats.unit[:, None]).any(axis=1)).tolist()
    if between:
        said = named([seats.name[host] for host in between])
        learnt.rules.append(f"between two units, last on the leaves of one and first on the other's: {said}")
    if seats.n_other:
        learnt.rules.append(
            f"{plural(seats.n_other, 'host')} with other adapters {'is' if seats.n_other == 1 else 'are'} not judged"
        )
    absent = _missing_leaves(cabling, seats, rule, learnt)
    _misplaced(cabling, seats, rule, learnt)
    _missing_adapters(cabling, seats, rule, absent, learnt)
    _irregular_ports(cabling, seats, rule, learnt)
    return absent


def rail_rule(cabling: Cabling, seats: Seats) -> RailRule:
    """The leaf with most votes for each (unit, group, rank); ties go to a leaf of the unit itself.

    Only what at least two hosts show counts as evidence: a lone host always agrees with itself. Where four fifths of
    the units are one leaf each (top of rack), all ranks of such a unit belong there.
    """
    shape = max(seats.n_units, 1), len(seats.labels), max(map(len, seats.labels))
    key = np.ravel_multi_index((seats.unit[seats.host], seats.group, seats.rank), shape)
    pairs, votes = np.unique(np.stack([key, seats.leaf]), axis=1, return_counts=True)
    own = seats.unit_of_leaf[pairs[1]] == np.unravel_index(pairs[0], shape)[0]
    order = np.lexsort((own, votes, pairs[0]))
    leaf = np.full(shape, -1).ravel()
    leaf[pairs[0][order]] = pairs[1][order]
    leaves_in = np.bincount(seats.unit_of_leaf[seats.unit_of_leaf >= 0], minlength=seats.n_units)
    is_single = bool((leaves_in == 1).sum() >= SUPPORT * seats.n_units)
    leaf = leaf.reshape(shape)
    if is_single:
        first = np.full(seats.n_units, -1)
        at = np.flatnonzero(seats.unit_of_leaf >= 0)
        first[seats.unit_of_leaf[at]] = at
        leaf = np.where((leaves_in == 1)[:, None, None], first[:, None, None], leaf)
    unit = units_of_ranks(cabling, seats, leaf)
    key = np.ravel_multi_index((unit[seats.host, seats.rank], seats.group, seats.rank), shape)
    obeys = leaf.ravel()[key] == seats.leaf
    size = np.bincount(seats.host, minlength=seats.n_hosts)
    good = np.bincount(seats.host, weights=obeys, minlength=seats.n_hosts)
    other = (good == 0) & (size < seats.full)
    judged = ~other[seats.host]
    n_votes = np.bincount(key[judged], minlength=leaf.size)
    counted = judged & ((n_votes[key] >= 2) | is_single)
    offset, slot, by_port = _slots(cabling, seats, obeys & judged, unit)
    agree = np.bincount(seats.group[obeys & counted], minlength=len(seats.labels))
    total = np.bincount(seats.group[counted], minlength=len(seats.labels))
    return RailRule(leaf, unit, judged, is_single, agree, total, offset, slot, by_port)


def _slots(
    cabling: Cabling, seats: Seats, good: Array, unit: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Usual port of each rank less that of rank 0, the port of rank 0 of each host, whether both hold for most.

    A host between two units has a port of rank 0 in each.
    """
    n_ranks = max(map(len, seats.labels))
    port = cabling.number[cabling.leaf_port[seats.row]]
    base = np.full(seats.n_hosts, np.iinfo(np.int64).min)
    zero = good & (seats.rank == 0)
    base[seats.host[zero]] = port[zero]
    known = good & (base[seats.host] != np.iinfo(np.int64).min)
    step = port[known] - base[seats.host[known]]
    low = int(step.min(initial=0))
    at = seats.group[known] * n_ranks + seats.rank[known]
    offset = (modes(at, step - low, len(seats.labels) * n_ranks)[0] + low).reshape(len(seats.labels), n_ranks)
    start = port - offset[seats.group, seats.rank]
    lift = int(start.min(initial=0))
    away = (unit != seats.unit[:, None]).astype(np.int64)
    side = 2 * seats.host + away[seats.host, seats.rank]
    slot = (modes(side[good], start[good] - lift, 2 * seats.n_hosts)[0] + lift)[
        2 * np.arange(seats.n_hosts)[:, None] + away
    ]
    fits = good & (start == slot[seats.host, seats.rank])
    return offset, slot, bool(fits.sum() >= SUPPORT * max(int(good.sum()), 1))


def _missing_leaves(cabling: Cabling, seats: Seats, rule: RailRule, learnt: Learnt) -> NDArray[np.bool_]:
    """Mask over (unit, group, rank): ranks that most units have and fewer than a fifth of this unit's hosts show."""
    shape = rule.leaf.shape
    n_hosts = np.zeros(shape[:2], np.int64)
    np.add.at(n_hosts, (seats.unit, seats.group_of_host()), 1)
    shown = np.zeros(shape, np.int64)
    np.add.at(shown, (seats.unit[seats.host], seats.group, seats.rank), 1)
    there = (n_hosts[:, :, None] > 0) & (shown >= _SHOWN * n_hosts[:, :, None])
    usual = 2 * there.sum(axis=0) >= np.maximum((n_hosts > 0).sum(axis=0), 1)[:, None]
    absent = ~there & usual[None] & (n_hosts >= 2)[:, :, None]
    for group, labels in enumerate(seats.labels):
        absent[:, group, len(labels) :] = False
    if rule.is_single:
        absent[:] = False
    for unit, group, rank in np.argwhere(absent).tolist():
        learnt.findings.append(_missing_leaf(cabling, seats, rule, (unit, group, rank), int(n_hosts[unit, group])))
    result: NDArray[np.bool_] = absent
    return result


def _missing_leaf(cabling: Cabling, seats: Seats, rule: RailRule, at: tuple[int, int, int], n_hosts: int) -> Finding:
    unit, group, rank = at
    label = seats.labels[group][rank]
    others = sorted({int(leaf) for leaf in rule.leaf[unit, group] if leaf >= 0})
    names = cabling.fabric.nodes.name[others].tolist()
    free = _free_on_all(cabling, np.array(others, np.int64))
    rate = _usual_rate(cabling, cabling.access)
    lost = BOTH_WAYS * n_hosts * rate
    evidence = f"none of {n_hosts:,} hosts beside {', '.join(names[:4])} shows {label}, rail {rank + 1} of its unit"
    if free:
        evidence += f"; free on every switch above these leaves: {listed('port', free)}"
    said = f"{n_hosts:,} hosts run without one adapter of {len(seats.labels[group])}"
    place = f"unit of {names[0] if names else unit}, rail {rank + 1}"
    without = np.setdiff1d(
        np.flatnonzero((seats.unit == unit) & (seats.group_of_host() == group)), seats.host[seats.rank == rank]
    )
    supposed = (supposed_adapter(cabling, seats, (host, rank), others[0], place) for host in without.tolist() if others)
    found = finding("leaf-missing", place, evidence, words=said, at=cabling.first_place(others[:1]),
                    supposed=tuple(cable for each in supposed for cable in each))  # fmt: skip
    return replace(found, lost_gbps=lost)


def _free_on_all(cabling: Cabling, leaves: Array) -> list[int]:
    """Port numbers between used ones that are free on every switch above the leaves."""
    above = np.unique(cabling.high[np.isin(cabling.low, leaves)])
    owner = cabling.fabric.ports.node
    mine = np.isin(owner, above)
    used = np.unique(cabling.number[mine & cabling.cabled])
    free, times = np.unique(cabling.number[mine & ~cabling.cabled], return_counts=True)
    every = free[times == len(above)]
    return every[(every > used.min(initial=0)) & (every < used.max(initial=0))].tolist() if len(above) else []


def _usual_rate(cabling: Cabling, links: Array) -> float:
    rates = cabling.fabric.links.capacity_gbps[links]
    rates = rates[~np.isnan(rates)]
    if not rates.size:
        return float("nan")
    values, times = np.unique(rates, return_counts=True)
    return float(values[np.argmax(times)])


def _misplaced(cabling: Cabling, seats: Seats, rule: RailRule, learnt: Learnt) -> None:
    """Adapters on another leaf than the rule's; exchanged pairs and circles are one finding each.

    The rule is the host's where others of its kind follow it, or most of its own adapters do. A host that takes other
    leaves (a bundle of its ports to one of them) differs from it only where enough of its kind stand beside it.
    """
    right = rule.leaf_of(seats)
    ruled = rule.judged & (right >= 0)
    obeys = ruled & (right == seats.leaf)
    kind = _kinds(seats)
    n_own, own = (np.bincount(seats.host[mask], minlength=seats.n_hosts) for mask in (ruled, obeys))
    n_kin, kin = (np.bincount(kind, weights=count)[kind] - count for count in (n_own, own))
    followed = (_n_others(kind) >= _FEWEST_LIKE) & (n_kin > 0) & (kin >= SUPPORT * n_kin)
    _, beside = np.unique(np.stack([kind, seats.unit]), axis=1, return_inverse=True)
    is_few = (_n_others(beside.ravel()) < MINN - 1) & ~on_own_leaves(seats, right, ruled & ~obeys)
    mostly = 2 * own > n_own
    unsure = np.unique(seats.host[ruled & ~obeys & (followed & is_few & ~mostly)[seats.host]])
    if unsure.size:
        names = named([seats.name[host] for host in unsure.tolist()])
        learnt.rules.append(f"on other leaves and not judged, {MINN - 2} or fewer of their kind beside them: {names}")
    wrong = np.flatnonzero(ruled & ~obeys & (followed & ~is_few | mostly)[seats.host])
    moves = Moves(wrong, wrong, seats.leaf[wrong], right[wrong])
    for code, numbers in grouped_moves(moves, seats.host[wrong], chains=False):
        _say_misplaced(cabling, seats, rule, code, wrong[numbers], learnt)


def _say_misplaced(cabling: Cabling, seats: Seats, rule: RailRule, code: str, rows: Array, learnt: Learnt) -> None:
    right = rule.leaf_of(seats)
    hosts = seats.host[rows]
    name = cabling.fabric.nodes.name
    names = list(dict.fromkeys(seats.name[host] for host in hosts.tolist()))
    labels = [seats.labels[seats.group[row]][seats.rank[row]] for row in rows.tolist()]
    said = "; ".join(
        f"{seats.name[seats.host[row]]} {label} is on {name[seats.leaf[row]]}, belongs on {name[right[row]]}"
        for row, label in zip(rows.tolist(), labels, strict=True)
    )
    if len(rows) > 1:
        code = "rail-swap" if len(names) == 1 else code
    else:
        same = seats.unit_of_leaf[seats.leaf[rows[0]]] == rule.unit[hosts[0], seats.rank[rows[0]]]
        code = "rail-wrong" if same else "rail-leaves-unit"
    operations, lacks, extra = [], [], []
    for i, row in enumerate(rows.tolist()):
        link = int(cabling.access[seats.row[row]])
        into = int(rows[(i + 1) % len(rows)]) if len(rows) > 1 else -1
        port = int(cabling.leaf_port[seats.row[into]]) if into >= 0 and seats.leaf[into] == right[row] else -1
        own = int(cabling.nic_port[seats.row[row]])
        rate = float(cabling.fabric.links.capacity_gbps[link])
        laid = learnt.lay(
            int(cabling.nic[seats.row[row]]), int(right[row]), ports=(own, port), gbps=rate, kind="access"
        )
        text = f"move {learnt.link_text(link)} to {cabling.port_name(port) if port >= 0 else name[right[row]]}"
        operations.append(learnt.move(link, laid, text))
        lacks.append(laid)
        extra.append(link)
    at = cabling.place(extra[0])
    place = f"{' and '.join(names[:3])} {', '.join(labels[:4])}"
    learnt.findings.append(
        finding(code, place, said, at=at, operations=tuple(operations), lacks=tuple(lacks), extra=tuple(extra))
    )


def _kinds(seats: Seats) -> NDArray[np.int64]:
    """Kind of every host: those of one sort of name and as many adapters."""
    _, kind = np.unique(np.stack([kinds_of(seats.name), seats.group_of_host()]), axis=1, return_inverse=True)
    return kind.ravel().astype(np.int64)


def _n_others(kind: Array) -> NDArray[np.int64]:
    """How many more there are of each one's kind."""
    return np.bincount(kind)[kind] - 1


def _missing_adapters(cabling: Cabling, seats: Seats, rule: RailRule, absent: Array, learnt: Learnt) -> None:
    """Hosts that lack an adapter which at least 80 % of the others of their kind show, and no missing leaf explains.

    A gateway among servers is alone of its kind: how many adapters it should have, nobody tells.
    """
    kind = _kinds(seats)
    shown = np.zeros((seats.n_hosts, rule.leaf.shape[2]), bool)
    shown[seats.host, seats.rank] = True
    n_others = _n_others(kind)
    by_kind = np.zeros((int(kind.max(initial=-1)) + 1, shown.shape[1]), np.int64)
    np.add.at(by_kind, kind, shown)
    usual = (n_others >= _FEWEST_LIKE)[:, None] & (by_kind[kind] - shown >= SUPPORT * n_others[:, None])
    lacking = usual & ~shown & (np.arange(shown.shape[1]) < seats.full[:, None])
    judged = np.zeros(seats.n_hosts, bool)
    judged[seats.host[rule.judged]] = True
    any_judged, n_lacking = (np.bincount(kind, weights=mask) for mask in (judged, lacking.any(axis=1)))
    # where no leaf is learnt, the number of adapters may be
    judged |= (any_judged[kind] == 0) & (n_lacking[kind] <= (1 - SUPPORT) * (n_others + 1))
    unknown = (n_others < _FEWEST_LIKE) & (shown.sum(axis=1) < seats.full)
    if unknown.any():
        names = sorted({seats.name[host] for host in np.flatnonzero(unknown).tolist()})
        learnt.rules.append(f"with fewer adapters and not judged, two or fewer of their kind: {named(names)}")
    lacking &= ~absent[seats.unit, seats.group_of_host()]
    for host in np.flatnonzero(judged & lacking.any(axis=1)).tolist():
        _say_missing(cabling, seats, rule, host, np.flatnonzero(lacking[host]), learnt)


def _say_missing(cabling: Cabling, seats: Seats, rule: RailRule, host: int, ranks: Array, learnt: Learnt) -> None:
    group = int(seats.group_of_host()[host])
    is_ruled = bool(rule.judged[seats.host == host].any())
    name = cabling.fabric.nodes.name
    lacking: dict[str, list[str]] = defaultdict(list)
    cables: list[tuple[Supposed, ...]] = []
    for rank in ranks.tolist():
        leaf = int(rule.leaf[rule.unit[host, rank], group, rank]) if is_ruled else -1
        label = seats.labels[group][rank]
        port = (
            int(rule.slot[host, rank] + rule.offset[group, rank])
            if rule.by_port and rule.offset[group, rank] >= 0
            else -1
        )
        where = f" ({name[leaf]}{f' port {port}' if port >= 0 else ''})" if leaf >= 0 else ""
        code = "nic-unnamed" if leaf >= 0 and port >= 0 and _holds_unnamed(cabling, leaf, port) else "nic-missing"
        lacking[code].append(label + where)
        cables += [supposed_adapter(cabling, seats, (host, rank), leaf)] if code == "nic-missing" else []
    rate, at = _usual_rate(cabling, cabling.access), cabling.first_place(cabling.nic[seats.row[seats.host == host]])
    for code, labels in lacking.items():
        if code == "nic-missing":
            said = f"shows {seats.full[host] - len(ranks)} of {seats.full[host]} adapters; lacks {', '.join(labels)}"
            words = f"the host runs without {len(labels)} of its {seats.full[host]} adapters"
            place = f"{seats.name[host]} {', '.join(label.split(' (')[0] for label in labels)}"
            supposed = tuple(cable for each in cables for cable in each) if all(cables) else ()
            lost = BOTH_WAYS * rate * len(labels)
            found = finding(code, place, said, words=words, at=at, lost_gbps=lost, supposed=supposed)
        else:
            found = finding(code, seats.name[host], f"an unnamed adapter sits where {', '.join(labels)} should", at=at)
        learnt.findings.append(found)


def _fewer_cables(cabling: Cabling, explained: set[str], learnt: Learnt) -> None:
    """Hosts with fewer cables, over all slots, than at least 80 % of the others of their kind, yet half of them.

    Adapters are told apart by the scheme of their names, and a host may lack all of one scheme. Hosts of which an
    adapter was said to lack, or whose missing leaf explains it, are left out; fewer than half is another machine.
    """
    code = cabling.fabric.nodes.host.codes[cabling.nic].astype(np.int64)
    hosts, n_cables = np.unique(code[code >= 0], return_counts=True)
    names = cabling.fabric.nodes.host.labels[hosts].tolist()
    kind = kinds_of(names)
    said = [f"{one.place} " for one in learnt.findings if one.code.startswith("nic-")]
    rate = _usual_rate(cabling, cabling.access)
    for one in np.flatnonzero(np.bincount(kind) > _FEWEST_LIKE).tolist():
        mine = np.flatnonzero(kind == one)
        n_others = len(mine) - 1
        ranked = np.sort(n_cables[mine])[::-1]
        usual = int(ranked[math.ceil(SUPPORT * n_others) - 1])  # what 80 % of the others of a host below it have
        for host in mine[(n_cables[mine] < usual) & (2 * n_cables[mine] >= usual)].tolist():
            if names[host] in explained or any(place.startswith(f"{names[host]} ") for place in said):
                continue
            n = int((ranked >= usual).sum())
            evidence = (
                f"{plural(int(n_cables[host]), 'cable')}; {n:,} of {n_others:,} others of its kind have {usual} or more"
            )
            words = f"the host runs without {usual - n_cables[host]} of its {usual} cables"
            at = cabling.first_place(cabling.nic[code == hosts[host]])
            found = finding("nic-missing", names[host], evidence, words=words, at=at)
            learnt.findings.append(replace(found, lost_gbps=BOTH_WAYS * rate * float(usual - n_cables[host])))


def _holds_unnamed(cabling: Cabling, leaf: int, number: int) -> bool:
    """Whether an adapter of no known host is on a port of a leaf."""
    nodes = cabling.fabric.nodes
    adapters = cabling.nic[(cabling.leaf == leaf) & (cabling.number[cabling.leaf_port] == number)].tolist()
    return any(nodes.host[node] in (None, nodes.uid[node]) for node in adapters)


def _irregular_ports(cabling: Cabling, seats: Seats, rule: RailRule, learnt: Learnt) -> None:
    """Hosts on the right leaves, some of their ports out of step with the others: a note each."""
    if not rule.by_port or len(seats.row) < MINN:
        return
    right = rule.judged & (rule.leaf_of(seats) == seats.leaf)
    port = cabling.number[cabling.leaf_port[seats.row]]
    usual = rule.slot[seats.host, seats.rank] + rule.offset[seats.group, seats.rank]
    odd = np.flatnonzero(right & (port != usual))
    name = cabling.fabric.nodes.name
    for host in np.unique(seats.host[odd]).tolist():
        mine = odd[seats.host[odd] == host]
        said = ", ".join(
            f"{seats.labels[seats.group[row]][seats.rank[row]]} on {name[seats.leaf[row]]} port {port[row]}"
            f" (by its other adapters {usual[row]})"
            for row in mine.tolist()
        )
        at = cabling.place(int(cabling.access[seats.row[mine[0]]]))
        learnt.findings.append(finding("port-irregular", seats.name[host], said, at=at))
