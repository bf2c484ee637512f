"""The pictures beside the whole: planes, rails, storage, a scale-up domain, a host opened. Nothing is hidden."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.view.alike import alike_classes
from topo.view.panels import left_out, panels_of
from topo.view.place import WIDTH, place
from topo.view.scene import Scene
from topo.view.text import plural
from topo.view.tiers import draw_tiers

SVG = "{http://www.w3.org/2000/svg}"
NAMES = (
    "alibaba-hpn-segment", "amd-mi300x-8", "deepseek-fire-flyer-2", "deepseek-mpft", "huawei-cloudmatrix384",
    "huawei-ub-mesh-pod", "intel-gaudi3", "leaf-spine-2to1", "meta-llama3-24k", "nvidia-dgx-a100", "nvidia-dgx-b300",
    "nvidia-dgx-h100", "nvidia-dgx-h100-nvlink-256", "nvidia-gb200-nvl72", "nvidia-gb300-nvl72",
    "nvidia-superpod-a100-7su",
    "nvidia-superpod-b300-spectrumx-1su-dgx", "nvidia-superpod-b300-spectrumx-2su",
    "nvidia-superpod-gb200-2su-nvl72", "nvidia-superpod-h100-4su", "nvidia-superpod-h100-4su-dgx", "ualink-1024",
)  # fmt: skip


@pytest.fixture(params=NAMES)
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return topo.load(request.param)


def scene_named(fabric: Fabric, start: str) -> Scene:
    (found,) = [scene for scene in panels_of(fabric) if scene.heading.startswith(start)]
    return found


def lines(scene: Scene) -> Counter[int]:
    """How many lines there are of each number of links."""
    return Counter(bundle.cables for bundle in scene.bundles if bundle.lower != bundle.upper)


def test_boxes_and_lines_of_every_panel_add_up(fabric: Fabric) -> None:
    for scene in panels_of(fabric):
        units = scene.units
        drawn = np.concatenate([box.units for box in scene.boxes])
        assert sorted(drawn.tolist()) == list(range(len(units)))
        assert sum(bundle.cables for bundle in scene.bundles) == len(units.links)
        want = fabric.links.capacity_gbps[units.links].sum()
        assert sum(bundle.gbps for bundle in scene.bundles) == pytest.approx(want)
        for _, row in scene.rows():
            spots = sorted((p.x, p.x + p.width) for p in (place(scene.boxes[i], 0.0, scene.columns) for i in row))
            assert all(left[1] <= right[0] for left, right in pairwise(spots))
            assert spots[-1][1] <= WIDTH


def test_every_node_and_link_is_drawn_stood_for_or_listed(fabric: Fabric) -> None:
    """Counted here from the scenes' own units: what is in no box and in nothing alike is told in the last note."""
    scenes = panels_of(fabric)
    nodes = np.zeros(len(fabric.nodes), bool)
    links = np.zeros(len(fabric.links), bool)
    for scene in scenes:
        nodes |= scene.units.of_node >= 0
        links[scene.units.links] = True
        if scene.stands_for is not None:
            labels = getattr(fabric.nodes, scene.stands_for.column)
            for code in scene.stands_for.codes.tolist():
                own = labels.codes == code
                nodes |= own
                links |= own[fabric.link_a] & own[fabric.link_b]
        unit = scene.units.of_node
        links |= (unit[fabric.link_a] >= 0) & (unit[fabric.link_a] == unit[fabric.link_b])
    parts = left_out(fabric, scenes)
    said = " ".join(parts)
    for n, word in ((int((~nodes).sum()), "node"), (int((~links).sum()), "link")):
        told = sum(int(number.replace(",", "")) for number in re.findall(rf"([\d,]+) \S*\s?{word}s?\b", said))
        told += sum(int(number.replace(",", "")) for number in re.findall(r"([\d,]+) NICs?\)", said)) * (word == "node")
        assert told == n
    if said:
        assert draw_tiers(fabric).notes[-1 - len(tier_assumptions(fabric))] == f"Not drawn: {', '.join(parts)}."


def tier_assumptions(fabric: Fabric) -> list[str]:
    return [text for text in fabric.origin.assumptions if "tier" in text.lower()]


