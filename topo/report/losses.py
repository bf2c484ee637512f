"""What failures leave: the degradation curve with its interval, the worst elements, which may be drained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import ParameterError, TopoError
from topo.fabric import FORWARDS_ALL
from topo.report.answers import why_not
from topo.report.asked import LeftOut
from topo.report.content import Grid, Picture, Section, Text
from topo.report.drains import Drains, drains
from topo.units import format_number
from topo.view.curves import Axis, Curve, draw_curves
from topo.view.text import plural

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from topo.analysis.degradation import DegradationCurve
    from topo.analysis.failures.survivability import Survivability
    from topo.fabric import Fabric

__all__ = ["LossAnswers", "ask_losses", "losses_section"]

_MOST_STATES = 200
_MOST_DRAWN_LINKS = 20_000
_MOST_WORK = 50_000_000
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class LossAnswers:
    """Every single failure where that is quick or asked for, and capacity as more and more links are down."""

    survivability: Survivability | LeftOut
    drains: tuple[Drains, ...]
    curve: DegradationCurve | None
    parallel: bool = False
    """Whether the element that costs most is one of several parallel links."""


def ask_losses(fabric: Fabric, named: bool, seed: int = 0, executor: Executor | None = None) -> LossAnswers:
    """N-1 over switches and links, all-to-all under even shares, and a sampled degradation curve."""
    from topo.analysis.degradation import degradation_curve
    from topo.analysis.failures.survivability import survivability

    counts, samples = _draws(fabric, named)
    try:
        curve = degradation_curve(fabric, counts=counts, samples=samples, seed=seed)
    except ParameterError:  # no links between switches, or nothing crosses them: there is no curve to show
        curve = None
    states = _states(fabric)
    if states > _MOST_STATES and not named:
        reason = f"every single failure would take {states:,} evaluations"
        return LossAnswers(LeftOut("failures", reason), (), curve)
    found = survivability(fabric, executor=executor)
    return LossAnswers(found, drains(fabric, found), curve, _worst_is_parallel(fabric, found))


def _draws(fabric: Fabric, named: bool) -> tuple[tuple[int, ...], int]:
    """How many links go down, and how often that is drawn: less where one evaluation takes long, unless asked for."""
    nodes = fabric.nodes
    # Every endpoint that relays is a destination of its own, which no folding spares.
    work = int((nodes.is_endpoint & (nodes.forwards == FORWARDS_ALL)).sum()) * 2 * len(fabric.links)
    if not named and work > _MOST_WORK:
        return (1, 8, 64), 4
    if len(fabric.links) > _MOST_DRAWN_LINKS or (not named and work > _MOST_WORK // 10):
        return (1, 4, 16, 64), 6
    return (1, 2, 4, 8, 16, 32, 64), 16


def _worst_is_parallel(fabric: Fabric, found: Survivability) -> bool:
    from topo.analysis.failures.survivability import standing_elements

    if found.losses[0].kind != "link":
        return False
    first = int(np.flatnonzero(found.loss_class["link"] == 0)[0])
    link = int(standing_elements(fabric, "link", None).links_of(first)[0])
    ends = {int(fabric.link_a[link]), int(fabric.link_b[link])}
    return int((np.isin(fabric.link_a, list(ends)) & np.isin(fabric.link_b, list(ends))).sum()) > 1


def _states(fabric: Fabric) -> int:
    """How many states every single failure comes to when equal ones are counted once."""
    from topo.analysis.failures.classes import element_classes
    from topo.analysis.failures.survivability import standing_elements
    from topo.network import Network
    from topo.symmetry import symmetry

    found = symmetry(Network.of(fabric))
    return sum(
        len(np.unique(element_classes(standing_elements(fabric, kind, None), found))) for kind in ("switch", "link")
    )


def losses_section(answer: LossAnswers | LeftOut | TopoError) -> Section:
    """The section, or why there is none."""
    title = "What failures leave"
    if isinstance(answer, TopoError):
        return Section("failures", title, why_not(answer))
    if isinstance(answer, LeftOut):
        return Section("failures", title, [Text(str(answer))])
    return Section("failures", title, list(_items(answer)))


def _items(answer: LossAnswers) -> Iterator[Text | Grid | Picture]:
    found = answer.survivability
    yield Text(
        "The throughput of an all-to-all under even shares (ECMP), as a share of what it is with nothing down. "
        "Endpoints that are cut off are counted beside it: the share speaks of the others."
    )
    if answer.curve is not None and answer.curve.points:
        yield _curve_picture(answer.curve)
        if min(point.share_least for point in answer.curve.points) >= 1 - 1e-9:
            yield Text("No draw leaves less than all: what binds the whole fabric is narrower than what failures make.")
    if isinstance(found, LeftOut):
        yield Text(str(found))
        return
    rows = tuple(
        (
            loss.name,
            f"{loss.tier} {loss.kind}",
            f"{loss.n_alike:,}",
            f"{format_number(100 * loss.share_lower, 4)} %",
            f"{loss.cut_off:,}",
            f"{loss.reduced:,}",
        )
        for loss in found.losses[:_SHOWN]
    )
    head = ("without", "what it is", "alike", "left", "endpoints cut off", "at a lower rate")
    note = f"Standing: {found.standing}. {plural(found.n_elements, 'element')}, {found.n_evaluated:,} evaluated."
    shares = tuple(min(1.0, max(0.0, loss.share_lower)) for loss in found.losses[:_SHOWN])
    yield Grid(head, rows, "Any one element down, worst first", note, shares)
    yield Text(
        "What may be drained: an element may go down, one at a time, where at least "
        f"{100 * found.require:.4g} % is left and no endpoint is cut off."
    )
    yield Grid(("what", "may go down", "of", "verdict"), tuple(map(_drain_row, answer.drains)), "Drain safety")
    yield from _gains(found)
    worst = found.losses[0]
    if answer.parallel and worst.share_lower < found.require:
        yield Text(
            "Why one link can cost so much: ECMP goes on splitting evenly over switches, so that a switch's remaining "
            "links to one neighbour carry what all of them carried. Weighted routing keeps more: topo fail FABRIC "
            f"--down link:{worst.name}",
        )


def _gains(found: Survivability) -> Iterator[Text]:
    """Why the loss of an element may leave more than all: nobody is cut off by it, or those that are send no more."""
    better = [loss for loss in found.losses if loss.share_lower > 1]
    split = sum(loss.n_alike for loss in better if loss.cut_off <= 0)
    cut = sum(loss.n_alike for loss in better if loss.cut_off > 0)
    if split:
        yield Text(
            f"More is left without {_any_of(split)}: even splitting then sends less over the bottleneck than it did "
            "(optimal routing never gains from a loss)."
        )
    if cut:
        yield Text(f"More is left without {_any_of(cut)}: the endpoints that are cut off no longer load the others.")


def _any_of(n: int) -> str:
    return "one element" if n == 1 else f"any one of {n:,} elements"


def _drain_row(entry: Drains) -> tuple[str, str, str, str]:
    verdict = entry.verdict
    what = f"{verdict.tier} {verdict.kind}"
    said = entry.text().partition(": ")[2]
    return (what, f"{verdict.n_safe:,}", f"{verdict.n_elements:,}", said[:1].upper() + said[1:])


def _curve_picture(curve: DegradationCurve) -> Picture:
    n = list(range(len(curve.points) + 1))
    mean, low, high, least = (
        [100.0, *(100 * getattr(point, name) for point in curve.points)]
        for name in ("share_mean", "share_low", "share_high", "share_least")
    )
    top = max(100.0, *high)
    series = [Curve("mean, and nine draws in ten", n, mean, low, high), Curve("the worst draw", n, least)]
    counts = ["0", *(f"{point.n_down:,}" for point in curve.points)]
    x = Axis(f"{curve.kind} down at random, of {curve.n_elements:,}", 0, n[-1], n, labels=counts)
    y = Axis("share left, %", 0, top, (0, 20, 40, 60, 80, 100))
    said = ", ".join(f"{a} down: {format_number(b, 3)} %" for a, b in zip(counts, mean, strict=True))
    alt = f"{curve.measure}: mean share left with {curve.kind} down at random: {said}. {curve.standing}."
    caption = f"Degradation of {curve.measure} ({curve.standing})"
    return Picture.of_chart(draw_curves, series, x, y, title="Degradation", alt=alt, caption=caption)
