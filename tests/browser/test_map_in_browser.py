"""The map in a real browser: it opens, finds, filters, zooms, tells loads and findings, and asks for nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import topo
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, Fabric
from topo.report.mapped import ask_map, fabric_map
from topo.report.page import map_page
from topo.wiring import validate

Opened = Callable[..., Any]


def page_of(fabric: Fabric) -> str:
    return map_page(fabric.name, ask_map(fabric))


def names(page: Any, kind: str = "unit") -> list[str]:
    found: list[str] = page.eval_on_selector_all(f".item.{kind}", "all => all.map(one => one.dataset.name)")
    return found


def test_groups_open_and_close(opened: Opened) -> None:
    with opened(page_of(topo.rail_optimized(127, managers=2))) as page:
        page.wait_for_selector(".map[data-ready]")
        assert sorted(names(page, "group")) == ["su-1", "su-2", "su-3", "su-4"]
        assert len(names(page)) == 16, "the spines stand one by one"
        page.click("[data-name=su-2]")
        assert sorted(names(page, "group")) == ["su-1", "su-3", "su-4"]
        assert len(names(page)) == 16 + 8 + 32
        page.click("[aria-label='close su-2']")
        assert len(names(page)) == 16
        page.click("button[name=open]")
        assert not names(page, "group") and len(names(page)) == 127 + 48
        page.click("button[name=close]")
        assert len(names(page, "group")) == 4


def test_a_key_opens_a_group(opened: Opened) -> None:
    with opened(page_of(topo.rail_optimized(127, managers=2))) as page:
        page.focus("[data-name=su-3]")
        page.keyboard.press("Enter")
        assert sorted(names(page, "group")) == ["su-1", "su-2", "su-4"]


def test_find_opens_what_holds_the_node_and_tells_of_it(opened: Opened) -> None:
    with opened(page_of(topo.rail_optimized(127, managers=2))) as page:
        page.fill("input[name=find]", "host-100")
        page.click("form button")
        assert page.get_attribute(".item.chosen", "data-name") == "host-100"
        assert page.text_content(".told").startswith("1 of 1: host-100; host, 8 endpoints")
        box, canvas = page.locator(".item.chosen").bounding_box(), page.locator(".canvas").bounding_box()
        assert abs(box["x"] + box["width"] / 2 - canvas["x"] - canvas["width"] / 2) < 5
        page.fill("input[name=find]", "no such")
        page.click("form button")
        assert "No host or switch has no such in its name" in page.text_content(".told")


def test_a_link_tells_its_load(opened: Opened) -> None:
    """Of a leaf's 8 hosts, 24/31 of what they send leaves over 4 links of one host's rate each."""
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8)
    with opened(page_of(fabric)) as page:
        share = round(100 * (8 * 24 / 31) / 4, 1)
        for _ in range(3):
            page.click("button[name=open]")
        page.dispatch_event("[data-ends='leaf-1|spine-1'] .hover", "mouseenter")
        told = page.text_content(".told")
        assert told.startswith("leaf-1 – spine-1: 1 link, 400 Gb/s in each direction; ")
        assert f"highest load {share} % of a link from leaf-1, {share} % back" in told
        assert "load-over" in page.get_attribute("[data-ends='leaf-1|spine-1']", "class")


def test_filters_leave_the_links_of_one_rail(opened: Opened) -> None:
    with opened(page_of(topo.rail_optimized(127, managers=2))) as page:
        page.click("[data-name=su-1]")
        before = page.locator(".link").count()
        page.select_option("select[name=rail]", label="rail-3")
        after = page.locator(".link").count()
        assert 0 < after < before
        off = set(page.eval_on_selector_all(".item.off", "all => all.map(one => one.dataset.name)"))
        leaves = [name for name in names(page) if "leaf" in name]
        assert len(leaves) == 8 and len(set(leaves) - off) == 1
        page.select_option("select[name=rail]", value="")
        assert page.locator(".link").count() == before
        page.select_option("select[name=pod]", index=2)
        assert page.locator(".item.group:not(.off)").count() == 1


def test_pan_and_zoom(opened: Opened) -> None:
    with opened(page_of(topo.fat_tree(8))) as page:
        scale = float(page.get_attribute(".canvas", "data-scale"))
        page.click("button[name=larger]")
        assert float(page.get_attribute(".canvas", "data-scale")) == pytest.approx(1.5 * scale)
        page.mouse.move(400, 450)
        page.mouse.wheel(0, 300)
        assert float(page.get_attribute(".canvas", "data-scale")) < 1.5 * scale
        before = page.get_attribute(".canvas > g", "transform")
        page.mouse.move(60, 400)
        page.mouse.down()
        page.mouse.move(120, 460, steps=4)
        page.mouse.up()
        assert page.get_attribute(".canvas > g", "transform") != before


def test_findings_mark_what_they_name(opened: Opened) -> None:
    design = topo.rail_optimized(127, managers=2)
    broken = design.without(links=[40])
    found = validate(broken, design, consequence=False)
    assert found.findings
    with opened(map_page("broken", fabric_map(broken, wiring=found))) as page:
        assert page.locator(".item.faulty").count() >= 1
        page.hover(".item.group.faulty")
        assert found.findings[0].code in page.text_content(".told")


def hostile() -> Fabric:
    names = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\"><b>'&", "\u202eright\x1b[31m"]
    assembly = Assembly(names[1])
    leaf = assembly.add_nodes(names, kind="switch", tier=1, part=names[1], pod=names[2])
    spine = assembly.add_nodes(names[:2], kind="switch", tier=2, plane=names[:2])
    host = assembly.add_nodes(names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING, rail=names)
    assembly.connect(host, leaf, 100, kind="access")
    assembly.stripe(leaf, spine, 1, 100)
    return assembly.finish()


def test_hostile_names_are_text(opened: Opened) -> None:
    with opened(page_of(hostile())) as page:
        assert "</script><img src=x onerror=alert(1)>" in page.text_content("h1")
        assert page.locator("img").count() == 0 and page.locator("b").count() == 0
        assert "<script>alert(1)</script>" in names(page)
        assert "\u202e" not in page.content() and "\x1b" not in page.content()


def test_policy_forbids_what_was_not_written_by_us(opened: Opened) -> None:
    with opened(page_of(topo.leaf_spine(2, 2, 2))) as page:
        policy = page.get_attribute("meta[http-equiv]", "content")
        assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
        assert page.locator("[style]").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_large_and_narrow(opened: Opened, dark: bool) -> None:
    """16,384 GPUs on a telephone's screen: grouped, no sideways scroll, everything within reach."""
    with opened(page_of(topo.load("nvidia-superpod-h100-64su")), width=360, height=740, dark=dark) as page:
        page.wait_for_selector(".map[data-ready]")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator(".item").count() < 200
        page.fill("input[name=find]", "host-1234")
        page.click("form button")
        assert page.locator(".item.chosen").count() == 1
        light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert light is not dark


def test_no_label_is_wider_than_its_box(opened: Opened) -> None:
    """Whatever letters this browser has: names that are too long lose their middle."""
    fabric = topo.leaf_spine(leaves=30, spines=2, hosts_per_leaf=1)
    given = {f.name: getattr(fabric.nodes, f.name) for f in dataclasses.fields(fabric.nodes)}
    given["name"] = [f"a-very-long-name-of-a-node-that-no-box-holds-{i:03}" for i in range(len(fabric.nodes))]
    long = Fabric("long", type(fabric.nodes)(**given), fabric.ports, fabric.links, fabric.groups, fabric.origin)
    with opened(map_page("long names", fabric_map(long))) as page:
        page.wait_for_selector(".map[data-ready]")
        page.click("button[name=open]")
        wide = page.evaluate("[...document.querySelectorAll('.item text')].map(one => one.getComputedTextLength())")
        assert len(wide) > 20 and max(wide) <= 100
