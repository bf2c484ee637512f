"""The tier picture: what it stands for adds up, whatever the fabric, and no name gets through unescaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, Fabric
from topo.view.blocks import Blocks
from topo.view.layout import scene_of
from topo.view.tiers import draw_tiers
from topo.view.units import Units

SVG = "{http://www.w3.org/2000/svg}"
MOST_ELEMENTS = 800

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "]]></style><b>",
    "line\nbreak\tand\x00nul\x1b[31m",
    "right\u202eto-left\u2066",
    "שלום-1",
    "a" * 500,
    "&amp;&lt;",
    "\ud800lone",
]


def torus(side: int) -> Fabric:
    assembly = Assembly(f"torus {side}x{side}")
    i = np.arange(side * side)
    switch = assembly.add_nodes([f"s{j}" for j in i], kind="switch", tier=1)
    host = assembly.add_nodes([f"h{j}" for j in i], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, switch, 100, kind="access")
    assembly.connect(switch, switch[i // side * side + (i + 1) % side], 100)
    assembly.connect(switch, switch[(i + side) % len(i)], 100)
    return assembly.finish()


def hostile(names: list[str]) -> Fabric:
    assembly = Assembly(names[0])
    rows = assembly.add_nodes(names, kind="switch", tier=1)
    host = assembly.add_nodes(names[::-1], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, rows, float("nan"), kind="access")
    assembly.connect(rows[1:], rows[:-1], 100)
    return assembly.finish()


def random_fabric(seed: int) -> Fabric:
    """Switches of any tier wired at random, hosts anywhere, some alone: nothing a picture could rely on."""
    rng = np.random.default_rng(seed)
    assembly = Assembly(f"random {seed}")
    n = int(rng.integers(1, 40))
    switches = np.concatenate(
        [assembly.add_nodes([f"s{i}"], kind="switch", tier=int(rng.integers(0, 6))) for i in range(n)]
    )
    m = int(rng.integers(0, 200))
    hosts = assembly.add_nodes([f"h{i}" for i in range(m)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    if m:
        assembly.connect(hosts[: m // 2 * 2], switches[rng.integers(0, n, m // 2 * 2)], 100, kind="access")
    assembly.connect(switches[rng.integers(0, n, 3 * n)], switches[rng.integers(0, n, 3 * n)], 100)
    return assembly.finish()


FABRICS: dict[str, Callable[[], Fabric]] = {
    "leaf-spine": lambda: topo.leaf_spine(4, 2, 2, parallel=2),
    "wide": lambda: topo.leaf_spine(64, 32, 32),
    "fat-tree 4": lambda: topo.fat_tree(4),
    "fat-tree 16": lambda: topo.fat_tree(16),
    "4 units": lambda: topo.rail_optimized(127, managers=2),
    "16,384": lambda: topo.rail_optimized(2048, tiers=3, spine_groups=16),
    "four tiers": lambda: topo.clos(20_000, tiers=4, radix=32, taper=[2, 1, 1]),
    "torus": lambda: torus(8),
    "one switch": lambda: topo.clos(20, tiers=1),
    "parts": lambda: topo.fat_tree(8).without(nodes="core-*"),
    "empty": lambda: Assembly("empty").finish(),
    "hostile": lambda: hostile(HOSTILE),
    "many parts": lambda: topo.leaf_spine(300, 1, 2).without(nodes="spine-1"),
}


@pytest.fixture(params=list(FABRICS), ids=list(FABRICS))
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return FABRICS[request.param]()


def elements(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg.encode("utf-8")).iter())


def test_every_picture_is_well_formed_bounded_and_described(fabric: Fabric) -> None:
    drawing = draw_tiers(fabric)
    found = elements(drawing.svg)
    assert len(found) <= MOST_ELEMENTS
    root = found[0]
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title" and root[1].tag == f"{SVG}desc"
    assert root[1].text is not None and drawing.alt[:40] in root[1].text
    assert drawing._repr_svg_() == drawing.svg == draw_tiers(fabric).svg


@pytest.mark.parametrize("seed", range(40))
def test_boxes_and_lines_add_up_on_random_fabrics(seed: int) -> None:
    check_sums(random_fabric(seed))


def test_boxes_and_lines_add_up(fabric: Fabric) -> None:
    check_sums(fabric)


def check_sums(fabric: Fabric) -> None:
    """Each switch and host is in one box, each link in one bundle; rates sum to the fabric's."""
    units = Units.of(fabric)
    scene = scene_of(units)
    drawn = np.concatenate([box.units for box in scene.boxes]) if scene.boxes else np.empty(0, int)
    assert sorted(drawn.tolist()) == list(range(len(units)))
    assert sum(bundle.cables for bundle in scene.bundles) == len(units.links)
    want = fabric.links.capacity_gbps[units.links].sum()
    assert sum(bundle.gbps for bundle in scene.bundles) == pytest.approx(want, nan_ok=True)
    assert units.n_endpoints.sum() == len(fabric.endpoints)
    for box in scene.boxes:
        assert (units.tier[box.units] == box.tier).all()
        assert 0 <= box.start < box.end <= scene.columns
    for _, row in scene.rows():
        spans = sorted((scene.boxes[i].start, scene.boxes[i].end) for i in row)
        assert all(left[1] <= right[0] + 1e-9 for left, right in pairwise(spans))
    assert len(elements(draw_tiers(fabric).svg)) <= MOST_ELEMENTS


def test_no_element_but_drawing_ones_and_no_address() -> None:
    svg = draw_tiers(hostile(HOSTILE)).svg
    allowed = {"svg", "title", "desc", "style", "rect", "g", "text", "path"}
    assert {element.tag.removeprefix(SVG) for element in elements(svg)} <= allowed
    attributes = {name for element in elements(svg) for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or "href" in name or name == "src"}
    assert svg.count("http") == 1  # the SVG namespace, which nothing fetches
    assert "url(" not in svg and "@import" not in svg
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", svg)
    assert "&lt;script&gt;alert(1)" in svg


