"""The page of a wiring's findings with one, thirty and three thousand; the section of a report."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.report.wiring import counted, is_from_file, wiring_page
from topo.wiring import Finding, Validation

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Sections by key, each with its rows of cells; fails on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}
        self.said: list[str] = []
        self.tags: set[str] = set()
        self.key = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.key = dict(attrs)["id"] or ""
            self.rows[self.key] = []
        if tag == "tr":
            self.rows[self.key].append([])
        if tag in ("td", "th"):
            self.rows[self.key][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[self.key][-1][-1] += data
        elif self.open and self.open[-1] != "style":
            self.said.append(data)

    def body(self, key: str) -> list[list[str]]:
        return self.rows[key][1:]


@pytest.fixture(scope="module")
def design() -> topo.Fabric:
    return topo.leaf_spine(leaves=16, spines=8, hosts_per_leaf=16, parallel=2)


def many(answer: Validation, n: int, code: str = "missing", severity: str = "error") -> list[Finding]:
    one = replace(answer.findings[0], code=code, severity=severity, operations=())
    return [replace(one, place=f"{code} at leaf-{i}", fix=f"lay cable {i}", lost_gbps=float(n - i)) for i in range(n)]


def test_one_finding_is_told_in_full(design: topo.Fabric) -> None:
    answer = topo.validate(design.without(links=[300]), design)
    page = Page(wiring_page(answer))
    (one,) = answer.findings
    ((finding, where, evidence, lost, words, fix),) = page.body("findings")
    assert (finding, where, evidence, words, fix) == ("missing (error)", one.where, one.evidence, one.words, one.fix)
    assert lost.endswith(" Gb/s") and float(lost.split()[0]) == pytest.approx(one.lost_gbps, rel=1e-5)
    assert page.body("jobs") == [["1", one.operations[0].text, "missing"]]
    assert not {"worst", "codes"} & page.rows.keys()
    assert any(text.startswith("1 error. It leaves 53.12 % of an all-to-all") for text in page.said)


def test_no_finding_is_said_too(design: topo.Fabric) -> None:
    answer = topo.validate(design)
    page = Page(wiring_page(answer))
    assert counted(answer) == "no finding" and ["faults", "none", ""] in page.rows["summary"]
    assert not {"findings", "jobs"} & page.rows.keys()


def test_thirty_are_grouped_by_code_worst_first(design: topo.Fabric) -> None:
    uplinks = np.flatnonzero(~design.links.kind.is_any("access"))
    gone = [*uplinks[::10].tolist(), 3, 70, 140]
    answer = topo.validate(design.without(links=gone), design, bisection=False)
    assert len(answer.findings) == 29
    page = Page(wiring_page(answer))
    assert len(page.body("worst")) == 10 and page.body("worst")[0][1] == answer.findings[0].where
    assert [(row[0], row[2]) for row in page.body("codes")] == [("missing", "29")]
    # Twelve are open, the others folded under a head of their own.
    told = [row[0] for row in page.body("code-missing")]
    assert told == [*(one.where for one in answer.findings[:12]), "where", *(one.where for one in answer.findings[12:])]
    assert len(page.body("jobs")) == answer.n_operations == 29
    # A device is told with the cables it lacks, counted here by hand.
    ends = [
        name
        for link in gone
        for name in (design.nodes.name[design.link_a[link]], design.nodes.name[design.link_b[link]])
    ]
    counts = {name: ends.count(name) for name in ends if "nic" not in name and ends.count(name) >= 3}
    assert {row[0]: int(row[1]) for row in page.body("devices")}.items() <= counts.items()
    assert len(page.body("devices")) == min(15, len(counts))


def test_three_thousand_stay_a_page_that_can_be_read(design: topo.Fabric) -> None:
    answer = topo.validate(design.without(links=[300]), design, bisection=False)
    findings = many(answer, 2500) + many(answer, 480, "unplanned", "warning") + many(answer, 20, "radix-gap", "note")
    cost = replace(answer.consequence, n_faults=2980)
    answer = replace(answer, findings=tuple(findings), consequence=cost)
    text = wiring_page(answer)
    page = Page(text)
    assert len(text) < 150_000 and text.count("<details>") == 4
    assert [(row[0], row[2]) for row in page.body("codes")] == [
        ("missing", "2,500"),
        ("unplanned", "480"),
        ("radix-gap", "20"),
    ]
    worst = [row[0] for row in page.body("worst")]
    assert any("1 of 2,980 faults were priced one by one" in text for text in page.said)
    assert worst.count("missing (error)") == 4 and worst.count("radix-gap (note)") <= 4 and len(worst) == 10
    for code, shown, n in (("missing", 212, 2500), ("unplanned", 212, 480), ("radix-gap", 20, 20)):
        rows = [row[0] for row in page.body(f"code-{code}") if row[0] != "where"]
        assert rows == [f"{code} at leaf-{i}" for i in range(shown)]
        assert n == shown or any(f"{n - shown:,} more findings not shown" in text for text in page.said)
    assert len(page.body("jobs")) == 100 and any("2,880 more jobs not shown" in text for text in page.said)


def test_accepted_findings_stand_apart(design: topo.Fabric) -> None:
    answer = topo.validate(design.without(links=[300]), design, bisection=False)
    known = replace(answer, findings=tuple(replace(one, accepted="part ordered") for one in answer.findings))
    page = Page(wiring_page(known))
    assert page.body("accepted") == [["missing", answer.findings[0].where, "part ordered"]]
    assert "findings" not in page.rows and "jobs" not in page.rows and counted(known) == "1 accepted"


def test_names_from_outside_are_escaped(design: topo.Fabric) -> None:
    answer = topo.validate(design.without(links=[300]), design, bisection=False)
    evil = "</td><script>alert(1)</script>\x1b[31m\u202e{{ 7 * 7 }}"
    bad = replace(
        answer.findings[0], place=evil, evidence=evil, fix=evil, words=evil, source=evil, line=3, operations=()
    )
    for findings in ((bad,), (bad,) * 40, (replace(bad, accepted=evil),)):
        text = wiring_page(
            replace(answer, findings=findings, fabric=evil, against=evil, rules=(evil,), assumptions=(evil,))
        )
        page = Page(text)
        assert "<script>alert" not in text and text.count("<script") == 1  # that of the tables, ours
        assert "\x1b" not in text and "\u202e" not in text
        assert "49" not in "".join(
            cell for rows in page.rows.values() for row in rows for cell in row if "alert" in cell
        )
        assert "default-src 'none'" in text


def test_a_report_judges_what_was_read_and_not_what_was_built(tmp_path: Path, design: topo.Fabric) -> None:
    faults = Path(__file__).resolve().parent.parent / "wiring_faults"
    read = topo.load(faults / "rail-swap_two_adapters.csv")
    assert is_from_file(read) and not is_from_file(design)
    report = topo.make_report(read)
    page = Page(report.to_html())
    assert page.body("wiring")[0][0] == "rail-swap"
    assert report.to_dict()["wiring"]["findings"][0]["code"] == "rail-swap"
    assert "rail-swap" in report.to_markdown()
    assert "wiring" not in topo.make_report(design).to_dict()
    asked = topo.make_report(design, sections=["wiring"])
    assert asked.to_dict()["wiring"]["findings"] == [] and "No finding." in asked.to_html()


def test_the_reports_section_of_a_real_fabric(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "ibnetdiscover" / "topograph__example.out")
    page = Page(topo.make_report(fabric, sections=["wiring"]).to_html())
    codes = {row[0]: row[2] for row in page.rows["wiring"][1:7]}
    assert codes == {"pair-thin": "6", "pair-absent": "10", "leaf-missing": "1", "rail-swap": "1",
                     "name-factory": "1", "port-irregular": "5"}  # fmt: skip
    assert len(page.rows["wiring"]) == 1 + 6 + 1 + 10
    headline = next(text for text in page.said if "Together" in text)
    left = re.search(r"leave all others ([\d.]+) % of an all-to-all", headline)
    assert left and math.isclose(49.6, float(left[1]), rel_tol=1e-3) and "10 endpoints cut off" in headline
