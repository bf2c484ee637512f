"""Every single failure (or pair): what each costs, which is worst, what may be drained now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.classes import demand_label, element_classes, is_symmetric
from topo.analysis.failures.degraded import share_of
from topo.analysis.failures.elements import Elements, elements, find_elements
from topo.analysis.failures.measures import Measure, Value, measure_of, question_key
from topo.analysis.tiers import place_name
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.result import Result, Row, Standing, hidden
from topo.routing.scheme import Routing
from topo.sweep import Progress, sweep
from topo.symmetry import symmetry
from topo.traffic import Demand
from topo.units import format_number
from topo.view.text import plural

__all__ = ["Loss", "Survivability", "TierVerdict", "standing_elements", "survivability"]


@dataclass(frozen=True, slots=True)
class Loss:
    """What is left when one element is down, for all the ``n_alike`` elements it stands for."""

    kind: str
    tier: str
    name: str
    n_alike: int
    share_lower: float
    share_upper: float
    cut_off: int
    reduced: int


@dataclass(frozen=True, slots=True)
class TierVerdict:
    """Whether any single failure of one kind and tier leaves what is required, and how many may be drained."""

    kind: str
    tier: str
    n_elements: int
    n_safe: int
    worst_share: float
    worst_name: str
    most_cut_off: int
    passes: bool


@dataclass(frozen=True)
class Survivability(Result):
    """Every element of some kinds, one down at a time: losses ranked, worst first, equal ones computed once."""

    fabric: str
    measure: str
    unit: str
    healthy_lower: float
    healthy_upper: float
    require: float
    losses: tuple[Loss, ...]
    verdicts: tuple[TierVerdict, ...]
    n_elements: int
    n_evaluated: int
    n_better: int
    """Elements whose loss raises the measure: even splitting's paradox."""
    standing: Standing
    loss_class: dict[str, NDArray[np.int64]] = hidden(default_factory=dict)
    """By kind, for each of its elements that are not down (in row order) its entry of ``losses``."""

    title: ClassVar[str] = "Any one element down"

    @property
    def passes(self) -> bool:
        """Whether every single failure leaves the required share and cuts nobody off."""
        return all(verdict.passes for verdict in self.verdicts)

    def rows(self) -> list[Row]:
        """The verdict by tier, then the worst elements."""
        rows = [Row(f"{self.measure}, nothing more down", self.healthy_lower, self.unit, self.standing)]
        need = f"at least {format_number(100 * self.require, 4)} % and nobody cut off"
        for verdict in self.verdicts:
            says = "passes" if verdict.passes else "fails"
            most = verdict.most_cut_off
            cut = f"; the loss of one cuts off up to {plural(most, 'endpoint')}" if most > 0 else ""
            rows.append(
                Row(
                    f"{verdict.tier} {verdict.kind}",
                    f"{says}: {verdict.n_safe:,} of {verdict.n_elements:,} leave {need}; worst {verdict.worst_name} "
                    f"leaves {format_number(100 * verdict.worst_share, 4)} %{cut}",
                )
            )
        for loss in self.losses[:10]:
            alike = f", and {loss.n_alike - 1:,} alike" if loss.n_alike > 1 else ""
            cut = f"; {plural(loss.cut_off, 'endpoint')} cut off" if loss.cut_off else ""
            slow = f"; {plural(loss.reduced, 'endpoint')} at a lower rate" if loss.reduced else ""
            left = f"{format_number(100 * loss.share_lower, 4)} %{cut}{slow}"
            rows.append(Row(f"without {loss.name}{alike}", left, standing=Standing(self.standing.kind)))
        rows.append(Row("elements looked at", self.n_elements))
        rows.append(Row("states evaluated", self.n_evaluated))
        if self.n_better:
            rows.append(Row("elements whose loss raises the measure", self.n_better))
        return rows


