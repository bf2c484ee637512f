"""The value: read-only, picklable, selectable; states and cut-down copies agree."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import topo
from topo.errors import FabricError, InputError
from topo.fabric import Fabric, LinkSet, LinkTable, NodeTable, PortTable, State
from topo.network import Network
from topo.table import Labels, freeze


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    """A small rail-optimized fabric with everything labelled."""
    return topo.rail_optimized(5, rails=4, hosts_per_unit=3, radix=8, managers=1)


def arrays_of(fabric: Fabric) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Every array of every column."""
    out = []
    for table in (fabric.nodes, fabric.ports, fabric.links):
        for name in table.columns():
            value = getattr(table, name)
            out += [value.codes, value.labels] if isinstance(value, Labels) else [value]
    return out


@pytest.mark.parametrize("copied", [lambda f: f, lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy])
def test_every_array_is_read_only_also_after_pickle_and_deepcopy(fabric: Fabric, copied) -> None:  # type: ignore[no-untyped-def]
    other = copied(fabric)
    assert other.equals(fabric)
    assert other.digest == fabric.digest
    for array in arrays_of(other):
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = array[:1]


def test_no_writable_alias_leaks_in() -> None:
    mine = np.array([1, 2, 3])
    frozen = freeze(mine)
    mine[0] = 9
    assert frozen.tolist() == [1, 2, 3]
    view = mine[:]
    view.flags.writeable = False
    held = freeze(view)
    mine[1] = 9
    assert held.tolist() == [9, 2, 3]


def test_arcs_and_csr(fabric: Fabric) -> None:
    assert (fabric.arc_source[0::2] == fabric.link_a).all()
    assert (fabric.arc_target[1::2] == fabric.link_a).all()
    start, arcs = fabric.csr
    for node in range(len(fabric.nodes)):
        mine = arcs[start[node] : start[node + 1]]
        assert mine.tolist() == np.flatnonzero(fabric.arc_source == node).tolist()


def test_selection_by_globs(fabric: Fabric) -> None:
    assert len(fabric.rows("host-[12]")) == 8
    assert len(fabric.select(kind="switch", tier=1, rail="rail-2")) == 2
    assert fabric.select("su-1-leaf-?", pod="su-1").size == 4
    with pytest.raises(topo.ParameterError, match=r"no column 'rial'; they have name, uid"):
        fabric.select(rial="1")
    with pytest.raises(topo.ParameterError, match=r"'su-1-leaf-9'; did you mean"):
        fabric.rows("su-1-leaf-9")
    with pytest.raises(topo.ParameterError, match="selects no endpoint"):
        fabric.endpoint_rows("su-1-leaf-1")
    mask = np.zeros(len(fabric.nodes), bool)
    mask[3] = True
    assert fabric.rows(mask).tolist() == [3]
    with pytest.raises(topo.ParameterError, match="must have"):
        fabric.rows(mask[:-1])


def test_without_drops_nodes_their_ports_and_links(fabric: Fabric) -> None:
    less = fabric.without(nodes="su-1-leaf-1")
    gone = int(fabric.rows("su-1-leaf-1")[0])
    touching = (fabric.link_a == gone) | (fabric.link_b == gone)
    assert len(less.nodes) == len(fabric.nodes) - 1
    assert len(less.links) == len(fabric.links) - int(touching.sum())
    assert "su-1-leaf-1" not in less.nodes.name
    state = State.without(fabric, nodes="su-1-leaf-1")
    kept = LinkSet.of(fabric, np.flatnonzero(state.link_mask(fabric)))
    assert [tuple(link)[1:] for link in kept] == [
        tuple(link)[1:] for link in LinkSet.of(less, np.arange(len(less.links)))
    ]
    assert len(fabric.without(links=[0, 1]).links) == len(fabric.links) - 2


def test_malformed_tables_are_refused() -> None:
    with pytest.raises(FabricError, match=r"NodeTable.tier has 2 rows, name has 1"):
        NodeTable(name=np.array(["a"]), tier=np.array([1, 2], np.int8))
    nodes = NodeTable(name=np.array(["a", "b"]))
    ports = PortTable(node=np.array([0, 1]), label=Labels.of(["1", "1"]))
    with pytest.raises(FabricError, match=r"links.port_b\[0\] is 5, outside the 2 ports"):
        Fabric("x", nodes, ports, LinkTable(port_a=np.array([0]), port_b=np.array([5])))
    with pytest.raises(FabricError, match="link 0 joins port 1 to itself"):
        Fabric("x", nodes, ports, LinkTable(port_a=np.array([1]), port_b=np.array([1])))
    with pytest.raises(FabricError, match="capacity -1"):
        Fabric("x", nodes, ports, LinkTable(port_a=np.array([0]), port_b=np.array([1]), capacity_gbps=np.array([-1.0])))
    with pytest.raises(FabricError, match=r"ports.node\[1\] is 7"):
        Fabric(
            "x", nodes, PortTable(node=np.array([0, 7])), LinkTable(port_a=np.array([], int), port_b=np.array([], int))
        )
    with pytest.raises(FabricError, match="without loss"):
        PortTable(node=np.array([0.5]))


