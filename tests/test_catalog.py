"""The catalogue holds what was published: every expected number is counted again in the built fabric."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest

import topo
from topo.analysis.published import COUNTED, published_numbers
from topo.fabric import Fabric
from topo.parts import HOSTS, SWITCHES
from topo.source import catalog, fabrics_folder
from topo.spec import read_spec
from topo.spec.builders import BUILDERS
from topo.spec.model import EXPECTED

NAMES = [entry.name for entry in catalog()]

# Rows of the published tables, typed from the references and not read from the specs:
# name, hosts, endpoints, leaves, spines, cores, endpoint-leaf, leaf-spine, spine-core links.
PUBLISHED = [
    ("nvidia-superpod-h100-1su", 31, 248, 8, 4, 0, 248, 256, 0),
    ("nvidia-superpod-h100-2su", 63, 504, 16, 8, 0, 504, 512, 0),
    ("nvidia-superpod-h100-3su", 95, 760, 24, 16, 0, 760, 768, 0),
    ("nvidia-superpod-h100-4su", 127, 1016, 32, 16, 0, 1016, 1024, 0),
    ("nvidia-superpod-b200-2su", 64, 512, 16, 8, 0, 512, 512, 0),
    ("nvidia-superpod-b200-4su", 128, 1024, 32, 16, 0, 1024, 1024, 0),
    ("nvidia-superpod-b200-8su", 256, 2048, 64, 32, 0, 2048, 2048, 0),
    ("nvidia-superpod-b200-16su", 512, 4096, 128, 128, 64, 4096, 4096, 4096),
    ("nvidia-superpod-b200-32su", 1024, 8192, 256, 256, 128, 8192, 8192, 8192),
    ("nvidia-superpod-b200-64su", 2048, 16384, 512, 512, 256, 16384, 16384, 16384),
    ("nvidia-superpod-h100-8su", 256, 2048, 64, 32, 0, 2048, 2048, 0),
    ("nvidia-superpod-h100-16su", 512, 4096, 128, 128, 64, 4096, 4096, 4096),
    ("nvidia-superpod-h100-32su", 1024, 8192, 256, 256, 128, 8192, 8192, 8192),
    ("nvidia-superpod-h100-64su", 2048, 16384, 512, 512, 256, 16384, 16384, 16384),
    ("fat-tree-k48", 27648, 27648, 1152, 1152, 576, 27648, 27648, 27648),
    ("leaf-spine-2to1", 512, 512, 16, 4, 0, 512, 256, 0),
]
WITH_MANAGERS = {1: 252, 2: 508, 3: 764, 4: 1020}


@pytest.fixture(scope="module", params=NAMES)
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return topo.load(request.param)


def test_every_expected_number_is_the_built_one(fabric: Fabric) -> None:
    found = published_numbers(fabric)
    assert len(found.numbers) == len(fabric.origin.expect) >= 10
    assert [(n.key, n.expected, n.built) for n in found.numbers if not n.agrees] == []
    assert found.n_differing == 0


def links_by_tier(fabric: Fabric) -> Counter[tuple[str, str]]:
    """Links by what stands at their ends, counted one by one."""
    word = {1: "leaf", 2: "spine", 3: "core"}
    kinds, tiers, endpoint = fabric.nodes.kind.values(), fabric.nodes.tier, fabric.nodes.is_endpoint
    name = [
        "endpoint" if endpoint[i] else word[int(tiers[i])] if kinds[i] == "switch" else str(kinds[i])
        for i in range(len(kinds))
    ]
    return Counter(tuple(sorted((name[a], name[b]))) for a, b in zip(fabric.link_a, fabric.link_b, strict=True))


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row[0])
def test_published_tables_row_by_row(row: tuple[str, int, int, int, int, int, int, int, int]) -> None:
    name, hosts, endpoints, leaves, spines, cores, host_links, leaf_spine, spine_core = row
    fabric = topo.load(name)
    links = links_by_tier(fabric)
    tiers = Counter(fabric.nodes.tier[fabric.switches].tolist())
    assert len({fabric.nodes.host[i] or i for i in fabric.endpoints}) == hosts
    assert len(fabric.endpoints) == endpoints
    assert (tiers[1], tiers[2], tiers[3]) == (leaves, spines, cores)
    assert links["endpoint", "leaf"] == host_links
    assert links["leaf", "spine"] == leaf_spine
    assert links["core", "spine"] == spine_core
    if name.startswith("nvidia-superpod-h100") and hosts % 32:
        units = int(name[-3])
        assert links["endpoint", "leaf"] + links["leaf", "manager"] == WITH_MANAGERS[units]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row[0])
def test_every_expected_number_is_one_of_the_table(row: tuple[str, int, int, int, int, int, int, int, int]) -> None:
    """The specs' own values agree with the rows above, so that a slip in a spec cannot agree with itself."""
    fabric = topo.load(row[0])
    keys = ("n_hosts", "n_endpoints", "n_leaves", "n_spines", "n_cores", "n_host_links", "n_leaf_spine_links")
    expected = {key: number.value for key, number in fabric.origin.expect}
    typed = dict(zip([*keys, "n_spine_core_links"], row[1:], strict=True))
    assert {key: expected[key] for key in expected.keys() & typed.keys()} == {
        key: typed[key] for key in expected.keys() & typed.keys()
    }
    assert expected.keys() >= {key for key, value in typed.items() if value}


