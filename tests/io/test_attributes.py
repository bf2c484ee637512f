"""What the attributes of a graph's nodes state, by the names of our own columns."""

from __future__ import annotations

import json

import networkx as nx

import topo
from topo.io import fabric_of_text
from topo.io.dot import read_dot


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
