"""The report: well-formed, self-contained, escaped, and every number is the Result's own."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import topo
import topo.report
from topo.analysis.published import PublishedNumber
from topo.build.assembly import Assembly
from topo.elements import Expected
from topo.fabric import FORWARDS_NOTHING, Fabric, Note, Origin
from topo.output import plain
from topo.report.halves import usual_keep
from topo.report.markdown import escape_markdown
from topo.units import format_gbps

VOID = {"meta", "link", "img", "br", "hr", "input"}
SELF_CLOSING = {"rect", "path"}


class Page(HTMLParser):
    """Collects tags, attributes and text; fails on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"style", "script"}:
            self.text.append(data)


def hostile() -> Fabric:
    names = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror='alert(1)'>",
        "line\nbreak | pipe `tick` \x1b[31m",
        "right\u202eto-left",
        "{{ 7 * 7 }}{% raw %}",
        "[click](http://evil.example/)",
        "</style></svg></title>",
        "# heading",
    ]
    assembly = Assembly(names[0])
    leaf = assembly.add_nodes(names, kind="switch", tier=1, part=names[1], pod=names[2])
    spine = assembly.add_nodes(names[:2], kind="switch", tier=2)
    host = assembly.add_nodes(names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, leaf, 100, kind="access")
    assembly.stripe(leaf, spine, 1, 100)
    notes = tuple(Note(name, source=name, line=3) for name in names)
    return assembly.finish(
        Origin(made_by=names[1], title=names[0], sources=tuple(names), assumptions=tuple(names), notes=notes)
    )