def survivability(
    fabric: Fabric,
    measure: str | Demand | Measure = "all-to-all",
    *,
    kinds: Sequence[str] = ("switch", "link"),
    require: float = 0.9,
    state: State | None = None,
    routing: str | Routing = "ecmp",
    use_symmetry: bool = True,
    executor: Executor | None = None,
    workers: int | None = 1,
    checkpoint: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Survivability:
    """N-1: the measure with each element of ``kinds`` down in turn, on top of what ``state`` has down already.

    A kind may be narrowed to some of its elements by words as in :func:`topo.down_state`, ``link:leaf-*--spine-*``.

    Elements that a verified automorphism exchanges have the same loss and are computed once (measures of an
    all-to-all, bisection and endpoints read nothing an automorphism changes; a list of pairs is computed one by
    one). Shares are of the measure with nothing more down; an element is safe to drain if at least ``require`` of
    it stays and no endpoint more is cut off. Evaluations run through :func:`topo.sweep.sweep`.

    >>> import topo
    >>> answer = survivability(topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4), kinds=["switch"])
    >>> [(v.tier, v.n_safe, round(v.worst_share, 4)) for v in answer.verdicts]
    [('leaf', 0, 1.0), ('spine', 4, 0.9375)]

    :raises ParameterError: an unknown kind or measure, ``require`` outside 0 to 1, or nothing to fail.
    """
    if not 0 <= require <= 1:
        raise ParameterError(f"require is {require}; it is a share of the healthy value, 0 to 1")
    chosen = measure_of(fabric, measure, routing)
    kinds = list(dict.fromkeys(kinds))
    healthy = chosen(state)
    proved = use_symmetry and is_symmetric(chosen)
    found = symmetry(Network.of(fabric, state=state), label=demand_label(chosen)) if proved else None
    listed = [standing_elements(fabric, kind, state) for kind in kinds]
    if not sum(len(every) for every in listed):
        raise ParameterError(f"no {' or '.join(kinds)} of {fabric.name!r} is there to fail")
    classes = [element_classes(every, found) for every in listed]
    jobs = [
        (kind, int(first))
        for kind, of in zip(kinds, classes, strict=True)
        for first in np.unique(of, return_index=True)[1]
    ]
    shared = (chosen, state, dict(zip(kinds, listed, strict=True)))
    batch = max(1, min(64, len(jobs) // 64))
    answers = sweep(
        _evaluate, shared, jobs, batch=batch, executor=executor, workers=workers, checkpoint=checkpoint,
        key=question_key(chosen, state, repr(jobs)), progress=progress,
    )  # fmt: skip
    values = [Value(*entry) for part in answers for entry in part]
    return _collected(fabric, chosen, healthy, require, dict(zip(kinds, listed, strict=True)), classes, jobs, values)


def standing_elements(fabric: Fabric, kind: str, state: State | None) -> Elements:
    """Elements of a kind, or by words such as ``link:leaf-*--spine-*``, in the endpoints' network and not down."""
    every = find_elements(fabric, kind) if ":" in kind else elements(fabric, kind)
    network = Network.of(fabric, state=state)
    links = np.zeros(len(fabric.links), bool)
    links[network.links] = True
    nodes = np.zeros(len(fabric.nodes), bool)
    nodes[network.a] = nodes[network.b] = True
    owner = np.repeat(np.arange(len(every)), np.diff(every.link_start))
    node_owner = np.repeat(np.arange(len(every)), np.diff(every.node_start))
    there = np.bincount(owner[links[every.link]], minlength=len(every)) > 0
    there |= np.bincount(node_owner[nodes[every.node]], minlength=len(every)) > 0
    return every.take(np.flatnonzero(there))


def _evaluate(shared: Any, jobs: Sequence[tuple[str, int]], generator: np.random.Generator) -> list[list[float]]:
    measure, state, listed = shared
    values = (measure(listed[kind].state([index], base=state)) for kind, index in jobs)
    return [[v.lower, v.upper, v.cut_off, v.reduced, v.lost_pairs] for v in values]


def _collected(
    fabric: Fabric,
    measure: Measure,
    healthy: Value,
    require: float,
    listed: dict[str, Elements],
    classes: list[NDArray[np.int64]],
    jobs: list[tuple[str, int]],
    values: list[Value],
) -> Survivability:
    counts = {kind: np.bincount(of) for kind, of in zip(listed, classes, strict=True)}
    of_kind = dict(zip(listed, classes, strict=True))
    losses = [
        _loss(fabric, listed[kind], index, int(counts[kind][of_kind[kind][index]]), healthy, value)
        for (kind, index), value in zip(jobs, values, strict=True)
    ]
    order = sorted(range(len(losses)), key=lambda i: (losses[i].share_lower, -losses[i].cut_off, losses[i].name))
    rank = {jobs[i]: place for place, i in enumerate(order)}
    by_class = {}
    for kind, of in of_kind.items():
        first = np.unique(of, return_index=True)[1]
        by_class[kind] = np.array([rank[kind, int(i)] for i in first], np.int64)[of]
    ranked = tuple(losses[i] for i in order)
    exact = healthy.is_exact and all(value.is_exact for value in values)
    return Survivability(
        fabric=fabric.name,
        measure=measure.name,
        unit=measure.unit,
        healthy_lower=healthy.lower,
        healthy_upper=healthy.upper,
        require=require,
        losses=ranked,
        verdicts=_verdicts(by_class, ranked, require),
        n_elements=sum(len(every) for every in listed.values()),
        n_evaluated=len(jobs),
        n_better=sum(loss.n_alike for loss in losses if loss.share_lower > 1),
        standing=Standing("exact" if exact else "bracket", "every element, equal ones by verified symmetry"),
        loss_class=by_class,
    )


def _loss(fabric: Fabric, every: Elements, index: int, n_alike: int, healthy: Value, value: Value) -> Loss:
    return Loss(
        every.kind,
        _tier(fabric, every, index),
        every.name(index),
        n_alike,
        share_of(value.lower, healthy.upper),
        share_of(value.upper, healthy.lower),
        value.cut_off - healthy.cut_off,
        value.reduced - healthy.reduced,
    )


def _verdicts(
    by_class: dict[str, NDArray[np.int64]], ranked: tuple[Loss, ...], require: float
) -> tuple[TierVerdict, ...]:
    out = []
    safe = np.array([loss.share_lower >= require and loss.cut_off <= 0 for loss in ranked])
    for kind, of in by_class.items():
        tiers: dict[str, list[int]] = {}
        for place in np.unique(of).tolist():
            tiers.setdefault(ranked[place].tier, []).append(place)
        for tier, places in sorted(tiers.items(), key=lambda item: _TIER_ORDER.get(item[0], 9)):
            here = np.isin(of, places)
            worst = ranked[min(places)]
            n_safe = int(safe[of[here]].sum())
            n, cut = int(here.sum()), max(ranked[place].cut_off for place in places)
            out.append(TierVerdict(kind, tier, n, n_safe, worst.share_lower, worst.name, cut, n_safe == n))
    return tuple(out)


_INSIDE = "inside a host"
_TIER_ORDER = {name: place for place, name in enumerate([_INSIDE, *map(place_name, range(-2, 4))])}
_TIER_ORDER |= {f"{place_name(tier)}-{place_name(tier + 1)}": 10 + tier for tier in range(3)}


def _tier(fabric: Fabric, every: Elements, index: int) -> str:
    """Where an element sits: its node's tier, or the tiers its first link joins."""
    nodes = every.nodes_of(index)
    if len(nodes):
        return _place(fabric, int(nodes[0]))
    link = every.links_of(index)[0]
    ends = sorted((int(fabric.link_a[link]), int(fabric.link_b[link])), key=lambda node: int(fabric.nodes.tier[node]))
    return "-".join(_place(fabric, node) for node in ends)


def _place(fabric: Fabric, node: int) -> str:
    tier = int(fabric.nodes.tier[node])
    # Switch chips of a rack's scale-up domain stand at the height of a host's parts, in no host.
    return _INSIDE if tier < 0 and fabric.nodes.host.codes[node] >= 0 else place_name(tier)
