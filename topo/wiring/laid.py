"""The design laid over what was found: by names, else by structure; whether it is the right design at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import LinkSet
from topo.view.text import natural_key, plural
from topo.wiring.cabling import Cabling
from topo.wiring.finding import Finding, finding
from topo.wiring.matching import Laying, Matched, image_of, laid_by_boxes, laid_by_image, lay_over, matched_by_name
from topo.wiring.renamed import say_renamed
from topo.wiring.resemblance import resembling_image
from topo.wiring.split import least_jobs
from topo.wiring.structure import Boxes, boxes_of
from topo.wiring.votes import best_image, least_operations, refined

__all__ = ["Laid", "laid_design"]

_SERVES = 0.5
_WRONG = 0.1
_SPELT = 0.7
_SAME = 0.9
_FEWEST = 3
_ALIKE = 0.8
_PART = 0.2
_FEW = 12
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Laid:
    """Both sides matched, sentences that say how, findings about the identification, a bound on the operations."""

    matched: Matched
    said: tuple[str, ...]
    findings: tuple[Finding, ...]
    least: int
    is_wrong: bool = False


def laid_design(found: Cabling, planned: Cabling) -> Laid:
    """Identify planned with found devices, by name where names serve and by structure where they do not.

    Names serve where at least half of the cables of the smaller side agree by them, where both sides name the same
    ports and a dozen operations are left, or where devices are called alike and structure explains hardly more.
    Structure is trusted only where it explains half: chance explains up to a third of a wrong design.
    """
    by_name = matched_by_name(found, planned)
    matched = lay_over(found, planned, by_name)
    spelt = _as_spelt(found, planned, by_name, matched)
    if matched.share >= _SERVES or _has_same_ports(found, planned, by_name, matched):
        return _with_renamed(found, planned, by_name, _exchanged(found, planned, by_name, spelt))
    if spelt.findings:
        return _with_renamed(found, planned, by_name, spelt)
    boxes = boxes_of(found, planned)
    image = best_image(*boxes)
    by_structure = image.share >= _SERVES and image.share * _smaller(found, planned) >= _PART
    if by_structure and _names_hold(by_name, matched, image.share):
        return _with_renamed(found, planned, by_name, spelt)
    if by_structure:
        n = int((image.of >= 0).sum())
        how = (
            f"{100 * matched.share:.0f} % of the cables agree by name; {n:,} devices identified by their ports instead"
        )
        by_port = lay_over(found, planned, laid_by_image(found, planned, boxes, image, how))
        said = (f"ports explain {100 * image.share:.4g} % of the cables of the smaller side",)
        least = _bounded(by_port, boxes)
        return Laid(by_port, said, (), least)
    alike = _by_resemblance(found, planned, boxes, matched)
    if alike is not None:
        return alike
    if matched.share >= _WRONG:
        return _with_renamed(found, planned, by_name, spelt)
    question = (
        f"these two have {100 * matched.share:.0f} % of their cables in common ({matched.n_common:,} of "
        f"{len(found.links):,} found and {len(planned.links):,} planned); by structure alone "
        f"{100 * image.share:.0f} % could be; is this the right design?"
    )
    wrong = finding("wrong-design", planned.fabric.name, question)
    return Laid(matched, (), (wrong,), 0, is_wrong=True)


def _names_hold(laying: Laying, matched: Matched, by_structure: float) -> bool:
    """Whether devices are what they are called: most of a side's are called so on the other too, a tenth agrees.

    Structure must leave less than half of what differs by name to say otherwise: a design of another size has the same
    names, and some of its cables fit as well in another place.
    """
    if laying.named < _SERVES or matched.share < _WRONG:
        return False
    return 1 - by_structure > _SERVES * (1 - matched.share)


def _with_renamed(found: Cabling, planned: Cabling, laying: Laying, laid: Laid) -> Laid:
    """The same, with one finding of the hosts under other names that no finding tells of yet."""
    told = {name for one in laid.findings for name in one.place.split(", ")}
    pairs = [one for one in laying.renamed if one[1] not in told]
    if not pairs:
        return laid
    n_hosts = len(np.unique(planned.fabric.nodes.host.codes[planned.nic]))
    return replace(laid, findings=(*laid.findings, say_renamed(found, pairs, n_hosts)))


def _has_same_ports(found: Cabling, planned: Cabling, laying: Laying, matched: Matched) -> bool:
    """Whether all cabled ports of one side are cabled on the other by their names, and few operations are left."""
    if matched.by_device or len(matched.best) > _FEW:
        return False
    there = _is_named(found, planned, laying)
    return bool(there.all()) or int(there.sum()) == 2 * len(np.unique(found.links))


def _is_named(found: Cabling, planned: Cabling, laying: Laying) -> NDArray[np.bool_]:
    """Whether each planned end, two a cable, is a cabled port of the found side by its name."""
    links, rows = planned.fabric.links, planned.links
    port = laying.port[np.stack([links.port_a[rows], links.port_b[rows]], axis=1)]
    named: NDArray[np.bool_] = (port >= 0) & found.cabled[port]
    return named


def _least(matched: Matched) -> int:
    """Operations that no list goes below, names taken as they are: all of them, but where cables split into legs."""
    if matched.splits is None:
        return len(matched.best)
    links = matched.comparison.both.links
    ends = np.stack([links.port_a, links.port_b], axis=1)
    return least_jobs(matched.best, matched.splits, ends[matched.found_links], ends[matched.planned_links])


def _bounded(matched: Matched, boxes: tuple[Boxes, Boxes]) -> int:
    """Operations that no renaming avoids; the bound counts legs singly, one operation may move several."""
    least = least_operations(*boxes)
    if matched.splits is not None:
        most = max(
            np.bincount(cable[cable >= 0]).max(initial=1) for cable in (matched.splits.cable_f, matched.splits.cable_p)
        )
        least = -(-least // int(most))
    return min(len(matched.best), least)


def _smaller(found: Cabling, planned: Cabling) -> float:
    """Cables of the smaller side, part of those of the larger."""
    sizes = len(found.links), len(planned.links)
    return min(sizes) / max(1, max(sizes))


def _by_resemblance(found: Cabling, planned: Cabling, boxes: tuple[Boxes, Boxes], named: Matched) -> Laid | None:
    """Both sides matched by what each device is joined to, where neither names nor ports serve; None if not even so."""
    image = resembling_image(*boxes)
    if image is None or image.share < _ALIKE or image.share * _smaller(found, planned) < _SERVES:
        return None  # a small wiring fits into nearly every large one
    n = int((image.of >= 0).sum())
    how = (
        f"{100 * named.share:.0f} % of the cables agree by name and hardly more by port; {n:,} devices identified by "
        "what they are joined to"
    )
    laid = lay_over(found, planned, laid_by_boxes(found, planned, boxes, image.of, how), by_device=True)
    if laid.share < _ALIKE:
        return None
    said = (f"{100 * laid.share:.4g} % of the cables of the smaller side agree by device, ports are not compared; the "
            "differences are only an upper bound: another identification may leave fewer",)  # fmt: skip
    blank = [
        replace(one, p=np.where(one.kind[one.u] == 1, one.p, 0), r=np.where(one.kind[one.w] == 1, one.r, 0))
        for one in boxes
    ]
    return Laid(laid, said, (), _bounded(laid, (blank[0], blank[1])))


def _as_spelt(found: Cabling, planned: Cabling, laying: Laying, matched: Matched) -> Laid:
    """The same, devices alone compared where they agree and ports hardly do: the two spell ports otherwise.

    Cables between ports that both sides name are exchanged, not spelt otherwise: of the cables to hosts, or of those
    between switches, more must end at a port that nothing found is called by than agree.
    """
    same = Laid(matched, (), (), _least(matched))
    if matched.by_device or matched.share >= _SPELT:
        return same
    loose = lay_over(found, planned, laying, by_device=True)
    if loose.share < _SAME:
        return same
    named = _is_named(found, planned, laying)
    unknown = ~(named[:, 0] & named[:, 1])
    unknown[np.setdiff1d(np.arange(len(unknown)), loose.best.common[1])] = False
    between = np.isin(planned.links, planned.between)
    agree = np.isin(np.arange(len(unknown)), matched.best.common[1])
    if not any((unknown & kind).sum() > (agree & kind).sum() for kind in (between, ~between)):
        return same
    example = _port_example(found, planned, loose, unknown)
    said = (
        f"{100 * loose.share:.0f} % of the cables agree by device and {100 * matched.share:.0f} % by port too: "
        f"the two name ports otherwise{example}; ports are not compared"
    )
    return Laid(loose, (), (finding("spelling", planned.fabric.name, said),), _least(loose))


def _port_example(found: Cabling, planned: Cabling, loose: Matched, unknown: NDArray[np.bool_]) -> str:
    """A cable as either side spells it: the first of which the two agree by device and not by port."""
    rows = [(f, q) for f, q in zip(*(side.tolist() for side in loose.best.common), strict=True) if unknown[q]]
    if not rows:
        return ""
    f, q = min(rows, key=lambda pair: pair[1])
    texts = (LinkSet.of(side.fabric, [int(side.links[row])])[0] for side, row in ((planned, q), (found, f)))
    return " (planned {}, found {})".format(*texts)


def _exchanged(found: Cabling, planned: Cabling, laying: Laying, laid: Laid) -> Laid:
    """The same, devices that stand in each other's place taken for what their cables say they are."""
    if laid.matched.by_device or len(laid.matched.best) < 4:
        return laid
    boxes = boxes_of(found, planned)
    start = image_of(laying, boxes, found, planned)
    image = refined(*boxes, start)
    known = (start >= 0) | (boxes[0].degree >= _FEWEST)
    renamed = np.flatnonzero((image.of != start) & known & (image.of >= 0))
    if not renamed.size:
        return laid
    by_port = lay_over(found, planned, laid_by_image(found, planned, boxes, image, laid.matched.how))
    if len(by_port.best) + len(renamed) >= len(laid.matched.best):
        return laid
    findings = _say_exchanged(found, planned, boxes, start, image.of, renamed)
    said = (f"{plural(len(renamed), 'device')} in the place of others: {len(laid.matched.best):,} operations become "
            f"{len(by_port.best):,}",)  # fmt: skip
    return Laid(by_port, said, (*laid.findings, *findings), _least(by_port))


