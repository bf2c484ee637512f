"""The findings of a wiring as a page of their own, and as a section of a fabric's report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from topo.errors import TopoError, place_in
from topo.report.answers import why_not
from topo.report.asked import LeftOut
from topo.report.content import Facts, Grid, Section, Text
from topo.report.page import html_page
from topo.units import format_gbps
from topo.view.text import plural, sentence
from topo.wiring import CODES, SEVERITIES
from topo.wiring.cost import MOST_PRICED

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.result import Row
    from topo.wiring import Finding, Validation

__all__ = ["ask_wiring", "counted", "is_from_file", "wiring_page", "wiring_section"]

_WORST = 10
_MOST_ENDPOINTS_PRICED = 5_000
_WORST_OF_A_CODE = 4
_FEW = 12
"""Up to so many findings are told one by one in full; more are grouped."""
_MOST_OF_A_CODE = {"error": 12, "warning": 12, "note": 6}
_MOST_FOLDED = 200
_MOST_JOBS = 100
_MOST_OPEN = 40
_MOST_DEVICES = 15
_GATHERED = 3
_MOST_ACCEPTED = 100
_LONGEST = 400
_PRICES = (
    "Lost is the rate of the flows that do not get through, to an endpoint as from it, while every endpoint sends to "
    "every other (an all-to-all) as fast as the sound fabric allows; each fault alone, all others mended. Theta is the "
    "part of such traffic that fits. What loses most comes first. The cut above a switch is its cables to the tier "
    "above it."
)
_JOB_WORDS = {"add": "cables to lay", "move": "ends to move", "remove": "cables to remove", "look": "places to look at"}


def counted(answer: Validation) -> str:
    """How many findings of each severity, in words.

    >>> import topo
    >>> design = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    >>> counted(topo.validate(design.without(links=[40]), consequence=False)), counted(topo.validate(design))
    ('1 error', 'no finding')
    """
    parts = [(len(answer.of(word)), word) for word in SEVERITIES]
    said = [plural(n, word) for n, word in parts if n]
    accepted = sum(bool(one.accepted) for one in answer.findings)
    said += [f"{accepted:,} accepted"] if accepted else []
    return ", ".join(said) or "no finding"


def wiring_page(answer: Validation) -> str:
    """All findings as one self-contained HTML page: the codes with counts, the worst in full, then code by code, then
    what is to be done.

    Lists are cut at a length that can be read and say how much they leave out; the CSV and JSON forms leave out
    nothing.
    """
    title = f"Wiring of {answer.fabric}" + (f" against {answer.against}" if answer.against else "")
    return html_page(title, _headline(answer), list(_sections(answer)))


def is_from_file(fabric: Fabric) -> bool:
    """Whether a fabric was read from outside, so that its wiring is a finding and not a design.

    >>> import topo
    >>> is_from_file(topo.fat_tree(4))
    False
    """
    return fabric.origin.made_by.startswith("read_")


def ask_wiring(fabric: Fabric) -> Validation:
    """The findings without a design; large fabrics get ten prices, and none a second bisection beside the report's."""
    from topo.wiring import validate

    most = _WORST if len(fabric.endpoints) > _MOST_ENDPOINTS_PRICED else MOST_PRICED
    return validate(fabric, bisection=False, most_priced=most)


def wiring_section(answer: Validation | LeftOut | TopoError) -> Section:
    """How many findings of each code, and the worst ten."""
    if isinstance(answer, TopoError):
        return Section("wiring", "Wiring", why_not(answer))
    if isinstance(answer, LeftOut):
        return Section("wiring", "Wiring", [Text(str(answer))])
    items: list[Text | Facts | Grid] = [Text(_headline(answer), "warning" if answer.of("error") else "")]
    items += [_codes(answer)] if answer.findings else []
    grave = [one for one in _new(answer) if one.severity != "note"]
    if grave:
        items += _remarks(answer)
        items.append(_told(answer, _worst(grave), "The worst" if len(grave) > _WORST else "In full"))
    if answer.findings:
        items.append(
            Text("Judged by the majority of its own cables. 'topo validate' lists every finding with its fix.")
        )
    return Section("wiring", "Wiring", items)


