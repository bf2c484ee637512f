"""What relays in a fabric, and the links among it: all that the pictures of direct families need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, Fabric
from topo.network import default_kinds
from topo.table import Array
from topo.view.units import kind_word

__all__ = ["Relays"]


@dataclass(frozen=True, eq=False)
class Relays:
    """Nodes that are drawn (``rows``), in the fabric's order, and links ``link`` between numbers a, b.

    ``marked`` says which of those links are drawn bold, ``every_marked`` which of all links.

    They are the nodes that forward everything; where endpoints do, the endpoints, and the ``switches`` stand beside.
    """

    fabric: Fabric
    rows: NDArray[np.int64]
    link: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    marked: NDArray[np.bool_]
    endpoints_relay: bool
    every_marked: NDArray[np.bool_]

    @classmethod
    def of(cls, fabric: Fabric, marked: NDArray[np.bool_]) -> Relays:
        """Those of a fabric; ``marked`` are links to be drawn bold."""
        relays = fabric.nodes.forwards == FORWARDS_ALL
        own = fabric.nodes.is_endpoint
        endpoints_relay = bool((relays & own).any())
        rows = np.flatnonzero(relays & own if endpoints_relay else relays)
        number = np.full(len(fabric.nodes), -1, np.int64)
        number[rows] = np.arange(len(rows))
        a, b = number[fabric.link_a], number[fabric.link_b]
        link = np.flatnonzero((a >= 0) & (b >= 0) & fabric.links.kind.is_any(*default_kinds(fabric)))
        return cls(fabric, rows, link, a[link], b[link], marked[link], endpoints_relay, marked)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def word(self) -> str:
        """What one of them is called."""
        return kind_word(str(self.fabric.nodes.kind.values(self.rows[:1])[0])) if self.endpoints_relay else "switch"

    @property
    def has_direct_hosts(self) -> bool:
        """Whether endpoints that relay are joined without a switch."""
        return self.endpoints_relay and bool(len(self.link))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Their coordinates, -1 where they have none."""
        return self.fabric.nodes.places()[self.rows]

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """For hosts that relay: which of them share a switch, by the switch's number of those joined with it."""
        switch, host = self.to_switches
        cell = np.arange(len(self)) + len(self.fabric.nodes)
        cell[host] = switch
        return cell

    @cached_property
    def to_switches(self) -> tuple[Array, Array]:
        """Every link between a host that relays and a switch, as (node row of the switch, number of the host)."""
        fabric = self.fabric
        number = np.full(len(fabric.nodes), -1, np.int64)
        number[self.rows] = np.arange(len(self.rows))
        switch = np.zeros(len(fabric.nodes), bool)
        switch[fabric.switches] = True
        a, b = fabric.link_a, fabric.link_b
        forth, back = switch[a] & (number[b] >= 0), switch[b] & (number[a] >= 0)
        return np.concatenate([a[forth], b[back]]), np.concatenate([number[b[forth]], number[a[back]]])

    def join_directly(self, group: Array) -> bool:
        """Whether some links run from group to group."""
        return bool((group[self.a] != group[self.b]).any())

    def name(self, number: int) -> str:
        """Name of one."""
        return str(self.fabric.nodes.name[self.rows[number]])

    def names_of(self, group: Array, labels: Array, word: str) -> list[str]:
        """Names of groups: the pod's label, else the word and a number."""
        pods = self.fabric.nodes.pod
        if word == "group":
            return [str(pods.labels[code]) for code in labels.tolist()]
        return [f"{word} {i + 1}" for i in range(len(labels))]
