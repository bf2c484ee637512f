"""Fabrics to foreign files: one format a file, over what all of them need: unique names, and what is left unsaid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import ParameterError
from topo.output import plain
from topo.table import Labels, Table

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["Written", "expect_rates", "left_unsaid", "several_ports", "unique_names"]

_ROWS = {"node", "port_a", "port_b"}


@dataclass(frozen=True, slots=True)
class Written:
    """A fabric as a file of another tool: its content, and in words what of the fabric that format cannot say.

    >>> import topo
    >>> from topo.io.written.dot import write_dot
    >>> isinstance(write_dot(topo.fat_tree(4)).content, str)
    True
    """

    content: str | bytes
    lost: tuple[str, ...] = ()

    def data(self) -> bytes:
        """The bytes of the file; text is UTF-8."""
        if isinstance(self.content, bytes):
            return self.content
        return self.content.encode("utf-8", errors="backslashreplace")


def unique_names(fabric: Fabric) -> tuple[list[str], list[str]]:
    """A name for every node that no other bears, and what was changed for that.

    Nodes that share a name get their identity in brackets, else their row: ``switch (0xe41d)``.
    """
    names = [plain(name) for name in fabric.nodes.name.tolist()]
    times = Counter(names)
    twice = {name for name, count in times.items() if count > 1 or not name}
    if not twice:
        return names, []
    uids = fabric.nodes.uid.tolist()
    taken, changed = set(times), 0
    for row, name in enumerate(names):
        if name not in twice:
            continue
        given = f"{name} ({plain(uids[row])})" if uids[row] else f"{name} ({row})"
        if given in taken:
            given = f"{given} {row}"
        taken.add(given)
        names[row], changed = given, changed + 1
    return names, [f"{changed:,} nodes share a name with others; written with their identity behind it"]


def left_unsaid(fabric: Fabric, *, nodes: Collection[str] = (), ports: Collection[str] = (),
                links: Collection[str] = (), groups: bool = False) -> list[str]:  # fmt: skip
    """The columns that hold something and are not among those written, in words."""
    lost = []
    for title, table, kept in (("nodes", fabric.nodes, nodes), ("ports", fabric.ports, ports),
                               ("links", fabric.links, links)):  # fmt: skip
        lacking = [name for name in table.columns() if name not in kept and name not in _ROWS and _says(table, name)]
        if lacking:
            lost.append(f"of the {title}: {', '.join(lacking)}")
    if len(fabric.groups) and not groups:
        lost.append(f"{len(set(fabric.groups.group.values().tolist())):,} shared-risk groups")
    cabled = np.zeros(len(fabric.ports), bool)
    cabled[fabric.links.port_a] = cabled[fabric.links.port_b] = True
    if not cabled.all():
        lost.append(f"{int((~cabled).sum()):,} free ports")
    return lost


def several_ports(fabric: Fabric) -> list[str]:
    """That readers take each port of a host for an adapter, where an endpoint of several ports is no host of adapters.

    >>> import topo
    >>> several_ports(topo.torus((3, 4)))
    ['that endpoints of several ports are one each: 12 here; each port reads as an adapter of its own']
    """
    cabled = np.concatenate([fabric.links.port_a, fabric.links.port_b])
    ports = np.bincount(fabric.ports.node[cabled], minlength=len(fabric.nodes))
    n = int((fabric.nodes.is_endpoint & (ports > 1)).sum())
    said = "that endpoints of several ports are one each: {:,} here; each port reads as an adapter of its own"
    return [said.format(n)] if n else []


def _says(table: Table, name: str) -> bool:
    """Whether a column differs from its default on some row."""
    value, default = getattr(table, name), table.columns()[name].default
    if isinstance(value, Labels):
        return bool((value.values() != (default or "")).any())
    if default is None:
        return True
    if isinstance(default, float) and np.isnan(default):
        return not bool(np.isnan(value).all())
    return bool((value != default).any())


def expect_rates(fabric: Fabric, what: str) -> None:
    """Refuse links of unknown rate where a format must state one.

    :raises ParameterError: naming the first of them.
    """
    from topo.fabric import LinkSet

    unknown = np.flatnonzero(np.isnan(fabric.links.capacity_gbps))
    if unknown.size:
        link = LinkSet.of(fabric, unknown[:1])[0]
        raise ParameterError(
            f"{what} states a rate for every link; {unknown.size:,} have none here, the first {link}; "
            "state one with assume_gbps= (--assume-gbps)"
        )
