"""The difference between design and found as findings, each with its cables, its place and its fix."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from topo.fabric import LinkSet
from topo.table import Array
from topo.units import format_number
from topo.wiring.difference import grouped_moves
from topo.wiring.finding import Finding, Operation, finding
from topo.wiring.matching import Matched

__all__ = ["told"]

_MANY = 20
_FEWEST = 3
_SLACK = 1e-6


def told(matched: Matched, planned_gbps: Array) -> list[Finding]:
    """Every difference once: circles of moves, lone moves, what lacks and what is too many; devices absorb cables.

    ``planned_gbps`` is the planned rate of each compared planned cable.
    """
    findings: list[Finding] = []
    _say_moves(matched, findings)
    adds = [int(matched.planned_links[i]) for i in matched.best.adds.tolist()]
    removes = [int(matched.found_links[i]) for i in matched.best.removes.tolist()]
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


def _say_moves(matched: Matched, findings: list[Finding]) -> None:
    moves, fabric = matched.best.moves, matched.comparison.both
    left, entered = _node_of(matched, moves.left), _node_of(matched, moves.entered)
    host = fabric.nodes.host.codes.astype(np.int64)
    # Moves inside one host stand together; others share no box.
    together = np.where(host[left] >= 0, len(fabric.nodes) + host[left], left)
    for code, numbers in grouped_moves(moves, together, chains=not matched.by_device):
        operations, lacks, extra = [], [], []
        for i in numbers:
            was, should = int(matched.found_links[moves.found[i]]), int(matched.planned_links[moves.planned[i]])
            goal = _class_text(matched, int(moves.entered[i]))
            operations.append(
                Operation("move", was, should, f"move {_text(matched, was)} from "
                          f"{_class_text(matched, int(moves.left[i]))} to {goal}")
            )  # fmt: skip
            lacks.append(should)
            extra.append(was)
        first = numbers[0]
        same_host = host[left[first]] >= 0 and host[left[first]] == host[entered[first]]
        if len(numbers) == 1 and same_host and left[first] != entered[first]:
            code = "adapter-unlike-plan"
        shown = [
            f"found {_text(matched, was)}, planned {_text(matched, should)}"
            for was, should in zip(extra[:4], lacks[:4], strict=True)
        ]
        more = f"; and {len(extra) - 4:,} more" if len(extra) > 4 else ""
        place = "; ".join(_text(matched, link) for link in extra[:2]) + ("; ..." if len(extra) > 2 else "")
        findings.append(
            finding(code, place, "; ".join(shown) + more, at=_at(matched, extra[0]), operations=tuple(operations),
                    lacks=tuple(lacks), extra=tuple(extra))
        )  # fmt: skip


def _class_text(matched: Matched, one: int) -> str:
    fabric = matched.comparison.both
    if matched.by_device:
        return str(fabric.nodes.name[one])
    label = fabric.ports.label[one]
    return f"{fabric.nodes.name[fabric.ports.node[one]]}" + (f" port {label}" if label else "")


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
        mine = [int(row) for row in rows[(a == device) | (b == device)] if int(row) not in taken]
        if len(mine) < _FEWEST:
            continue
        taken.update(mine)
        findings.append(_device_finding(matched, box, device, mine, lacking))
    return [link for link in links if link not in taken]


def _boxes(matched: Matched) -> tuple[int, Array]:
    """Number of boxes and the box of each node: adapters of one host are one box."""
    nodes = matched.comparison.both.nodes
    n = len(nodes)
    host = nodes.host.codes.astype(np.int64)
    inside = (host >= 0) & ~nodes.kind.is_any("switch", "router", "storage_switch")
    return n + len(nodes.host.labels), np.where(inside, n + host, np.arange(n))


def _device_finding(matched: Matched, box: Array, device: int, links: list[int], lacking: bool) -> Finding:
    fabric = matched.comparison.both
    n = len(fabric.nodes)
    name = str(fabric.nodes.host.labels[device - n] if device >= n else fabric.nodes.name[device])
    code = "device-missing" if lacking else "device-extra"
    said = (
        f"none of its {len(links):,} planned cables is there" if lacking else f"no plan has its {len(links):,} cables"
    )
    said += f"; first {_text(matched, links[0])}"
    kind = "add" if lacking else "remove"
    operations = tuple(
        Operation(kind, -1 if lacking else link, link if lacking else -1,
                  f"{'lay' if lacking else 'remove'} {_text(matched, link)}")
        for link in links
    )  # fmt: skip
    rows = tuple(links)
    return finding(code, name, said, at=_at(matched, links[0]), operations=operations,
                   lacks=rows if lacking else (), extra=() if lacking else rows)  # fmt: skip


def _pairs(matched: Matched, links: list[int]) -> dict[tuple[int, int], list[int]]:
    fabric = matched.comparison.both
    grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
    for link in links:
        a, b = int(fabric.link_a[link]), int(fabric.link_b[link])
        grouped[min(a, b), max(a, b)].append(link)
    return grouped


def _say_missing(matched: Matched, links: list[int], findings: list[Finding]) -> None:
    fabric, comparison = matched.comparison.both, matched.comparison
    n = len(fabric.nodes)
    key = np.minimum(fabric.link_a, fabric.link_b).astype(np.int64) * n + np.maximum(fabric.link_a, fabric.link_b)
    wanted = np.sort(key[comparison.planned])
    for (a, b), rows in _pairs(matched, links).items():
        low, high = np.searchsorted(wanted, [a * n + b, a * n + b + 1])
        said = f"{len(rows)} of {high - low} planned cables not found: {_text(matched, rows[0])}"
        said += f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        operations = tuple(Operation("add", -1, row, f"lay {_text(matched, row)}") for row in rows)
        place = _text(matched, rows[0]) if len(rows) == 1 else f"{fabric.nodes.name[a]} - {fabric.nodes.name[b]}"
        findings.append(
            finding("missing", place, said, at=_at(matched, rows[0]), operations=operations, lacks=tuple(rows))
        )


def _say_unplanned(matched: Matched, links: list[int], findings: list[Finding]) -> None:
    fabric = matched.comparison.both
    for (a, b), rows in _pairs(matched, links).items():
        operations = tuple(Operation("remove", row, -1, f"remove {_text(matched, row)}") for row in rows)
        said = f"no plan has {'it' if len(rows) == 1 else f'these {len(rows)} cables'}: {_text(matched, rows[0])}"
        place = _text(matched, rows[0]) if len(rows) == 1 else f"{fabric.nodes.name[a]} - {fabric.nodes.name[b]}"
        findings.append(
            finding("unplanned", place, said, at=_at(matched, rows[0]), operations=operations, extra=tuple(rows))
        )


def _say_rates(matched: Matched, planned_gbps: Array, findings: list[Finding]) -> None:
    """Common cables slower than planned; many at once are one finding: another rate was meant."""
    links = matched.found_links[matched.best.common[0]]
    wanted = planned_gbps[matched.best.common[1]]
    rates = matched.comparison.both.links.capacity_gbps[links]
    slow = np.flatnonzero(rates < wanted * (1 - _SLACK))
    if len(slow) > max(_MANY, len(links) // 5):
        run, meant = (format_number(float(np.median(each[slow]))) for each in (rates, wanted))
        said = f"{len(slow):,} of {len(links):,} cables run slower than planned: usually {run} Gb/s, planned {meant}"
        findings.append(finding("rate-unlike-plan", f"{len(slow):,} cables", said))
        return
    for i in slow.tolist():
        said = f"{rates[i]:g} Gb/s, planned {wanted[i]:g}"
        link = int(links[i])
        findings.append(finding("rate-unlike-plan", _text(matched, link), said, at=_at(matched, link)))
