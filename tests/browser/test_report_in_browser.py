"""The report in a real browser: every family, narrow, dark, on paper; its tables sort and copy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import topo
from topo.report.content import Grid, Section
from topo.report.page import html_page

Opened = Callable[..., Any]

FAMILIES: dict[str, Callable[[], topo.Fabric]] = {
    "fat tree": lambda: topo.fat_tree(4),
    "leaf-spine": lambda: topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4),
    "rails": lambda: topo.rail_optimized(16, managers=0),
    "dragonfly": lambda: topo.dragonfly(4, 2, 2),
    "torus": lambda: topo.torus((3, 3, 3)),
    "jellyfish": lambda: topo.jellyfish(16, 3, 2),
    "BCube": lambda: topo.bcube(2, 1),
    "host": lambda: topo.load("nvidia-dgx-h100"),
}


@cache
def page_of(family: str) -> str:
    return topo.make_report(FAMILIES[family]()).to_html()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_opens_without_a_word_and_fits_a_telephone(opened: Opened, family: str) -> None:
    with opened(page_of(family), width=360, height=740, dark=True) as page:
        page.wait_for_selector(".map[data-ready]")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator(".item").count() > 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 25, 30)"
        assert page.locator("svg[role]:not([aria-label])").count() == 0


CHARTS = "#goodput figure, #throughput figure, #failures figure, #collisions figure:has(.k0), #step figure"


def test_charts_are_drawn_to_fit_a_telephone_and_stay_legible(opened: Opened) -> None:
    with opened(page_of("leaf-spine"), width=390) as page:
        shown = page.locator(CHARTS).locator("svg:visible")
        assert shown.count() == page.locator(CHARTS).count() >= 5
        for chart in shown.all():
            box = chart.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390
            assert chart.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth")
            for words in chart.locator("text").all():
                inside = words.bounding_box()
                assert inside["x"] >= box["x"] and inside["x"] + inside["width"] <= box["x"] + box["width"]
                size = "one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a"
                assert words.evaluate(size) >= 10
        for width, media in ((1280, "screen"), (390, "print")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(media=media)
            assert {one.get_attribute("width") for one in page.locator(CHARTS).locator("svg:visible").all()} == {"1000"}


def test_a_table_sorts_by_number_and_back(opened: Opened) -> None:
    with opened(page_of("leaf-spine")) as page:
        table = page.locator("table.grid:has(button.sort)").first
        button = table.locator("button.sort").last
        column = table.locator("thead th").count() - 1
        read = "(table, at) => [...table.tBodies[0].rows].map(row => row.cells[at].textContent.trim())"
        before = table.evaluate(read, column)
        button.click()
        up = table.evaluate(read, column)
        button.click()
        down = table.evaluate(read, column)
        assert sorted(up) == sorted(before) == sorted(down)
        assert table.locator("th[aria-sort=descending]").count() == 1
        if len(set(before)) > 1:
            assert up[0] != down[0]


def test_numbers_with_units_sort_by_size(opened: Opened) -> None:
    rows = (("1.5 Tb/s", "=b"), ("900 Gb/s", 'x,"y"'), ("1,200 Gb/s", "-1"), ("-", "+c"))
    with opened(html_page("t", "", [Section("a", "A", [Grid(("rate", "name"), rows)])])) as page:
        page.click("button.sort >> text=rate")
        found = page.eval_on_selector_all("tbody td:first-child", "all => all.map(one => one.textContent)")
        assert found == ["900 Gb/s", "1,200 Gb/s", "1.5 Tb/s", "-"]
        page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
        page.click("button.copy")
        lines = ["rate,name", '900 Gb/s,"x,""y"""', '"1,200 Gb/s",-1', "1.5 Tb/s,'=b", "-,'+c", ""]
        assert page.evaluate("window.copied") == "\r\n".join(lines)


def test_numbers_with_a_sign_sort_and_what_only_begins_as_one_is_no_formula(opened: Opened) -> None:
    rows = (("+0.40", "-1+cmd|' /C calc'!A0"), ("-0.02", "+2 Gb/s"), ("≤0.10", "-"), ("+0.00", "-3e2 %"))
    with opened(html_page("t", "", [Section("a", "A", [Grid(("points", "name"), rows)])])) as page:
        page.click("button.sort >> text=points")
        found = page.eval_on_selector_all("tbody td:first-child", "all => all.map(one => one.textContent)")
        assert found == ["-0.02", "+0.00", "≤0.10", "+0.40"]
        page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
        page.click("button.copy")
        lines = ["points,name", "-0.02,+2 Gb/s", "+0.00,-3e2 %", "≤0.10,-", "+0.40,'-1+cmd|' /C calc'!A0", ""]
        assert page.evaluate("window.copied") == "\r\n".join(lines)


def test_two_fabrics_side_by_side(opened: Opened) -> None:
    from topo.report.compared import comparison_page

    before, after = topo.leaf_spine(4, 4, 4), topo.leaf_spine(4, 2, 4)
    with opened(comparison_page(topo.compare_fabrics([before, after]), [before, after]), width=360) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.text_content("h1") == f"{before.name} beside {after.name}"
        for key in ("sides", "differences", "goodput-1", "goodput-2", "tiers-2"):
            assert page.locator(f"#{key}").count() == 1


def test_paper(opened: Opened) -> None:
    with opened(page_of("rails")) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for hidden in (".controls", "button.copy", "nav"):
            assert not page.locator(hidden).first.is_visible()
        # A form control in a head would keep it from being repeated on the next sheet.
        assert page.evaluate("getComputedStyle(document.querySelector('button.sort')).display") == "contents"


SHEET = (688, 1028)  # A4 less the margins of the style sheet, in pixels of 1/96 inch


@pytest.mark.parametrize("family", ["rails", "leaf-spine"])
def test_sheets_of_paper_are_full(opened: Opened, family: str) -> None:
    """Chapters follow each other on a sheet: in all at most one sheet's worth stays empty."""
    with opened(page_of(family), width=SHEET[0], height=SHEET[1]) as page:
        page.emulate_media(media="print")
        filled = page.evaluate("document.body.getBoundingClientRect().height") / SHEET[1]
        pdf = page.pdf(prefer_css_page_size=True)
        assert filled > 5
        assert filled <= len(re.findall(rb"/Type /Page\b", pdf)) <= math.ceil(filled) + 1
        highest = page.evaluate("Math.max(...[...document.querySelectorAll('figure svg')].map(o => o.clientHeight))")
        assert 0 < highest <= 0.58 * SHEET[1]  # a picture leaves room for what comes before it


def test_a_table_of_sentences_is_a_list_on_a_telephone(opened: Opened) -> None:
    grid = Grid(("where", "lost"), (("the cable from one end of the hall to the other", "2 Gb/s"),), "Findings")
    plain = Grid(("from", "to"), (("leaf-1", "spine-1"),))
    sections = [Section("wiring", "Wiring", [grid, plain])]
    with opened(html_page("t", "h", sections), width=390) as page:
        cells = page.locator("table.prose td")
        assert "where" in cells.nth(0).get_attribute("data-head")
        assert cells.nth(0).evaluate("one => getComputedStyle(one, '::before').content") != "none"
        first, second = cells.nth(0).bounding_box(), cells.nth(1).bounding_box()
        assert second["y"] >= first["y"] + first["height"]
        assert not page.locator("table.prose thead").is_visible() and page.locator("table.plain thead").is_visible()
        page.set_viewport_size({"width": 1200, "height": 900})
        assert cells.nth(0).bounding_box()["y"] == cells.nth(1).bounding_box()["y"]
