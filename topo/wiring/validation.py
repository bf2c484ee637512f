"""The question of the person who has cables pulled: is it wired right, and if not, what does it cost?"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric
from topo.io.joined import NOTHING_NEW
from topo.io.notes import is_of_rows
from topo.wiring.accept import Accepted, read_accepted
from topo.wiring.accept import accept as marked
from topo.wiring.answer import Validation
from topo.wiring.cabling import Cabling
from topo.wiring.causes import carried
from topo.wiring.codes import SEVERITIES
from topo.wiring.comparison import Comparison
from topo.wiring.cost import priced
from topo.wiring.ends import OF_A_DESIGN, judge_ends
from topo.wiring.finding import Finding
from topo.wiring.given import read_sides
from topo.wiring.hosts import Seats, seats_of
from topo.wiring.joined import touching
from topo.wiring.laid import Laid, laid_design
from topo.wiring.learnt import Learnt
from topo.wiring.majority import judge_majority
from topo.wiring.matching import Matched
from topo.wiring.mistyped import as_called
from topo.wiring.pairs import judge_pairs
from topo.wiring.rails import RailRule, judge_hosts, rail_rule
from topo.wiring.rates import judge_rates
from topo.wiring.settled import in_racks, in_words, once
from topo.wiring.slowed import slowed
from topo.wiring.supposed import with_uplinks
from topo.wiring.told import slower_than_planned, told

__all__ = ["validate"]

_NO_TIER = (
    "nothing of pairs, uplinks and hosts: no host is known, so that no switch has a tier; "
    "name hosts (--hosts), or give the design (--against)"
)


_AS_DRAWN = "drawn so: loses nothing until it is built"


@dataclass(frozen=True)
class _Judged:
    """What the checks of either way give, before prices."""

    findings: list[Finding]
    rules: tuple[str, ...]
    counts: tuple[tuple[str, int], ...]
    comparison: Comparison | None
    n_operations: int
    least_operations: int
    apart: NDArray[np.bool_]
    slow: Mapping[int, float]
    held: Mapping[int, float]


def validate(
    wiring: Fabric | str | Path,
    against: Fabric | str | Path | Sequence[Fabric | str | Path] | None = None,
    *,
    accept: str | Path | Sequence[Accepted] | None = None,
    today: datetime.date | None = None,
    consequence: bool = True,
    bisection: bool = True,
    most_priced: int | None = None,
) -> Validation:
    """Every fault of a wiring once: what, where, by what evidence, at what cost, and how to mend it.

    Without a design the majority says what is normal: a rule is learnt where at least 80 % of its instances agree, and
    stated with its count, so that a design that is unusual throughout raises nothing. With ``against`` (a fabric, a
    file, a name of the catalogue, yesterday's dump; several, hosts in one and switches in another, are one design)
    planned and found devices are identified by name, else by their ports; the findings are the fewest operations
    |f| + |q| - m that turn what was found into what was planned.

    Each fault is priced alone on the fabric that is otherwise as it should be: what is left of an all-to-all under an
    even split over all shortest paths, and ``lost_gbps``, the rate of the flows that do not get through when all send
    as much as fits without faults: those to an endpoint beside those from it. What loses most comes first. Up to
    ``most_priced`` are priced, of every code alike (default: 200 up to 5,000 endpoints, fewer above; of more than 200
    faults 50 at most, by the all-to-all alone); ``consequence=False`` prices none, and ``bisection=False`` leaves out
    the bracket on bisection bandwidth. ``accept`` names known deviations (:func:`read_accepted`), ``today`` the day
    their terms are read on.

    >>> import topo
    >>> from topo.wiring import validate
    >>> design = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    >>> found = design.without(links=[40])
    >>> answer = validate(found)
    >>> [(one.code, one.place) for one in answer.findings]
    [('pair-thin', 'leaf-2 - spine-1')]
    >>> round(answer.findings[0].price.theta, 4), validate(found, design).findings[0].code
    (0.6458, 'missing')

    :raises InputError: a file that cannot be used; wiring and design are the same file.
    :raises ParameterError: a side without any cable between devices.
    """
    parts = [against] if isinstance(against, (Fabric, str, Path)) else list(against or ())
    wired, design = read_sides(wiring, parts)
    found = _cabling_of(wired)
    if design is None:
        judged, name = _without_design(found), ""
    else:
        planned = _cabling_of(design)
        found, mistyped = as_called(found, planned)
        judged, name = _with_design(found, planned, mistyped), planned.fabric.name
    told_so_far = judged.findings if judged.comparison is None else slowed(judged.comparison, judged.findings)
    findings: Sequence[Finding] = sorted(once(told_so_far), key=_likely_dearest)
    answer, why = None, "prices were not asked for"
    if consequence and judged.comparison is not None:
        findings, answer, why = priced(
            judged.comparison, findings, slow=judged.slow, held=judged.held, apart=judged.apart, bisection=bisection,
            most=most_priced,
        )  # fmt: skip
    known = read_accepted(accept) if isinstance(accept, (str, Path)) else tuple(accept or ())
    sides = found.fabric, *(() if design is None else (design,))
    findings = marked(in_racks(sorted(findings, key=_dearest), *sides), known, today)
    findings = in_words(findings, why if consequence else None)
    assumptions = (*found.fabric.origin.assumptions, *((why,) if why else ()))
    notes = [note for side in (wired, design) if side is not None for note in side.origin.notes]
    rules = (*judged.rules, *(str(one) for one in notes if is_of_rows(one) or one.text.startswith(NOTHING_NEW)))
    return Validation(
        found.fabric.name, name, tuple(findings), rules, judged.counts, judged.n_operations,
        judged.least_operations, answer, assumptions, judged.comparison,
    )  # fmt: skip


def _without_design(found: Cabling) -> _Judged:
    learnt = Learnt(found)
    judge_ends(found, learnt)
    seats = seats_of(found)
    rule = judge_hosts(found, seats, learnt)
    judge_pairs(found, learnt)
    judge_majority(found, learnt)
    if not found.tier[found.is_switch].any():
        learnt.rules.append(_NO_TIER)
    n = sum(len(one.operations) for one in learnt.findings)
    comparison = learnt.comparison()
    findings = carried(comparison, touching(comparison, learnt.findings), found.fabric)
    findings = with_uplinks(comparison, found, findings)
    apart = _apart(found, seats, rule)
    return _Judged(findings, tuple(learnt.rules), _counts(found), comparison, n, n, apart, learnt.slow, learnt.held)


def _with_design(found: Cabling, planned: Cabling, mistyped: Sequence[Finding]) -> _Judged:
    learnt = Learnt(found)
    learnt.findings += mistyped
    judge_ends(found, learnt)
    laid: Laid = laid_design(found, planned)
    seats = seats_of(found)
    apart = _apart(found, seats, None if seats is None else rail_rule(found, seats))
    counts = (*_counts(found), ("planned_cables", len(planned.links)), ("common_cables", laid.matched.n_common))
    if laid.is_wrong:
        rules = (laid.matched.how, *laid.said)
        return _Judged([*learnt.findings, *laid.findings], rules, counts, None, 0, 0, apart, {}, {})
    learnt.findings += _of_the_design(planned, learnt.findings)
    planned_gbps = planned.fabric.links.capacity_gbps[planned.links]
    if np.isnan(planned_gbps).all():
        judge_rates(found, learnt)
    best = laid.matched.best
    counts += (("moves", len(best.moves)), ("missing_cables", len(best.adds)), ("unplanned_cables", len(best.removes)))
    comparison = laid.matched.comparison
    differing = touching(comparison, told(laid.matched, planned_gbps))
    differing = carried(comparison, differing, planned.fabric, found.fabric)
    findings = [*learnt.findings, *laid.findings, *differing]
    slow = learnt.slow | slower_than_planned(laid.matched, planned_gbps)
    rules = (laid.matched.how, _as_planned(laid.matched), *laid.said, *learnt.rules)
    both = laid.matched.comparison
    return _Judged(findings, rules, counts, both, len(best), laid.least, apart, slow, learnt.held)


def _as_planned(matched: Matched) -> str:
    """How many of the planned cables between switches, and to hosts, are there."""
    fabric = matched.comparison.both
    full = fabric.nodes.forwards == FORWARDS_ALL
    between = full[fabric.link_a] & full[fabric.link_b]
    there = between[matched.found_links[matched.best.common[0]]]
    wanted = between[matched.planned_links]
    parts = (("switch", int(there.sum()), int(wanted.sum())), ("host", int((~there).sum()), int((~wanted).sum())))
    said = (f"{n:,} of {total:,} {what} cables" for what, n, total in parts if total)
    return " and ".join(said) + " are as planned"


def _of_the_design(planned: Cabling, found: Sequence[Finding]) -> list[Finding]:
    """Faults that the design itself has, seen from its ends alone; what the wiring copied is told there already."""
    own = Learnt(planned)
    judge_ends(planned, own)
    told = {(one.code, one.place.lower()) for one in found}
    return [
        replace(
            one, evidence=f"in the design: {one.evidence}", extra=(), dark=(), rivals=(), lost_gbps=0.0, words=_AS_DRAWN
        )
        for one in own.findings
        if one.code in OF_A_DESIGN and (one.code, one.place.lower()) not in told
    ]


def _counts(found: Cabling) -> tuple[tuple[str, int], ...]:
    links = found.fabric.links
    internal = int(links.kind.is_any("internal").sum())
    return (("cables", len(found.links)), *((("internal_links", internal),) if internal else ()))


def _apart(found: Cabling, seats: Seats | None, rule: RailRule | None) -> NDArray[np.bool_]:
    """Nodes of named hosts that have other adapters than most: managers, storage; they take no part in the demand."""
    nodes = found.fabric.nodes
    apart = np.zeros(len(nodes), bool)
    if seats is None or rule is None:
        return apart
    named = (nodes.host.codes >= 0) & (nodes.host.values() != nodes.uid) & (nodes.host.values() != nodes.name)
    apart[found.nic] = named[found.nic]
    apart[found.nic[seats.row[rule.judged]]] = False
    return apart if 2 * apart.sum() < len(found.nic) else np.zeros(len(nodes), bool)


def _likely_dearest(one: Finding) -> tuple[int, bool, str, str]:
    """What to price first: a thin pair costs more than an absent one nearly always."""
    return SEVERITIES.index(one.severity), one.code != "pair-thin", one.code, one.place


def _severest(one: Finding) -> tuple[int, str, str]:
    return SEVERITIES.index(one.severity), one.code, one.place


def _dearest(one: Finding) -> tuple[bool, float, float, int, str, str]:
    """Notes last; first what loses most, to the six digits that are shown, then what leaves least of an all-to-all."""
    theta = one.price.theta if one.price is not None else 1.0
    lost = 0.0 if math.isnan(one.lost_gbps) else float(f"{one.lost_gbps:.6g}")
    return one.severity == "note", -lost, theta, *_severest(one)


def _cabling_of(fabric: Fabric) -> Cabling:
    cabling = Cabling.of(fabric)
    if not len(cabling.links):
        raise ParameterError(
            f"{fabric.name!r} has no cable between devices (links of kind {', '.join(_kinds(fabric)) or 'none'}); "
            "there is nothing to validate"
        )
    return cabling


def _kinds(fabric: Fabric) -> list[str]:
    return sorted(Counter(fabric.links.kind.values().tolist()))
