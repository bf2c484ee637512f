"""Which pluggable module each end of a cable is in: cages, ports of their own, the split end of a breakout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import Boxes
from topo.parts.servers import SERVERS
from topo.table import Array

__all__ = ["Plugs", "plugs_of"]

_MOST_CAGES = 256


@dataclass(frozen=True, eq=False)
class Plugs:
    """One row a plug: the box it is in, the rate of one of its links, how many ports its cage has, its name there.

    ``a`` and ``b`` are the plugs at the ends of every cable of :class:`~topo.design.boxes.Boxes`.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    box: NDArray[np.int64]
    gbps: NDArray[np.float64]
    links: NDArray[np.int64]
    label: list[str]

    def __len__(self) -> int:
        return len(self.box)


def plugs_of(boxes: Boxes) -> Plugs:
    """The plugs of all cables.

    Ports of one cage share a plug; so do the legs of a breakout at its split end, and the adapters of a known server
    that end in one cage of its faceplate. Every other port is a plug of its own.

    >>> import topo
    >>> from topo.design.boxes import boxes_of
    >>> fabric = topo.rail_optimized(127, ports_per_cage=2, host_part="dgx-h100", switch_part="qm9700")
    >>> plugs = plugs_of(boxes_of(fabric))
    >>> len(set(plugs.a[:1016].tolist())), sum(label.startswith("cage") for label in plugs.label)
    (508, 2044)
    """
    fabric = boxes.fabric
    key = _cage_keys(boxes)
    used = np.unique(np.concatenate([boxes.port_a, boxes.port_b]))
    _, first, plug_of_used = np.unique(key[used], return_index=True, return_inverse=True)
    plug = np.full(len(fabric.ports), -1, np.int64)
    plug[used] = plug_of_used
    box = boxes.of_node[fabric.ports.node[used[first]]]
    n = len(first)
    gbps = np.zeros(n)
    rates = fabric.links.capacity_gbps[boxes.links]
    for port in (boxes.port_a, boxes.port_b):
        np.fmax.at(gbps, plug[port], rates)
    # A cage has as many links as it has ports, cabled or free: a twin-port transceiver is bought for one cable too.
    _, index = np.unique(key, return_inverse=True)
    size = np.bincount(index)[index[used[first]]]
    names = _labels(boxes, used[first], key[used[first]])
    return Plugs(plug[boxes.port_a], plug[boxes.port_b], box, gbps, size, names)


def _cage_keys(boxes: Boxes) -> Array:
    """One number for the ports of one plug."""
    fabric = boxes.fabric
    ports, n = fabric.ports, len(fabric.ports)
    key = np.arange(n, dtype=np.int64)
    _merge_legs(boxes, key)
    _merge_server_cages(boxes, key)
    cage = ports.cage.astype(np.int64)
    return np.where(cage >= 0, n + cage, key)


def _merge_legs(boxes: Boxes, key: Array) -> None:
    """Legs of one cable whose labels at a node differ in what stands behind the last slash only."""
    fabric = boxes.fabric
    split = boxes.links[fabric.links.cable[boxes.links] >= 0]
    for ports in (fabric.links.port_a[split], fabric.links.port_b[split]):
        bare = [text.rpartition("/")[0] for text in fabric.ports.label.labels.tolist()]
        names, code = np.unique(np.array([*bare, ""]), return_inverse=True)
        of_port = code[fabric.ports.label.codes[ports]]
        legs = names[of_port] != ""
        group = fabric.ports.node[ports].astype(np.int64) * len(names) + of_port
        _, index = np.unique(group, return_inverse=True)
        first = np.full(int(index.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, index, ports.astype(np.int64))
        key[ports[legs]] = first[index][legs]


def _merge_server_cages(boxes: Boxes, key: Array) -> None:
    """Adapters of a known server by the cage they end in; a closed server's adapters are numbered by rail."""
    fabric = boxes.fabric
    nodes = fabric.nodes
    for template in SERVERS:
        compute = template.of_purpose("compute")
        if compute is None or max(map(compute.cages.count, compute.cages)) < 2 or min(compute.cages) < 0:
            continue
        if sorted(compute.rails) != list(range(len(compute.rails))):
            continue
        mine = nodes.part.is_any(template.name) & nodes.kind.is_any("nic") & (nodes.local_index >= 0)
        mine &= nodes.local_index < len(compute.rails)
        if not mine.any():
            continue
        by_rail = [compute.cages[compute.rails.index(i)] for i in range(len(compute.rails))]
        cage = np.array(by_rail)[np.clip(nodes.local_index, 0, len(by_rail) - 1)]
        of_port = fabric.ports.node
        rows = np.flatnonzero(mine[of_port] & (fabric.ports.cage < 0))
        key[rows] = -1 - (boxes.of_node[of_port[rows]] * _MOST_CAGES + cage[of_port[rows]])


def _labels(boxes: Boxes, first: Array, key: Array) -> list[str]:
    """``cage 17`` by its place on the faceplate of its box where cages are known, else the port."""
    ports = boxes.fabric.ports
    label = ports.label.values(first).tolist()
    cage = ports.cage.astype(np.int64)
    known = np.flatnonzero(cage >= 0)
    low = np.full(len(boxes.fabric.nodes), np.iinfo(np.int64).max)
    np.minimum.at(low, ports.node[known], cage[known])
    number = np.where(key < 0, (-1 - key) % _MOST_CAGES, cage[first] - low[ports.node[first]]) + 1
    caged = (key < 0) | (cage[first] >= 0)
    return [
        f"cage {place}" if known else f"port {text.rpartition('/')[0] or text}"
        for known, place, text in zip(caged.tolist(), number.tolist(), label, strict=True)
    ]
