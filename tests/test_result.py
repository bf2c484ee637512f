"""Every answer: text, HTML, JSON round trip, frame, pickle; hostile names stay inert."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import topo
from topo.fabric import FORWARDS_NOTHING, Fabric
from topo.result import Result, Row, Standing, to_json_value


def all_answers() -> dict[str, Result]:
    """One of each kind of answer on a small fabric."""
    fabric = topo.rail_optimized(5, rails=4, hosts_per_unit=3, radix=8, managers=1)
    return {
        "inventory": topo.inventory(fabric),
        "paths": topo.inventory(fabric).paths,
        "oversubscription": topo.oversubscription(fabric),
        "min_cut": topo.min_cut(fabric, "host-1", "host-5"),
        "bisection": topo.bisection_bandwidth(fabric),
        "ecmp_stage": topo.ecmp_stage(8, 8),
        "leaves_spanned": topo.leaves_spanned(fabric, "host-[15]"),
        "catalog": topo.catalog(),
    }


@pytest.fixture(scope="module")
def answers() -> dict[str, Result]:
    """Computed once."""
    return all_answers()


NAMES = ["inventory", "paths", "oversubscription", "min_cut", "bisection", "ecmp_stage", "leaves_spanned", "catalog"]


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_renders(answers: dict[str, Result], name: str) -> None:
    answer = answers[name]
    rows = answer.rows()
    assert rows
    assert all(row.label in str(answer) for row in rows)
    page = answer._repr_html_()
    assert page.startswith("<table>")
    assert page.endswith("</table>")
    assert page.count("<tr>") == len(rows)
    frame = answer.to_frame()
    assert len(frame)
    assert json.loads(answer.to_json()) == answer.to_dict()
    again = pickle.loads(pickle.dumps(answer))
    assert again.to_dict() == answer.to_dict()


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("inventory", ("n_endpoints", "n_hosts", "n_switches", "n_links")),
        ("bisection", ("lower_gbps", "upper_gbps", "exact", "full_gbps")),
        ("min_cut", ("capacity_gbps", "links")),
        ("ecmp_stage", ("p_no_collision", "mean_rate", "max_load_mean", "slowest_rate")),
    ],
)
def test_names_that_others_rely_on(answers: dict[str, Result], name: str, keys: tuple[str, ...]) -> None:
    found = answers[name].to_dict()
    for key in keys:
        assert key in found
        assert to_json_value(getattr(answers[name], key)) == found[key]


def test_links_are_records_with_names(answers: dict[str, Result]) -> None:
    link = answers["min_cut"].to_dict()["links"][0]
    assert {"a", "a_port", "b", "b_port", "capacity_gbps"} <= set(link)


def test_rates_grow_their_prefix_and_booleans_are_words() -> None:
    assert Row("x", 201_600.0, "Gb/s").text() == "201.6 Tb/s"
    assert Row("x", math.nan, "Gb/s").text() == "unknown"
    assert Row("x", True).text() == "yes"
    assert Row("x", 12, "hops").text() == "12 hops"
    assert str(Standing("exact", "counted")) == "exact: counted"


def test_json_values() -> None:
    assert to_json_value({"a": np.float64("nan"), "b": np.arange(2), "c": (np.bool_(True), None)}) == {
        "a": None,
        "b": [0, 1],
        "c": [True, None],
    }
    with pytest.raises(TypeError, match="has no JSON form"):
        to_json_value(object())


def test_hostile_names_are_escaped_in_html() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=1)
    names = fabric.nodes.name.astype("<U40")
    names[fabric.switches] = '<script>alert("x")</script>'
    nodes = {name: getattr(fabric.nodes, name) for name in fabric.nodes.columns()} | {"name": names}
    hostile = Fabric("<b>", type(fabric.nodes)(**nodes), fabric.ports, fabric.links)
    assert (hostile.nodes.forwards[hostile.endpoints] == FORWARDS_NOTHING).all()
    for answer in (topo.inventory(hostile), topo.oversubscription(hostile), topo.bisection_bandwidth(hostile)):
        assert "<script" not in answer._repr_html_()
