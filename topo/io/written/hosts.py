"""The machines of a fabric as tools know them that know no adapters: switches and servers, and cables between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topo.io.written import host_titles, port_names, unique_names
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["Machines", "merged_hosts"]


@dataclass(frozen=True, slots=True)
class Machines:
    """Switches and servers: names, which are switches, the machine of each node, and the cables between machines.

    ``of_node`` has one entry a node of the fabric; ``rows`` are the links that join two machines, the rest being
    inside one. ``label`` are the port names at the machine, the adapter's name before the port's where a server has
    several adapters.
    """

    names: list[str]
    is_switch: list[bool]
    of_node: NDArray[np.int64]
    rows: NDArray[np.int64]
    label: list[str]
    port_node: NDArray[np.int32]
    port_a: NDArray[np.int32]
    port_b: NDArray[np.int32]
    lost: tuple[str, ...]

    def cables(self) -> Iterator[tuple[int, str, int, str]]:
        """Machine, port, machine, port of every cable, in the order of ``rows``."""
        for a, b in zip(self.port_a[self.rows].tolist(), self.port_b[self.rows].tolist(), strict=True):
            yield (int(self.of_node[self.port_node[a]]), self.label[a],
                   int(self.of_node[self.port_node[b]]), self.label[b])  # fmt: skip


def merged_hosts(fabric: Fabric) -> Machines:
    """The fabric's machines: a host's adapters and parts are one server.

    >>> import topo
    >>> machines = merged_hosts(topo.load("nvidia-superpod-h100-1su"))
    >>> len(machines.names), sum(machines.is_switch), next(machines.cables())[1]
    (45, 12, 'nic-1:1')
    """
    nodes = fabric.nodes
    names, lost = unique_names(fabric)
    hosts, changed = host_titles(fabric, names)
    index: dict[str, int] = {}
    owner: list[int] = []
    machine: list[str] = []
    is_switch: list[bool] = []
    switch = nodes.kind.is_any("switch", "router", "storage_switch").tolist()
    for name, host, forwards in zip(names, hosts, switch, strict=True):
        title = name if not host or forwards else host
        if title not in index:
            index[title] = len(machine)
            machine.append(title)
            is_switch.append(forwards)
        owner.append(index[title])
    of_node = np.array(owner, np.int64)
    rows = np.flatnonzero(of_node[fabric.link_a] != of_node[fabric.link_b])
    inside = len(fabric.links) - len(rows)
    lost += changed
    lost += [f"{plural(inside, 'link')} inside hosts or from a switch to itself"] if inside else []
    texts, relabelled = port_names(fabric)
    lost += relabelled
    several = np.bincount(of_node[np.unique(fabric.ports.node)], minlength=len(machine)) > 1
    n = int((several & ~np.array(is_switch, bool)).sum())
    lost += [f"names of ports at {plural(n, 'host')}: that of the adapter stands before each"] if n else []
    alone = ~several[of_node] & ~np.array(is_switch, bool)[of_node]
    n = sum(name != machine[of_node[row]] for row, name in enumerate(names) if alone[row])
    lost += [f"names of adapters: {n:,} here, alone in a host each, go by the host's"] if n else []
    label = _labels(fabric, texts, of_node, is_switch, machine, names)
    return Machines(
        machine, is_switch, of_node, rows, label, fabric.ports.node, fabric.links.port_a, fabric.links.port_b,
        tuple(lost),
    )  # fmt: skip


def _labels(
    fabric: Fabric,
    texts: list[str],
    of_node: NDArray[np.int64],
    is_switch: list[bool],
    machine: list[str],
    names: list[str],
) -> list[str]:
    """Port names at the machine, unique there."""
    node = fabric.ports.node.tolist()
    parts = Counter(of_node[np.unique(fabric.ports.node)].tolist())
    found, seen = [], set[tuple[int, str]]()
    for text, at in zip(texts, node, strict=True):
        row = int(of_node[at])
        if not is_switch[row] and parts[row] > 1:
            text = f"{_short(names[at], machine[row])}:{text}"
        while (row, text) in seen:
            text += "'"
        seen.add((row, text))
        found.append(text)
    return found


def _short(name: str, host: str) -> str:
    """An adapter's name without its host's before it."""
    rest = name[len(host) :].lstrip("-_ /:.") if name.startswith(host) else name
    return rest or name