def _say_exchanged(
    found: Cabling,
    planned: Cabling,
    boxes: tuple[Boxes, Boxes],
    start: NDArray[np.int64],
    image: NDArray[np.int64],
    renamed: NDArray[np.int64],
) -> list[Finding]:
    """A finding for each circle of devices in each other's place, one for all that bear names no plan has."""
    name_f, name_p = (_box_names(side, box) for side, box in zip((found, planned), boxes, strict=True))
    home = {int(start[box]): int(box) for box in np.flatnonzero(start >= 0)}
    left = dict.fromkeys(renamed.tolist())
    circles: list[list[int]] = []
    while left:
        box = next(iter(left))
        circle = []
        while box in left:
            del left[box]
            circle.append(box)
            box = home.get(int(image[box]), -1)
        circles.append(circle)
    strange = [circle[0] for circle in circles if len(circle) == 1 and start[circle[0]] < 0]
    if len(strange) > 1:  # they were named anew, all at once
        circles = [sorted(strange, key=lambda one: natural_key(name_f[one]))] + [
            circle for circle in circles if circle[0] not in strange
        ]
    findings = []
    for circle in circles:
        said = "; ".join(
            f"{name_f[one]}{'' if start[one] >= 0 else ', which no plan has,'} is cabled as "
            f"{name_p[int(image[one])]} is planned"
            for one in circle[:_SHOWN]
        )
        said += f"; and {len(circle) - _SHOWN:,} more" if len(circle) > _SHOWN else ""
        place = ", ".join(name_f[one] for one in circle[:4]) + (", ..." if len(circle) > 4 else "")
        at = found.first_place(np.flatnonzero(boxes[0].box_of_node == circle[0]))
        findings.append(finding("devices-exchanged", place, said, at=at))
    return findings


def _box_names(side: Cabling, boxes: Boxes) -> list[str]:
    names = [""] * boxes.n
    nodes = side.fabric.nodes
    for row in np.flatnonzero(boxes.box_of_node >= 0)[::-1].tolist():
        box = int(boxes.box_of_node[row])
        names[box] = nodes.host[row] if boxes.kind[box] == 1 else str(nodes.name[row])
    return names