def test_small_fabrics_show_each_node_and_mark_parallel_cables() -> None:
    drawing = draw_tiers(topo.leaf_spine(4, 2, 2, parallel=2))
    texts = [element.text for element in elements(drawing.svg) if element.tag == f"{SVG}text"]
    for name in ["leaf-1", "leaf-4", "spine-1", "spine-2", "host-1", "host-8"]:
        assert texts.count(name) == 1
    assert texts.count("x2") > 0
    assert len([e for e in elements(drawing.svg) if e.tag == f"{SVG}path"]) == 8 + 8


def test_scalable_units_are_found_and_named() -> None:
    fabric = topo.rail_optimized(127, managers=2)
    scene = scene_of(Units.of(fabric))
    leaves = [box for box in scene.boxes if box.tier == 1]
    assert [(box.count, box.label) for box in leaves] == [("8 leaves", f"su-{i}") for i in (1, 2, 3, 4)]
    hosts = [box for box in scene.boxes if box.tier == 0]
    assert [box.count for box in hosts] == ["32 hosts", "32 hosts", "32 hosts", "31 hosts"]
    notes = " ".join(draw_tiers(fabric).notes)
    assert "Not drawn: 2 manager nodes, 4 management links." in notes


def test_units_are_found_without_any_column() -> None:
    """Strip every group column but host: leaves that share hosts are still the units, named by their stem."""
    from topo.fabric import NodeTable
    from topo.table import Labels

    fabric = topo.rail_optimized(128)
    none = Labels.constant(None, len(fabric.nodes))
    columns = {name: getattr(fabric.nodes, name) for name in fabric.nodes.columns()} | {
        "pod": none,
        "rail": none,
    }
    bare = Fabric("bare", NodeTable(**columns), fabric.ports, fabric.links)
    scene = scene_of(Units.of(bare))
    leaves = [box for box in scene.boxes if box.tier == 1]
    assert [len(box.units) for box in leaves] == [8, 8, 8, 8]
    assert [box.label for box in leaves] == ["su-1", "su-2", "su-3", "su-4"]


def test_blocks_of_a_fat_tree_are_leaves_pods_and_the_whole() -> None:
    blocks = Blocks(Units.of(topo.fat_tree(8)))
    assert np.bincount(blocks.level).tolist() == [32, 8, 1]
    assert [len(blocks.children(block)) for block in range(32, 40)] == [4] * 8
    assert blocks.n_lowest[blocks.roots()[0]] == 32


def test_rest_box_names_what_it_holds() -> None:
    scene = scene_of(Units.of(topo.rail_optimized(2048, tiers=3, spine_groups=16)))
    rest = [box for box in scene.boxes if box.n_more]
    assert {box.tier for box in rest} == {0, 1, 2}
    assert all(box.label == "14 more groups, alike" and box.n_more == 14 for box in rest)
    assert [len(box.units) for box in rest if box.tier == 1] == [14 * 32]


def test_a_missing_cable_is_counted_not_guessed() -> None:
    fabric = topo.rail_optimized(128)
    spine_links = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    whole = scene_of(Units.of(fabric))
    assert not any(bundle.uneven for bundle in whole.bundles)
    less = fabric.without(links=spine_links[:1])
    uneven = [bundle for bundle in scene_of(Units.of(less)).bundles if bundle.uneven]
    assert len(uneven) == 1
    assert uneven[0].cables == 255
    assert uneven[0].uneven.startswith("1 of 8 leaves here has fewer cables than the usual 32 (1 fewer in all")
    assert "Dashed: uneven cabling (1 line)" in " ".join(draw_tiers(less).notes)


def test_marked_links_are_counted_on_their_lines() -> None:
    fabric = topo.leaf_spine(4, 2, 2)
    cut = np.flatnonzero(fabric.link_a == fabric.rows("leaf-1")[0])
    drawing = draw_tiers(fabric, links=cut, links_word="cut")
    scene = scene_of(Units.of(fabric), np.isin(np.arange(len(fabric.links)), cut))
    assert sum(bundle.marked for bundle in scene.bundles) == len(cut) == 2
    assert any("Bold" in note and "cut" in note for note in drawing.notes)
    with pytest.raises(topo.ParameterError):
        draw_tiers(fabric, links=[10_000])


def test_unknown_rates_and_tiers_are_said() -> None:
    assembly = Assembly("unknown")
    switch = assembly.add_nodes(["a", "b"], kind="switch", tier=0)
    host = assembly.add_nodes(["h1", "h2"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, switch, float("nan"), kind="access")
    drawing = draw_tiers(assembly.finish())
    assert "rate unknown" in drawing.alt
    assert any("tier is not known" in note for note in drawing.notes)
    assert any("2 parts" in note for note in drawing.notes)


def test_a_chain_of_more_tiers_than_a_picture_has_boxes_is_drawn() -> None:
    """As a dump of switches in a row reads: each is a tier of its own, and no coarser picture is left."""
    n = 90
    assembly = Assembly("chain")
    switch = np.concatenate([assembly.add_nodes([f"s{i}"], kind="switch", tier=i + 1) for i in range(n)])
    host = assembly.add_nodes(["a", "b"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, switch[[0, 0]], 400, kind="access")
    assembly.connect(switch[:-1], switch[1:], 400, kind="scale_out")
    drawing = draw_tiers(assembly.finish())
    root = ElementTree.fromstring(drawing.svg)
    assert len(root.findall(f"{SVG}g")) == n + 1
