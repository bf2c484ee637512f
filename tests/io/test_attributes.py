"""What the attributes of a graph's nodes state, by the names of our own columns."""

from __future__ import annotations

import json
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.dot import read_dot
from topo.io.graphs import read_graphml


def test_an_attribute_that_its_column_cannot_hold_is_left_out_and_told() -> None:
    said = 'coordinates="x,y", tier="top", local_index="first", forwards="9", is_endpoint="perhaps", rack="R1"'
    fabric = read_dot(f'graph G {{\n  a [kind="host", {said}];\n  b [kind="switch"];\n  a -- b;\n}}', "g.dot")
    nodes = fabric.nodes
    assert (nodes.rack[0], nodes.coordinates[0], nodes.tier.tolist(), nodes.is_endpoint.tolist()) == (
        "R1", "", [0, 1], [True, False],
    )  # fmt: skip
    told = [str(note) for note in fabric.origin.notes if "not understood" in note.text]
    assert told == [
        f"g.dot:2: {column} of a node not understood, left out: a: {text!r}"
        for column, text in (("coordinates", "x,y"), ("local_index", "first"), ("tier", "top"),
                             ("is_endpoint", "perhaps"), ("forwards", "9"))
    ]  # fmt: skip


def test_flags_may_be_words_as_networkx_writes_them() -> None:
    fabric = topo.torus([3, 3])
    data = json.dumps(nx.node_link_data(topo.to_networkx(fabric), edges="links"), default=str)
    found = fabric_of_text(data, "g.json").nodes
    assert found.is_endpoint.all() and found.coordinates.equals(fabric.nodes.coordinates)


@pytest.mark.parametrize("read", [read_dot, read_graphml])
def test_what_an_edge_states_amiss_is_told(read: Callable[..., Fabric]) -> None:
    said = {"kind": "fibre", "length_m": "3 m", "capacity_gbps": "400G"}
    if read is read_dot:
        text = f"graph G {{ a -- b [{', '.join(f'{key}={json.dumps(value)}' for key, value in said.items())}]; }}"
    else:
        text = "\n".join(nx.generate_graphml(nx.Graph([("a", "b", said)])))
    fabric = read(text, "g", hosts=["a"])
    assert (fabric.links.kind[0], fabric.links.capacity_gbps[0]) == ("access", 400.0)
    assert np.isnan(fabric.links.length_m[0])
    told = [note.text for note in fabric.origin.notes if "of an edge" in note.text]
    assert told == [
        "kind of an edge not known, taken by its ends: 'fibre'; known: scale_out, access, scale_up, host_io, storage, "
        "management, internal",
        "length_m of an edge not understood: '3 m'; metres are wanted, a number alone",
    ]
