"""Several files as one fabric: the first that states something holds, a later one fills in what was left open."""

from __future__ import annotations

import numpy as np

from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.joined import one_fabric

HEARD = """A-Node,A-Port,Z-Node,Z-Port
leaf-1,swp1,spine-1,swp1
leaf-1,swp2,host-1,eth0
"""
LAID = """A-Node,A-Port,Z-Node,Z-Port,Speed,Length,A-Rack,A-U,Z-Rack,Z-U,A-MAC
spine-1,swp1,leaf-1,swp1,400G,3m,S1,40,B7,32,
leaf-1,swp2,host-1,eth0,200G,1m,B7,32,B7,3,
leaf-2,swp1,spine-1,swp2,400G,5m,B8,32,S1,40,02:00:00:00:00:01
"""


def said(fabric: Fabric) -> list[str]:
    return [str(note) for note in fabric.origin.notes]


def test_a_schedule_fills_in_what_a_dump_leaves_open() -> None:
    both = one_fabric([fabric_of_text(HEARD, "heard.csv"), fabric_of_text(LAID, "laid.csv")])
    place = {name: both.nodes.stands_at(row) for row, name in enumerate(both.nodes.name.tolist())}
    assert place == {"leaf-1": "B7 U32", "spine-1": "S1 U40", "host-1": "B7 U3", "leaf-2": "B8 U32"}
    assert both.links.capacity_gbps.tolist() == [400.0, 200.0, 400.0]
    assert both.links.length_m.tolist() == [3.0, 1.0, 5.0]
    assert both.links.source.values().tolist() == ["heard.csv", "heard.csv", "laid.csv"]
    assert both.links.line.tolist() == [2, 3, 4]
    assert "laid.csv: 2 links of files before it take their rate from it" in said(both)
    assert not any("states no rates" in note for note in said(both))
    assert both.ports.also.values().tolist()[-2:].count("02:00:00:00:00:01") == 1


def test_what_the_first_file_states_holds() -> None:
    other = LAID.replace("400G", "100G").replace("S1", "S9")
    both = one_fabric([fabric_of_text(LAID, "laid.csv"), fabric_of_text(other, "other.csv")])
    alone = fabric_of_text(LAID, "laid.csv")
    assert both.links.equals(alone.links) and both.nodes.equals(alone.nodes) and both.ports.equals(alone.ports)
    assert "other.csv: every cable in it is in a file before it: its 3 count once; is it a copy?" in said(both)


def test_a_file_that_only_fills_in_is_no_copy() -> None:
    laid = "\n".join(LAID.split("\n")[:3]) + "\n"
    both = one_fabric([fabric_of_text(HEARD, "heard.csv"), fabric_of_text(laid, "laid.csv")])
    told = "every cable in it is in a file before it: its 2 count once; it fills in racks, parts, rates or lengths"
    assert f"laid.csv: {told}" in said(both)


def test_a_rate_that_no_file_states_stays_open() -> None:
    both = one_fabric([fabric_of_text(HEARD, "a.csv"), fabric_of_text(HEARD + "leaf-2,swp1,spine-1,swp2\n", "b.csv")])
    assert np.isnan(both.links.capacity_gbps).all() and len(both.links) == 3
    assert sum("states no rates" in note for note in said(both)) == 2
