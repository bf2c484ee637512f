"""The cables of a fabric as arrays that the checks read: switch to switch, and host to switch."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.fabric import Fabric
from topo.io.infer_tiers import Wiring, switch_tiers
from topo.table import Array
from topo.view.text import natural_key
from topo.wiring.kinds import kinds_of

__all__ = ["BOTH_WAYS", "KINDS", "Cabling", "modes", "natural_ranks", "port_words"]

KINDS = ("scale_out", "access", "storage", "management")
"""Kinds of links that are cables between boxes; the others lie inside a host or a chassis, or join accelerators."""

BOTH_WAYS = 2
"""Rate of the flows that an endpoint without a path loses, over its own: what it sends and what is sent to it."""

_SWITCHES = ("switch", "router", "storage_switch")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"port[ _-]?(?=\d)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Cabling:
    """The cables between boxes of a fabric, sorted into those between switches and those to hosts.

    ``links`` are the rows of all of them, ends on one node left out. ``low``, ``high`` are the switches of ``between``
    (lower tier first), ``nic`` and ``leaf`` the ends of ``access``. Port numbers order the ports of all nodes alike.
    """

    fabric: Fabric
    links: NDArray[np.int64]
    is_switch: NDArray[np.bool_]
    tier: NDArray[np.int64]
    between: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    low_port: NDArray[np.int64]
    high_port: NDArray[np.int64]
    access: NDArray[np.int64]
    nic: NDArray[np.int64]
    leaf: NDArray[np.int64]
    nic_port: NDArray[np.int64]
    leaf_port: NDArray[np.int64]

    @classmethod
    def of(cls, fabric: Fabric) -> Cabling:
        """The cables between boxes; tiers are the fabric's own, else inferred from the wiring."""
        is_switch = fabric.nodes.kind.is_any(*_SWITCHES)
        tier = fabric.nodes.tier.astype(np.int64)
        a, b = fabric.link_a.astype(np.int64), fabric.link_b.astype(np.int64)
        links = np.flatnonzero(fabric.links.kind.is_any(*KINDS) & (a != b))
        between = links[is_switch[a[links]] & is_switch[b[links]]]
        access = links[is_switch[a[links]] != is_switch[b[links]]]
        outward = is_switch[a[access]]
        if not (tier[is_switch] > 0).any():  # hosts are what is cabled to a switch, be it endpoint or not
            nic, leaf = _ordered(a, b, access, outward)
            ends = (rows.astype(np.int32) for rows in (nic, leaf, a[between], b[between]))
            tier = switch_tiers(Wiring(len(fabric.nodes), is_switch, *ends))
        turned = tier[a[between]] > tier[b[between]]
        port_a, port_b = fabric.links.port_a.astype(np.int64), fabric.links.port_b.astype(np.int64)
        return cls(
            fabric,
            links,
            is_switch,
            tier,
            between,
            *_ordered(a, b, between, turned),
            *_ordered(port_a, port_b, between, turned),
            access,
            *_ordered(a, b, access, outward),
            *_ordered(port_a, port_b, access, outward),
        )

    @cached_property
    def number(self) -> NDArray[np.int64]:
        """Number of every port: its label where all labels are numbers, else the label's rank in natural order."""
        labels = self.fabric.ports.label
        of_label = natural_ranks(labels.labels)
        return np.append(of_label, -1)[labels.codes]

    @cached_property
    def n_ports(self) -> NDArray[np.int64]:
        """Ports of every node, cabled or free."""
        return np.bincount(self.fabric.ports.node, minlength=len(self.fabric.nodes))

    @cached_property
    def n_free(self) -> NDArray[np.int64]:
        """Ports of every node that hold no cable: none where a table names only what is cabled."""
        return np.bincount(self.fabric.ports.node[~self.cabled], minlength=len(self.fabric.nodes))

    @cached_property
    def n_endpoints(self) -> NDArray[np.int64]:
        """Cables to hosts on every switch."""
        return np.bincount(self.leaf, minlength=len(self.fabric.nodes))

    @cached_property
    def kind(self) -> NDArray[np.int64]:
        """Kind of every switch by its name, all one kind where names say nothing; -1 for what is no switch."""
        kind = np.full(len(self.is_switch), -1)
        kind[self.is_switch] = kinds_of(self.fabric.nodes.name[self.is_switch].tolist())
        return kind

    @cached_property
    def is_alone(self) -> NDArray[np.bool_]:
        """Switches that no other of their tier is like by name: peers of another kind do not tell what they lack."""
        alone = np.zeros(len(self.is_switch), bool)
        for tier in np.unique(self.tier[self.is_switch]).tolist():
            rows = np.flatnonzero(self.is_switch & (self.tier == tier))
            kind = kinds_of(self.fabric.nodes.name[rows].tolist())
            alone[rows] = (np.bincount(kind)[kind] == 1) & (len(rows) > 1)
        return alone

    @cached_property
    def cabled(self) -> NDArray[np.bool_]:
        """Which ports hold a cable of any kind."""
        mask = np.zeros(len(self.fabric.ports), bool)
        mask[self.fabric.links.port_a] = mask[self.fabric.links.port_b] = True
        return mask

    @cached_property
    def link_of_port(self) -> NDArray[np.int64]:
        """A link on every port, -1 where it is free."""
        row = np.full(len(self.fabric.ports), -1)
        every = np.arange(len(self.fabric.links))
        row[self.fabric.links.port_b] = every
        row[self.fabric.links.port_a] = every
        return row

    def port_name(self, port: int) -> str:
        """Node and port, for people."""
        ports = self.fabric.ports
        label = ports.label[port]
        name = str(self.fabric.nodes.name[ports.node[port]])
        return f"{name} {port_words(label)}" if label else name

    def place(self, link: int) -> tuple[str, int]:
        """File and line of a link."""
        links = self.fabric.links
        return links.source[link], int(links.line[link])

    def first_place(self, nodes: ArrayLike) -> tuple[str, int]:
        """File and line of the first cable at these nodes, none where they have no cable."""
        near = np.isin(self.fabric.link_a[self.links], nodes) | np.isin(self.fabric.link_b[self.links], nodes)
        return self.place(int(self.links[np.argmax(near)])) if near.any() else ("", 0)

    def port_at(self, link: int, node: int) -> int:
        """The port of a link on one of its two nodes."""
        links = self.fabric.links
        return int(links.port_a[link] if self.fabric.link_a[link] == node else links.port_b[link])

    def usual_gbps(self, low: int, high: int) -> float:
        """Median rate of the cables of either switch to the other's tier; nan where none is known."""
        near = (self.low == low) | (self.high == high)
        rates = self.fabric.links.capacity_gbps[self.between[near]]
        rates = rates[~np.isnan(rates)]
        return float(np.median(rates)) if rates.size else math.nan

    def gbps_up(self, node: int) -> float:
        """Rate of the cables of a switch to the tiers above it."""
        return float(self.fabric.links.capacity_gbps[self.between[self.low == node]].sum())

    def gbps_down(self, node: int) -> float:
        """Rate of the cables of a switch to hosts and to the tiers below it."""
        rows = np.concatenate([self.access[self.leaf == node], self.between[self.high == node]])
        return float(self.fabric.links.capacity_gbps[rows].sum())