def _headline(answer: Validation) -> str:
    said = counted(answer)
    said = f"{said[:1].upper()}{said[1:]}."
    cost = answer.consequence
    if cost is None or not cost.n_faults:
        return said
    low = min((one.share_lower for one in cost.measures if one.name.startswith("all-to-all")), default=math.nan)
    if not math.isnan(low):
        who = "It leaves" if len(answer.findings) == 1 else "Together they leave"
        among = f" among {cost.among}, those that are judged" if cost.among else ""
        whom = "all others " if cost.cut_off else "the other pairs " if cost.lost_pairs else ""
        said += f" {who} {whom}{100 * min(low, 1):.4g} % of an all-to-all under even splitting{among}."
    cut = f" {plural(cost.cut_off, 'endpoint')} cut off." if cost.cut_off else ""
    if cost.lost_pairs and not cost.cut_off:
        cut = f" {cost.lost_pairs:,} of {plural(cost.n_pairs, 'pair')} of endpoints have no path left."
    aid = cost.first_aid_text()
    return said + cut + (f" First aid: {aid}." if aid else "")


def _sections(answer: Validation) -> Iterator[Section]:
    found = _new(answer)
    few = len(found) <= _FEW
    if found and few:
        yield Section("findings", "Findings", [*_remarks(answer), _told(answer, found)])
    elif found:
        yield Section("codes", "By code", [_codes(answer)])
        yield Section("worst", "The worst", [*_remarks(answer), _told(answer, _worst(found))])
        gathered = _gathered(answer, found)
        if gathered is not None:
            yield Section("devices", "Where they gather", [gathered])
    judged, rest = _judged(answer)
    yield Section("summary", "All together", [Facts(tuple(rest))])
    for code in () if few else dict.fromkeys(one.code for one in found):
        yield _code_section(answer, [one for one in found if one.code == code])
    jobs = _jobs(found)
    if jobs:
        yield Section("jobs", "What is to be done", jobs)
    accepted = [one for one in answer.findings if one.accepted]
    if accepted:
        rows = tuple((one.code, _place(answer, one), one.accepted) for one in accepted[:_MOST_ACCEPTED])
        grid = Grid(("code", "where", "why it is accepted"), rows, "", _left_out(len(accepted) - len(rows)))
        yield Section("accepted", "Accepted", [grid])
    said = [Text(sentence(text)) for text in answer.assumptions]
    yield Section("judged", "What they were judged by", [Facts(tuple(judged)), *said])


def _judged(answer: Validation) -> tuple[list[Row], list[Row]]:
    """The rows that say what was counted and compared, and the others."""
    counts = {name.replace("_", " ") for name, _ in answer.counts} | {"learnt", "compared"}
    rows = answer.rows()
    return [row for row in rows if row.label in counts], [row for row in rows if row.label not in counts]


def _new(answer: Validation) -> list[Finding]:
    return [one for one in answer.findings if not one.accepted]


def _worst(findings: Sequence[Finding]) -> list[Finding]:
    """The first few in order, a code taking more than its part only where other codes leave room."""
    taken: Counter[str] = Counter()
    first: list[Finding] = []
    later: list[Finding] = []
    for one in findings:
        taken[one.code] += 1
        (first if taken[one.code] <= _WORST_OF_A_CODE else later).append(one)
    chosen = {id(one) for one in [*first, *later][:_WORST]}
    return [one for one in findings if id(one) in chosen]


def _told(answer: Validation, findings: Sequence[Finding], caption: str = "") -> Grid:
    """Findings in full: what and where, the evidence, the price in words, the fix."""
    rows = tuple(
        (
            f"{one.code} ({one.severity})",
            _place(answer, one),
            _short(one.evidence),
            _lost(one),
            _short(one.words) or "-",
            _short(one.fix),
        )
        for one in findings
    )
    return Grid(("finding", "where", "evidence", "lost", "what it means", "fix"), rows, caption)


def _codes(answer: Validation) -> Grid:
    """A line a code, in the order of the dearest finding of each."""
    accepted = Counter(one.code for one in answer.findings if one.accepted)
    rows = []
    for code in dict.fromkeys(one.code for one in answer.findings):
        alike = [one for one in answer.findings if one.code == code]
        most = max((one.lost_gbps for one in alike if not math.isnan(one.lost_gbps)), default=math.nan)
        lost = "-" if math.isnan(most) else format_gbps(most)
        severity = min((one.severity for one in alike), key=SEVERITIES.index)
        known = (f"{accepted[code]:,}",) if accepted else ()
        rows.append((code, severity, f"{len(alike) - accepted[code]:,}", *known, lost, CODES[code].meaning))
    head = ("code", "severity", "new" if accepted else "findings", *(("accepted",) if accepted else ()))
    return Grid((*head, "most one loses", "what it says"), tuple(rows))


