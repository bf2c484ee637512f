"""Fabrics side by side: the numbers are the analyses' own, and what differs is said."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import topo
from topo.cli import main
from topo.errors import ParameterError


@pytest.fixture(scope="module")
def found() -> topo.Result:
    return topo.compare_fabrics([topo.leaf_spine(leaves=4, spines=n, hosts_per_leaf=8) for n in (8, 4)])


def test_numbers_are_those_of_the_fabrics(found: topo.Result) -> None:
    one, other = found.fabrics
    assert (one.n_switches, other.n_switches) == (12, 8)
    assert one.bisection_share == (1.0, 1.0) and other.bisection_share == (0.5, 0.5)
    assert one.even_share == pytest.approx(1.0)
    assert other.even_share == pytest.approx(0.5 * 31 / 24)  # 1 / (o f), f = (N - h) / (N - 1)
    assert one.n1_cut_off == 8
    assert one.joined_share == 1.0


def test_what_differs_is_said_and_what_does_not_is_not(found: topo.Result) -> None:
    said = {text.partition(":")[0] for text in found.differences}
    assert {"switches", "fabric links", "bisection, of full"} <= said
    assert not {"endpoints", "hosts", "tiers", "rate of an endpoint"} & said
    marked = {cells[0] for cells in found.cells() if cells[0].endswith(" *")}
    assert {text.removesuffix(" *") for text in marked} == said


def test_a_fabric_is_like_itself() -> None:
    same = topo.load("nvidia-superpod-h100-1su")
    found = topo.compare_fabrics([same, same])
    assert found.differences == () and found.names == tuple(f"{same.name} ({i})" for i in (1, 2))


def test_it_renders(found: topo.Result) -> None:
    assert json.loads(found.to_json()) == found.to_dict()
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    assert "* differs" in str(found) and found._repr_html_().startswith("<table>")
    assert len(found.to_frame()) == len(found.rows())


def test_names_are_made_safe_in_html() -> None:
    from dataclasses import replace

    bad = replace(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2), name="<script>alert(1)</script>")
    assert "<script>" not in topo.compare_fabrics([bad, bad])._repr_html_()


def test_what_cannot_be_computed_is_said_beside_the_rest() -> None:
    """Accelerators on a board alone have no switches and no cable to price."""
    ring = topo.accelerator_torus([4, 4], link_gbps=400, host_dims=[4, 4])
    found = topo.compare_fabrics([ring, topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=8)])
    assert found.fabrics[0].price is None
    assert any("cables, power and price" in text for text in found.not_computed)


def test_too_few_or_no_fabrics_are_refused() -> None:
    one = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    with pytest.raises(ParameterError, match="give 2 to 26"):
        topo.compare_fabrics([one])
    with pytest.raises(ParameterError):
        topo.compare_fabrics([one, "nvidia-superpod-h100-1su"])


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["nvidia-superpod-h100-1su", "nvidia-superpod-h100-2su"]
    assert main(["compare", *names]) == 0
    text = capsys.readouterr().out
    assert "switches by tier *" in text and all(name in text for name in names)
    assert main(["compare", *names, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["n_switches"] for one in said["fabrics"]] == [12, 24]
    assert main(["compare", *names, "--format", "html", "-o", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert "What differs" in (tmp_path / "page.html").read_text()
    for wrong in (names[:1], [names[0], "no-such-fabric"]):
        assert main(["compare", *wrong]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
