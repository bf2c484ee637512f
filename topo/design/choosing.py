"""What should be built: candidates of every family side by side, the Pareto-best marked, the others dismissed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from topo.design.families import ALLOWED, FAMILIES, Plan, RefusedError, random_plan
from topo.design.measures import MEASURES, cables_by_kind, standing_rows, standings_of
from topo.design.numbers import FabricNumbers, numbers_of
from topo.design.pareto import best_in, dismissal, dominators
from topo.design.prices import PriceList, price_list
from topo.design.requirements import Requirements
from topo.design.table_text import COLUMNS, folded_table, html_table, with_units, wrapped
from topo.errors import ParameterError, TopoError
from topo.fabric import Fabric
from topo.result import Result, Row, hidden
from topo.sweep import sweep
from topo.units import format_number

__all__ = ["YARDSTICK", "Candidate", "Candidates", "candidates"]

YARDSTICK = "random graph"
"""The candidate that the others are measured against; it neither is dismissed nor dismisses."""

_SIZE = ("n_switches", "n_cables", "n_transceivers", "power_kw", "price")
_WORK = ("diameter_hops", "joined_share", "bisection", "even_share", "hashed_share", "n1_share", "n1_cut_off")
_WORDS = {"best": "*", "dismissed": "", "cannot": "x", "yardstick": "="}
_VERDICTS = {"best": "Pareto-best", "dismissed": "dismissed", "cannot": "cannot", "yardstick": "yardstick"}
_SIGNS = (
    ("*", "Pareto-best"),
    ("x", "does not meet a requirement"),
    ("=", "yardstick, a random graph of the same equipment"),
    ("no sign", "another is at least as good in everything"),
)
_MARKS = (
    ("a-b", "between a and b"),
    ("±", "95 % interval"),
    ("≤", "no more than that, as not every failure was tried"),
)
_LONG = ("torus", YARDSTICK, "dragonfly")
_UNJUDGED = (
    "not judged: that collectives along rails stay below the spines of a rail-optimized fabric, and adaptive or "
    "non-minimal routes"
)
_ROUTES = (
    "routes of all numbers: shortest paths, flows divided over all of them or hashed onto one; of a torus that is any "
    "order of dimensions, where dimension order would take one; of a dragonfly minimal routes, and what Valiant's "
    "leave of its worst demand stands with it"
)


@dataclass(frozen=True)
class Candidate:
    """One family: its numbers where it could be built, and what became of it.

    ``verdict`` is ``best`` (no other is at least as good in everything and better in something), ``dismissed``,
    ``cannot`` (it does not meet a requirement) or ``yardstick``; ``reason`` says why in words. ``largest`` is the most
    accelerators that the family can have with that switch, None without an end or where nothing can be built of it.
    """

    family: str
    verdict: str
    reason: str
    largest: int | None
    note: str
    numbers: FabricNumbers | None
    fabric: Fabric | None = hidden(default=None)


@dataclass(frozen=True)
class Candidates(Result):
    """All families for some requirements; iterate over ``candidates``."""

    requirements: Requirements
    candidates: tuple[Candidate, ...]
    prices: str

    title: ClassVar[str] = "Candidates"
    derived: ClassVar[tuple[str, ...]] = ("standings", "not_computed")

    @property
    def asked(self) -> str:
        """The requirements in words."""
        return self.requirements.text

    def __getitem__(self, family: str) -> Candidate:
        for one in self.candidates:
            if one.family == family:
                return one
        raise ParameterError(f"{family!r} is no candidate; there are {', '.join(c.family for c in self.candidates)}")

    @property
    def best(self) -> tuple[Candidate, ...]:
        """Those that are Pareto-best."""
        return tuple(one for one in self.candidates if one.verdict == "best")

    @property
    def _built(self) -> list[tuple[Candidate, FabricNumbers]]:
        return [(one, one.numbers) for one in self.candidates if one.numbers is not None]

    def tables(self) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
        """Head and rows of two tables: what each takes, and what it gives; a unit that all cells share is in the head.

        A family that cannot be built has no numbers, but for the most accelerators that it can have.
        """
        return [self._table(self._takes()), self._table(self._gives())]

    def _takes(self) -> list[tuple[str, list[str]]]:
        columns = []
        for measure in (one for one in MEASURES if one.key in _SIZE):
            columns.append((measure.head, [_cell(one, measure.text) for one in self.candidates]))
            if measure.key == "n_cables":
                kinds = sorted({kind for _, found in self._built for kind in cables_by_kind(found)})
                columns += [(kind, [_of_kind(one, kind) for one in self.candidates]) for kind in kinds]
        return columns

    def _gives(self) -> list[tuple[str, list[str]]]:
        chosen = [measure for measure in MEASURES if measure.key in _WORK]
        columns = [(measure.head, [_cell(one, measure.text) for one in self.candidates]) for measure in chosen]
        return [*columns, ("largest", [_most(one) for one in self.candidates])]

    def _table(self, columns: list[tuple[str, list[str]]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        signs, families = [_WORDS[one.verdict] for one in self.candidates], [one.family for one in self.candidates]
        shown = [with_units(head, cells) for head, cells in columns]
        head = ("", "family", *(name for name, _ in shown))
        return head, list(zip(signs, families, *(cells for _, cells in shown), strict=True))

    @property
    def meanings(self) -> tuple[tuple[str, str], ...]:
        """Signs, marks and heads of the tables, and what each of them means."""
        shown = {measure.head: measure.label for measure in MEASURES if measure.key in _SIZE + _WORK}
        return (
            *_SIGNS,
            *((head, label) for head, label in shown.items() if head != label),
            ("largest", "accelerators the family can have with that switch"),
            *_MARKS,
        )

    @property
    def legend(self) -> tuple[str, ...]:
        """The meanings as two sentences: of the signs, of the heads and marks."""
        signs = "; ".join(f"{sign} {text}" for sign, text in _SIGNS)
        heads = "; ".join(f"{head}: {text}" for head, text in self.meanings[len(_SIGNS) :])
        return signs, heads

    @property
    def reasons(self) -> tuple[tuple[str, str, str, str], ...]:
        """Family, verdict, what was built, and why, of each candidate."""
        return tuple((one.family, _VERDICTS[one.verdict], one.note, one.reason) for one in self.candidates)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """A sentence on each candidate."""
        return tuple(
            f"{family}{f' ({note})' if note else ''}: {verdict}: {reason}"
            for family, verdict, note, reason in self.reasons
        )

    @property
    def standing_rows(self) -> tuple[tuple[str, str, str], ...]:
        """How sure each measure is: what it is, of which candidates ('' for all), its standing."""
        return standing_rows([one.family for one, _ in self._built], [numbers for _, numbers in self._built])

    @property
    def standings(self) -> tuple[str, ...]:
        """How sure the measures are, those alike said once."""
        families, found = [one.family for one, _ in self._built], [numbers for _, numbers in self._built]
        return (*standings_of(families, found), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What holds of all numbers, and what none of them says."""
        return _ROUTES, _UNJUDGED

    @property
    def not_computed(self) -> tuple[str, ...]:
        """What could not be computed of which candidate, and why."""
        return tuple(
            f"{one.family}: {what}: {why}" for one, found in self._built for what, why in found.missing.items()
        )

    def rows(self) -> list[Row]:
        """The requirements, then every candidate with its main numbers and its verdict."""
        rows = [Row("asked", self.asked)]
        for one, found in self._built:
            chosen = [measure for measure in MEASURES if measure.key in _SIZE + _WORK]
            said = ", ".join(f"{measure.head} {measure.text(found)}" for measure in chosen)
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in cables_by_kind(found).items())
            rows.append(Row(one.family, f"{said}, largest {_most(one)}; cables: {kinds or '-'}"))
        return rows + [Row("verdict", text) for text in self.verdicts]

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = COLUMNS) -> str:
        """All of it for a screen of ``width`` letters."""
        lines = wrapped([f"{self.title}: {self.asked}"], width)
        for head, rows in self.tables():
            lines += ["", *folded_table(head, rows, width=width, keep=2)]
        missing = (f"not computed: {text}" for text in self.not_computed)
        for part in (self.legend, self.verdicts, self.standings):
            lines += ["", *wrapped(part, width)]
        return "\n".join([*lines, *wrapped(missing, width)])

    def _repr_html_(self) -> str:
        return "".join(html_table(self.asked, head, rows) for head, rows in self.tables())


