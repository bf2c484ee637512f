"""A host that lacks an adapter is found where the leaves say nothing about rails."""

from __future__ import annotations

from pathlib import Path

import pytest

from topo.wiring import validate

N_HOSTS, N_ADAPTERS, N_LEAVES = 24, 4, 4


def leaf_of(scheme: str, host: int, adapter: int) -> int:
    """Leaf of an adapter: the rack's, that of its rail, or each host's adapters begun one leaf further on."""
    if scheme == "rails":
        return adapter
    return host // 6 if scheme == "rack" else (host + adapter) % N_LEAVES


def schedule(path: Path, scheme: str, lacking: set[tuple[int, int]], n_adapters: int = N_ADAPTERS) -> Path:
    """A cable schedule of twenty-four hosts of four adapters, without those that lack."""
    used = [0] * N_LEAVES
    lines = ["A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"]
    for host in range(N_HOSTS):
        for adapter in range(n_adapters):
            leaf = leaf_of(scheme, host, adapter)
            used[leaf] += 1
            if (host, adapter) not in lacking:
                lines.append(f"leaf{leaf + 1},{used[leaf]},host-{host + 1:02d},nic-{adapter + 1},400G")
    for leaf in range(N_LEAVES):
        for cable in range(12):
            lines.append(f"leaf{leaf + 1},{41 + cable},spine{cable % 2 + 1},{6 * leaf + cable // 2 + 1},400G")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("scheme", ["rack", "turned"])
@pytest.mark.parametrize("adapter", range(N_ADAPTERS))
def test_one_host_with_fewer_adapters_is_the_one_finding(tmp_path: Path, scheme: str, adapter: int) -> None:
    answer = validate(str(schedule(tmp_path / "one.csv", scheme, {(6, adapter)})))
    faults = [one for one in answer.findings if one.severity != "note"]
    assert [one.code for one in faults] == ["nic-missing"]
    said = " ".join([str(faults[0].where), faults[0].evidence, faults[0].fix])
    assert "host-07" in said
    assert f"nic-{adapter + 1}" in said


@pytest.mark.parametrize("scheme", ["rack", "turned"])
def test_no_host_lacks_one_where_all_are_alike(tmp_path: Path, scheme: str) -> None:
    answer = validate(str(schedule(tmp_path / "good.csv", scheme, set())))
    assert [one.code for one in answer.findings if one.severity != "note"] == []


def test_without_a_rail_rule_a_third_of_the_hosts_is_no_fault(tmp_path: Path) -> None:
    """More than one host in five may be meant so: what is normal is not learnt then."""
    answer = validate(str(schedule(tmp_path / "third.csv", "turned", {(host, 3) for host in range(0, N_HOSTS, 3)})))
    assert "nic-missing" not in [one.code for one in answer.findings]


def renamed(path: Path, old: str, new: str) -> Path:
    """The same schedule with one device under another name."""
    path.write_text(path.read_text().replace(f",{old},", f",{new},").replace(f"\n{old},", f"\n{new},"))
    return path


@pytest.mark.parametrize("scheme", ["rack", "turned", "rails"])
@pytest.mark.parametrize(("name", "told"), [("host-07", ["nic-missing"]), ("gateway-1", []), ("login", [])])
def test_only_a_host_of_the_kind_of_its_peers_lacks_an_adapter(
    tmp_path: Path, scheme: str, name: str, told: list[str]
) -> None:
    """A gateway among servers is alone of its kind: three adapters may be all it has, and the answer says so."""
    path = renamed(schedule(tmp_path / "one.csv", scheme, {(6, 3)}), "host-07", name)
    answer = validate(str(path))
    assert [one.code for one in answer.findings if one.severity != "note"] == told
    unjudged = [rule for rule in answer.rules if rule.endswith(f"of their kind: {name}")]
    assert len(unjudged) == (not told)


def test_hosts_whose_names_say_nothing_are_one_kind(tmp_path: Path) -> None:
    path = schedule(tmp_path / "names.csv", "rack", {(6, 3)})
    for host in range(N_HOSTS):
        renamed(path, f"host-{host + 1:02d}", f"{chr(97 + host) * 3}host")
    answer = validate(str(path))
    assert [one.code for one in answer.findings if one.severity != "note"] == ["nic-missing"]


@pytest.mark.parametrize(("n_of_kind", "told"), [(1, 0), (2, 0), (3, 1), (6, 1)])
def test_several_of_its_kind_must_have_what_a_host_lacks(tmp_path: Path, n_of_kind: int, told: int) -> None:
    """On rails: two others with all adapters suffice, none or one does not."""
    path = schedule(tmp_path / "kinds.csv", "rails", {(6, 3)})
    for host in range(6, 6 + n_of_kind):
        renamed(path, f"host-{host + 1:02d}", f"store-{host + 1:02d}")
    answer = validate(str(path))
    assert [one.code for one in answer.findings].count("nic-missing") == told


@pytest.mark.parametrize(("name", "told"), [("host-07", ["rail-wrong"]), ("gateway-1", [])])
def test_a_host_of_another_kind_on_one_leaf_throughout_is_on_no_wrong_rail(
    tmp_path: Path, name: str, told: list[str]
) -> None:
    """Two adapters: one of two off the rule is no majority of its own; of the kind of its peers it is told."""
    path = renamed(schedule(tmp_path / "one.csv", "rails", set(), n_adapters=2), "host-07", name)
    leaf = path.read_text().split(f",{name},nic-2")[0].rsplit("\n", 1)[1]
    path.write_text(path.read_text().replace(f"{leaf},{name},nic-2", f"leaf1,39,{name},nic-2"))
    answer = validate(str(path))
    assert [one.code for one in answer.findings if one.severity != "note"] == told


@pytest.mark.parametrize(("name", "told"), [("spine5", ["pair-absent"] * 2), ("console", [])])
def test_a_switch_of_another_kind_lacks_no_cables_of_its_peers(tmp_path: Path, name: str, told: list[str]) -> None:
    """Four spines on all leaves; a fifth switch above half of them lacks two cables only where it is a spine."""
    lines = ["A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"]
    for leaf in range(4):
        lines += [f"leaf{leaf + 1},{host + 1},host-{4 * leaf + host + 1},nic,400G" for host in range(4)]
        lines += [f"leaf{leaf + 1},{41 + spine},spine{spine + 1},{leaf + 1},400G" for spine in range(4)]
    lines += [f"leaf{leaf + 1},45,{name},{leaf + 1},400G" for leaf in range(2)]
    path = tmp_path / "fifth.csv"
    path.write_text("\n".join(lines) + "\n")
    answer = validate(str(path))
    assert [one.code for one in answer.findings if one.severity != "note"] == told
    assert any(rule.endswith(f"cabled otherwise: {name}") for rule in answer.rules) == (not told)


@pytest.mark.parametrize(("device", "code"), [("other-1", "nic-missing"), ("", "nic-missing")])
def test_an_adapter_of_a_known_host_in_the_place_of_another_hides_no_missing_one(
    tmp_path: Path, device: str, code: str
) -> None:
    """Only one of no known host may be the one that lacks."""
    path = schedule(tmp_path / "place.csv", "rails", {(6, 3)})
    if device:
        with path.open("a") as rows:
            rows.write(f"leaf4,7,{device},eth0,400G\n")
    faults = [one for one in validate(str(path)).findings if one.severity != "note"]
    assert [(one.code, one.place) for one in faults] == [(code, "host-07 nic-4")]
