"""Changes that no wiring without a design shows: two good origins of one and the same wiring, by an explicit renaming.

These are the only exceptions to what faults are drawn and scored; each is proved here by its counterexample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from injected_families import good
from injected_faults import as_read, pair_counts, said_items, true_items
from injected_origins import nearest_items

from topo.build.zones import joined_zones
from topo.fabric import Fabric
from topo.wiring import validate
from topo.wiring.cabling import Cabling


def exchanged(fabric: Fabric, one: int, other: int) -> Fabric:
    """The upper ends of two cables exchanged."""
    side = Cabling.of(fabric)
    port_a, port_b = fabric.links.port_a.copy(), fabric.links.port_b.copy()
    ends = []
    for link in (one, other):
        a, b = (fabric.ports.node[ports[link]] for ports in (port_a, port_b))
        ends.append(port_b if side.tier[b] > side.tier[a] else port_a)
    ends[0][one], ends[1][other] = ends[1][other], ends[0][one]
    return replace(fabric, links=replace(fabric.links, port_a=port_a, port_b=port_b))


def link_between(fabric: Fabric, one: str, other: str) -> int:
    """The first cable of two nodes."""
    a, b = (fabric.nodes.name[ends] for ends in (fabric.link_a, fabric.link_b))
    return int(np.flatnonzero(((a == one) & (b == other)) | ((a == other) & (b == one)))[0])


def is_renamed(before: Fabric, after: Fabric, groups: tuple[tuple[list[int], list[int]], ...]) -> bool:
    """Whether ``after`` is ``before`` with each pair of lists of nodes exchanged."""
    image = np.arange(len(before.nodes))
    for one, other in groups:
        image[one], image[other] = other, one
    counts = [pair_counts(fabric, np.arange(len(fabric.links))) for fabric in (before, after)]
    renamed = {tuple(sorted((int(image[a]), int(image[b])))): n for (a, b), n in counts[0].items()}
    return renamed == dict(counts[1])


def above_note(fabric: Fabric) -> list[str]:
    return [str(one) for one in validate(as_read(fabric), consequence=False).findings if one.severity != "note"]


def test_leaves_of_a_zone_that_exchange_their_cables_to_the_joints() -> None:
    """The leaves, each with its hosts, renamed into each other are the whole difference: it is none."""
    fabric = good("joined zones")
    leaves = ["zone-1-leaf-07", "zone-1-leaf-08"]
    after = exchanged(
        fabric, *(link_between(fabric, *ends) for ends in zip(leaves, ["joint-1", "joint-2"], strict=True))
    )
    assert len(true_items(fabric, after)) == 4
    side = Cabling.of(fabric)
    boxes = []
    for leaf in leaves:
        row = int(np.flatnonzero(fabric.nodes.name == leaf)[0])
        boxes.append([row, *side.nic[side.leaf == row].tolist()])
    assert is_renamed(fabric, after, ((boxes[0], boxes[1]),))
    assert not is_renamed(fabric, after, ())
    assert nearest_items(fabric, after, set()) == set()
    assert above_note(after) == []


def test_hosts_of_a_unit_that_exchange_their_storage_cables() -> None:
    """Adapters that take storage leaves in sequence have no rail: the two hosts renamed are the whole difference."""
    fabric = good("rails and storage, H100 4 SU")
    side = Cabling.of(fabric)
    host = fabric.nodes.host.codes[side.nic]
    is_railed = fabric.nodes.rail.codes[side.nic] >= 0
    leaves = {
        code: tuple(tuple(side.leaf[(host == code) & mask].tolist()) for mask in (is_railed, ~is_railed))
        for code in np.unique(host[is_railed]).tolist()
    }
    one, other = next(
        (a, b)
        for a in leaves
        for b in leaves
        if leaves[a][0] == leaves[b][0] and not set(leaves[a][1]) & set(leaves[b][1]) and leaves[a][1]
    )
    rows = [side.access[(host == code) & ~is_railed].tolist() for code in (one, other)]
    after = fabric
    for a, b in zip(*rows, strict=True):
        after = exchanged(after, a, b)
    items = true_items(fabric, after)
    assert {item[0] for item in items} == {"host"} and len(items) == 2
    inside = [np.flatnonzero(fabric.nodes.host.codes == code).tolist() for code in (one, other)]
    assert fabric.nodes.name[inside[0]].tolist() != fabric.nodes.name[inside[1]].tolist()
    assert is_renamed(fabric, after, ((inside[0], inside[1]),))
    assert not is_renamed(fabric, after, ())
    assert nearest_items(fabric, after, set()) == set()
    assert above_note(after) == []


def test_a_fault_that_no_renaming_explains_stays() -> None:
    """Renaming takes nothing away from a swap inside a block, nor from a joint's cable that is gone."""
    fabric = good("joined zones")
    swap = exchanged(
        fabric,
        link_between(fabric, "zone-1-leaf-07", "zone-1-spine-03"),
        link_between(fabric, "zone-2-leaf-09", "zone-2-spine-05"),
    )
    gone = fabric.without(links=[link_between(fabric, "zone-1-leaf-07", "joint-1")])
    for after, n in ((swap, 4), (gone, 1)):
        items = nearest_items(fabric, after, set())
        assert items == true_items(fabric, after) and len(items) == n
        assert said_items(validate(as_read(after), consequence=False)) == items


def test_joints_that_zones_use_unevenly() -> None:
    """Leaves of two zones that exchange their cables to the joints change 20 + 20 into 19 + 21: a swap of two leaves.

    Which two of the leaves it was is a matter of names.
    """
    fabric = good("joined zones")
    ends = (("zone-1-leaf-07", "joint-1"), ("zone-2-leaf-08", "joint-2"))
    after = exchanged(fabric, *(link_between(fabric, *pair) for pair in ends))
    answer = validate(as_read(after), consequence=False)
    said = said_items(answer)
    assert len(said) == 4 and nearest_items(fabric, after, said) == said
    assert [one.code for one in answer.findings if one.severity != "note"] == ["swapped"]
    # Zones of 25 leaves cannot use two joints evenly: nothing is said of them.
    assert above_note(joined_zones(2, leaves=25, spines=12, hosts_per_leaf=12)) == []
