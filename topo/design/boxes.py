"""What of a fabric stands in racks, how large it is and what it draws; which links are cables between boxes."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.io.written import unique_names
from topo.parts.hosts import HOSTS
from topo.parts.sizes import BoxSize, server_of_accelerators, size_of
from topo.table import Array

__all__ = ["CABLE_KINDS", "SWITCH_WORDS", "Boxes", "boxes_of"]

CABLE_KINDS = ("access", "scale_out", "storage", "management", "scale_up")
"""Kinds of links that may be cables between boxes."""

SWITCH_WORDS = ("switch", "storage switch", "scale-up switch")
"""What boxes that relay for others are called; the trays of a rack-scale domain belong to its hosts."""

_SWITCHES = ("switch", "router", "storage_switch", "scale_up_switch", "optical_switch")
_UNSEEN = ("aggregation", "pcie_switch", "cpu", "memory")
_SERVER_ADAPTERS = 4


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of a fabric, one row each, and the cables between them.

    ``word`` is host, storage, manager, switch, ``storage switch``, ``scale-up switch`` or ``switch tray``; ``tier``
    that of a switch, 0 for all else; ``pod``, ``plane``, ``rail`` and ``rack`` are codes of the fabric's labels, -1
    for none. ``of_node`` is the box of every node, -1 for what stands in none. ``links`` are the rows of the cables;
    ``a`` and ``b`` the boxes at their ends with the ports there, ``turned`` where the link's own end B is the lower
    one and comes first.
    """

    fabric: Fabric
    node_name: list[str]
    name: list[str]
    word: list[str]
    part: list[str]
    size: list[BoxSize]
    tier: NDArray[np.int64]
    pod: NDArray[np.int64]
    plane: NDArray[np.int64]
    rail: NDArray[np.int64]
    rack: NDArray[np.int64]
    of_node: NDArray[np.int64]
    links: NDArray[np.int64]
    turned: NDArray[np.bool_]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    port_a: NDArray[np.int64]
    port_b: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def is_switch(self) -> NDArray[np.bool_]:
        """Which boxes are switches of the scale-out network or of storage, or of a scale-up domain of many racks."""
        return np.array([word in SWITCH_WORDS for word in self.word], bool)

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Rack units of every box."""
        return np.array([size.units for size in self.size], np.int64)

    @cached_property
    def power_kw(self) -> NDArray[np.float64]:
        """Power of every box without optics, kW."""
        return np.array([size.power_kw for size in self.size], float)


def boxes_of(fabric: Fabric, sizes: Mapping[str, BoxSize] | None = None) -> Boxes:
    """The boxes of a fabric: servers with all that is inside them, switches, chassis.

    ``sizes`` (by glob over part, then name of the box, then word) replace the known ones. The chips of a rack-scale
    domain are its switch trays, and its scale-up links a backplane, no cables.

    >>> import topo
    >>> boxes = boxes_of(topo.rail_optimized(127, managers=2, host_part="dgx-h100", switch_part="qm9700"))
    >>> len(boxes), len(boxes.links), boxes.size[0].units, float(boxes.size[0].power_kw)
    (177, 2044, 8, 10.2)
    """
    nodes = fabric.nodes
    node_name, _ = unique_names(fabric)
    of_node, names, firsts = _grouped(fabric, node_name)
    trays = _tray_rack(fabric)
    words = ["switch tray" if trays[first] >= 0 else _word(fabric, first) for first in firsts]
    n = len(names)
    member = np.flatnonzero(of_node >= 0)
    tier = np.zeros(n, np.int64)
    np.maximum.at(tier, of_node[member], nodes.tier[member].astype(np.int64))
    parts = _parts(fabric, of_node, firsts, words, n)
    ports = np.bincount(of_node[fabric.ports.node[of_node[fabric.ports.node] >= 0]], minlength=n)
    adapters = np.bincount(of_node[member][nodes.kind.is_any("nic")[member]], minlength=n)
    held = np.bincount(of_node[member][nodes.kind.is_any("accelerator")[member]], minlength=n)
    size = [
        _given(sizes or {}, parts[i], names[i], words[i])
        or _size(words[i], parts[i], int(ports[i]), int(adapters[i]), int(held[i]))
        for i in range(n)
    ]
    tier[[word not in SWITCH_WORDS for word in words]] = 0
    first = np.array(firsts, np.int64)
    links, a, b = _cables(fabric, of_node)
    turned = tier[a] > tier[b]
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    ends = fabric.links.port_a[links].astype(np.int64), fabric.links.port_b[links].astype(np.int64)
    return Boxes(
        fabric, node_name, names, words, parts, size, tier, nodes.pod.codes[first].astype(np.int64),
        nodes.plane.codes[first].astype(np.int64), nodes.rail.codes[first].astype(np.int64),
        np.maximum(nodes.rack.codes, _tray_rack(fabric))[first].astype(np.int64), of_node, links, turned, a, b,
        np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1]),
    )  # fmt: skip


def _grouped(fabric: Fabric, node_name: list[str]) -> tuple[NDArray[np.int64], list[str], list[int]]:
    """The box of every node, the names of the boxes, and the first node of each; in the order of the nodes."""
    nodes = fabric.nodes
    n = len(nodes)
    key = np.arange(n, dtype=np.int64)
    for codes, offset in ((_tray_rack(fabric), 1), (nodes.chassis.codes, 2), (nodes.host.codes, 3)):
        mine = codes >= 0
        key[mine] = offset * n + codes[mine]
    unseen = nodes.kind.is_any(*_UNSEEN) & (key < n)
    key[unseen] = -1
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    order = order[key[first[order]] >= 0]
    rank = np.full(len(first), -1, np.int64)
    rank[order] = np.arange(len(order))
    of_node = rank[code]
    firsts = first[order].tolist()
    names = []
    for row in firsts:
        offset = int(key[row]) // n if n else 0
        if offset == 1:
            names.append(f"{nodes.domain[row]} switch trays".strip())
        elif offset == 2:
            names.append(nodes.chassis[row])
        else:
            names.append(nodes.host[row] if offset == 3 else node_name[row])
    return of_node, _apart(names), firsts


def _apart(names: list[str]) -> list[str]:
    """The names, a number behind those that come again."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = times = seen.get(name, 0) + 1
        out.append(name if times == 1 else f"{name} ({times})")
    return out