def test_text_says_what_the_picture_says(fabric: Fabric) -> None:
    """Every heading, every word of a row head, every lumped box and every caption total is in the words."""
    drawing = draw_tiers(fabric)
    told = " ".join([drawing.alt, *drawing.notes])
    scenes = panels_of(fabric)
    for scene in scenes[1:]:
        assert scene.heading in drawing.alt
    for scene in scenes:
        for tier, row in scene.rows():
            assert all(plural(n, word) in drawing.alt for word, n in scene.words(row))
            lumped = [scene.boxes[i] for i in row if scene.boxes[i].n_more]
            assert all(box.label in told for box in lumped)
            if lumped:
                assert f"{sum(len(box.units) for box in lumped):,}" in told, tier
    root = ElementTree.fromstring(drawing.svg)
    description = root.find(f"{SVG}desc")
    assert description is not None and description.text == told


def test_labels_lie_on_no_box_and_on_no_other_label(fabric: Fabric) -> None:
    root = ElementTree.fromstring(draw_tiers(fabric).svg)
    rects = [e for e in root.iter(f"{SVG}rect") if e.get("x")]

    def area(e: ElementTree.Element) -> tuple[float, float, float, float]:
        x, y, w, h = (float(e.get(key, "0")) for key in ("x", "y", "width", "height"))
        return x, y, x + w, y + h

    boxes = [area(e) for e in rects if e.get("class") != "b"]
    labels = [area(e) for e in rects if e.get("class") == "b"]
    for label in labels:
        assert label[0] >= 0 and label[2] <= WIDTH
        assert not any(overlap(label, box) > 2 for box in boxes)
    assert not any(overlap(x, y) > 2 for x, y in combinations(labels, 2))


def test_texts_of_the_margin_stand_apart(fabric: Fabric) -> None:
    """Headings, row heads and totals at the left: none is written over another."""
    root = ElementTree.fromstring(draw_tiers(fabric).svg)
    left = [e for e in root.iter(f"{SVG}text") if float(e.get("x", "0")) == 12]
    at = sorted(float(e.get("y", "0")) for e in left)
    assert len(at) > 3 and min(below - above for above, below in pairwise(at)) > 11


@pytest.mark.parametrize(
    ("name", "legs", "cables"),
    [("alibaba-hpn-pod", 30720, 15360), ("nvidia-superpod-b300-spectrumx-16su", 32768, 16384)],
)
def test_legs_are_called_links_and_their_cables_are_counted(name: str, legs: int, cables: int) -> None:
    drawing = draw_tiers(topo.load(name))
    assert f"{legs:,} of the links are legs of {cables:,} cables: a breakout splits one port." in drawing.notes
    assert "Leaf to host: 30,720 cables" not in drawing.alt and "16,384 cables" not in drawing.alt
    assert ("Spine to leaf: 14,400 cables" in drawing.alt) is (name == "alibaba-hpn-pod")  # whole cables stay cables
    assert not any("legs" in note for note in draw_tiers(topo.load("nvidia-superpod-h100-4su")).notes)


def overlap(x: tuple[float, float, float, float], y: tuple[float, float, float, float]) -> float:
    """Depth in pixels to which two rectangles lie on each other."""
    return min(min(x[2], y[2]) - max(x[0], y[0]), min(x[3], y[3]) - max(x[1], y[1]))


def test_nvl72_domain_is_18_switches_over_18_trays() -> None:
    """1,296 links, 4 of each tray to each switch: three of each drawn, fifteen alike in a box."""
    scene = scene_named(topo.load("nvidia-gb200-nvl72"), "Scale-up domain")
    assert sum(bundle.cables for bundle in scene.bundles) == 1296 == 18 * 18 * 4
    assert lines(scene) == {4: 9, 60: 6, 900: 1}
    assert [box.label for box in scene.boxes if box.n_more] == [
        "15 more scale-up switches, alike",
        "15 more hosts, alike",
    ]


def test_racks_under_a_rail_optimized_fabric_stand_for_all_sixteen() -> None:
    headings = [scene.heading for scene in panels_of(topo.load("nvidia-superpod-gb200-2su-nvl72"))]
    assert headings == [
        "",
        "By rail",
        "Scale-up domain gb200-nvl72-01, one of 16 alike",
        "Inside gb200-nvl72-01-host-01, one of 288 alike",
    ]