@pytest.mark.parametrize("name", [row[0] for row in PUBLISHED])
def test_bisection_is_half_the_endpoints_where_nothing_is_tapered(name: str) -> None:
    fabric = topo.load(name)
    expected = dict(fabric.origin.expect)["bisection_gbps"].value
    rate = 1 if fabric.name == "fat-tree-k48" else 400
    per_host = 8 if fabric.name.startswith("nvidia") else 1
    full = len(fabric.endpoints) // per_host // 2 * per_host * rate
    assert expected == (full / 2 if fabric.name == "leaf-spine-2to1" else full)


@pytest.mark.parametrize("name", [row[0] for row in PUBLISHED if row[0].startswith("nvidia")])
def test_no_part_of_a_switch_or_host_is_left_out(name: str) -> None:
    fabric = topo.load(name)
    part = fabric.nodes.part.values()
    assert set(part[fabric.switches]) == {"qm9700"}
    assert set(part[fabric.endpoints]) == {"dgx-h100" if "h100" in fabric.name else "dgx-b200"}
    ports = np.bincount(fabric.ports.node, minlength=len(fabric.nodes))
    assert set(ports[fabric.switches]) == {64}


def test_names_files_and_origins(fabric: Fabric) -> None:
    assert (fabrics_folder() / f"{fabric.name}.yaml").is_file()
    origin = fabric.origin
    assert origin.title and origin.sources and origin.made_by and origin.assumptions
    assert all(number.label in {"P", "S", "D", "P+D", "M"} for _, number in origin.expect)
    keys = dict(origin.expect).keys()
    assert "n_endpoints" in keys
    assert keys & {"n_tiers", "n_scale_up_tiers"}
    assert keys & {"n_planes", "n_scale_up_planes"}
    from_memory = any("from memory" in text for text in origin.assumptions)
    assert keys & {"n_switches", "n_scale_up_switches"} or from_memory


def test_grouping_that_is_our_choice_says_so() -> None:
    for name in (f"nvidia-superpod-{kind}-{units}su" for kind in ("b200", "h100") for units in (16, 32, 64)):
        assert any("our choice" in text for text in topo.load(name).origin.assumptions)


def test_listing_builds_nothing_and_is_fast() -> None:
    catalog()  # imports and caches
    best = min(_seconds() for _ in range(3))
    assert best < 0.5
    assert len(catalog()) == len(list(fabrics_folder().glob("*.yaml")))


def _seconds() -> float:
    start = time.perf_counter()
    catalog()
    return time.perf_counter() - start


def test_what_may_be_expected_is_what_is_counted() -> None:
    assert list(COUNTED) == list(EXPECTED)
    used = {key for name in NAMES for key in read_spec(fabrics_folder() / f"{name}.yaml")[0].expect}
    assert used == set(EXPECTED)


def test_every_builder_is_used_or_can_be_called() -> None:
    for name, row in BUILDERS.items():
        assert row.function.__name__ == name == row.name
        assert row.radix is None or row.radix in row.parameters


@pytest.mark.parametrize("part", [*SWITCHES, *HOSTS], ids=lambda part: part.name)
def test_parts_name_their_source_and_add_up(part: object) -> None:
    assert getattr(part, "source", "") and getattr(part, "title", "")
    modes = getattr(part, "modes", ())
    assert len({mode.n_ports * mode.gbps for mode in modes}) <= 1  # splitting a port loses no bandwidth
    assert len({mode.n_ports // mode.ports_per_cage for mode in modes}) <= 1
    assert len({mode.gbps for mode in modes}) == len(modes)


@pytest.mark.parametrize(
    ("name", "planes"),
    [
        ("nvidia-gb200-nvl72", 18),
        ("nvidia-gb300-nvl72", 18),
        ("nvidia-dgx-h100", 4),
        ("huawei-cloudmatrix384", 7),
        ("amd-mi300x-8", 0),
        ("alibaba-hpn-pod", 2),
        ("openai-mrc-131k", 8),
        ("nvidia-superpod-b300-spectrumx-16su", 2),
        ("nvidia-superpod-h100-4su", 1),
    ],
)
def test_planes_as_published(name: str, planes: int) -> None:
    (entry,) = (entry for entry in catalog() if entry.name == name)
    assert entry.n_planes == planes


def test_superpods_say_what_became_of_storage() -> None:
    for name in NAMES:
        if name.startswith("nvidia-superpod"):
            spec, _ = read_spec(fabrics_folder() / f"{name}.yaml")
            assert "storage" in spec.parameters or any("storage" in text for text in spec.assumptions), name


def test_gb300_is_built_of_its_trays() -> None:
    pod = topo.load("nvidia-superpod-gb300-16su")
    assert set(pod.nodes.part.values()[pod.endpoints]) == {"gb300-tray"}
    rack = topo.load("nvidia-gb300-nvl72")
    nics = rack.nodes.kind.is_any("nic")
    assert int(nics.sum()) == 72 and int(rack.nodes.kind.is_any("cpu").sum()) == 36
    assert set(rack.nodes.part.values()[nics]) == {"ConnectX-8"}  # none for storage: nobody says how it is wired