def unknown_rates() -> Fabric:
    assembly = Assembly("unknown")
    leaf = assembly.add_nodes(["a", "b"], kind="switch", tier=1)
    host = assembly.add_nodes(["h1", "h2"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, leaf, float("nan"), kind="access")
    assembly.connect(leaf[:1], leaf[1:], 100)
    return assembly.finish()


FABRICS = {
    "4 units": lambda: topo.rail_optimized(127, managers=2),
    "fat-tree": lambda: topo.fat_tree(8),
    "hostile": hostile,
    "unknown rates": unknown_rates,
    "parts": lambda: topo.fat_tree(4).without(nodes="core-*"),
    "empty": lambda: Assembly("empty").finish(),
    "one host": lambda: topo.leaf_spine(1, 1, 1),
}


@pytest.fixture(params=list(FABRICS), ids=list(FABRICS))
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return FABRICS[request.param]()


@pytest.fixture(scope="module")
def four_units() -> topo.report.Report:
    return topo.make_report(topo.rail_optimized(127, managers=2))


def test_every_fabric_gets_a_whole_report(fabric: Fabric) -> None:
    report = topo.make_report(fabric)
    page = Page(report.to_html())
    assert page.tags.count("h1") == 1
    for key in (
        "main-numbers",
        "tiers",
        "fabric",
        "inventory",
        "oversubscription",
        "paths",
        "bisection",
        "assumptions",
    ):
        assert ("section", "id", key) in page.attributes
    assert report.to_markdown().startswith("# ")
    assert json.loads(report.to_json()) == report.to_dict()
    assert topo.make_report(fabric).to_html() == report.to_html()
    assert topo.make_report(fabric).to_markdown() == report.to_markdown()


def test_summary_fits_a_terminal(fabric: Fabric) -> None:
    report = topo.make_report(fabric)
    lines = report.summary(columns=80, lines=24).split("\n")
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    whole = report.summary()
    assert str(report) == whole and "…" not in whole
    for row in report.rows():
        assert plain(row.text()) in whole and plain(str(row.standing or "")) in whole


def test_page_loads_nothing_and_runs_only_what_is_ours(fabric: Fabric) -> None:
    html = topo.make_report(fabric).to_html()
    page = Page(html)
    (policy,) = [
        value for tag, name, value in page.attributes if tag == "meta" and name == "content" and "src" in value
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert policy.endswith("img-src data:; base-uri 'none'; form-action 'none'")
    assert policy.count("'sha256-") == 3 + len(set(re.findall(r"<style>(.*?)</style>", html, re.DOTALL)))
    assert page.tags.count("script") == 4, "tables, D3, map, and the map's data"
    assert not [name for tag, name, _ in page.attributes if tag == "script" and name != "type"]
    assert not [value for _, name, value in page.attributes if name == "style"]
    assert not set(page.tags) & {"link", "iframe", "img", "object", "embed", "base", "image", "use"}
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in {"src", "href", "xlink:href", "action", "srcset", "data"}:
            assert value is not None and value.startswith("#"), (tag, name, value)
        if name not in {"xmlns", "content", "aria-label"}:
            assert "url(" not in (value or "")
    styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert styles and not any("url(" in style or "@import" in style for style in styles)


def test_hostile_names_show_themselves_and_do_nothing() -> None:
    fabric = hostile()
    report = topo.make_report(fabric)
    html, text = report.to_html(), report.to_markdown()
    page = Page(html)
    shown = "".join(page.text)
    assert "<script>alert(1)</script>" in shown
    assert "{{ 7 * 7 }}{% raw %}" in shown and "49" not in re.findall(r"\b49\b", shown)
    for output in (html, text, report.summary()):
        assert "\x1b" not in output and "\u202e" not in output
    assert page.tags.count("script") == 4 and "img" not in page.tags
    assert "<script" not in text.lower() and "<img" not in text.lower()
    assert not re.search(r"(?<!\\)\]\(", text) and "http://" not in text
    for line in text.split("\n"):
        assert not line.startswith("# heading") and "`" not in line
    tables = [line for line in text.split("\n") if line.startswith("|")]
    assert tables
    assert all(re.search(r"(?<!\\)\|$", line) for line in tables)


@pytest.mark.parametrize("name", ["a|b", "x\n# y", "`c`", "<b>", "*bold*", "_em_", "1. item", "- item", "~~s~~"])
def test_markdown_escapes_have_no_bare_mark(name: str) -> None:
    escaped = escape_markdown(name)
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)[*_`|<>~]|^(- |\d+\. )", escaped)


def test_tables_of_markdown_have_as_many_cells_as_columns(fabric: Fabric) -> None:
    block: list[int] = []
    for line in [*topo.make_report(fabric).to_markdown().split("\n"), ""]:
        if line.startswith("|"):
            block.append(line.count("|"))
        else:
            assert len(set(block)) <= 1
            block = []


def test_numbers_are_those_of_the_results(four_units: topo.report.Report) -> None:
    fabric = four_units.fabric
    assert four_units.to_dict()["inventory"] == topo.inventory(fabric).to_dict()
    assert four_units.to_dict()["bisection"] == topo.bisection_bandwidth(fabric).to_dict()
    assert four_units.to_dict()["oversubscription"] == topo.oversubscription(fabric).to_dict()
    shown = "".join(Page(four_units.to_html()).text)
    bisection, found = topo.bisection_bandwidth(fabric), topo.inventory(fabric)
    assert format_gbps(bisection.upper_gbps) in shown
    assert format_gbps(found.injection_gbps or 0) in shown
    for pair in found.tier_pairs:
        assert f"{pair.n_links:,}" in shown and format_gbps(pair.capacity_gbps or 0) in shown
    for hops, pairs in found.paths.pairs_by_hops.items():
        assert f"{pairs:,}" in shown, hops


def test_four_units_as_published(four_units: topo.report.Report) -> None:
    """RA-11333-001 V11, table 4, 4 SU: 127 nodes, 1016 GPUs, 32 leaves, 16 spines, 1024 spine-leaf cables."""
    assert four_units.verdict == "Non-blocking: the worst even split carries all that its smaller half can send."
    assert four_units.headline == four_units.verdict + (
        " 1,016 endpoints at 400 Gb/s; 48 switches; bisection 201.6 Tb/s one direction, exact, 100 % of full."
    )
    main = {row.label: row.text() for row in four_units.rows()}
    assert main["hosts"] == "127"
    assert main["switches"] == "48 (32 leaf, 16 spine)"
    assert main["links"] == "1,016 to hosts, 1,024 between switches"
    assert main["bisection, one direction"] == "201.6 Tb/s"
    assert four_units.verdicts == (
        "The upper bound: its cut and its halves were gone over again by separate code and hold.",
        "The lower bound: its proof was gone over again by separate code and holds.",
    )


def test_sides_and_cut_add_up(four_units: topo.report.Report) -> None:
    from topo.report.content import Grid, Section

    (section,) = [s for s in four_units.sections if s.key == "bisection"]
    assert isinstance(section, Section)
    grids = {item.caption: item for item in section.items if isinstance(item, Grid)}
    halves = grids["The halves"]
    assert sorted(sum(int(row[i].replace(",", "")) for row in halves.rows) for i in (1, 2)) == [504, 512]
    for caption in ("The cut by tier", "The cut by bundle"):
        grid = grids[caption]
        column = grid.head.index("links")
        assert sum(int(row[column].replace(",", "")) for row in grid.rows) == len(four_units.bisection.links)


def test_unknown_rates_say_how_to_state_one() -> None:
    report = topo.make_report(unknown_rates())
    shown = "".join(Page(report.to_html()).text)
    assert "Not computed" in shown and "assume_gbps" in shown
    assert "2 endpoints of unknown rate" in report.headline
    assert "bisection bandwidth not computed" in report.headline
    assert report.to_dict()["bisection"]["kind"] == "InputError"
    assert not isinstance(report.inventory, topo.TopoError)


def test_parts_are_told_with_their_sizes() -> None:
    report = topo.make_report(topo.fat_tree(4).without(nodes="core-*"))
    assert isinstance(report.bisection, topo.DisconnectedError)
    assert report.bisection.component_sizes == (4, 4, 4, 4)
    text = report.to_markdown()
    assert "Parts that no path joins" in text
    assert text.count("| 4 |") >= 4


def test_endpoints_restrict_the_bisection() -> None:
    fabric = topo.rail_optimized(64)
    report = topo.make_report(fabric, endpoints="host-0[1-8]-*")
    assert not isinstance(report.bisection, topo.TopoError)
    assert report.bisection.n_endpoints == 64
    with pytest.raises(topo.ParameterError):
        topo.make_report(fabric, endpoints="nobody-*")


def test_notes_are_grouped_and_located() -> None:
    notes = tuple(Note(f"port {i} seen twice", "dump.txt", i, "warning") for i in range(1, 41))
    fabric = topo.fat_tree(4)
    noted = Fabric(fabric.name, fabric.nodes, fabric.ports, fabric.links, origin=Origin(notes=notes))
    report = topo.make_report(noted)
    text = report.to_markdown()
    assert "40 notes of 1 kind" in text
    assert "dump.txt:1, dump.txt:2, dump.txt:3 and 37 more" in text
    assert len(report.to_dict()["notes"]) == 40
    assert "40, listed in the report" in report.summary()


def test_published_numbers_stand_beside_the_built_ones() -> None:
    fabric = topo.rail_optimized(127, managers=2)
    expect = tuple(
        (key, Expected(key, value, "P+D", note, printed))
        for key, value, note, printed in (
            ("n_endpoints", 1016, "", None),
            ("n_leaves", 32, "as drawn", 31),
            ("n_spines", 17, "", None),
            ("bisection_gbps", 201600, "", None),
        )
    )
    told = Fabric(fabric.name, fabric.nodes, fabric.ports, fabric.links, origin=Origin(expect=expect))
    report = topo.make_report(told, endpoints="host-00*")  # published numbers are about the whole fabric
    numbers = report.to_dict()["expected"]["numbers"]
    assert {number["key"]: (number["built"], number["agrees"]) for number in numbers} == {
        "n_endpoints": (1016, True),
        "n_leaves": (32, True),
        "n_spines": (16, False),
        "bisection_gbps": (201600, True),
    }
    text = report.to_markdown()
    assert text.count("DIFFERS") == 1
    assert "expected numbers DIFFER | spine switches: 17 expected, 16 built" in text
    assert "the source prints 31, an error; as drawn" in text


def test_checker_failure_is_shown() -> None:
    """A cut that is not what it claims must not pass as verified."""
    import dataclasses

    from topo.report.verdict import checked_bounds

    fabric = topo.fat_tree(4)
    answer = topo.bisection_bandwidth(fabric)
    wrong = dataclasses.replace(answer, upper_gbps=answer.upper_gbps - 400, lower_gbps=answer.lower_gbps + 400)
    said = checked_bounds(fabric, wrong)
    assert all("NOT confirmed" in text for text in said)


def test_template_is_shipped_with_the_package() -> None:
    assert (Path(topo.__file__).parent / "report" / "template.html").is_file()


def test_real_dump(shared_data: Path) -> None:
    """Selene: 13 leaf-spine and 16 spine-core cables are missing; the picture says uneven, the numbers bracket."""
    report = topo.make_report(topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt"))
    assert any(note.startswith("Dashed: uneven cabling") for note in report.drawing.notes)
    assert not isinstance(report.bisection, topo.TopoError)
    assert report.bisection.upper_gbps <= 1831 * 200
    assert all("gone over again" in text for text in report.verdicts)
    Page(report.to_html())
    assert np.isclose(report.to_dict()["inventory"]["injection_gbps"], 3675 * 200)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: topo.leaf_spine(4, 4, 8), "Blocking, narrowest at leaf-spine, 2:1: .* carries 50 % of full"),
        (lambda: topo.tapered_pods(2, leaves_per_pod=4, hosts_per_leaf=16, spines_per_pod=4, taper=4),
         "Blocking, narrowest at spine-core, 4:1: .* carries 25 % of full"),
        (lambda: topo.fat_tree(4), "Non-blocking: "),
        (lambda: topo.load("nvidia-dgx-h100"), "Non-blocking: "),
        (lambda: topo.load("amd-mi300x-8"), "Non-blocking: |Blocking, narrowest at "),
        (lambda: topo.fat_tree(4).without(nodes="core-*"), "Not one network: the endpoints fall into 4 parts"),
        (unknown_rates, "No verdict: links of unknown rate"),
        (lambda: topo.leaf_spine(1, 1, 1), "No verdict: there is nothing to split"),
    ],
)  # fmt: skip
def test_the_report_opens_with_a_verdict(made: Callable[[], Fabric], said: str) -> None:
    report = topo.make_report(made())
    assert re.match(said, report.verdict)
    assert report.summary().split("\n")[1].startswith(report.verdict[:40])
    assert report.to_dict()["verdict"] == report.verdict and report.verdict in html.unescape(report.to_html())


def test_racks_are_kept_whole_where_they_are_scale_up_domains() -> None:
    """Two racks of two trays, four accelerators each: hosts kept whole would count NVLink across the split."""
    fabric = topo.load("nvidia-superpod-gb200-2su-nvl72")
    assert usual_keep(fabric) == "domain"
    assert usual_keep(fabric, fabric.endpoint_rows("gb200-nvl72-01-*")) == "host"
    report = topo.make_report(fabric)
    assert not isinstance(report.bisection, topo.TopoError)
    assert (report.bisection.keep, report.bisection.ratio) == ("domain", 1.0)
    assert report.bisection.upper_gbps == 576 * 400  # half of 1,152 adapters
    assert "kept whole by the split | scale-up domains" in report.to_markdown()
    halves = report.to_dict()["bisection_halves"]
    assert sorted(map(len, halves)) == [8, 8] and len({*halves[0], *halves[1]}) == 16


def test_json_names_the_members_of_both_halves_and_the_tables_of_the_tiers() -> None:
    report = topo.make_report(topo.rail_optimized(5, rails=4, hosts_per_unit=3, radix=8))
    told = report.to_dict()
    assert sorted(name for half in told["bisection_halves"] for name in half) == [f"host-{i}" for i in range(1, 6)]
    assert [len(half) * 4 for half in told["bisection_halves"]] == told["bisection"]["halves"]
    assert sum(group["n_switches"] for group in told["tiers"]["switches"]) == told["inventory"]["n_switches"]
    assert told["tiers"]["links"] == told["inventory"]["tier_pairs"]


def test_a_number_between_the_bounds_is_inside_the_bracket() -> None:
    assert PublishedNumber("bisection_gbps", "x", 50.0, None, (40.0, 60.0), False, "P", "", None).verdict == (
        "inside the bracket"
    )
    outside = PublishedNumber("bisection_gbps", "x", 61.0, None, (40.0, 60.0), False, "P", "", None)
    assert outside.verdict == "differs" and "between 40 Gb/s and 60 Gb/s" in outside.built_text


def test_plain_words(four_units: topo.report.Report) -> None:
    text = four_units.to_markdown()
    assert "witness" not in text.lower()
    assert " units that stay together" not in text


def test_a_fabric_without_switches_is_told_as_what_it_is() -> None:
    report = topo.make_report(topo.torus((3, 3)), sections=["main-numbers", "oversubscription", "bisection"])
    text = report.to_markdown()
    assert "| links | 18 from host to host |" in text
    assert "There are no tiers of switches to compare." in text
    assert "Sides: 4 and 5 endpoints.\n" in text  # no groups of them, and no leaves


def test_ends_of_a_cut_below_the_tiers_have_their_own_words() -> None:
    report = topo.make_report(topo.load("nvidia-gb200-nvl72"), sections=["bisection", "throughput"])
    text = report.to_markdown()
    assert "| host - scale-up switch | 648 | 259.2 Tb/s |" in text
    assert "endpoint to scale-up or inside a host: 1,368 links" in text and "tier-" not in text.replace("\\", "")
