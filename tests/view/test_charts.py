"""Curves and heat: where points stand, which cells are shaded, and that names cannot act."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from topo.view.curves import Axis, Curve, draw_curves
from topo.view.heat import Strip, cells_of, draw_heat

HOSTILE = "<script>alert('\u202e')</script>\x1b[31m"
PERCENT = Axis("share, %", 0, 100, (0, 50, 100))


def points(svg: str, kind: str) -> np.ndarray:
    (found,) = re.findall(rf'<{kind} class="\w+" points="([^"]*)"', svg)
    return np.array([[float(value) for value in pair.split(",")] for pair in found.split()])


def test_a_line_goes_through_its_points() -> None:
    drawn = points(
        draw_curves([Curve("a", (0, 50, 100), (0, 50, 100))], PERCENT, PERCENT, title="t", alt="").svg, "polyline"
    )
    steps = np.diff(drawn, axis=0)
    assert np.allclose(steps[0], steps[1], atol=0.11) and steps[0, 0] > 0 > steps[0, 1]  # up is towards 0 in SVG


def test_doubling_is_even_on_a_doubling_axis() -> None:
    q = (1, 2, 4, 8)
    drawn = points(
        draw_curves([Curve("a", q, q)], Axis("q", 1, 8, q, log=True), PERCENT, title="", alt="").svg, "polyline"
    )
    assert np.ptp(np.diff(drawn[:, 0])) < 0.11


def test_steps_hold_until_the_next_point_and_bands_close() -> None:
    curve = Curve("a", (100, 40, 0), (0, 60, 100), (0, 50, 100), (0, 70, 100), shape="steps")
    svg = draw_curves([curve], PERCENT, PERCENT, title="t", alt="").svg
    line, band = points(svg, "polyline"), points(svg, "polygon")
    assert len(line) == 5 and line[0, 1] == line[1, 1] and line[1, 0] == line[2, 0]
    assert len(band) == 10 and "<circle" not in svg


def test_values_beyond_an_axis_stay_on_the_plane() -> None:
    drawn = points(
        draw_curves([Curve("a", (-10, 200), (-10, 200))], PERCENT, PERCENT, title="", alt="").svg, "polyline"
    )
    inside = points(draw_curves([Curve("a", (0, 100), (0, 100))], PERCENT, PERCENT, title="", alt="").svg, "polyline")
    assert (drawn == inside).all()


def test_the_greatest_of_those_that_share_a_cell_is_shown() -> None:
    generator = np.random.default_rng(0)
    column, value = generator.integers(0, 500, 6000), generator.random(6000)
    cells = cells_of(column, value)
    assert cells.shape == (8, 96)
    assert np.nanmax(cells) == value.max() and np.nanmin(cells) >= value.min()
    assert cells_of(np.array([3, 7]), np.array([0.5, 0.25])).tolist() == [[0.5, 0.25]]
    assert cells_of(np.empty(0, np.int64), np.empty(0)).size == 0


def test_one_full_link_among_thousands_is_seen() -> None:
    value = np.full(40_000, 0.4)
    value[12_345] = 1.5
    strip = Strip("leaf to spine", ("said",), cells_of(np.repeat(np.arange(1000), 40), value), "a … b")
    svg = draw_heat([strip], title="t", alt="").svg
    assert svg.count('<rect class="qo"') == 2  # its cell, and the legend's
    assert len(svg) < 8_000  # neighbours of one shade are one rectangle


@pytest.mark.parametrize("made", ["curves", "heat"])
def test_names_are_text_and_nothing_else(made: str) -> None:
    if made == "curves":
        axis = Axis(HOSTILE, 0, 1, (0, 1), labels=(HOSTILE, "b"))
        svg = draw_curves([Curve(HOSTILE, (0, 1), (0, 1))], axis, PERCENT, title=HOSTILE, alt=HOSTILE).svg
    else:
        svg = draw_heat([Strip(HOSTILE, (HOSTILE,), np.ones((1, 1)), HOSTILE)], title=HOSTILE, alt=HOSTILE).svg
    root = ElementTree.fromstring(svg)
    assert not {"\x1b", "\u202e"} & set(svg)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "path", "polyline", "polygon", "circle",
    }  # fmt: skip
    assert "url(" not in svg and "href" not in svg