def test_dgx_h100_opened() -> None:
    """18 links of each accelerator, as 5, 4, 4 and 5; each accelerator beside the adapter of its PCIe switch."""
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    scene = scene_named(fabric, "Inside host-001, one of 127 alike")
    nodes = fabric.nodes
    chips = [bundle for bundle in scene.bundles if scene.boxes[bundle.upper].word == "scale-up switch"]
    assert Counter(bundle.cables for bundle in chips) == {5: 16, 4: 16}
    assert sum(bundle.gbps for bundle in chips) == 144 * 200
    ends = sorted((box for box in scene.boxes if box.word in {"accelerator", "NIC"}), key=lambda box: box.start)
    rows = [int(scene.units.node[box.units[0]]) for box in ends]
    rails = [str(nodes.rail[row]) for row in rows if nodes.rail[row]]
    assert rails == [f"rail-{i}" for i in range(1, 9) for _ in range(2)]  # accelerator i, then the adapter it uses
    assert scene.said == (
        "Out of the host lead 8 access links of 3,200 Gb/s together, 2 storage links of 800 Gb/s together.",
    )


def test_accelerators_behind_their_adapters_stand_beside_them() -> None:
    """DGX B300 has no PCIe switch of its own: the adapter is one."""
    scene = scene_named(topo.load("nvidia-dgx-b300"), "Inside")
    order = [box.label for box in sorted(scene.boxes, key=lambda box: box.start) if box.label[:3] in {"gpu", "nic"}]
    assert order == [name for i in range(1, 9) for name in (f"gpu-{i}", f"nic-{i}")]
    assert any(text.startswith("Arcs: NIC to accelerator, 8 links") for text in draw_tiers(scene.units.fabric).notes)


def test_numa_nodes_are_not_counted_as_cpus() -> None:
    """DGX A100 has two sockets of four NUMA nodes each."""
    scene = scene_named(topo.load("nvidia-dgx-a100"), "Inside")
    assert scene.words(scene.rows()[-1][1]) == [("CPU part", 8)]


def test_full_meshes_show_every_pair() -> None:
    assert lines(scene_named(topo.load("intel-gaudi3"), "Inside")) == {3: 28, 1: 8}
    mi300x = scene_named(topo.load("amd-mi300x-8"), "Inside")
    assert sum(1 for b in mi300x.bundles if mi300x.boxes[b.upper].word == mi300x.boxes[b.lower].word) == 28
    racks = scene_named(topo.load("huawei-ub-mesh-pod"), "Scale-up domain")
    assert lines(racks) == {64: 48}  # a 4 x 4 grid of racks, full in each row and column: 16 * (3 + 3) / 2 pairs


def test_planes_are_apart_and_share_the_hosts() -> None:
    scene = scene_named(topo.load("alibaba-hpn-pod"), "By plane")
    for bundle in scene.bundles:
        upper, lower = scene.boxes[bundle.upper], scene.boxes[bundle.lower]
        if lower.tier:
            assert upper.label == lower.label  # no cable from plane to plane
        else:
            assert (bundle.cables, bundle.gbps) == (15_360, 15_360 * 200.0)
    assert [box.label for box in scene.boxes if box.tier == 1] == ["plane-1", "plane-2"]


def test_rails_reach_their_own_leaves_only() -> None:
    scene = scene_named(topo.load("nvidia-superpod-h100-4su"), "By rail")
    access = [bundle for bundle in scene.bundles if scene.boxes[bundle.lower].tier == 0]
    assert [bundle.cables for bundle in access] == [127] * 8
    assert all(scene.boxes[b.upper].label == scene.boxes[b.lower].label for b in access)


def test_many_planes_are_a_few_and_the_rest_alike() -> None:
    scene = scene_named(topo.load("alibaba-hpn-rail-only"), "By plane")
    leaves = [box for box in scene.boxes if box.tier == 1]
    assert [box.label for box in leaves] == ["plane-01", "plane-02", "plane-03", "13 more planes, alike"]
    assert [len(box.units) for box in leaves] == [120, 120, 120, 13 * 120]