def _cell(one: Candidate, text: Callable[[FabricNumbers], str]) -> str:
    return "-" if one.numbers is None else text(one.numbers)


def _of_kind(one: Candidate, kind: str) -> str:
    return _cell(one, lambda numbers: f"{cables_by_kind(numbers).get(kind, 0):,}")


def _most(one: Candidate) -> str:
    if one.largest is None:
        return "-" if one.numbers is None else "no end"
    return f"{one.largest:,}"


def candidates(
    requirements: Requirements, *, prices: PriceList | str | Path | None = None, seed: int = 0, workers: int = 1
) -> Candidates:
    """A fabric of every family that meets the requirements, side by side, and which of them are worth a look.

    Families are leaf-spine, three tiers, rail-optimized, rail-only, multi-plane, dragonfly and torus, each as small as
    the requirements allow; a random graph of the equipment of the first Clos that fits is the yardstick. A candidate
    is Pareto-best where no other is at least as good in all of cables, power, price, diameter, pairs joined, bisection,
    even and hashed rate and N-1, and better in one. A family that cannot meet a requirement is listed with the reason
    and the nearest that can. The families are worked out in ``workers`` processes, with the same answer for any
    number. Cost: half a minute of one core for 16,384 accelerators.

    >>> import topo
    >>> found = topo.candidates(topo.Requirements(accelerators=128, nic_gbps=400, radix=16, rails=4))
    >>> found["leaf-spine"].numbers.n_switches, found["three tiers"].verdict, found["leaf-spine"].largest
    (24, 'dismissed', 128)

    :raises ParameterError: something that is no :class:`~topo.design.requirements.Requirements`.
    :raises InputError: a file of prices that cannot be used.
    """
    if not isinstance(requirements, Requirements):
        raise ParameterError(
            f"{requirements!r} are no requirements; make them with topo.Requirements(accelerators=...)"
        )
    given = price_list(prices)
    jobs = sorted([*FAMILIES, YARDSTICK], key=lambda name: name not in _LONG)
    answers = sweep(_evaluate, (requirements, given, seed), jobs, workers=workers)
    found = {one.family: one for part in answers for one in part}
    judged = _judged(_limited([found[name] for name in FAMILIES], requirements))
    return Candidates(requirements, (*judged, found[YARDSTICK]), given.title)


