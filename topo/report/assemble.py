"""Ask a fabric the usual questions and keep the answers together; nothing fails the report as a whole."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from topo.errors import TopoError
from topo.fabric import Fabric, Selector, expect_fabric
from topo.network import default_kinds, kinds_in_words
from topo.output import plain
from topo.placement.job import Job
from topo.report.answers import (
    bisection_section,
    inventory_section,
    oversubscription_section,
    paths_section,
)
from topo.report.asked import MORE, SECTIONS, LeftOut, asked_or_left_out, chosen_sections
from topo.report.bill import ask_bill, bill_section, has_cables
from topo.report.content import Facts, Map, Picture, Section, Text
from topo.report.explaining import Explanation, explain
from topo.report.figures import headline, main_rows
from topo.report.flows import (
    CollisionAnswers,
    FlowAnswers,
    ask_collisions,
    ask_flows,
    collisions_section,
    throughput_section,
)
from topo.report.goodput import GoodputAnswers, ask_goodput, goodput_section
from topo.report.halves import half_members, usual_keep
from topo.report.losses import LossAnswers, ask_losses, losses_section
from topo.report.mapped import MOST_MAPPED, fabric_map, map_loads
from topo.report.markdown import markdown
from topo.report.measured import MeasuredAnswers, MeasuredAsked, ask_measured, measured_section
from topo.report.page import html_page
from topo.report.placement import PlacementAnswers, PlacementAsked, ask_placement, placement_section
from topo.report.published import published_section
from topo.report.sections import assumptions_section, explanations_section, identity_section, notes_section
from topo.report.step import StepAnswers, ask_step, step_section
from topo.report.turns import in_turn
from topo.report.verdict import checked_bounds, doubtful_rows, expected_rows, verdict
from topo.report.wiring import ask_wiring, is_from_file, wiring_section
from topo.result import Result, Row, to_json_value
from topo.routing.reuse import remembered
from topo.view.family import draw_fabric
from topo.view.text import escape_xml
from topo.view.tiers import Drawing

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from topo.analysis.bisection import Bisection
    from topo.analysis.inventory import Inventory
    from topo.analysis.oversubscription import Oversubscription
    from topo.analysis.published import PublishedNumbers
    from topo.design.planning import CablingPlan
    from topo.wiring import Validation

__all__ = ["ANSWERS", "CLASSES", "Report", "make_report"]

_Answer = TypeVar("_Answer")
_COLUMNS = 120
ANSWERS = {
    "goodput": ("waterfall", "beside"),
    "measured": ("run", "counters"),
    "throughput": ("throughput", "beside"),
    "collisions": ("collisions", "remedies", "striped"),
    "failures": ("survivability", "drains", "curve"),
    "placement": ("found", "comparison"),
    "step": ("step", "scaling", "sensitivity"),
}
"""Fields of a section's answers that the JSON form holds."""
CLASSES: dict[str, type] = {
    "goodput": GoodputAnswers, "measured": MeasuredAnswers, "throughput": FlowAnswers,
    "collisions": CollisionAnswers, "failures": LossAnswers, "placement": PlacementAnswers, "step": StepAnswers,
}  # fmt: skip
"""The classes that have them."""


