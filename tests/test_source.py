"""Names, specs and files to fabrics: what is meant, and what is said where nothing can be meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.published import published_numbers
from topo.errors import InputError, ParameterError, TopoError
from topo.fabric import Fabric
from topo.source import load
from topo.spec.builders import BUILDERS

SPEC = """\
name: mine
title: My fabric
operator: me
sources:
  - text: my notes
    label: D
builder: rail_optimized
parameters:
  hosts: 31
  rails: 8
  hosts_per_unit: 32
  radix: 64
  link_gbps: 400G
  managers: 2
host_part: dgx-h100
switch_part: qm9700
assumptions:
  - none
expect:
  n_leaves: 8
  n_spines:
    value: 4
    label: P
    note: as drawn
"""
DUMP = 'Switch 4 "S-1"\n[1] "H-2"[1] # "n1 mlx5_0" lid 2 4xHDR\nCa 1 "H-2"\n[1] "S-1"[1] # lid 2 4xHDR\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(folder: Path, old: str = "", new: str = "") -> Path:
    assert old in SPEC
    path = folder / "mine.yaml"
    path.write_text(SPEC.replace(old, new) if old else SPEC, "utf-8")
    return path


def test_a_spec_becomes_its_fabric(folder: Path) -> None:
    fabric = load(spec(folder))
    assert fabric.name == "mine"
    assert fabric.equals(_with_parts(topo.rail_optimized(31, managers=2), "qm9700", "dgx-h100"))
    origin = fabric.origin
    assert origin.title == "My fabric"
    assert origin.sources == ("my notes (D: derived by arithmetic from published numbers)",)
    assert origin.assumptions == ("none",)
    assert origin.made_by.startswith("rail_optimized(31")
    expected = dict(origin.expect)
    assert (expected["n_leaves"].value, expected["n_leaves"].label) == (8, "D")
    assert (expected["n_spines"].label, expected["n_spines"].note) == ("P", "as drawn")


def _with_parts(fabric: Fabric, switch: str, host: str) -> Fabric:
    built = topo.rail_optimized(31, managers=2, switch_part=switch, host_part=host)
    assert len(built.nodes) == len(fabric.nodes)
    return built


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("name: mine", "name: Mine!", 1, "key name: 'Mine!' does not fit"),
        ("operator: me\n", "", 1, "key operator: is missing"),
        ("label: D", "label: X", 6, "key sources[1].label: 'X' is not allowed; known: P, S, D, P+D, M"),
        ("  - text: my notes\n    label: D\n", "  []\n", 4, "key sources: names no source"),
        ("builder: rail_optimized", "builder: rail_optimised", 7, "did you mean 'rail_optimized'?"),
        ("builder: rail_optimized", "builder: leaf_spin", 7, "did you mean 'leaf_spine'?"),
        ("parameters:", "parametres:", 8, "key parametres: is not a key that is understood here; did you mean"),
        ("  hosts: 31", "  hots: 31", 9, "key parameters.hots: is not a parameter of rail_optimized; did you mean"),
        ("  hosts: 31\n", "", 8, "key parameters: hosts is missing; rail_optimized needs hosts"),
        ("  hosts: 31", "  hosts: 31.5", 9, "key parameters.hosts: 31.5 is not a whole number"),
        ("  hosts: 31", "  hosts: true", 9, "key parameters.hosts: true is not a whole number"),
        ("  hosts: 31", "  hosts: [1]", 9, "key parameters.hosts: a list of 1 is not a whole number"),
        ("  hosts: 31", "  hosts: 0", 9, "key parameters.hosts: hosts is 0; it must be a whole number of at least 1"),
        ("hosts_per_unit: 32", "hosts_per_unit: 64", 11, "hosts_per_unit can be at most 63"),
        ("link_gbps: 400G", "link_gbps: 400X", 13, "key parameters.link_gbps: '400X': unknown unit"),
        ("link_gbps: 400G", "link_gbps: -1", 13, "-1 is not a rate"),
        ("managers: 2", "name: x", 14, "is a key of the spec itself, one level up"),
        ("managers: 2", "tiers: 4", 14, "key parameters.tiers: tiers is 4"),
        ("managers: 2", "managers: 20", 8, "su-1-leaf-1 needs 68 ports but has a radix of 64"),
        ("hosts: 31", "hosts: 1000000000", 8, "key parameters: would make about"),
        ("radix: 64", "radix: 100000000000", 8, "key parameters: would make about"),
        ("host_part: dgx-h100", "host_part: dgx-h10", 15, "did you mean 'dgx-h100'"),
        ("switch_part: qm9700", "switch_part: qm970", 16, "did you mean 'qm9700'"),
        ("switch_part: qm9700", "switch_part: qm8700", 16, "has no ports of 400 Gb/s, which the builder uses"),
        ("radix: 64", "radix: 60", 16, "is built with 60 x 400 Gb/s, but qm9700 has 64 x 400 Gb/s or 128 x 200"),
        ("radix: 64", "radix: 66", 16, "is built with 66 x 400 Gb/s, but qm9700 has 64 x 400 Gb/s"),
        ("rails: 8", "rails: 4", 15, "the builder's hosts have 4 adapters each, but dgx-h100 has 8"),
        ("managers: 2", "host_gbps: 200", 15, "200 Gb/s, but dgx-h100 has adapters of 400 Gb/s"),
        ("n_leaves: 8", "n_leafs: 8", 20, "key expect.n_leafs: is not a number that is computed from a fabric; did"),
        ("n_leaves: 8", "n_leaves: eight", 20, "key expect.n_leaves: 'eight' is not a number"),
        ("    note: as drawn", "    nota: as drawn", 24, "key expect.n_spines.nota: is not a key"),
        ("    value: 4\n", "", 21, "key expect.n_spines.value: is missing"),
    ],
)
def test_what_is_wrong_in_a_spec_is_told_where_it_stands(
    folder: Path, old: str, new: str, line: int, said: str
) -> None:
    path = spec(folder, old, new)
    with pytest.raises(InputError) as caught:
        load(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert "\n" not in str(caught.value)


def test_too_large_is_told_at_once(folder: Path) -> None:
    for builder, given_parameters in (
        ("fat_tree", "k: 100000"),
        ("leaf_spine", "leaves: 100000\n  spines: 100000\n  hosts_per_leaf: 1"),
        ("clos", "hosts: 4000000000"),
        ("clos", "hosts: 4\n  tiers: 1000000000"),
        ("clos", "hosts: 4\n  radix: 1000000"),
        ("rail_optimized", "hosts: 1\n  managers: 1000000000"),
    ):
        text = SPEC[: SPEC.index("builder:")] + f"builder: {builder}\nparameters:\n  {given_parameters}\n"
        (folder / "large.yaml").write_text(text)
        with pytest.raises(InputError, match=r"large\.yaml:8: key parameters: would make about"):
            load("large.yaml")


def test_the_bound_on_ports_is_at_least_what_is_built() -> None:
    """What a builder really makes never exceeds what it is judged by, or the bound would be none."""
    for name, given_parameters in (
        ("fat_tree", {"k": 16}),
        ("leaf_spine", {"leaves": 7, "spines": 3, "hosts_per_leaf": 9, "parallel": 2}),
        ("clos", {"hosts": 3000, "tiers": 3, "radix": 32}),
        ("clos", {"hosts": 700, "tiers": 2, "radix": [48, 64], "taper": 2.0}),
        ("clos", {"hosts": 700, "tiers": 2, "radix": 64, "taper": 0.5}),
        ("rail_optimized", {"hosts": 127, "managers": 2}),
        ("rail_optimized", {"hosts": 512, "tiers": 3, "spine_groups": 8}),
    ):
        row = BUILDERS[name]
        complete = {key: p.default for key, p in row.parameters.items()} | given_parameters
        n_ports = len(row.function(**given_parameters).ports)
        assert n_ports <= row.n_ports(complete) <= 20 * n_ports, (name, given_parameters)


def test_lists_are_taken_where_the_builder_takes_sequences(folder: Path) -> None:
    head = SPEC[: SPEC.index("builder:")]
    (folder / "c.yaml").write_text(head + "builder: clos\nparameters:\n  hosts: 600\n  radix: [48, 64]\n  taper: 2\n")
    assert load("c.yaml").equals(topo.clos(600, radix=[48, 64], taper=2))
    (folder / "c.yaml").write_text(head + "builder: clos\nparameters:\n  hosts: 600\n  radix: [48, x]\n")
    with pytest.raises(InputError, match="a list of 2 is not a whole number or a list, each item a whole number"):
        load("c.yaml")


def test_a_printed_error_stands_beside_the_true_value(folder: Path) -> None:
    printed = "  n_endpoints: {printed: 240, value: 248, label: P, note: '31 x 8'}\n"
    found = published_numbers(load(spec(folder, "expect:\n", "expect:\n" + printed)))
    number = found.numbers[0]
    assert (number.printed, number.expected, number.built, number.agrees) == (240, 248, 248, True)
    assert "the source prints 240, an error" in found.rows()[0].text()


def test_a_number_that_differs_is_told(folder: Path) -> None:
    found = published_numbers(load(spec(folder, "n_leaves: 8", "n_leaves: 9")))
    assert found.n_differing == 1
    assert "9 derived (D), but 8 built: they differ" in found.rows()[0].text()
    assert found.to_dict()["n_differing"] == 1
    assert " expected, " in found.differences_text and found.differences_text.endswith(" built")


def test_unequal_bundles_are_no_single_number() -> None:
    from topo.analysis.published import COUNTED

    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=2, parallel=2)
    assert COUNTED["parallel_leaf_spine"](fabric) == 2
    link = int(np.flatnonzero(fabric.nodes.kind.is_any("switch")[fabric.link_a])[0])
    assert COUNTED["parallel_leaf_spine"](fabric.without(links=[link])) is None
    assert COUNTED["parallel_spine_core"](fabric) is None


def test_fabrics_without_published_numbers_have_an_empty_comparison() -> None:
    found = published_numbers(topo.fat_tree(4))
    assert (found.numbers, found.n_differing) == ((), 0)
    assert "none" in str(found)


def test_a_name_means_the_catalogue_whatever_lies_about(folder: Path) -> None:
    (folder / "leaf-spine-2to1").write_text(DUMP)
    named = load("leaf-spine-2to1")
    assert len(named.endpoints) == 512
    assert "./leaf-spine-2to1 reads it" in named.origin.notes[0].text
    assert len(load("./leaf-spine-2to1").endpoints) == 1
    assert len(load(Path("leaf-spine-2to1")).endpoints) == 1
    assert len(load("leaf-spine-2to1", format="ibnetdiscover").endpoints) == 1


def test_files_are_read_by_their_content(folder: Path) -> None:
    (folder / "dump").write_text(DUMP)
    assert load("dump").links.capacity_gbps.tolist() == [200.0]
    (folder / "dump.YAML").write_text(SPEC)
    assert load("dump.YAML").name == "mine"


def test_assumed_rates_reach_the_reader(folder: Path) -> None:
    (folder / "dump").write_text(DUMP.replace("4xHDR", ""))
    assert np.isnan(load("dump").links.capacity_gbps).all()
    assert load("dump", assume_gbps="4xNDR").links.capacity_gbps.tolist() == [400.0]
    assert load("leaf-spine-2to1", assume_gbps=1).equals(load("leaf-spine-2to1"))
    for name in ("dump", "leaf-spine-2to1", str(spec(folder))):
        with pytest.raises(ParameterError, match="rate"):
            load(name, assume_gbps=0)
        with pytest.raises(ParameterError, match="rate"):
            load(name, assume_gbps="fast")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nvidia-superpod-h100-4u", "did you mean 'nvidia-superpod-h100-4su'"),
        ("leaf-spine-2-to-1", "did you mean 'leaf-spine-2to1'"),
        ("zzz", "'zzz' is neither a fabric of the catalogue nor a file (topo list shows the catalogue)"),
        ("", "topo list"),
        ("a" * 5000, "topo list"),
        ("./zzz", "no such file"),
        ("none.yaml", "no such file"),
        ("none.topo", "no such file"),
        (".", "there is no file in this folder"),
    ],
)
def test_what_cannot_be_meant(folder: Path, name: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load(name)
    assert said in str(caught.value)


VALUES = (
    st.none() | st.booleans() | st.integers(-3, 130) | st.floats(-2, 500) | st.sampled_from(["400G", "x", "[1, 2]"])
)
PARAMETERS = st.sampled_from(
    ["hosts", "k", "leaves", "spines", "hosts_per_leaf", "parallel", "tiers", "radix", "taper", "rails", "uplinks",
     "hosts_per_unit", "spine_groups", "link_gbps", "host_gbps", "managers", "links_per_manager"]
)  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(builder=st.sampled_from(sorted(BUILDERS)), values=st.dictionaries(PARAMETERS, VALUES, max_size=6))
def test_any_parameters_give_a_fabric_or_a_located_error(folder: Path, builder: str, values: dict[str, object]) -> None:
    wanted = {key: value for key, value in values.items() if key in BUILDERS[builder].parameters}
    body = "".join(f"  {key}: {'~' if value is None else value}\n" for key, value in wanted.items()) or "  {}\n"
    head = SPEC[: SPEC.index("builder:")]
    (folder / "any.yaml").write_text(head + f"builder: {builder}\nparameters:\n{body}", "utf-8")
    try:
        fabric = load("any.yaml")
    except TopoError as error:
        assert isinstance(error, InputError) and error.path == "any.yaml" and error.line is not None
        return
    assert len(fabric.endpoints) > 0


def test_all_missing_parameters_are_named_at_once(folder: Path) -> None:
    head = SPEC[: SPEC.index("builder:")]
    (folder / "m.yaml").write_text(head + "builder: leaf_spine\nparameters:\n  spines: 2\n")
    with pytest.raises(InputError, match=r"leaves, hosts_per_leaf are missing; leaf_spine needs leaves, spines, host"):
        load("m.yaml")


def test_a_rate_beyond_belief_is_told_at_its_line(folder: Path) -> None:
    with pytest.raises(InputError, match=r"mine\.yaml:13: key parameters\.link_gbps: .*at most 1,000,000 Gb/s"):
        load(spec(folder, "link_gbps: 400G", "link_gbps: 1.0e300"))