def _evaluate(shared: Any, names: Sequence[str], generator: np.random.Generator) -> list[Candidate]:
    """Candidates of some families, in whichever process."""
    asked, prices, seed = shared
    return [_yardstick(asked, prices, seed) if name == YARDSTICK else _made(name, FAMILIES[name], asked, prices, seed)
            for name in names]  # fmt: skip


def _made(name: str, family: Any, asked: Requirements, prices: PriceList, seed: int) -> Candidate:
    """The family's fabric with its numbers, or why there is none."""
    try:
        plan: Plan = family(asked)
        fabric = plan.build()
    except TopoError as error:
        return Candidate(
            name, "cannot", str(error), error.largest if isinstance(error, RefusedError) else None, "", None
        )
    numbers = numbers_of(fabric, prices=prices, seed=seed)
    return Candidate(name, "", "", plan.largest, plan.note, numbers, fabric)


def _yardstick(asked: Requirements, prices: PriceList, seed: int) -> Candidate:
    """The random graph of the equipment of the first family that can be built."""
    like = _first_built(asked)
    if like is None:
        said = "no family can be built, so there is no equipment to join"
        return Candidate(YARDSTICK, "cannot", said, None, "", None)
    one = _made(YARDSTICK, lambda given: random_plan(given, like, seed=seed), asked, prices, seed)
    if one.numbers is None:
        return one
    return _with(one, "yardstick", f"the switches of {like.name} joined at random, with the endpoints on all of them")


