"""Where a job goes: the best placements by each objective, schedulers' choices beside, and what every score ignores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from topo.errors import ParameterError, TopoError
from topo.placement.affinity import PlacementAffinity
from topo.placement.compare import SchedulerComparison
from topo.placement.names import folded
from topo.placement.placing import OBJECTIVES, PlacementFound
from topo.report.answers import why_not
from topo.report.content import Facts, Grid, Picture, Section, Text
from topo.result import Row
from topo.units import format_number
from topo.view.text import plural, sentence

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.placement.job import Job
    from topo.placement.placement import Placed
    from topo.view.tiers import Drawing

__all__ = ["RULES_BESIDE", "PlacementAnswers", "PlacementAsked", "ask_placement", "placement_section"]

RULES_BESIDE = ("slurm-tree", "kueue-bestfit")
"""Schedulers shown where none are named."""

_BUDGET_S = 4.0
_MOST_LEAVES = 24


@dataclass(frozen=True, eq=False)
class PlacementAsked:
    """A job to place, the hosts that are not free, the jobs there already, and whose rules to show beside."""

    job: Job
    busy: Any = None
    others: Sequence[tuple[Job, Placed]] = ()
    rules: Sequence[str] = RULES_BESIDE


@dataclass(frozen=True, eq=False)
class PlacementAnswers:
    """The placement of each objective, the first of them drawn, and the schedulers' choices on the same state."""

    found: tuple[PlacementFound, ...]
    comparison: SchedulerComparison
    drawing: Drawing

    @property
    def first(self) -> PlacementFound:
        """The placement by the fewest leaf groups."""
        return self.found[0]


def ask_placement(fabric: Fabric, asked: PlacementAsked, seed: int = 0) -> PlacementAnswers:
    """The job placed for every objective, and by every rule that is asked for.

    :raises ParameterError: the job does not fit, or names a host or rule that there is not.
    """
    from topo.placement.compare import SchedulerComparison, scheduler_choice
    from topo.placement.drawn import draw_placement
    from topo.placement.placing import Cluster, placed_on

    cluster = Cluster.of(fabric, busy=asked.busy, others=asked.others)
    found = tuple(
        placed_on(cluster, asked.job, objective=objective, budget_s=_BUDGET_S, seed=seed) for objective in OBJECTIVES
    )
    choices = tuple(scheduler_choice(cluster, asked.job, rule, seed=seed) for rule in asked.rules)
    drawing = draw_placement(fabric, asked.job, found[0].placement, busy=~cluster.free)
    return PlacementAnswers(found, SchedulerComparison.of(fabric.name, asked.job.name, choices), drawing)


def placement_section(answer: PlacementAnswers | TopoError) -> Section:
    """What was found and what it costs, or why the job cannot be placed."""
    title = "Where a job goes"
    if isinstance(answer, ParameterError):  # the job does not fit: how many are missing, what binds
        return Section("placement", title, [Text(f"Not placed: {answer}.", "warning")])
    if isinstance(answer, TopoError):
        return Section("placement", title, why_not(answer))
    return Section("placement", title, list(_items(answer)))


def _items(answer: PlacementAnswers) -> Iterator[Text | Facts | Grid | Picture]:
    first = answer.first
    scores = first.affinity
    ranks = f"{scores.n_ranks:,} ranks on {plural(scores.n_hosts, 'host')}"
    yield Text(f"{first.job}: {ranks}, {scores.rank_order}. {sentence(scores.verdict)}")
    yield Picture(answer.drawing, "The job's hosts by leaf group, for fewest leaf groups; below, what its links carry")
    yield Grid(
        (
            "placement",
            "leaf groups",
            "pods",
            "hop-bytes",
            "across leaf groups",
            "busiest leaf's uplinks",
            "busiest link",
        ),
        tuple(_lines(answer)),
        "The same job on the same free hosts",
        "Hop-bytes: bytes a step times links; uplinks together, in bytes a step; busiest link: load over capacity with "
        "the other jobs. Less is better in every column. Schedulers know only how many hosts the job wants.",
    )
    yield Grid(
        ("objective", "found", "no placement is below", "gap", "standing"),
        tuple(
            (one.objective, format_number(one.value), format_number(one.lower_bound), _gap(one), str(one.standing))
            for one in answer.found
        ),
        "How far from the best",
    )
    rows = [Row("hosts, for fewest leaf groups", folded(first.hosts)), Row("by leaf group", _by_leaf(first))]
    slowed = {name: value for name, value in scores.slowdown.items() if np.isfinite(value)}
    if len(slowed) > 1:
        rows += [Row(f"slowdown of {name}", value, "times") for name, value in slowed.items()]
    yield Facts(tuple(rows))
    told = tuple((one.name, one.text(), one.unit, one.better, one.ignores) for one in scores.scores)
    yield Grid(("score", "value", "unit", "direction", "ignores"), told, "Scores of that placement")
    notes = [note for choice in answer.comparison.choices if choice.affinity is None for note in _why(choice)]
    for note in dict.fromkeys([*notes, *(note for one in answer.found for note in one.notes[1:])]):
        yield Text(sentence(note))
    yield Text(f"Assumed: {'; '.join([*scores.assumptions, *answer.comparison.assumptions])}.")


def _lines(answer: PlacementAnswers) -> Iterator[tuple[str, ...]]:
    for one in answer.found:
        yield (f"ours, {one.objective}", *_cells(one.affinity))
    for choice in answer.comparison.choices:
        if choice.affinity is None:
            yield (choice.rule, "does not place", "-", "-", "-", "-", "-")
        else:
            yield (choice.rule, *_cells(choice.affinity))


def _cells(scores: PlacementAffinity) -> tuple[str, ...]:
    pods = "-" if scores.pods_spanned is None else f"{scores.pods_spanned:,}"
    full = f"{100 * scores.max_utilization_with_others:.3g} %" if scores.rates_known else "rates unknown"
    return (
        f"{scores.leaves_spanned:,}",
        pods,
        format_number(scores.hop_bytes),
        f"{100 * scores.cross_leaf_share:.1f} %",
        format_number(scores.max_uplink_load),
        full,
    )


def _gap(found: PlacementFound) -> str:
    return "unknown" if found.gap is None else f"{100 * found.gap:.2f} %"


def _by_leaf(found: PlacementFound) -> str:
    counts = list(found.leaf_counts.items())
    more = f" and {len(counts) - _MOST_LEAVES:,} more" if len(counts) > _MOST_LEAVES else ""
    return ", ".join(f"{name} {count}" for name, count in counts[:_MOST_LEAVES]) + more


def _why(choice: Any) -> list[str]:
    return [f"{choice.rule} does not place it: {'; '.join(choice.notes[1:])}"]