def _ordered(a: Array, b: Array, rows: Array, turned: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both ends of the rows, exchanged where ``turned``."""
    return np.where(turned, b[rows], a[rows]), np.where(turned, a[rows], b[rows])


def natural_ranks(labels: Array) -> NDArray[np.int64]:
    """Numbers that order labels as people do: their own where all are numbers, else ranks.

    >>> natural_ranks(np.array(["2", "10"])).tolist(), natural_ranks(np.array(["swp10", "swp2"])).tolist()
    ([2, 10], [1, 0])
    """
    texts = labels.tolist()
    if all(_DIGITS.fullmatch(text) and len(text) < 10 for text in texts):
        return np.array([int(text) for text in texts], np.int64)
    rank = {text: i for i, text in enumerate(sorted(texts, key=natural_key))}
    return np.array([rank[text] for text in texts], np.int64)


def modes(group: Array, value: Array, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Most common value of each of ``n`` groups (the larger of equals; -1 for none), and how often it occurs.

    >>> modes(np.array([0, 0, 0, 1]), np.array([4, 4, 7, 2]), 2)
    (array([4, 2]), array([2, 1]))
    """
    common, times = np.full(n, -1), np.zeros(n, np.int64)
    if not len(group):
        return common, times
    pairs, count = np.unique(np.stack([group, value]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], count, pairs[0]))
    common[pairs[0][order]] = pairs[1][order]
    times[pairs[0][order]] = count[order]
    return common, times


def port_words(label: str) -> str:
    """A port's label behind the word for it, which many a table's label begins with already.

    >>> port_words("9"), port_words("Port 9"), port_words("Ethernet1/9"), port_words("portal")
    ('port 9', 'port 9', 'port Ethernet1/9', 'port portal')
    """
    found = _WORD.match(label)
    return f"port {label[found.end() :] if found else label}"
