"""Fabrics side by side: the numbers are the analyses' own, and what differs is said."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import topo
from topo.cli import main
from topo.errors import ParameterError
from topo.source import fabrics_folder


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


@pytest.mark.parametrize(
    ("share", "margin", "differs"), [(0.598, 0.009, False), (0.56, 0.009, True), (0.595, 0, False)]
)
def test_sampled_numbers_differ_where_their_intervals_do(
    found: topo.Result, share: float, margin: float, differs: bool
) -> None:
    one = replace(found.fabrics[0], hashed_share=0.59, hashed_margin=0.009)
    two = replace(one, hashed_share=share, hashed_margin=margin)
    both = replace(found, fabrics=(one, two))
    assert any(text.startswith("permutation, ECMP hashed") for text in both.differences) == differs
    assert any(label.startswith("permutation, ECMP hashed") for label, *_ in both.spans) == differs


def test_power_is_told_to_three_digits(found: topo.Result) -> None:
    one = replace(found.fabrics[0], power_kw=13.44)
    both = replace(found, fabrics=(one, replace(one, power_kw=13.33)))
    (span,) = (span for span in both.spans if span[0].startswith("power"))
    assert [text.split(",")[0] for text in span[1:3]] == ["13.3", "13.4"]


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


@pytest.mark.parametrize("name", ["wiring.fabric", "wiring.csv", "spec.yaml"])
def test_a_fabric_beside_a_file_of_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file of a fabric keeps does not differ: counts, distances, what arrives."""
    here, file = "leaf-spine-2to1", tmp_path / name
    if name == "spec.yaml":
        file.write_text((fabrics_folder() / f"{here}.yaml").read_text())
    else:
        told = ["--to", "schedule"] if name.endswith("csv") else []
        assert main(["convert", here, str(file), *told]) == 0
    capsys.readouterr()
    assert main(["compare", here, str(file), "--format", "json"]) == 0
    one, other = json.loads(capsys.readouterr().out)["fabrics"]
    kept = (
        "n_endpoints",
        "n_hosts",
        "n_switches",
        "n_fabric_links",
        "bisection_lower_gbps",
        "bisection_upper_gbps",
        "even_share",
        "n1_share",
        "diameter_hops",
    )
    assert {key: one[key] for key in kept} == {key: other[key] for key in kept}


def test_fabrics_of_different_sizes_and_a_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "fat-tree-k4", "fat-tree-k8", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["n_endpoints"] for one in said["fabrics"]] == [16, 128]
    assert any(text.startswith("endpoints:") and "8 times" in text for text in said["differences"])
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: [\n")
    assert main(["compare", "fat-tree-k4", str(bad)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and str(bad) in err


def test_a_fabric_beside_a_dump(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = min((shared_data / "ibnetdiscover").iterdir(), key=lambda file: file.stat().st_size)
    assert main(["compare", "fat-tree-k4", str(dump), "--format", "json"]) == 0
    one, other = json.loads(capsys.readouterr().out)["fabrics"]
    assert one["n_switches"] == 20 and other["n_switches"] == len(topo.load(dump).switches)
