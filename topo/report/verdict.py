"""What a report opens with: one sentence that judges, and what puts the main numbers in doubt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import DisconnectedError, InputError, TopoError
from topo.report.halves import KEPT_WORDS
from topo.result import Row, Standing
from topo.units import format_number
from topo.view.text import plural, sentence

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection
    from topo.analysis.inventory import Inventory
    from topo.analysis.oversubscription import Oversubscription, TierOversubscription
    from topo.analysis.published import PublishedNumbers
    from topo.fabric import Fabric, Note

__all__ = ["alerts", "checked_bounds", "doubtful_rows", "expected_rows", "verdict"]

_FULL = 1 - 1e-9


def alerts(notes: tuple[Note, ...]) -> list[str]:
    """What puts every number in doubt, as sentences."""
    return [sentence(note.text) for note in notes if note.severity == "alert"]


def verdict(fabric: Fabric, oversubscription: Oversubscription | TopoError, bisection: Bisection | TopoError) -> str:
    """One sentence that judges the fabric, before it what puts it in doubt, after it what it rests on.

    >>> import topo
    >>> f = topo.load("leaf-spine-2to1")
    >>> verdict(f, topo.oversubscription(f), topo.bisection_bandwidth(f))
    'Blocking, narrowest at leaf-spine, 2:1: the worst even split carries 50 % of full bisection.'
    """
    given = [sentence(f"given: {fabric.origin.assumed}")] if fabric.origin.assumed else []
    return " ".join([*alerts(fabric.origin.notes), _judged(fabric, oversubscription, bisection), *given])


def _judged(fabric: Fabric, oversubscription: Oversubscription | TopoError, answer: Bisection | TopoError) -> str:
    if isinstance(answer, DisconnectedError):
        sizes = answer.component_sizes
        parts = f" into {plural(len(sizes), 'part')}" if sizes else ""
        return f"Not one network: the endpoints fall{parts} that no path joins."
    if isinstance(answer, InputError):
        return "No verdict: links of unknown rate."
    if isinstance(answer, TopoError):
        return "No verdict: there is nothing to split into halves."
    narrow, elsewhere = _narrowest(fabric, oversubscription, answer)
    if answer.ratio_lower >= _FULL:
        return "Non-blocking: the worst even split carries all that its smaller half can send."
    high = _per_cent(answer.ratio)
    if answer.exact:
        return f"Blocking, narrowest at {narrow}: the worst even split carries {high} of full bisection.{elsewhere}"
    low = _per_cent(answer.ratio_lower)
    share = f"the worst even split carries between {low} and {high} of full bisection"
    if answer.ratio >= _FULL:
        return f"Perhaps non-blocking, not proved: {share}."
    return f"Blocking, narrowest at {narrow}: {share}.{elsewhere}"


def _per_cent(ratio: float) -> str:
    return f"{format_number(100 * ratio, 4)} %"


def _narrowest(fabric: Fabric, oversubscription: Oversubscription | TopoError, answer: Bisection) -> tuple[str, str]:
    """The tiers that most of the cut runs between, with the oversubscription there; and narrower tiers off the cut."""
    from topo.analysis.oversubscription import format_ratio

    tiers = [] if isinstance(oversubscription, TopoError) else list(oversubscription.tiers)
    narrow = {tier.tier: tier for tier in tiers if tier.ratio is not None and tier.ratio > 1 + 1e-9}
    uneven = {tier.tier: tier for tier in tiers if tier.ratio_max is not None and tier.ratio_max > 1 + 1e-9}
    rows = answer.links.rows
    if not len(rows):
        return "no link at all", ""
    # An endpoint's own links let through all that it sends: what narrows is elsewhere in the cut, if it goes there.
    own = fabric.nodes.is_endpoint[fabric.link_a[rows]] | fabric.nodes.is_endpoint[fabric.link_b[rows]]
    among = ~own if (~own).any() else np.ones(len(rows), bool)
    rows = rows[among]
    height = np.where(fabric.nodes.is_endpoint, np.minimum(fabric.nodes.tier, 0), fabric.nodes.tier).astype(int)
    ends = np.sort(np.stack([height[fabric.link_a[rows]], height[fabric.link_b[rows]]], axis=1), axis=1)
    pairs, which = np.unique(ends, axis=0, return_inverse=True)
    rate = np.bincount(which.ravel(), weights=answer.links.capacity_gbps[among])
    low, high = pairs[int(np.argmax(rate))].tolist()
    word = str(fabric.nodes.kind[int(answer.endpoints[0])])
    place = f"{_word(low, word)}-{_word(high, word)}"
    at = narrow.get(low) if low < high else None
    if at is not None:
        place += f", {format_ratio(at.down_gbps, at.up_gbps)}"
    elif low < high and low in uneven:
        place += f", {format_ratio(uneven[low].ratio_max or 0.0, 1)} at {uneven[low].narrowest[0].name}"
    cut = set(pairs[:, 0].tolist())
    off = [
        f"{_upwards(tier, tiers)} {format_ratio(tier.down_gbps, tier.up_gbps)}"
        for tier in narrow.values()
        if tier.tier not in cut
    ]
    return place, f" Tapered too, but not where that split runs: {', '.join(off)}." if off else ""


def _upwards(tier: TierOversubscription, tiers: list[TierOversubscription]) -> str:
    above = [other.tier_name for other in tiers if other.tier > tier.tier]
    return f"{tier.tier_name}-{above[0]}" if above else tier.tier_name


def _word(tier: int, endpoint: str) -> str:
    from topo.analysis.tiers import tier_name

    return tier_name(tier) if tier > 0 else "scale-up" if tier < 0 else endpoint


def doubtful_rows(
    fabric: Fabric,
    rows: list[Row],
    inventory: Inventory | TopoError,
    oversubscription: Oversubscription | TopoError,
    bisection: Bisection | TopoError,
) -> list[Row]:
    """The main numbers with what they rest on: assumed rates, links left out, endpoints asked about, what is kept."""
    left_out = 0 if isinstance(inventory, TopoError) else inventory.n_one_sided_links
    without = f"without {plural(left_out, 'link')} that only one end reported" if left_out else ""
    told = [Row("warning", text.partition(". ")[0]) for text in alerts(fabric.origin.notes)]
    for row in rows:
        standing = row.standing
        if row.label.startswith("oversubscription") and not isinstance(oversubscription, TopoError):
            standing = oversubscription.standing
        elif row.label == "bisection is of":
            standing = Standing("given", "as asked; all other numbers are of the whole fabric")
        elif standing and not isinstance(bisection, TopoError) and row.label.startswith(("bisection", "share of full")):
            standing = standing.given(without).given(fabric.origin.assumed)
        told.append(replace(row, standing=standing))
    if not isinstance(bisection, TopoError) and bisection.keep != "host":
        told.append(Row("kept whole by the split", KEPT_WORDS[bisection.keep]))
    return told


def expected_rows(answer: PublishedNumbers | TopoError) -> list[Row]:
    """Whether the numbers that the spec expects hold; those that differ by name."""
    if isinstance(answer, TopoError):
        return [Row("expected numbers", "not compared", standing=Standing("none", str(answer)))]
    if not answer.numbers:
        return []
    wrong = [number for number in answer.numbers if number.verdict == "differs"]
    if not wrong:
        inside = f", {answer.n_inside:,} inside the bracket" if answer.n_inside else ""
        told = f"{len(answer.numbers) - answer.n_inside:,} as built{inside}"
        return [Row("expected numbers", told, standing=Standing("exact", "each counted again in what was built"))]
    said = "; ".join(f"{n.meaning}: {n.shown(n.expected)} expected, {n.built_text} built" for n in wrong)
    standing = Standing("warning", f"{len(wrong):,} of {len(answer.numbers):,} expected numbers")
    return [Row("expected numbers DIFFER", said, standing=standing)]


def checked_bounds(fabric: Fabric, answer: Bisection) -> tuple[str, ...]:
    """What the separate checkers say of the two bounds."""
    from topo.analysis.bisection.certificate import CertificateError, check_cut, check_lower

    said = []
    checks = (("upper bound: its cut and its halves were", check_cut), ("lower bound: its proof was", check_lower))
    for name, check in checks:
        try:
            check(fabric, answer)
            said.append(f"The {name} gone over again by separate code and hold{'s' if 'proof' in name else ''}.")
        except CertificateError as error:
            said.append(f"The {name} NOT confirmed: {error}. Do not rely on this bound; please report it.")
    return tuple(said)