def test_network_leaves_out_management_loops_and_one_sided_links() -> None:
    fabric = topo.rail_optimized(5, rails=4, hosts_per_unit=3, radix=8, managers=1)
    network = Network.of(fabric)
    assert network.kinds == ("scale_out", "access")
    assert len(network.links) == len(fabric.links) - 2
    assert len(Network.of(fabric, kinds=["management"]).links) == 2
    with pytest.raises(topo.ParameterError, match="unknown link kind 'nvlink'"):
        Network.of(fabric, kinds=["nvlink"])
    state = State(capacity_gbps=np.full(len(fabric.links), np.nan))
    with pytest.raises(
        InputError, match=r"rate of \d+ link\(s\) is unknown, first host-1-nic-1 port 1 - su-1-leaf-1 port 1"
    ):
        _ = Network.of(fabric, state=state).capacity_gbps


def test_state_of_another_fabric_is_refused(fabric: Fabric) -> None:
    other = State.without(topo.fat_tree(4), nodes="core-1")
    with pytest.raises(topo.ParameterError, match="entries, the fabric needs"):
        other.link_mask(fabric)


def test_link_set_names_both_ends(fabric: Fabric) -> None:
    links = LinkSet.of(fabric, [0])
    assert str(links[0]) == "host-1-nic-1 port 1 - su-1-leaf-1 port 1"
    assert links.to_records()[0]["capacity_gbps"] == 400
    assert links.to_frame().index.tolist() == [0]
    assert pickle.loads(pickle.dumps(links))[0] == links[0]


def test_a_name_in_place_of_a_fabric_is_told_what_to_do() -> None:
    functions = [getattr(topo, name) for name in topo.__all__]
    asked = [
        f for f in functions if inspect.isfunction(f) and next(iter(inspect.signature(f).parameters), "") == "fabric"
    ]
    assert len(asked) >= 9
    for function in asked:
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty][1:]
        by_name = {p.name: ["x"] for p in needed if p.kind is p.KEYWORD_ONLY}
        with pytest.raises(topo.ParameterError, match=r"a Fabric is wanted.*topo\.load\('deepseek-ft2'\)"):
            function("deepseek-ft2", *(["x"] for _ in needed[len(by_name) :]), **by_name)
    with pytest.raises(topo.ParameterError, match="a Fabric is wanted, not dict; topo.load and the builders make one"):
        topo.inventory({})


def test_a_name_that_nothing_bears_is_refused_by_select_too(fabric: Fabric) -> None:
    with pytest.raises(topo.ParameterError, match="has a name like 'su-1-leaf-9'; did you mean"):
        fabric.select("su-1-leaf-9")
    with pytest.raises(topo.ParameterError, match=r"'host-1'; it is a host: rows\(\) takes hosts"):
        fabric.select("host-1")
    assert fabric.select("su-1-leaf-1", tier=9).size == 0  # a column's value that is not there selects nothing


def test_short_forms_say_what_is_inside(fabric: Fabric) -> None:
    assert repr(State()) == "<State: as wired>"
    down = State.without(fabric, nodes="su-1-leaf-1", links=[0, 1])
    assert repr(down) == f"<State: 1 of {len(fabric.nodes)} nodes, 2 of {len(fabric.links)} links absent>"
    assert repr(State(capacity_gbps=np.ones(3))) == "<State: rates of 3 links given>"
    named = Fabric("<b>", fabric.nodes, fabric.ports, fabric.links, origin=fabric.origin)
    page = named._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page and f"<td>{len(fabric.endpoints)}</td>" in page
    assert len(page) < 1000


def test_the_tables_are_one_class_wherever_they_are_imported_from() -> None:
    import topo.elements
    import topo.fabric

    for name in topo.elements.__all__:
        if hasattr(topo.fabric, name):
            assert getattr(topo.fabric, name) is getattr(topo.elements, name)


@pytest.mark.parametrize("text", ["x,y", "0,,1", "1.5,0", "9" * 30])
def test_coordinates_that_are_no_numbers_are_refused_where_they_are_read(text: str) -> None:
    nodes = NodeTable(name=["a", "b"], coordinates=["0,1", text])
    with pytest.raises(FabricError, match="give whole numbers from 0 parted by commas, like 0,3,12"):
        nodes.places()
