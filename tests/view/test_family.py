"""Pictures that suit each family: which one is chosen, and that what is drawn is what the fabric has."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.view.family import draw_fabric
from topo.view.tiers import draw_tiers

SVG = "{http://www.w3.org/2000/svg}"


def paths(svg: str, style: str) -> str:
    """All that is drawn in one style."""
    return "".join(p.get("d", "") for p in ElementTree.fromstring(svg).iter(f"{SVG}path") if p.get("class") == style)


def dots(svg: str) -> int:
    return sum(1 for _ in ElementTree.fromstring(svg).iter(f"{SVG}circle"))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: topo.torus([4, 4]), "a grid of 4 x 4 hosts, 32 links"),
        (lambda: topo.torus([3, 4], wrap=False, hosts_per_switch=2), "a grid of 3 x 4 switches, 17 links"),
        (lambda: topo.hyperx([4, 6], 2), "Dimension 1 is joined all with all, dimension 2 is joined all with all"),
        (lambda: topo.load("google-tpu-v4-twisted"), "Dimension 1 closes with a twist"),
        (lambda: topo.hamming_mesh([2, 2], [4, 4]), "a grid of 8 x 8 accelerators"),
        (lambda: topo.dragonfly(2, 4, 2), "9 groups of 4 switches in a ring, 54 links inside groups, 36 links between"),
        (lambda: topo.dragonfly_plus(2, 2, 2, 2), "groups of 4 switches in a ring"),
        (lambda: topo.slim_fly(5), "50 switches and the 175 links between them as a matrix"),
        (lambda: topo.jellyfish(20, 4, 2), "20 switches and the 40 links between them as a matrix"),
        (lambda: topo.xpander(4, 5, 2), "as a matrix"),
        (lambda: topo.bcube(4, 1), "16 hosts that relay for each other, under 2 levels of switches, 8 in all"),
        (lambda: topo.dcell(4, 1), "5 cells of 4 hosts in a ring, a switch in each, 10 links between them"),
    ],
)
def test_each_family_has_its_picture(build: Callable[[], Fabric], said: str) -> None:
    drawing = draw_fabric(build())
    assert said in drawing.alt
    ElementTree.fromstring(drawing.svg)
    assert "href" not in drawing.svg and "<script" not in drawing.svg


@pytest.mark.parametrize("build", [lambda: topo.fat_tree(4), lambda: topo.leaf_spine(4, 2, 2)])
def test_what_has_tiers_is_drawn_by_tiers(build: Callable[[], Fabric]) -> None:
    fabric = build()
    assert draw_fabric(fabric).svg == draw_tiers(fabric).svg


@pytest.mark.parametrize("dims", [[4, 4], [5, 3], [6, 8]])
def test_a_torus_has_every_link_once(dims: list[int]) -> None:
    svg = draw_fabric(topo.torus(dims)).svg
    straight, bowed = paths(svg, "l").count("M"), paths(svg, "w").count("M")
    n = dims[0] * dims[1]
    assert dots(svg) == n
    assert bowed == dims[0] + dims[1]
    assert straight + bowed == 2 * n


def test_a_matrix_has_two_cells_a_link_and_is_symmetric() -> None:
    fabric = topo.slim_fly(5)
    cells = re.findall(r"M([\d.]+) ([\d.]+)h", paths(draw_fabric(fabric).svg, "mf"))
    assert len(cells) == 2 * 175
    places = {(float(x) - 40, float(y) - 30) for x, y in cells}
    assert {(round(y, 1), round(x, 1)) for x, y in places} == {(round(x, 1), round(y, 1)) for x, y in places}


def test_a_ring_has_a_line_a_pair_of_groups() -> None:
    svg = draw_fabric(topo.dragonfly(2, 4, 2)).svg
    # 36 pairs of groups, and the six links of the group that is opened.
    assert paths(svg, "f").count("M") == 36 + 6
    assert dots(svg) == 9 + 4


def test_bcube_has_every_link() -> None:
    fabric = topo.bcube(4, 2)
    assert paths(draw_fabric(fabric).svg, "f").count("M") == len(fabric.links) == 192


def test_large_fabrics_stay_readable_and_small() -> None:
    for name in ("slim-fly-q19", "olcf-frontier", "alcf-aurora", "bcube-8-3", "xpander-1000", "google-tpu-v5p"):
        drawing = draw_fabric(topo.load(name))
        assert len(drawing.svg) < 200_000
    assert "Shown are the first" in " ".join(drawing.notes)


@pytest.mark.parametrize(
    "build",
    [lambda: topo.torus([4, 4]), lambda: topo.hyperx([4, 4], 2), lambda: topo.slim_fly(5), lambda: topo.bcube(4, 1)],
)
def test_marked_links_are_bold(build: Callable[[], Fabric]) -> None:
    fabric = build()
    cut = topo.bisection_bandwidth(fabric).links.rows
    drawing = draw_fabric(fabric, links=cut, links_word="cut")
    assert f"Bold: the {len(cut):,} cut links" in drawing.notes[-1]
    bold = paths(drawing.svg, "c") + paths(drawing.svg, "mc")
    plain = paths(draw_fabric(fabric).svg, "c") + paths(draw_fabric(fabric).svg, "mc")
    assert bold and not plain


def test_rows_outside_the_fabric_are_refused() -> None:
    with pytest.raises(ParameterError, match="links"):
        draw_fabric(topo.torus([4, 4]), links=np.array([10_000]))


def test_hostile_names_are_escaped() -> None:
    from dataclasses import replace

    fabric = topo.torus([2, 3])
    name = fabric.nodes.name.copy()
    name[0] = '<script>"&'
    hostile = replace(fabric, nodes=replace(fabric.nodes, name=name))
    svg = draw_fabric(hostile).svg
    ElementTree.fromstring(svg)
    assert "<script" not in svg


def test_boards_and_cubes_are_framed() -> None:
    drawing = draw_fabric(topo.hamming_mesh([2, 2], [3, 3]))
    assert paths(drawing.svg, "e").count("M") == 9
    assert "A frame: one host, such as board-1." in drawing.notes
    cubes = draw_fabric(topo.tpu_slice([8, 8, 4]))
    assert paths(cubes.svg, "e").count("M") == 4 * 4, "four cubes on each of four sheets"
    assert "A frame: one rack, such as cube-1." in cubes.notes
    assert not paths(draw_fabric(topo.torus([4, 4])).svg, "e")


def test_a_twisted_torus_is_no_open_mesh() -> None:
    twisted = draw_fabric(topo.load("google-tpu-v4-twisted"))
    # A stub at both ends of the 4 + 4 closing links of each of the four sheets shown, and one before the first heading.
    assert paths(twisted.svg, "w").count("M") == 4 * 8 * 2 + 1
    assert "Dashed stubs at the rim: they close on the far side of another sheet, 4 further on." in twisted.notes
    assert not paths(draw_fabric(topo.mesh([4, 4])).svg, "w")
    flat = draw_fabric(topo.torus([4, 8], twist=[[1, 2, 4]]))
    assert paths(flat.svg, "w").count("M") == 8 + 4, "within one sheet they are drawn whole"
    assert not any("stubs" in note for note in flat.notes)


def test_sheets_are_joined_between_their_headings() -> None:
    ring, full = draw_fabric(topo.torus([4, 4, 4])), draw_fabric(topo.hyperx([4, 4, 4], 1))
    assert paths(ring.svg, "w").count("M") == 4 * 8 + 2
    assert paths(full.svg, "g").count("M") == 4 * 8 + 3
    assert all(any("lines between the headings" in note for note in one.notes) for one in (ring, full))
