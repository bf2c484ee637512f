"""The answer: JSON others rely on, CSV, JUnit, text, exit status, accepted deviations, refusals."""

from __future__ import annotations

import csv
import datetime
import fnmatch
import html
import io
import json
import pickle
import re
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.report.wiring import wiring_page
from topo.routing.loads import link_loads
from topo.traffic import all_to_all
from topo.wiring import CODES, SEVERITIES, Validation, read_accepted, to_csv, to_junit, to_text, validate
from topo.wiring.accept import Accepted, accept
from topo.wiring.codes import code_of
from topo.wiring.finding import finding

DAY = datetime.date(2027, 1, 1)


@pytest.fixture(scope="module")
def design() -> topo.Fabric:
    return topo.leaf_spine(8, 4, 4, parallel=2)


@pytest.fixture(scope="module")
def answer(design: topo.Fabric) -> Validation:
    uplinks = np.flatnonzero(design.links.kind.is_any("scale_out"))
    return validate(design.without(links=uplinks[[0, 9, 20]]), bisection=False)


def test_json_has_the_names_others_rely_on(answer: Validation) -> None:
    data = json.loads(answer.to_json())
    assert data == answer.to_dict()
    assert len(data["findings"]) == 3
    for one in data["findings"]:
        assert {"code", "severity", "where", "evidence", "lost_gbps", "fix"} <= one.keys()
        assert one["code"] in CODES and one["severity"] in SEVERITIES
    assert data["summary"]["errors"] == 3
    assert data["summary"]["codes"] == {"pair-thin": 3}
    assert data["summary"]["operations"] == 3


def test_rules_are_stated_with_their_counts(answer: Validation) -> None:
    assert any("29/32 pairs agree" in rule for rule in answer.rules)


def test_pickle_and_frame(answer: Validation) -> None:
    assert pickle.loads(pickle.dumps(answer)).to_dict() == answer.to_dict()
    assert list(answer.to_frame().columns) == ["label", "value", "unit", "standing"]
    assert "3 pair-thin" in str(answer) and "<table" in answer._repr_html_()


def test_csv_holds_every_finding_and_no_formula(answer: Validation) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(answer))))
    assert [row["code"] for row in rows] == ["pair-thin"] * 3
    nasty = replace(answer, findings=(finding("unplanned", "=cmd()|x", "+1"),))
    (row,) = csv.DictReader(io.StringIO(to_csv(nasty)))
    assert (row["where"], row["evidence"]) == ("'=cmd()|x", "'+1")