def _code_section(answer: Validation, alike: Sequence[Finding]) -> Section:
    code = CODES[alike[0].code]
    most = _MOST_OF_A_CODE[alike[0].severity]
    shown = alike[: most + _MOST_FOLDED]
    priced = any(not math.isnan(one.lost_gbps) for one in shown)
    head = ("where", "evidence", *(("lost",) if priced else ()), "fix")
    rows = tuple(
        (_place(answer, one), _short(one.evidence), *((_lost(one),) if priced else ()), _short(one.fix))
        for one in shown
    )
    said = Text(f"{plural(len(alike), alike[0].severity)}: {code.meaning}. Usual fix: {code.fix}.")
    grids = [Grid(head, rows[:most])]
    if rows[most:]:
        left = len(alike) - len(shown)
        fold = f"{len(rows) - most:,} {'more' if not left else f'of {len(alike) - most:,} more'}"
        grids.append(Grid(head, rows[most:], "", _left_out(left), fold=fold))
    return Section(f"code-{code.code}", code.code, [said, *grids])


def _gathered(answer: Validation, found: Sequence[Finding]) -> Grid | None:
    """Devices that take part in several findings: one bad panel or switch shows as many faults."""
    if answer.comparison is None:
        return None
    both = answer.comparison.both
    names, hosts = both.nodes.name.tolist(), both.nodes.host.values().tolist()
    device = [host or name for name, host in zip(names, hosts, strict=True)]
    codes: dict[str, Counter[str]] = {}
    for one in found:
        if one.severity == "note":
            continue
        links = {*one.lacks, *one.extra, *(row for job in one.operations for row in job[1:3] if row >= 0)}
        ends = {device[int(end[row])] for row in links for end in (both.link_a, both.link_b)}
        for name in ends:
            codes.setdefault(name, Counter())[one.code] += 1
    several = sorted((name for name in codes if codes[name].total() >= _GATHERED), key=lambda n: -codes[n].total())
    if not several:
        return None
    rows = tuple(
        (name, f"{codes[name].total():,}", ", ".join(f"{code} {n:,}" for code, n in codes[name].most_common(4)))
        for name in several[:_MOST_DEVICES]
    )
    return Grid(("device", "findings", "of which"), rows, "", _left_out(len(several) - len(rows), "device"))


def _jobs(found: Sequence[Finding]) -> list[Text | Grid]:
    """What mends the findings, job by job, the dearest first."""
    jobs: list[tuple[str, str]] = []
    kinds: Counter[str] = Counter()
    for one in found:
        if one.severity != "note":
            kinds.update(job.kind for job in one.jobs)
            kinds.update(["look"] if not one.operations else [])
            said = [job.text for job in one.jobs] or [f"{one.place}: {one.fix}"]
            jobs += [(text, one.code) for text in said]
    if not jobs:
        return []
    rows = tuple((f"{i:,}", _short(text), code) for i, (text, code) in enumerate(jobs[:_MOST_JOBS], 1))
    fold = f"The first {len(rows):,}" if len(rows) > _MOST_OPEN else ""
    said = [f"{_JOB_WORDS[kind]} {n:,}" for kind, n in kinds.most_common()]
    return [
        Text(f"{plural(len(jobs), 'job')}: {', '.join(said)}."),
        Grid(("job", "what", "because of"), rows, "", _left_out(len(jobs) - len(rows), "job"), fold=fold),
    ]


def _left_out(n: int, word: str = "finding") -> str:
    if n <= 0:
        return ""
    return f"{plural(n, f'more {word}')} not shown here; 'topo validate --format csv' lists every finding with its fix."


def _remarks(answer: Validation) -> list[Text]:
    """The one file that all findings stand in, said once instead of in every line; what a price means, which lack."""
    source, cost = _only_source(answer), answer.consequence
    said = [Text(f"Line numbers are those of {source}.")] if source else []
    if cost is not None and cost.n_priced:
        said.append(Text(_PRICES))
    if cost is not None and cost.n_priced < cost.n_faults:
        said.append(Text(f"{cost.n_priced:,} of {cost.n_faults:,} faults were priced one by one; the others show '-'."))
    return said


def _only_source(answer: Validation) -> str:
    sources = {one.source for one in answer.findings if one.source}
    return sources.pop() if len(sources) == 1 else ""


def _place(answer: Validation, one: Finding) -> str:
    if not one.source or not one.line:
        return _short(one.where)
    where = f"line {one.line}" if _only_source(answer) else place_in(one.source, one.line)
    return _short(f"{one.racked_place} ({where})")


def _lost(one: Finding) -> str:
    return "-" if math.isnan(one.lost_gbps) else format_gbps(one.lost_gbps)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