def _first_built(asked: Requirements) -> Fabric | None:
    for family in FAMILIES.values():
        try:
            return family(asked).build()
        except TopoError:
            continue
    return None


def _limited(made: Sequence[Candidate], asked: Requirements) -> list[Candidate]:
    """The candidates, those over a limit with the reason and the nearest that keeps it."""
    broken = [{} if one.numbers is None else _broken(one, one.numbers, asked) for one in made]
    able = [one.family for one, reasons in zip(made, broken, strict=True) if one.numbers is not None and not reasons]
    out = []
    for one, reasons in zip(made, broken, strict=True):
        said = "; ".join(f"{text}; {_nearest(word, one, made, asked)}" for word, text in reasons.items())
        meets = f"; all limits are met by {', '.join(able)}" if able else "; no family meets all limits together"
        out.append(_with(one, "cannot", said + meets) if reasons else one)
    return out


def _broken(one: Candidate, found: FabricNumbers, asked: Requirements) -> dict[str, str]:
    """By limit what is over it, each with the change to the requirements that would do."""
    reasons = {}
    wanted = asked.growth * asked.accelerators
    if one.largest is not None and one.largest < wanted:
        reasons["growth"] = (
            f"grows to {one.largest:,} accelerators, {wanted:,.0f} are asked, which is a growth of "
            f"{one.largest / asked.accelerators:.3g}"
        )
    limits = (("power", asked.power_kw, found.power_kw, "kW"), ("price", asked.price, found.price, found.currency))
    for word, limit, value, unit in limits:
        if limit is not None and (value is None or value > limit):
            said = "is unknown" if value is None else f"is {format_number(round(value))} {unit}"
            reasons[word] = f"{word} {said}, at most {format_number(limit)} is asked"
    share = found.even_share
    if share is not None and share * asked.oversubscription * ALLOWED < 1:
        reasons["share"] = (
            f"an all-to-all gets {100 * share:.3g} % of line rate, as at {1 / share:.3g}:1, and at most "
            f"{asked.oversubscription:g}:1 is asked"
        )
    return reasons


def _nearest(word: str, mine: Candidate, made: Sequence[Candidate], asked: Requirements) -> str:
    """The family that keeps a limit best, of growth with the least to spare; or which comes nearest to it."""
    known = []
    for one in made:
        found = one.numbers
        if found is None:
            continue
        most, even, able = one.largest or math.inf, found.even_share or 0.0, word not in _broken(one, found, asked)
        value, text = {
            "growth": (most if able else -most, f"{_most(one)} accelerators"),
            "power": (found.power_kw, f"{format_number(round(found.power_kw or 0))} kW"),
            "price": (found.price, f"{format_number(round(found.price or 0))} {found.currency}"),
            "share": (-even, f"{100 * even:.3g} %"),
        }[word]
        if value is not None:
            known.append((not able, value, f"{one.family} with {text}", one))
    if not known:
        return "it is known of none of these"
    missed, _, said, best = min(known, key=lambda row: row[:2])
    if not missed:
        return f"the nearest that can: {said}"
    return f"no family can, and {'this' if best is mine else said} comes nearest"


def _judged(made: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that meet everything, marked best or dismissed by one that is best."""
    able = {one.family: one.numbers for one in made if not one.verdict and one.numbers is not None}
    above = {name: dominators(name, able) for name in able}
    out = []
    for one in made:
        if one.family not in able:
            out.append(one)
        elif not above[one.family]:
            out.append(_with(one, "best", best_in(one.family, able)))
        else:
            by = next((name for name in above[one.family] if not above[name]), above[one.family][0])
            out.append(_with(one, "dismissed", dismissal(by, able[one.family], able[by])))
    return out


def _with(one: Candidate, verdict: str, reason: str) -> Candidate:
    return Candidate(one.family, verdict, reason, one.largest, one.note, one.numbers, one.fabric)