def test_junit_fails_on_what_is_asked(answer: Validation) -> None:
    suite = ElementTree.fromstring(to_junit(answer)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert ElementTree.fromstring(to_junit(answer, fail_on="never")).find("testsuite").get("failures") == "0"
    nasty = replace(answer, findings=(finding("unplanned", "<&\x00\x1b[31m>", '"]]>'),))
    (case,) = ElementTree.fromstring(to_junit(nasty)).iter("testcase")
    assert case.get("name") == "<&<U+0000><U+001B>[31m>"
    good = replace(answer, findings=())
    assert ElementTree.fromstring(to_junit(good)).find("testsuite").get("tests") == "1"


def test_exit_status(answer: Validation) -> None:
    assert [answer.exit_status(word) for word in ("error", "warning", "never")] == [1, 1, 0]
    warned = replace(answer, findings=(finding("unplanned", "x", "y"),))
    assert [warned.exit_status(word) for word in ("error", "warning")] == [0, 1]
    with pytest.raises(topo.ParameterError, match="fail_on is 'sometimes'"):
        answer.exit_status("sometimes")


def test_text_stays_useful_with_many_findings(answer: Validation) -> None:
    many = replace(answer, findings=tuple(finding("unplanned", f"x{i}", "y") for i in range(3000)))
    text = to_text(many)
    assert len(text.splitlines()) < 250
    assert "and 2,960 more: 2,960 unplanned" in text
    assert "\x1b" not in to_text(replace(answer, findings=(finding("unplanned", "\x1b[2J", "y"),)))


def test_text_tells_cables_of_one_pair_together_and_bounds_the_jobs() -> None:
    """Forty hosts and forty uplinks of a leaf: the fix names the first few, twenty more follow, the rest is counted."""
    design = topo.leaf_spine(4, 4, 40, parallel=10)
    names = design.nodes.name
    leaf = np.flatnonzero((names[design.link_a] == "leaf-3") | (names[design.link_b] == "leaf-3"))
    answer = validate(design.without(links=leaf), design, bisection=False)
    (one,) = answer.findings
    assert len(one.jobs) == 80 and one.fix.endswith("; and 76 more")
    text = to_text(answer)
    lines = [line for line in text.splitlines() if line.startswith("    ")]
    assert len(lines) == 21 and lines[-1] == "    and 56 more jobs; 'topo repair' lists them all"
    pair = np.flatnonzero((names[design.link_a] == "leaf-3") & (names[design.link_b] == "spine-1"))
    (missing,) = validate(design.without(links=pair), design, consequence=False).findings
    assert missing.fix == "lay 10 cables leaf-3 ports 41-50 - spine-1 ports 21-30"


def test_text_says_whose_flows_a_theta_counts_and_how_many_are_priced(design: topo.Fabric) -> None:
    hosts = np.flatnonzero(~design.links.kind.is_any("scale_out"))[:3]
    text = to_text(validate(design.without(links=hosts), design, bisection=False, most_priced=2))
    assert "(100 %); pairs without a path left out" in text
    assert "2 of 3 are priced, the others last" in text
    uplinks = np.flatnonzero(design.links.kind.is_any("scale_out"))[[0, 9]]
    text = to_text(validate(design.without(links=uplinks), design, bisection=False))
    assert "left out" not in text and "are priced" not in text and "findings ranked by" in text


def write(folder: Path, text: str) -> Path:
    path = folder / "accept.yaml"
    path.write_text(text)
    return path


def test_thousands_of_accepted_places_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By code and place; a pattern is tried only where an entry is one, and the first entry of the file speaks."""
    tried: list[str] = []
    translate = fnmatch.translate
    monkeypatch.setattr(fnmatch, "translate", lambda pattern: (tried.append(pattern), translate(pattern))[1])
    findings = [finding("pair-thin", f"Leaf-{i} - spine-1", "thin") for i in range(20_000)]
    rows = [Accepted("pair-thin", f"leaf-{i} - SPINE-1", f"known {i}", None, "a.yaml", i) for i in range(20_000)]
    first = Accepted("pair-thin", "leaf-7*", "seven", None, "a.yaml", 0)
    literal = Accepted("pair-thin", "odd [1]", "as it stands", None, "a.yaml", 0)
    started = time.process_time()
    marked = accept([*findings, finding("pair-thin", "ODD [1]", "thin")], (first, *rows, literal), DAY)
    assert time.process_time() - started < 2
    assert tried == ["leaf-7*", "odd [1]"]
    assert [marked[i].accepted for i in (6, 7, 8, 70, 20_000)] == [
        "known 6",
        "seven",
        "known 8",
        "seven",
        "as it stands",
    ]
    assert len(marked) == 20_001


def places_in(form: str, answer: Validation) -> list[str]:
    """The place of each finding as a person copies it from an output."""
    if form == "json":
        return [one["where"] for one in json.loads(answer.to_json())["findings"]]
    if form == "csv":
        return [row["where"] for row in csv.DictReader(io.StringIO(to_csv(answer)))]
    if form == "junit":
        return [case.get("name") for case in ElementTree.fromstring(to_junit(answer)).iter("testcase")]
    if form == "junit, as it stands":
        return re.findall(r'<testcase classname="[^"]*" name="([^"]*)"', to_junit(answer))
    if form == "html":
        table = wiring_page(answer).partition("<tbody>")[2].partition("</tbody>")[0]
        cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in table.split("</tr>")]
        return [html.unescape(re.sub("<[^>]*>", "", row[1])).strip() for row in cells if len(row) > 1]
    heads = [line for line in to_text(answer).splitlines() if line.startswith(SEVERITIES)]
    return [line.partition(": ")[2] for line in heads]


@pytest.mark.parametrize("form", ["text", "json", "csv", "junit", "junit, as it stands", "html"])
def test_a_place_copied_from_any_output_is_accepted(tmp_path: Path, form: str) -> None:
    """With file, line and racks before or behind it, escaped or not; a line that has moved since changes nothing."""
    rows = [f"-lf&{i},{s},spine <{s}>,{i},400G,{f'R{i}'},B" for i in range(1, 7) for s in (1, 2, 3)]
    head = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,A-Rack,Z-Rack"
    (tmp_path / "plan (1).csv").write_text("\n".join([head, *rows]) + "\n")
    (tmp_path / "found.csv").write_text("\n".join([head, *rows[1:-1]]) + "\n")
    sides = tmp_path / "found.csv", tmp_path / "plan (1).csv"
    answer = validate(*sides, consequence=False)
    assert [(one.code, bool(one.racks), one.line) for one in answer.findings] == [
        ("missing", True, 2),
        ("missing", True, 19),
    ]
    copied = places_in(form, answer)
    assert len(copied) == 2
    entries = [{"code": "missing", "where": place, "reason": "known"} for place in copied]
    accepted = write(tmp_path, json.dumps({"accept": entries}))
    assert [one.accepted for one in validate(*sides, accept=accepted, consequence=False).findings] == ["known"] * 2
    (tmp_path / "plan (1).csv").write_text("\n".join([head, *rows[::-1]]) + "\n")
    assert [one.accepted for one in validate(*sides, accept=accepted, consequence=False).findings] == ["known"] * 2


def test_a_copied_place_accepts_that_place_alone() -> None:
    """What looks like a file and a line is left out only where it is one."""
    entry = Accepted("missing", "plan.csv:12: leaf-1 - spine-2", "known", None, "a.yaml", 1)
    places = ["leaf-1 - spine-2", "leaf-1 - spine-22", "leaf-11 - spine-2", "12: leaf-1 - spine-2"]
    marked = accept([finding("missing", place, "x") for place in places], (entry,), DAY)
    assert [bool(one.accepted) for one in marked] == [True, False, False, False]
    number = Accepted("missing", "leaf (3)", "known", None, "a.yaml", 1)
    (other, unused) = accept([finding("missing", "leaf", "x")], (number,), DAY)
    assert (other.accepted, unused.code) == ("", "accept-unused")


def test_an_entry_that_covers_nothing_names_what_it_may_mean() -> None:
    findings = [finding("pair-thin", f"leaf-{i} - spine-{j}", "x") for i in range(1, 4) for j in (1, 2)]

    def said(code: str, where: str) -> str:
        *_, unused = accept(findings, (Accepted(code, where, "known", None, "a.yaml", 1),), DAY)
        assert unused.code == "accept-unused"
        return unused.evidence

    assert "is not there; did you mean 'leaf-2 - spine-1'" in said("pair-thin", "x.csv:3: Leaf-2 - spin-1")
    assert said("pair-absent", "leaf-2 - spine-1").endswith("; at this place there is pair-thin")
    assert said("pair-thin", "elsewhere").endswith("is not there")
    known = Accepted("pair-thin", "leaf-2 - spine-1", "known", None, "a.yaml", 1)
    *_, unused = accept(findings, (known, Accepted("pair-thin", "leaf-2 - spine-1x", "k", None, "a.yaml", 2)), DAY)
    assert "'leaf-2 - spine-1'" not in unused.evidence  # that one is accepted already


def test_accepted_deviations_no_longer_fail(design: topo.Fabric, answer: Validation, tmp_path: Path) -> None:
    places = [one.place for one in answer.findings]
    listed = (
        f"accept:\n  - code: pair-thin\n    where: {places[0]}\n    reason: spare ordered\n    expires: 2027-01-01\n"
    )
    uplinks = np.flatnonzero(design.links.kind.is_any("scale_out"))
    found = design.without(links=uplinks[[0, 9, 20]])
    again = validate(found, accept=write(tmp_path, listed), today=DAY, bisection=False)
    assert [one.accepted for one in again.findings if one.place == places[0]] == ["spare ordered"]
    assert (again.exit_status(), again.summary["accepted"], again.summary["errors"]) == (1, 1, 2)
    everything = "accept:\n  - {code: pair-thin, where: 'LEAF-*', reason: known}\n"
    assert validate(found, accept=write(tmp_path, everything), bisection=False).exit_status("warning") == 0
    late = validate(found, accept=write(tmp_path, listed), today=DAY + datetime.timedelta(1), bisection=False)
    assert {one.code for one in late.findings} == {"pair-thin", "accept-expired"}
    assert late.summary["accepted"] == 0
    assert to_junit(again).count("<skipped") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "accept:\n  - code: pair-thinn\n    where: x\n    reason: y\n",
            r"yaml:2: .*no code of a finding; did you mean",
        ),
        ("accept:\n  - code: pair-thin\n    where: x\n    reason: y\n    expires: soon\n", r"yaml:5: .*is no day"),
        (
            "accept:\n  - code: pair-thin\n    where: x\n    expires:\n    reason: y\n",
            r"yaml:4: .*expires.*leave the key out",
        ),
        ("accept:\n  - code: pair-thin\n    where: x\n    expires: ''\n    reason: y\n", r"yaml:4: .*expires"),
        ("accept:\n  - code: pair-thin\n    where: x\n", r"yaml:2: .*reason"),
        ("accept:\n  - code: pair-thin\n    where: a.csv:1: x\n", r"yaml:3: .*holds ': ' in quotes"),
        ("deny: []\n", r"yaml:1: .*"),
        ("- 1\n", r"yaml:1: .*"),
    ],
)
def test_a_wrong_accept_file_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(topo.InputError, match=said):
        read_accepted(write(tmp_path, text))


def test_codes_are_a_table() -> None:
    assert all(row.code == code and row.severity in SEVERITIES for code, row in CODES.items())
    assert all(row.needs in ("ports", "rule", "design") for row in CODES.values())
    assert code_of("rail-swap").meaning


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wiring.csv"
    path.write_text("A-Node Name,A-Port,Z-Node Name,Z-Port\nleaf-1,1,host-1,1\n")
    link = tmp_path / "other.csv"
    link.symlink_to(path)
    for other in (path, link):
        with pytest.raises(topo.InputError, match="wiring and design are the same"):
            validate(path, other)


@pytest.mark.parametrize("text", ["", "A-Node Name,A-Port,Z-Node Name,Z-Port\n"])
def test_an_empty_file_and_a_header_alone_are_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wiring.csv"
    path.write_text(text)
    with pytest.raises(topo.TopoError) as error:
        validate(path)
    assert len(str(error.value).splitlines()) == 1


def test_what_is_no_wiring_is_refused() -> None:
    with pytest.raises(topo.ParameterError, match="no cable between devices"):
        validate(topo.load("nvidia-dgx-h100"))
    with pytest.raises(topo.ParameterError, match="a Fabric is wanted"):
        validate(3)  # type: ignore[arg-type]


def test_row_order_changes_nothing(design: topo.Fabric) -> None:
    """The same wiring with its links in another order and turned around gives the same findings."""
    uplinks = np.flatnonzero(design.links.kind.is_any("scale_out"))
    found = design.without(links=uplinks[[0, 9, 20]])
    order = np.random.default_rng(1).permutation(len(found.links))
    links = found.links.take(order)
    turned = replace(found, links=replace(links, port_a=links.port_b, port_b=links.port_a))
    for against in (None, design):
        one, other = (validate(each, against, bisection=False) for each in (found, turned))
        assert {(f.code, frozenset(f.place.split(" - "))) for f in one.findings} == {
            (f.code, frozenset(f.place.split(" - "))) for f in other.findings
        }
        assert one.n_operations == other.n_operations


def mixed_faults() -> tuple[topo.Fabric, topo.Fabric, dict[str, topo.Fabric]]:
    """A rail design, a wiring of it with five faults, and the design with each that costs anything alone."""
    design = topo.rail_optimized(32, rails=4, hosts_per_unit=8, radix=16)
    names = [str(name) for name in design.nodes.name]

    def rows(*ends: str) -> list[int]:
        pairs = zip(design.link_a.tolist(), design.link_b.tolist(), strict=True)
        return [i for i, (a, b) in enumerate(pairs) if {*ends} <= {names[a], names[b]}]

    leaf, pair, (slow,) = rows("su-1-leaf-3"), rows("su-2-leaf-2", "spine-2")[:1], rows("su-3-leaf-2", "spine-1")
    swap = rows("host-21-nic-1") + rows("host-21-nic-2")
    rates, port_b = design.links.capacity_gbps.copy(), design.links.port_b.copy()
    rates[slow] /= 2
    port_b[swap] = port_b[swap[::-1]]
    slowed = replace(design, links=replace(design.links, capacity_gbps=rates))
    swapped = replace(design, links=replace(design.links, port_b=port_b))
    alone = {
        "device-missing": design.without(links=leaf),
        "missing": design.without(links=pair),
        "rate-unlike-plan": slowed,
        "swapped": swapped,
    }
    twice = design.nodes.name.copy()
    twice[names.index("spine-8")] = "spine-7"
    links = replace(design.links, capacity_gbps=rates, port_b=port_b)
    found = replace(design, links=links, nodes=replace(design.nodes, name=twice)).without(links=[*leaf, *pair])
    return design, found, alone


def test_mixed_faults_rank_by_what_each_loses() -> None:
    """Each fault put into the design alone, loads worked out anew: the same loss, and what loses most comes first."""
    design, found, alone = mixed_faults()
    demand = all_to_all(design)
    theta = min(1.0, link_loads(design, demand).theta)
    lost = {}
    for code, fabric in alone.items():
        loads = link_loads(fabric, demand)
        over = np.maximum(theta * loads.arc_gbps - loads.capacity_gbps, 0.0).sum()
        lost[code] = float(over + theta * loads.lost_gbps)
    answer = validate(found, design, bisection=False)
    told = {one.code: one for one in answer.findings}
    assert {code: told[code].lost_gbps for code in lost} == pytest.approx(lost, abs=1e-6)
    ranked = sorted(lost, key=lambda code: -lost[code])
    assert ranked == ["device-missing", "missing", "rate-unlike-plan", "swapped"]
    assert [one.code for one in answer.findings if one.code in lost] == ranked
    assert told["device-missing"].price.cut_off == 8 and lost["swapped"] == 0
    assert [one.code for one in answer.findings if one.severity == "warning"] == ["devices-exchanged", "name-duplicate"]


def test_a_cut_off_leaf_ranks_before_a_thin_pair_that_loses_less() -> None:
    design = topo.leaf_spine(8, 4, 8, parallel=2)
    names = design.nodes.name
    leaf = np.flatnonzero((names[design.link_a] == "leaf-3") | (names[design.link_b] == "leaf-3"))
    thin = np.flatnonzero((names[design.link_a] == "leaf-5") & (names[design.link_b] == "spine-2"))[:1]
    first, second = validate(design.without(links=[*leaf, *thin]), design, bisection=False).findings
    assert (first.code, second.code) == ("device-missing", "missing")
    assert first.lost_gbps > second.lost_gbps and first.price.theta > second.price.theta
