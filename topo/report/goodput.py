"""From line rate to goodput: the waterfall that opens a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topo.errors import ParameterError, TopoError
from topo.parts.forwarding import is_infiniband
from topo.report.answers import why_not
from topo.report.asked import LeftOut
from topo.report.content import Facts, Grid, Picture, Section, Text
from topo.result import Row, Standing
from topo.units import format_number
from topo.view.bars import Bar, draw_waterfall
from topo.view.curves import Axis, Curve, draw_curves

if TYPE_CHECKING:
    from topo.analysis.collectives.on_fabric import CollectiveTime
    from topo.fabric import Fabric
    from topo.training.waterfall import Goodput, Level

__all__ = ["GoodputAnswers", "ask_goodput", "goodput_section", "standing_in_words"]

_PIECE = 4 * 2.0**20
_BESIDE = 2.0**30


@dataclass(frozen=True, eq=False)
class GoodputAnswers:
    """The waterfall of a ring over all endpoints, and all-reduces of 1 GiB beside it."""

    waterfall: Goodput
    beside: tuple[CollectiveTime, ...]


def ask_goodput(fabric: Fabric, seed: int = 0) -> GoodputAnswers:
    """A ring all-reduce over all endpoints in order, of 4 MiB a rank so that its latency weighs alike.

    Headers are InfiniBand's where the switches are, else those of RoCE v2.

    :raises TopoError: nothing leaves a host, or some endpoints have no path.
    """
    from topo.analysis.collectives.carried import Wire
    from topo.analysis.collectives.on_fabric import collective_time
    from topo.training.waterfall import goodput

    wire = Wire(transport="infiniband") if is_infiniband(fabric) else Wire()
    found = goodput(fabric, bytes=_PIECE * len(fabric.endpoints), wire=wire, seed=seed)
    beside = [collective_time(fabric, bytes=_BESIDE, algorithm=name, wire=wire) for name in ("ring", "double_tree")]
    return GoodputAnswers(found, tuple(beside))


def goodput_section(answer: GoodputAnswers | LeftOut | TopoError) -> Section:
    """The verdict, the waterfall as a picture, what its bars are, and what it rests on."""
    title = "From line rate to goodput"
    if isinstance(answer, LeftOut):
        return Section("goodput", title, [Text(str(answer))])
    if isinstance(answer, ParameterError):  # no question for this fabric, rather than something amiss with it
        return Section("goodput", title, [Text(f"No waterfall here: {answer}.")])
    if isinstance(answer, TopoError):
        return Section("goodput", title, why_not(answer))
    return Section("goodput", title, list(_items(answer)))


def standing_in_words(level: Level) -> str:
    """How well a level is known, in few words.

    >>> from topo.result import Standing
    >>> from topo.training.waterfall import Level
    >>> standing_in_words(Level("routing", 231.0, 100.0, 1.25, 229.0, Standing("sampled", "100 draws, seed 0, ...")))
    'sampled: 100 draws, seed 0, +- 1.2 Gb/s at 95 %'
    """
    standing = level.standing
    if standing.kind != "sampled":
        return str(standing)
    draws = ", ".join(standing.how.split(", ")[:2])
    if level.half_width_gbps < 1e-6 * level.gbps:
        return f"sampled: {draws}, all alike"
    return f"sampled: {draws}, +- {level.half_width_gbps:.2g} Gb/s at 95 %"


def _items(answer: GoodputAnswers) -> Iterator[Text | Facts | Grid | Picture]:
    found = answer.waterfall
    yield Text(f"{found.verdict}: {found.demand}, the {found.statistic} flow of every phase.")
    bars = [
        Bar(level.effect, level.gbps, level.lost_gbps if i else 0.0, standing_in_words(level))
        for i, level in enumerate(found.levels)
    ]
    told = [f"{bars[0].name} {bars[0].left:.1f} Gb/s"]
    told += [f"after {bar.name} {bar.left:.1f} ({round(-bar.taken, 1) + 0.0:+.1f})" for bar in bars[1:]]
    alt = f"Gb/s of an endpoint left after one effect after another: {'; '.join(told)}."
    caption = "Each bar is what is left with this effect and all above it; behind it, what the effect took"
    unit = "Gb/s of an endpoint"
    yield Picture.of_chart(draw_waterfall, bars, unit=unit, title=found.title, alt=alt, caption=caption)
    known = Standing(found.levels[-1].standing.kind, bars[-1].standing.partition(": ")[2])
    follows = Standing(known.kind, "follows from the goodput")
    yield Facts(
        (
            Row("goodput, one direction", found.goodput_gbps, "Gb/s", known),
            Row("time", 1e3 * found.time_s, "ms", follows),
            Row("busbw, as nccl-tests prints", found.busbw_gbyte_s, "GB/s", follows),
        )
    )
    grid = tuple(
        (one.algorithm, f"{format_number(1e3 * one.time_s, 4)} ms", f"{100 * one.latency_s / one.time_s:.0f} %",
         f"{format_number(one.busbw_gbyte_s, 4)} GB/s", one.binding or "-")
        for one in answer.beside
    )  # fmt: skip
    yield _by_size(answer.beside)
    head = ("algorithm", "time", "of it latency", "busbw", "what binds")
    note = f"Standing: {answer.beside[0].standing}."
    yield Grid(head, grid, "An all-reduce of 1 GiB over the same ranks, flows spread evenly", note)
    yield Text(f"Assumed: {'; '.join(found.assumptions)}.")


def _by_size(answers: Sequence[CollectiveTime]) -> Picture:
    """Time against message size: latency and transfer of each algorithm, added up from 1 KiB to 16 GiB."""
    sizes = [float(1 << power) for power in range(10, 35, 2)]
    curves = [
        Curve(one.algorithm, sizes, [1e3 * (one.latency_s + one.transfer_s * size / one.bytes) for size in sizes])
        for one in answers
    ]
    low, high = min(min(curve.y) for curve in curves), max(max(curve.y) for curve in curves)
    ends = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    marked = [float(1 << power) for power in (10, 20, 30)]
    x = Axis("bytes a rank", sizes[0], sizes[-1], marked, log=True, labels=["1 KiB", "1 MiB", "1 GiB"])
    told = "; ".join(
        f"{one.algorithm} {format_number(1e3 * one.latency_s, 3)} ms and "
        f"{format_number(1e3 * one.transfer_s, 4)} ms a GiB" for one in answers
    )  # fmt: skip
    first, *others = answers
    for other in others:
        slope = (first.transfer_s - other.transfer_s) / first.bytes
        at = (other.latency_s - first.latency_s) / slope if slope else 0.0
        if sizes[0] < at < sizes[-1]:
            told += f"; {first.algorithm} and {other.algorithm} cross at {format_number(at / 2**20, 4)} MiB"
    return Picture.of_chart(
        draw_curves, curves, x, Axis("ms", ends[0], ends[-1], ends, log=True), title="Time against message size",
        alt=f"Time of an all-reduce against its size: {told}.",
        caption=f"Time of an all-reduce against bytes a rank, both axes logarithmic: {told}",
    )  # fmt: skip