def test_a_plane_that_lost_a_cable_is_not_called_alike() -> None:
    fabric = topo.load("alibaba-hpn-rail-only")
    leaf = fabric.select(kind="switch", tier=1, plane="plane-16")[0]
    lost = np.flatnonzero((fabric.link_a == leaf) & fabric.links.kind.is_any("scale_out"))[:1]
    assert lost.size
    labels = [box.label for box in scene_named(fabric.without(links=lost), "By plane").boxes if box.n_more]
    assert labels == ["9 more planes", "9 more planes"]


def test_storage_stands_beside_with_both_its_sides() -> None:
    """RA-11333-001: 127 hosts with two storage ports each; the 32 servers with two each are ours."""
    scene = scene_named(topo.load("nvidia-superpod-h100-4su-dgx"), "The storage network")
    assert [(box.count, box.label) for box in scene.boxes if not box.tier] == [
        ("127 hosts", "compute hosts"),
        ("32 hosts", "storage servers"),
    ]
    low = [bundle.cables for bundle in scene.bundles if scene.boxes[bundle.lower].tier == 0]
    assert low == [254, 64]


def test_a_host_with_a_dead_link_is_a_class_of_its_own() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    hosts = np.unique(fabric.nodes.host.codes[fabric.endpoints])
    assert [len(alike) for alike in alike_classes(fabric, "host", hosts)] == [127]
    inside = np.flatnonzero(fabric.links.kind.is_any("scale_up"))
    broken = fabric.without(links=inside[-1:])
    classes = alike_classes(broken, "host", hosts)
    assert [len(alike) for alike in classes] == [126, 1]
    assert str(broken.nodes.host.labels[classes[1].code]) == "host-127"
    headings = [scene.heading for scene in panels_of(broken) if scene.heading.startswith("Inside")]
    assert headings == ["Inside host-001, one of 126 alike", "Inside host-127"]


def test_marked_links_leave_only_the_panels_that_hold_some() -> None:
    fabric = topo.load("nvidia-superpod-gb200-2su-nvl72")
    marked = np.zeros(len(fabric.links), bool)
    marked[np.flatnonzero(fabric.links.kind.is_any("scale_up"))[:5]] = True
    scenes = panels_of(fabric, marked)
    assert [scene.heading.partition(",")[0] for scene in scenes] == ["", "Scale-up domain gb200-nvl72-01"]
    assert sum(bundle.marked for scene in scenes for bundle in scene.bundles) == 5
    assert any(note.endswith("many of the line's links they are.") for note in draw_tiers(fabric, links=marked).notes)


def test_a_line_past_a_row_runs_beside_its_boxes() -> None:
    """Fire-Flyer 2: the joints reach leaves directly; no such line may seem to end at a spine."""
    fabric = topo.load("deepseek-fire-flyer-2")
    svg = draw_tiers(fabric).svg
    (scene,) = panels_of(fabric)
    past = [b for b in scene.bundles if (scene.boxes[b.upper].tier, scene.boxes[b.lower].tier) == (3, 1)]
    root = ElementTree.fromstring(svg)
    spines = [e for e in root.iter(f"{SVG}rect") if e.get("class") == "t2"]
    assert len(spines) == 2
    upright = [float(x) for x in re.findall(r"L([\d.]+) [\d.]+V", svg)]
    assert len(upright) == len(past) > 0
    for spine in spines:
        left = float(spine.get("x", "nan"))
        assert not any(left <= x <= left + float(spine.get("width", "nan")) for x in upright)


def test_selene_has_four_pods(shared_data: Path) -> None:
    """Two management spines hang from the core on their own: the picture counts them apart."""
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    whole = panels_of(fabric)[0]
    spines = [box for box in whole.boxes if box.tier == 2]
    assert [box.label for box in spines] == ["pod-1", "pod-2", "pod-3", "pod-4", "2 small parts"]
    assert [len(box.units) for box in spines] == [80, 80, 80, 80, 2]


def test_leaves_that_share_a_stem_are_told_apart(shared_data: Path) -> None:
    whole = panels_of(topo.read(shared_data / "ibnetdiscover" / "topograph__example.out"))[0]
    labels = [box.label for box in whole.boxes if box.tier == 1]
    assert labels == [f"{'A' if i < 5 else 'B'}09-P1-IBLEAF-*-{i:02d}" for i in range(1, 9)]
