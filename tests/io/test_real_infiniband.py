"""Real InfiniBand machines: every known fact about each dump, measured on the fabric read from it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text

SELENE_THIN = {
    "CSPINE1-08/LG01-01",
    "CSPINE1-33/LG04-04",
    "CSPINE1-56/LG03-06",
    "CSPINE1-67/LG06-07",
    "CSPINE1-68/LG05-07",
    "CSPINE2-13/LG10-02",
    "CSPINE2-35/LG14-04",
    "CSPINE2-66/LG13-07",
    "CSPINE2-69/LG14-07",
    "CSPINE3-35/LG18-04",
    "CSPINE4-37/LG27-04",
    "CSPINE4-56/LG23-06",
    "CSPINE4-76/LG28-08",
}
NDR_THIN = {
    "A10-P1-IBSPINE-01/A09-P1-IBLEAF-02-03",
    "A10-P1-IBSPINE-04/A09-P1-IBLEAF-01-01",
    "A10-P1-IBSPINE-04/B09-P1-IBLEAF-01-05",
    "B10-P1-IBSPINE-06/B09-P1-IBLEAF-01-08",
    "B10-P1-IBSPINE-06/B09-P1-IBLEAF-03-07",
    "B10-P1-IBSPINE-08/B09-P1-IBLEAF-01-05",
}


@pytest.fixture(scope="module")
def dumps(shared_data: Path) -> Path:
    return shared_data / "ibnetdiscover"


@pytest.fixture(scope="module")
def selene(dumps: Path) -> Fabric:
    return topo.read(dumps / "selene.compute.txt")


@pytest.fixture(scope="module")
def ndr(dumps: Path) -> Fabric:
    return topo.read(dumps / "topograph__example.out")


@pytest.fixture(scope="module")
def director(dumps: Path) -> Fabric:
    return topo.read(dumps / "ufm_ndt__ibnetdiscover_director.txt")


def bundles(fabric: Fabric) -> Counter[tuple[str, str]]:
    """Parallel cables between two switches, by name, the higher tier first."""
    count: Counter[tuple[str, str]] = Counter()
    name, tier = fabric.nodes.name, fabric.nodes.tier
    switch = fabric.nodes.kind.is_any("switch")
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        if switch[a] and switch[b] and a != b:
            high, low = (a, b) if tier[a] >= tier[b] else (b, a)
            count[str(name[high]), str(name[low])] += 1
    return count


def shortest_paths(fabric: Fabric, source: str, target: str) -> tuple[int, int, int]:
    """Hops, node paths and link paths between two switches, by breadth-first search over dicts."""
    adjacent: dict[str, Counter[str]] = defaultdict(Counter)
    for (a, b), n in bundles(fabric).items():
        adjacent[a][b] += n
        adjacent[b][a] += n
    hops, front = 0, {source: (1, 1)}
    seen = {source}
    while target not in front:
        following: dict[str, tuple[int, int]] = {}
        for node, (nodes, links) in front.items():
            for other, n in adjacent[node].items():
                if other not in seen:
                    was = following.get(other, (0, 0))
                    following[other] = (was[0] + nodes, was[1] + links * n)
        seen |= following.keys()
        front = following
        hops += 1
    return hops, *front[target]


def access(fabric: Fabric) -> list[tuple[int, int, str, int]]:
    """Endpoint row, leaf row, port label on the leaf, link row."""
    rows = []
    for link in np.flatnonzero(fabric.links.kind.is_any("access")).tolist():
        a, b = int(fabric.link_a[link]), int(fabric.link_b[link])
        port = fabric.links.port_b[link]
        if fabric.nodes.is_endpoint[b]:
            a, b, port = b, a, fabric.links.port_a[link]
        rows.append((a, b, fabric.ports.label[port], link))
    return rows


def violations(fabric: Fabric) -> list[tuple[str, str, str]]:
    nodes = fabric.nodes
    return sorted(
        (str(nodes.name[nic]), nodes.rail[nic], nodes.rail[leaf])
        for nic, leaf, _, _ in access(fabric)
        if nodes.rail[nic] and nodes.rail[nic] != nodes.rail[leaf]
    )


def test_selene_counts(selene: Fabric) -> None:
    kinds = Counter(selene.nodes.kind.values().tolist())
    assert kinds == {"switch": 666, "nic": 3675, "aggregation": 666}  # 3,675 + 666 = 4,341 channel adapters
    assert len(selene.links) == 12_852
    assert len(selene.endpoints) == 3675
    assert set(selene.links.evidence.values().tolist()) == {"both ends"}
    assert set(selene.links.capacity_gbps.tolist()) == {200.0}
    assert not (selene.link_a == selene.link_b).any()
    assert len(set(selene.nodes.uid.tolist())) == len(selene.nodes) == 5007
    aggregation = selene.nodes.kind.is_any("aggregation")
    assert set(selene.nodes.name[aggregation].tolist()) == {"Mellanox Technologies Aggregation Node"}
    assert selene.origin.notes == ()
    assert set(selene.nodes.part.values(selene.switches).tolist()) == {"MQM8700"}


def test_selene_aggregation_ports_are_not_on_the_faceplate(selene: Fabric) -> None:
    """Port 41 of each switch holds its aggregation node by an internal link; 40 ports are left."""
    internal = selene.links.kind.is_any("internal")
    assert int(internal.sum()) == 666
    ends = np.concatenate([selene.links.port_a[internal], selene.links.port_b[internal]])
    assert Counter(selene.ports.label.values(ends).tolist()) == {"41": 666, "1": 666}
    assert len(selene.ports) == 666 * 41 + 4341


def test_selene_link_ends_are_those_of_the_file(selene: Fabric, dumps: Path) -> None:
    """An independent reading by regular expressions gives the same (GUID, port) pairs, each twice."""
    pairs: Counter[frozenset[tuple[int, int]]] = Counter()
    here = 0
    for line in (dumps / "selene.compute.txt").read_text().splitlines():
        if head := re.match(r'(?:Switch|Ca)\s+\d+ "[SH]-(\w+)"', line):
            here = int(head[1], 16)
        elif port := re.match(r'\[(\d+)\]\S*\s+"[SH]-(\w+)"\[(\d+)\]', line):
            pairs[frozenset({(here, int(port[1])), (int(port[2], 16), int(port[3]))})] += 1
    assert set(pairs.values()) == {2}
    uid, label, ports = selene.nodes.uid, selene.ports.label, selene.ports

    def end(port: int) -> tuple[int, int]:
        return int(uid[ports.node[port]], 16), int(label[port])

    links = zip(selene.links.port_a.tolist(), selene.links.port_b.tolist(), strict=True)
    assert {frozenset({end(a), end(b)}) for a, b in links} == set(pairs)


def test_selene_hosts_and_rails(selene: Fabric) -> None:
    nodes = selene.nodes
    by_host: dict[str, dict[str, tuple[int, int, str]]] = defaultdict(dict)
    for nic, leaf, port, _ in access(selene):
        by_host[nodes.host[nic]][str(nodes.name[nic]).split()[1]] = (nic, leaf, port)
    full = {host: devices for host, devices in by_host.items() if len(devices) == 8}
    assert len(full) == 458
    assert len(by_host) - len(full) == 11
    assert all(len(by_host[host]) == 1 for host in by_host.keys() - full.keys())
    order = ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"]
    for host, devices in full.items():
        assert re.fullmatch(r"luna-\d{4}", host)
        assert sorted(devices) == order
        assert len({port for _, _, port in devices.values()}) == 1, "same port number on every leaf"
        for i, device in enumerate(order):
            nic, leaf, _ = devices[device]
            assert nodes.local_index[nic] == i
            assert nodes.rail[nic] == nodes.rail[leaf] == f"rail-{i + 1}"  # mlx5_6 is rail 5: not its index
            assert nodes.name[leaf].endswith(f"-0{i + 1}")
    assert violations(selene) == []
    assert nodes.name[selene.select("selene-cache-02*")].tolist() == ["selene-cache-02 mlx5_1"]


def test_selene_tiers_and_pods(selene: Fabric) -> None:
    """25 leaf groups in pods of 7, 7, 4, 7; 80 spines a pod, 10 a rail; 140 cores; 2 management spines."""
    nodes = selene.nodes
    by_tier = Counter(nodes.tier[selene.switches].tolist())
    assert by_tier == {1: 200 + 4, 2: 320 + 2, 3: 140}
    assert set(nodes.tier[selene.select("*CORE*")].tolist()) == {3}
    assert set(nodes.tier[selene.select("*SPINE*")].tolist()) == {2}
    groups: dict[str, set[str]] = defaultdict(set)
    for row in selene.select("LG*").tolist():
        assert nodes.tier[row] == 1
        groups[nodes.pod[row]].add(nodes.name[row].split("-")[0])
    assert {pod: len(names) for pod, names in groups.items()} == {
        "pod-1": 7,
        "pod-2": 7,
        "pod-3": 4,
        "pod-4": 7,
    }
    assert set.union(*groups.values()) == {f"LG{i:02d}" for i in [*range(1, 19), *range(22, 29)]}
    spines = Counter((nodes.pod[row], nodes.name[row][:7]) for row in selene.select("CSPINE*").tolist())
    assert spines == {(f"pod-{i}", f"CSPINE{i}"): 80 for i in (1, 2, 3, 4)}
    cables = bundles(selene)
    leaves_above: dict[str, set[str]] = defaultdict(set)
    for high, low in cables:
        if high.startswith("CSPINE") and low.startswith("LG"):
            leaves_above[high].add(low[-2:])
    assert all(len(rails) == 1 for rails in leaves_above.values()), "rails are disjoint below the core"
    per_rail = Counter((spine[:7], *rails) for spine, rails in leaves_above.items())
    assert set(per_rail.values()) == {10}
    assert "4 pods" in " ".join(selene.origin.assumptions)


def test_selene_bundles(selene: Fabric) -> None:
    cables = bundles(selene)
    leaf_spine = {pair: n for pair, n in cables.items() if pair[0].startswith("CSPINE") and pair[1].startswith("LG")}
    assert Counter(leaf_spine.values()) == {2: 200 * 10 - 13, 1: 13}
    assert {"/".join(pair) for pair, n in leaf_spine.items() if n == 1} == SELENE_THIN
    uplinks: Counter[str] = Counter()
    for (_, low), n in leaf_spine.items():
        uplinks[low] += n
    assert Counter(uplinks.values()) == {20: 187, 19: 13}
    to_core: Counter[str] = Counter()
    core_bundles: dict[str, list[int]] = defaultdict(list)
    for (high, low), n in cables.items():
        if "CORE" in high:
            to_core[low] += n
            core_bundles[low].append(n)
    spines = {name: n for name, n in to_core.items() if name.startswith("CSPINE")}
    assert Counter(spines.values()) == {14: 305, 13: 14, 12: 1}
    assert [name for name, n in spines.items() if n == 12] == ["CSPINE1-31"]
    management = {name: sorted(parallel) for name, parallel in core_bundles.items() if name.startswith("MSPINE")}
    assert list(management.values()) == [[2] * 7, [2] * 7]
    assert max(cables.values()) == 14


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("LG01-01", "LG02-01", (2, 10, 38)),
        ("LG01-01", "LG01-02", (4, 140, 532)),
        ("LG01-01", "LG28-01", (4, 140, 532)),
        ("LG01-01", "LG28-08", (4, 139, 502)),
        ("LG27-04", "LG14-04", (4, 137, 496)),
        ("LG10-02", "LG11-02", (2, 10, 38)),
    ],
)
def test_selene_paths(selene: Fabric, source: str, target: str, expected: tuple[int, int, int]) -> None:
    assert shortest_paths(selene, source, target) == expected


def test_ndr_counts(ndr: Fabric) -> None:
    assert Counter(ndr.nodes.kind.values().tolist()) == {"switch": 40, "nic": 542, "aggregation": 40}
    assert len(ndr.links) == 1114
    assert set(ndr.links.capacity_gbps.tolist()) == {400.0}
    assert Counter(ndr.nodes.tier[ndr.switches].tolist()) == {1: 31, 2: 9}
    assert set(ndr.nodes.part.values(ndr.switches).tolist()) == {"MQM9701"}
    with pytest.raises(topo.ParameterError, match="has a name like"):
        ndr.select("*IBLEAF-03-01")
    assert ndr.select("*IBLEAF-03-02").size == 1


def test_ndr_rails_show_the_swapped_pair(ndr: Fabric) -> None:
    assert violations(ndr) == [
        ("b08-p1-dgx-08-c01 HCA-5", "rail-3", "rail-4"),
        ("b08-p1-dgx-08-c01 HCA-6", "rail-4", "rail-3"),
    ]
    nodes = ndr.nodes
    for leaf in ndr.select("*IBLEAF*").tolist():
        assert nodes.rail[leaf] == "rail-" + re.search(r"IBLEAF-0(\d)", nodes.name[leaf])[1]  # type: ignore[index]
    assert "2 of them elsewhere" in " ".join(ndr.origin.assumptions)


def test_ndr_hosts(ndr: Fabric) -> None:
    """119 named hosts, of which 10 show 3 of 4 adapters and 5 sit on unequal ports or leaf groups."""
    nodes = ndr.nodes
    seats: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for nic, leaf, port, _ in access(ndr):
        if "dgx" in nodes.host[nic]:
            seats[nodes.host[nic]].append((str(nodes.name[leaf]), port))
    assert Counter(map(len, seats.values())) == {4: 109, 3: 10}
    unequal = [
        host
        for host, each in seats.items()
        if len({port for _, port in each}) > 1 or len({(leaf[:3], leaf[-2:]) for leaf, _ in each}) > 1
    ]
    assert len(unequal) == 5
    factory = ndr.select("MT4129 ConnectX7 Mellanox Technologies")
    assert len(factory) == 69
    assert len(set(nodes.host.values(factory).tolist())) == 69, "one name, 69 hosts"
    assert set(nodes.local_index[factory].tolist()) == {-1}
    shared = ndr.select(["localhost*", "ubuntu*"])
    assert len(shared) == len(set(nodes.host.values(shared).tolist())) == 5
    assert any(str(note).endswith("is unknown") and "74 adapter(s)" in str(note) for note in ndr.origin.notes)


def test_ndr_bundles(ndr: Fabric) -> None:
    cables = bundles(ndr)
    assert {"/".join(pair) for pair, n in cables.items() if n == 1} == NDR_THIN
    assert set(cables.values()) == {1, 2}
    up, down = Counter[str](), Counter[str]()
    for (high, low), n in cables.items():
        down[high] += n
        up[low] += n
    assert Counter(up.values()) == {18: 19, 16: 7, 17: 2, 15: 2, 14: 1}
    assert (min(down.values()), max(down.values())) == (52, 62)
    assert shortest_paths(ndr, "A09-P1-IBLEAF-01-01", "A09-P1-IBLEAF-02-01") == (2, 9, 34)
    assert shortest_paths(ndr, "A09-P1-IBLEAF-01-01", "B09-P1-IBLEAF-01-08") == (2, 9, 32)


def test_director_counts(director: Fabric) -> None:
    nodes = director.nodes
    assert Counter(nodes.kind.values().tolist()) == {"switch": 400, "nic": 2328}
    assert len(director.links) == 8723
    kinds = Counter(director.links.kind.values().tolist())
    assert kinds == {"internal": 3200, "access": 2328, "scale_out": 3195}
    chassis = Counter(nodes.chassis.values(director.switches).tolist())
    assert chassis.pop("") == 160
    assert list(chassis.values()) == [60] * 4
    assert Counter(nodes.part.values(director.switches).tolist()) == {"MQM8700": 160, "MCS8500": 240}
    assert len(director.select("*/L16/U2")) == 4
    assert Counter(director.links.capacity_gbps.tolist()) == {200.0: 8719, 100.0: 4}


def test_director_internal_links_stay_in_their_chassis(director: Fabric) -> None:
    box = director.nodes.chassis
    inside = director.links.kind.is_any("internal")
    assert (box.codes[director.link_a] == box.codes[director.link_b])[inside].all()
    lines = (
        director.nodes.name[director.link_a[inside]].tolist() + director.nodes.name[director.link_b[inside]].tolist()
    )
    assert Counter(name.split("/")[1][0] for name in lines) == {"L": 3200, "S": 3200}


def test_director_tiers_count_six_leaves_without_hosts(director: Fabric) -> None:
    """Line ASICs stand above the leaves, spine ASICs above them; six leaves serve nobody and are no cores."""
    assert Counter(director.nodes.tier[director.switches].tolist()) == {1: 160, 2: 160, 3: 80}
    assert set(director.nodes.tier[director.select("*/S*")].tolist()) == {3}
    served = np.bincount([leaf for _, leaf, _, _ in access(director)], minlength=len(director.nodes))
    leaves = director.switches[director.nodes.tier[director.switches] == 1]
    assert int((served[leaves] == 0).sum()) == 6


def test_director_factory_named_adapters_stay_apart(director: Fabric) -> None:
    factory = director.select("MT4123*")
    assert len(factory) == 103
    assert len(set(director.nodes.host.values(factory).tolist())) == 103
    assert not any(np.isin(director.nodes.rail.codes, np.arange(99)))  # each host's adapters share one leaf: no rails


def test_director_terminal_text_is_noted_where_it_stands(director: Fabric) -> None:
    places = {note.line for note in director.origin.notes if "terminal" in note.text}
    # The catalogue of these files places the shell prompt at line 33823; it is line 33821, the last one.
    assert places == {1, 33821}


SMALL = {
    # name: (switches, endpoints, aggregation nodes, links, links seen from both ends)
    "cyberang3l__InfiniBand-Graphviz-ualization__k-4-n-3-Full.topo": (80, 128, 0, 384, 384),
    "ibsim__net": (2, 2, 0, 4, 4),
    "ibsim__net.1": (1, 2, 0, 2, 2),
    "ibsim__net.2sw2path": (2, 2, 0, 4, 4),
    "ibsim__net.2sw2path4hca": (2, 4, 0, 6, 6),
    "ibsim__net.2sw2path4hca2port": (2, 2, 0, 6, 6),
    "ibtopotool__1.topo": (2, 4, 0, 7, 7),
    "ibtopotool__2.topo": (1, 2, 0, 2, 2),
    "ibtopotool__4.topo": (1, 1, 0, 1, 1),
    "topograph__example-bad.out": (0, 1, 0, 0, 0),
    "treydock__test.out": (4, 3, 0, 4, 3),
    "treydock__test2.out": (5, 1, 1, 3, 0),
    "treydock__test3.out": (1, 0, 0, 0, 0),
    "ufm__small_topo_file": (2, 12, 1, 16, 16),
}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_small_files(dumps: Path, name: str) -> None:
    fabric = topo.read(dumps / name)
    kinds = Counter(fabric.nodes.kind.values().tolist())
    both = int(fabric.links.evidence.is_any("both ends").sum())
    found = (kinds["switch"], kinds["nic"], kinds["aggregation"], len(fabric.links), both)
    assert found == SMALL[name]
    assert sum(kinds.values()) == sum(SMALL[name][:3])


def test_every_file_is_covered(dumps: Path) -> None:
    large = {"selene.compute.txt", "topograph__example.out", "ufm_ndt__ibnetdiscover_director.txt"}
    assert {path.name for path in dumps.iterdir()} == set(SMALL) | large


def test_generated_fat_tree(dumps: Path) -> None:
    """80 switches of 8 ports, 128 adapters; 16 link paths from corner to corner."""
    fabric = topo.read(dumps / "cyberang3l__InfiniBand-Graphviz-ualization__k-4-n-3-Full.topo")
    assert Counter(fabric.nodes.tier[fabric.switches].tolist()) == {1: 32, 2: 32, 3: 16}
    assert len(fabric.ports) == 80 * 8 + 128
    leaf = {str(fabric.nodes.name[nic]): str(fabric.nodes.name[leaf]) for nic, leaf, _, _ in access(fabric)}
    assert shortest_paths(fabric, leaf["Hca0"], leaf["Hca127"]) == (4, 16, 16)
    assert len(fabric.nodes.pod.labels) == 8


def test_loopback_cables_are_rows(dumps: Path) -> None:
    fabric = topo.read(dumps / "ufm__small_topo_file")
    loops = np.flatnonzero(fabric.link_a == fabric.link_b)
    ports = [
        {fabric.ports.label[fabric.links.port_a[row]], fabric.ports.label[fabric.links.port_b[row]]} for row in loops
    ]
    assert ports == [{"25", "26"}, {"28", "29"}]
    assert fabric.links.capacity_gbps[loops].tolist() == [40.0, 56.0]  # FDR10, then FDR
    assert sum("loopback" in note.text for note in fabric.origin.notes) == 2


def test_ends_that_disagree_on_the_rate(dumps: Path) -> None:
    fabric = topo.read(dumps / "ibtopotool__1.topo")
    slow = np.flatnonzero(fabric.links.capacity_gbps == 2.5)
    assert fabric.links.line[slow].tolist() == [15, 18]
    assert Counter(fabric.links.capacity_gbps.tolist()) == {10.0: 5, 2.5: 2}
    assert [note.line for note in fabric.origin.notes if "different rates" in note.text] == [15, 18]


def test_free_ports_of_the_port_list(dumps: Path) -> None:
    fabric = topo.read(dumps / "treydock__test.out")
    cabled = set(fabric.links.port_a.tolist()) | set(fabric.links.port_b.tolist())
    free = {
        (str(fabric.nodes.name[fabric.ports.node[port]]), fabric.ports.label[port])
        for port in range(len(fabric.ports))
        if port not in cabled
    }
    assert free == {("ib-i4l1s01", "37"), ("ib-i7l2s01", "80")}
    unquoted = topo.read(dumps / "treydock__test3.out")
    assert unquoted.nodes.name.tolist() == ["Infiniscale-IV Mellanox Technologies"]
    padded = topo.read(dumps / "treydock__test2.out")
    assert "5FB0406-spine-IB02" in padded.nodes.name.tolist()
    assert any("ambiguous" in note.text for note in padded.origin.notes)


def test_ibsim_files_state_no_rates(dumps: Path) -> None:
    fabric = topo.read(dumps / "ibsim__net")
    assert np.isnan(fabric.links.capacity_gbps).all()
    assert set(fabric.nodes.uid.tolist()) == {""}
    stated = topo.read(dumps / "ibsim__net", assume_gbps="4xHDR")
    assert stated.links.capacity_gbps.tolist() == [200.0] * 4
    assert "4 of 4 link(s)" in stated.origin.notes[-1].text


def test_adapter_without_a_link(dumps: Path) -> None:
    fabric = topo.read(dumps / "topograph__example-bad.out")
    assert fabric.nodes.host[0] == "dgx-gb200-n01-c1"
    assert (len(fabric.ports), len(fabric.links)) == (1, 0)


def test_grouping_hosts_by_their_leaves(selene: Fabric) -> None:
    """A rail-optimized host of eight leaves is in one unit: grouping by sets of leaves is clean."""
    leaves: dict[str, set[int]] = defaultdict(set)
    for nic, leaf, _, _ in access(selene):
        if selene.nodes.rail[nic]:
            leaves[selene.nodes.host[nic]].add(leaf)
    units = {frozenset(each) for each in leaves.values()}
    assert len(units) == 25
    assert sum(map(len, units)) == len(frozenset.union(*units)) == 200, "no leaf in two units"


@pytest.mark.parametrize("share", [0.02, 0.2, 0.4, 0.6, 0.8, 0.95, 0.999])
def test_a_real_dump_cut_anywhere_is_alerted(shared_data: Path, share: float) -> None:
    """Cut after that share of its letters, nearly always within a record; whole, it gives no alert."""
    text = (shared_data / "ibnetdiscover" / "topograph__example.out").read_text("utf-8")
    assert not any(note.severity == "alert" for note in fabric_of_text(text, "whole").origin.notes)
    first = fabric_of_text(text[: int(share * len(text))], "cut").origin.notes[0]
    assert first.severity == "alert" and first.text.startswith("the file seems cut off: only one end reports ")
