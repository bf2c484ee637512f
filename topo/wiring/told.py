"""The difference between design and found as findings, each with its cables, its place and its fix."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from topo.fabric import FORWARDS_ALL, LinkSet
from topo.table import Array
from topo.units import format_number
from topo.wiring.cabling import port_words
from topo.wiring.comparison import hosts_of
from topo.wiring.difference import Moves, grouped_moves
from topo.wiring.finding import Finding, Operation, cut_words, finding, jobs_of, listed
from topo.wiring.kinds import named
from topo.wiring.matching import Matched

__all__ = ["slower_than_planned", "told"]

_MANY = 20
_MOST_SHOWN = 4
_FEWEST = 3
_SLACK = 1e-6


def told(matched: Matched, planned_gbps: Array) -> list[Finding]:
    """Every difference once: circles of moves, lone moves, what lacks and what is too many; devices absorb cables.

    ``planned_gbps`` is the planned rate of each compared planned cable.
    """
    findings: list[Finding] = []
    said = _say_moves(matched, findings)
    adds = [int(link) for link in matched.planned_links[matched.best.adds].tolist() if link not in said]
    removes = [int(link) for link in matched.found_links[matched.best.removes].tolist() if link not in said]
    adds = _say_devices(matched, adds, findings, lacking=True)
    removes = _say_devices(matched, removes, findings, lacking=False)
    _say_missing(matched, adds, findings)
    _say_unplanned(matched, removes, findings)
    _say_rates(matched, planned_gbps, findings)
    return findings


def _text(matched: Matched, link: int) -> str:
    return str(LinkSet.of(matched.comparison.both, [link])[0])


def _at(matched: Matched, link: int) -> tuple[str, int]:
    links = matched.comparison.both.links
    return links.source[link], int(links.line[link])


def _node_of(matched: Matched, classes: Array) -> Array:
    return classes if matched.by_device else matched.comparison.both.ports.node[classes]


def _say_moves(matched: Matched, findings: list[Finding]) -> set[int]:
    """The moves, those of one circle or one plug together; links that are told with them."""
    moves, fabric = matched.best.moves, matched.comparison.both
    job = np.arange(len(moves)) if matched.best.jobs is None else matched.best.jobs[0]
    _, first, of_job = np.unique(job, return_index=True, return_inverse=True)
    ends = moves.left, moves.entered
    if matched.splits is not None:
        ends = matched.splits.plug[moves.left], matched.splits.plug[moves.entered]
    arcs = Moves(moves.found[first], moves.planned[first], ends[0][first], ends[1][first])
    members = np.split(np.argsort(of_job, kind="stable"), np.cumsum(np.bincount(of_job))[:-1])
    left, entered = _node_of(matched, arcs.left), _node_of(matched, arcs.entered)
    host = fabric.nodes.host.codes.astype(np.int64)
    # Moves inside one host stand together; others share no box.
    together = np.where(host[left] >= 0, len(fabric.nodes) + host[left], left)
    beside = _Beside(matched)
    groups = grouped_moves(arcs, together, chains=not matched.by_device)
    for code, numbers in _from_strangers(matched, groups, left, entered):
        one = numbers[0]
        same_host = host[left[one]] >= 0 and host[left[one]] == host[entered[one]]
        if len(numbers) == 1 and same_host and left[one] != entered[one]:
            code = "adapter-unlike-plan"
        findings.append(_move_finding(matched, code, [members[i] for i in numbers], beside))
    return beside.told


def _from_strangers(
    matched: Matched, groups: Sequence[tuple[str, list[int]]], left: Array, entered: Array
) -> list[tuple[str, list[int]]]:
    """The same groups, lone moves from one device that no plan has to one planned device taken together."""
    fabric, planned = matched.comparison.both, matched.comparison.planned
    is_known = np.zeros(len(fabric.nodes), bool)
    is_known[fabric.link_a[planned]] = is_known[fabric.link_b[planned]] = True
    whole: list[tuple[str, list[int]]] = []
    of_pair: dict[tuple[int, int], list[int]] = {}
    for code, numbers in groups:
        pair = int(left[numbers[0]]), int(entered[numbers[0]])
        if len(numbers) > 1 or is_known[pair[0]]:
            whole.append((code, numbers))
        elif pair in of_pair:
            of_pair[pair] += numbers
        else:
            of_pair[pair] = list(numbers)
            whole.append((code, of_pair[pair]))
    return whole


def _move_finding(matched: Matched, code: str, jobs: Sequence[Array], beside: _Beside) -> Finding:
    """One finding of the moves of some jobs, rows of ``best.moves`` each, with the legs that the same jobs lay."""
    moves = matched.best.moves
    rows = np.concatenate([*jobs])
    extra = matched.found_links[moves.found[rows]].tolist()
    lacks = matched.planned_links[moves.planned[rows]].tolist()
    shown = [
        f"found {_text(matched, was)}, planned {_text(matched, should)}"
        for was, should in zip(extra[:_MOST_SHOWN], lacks[:_MOST_SHOWN], strict=True)
    ]
    more = f"; and {len(extra) - _MOST_SHOWN:,} more" if len(extra) > _MOST_SHOWN else ""
    more += _unknown(matched, extra) if code != "adapter-unlike-plan" else ""
    place = "; ".join(_text(matched, link) for link in extra[:2]) + ("; ..." if len(extra) > 2 else "")
    also = beside.of(rows)
    operations = (*(operation for job in jobs for operation in _moved(matched, job)), *also)
    lacks += [one.planned for one in also if one.planned >= 0]
    extra += [one.found for one in also if one.found >= 0]
    return finding(
        code, place, "; ".join(shown) + more, at=_at(matched, extra[0]), operations=operations, lacks=tuple(lacks),
        extra=tuple(extra),
    )  # fmt: skip


def _unknown(matched: Matched, links: list[int]) -> str:
    """Devices at these found cables that no planned cable reaches: a name mistyped, or a stranger."""
    fabric, planned = matched.comparison.both, matched.comparison.planned
    ends = np.unique(np.concatenate([fabric.link_a[links], fabric.link_b[links]]))
    strange = ends[~np.isin(ends, np.concatenate([fabric.link_a[planned], fabric.link_b[planned]]))]
    return f"; the plan has no {named(fabric.nodes.name[strange].tolist())}" if strange.size else ""


def _moved(matched: Matched, rows: Array) -> list[Operation]:
    """The operations of one job: a plug with all its legs."""
    moves, jobs = matched.best.moves, matched.best.jobs
    was, should = matched.found_links[moves.found[rows]].tolist(), matched.planned_links[moves.planned[rows]].tolist()
    places = [_ports_text(matched, ends[rows]) for ends in (moves.left, moves.entered)]
    legs = f"{len(rows)} legs of " if len(rows) > 1 else ""
    text = f"move {legs}{_text(matched, was[0])} from {places[0]} to {places[1]}"
    job = int(jobs[0][rows[0]]) if legs and jobs is not None else -1
    return [Operation("move", a, b, text, job) for a, b in zip(was, should, strict=True)]


def _ports_text(matched: Matched, classes: Array) -> str:
    fabric = matched.comparison.both
    labels = [] if matched.by_device else fabric.ports.label.values(classes[:8]).tolist()
    if len(labels) < 2 or not all(labels):
        return _class_text(matched, int(classes[0]))
    return f"{fabric.nodes.name[fabric.ports.node[classes[0]]]} {listed('port', labels)}"


class _Beside:
    """Legs of moved cables that are taken out or laid by the same jobs: told with the moves."""

    def __init__(self, matched: Matched) -> None:
        self.matched = matched
        self.told: set[int] = set()
        self.by_cable: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        if matched.splits is None or matched.best.jobs is None:
            return
        _, of_remove, of_add = matched.best.jobs
        for row, job in zip(matched.best.removes.tolist(), of_remove.tolist(), strict=True):
            self.by_cable["remove", int(matched.splits.cable_f[row])].append((int(matched.found_links[row]), job))
        for row, job in zip(matched.best.adds.tolist(), of_add.tolist(), strict=True):
            self.by_cable["add", int(matched.splits.cable_p[row])].append((int(matched.planned_links[row]), job))

    def of(self, rows: Array) -> list[Operation]:
        """Operations on the other legs of the cables whose rows of moves are given."""
        splits, moves = self.matched.splits, self.matched.best.moves
        if splits is None:
            return []
        cables = {("remove", one) for one in splits.cable_f[moves.found[rows]].tolist() if one >= 0}
        cables |= {("add", one) for one in splits.cable_p[moves.planned[rows]].tolist() if one >= 0}
        operations = []
        for kind, cable in sorted(cables):
            for link, job in self.by_cable.pop((kind, cable), ()):
                self.told.add(link)
                found, planned = (link, -1) if kind == "remove" else (-1, link)
                said = "take out" if kind == "remove" else "plug in"
                operations.append(Operation(kind, found, planned, f"{said} the leg {_text(self.matched, link)}", job))
        return operations


def _class_text(matched: Matched, one: int) -> str:
    fabric = matched.comparison.both
    if matched.by_device:
        return str(fabric.nodes.name[one])
    label = fabric.ports.label[one]
    return f"{fabric.nodes.name[fabric.ports.node[one]]}" + (f" {port_words(label)}" if label else "")


def _say_devices(matched: Matched, links: list[int], findings: list[Finding], *, lacking: bool) -> list[int]:
    """Devices of which no cable agrees, with at least three that differ: one finding each. The cables left."""
    fabric = matched.comparison.both
    rows = np.array(links, np.int64)
    if len(rows) < _FEWEST:
        return links
    good = matched.found_links[matched.best.common[0]]
    touched = [good, matched.found_links[matched.best.moves.found], matched.planned_links[matched.best.moves.planned]]
    n_box, box = _boxes(matched)
    agrees = np.zeros(n_box, bool)
    for each in touched:
        agrees[box[fabric.link_a[each]]] = agrees[box[fabric.link_b[each]]] = True
    a, b = box[fabric.link_a[rows]], box[fabric.link_b[rows]]
    times = np.bincount(np.concatenate([a, b]), minlength=n_box)
    other = np.array(
        [int(matched.found_links[i]) for i in matched.best.removes] if lacking
        else [int(matched.planned_links[i]) for i in matched.best.adds], np.int64
    )  # fmt: skip
    has_other = np.zeros(n_box, bool)
    has_other[box[fabric.link_a[other]]] = has_other[box[fabric.link_b[other]]] = True
    whole = ~agrees & ~has_other & (times >= _FEWEST)
    taken: set[int] = set()
    for device in sorted(np.flatnonzero(whole).tolist(), key=lambda one: -times[one]):
        every = rows[(a == device) | (b == device)].tolist()
        mine = [row for row in every if row not in taken]
        if len(mine) < _FEWEST:
            continue
        taken.update(mine)
        findings.append(_device_finding(matched, device, every, mine, lacking))
    return [link for link in links if link not in taken]


def _boxes(matched: Matched) -> tuple[int, Array]:
    """Number of boxes and the box of each node: adapters of one host are one box."""
    nodes = matched.comparison.both.nodes
    n = len(nodes)
    host = hosts_of(matched.comparison.both)
    return n + len(nodes.host.labels), np.where(host >= 0, n + host, np.arange(n))


def _device_finding(matched: Matched, device: int, every: list[int], mine: list[int], lacking: bool) -> Finding:
    """One finding of a box: what it costs is that of all its cables; its jobs are those not told with another box."""
    fabric = matched.comparison.both
    n = len(fabric.nodes)
    name = str(fabric.nodes.host.labels[device - n] if device >= n else fabric.nodes.name[device])
    code = "device-missing" if lacking else "device-extra"
    said = (
        f"none of its {len(every):,} planned cables is there" if lacking else f"no plan has its {len(every):,} cables"
    )
    said += f"; first {_text(matched, mine[0])}"
    elsewhere = len(every) - len(mine)
    said += f"; {elsewhere:,} of them told with other devices" if elsewhere else ""
    operations = _whole(matched, mine, "add" if lacking else "remove")
    rows = tuple(every)
    return finding(code, name, said, at=_at(matched, mine[0]), operations=operations,
                   lacks=rows if lacking else (), extra=() if lacking else rows)  # fmt: skip


def _pairs(matched: Matched, links: list[int]) -> dict[tuple[int, int], list[int]]:
    """Links by the pair of nodes they join; legs of one cable that join several pairs stand by the first."""
    fabric = matched.comparison.both
    grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
    pair_of: dict[int, tuple[int, int]] = {}
    for link, job in zip(links, _job_of(matched, links), strict=True):
        a, b = int(fabric.link_a[link]), int(fabric.link_b[link])
        pair = min(a, b), max(a, b)
        grouped[pair_of.setdefault(job, pair) if job >= 0 else pair].append(link)
    return grouped


def _job_of(matched: Matched, links: list[int]) -> list[int]:
    """Number of the job that lays or removes each link together with other legs of its cable; -1 for one alone."""
    if matched.best.jobs is None:
        return [-1] * len(links)
    _, of_remove, of_add = matched.best.jobs
    of_link = dict(zip(matched.found_links[matched.best.removes].tolist(), of_remove.tolist(), strict=True))
    of_link |= dict(zip(matched.planned_links[matched.best.adds].tolist(), of_add.tolist(), strict=True))
    return [of_link.get(link, -1) for link in links]


def _whole(matched: Matched, links: list[int], kind: str) -> tuple[Operation, ...]:
    """Laying (``add``) or removing the links, legs of one cable as one job."""
    jobs = _job_of(matched, links)
    legs = Counter(jobs)
    said = "lay" if kind == "add" else "remove"
    operations = []
    for link, job in zip(links, jobs, strict=True):
        several = job >= 0 and legs[job] > 1
        text = f"{said} {_text(matched, link)}" + (f", a cable of {legs[job]} legs" if several else "")
        ends = (-1, link) if kind == "add" else (link, -1)
        operations.append(Operation(kind, *ends, text, job if several else -1))
    return tuple(operations)


def _say_missing(matched: Matched, links: list[int], findings: list[Finding]) -> None:
    fabric, comparison = matched.comparison.both, matched.comparison
    n = len(fabric.nodes)
    key = np.minimum(fabric.link_a, fabric.link_b).astype(np.int64) * n + np.maximum(fabric.link_a, fabric.link_b)
    wanted = np.sort(key[comparison.planned])
    for (a, b), rows in _pairs(matched, links).items():
        low, high = np.searchsorted(wanted, [a * n + b, a * n + b + 1])
        operations = _whole(matched, rows, "add")
        is_split = any(one.job >= 0 for one in operations)
        kind = "legs of a planned cable" if is_split else f"of {high - low} planned cables"
        said = f"{len(rows)} {kind} not found: {_text(matched, rows[0])}"
        said += f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        place = (
            _text(matched, rows[0])
            if len(jobs_of(operations)) == 1
            else f"{fabric.nodes.name[a]} - {fabric.nodes.name[b]}"
        )
        findings.append(
            finding(
                "missing",
                place,
                said,
                at=_at(matched, rows[0]),
                operations=operations,
                lacks=tuple(rows),
                words=_cut_above(matched, (a, b), len(rows), int(high - low)),
            )
        )


def _cut_above(matched: Matched, pair: tuple[int, int], n: int, of: int) -> str:
    """What a pair of switches and the cut above the lower lose; '' where one is none, or no plan leads up."""
    a, b = pair
    fabric, planned = matched.comparison.both, matched.comparison.planned
    tier = fabric.nodes.tier
    if not (fabric.nodes.forwards[[a, b]] == FORWARDS_ALL).all() or tier[a] == tier[b]:
        return ""
    low = a if tier[a] < tier[b] else b
    near, far = fabric.link_a[planned], fabric.link_b[planned]
    above = int(((near == low) & (tier[far] > tier[low])).sum() + ((far == low) & (tier[near] > tier[low])).sum())
    name = fabric.nodes.name
    return cut_words(f"{name[low]} - {name[b if low == a else a]}", str(name[low]), lost=n, of=of, above=above)


def _say_unplanned(matched: Matched, links: list[int], findings: list[Finding]) -> None:
    fabric = matched.comparison.both
    for (a, b), rows in _pairs(matched, links).items():
        operations = _whole(matched, rows, "remove")
        said = f"no plan has {'it' if len(rows) == 1 else f'these {len(rows)} cables'}: {_text(matched, rows[0])}"
        one = len(jobs_of(operations)) == 1
        place = _text(matched, rows[0]) if one else f"{fabric.nodes.name[a]} - {fabric.nodes.name[b]}"
        findings.append(
            finding("unplanned", place, said, at=_at(matched, rows[0]), operations=operations, extra=tuple(rows))
        )


def slower_than_planned(matched: Matched, planned_gbps: Array) -> dict[int, float]:
    """Cables that both sides have and that run slower than planned: row of each, and its planned rate."""
    links = matched.found_links[matched.best.common[0]]
    wanted = planned_gbps[matched.best.common[1]]
    slow = matched.comparison.both.links.capacity_gbps[links] < wanted * (1 - _SLACK)
    return dict(zip(links[slow].tolist(), wanted[slow].tolist(), strict=True))


def _say_rates(matched: Matched, planned_gbps: Array, findings: list[Finding]) -> None:
    """Common cables slower than planned; many at once are one finding: another rate was meant."""
    slow = slower_than_planned(matched, planned_gbps)
    rates, n = matched.comparison.both.links.capacity_gbps, len(matched.best.common[0])
    if len(slow) > max(_MANY, n // 5):
        run, meant = (format_number(float(np.median(each))) for each in (rates[list(slow)], list(slow.values())))
        said = f"{len(slow):,} of {n:,} cables run slower than planned: usually {run} Gb/s, planned {meant}"
        findings.append(finding("rate-unlike-plan", f"{len(slow):,} cables", said, extra=tuple(slow)))
        return
    for link, wanted in slow.items():
        said = f"{rates[link]:g} Gb/s, planned {wanted:g}"
        place, at = _text(matched, link), _at(matched, link)
        findings.append(finding("rate-unlike-plan", place, said, at=at, extra=(link,)))