@dataclass(frozen=True, eq=False)
class Report:
    """The answers about one fabric, ready to be read: as HTML, Markdown, JSON or a page of text.

    ``inventory``, ``oversubscription`` and ``bisection`` hold the Result, or the error that says why there is
    none. ``verdicts`` is what separate checkers said of the two bounds of the bisection. All numbers shown are
    the Results' own.
    """

    fabric: Fabric
    drawing: Drawing
    inventory: Inventory | TopoError
    oversubscription: Oversubscription | TopoError
    bisection: Bisection | TopoError
    verdicts: tuple[str, ...]
    throughput: FlowAnswers | LeftOut | TopoError | None = None
    collisions: CollisionAnswers | LeftOut | TopoError | None = None
    failures: LossAnswers | LeftOut | TopoError | None = None
    wiring: Validation | LeftOut | TopoError | None = None
    goodput: GoodputAnswers | LeftOut | TopoError | None = None
    placement: PlacementAnswers | TopoError | None = None
    step: StepAnswers | LeftOut | TopoError | None = None
    chosen: tuple[str, ...] = SECTIONS
    bill: CablingPlan | LeftOut | TopoError | None = None
    explain: bool = False
    measured: MeasuredAnswers | TopoError | None = None

    @property
    def title(self) -> str:
        """The fabric's title, else its name."""
        return self.fabric.origin.title or self.fabric.name

    @cached_property
    def headline(self) -> str:
        """The verdict, then the main numbers in one sentence."""
        return f"{self.verdict} {headline(self.fabric, self.bisection)}"

    @cached_property
    def verdict(self) -> str:
        """Non-blocking or not, where it narrows, and what that rests on."""
        return verdict(self.fabric, self.oversubscription, self.bisection)

    def rows(self) -> list[Row]:
        """The main numbers line by line, each with unit, direction and standing."""
        answers = (self.inventory, self.oversubscription, self.bisection)
        rows = main_rows(self.fabric, *answers)
        return doubtful_rows(self.fabric, rows, *answers) + expected_rows(self._published)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What the report says, in reading order."""
        fabric = self.fabric
        paths = self.inventory if isinstance(self.inventory, TopoError) else self.inventory.paths
        found = [
            None if self.goodput is None else goodput_section(self.goodput),
            None if self.measured is None else measured_section(self.measured),
            Section("main-numbers", "Main numbers", [Facts(tuple(self.rows()))]),
            Section("tiers", "Tiers", [Picture(self.drawing)]),
            self._map_section(),
            identity_section(fabric),
            published_section(self._published),
            inventory_section(self.inventory),
            paths_section(paths),
            oversubscription_section(self.oversubscription),
            bisection_section(fabric, self.bisection, self.verdicts),
            None if self.throughput is None else throughput_section(fabric, self.throughput),
            None if self.collisions is None else self._collisions_section(self.collisions),
            None if self.failures is None else losses_section(self.failures),
            None if self.placement is None else placement_section(self.placement),
            None if self.step is None else step_section(self.step),
            None if self.wiring is None else wiring_section(self.wiring),
            None if self.bill is None else bill_section(self.bill),
            notes_section(fabric.origin.notes),
            assumptions_section(fabric.origin, kinds_in_words(default_kinds(fabric))),
        ]
        said = [section for section in found if section is not None and section.key in self.chosen]
        return (*said, explanations_section(self.explanations)) if self.explain else tuple(said)

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """Three sentences about each answer, in reading order."""
        answers: list[Any] = [self.inventory, self.oversubscription, self.bisection]
        for name in MORE:
            answer = getattr(self, name)
            answers += [answer, *(getattr(answer, field, None) for field in ANSWERS.get(name, ()))]
        return tuple(explain(answer) for answer in answers if isinstance(answer, Result))

    def to_html(self) -> str:
        """One self-contained HTML page: nothing loaded, scripts of its own only; fit for paper, dark, small screens."""
        return html_page(self.title, self.headline, self.sections)

    def _map_section(self) -> Section | None:
        """The map with the loads and findings that the report has anyway."""
        if "map" not in self.chosen:
            return None
        if len(self.fabric.endpoints) > MOST_MAPPED:
            return Section("map", "Map", [Text(f"Left out: more than {MOST_MAPPED:,} endpoints. 'topo map' draws it.")])
        loads, why = (self.throughput.loads, "") if isinstance(self.throughput, FlowAnswers) else map_loads(self.fabric)
        wiring = None if self.wiring is None or isinstance(self.wiring, (LeftOut, TopoError)) else self.wiring
        content = fabric_map(self.fabric, loads=loads, wiring=wiring, why_no_load=why)
        return Section("map", "Map", [Map(content)])

    def _collisions_section(self, answer: CollisionAnswers | LeftOut | TopoError) -> Section:
        told = "throughput" in self.chosen and isinstance(self.throughput, FlowAnswers)
        return collisions_section(self.fabric, answer, is_model_told=told)

    def to_markdown(self) -> str:
        """The same as Markdown with tables, the picture in words."""
        lead = Section("summary", "Summary", [Text(self.headline)])
        return markdown(self.title, [lead, *self.sections])

    def to_dict(self) -> dict[str, Any]:
        """Every Result in full as plain JSON types; an answer that failed is ``{"error": ...}``."""
        fabric, origin = self.fabric, self.fabric.origin
        return {
            "fabric": {
                "name": fabric.name,
                "title": origin.title,
                "made_by": origin.made_by,
                "sources": list(origin.sources),
                "digest": fabric.digest,
            },
            "verdict": self.verdict,
            "headline": self.headline,
            "main_numbers": to_json_value(self.rows()),
            "tiers": self._tiers(),
            "inventory": _plain(self.inventory),
            "oversubscription": _plain(self.oversubscription),
            "bisection": _plain(self.bisection),
            "bisection_halves": self._halves(),
            "bisection_checks": list(self.verdicts),
            **self._more(),
            "expected": _plain(self._published),
            "notes": to_json_value(origin.notes),
            "assumptions": list(origin.assumptions),
            **({"explanations": [one.to_dict() for one in self.explanations]} if self.explain else {}),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The content of :meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def _tiers(self) -> dict[str, Any]:
        """The picture in words and the tables behind it."""
        drawing: dict[str, Any] = {"alt": self.drawing.alt, "notes": list(self.drawing.notes)}
        if isinstance(self.inventory, TopoError):
            return drawing
        groups = (*self.inventory.switch_groups, *self.inventory.scale_up_groups)
        return drawing | {"switches": to_json_value(groups), "links": to_json_value(self.inventory.tier_pairs)}

    def _more(self) -> dict[str, Any]:
        """Goodput, throughput, collisions, failures and step, each Result in full; what was left out says why."""
        out: dict[str, Any] = {}
        for name in MORE:
            answer = getattr(self, name)
            if isinstance(answer, LeftOut):
                out[name] = {"left_out": answer.reason}
            elif isinstance(answer, TopoError):
                out[name] = _plain(answer)
            elif isinstance(answer, Result):
                out[name] = answer.to_dict()
            elif answer is not None:
                fields = {field: getattr(answer, field) for field in ANSWERS[name]}
                out[name] = {field: to_json_value(value) for field, value in fields.items()}
        return out

    def _halves(self) -> list[list[str]]:
        return [] if isinstance(self.bisection, TopoError) else half_members(self.fabric, self.bisection)

    def summary(self, *, columns: int | None = None, lines: int | None = None) -> str:
        """The verdict and the main numbers as plain text, cut to a terminal of so many columns and lines if asked."""
        rows = self.rows()
        width = min(26, max(len(row.label) for row in rows))
        told = [plain(self.title), *textwrap.wrap(plain(self.verdict), columns or _COLUMNS), ""]
        for row in rows:
            standing = f"  ({row.standing})" if row.standing else ""
            told.append(plain(f"{row.label:<{width}}  {row.text()}{standing}"))
        if self.fabric.origin.notes:
            told.append(f"{'notes':<{width}}  {len(self.fabric.origin.notes):,}, listed in the report")
        if lines is not None and len(told) > lines - 2:
            told = [*told[: lines - 3], f"... {len(told) - lines + 3:,} more lines in the report"]
        if columns is None:
            return "\n".join(told)
        return "\n".join(line if len(line) <= columns else line[: columns - 1] + "…" for line in told)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th style='text-align:left'>{escape_xml(row.label)}</th>"
            f"<td style='text-align:left'>{escape_xml(row.text())}</td>"
            f"<td style='text-align:left'>{escape_xml(str(row.standing or ''))}</td></tr>"
            for row in self.rows()
        )
        return f"<table><caption>{escape_xml(self.title)}: {escape_xml(self.verdict)}</caption>{body}</table>"

    @cached_property
    def _published(self) -> PublishedNumbers | TopoError:
        from topo.analysis.published import published_numbers

        try:
            return published_numbers(self.fabric)
        except TopoError as error:
            return error


def make_report(
    fabric: Fabric,
    *,
    endpoints: Selector = None,
    keep: str | None = None,
    sections: Sequence[str] | None = None,
    placement: PlacementAsked | Job | None = None,
    explain: bool = False,
    measured: MeasuredAsked | None = None,
    seed: int = 0,
    executor: Executor | None = None,
) -> Report:
    """Ask a fabric for all that can be said of it quickly, and draw it.

    Goodput of a ring, inventory, oversubscription, distances and bisection bandwidth; where traffic goes, how hashed
    flows collide, what failures leave, a usual training step. The first and the last four are left out where they would
    take longer than the rest. A fabric that was read gets its wiring judged as well, as :func:`topo.validate` does
    without a design; one that was built, its bill of materials (:func:`topo.cabling_plan`). ``sections`` names the
    ones to have instead (``topo.report.asked.SECTIONS``), whatever they take.

    ``placement`` is a job to place (a :class:`~topo.placement.job.Job`), or such a job with the hosts that are not
    free, the jobs there already and the schedulers to compare (:class:`~topo.report.placement.PlacementAsked`).

    ``measured`` names a run of nccl-tests, port counters, or both, to set beside what is predicted
    (:class:`~topo.report.measured.MeasuredAsked`). ``explain`` adds three sentences about each answer: what was
    computed, what it assumes, what would change it.
    ``endpoints`` restricts the bisection, and nothing else, to some endpoints (names, globs, rows or a mask). ``keep``
    is what its split keeps whole, as in :func:`topo.bisection_bandwidth`; left out, hosts, or scale-up domains where
    they span hosts, or nothing where all endpoints are in one host. What cannot be computed, for instance a bandwidth
    over links of unknown rate or across parts that no path joins, is said in its place in the report and does not
    fail it. Separate checkers go over both bounds of the bisection again. All that is drawn, the usual permutation of
    flows too, is drawn with ``seed``; failures and hashes are gone through on ``executor`` where there is one, with the
    same answer.

    >>> import topo
    >>> report = make_report(topo.rail_optimized(127, managers=2))
    >>> report.verdict
    'Non-blocking: the worst even split carries all that its smaller half can send.'
    >>> report.headline.removeprefix(report.verdict)
    ' 1,016 endpoints at 400 Gb/s; 48 switches; bisection 201.6 Tb/s one direction, exact, 100 % of full.'

    :raises ParameterError: ``endpoints`` names no endpoint of the fabric, ``sections`` no section, or a placement
        without a job.
    """
    from topo.analysis.bisection import bisection_bandwidth
    from topo.analysis.inventory import inventory
    from topo.analysis.oversubscription import oversubscription

    expect_fabric(fabric)
    asked = PlacementAsked(placement) if isinstance(placement, Job) else placement
    chosen = chosen_sections(sections, has_job=asked is not None, is_measured=measured is not None)
    rows = fabric.endpoint_rows(endpoints)
    kept = usual_keep(fabric, rows) if keep is None else keep

    def more(key: str, ask: Callable[[bool], Any]) -> Callable[[], Any]:
        return lambda: asked_or_left_out(key, fabric, sections, ask)

    with remembered():
        found = in_turn(
            fabric,
            {
                "bisection": lambda: _asked(
                    lambda: bisection_bandwidth(fabric, None if endpoints is None else rows, keep=kept, seed=seed)
                ),
                "drawing": lambda: draw_fabric(fabric),
                "inventory": lambda: _asked(lambda: inventory(fabric, seed=seed)),
                "oversubscription": lambda: _asked(lambda: oversubscription(fabric)),
                "throughput": more("throughput", lambda named: ask_flows(fabric, seed)),
                "collisions": more("collisions", lambda named: ask_collisions(fabric, named, seed, executor)),
                "failures": more("failures", lambda named: ask_losses(fabric, named, seed, executor)),
                "wiring": lambda: _wiring(fabric, sections),
                "goodput": more("goodput", lambda named: ask_goodput(fabric, seed)),
                "placement": lambda: None if asked is None else _asked(lambda: ask_placement(fabric, asked, seed)),
                "measured": lambda: None if measured is None else _asked(lambda: ask_measured(fabric, measured)),
                "step": more("step", lambda named: ask_step(fabric)),
                "bill": lambda: _bill(fabric, sections),
            },
        )
        bisection = found["bisection"]
        checked = () if isinstance(bisection, TopoError) else checked_bounds(fabric, bisection)
        return Report(fabric, verdicts=checked, chosen=chosen, explain=explain, **found)


def _bill(fabric: Fabric, sections: Sequence[str] | None) -> CablingPlan | LeftOut | TopoError | None:
    """What a fabric that was built takes; one that was read is there already, and priced only if that is asked."""
    if sections is None and (is_from_file(fabric) or not has_cables(fabric)):
        return None
    return asked_or_left_out("bill", fabric, sections, lambda named: ask_bill(fabric))


def _wiring(fabric: Fabric, sections: Sequence[str] | None) -> Validation | LeftOut | TopoError | None:
    """Findings of a fabric that was read; a fabric that was built is the design, and judged only if that is asked."""
    if sections is None and not is_from_file(fabric):
        return None
    return asked_or_left_out("wiring", fabric, sections, lambda named: ask_wiring(fabric))


def _asked(question: Callable[[], _Answer]) -> _Answer | TopoError:
    try:
        return question()
    except TopoError as error:
        return error


def _plain(answer: Result | TopoError) -> dict[str, Any]:
    if isinstance(answer, TopoError):
        return {"error": str(answer), "kind": type(answer).__name__}
    return answer.to_dict()