def _tray_rack(fabric: Fabric) -> NDArray[np.int64]:
    """The rack of switch chips whose scale-up domain stands in that one rack; -1 for all other nodes."""
    nodes = fabric.nodes
    domain, rack = nodes.domain.codes.astype(np.int64), nodes.rack.codes.astype(np.int64)
    out = np.full(len(nodes), -1, np.int64)
    inside = np.flatnonzero((domain >= 0) & (rack >= 0))
    if not inside.size:
        return out
    low = np.full(len(nodes.domain.labels), np.iinfo(np.int64).max)
    high = np.full(len(nodes.domain.labels), -1)
    np.minimum.at(low, domain[inside], rack[inside])
    np.maximum.at(high, domain[inside], rack[inside])
    one_rack = np.append((low == high) & (low >= 0), False)
    chips = nodes.kind.is_any("scale_up_switch") & (nodes.host.codes < 0) & one_rack[domain]
    out[chips] = low[domain[chips]]
    return out


def _word(fabric: Fabric, row: int) -> str:
    nodes = fabric.nodes
    kind = nodes.kind[row]
    if nodes.host.codes[row] >= 0 and kind not in ("storage", "manager"):
        return "host"
    if kind == "scale_up_switch":
        return "scale-up switch"
    if kind == "storage_switch":
        return "storage switch"
    if kind in _SWITCHES:
        return "switch"
    return kind if kind in ("storage", "manager") else "host"


def _parts(fabric: Fabric, of_node: Array, firsts: list[int], words: list[str], n: int) -> list[str]:
    """The standard part of every box: that of a switch, the server that a host's adapters or accelerators tell."""
    nodes = fabric.nodes
    known = {part.name for part in HOSTS}
    parts = [nodes.part[row] for row in firsts]
    counts = np.bincount(of_node[(of_node >= 0) & nodes.kind.is_any("accelerator")], minlength=n)
    for i, (row, word) in enumerate(zip(firsts, words, strict=True)):
        if word == "host" and parts[i] not in known:
            held = server_of_accelerators(parts[i], int(counts[i])) if nodes.kind[row] == "accelerator" else ""
            parts[i] = held
    return parts


def _given(sizes: Mapping[str, BoxSize], part: str, name: str, word: str) -> BoxSize | None:
    for text in (part, name, word):
        for pattern, size in sizes.items():
            if text and fnmatch.fnmatchcase(text, pattern):
                return size
    return None


def _size(word: str, part: str, ports: int, adapters: int, accelerators: int) -> BoxSize:
    known = size_of(part)
    if known is not None:
        return known
    if word == "host":
        if adapters >= _SERVER_ADAPTERS or (accelerators >= _SERVER_ADAPTERS and part):
            return _stand_in("accelerator server")
        return _stand_in("board" if accelerators else "server")
    if word in ("switch", "storage switch"):
        return _stand_in("large switch" if ports > 64 else "switch")
    if word == "switch tray":
        return _stand_in(word)
    return _stand_in(word)


def _stand_in(name: str) -> BoxSize:
    found = size_of(name)
    assert found is not None
    return found


def _cables(fabric: Fabric, of_node: Array) -> tuple[Array, Array, Array]:
    """Rows of the links that are cables between boxes, and the boxes at their ends.

    Scale-up links to the switch trays of a rack run over its backplane.
    """
    a, b = of_node[fabric.link_a], of_node[fabric.link_b]
    chosen = fabric.links.kind.is_any(*CABLE_KINDS) & (a >= 0) & (b >= 0) & (a != b)
    trays = _tray_rack(fabric) >= 0
    backplane = fabric.links.kind.is_any("scale_up") & (trays[fabric.link_a] | trays[fabric.link_b])
    rows = np.flatnonzero(chosen & ~backplane)
    return rows, a[rows].astype(np.int64), b[rows].astype(np.int64)
