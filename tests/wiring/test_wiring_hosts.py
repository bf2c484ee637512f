"""A host that lacks an adapter is found where the leaves say nothing about rails."""

from __future__ import annotations

from pathlib import Path

import pytest

from topo.wiring import validate

N_HOSTS, N_ADAPTERS, N_LEAVES = 24, 4, 4


def leaf_of(scheme: str, host: int, adapter: int) -> int:
    """Leaf of an adapter: all of a host on its rack's leaf, or each host's adapters begun one leaf further on."""
    return host // 6 if scheme == "rack" else (host + adapter) % N_LEAVES


def schedule(path: Path, scheme: str, lacking: set[tuple[int, int]]) -> Path:
    """A cable schedule of twenty-four hosts of four adapters, without those that lack."""
    used = [0] * N_LEAVES
    lines = ["A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"]
    for host in range(N_HOSTS):
        for adapter in range(N_ADAPTERS):
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
