"""Leaf groups, pods and trees of built fabrics."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.fabric import State
from topo.placement.fold import hosts_of, name_mask
from topo.placement.measure import end_tree


@pytest.mark.parametrize(
    ("fabric", "sizes", "endpoint_sizes"),
    [
        (lambda: topo.leaf_spine(leaves=4, spines=8, hosts_per_leaf=8), [4], [4]),
        (lambda: topo.fat_tree(8), [32, 8], [32, 8]),
        (lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16), [2], [8]),
        (lambda: topo.load("nvidia-superpod-b200-64su"), [64, 16], [512, 16]),
        (lambda: topo.load("nvidia-superpod-gb200-2su-nvl72"), [16, 2], [64, 8]),
    ],
)
def test_levels_of_symmetric_trees(fabric, sizes, endpoint_sizes) -> None:  # type: ignore[no-untyped-def]
    hosts = hosts_of(fabric())
    assert hosts.tree.symmetric, hosts.tree.why_not
    assert [len(level) for level in hosts.tree.levels] == sizes
    assert [len(level) for level in end_tree(hosts).tree.levels] == endpoint_sizes
    assert sorted(hosts.endpoint.tolist()) == hosts.fabric.endpoints.tolist()


def test_a_superpod_unit_is_one_group_of_eight_leaves() -> None:
    hosts = hosts_of(topo.load("nvidia-superpod-b200-64su"))
    assert np.bincount(hosts.leaf).tolist() == [32] * 64
    assert hosts.leaf_switches.tolist() == [8] * 64
    assert hosts.tree.levels[0].capacity_gbps.tolist() == [8 * 32 * 400] * 64
    assert hosts.tree.levels[1].parent.tolist() == [0] * 16


def test_unequal_failures_are_no_symmetric_tree() -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    up = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    hosts = hosts_of(fabric, state=State.without(fabric, links=up[:1]))
    assert not hosts.tree.symmetric
    assert "upper switches" in hosts.tree.why_not
    assert hosts.tree.n_leaves == 4


def test_a_host_without_its_links_has_no_group() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    access = np.flatnonzero(fabric.links.kind.is_any("access"))
    hosts = hosts_of(fabric, state=State.without(fabric, links=access[:1]))
    assert hosts.leaf.tolist() == [-1, 0, 1, 1]


def test_names_are_refused_by_name() -> None:
    hosts = hosts_of(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2))
    assert name_mask(hosts, ["host-1", "host-[34]"]).tolist() == [True, False, True, True]
    for which in (["host-9"], "nobody*"):
        with pytest.raises(ParameterError, match="no host of .* is called"):
            name_mask(hosts, which)
    with pytest.raises(ParameterError, match="4 entries"):
        name_mask(hosts, np.ones(3, bool))


def test_host_lists_and_globs() -> None:
    hosts = hosts_of(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8))  # host-01 to host-32

    def named(*which: str) -> list[int]:
        return (np.flatnonzero(name_mask(hosts, which)) + 1).tolist()

    assert named("host-[01-05,09]") == [1, 2, 3, 4, 5, 9]
    assert named("host-[08-12]") == [8, 9, 10, 11, 12]
    assert named("host-0[1-3]", "host-32") == [1, 2, 3, 32]
    assert named("host-3[12]") == [31, 32]  # a glob: one of two letters
    assert named("host-[07]") == [7]  # as a glob it names nothing
    assert named("host-01,host-1[0-1]") == [1, 10, 11]
    assert named("host-[!0]*") == list(range(10, 33))
    with pytest.raises(ParameterError, match="called 'host-33'"):
        name_mask(hosts, "host-[30-33]")
    with pytest.raises(ParameterError, match="called 'host-\\[x\\]'"):
        name_mask(hosts, "host-[x]")
    with pytest.raises(ParameterError, match="more than"):
        name_mask(hosts, "host-[01-99999999]")
    with pytest.raises(ParameterError, match="called 'n\\[1-2\\]'"):
        name_mask(hosts, "n[1-2]")
