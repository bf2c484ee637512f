"""Which candidates are Pareto-best, and in words why the others are not."""

from __future__ import annotations

import math
from collections.abc import Mapping

from topo.design.measures import MEASURES, MeasureOf
from topo.design.numbers import FabricNumbers
from topo.units import format_number

__all__ = ["CRITERIA", "best_in", "dismissal", "dominates", "dominators", "interval"]

_KEYS = (
    "n_cables", "power_kw", "price", "diameter_hops", "joined_share", "bisection", "even_share", "hashed_share",
    "n1_share",
)  # fmt: skip
_DIGITS = 3
_SHARE_DECIMALS = 2
_LITTLE = 0.01

CRITERIA: tuple[MeasureOf, ...] = tuple(measure for measure in MEASURES if measure.key in _KEYS)
"""What candidates are judged by."""


def interval(measure: MeasureOf, found: FabricNumbers) -> tuple[float, float]:
    """What the measure is at least and at most, larger is better, as precisely as it is judged.

    Costs are rounded to three significant digits and shares to whole percents. A bracket and the interval of a sampled
    mean keep both their ends, a bound on one side is open on the other, what is not known is anything.
    """
    if measure.key == "bisection":
        low, high = found.bisection_share or (0.0, 1.0)
        return round(low, _SHARE_DECIMALS), round(high, _SHARE_DECIMALS)
    value = measure.value(found) if measure.value is not None else None
    if value is None:
        return -math.inf, math.inf
    if measure.key == "hashed_share":
        margin = found.hashed_margin or 0.0
        return float(value) - margin, float(value) + margin
    if measure.better > 0:
        most = round(float(value), _SHARE_DECIMALS)
        bound = measure.key == "n1_share" and found.n1_standing is not None and found.n1_standing.kind == "upper bound"
        return (0.0 if bound else most), most
    return (-float(f"{value:.{_DIGITS}g}"),) * 2


def dominates(one: FabricNumbers, other: FabricNumbers) -> bool:
    """Whether ``one`` is at least as good in every criterion and surely better in some.

    A is at least as good as B where the least that A can be is not below the most that B can be; in what was sampled,
    where the intervals of the two meet, as a draw may put either of two equal ones first.
    """
    better = False
    for measure in CRITERIA:
        a, b = interval(measure, one), interval(measure, other)
        if not (a[1] >= b[0] if measure.key == "hashed_share" else a[0] >= b[1]):
            return False
        better |= a[0] > b[1]
    return better


def dominators(name: str, found: Mapping[str, FabricNumbers]) -> list[str]:
    """Who dominates a candidate, in their order."""
    return [other for other, numbers in found.items() if other != name and dominates(numbers, found[name])]


def best_in(name: str, found: Mapping[str, FabricNumbers]) -> str:
    """What nobody is surely better in than this one, as a sentence."""
    mine = found[name]
    leads = [
        measure.phrase
        for measure in CRITERIA
        if all(interval(measure, mine)[0] >= interval(measure, other)[1] for key, other in found.items() if key != name)
    ]
    if len(found) == 1:
        return "the only one that meets all requirements"
    if not leads:
        return "no other is at least as good in everything, though none of its numbers is the best"
    return f"none is better in {_listed(leads)}"


def dismissal(by: str, mine: FabricNumbers, its: FabricNumbers) -> str:
    """Why a candidate is dominated: what is worse, by how much, and that nothing is better."""
    costs, losses, same = [], [], []
    for measure in CRITERIA:
        a, b = interval(measure, mine), interval(measure, its)
        one = measure.value(mine) if measure.value is not None else None
        other = measure.value(its) if measure.value is not None else None
        if a == b or a[1] >= b[0] or one is None or other is None:
            same.append(measure.phrase)
        elif measure.better < 0:
            costs.append(_more(one, other, measure.phrase))
        else:
            losses.append(f"{measure.text(mine)} {measure.phrase} where that has {measure.text(its)}")
    said = [f"needs {_listed(costs)} of {by}"] if costs else []
    said += [f"has {_listed(losses)}" if costs else f"against {by} has {_listed(losses)}"] if losses else []
    end = f", and is no better in {_listed(same)}" if same else ", and is better in nothing"
    return ", ".join(said) + end


def _more(one: float, other: float, phrase: str) -> str:
    """How many times larger one cost is than another, with as many digits as tell them apart.

    >>> _more(150, 100, "price"), _more(100.44, 100, "price")
    ('1.5 times the price', '1.0044 times the price')
    """
    if not other:
        return phrase
    return f"{format_number(one / other, _DIGITS if one / other >= 1 + _LITTLE else _DIGITS + 2)} times the {phrase}"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
