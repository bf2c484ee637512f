"""Every kind of element is the nodes and links it should be, and words find it."""

import numpy as np
import pytest

import topo
from topo.analysis.failures.elements import ELEMENT_KINDS, down_state, elements, find_elements, with_groups
from topo.errors import ParameterError
from topo.fabric import GroupTable
from topo.table import Labels


@pytest.fixture(scope="module")
def fabric():
    return topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, parallel=2, link_gbps=400)


def _links(found, i=0):
    return found.links_of(i).tolist()


def test_links_by_their_ends_and_by_port(fabric):
    pair = find_elements(fabric, "link:leaf-1--spine-2")
    assert len(pair) == 2
    assert {pair.name(i).split("--")[1].split("/")[0] for i in range(2)} == {"spine-2"}
    label = pair.name(1).split("--")[0]
    assert _links(find_elements(fabric, f"link:{label}--spine-2")) == _links(pair, 1)
    assert _links(find_elements(fabric, f"link:spine-2--{label}")) == _links(pair, 1)
    assert len(find_elements(fabric, "link:spine-*")) == 8


def test_switch_by_name_and_state(fabric):
    state = find_elements(fabric, "spine-2").state()
    assert int(state.link_mask(fabric).sum()) == len(fabric.links) - 4
    both = find_elements(fabric, "switch:spine-*").state([0], base=state)
    assert not both.node_present[fabric.rows("spine-*")].any()


def test_every_kind_lists_disjoint_rows_of_some_fabric():
    seen = set()
    for name in ("nvidia-superpod-h100-4su-dgx", "alibaba-hpn-segment", "nvidia-gb200-nvl72"):
        fabric = topo.load(name)
        for kind in ELEMENT_KINDS:
            every = elements(fabric, kind)
            if len(every):
                seen.add(kind)
                assert every.name(0)
            if kind not in ("group",):
                assert len(np.unique(every.node)) == len(every.node)
            if kind in ("link", "cable"):
                assert np.sort(every.link).tolist() == list(range(len(fabric.links)))
    assert seen >= set(ELEMENT_KINDS) - {"group", "chassis", "rack"}


def test_a_twin_port_cage_takes_two_rails_with_it():
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    cages = elements(fabric, "cage")
    nics = fabric.nodes.kind.is_any("nic")
    of_host = np.unique(fabric.ports.cage[nics[fabric.ports.node] & (fabric.ports.cage >= 0)])
    mine = np.flatnonzero(np.isin(cages.key, of_host))
    # Four OSFP cages a host serve its eight compute NICs; each of its two storage NICs has a cage of its own.
    shared = np.diff(cages.link_start)[mine] == 2
    assert (int(shared.sum()), int((~shared).sum())) == (4 * 127, 2 * 127)
    links = cages.links_of(int(mine[shared][0]))
    ends = np.concatenate([fabric.link_a[links], fabric.link_b[links]])
    assert len({fabric.nodes.rail[int(row)] for row in ends if nics[row]}) == 2


def test_groups_hold_nodes_ports_and_links(fabric):
    import dataclasses

    port = int(fabric.links.port_a[5])
    groups = GroupTable(
        group=Labels.of(["feed-A", "feed-A", "card-1", "empty"]),
        element=Labels.of(["node", "link", "port", "port"]),
        row=np.array([int(fabric.rows("spine-1")[0]), 0, port, len(fabric.ports) - 1], np.int32),
    )
    named = dataclasses.replace(fabric, groups=groups)
    feed = find_elements(named, "group:feed-A")
    assert feed.nodes_of(0).tolist() == fabric.rows("spine-1").tolist()
    assert _links(feed) == [0]
    assert _links(find_elements(named, "group:card-1")) == [5]


def test_groups_may_be_named_by_words(fabric):
    fed = with_groups(fabric, {"feed-A": ["spine-1", "link:leaf-1--spine-2"], "feed-B": ["switch:spine-1"]})
    assert [elements(fed, "group").name(i) for i in range(2)] == ["group feed-A", "group feed-B"]
    whole = down_state(fabric, ["spine-1", "link:leaf-1--spine-2"])
    at_once = down_state(fed, ["group:feed-A"])
    np.testing.assert_array_equal(at_once.link_mask(fed), whole.link_mask(fabric))
    more = with_groups(fed, {"feed-C": ["leaf-1"]})
    assert len(elements(more, "group")) == 3
    assert find_elements(more, "group:feed-A").nodes_of(0).tolist() == fabric.rows("spine-1").tolist()
    with pytest.raises(ParameterError, match="has a group 'feed-A' already"):
        with_groups(fed, {"feed-A": ["leaf-1"]})
    with pytest.raises(ParameterError, match="nothing in .* is called 'leaf-77'"):
        with_groups(fabric, {"feed-A": ["leaf-77"]})


def test_rates_are_lowered_never_raised(fabric):
    state = down_state(fabric, rates={"link:leaf-1--spine-1": 200, "spine-2": 9000})
    rate = state.link_capacity_gbps(fabric)
    assert sorted(set(rate.tolist())) == [200.0, 400.0]
    assert int((rate == 200).sum()) == 2


@pytest.mark.parametrize(
    ("down", "rates", "words"),
    [
        (["spine-9"], {}, "nothing in .* is called 'spine-9'; did you mean 'spine-"),
        (["switch:spin-1"], {}, "no switch of .* matches 'spin-1'; did you mean 'spine-1'"),
        (["link:leaf-1--leaf-2"], {}, "no link of"),
        (["*"], {}, "takes every link"),
        ([], {"spine-1": -1.0}, "rate -1.0 Gb/s"),
        ([], {"spine-1": float("nan")}, "rate nan"),
    ],
)
def test_refusals_name_what_is_near(fabric, down, rates, words):
    with pytest.raises(ParameterError, match=words):
        down_state(fabric, down, rates=rates)


def test_unknown_kind():
    with pytest.raises(ParameterError, match="unknown kind of element 'fan'; known: link"):
        elements(topo.fat_tree(4), "fan")
