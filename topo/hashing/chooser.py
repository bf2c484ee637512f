"""The choice of a next hop for many flows at many switches at once, by hashing their keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.hashing.keys import FIELDS, FlowKeys
from topo.hashing.scheme import EcmpHash
from topo.hashing.selection import rotate, select

__all__ = ["HashChooser"]


class HashChooser:
    """Chooses the next hop of flows by hashing, for a walk through a fabric.

    Called once a hop with flow numbers (rows of ``keys``), the nodes they are at, how many next hops each has and
    the hop, it gives the index of the next hop each takes. ``arriving`` (the arcs they came by, -1 for none) is
    needed only where the ingress port is hashed. Linear functions are evaluated once for each flow; a seed is then
    one exclusive or.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=2)
    >>> keys = FlowKeys.of(source_ip=0x0A000001, destination_ip=0x0A000003, source_port=[49152, 49153, 49154])
    >>> choose = HashChooser(EcmpHash("crc-32", seed_per="fabric"), f, keys)
    >>> choose(np.arange(3), np.repeat(f.rows("leaf-1"), 3), np.full(3, 4), 1).tolist()
    [2, 3, 1]
    """

    def __init__(self, hash: EcmpHash | str, fabric: Fabric, keys: FlowKeys) -> None:
        self.hash = EcmpHash.of(hash)
        self.fabric = fabric
        self._at = self.hash.at_switches(fabric)
        self._keys = keys.bytes(self.hash.fields)
        self._maps = [f.linear_map(self.hash.key_length) if f.is_linear else None for f in self.hash.functions]
        self._unseeded = [None if table is None else table(self._keys) for table in self._maps]
        self._ingress: NDArray[np.int64] | None = None

    def __call__(
        self,
        flow: NDArray[np.int64],
        node: NDArray[np.int64],
        n_hops: NDArray[np.int64],
        hop: int = 0,
        arriving: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Index of the next hop, from 0, each flow takes at its switch.

        :raises ParameterError: a switch without next hops, or more of them than buckets.
        """
        chosen = np.empty(len(flow), np.int64)
        count = np.broadcast_to(np.asarray(n_hops), chosen.shape)
        for mine, width, hashes in self._by_function(flow, node, arriving):
            chosen[mine] = select(
                hashes, count[mine], width=width, selection=self.hash.selection, buckets=self.hash.buckets
            )
        return chosen

    def hashes(
        self, flows: NDArray[np.int64], switches: NDArray[np.int64], arriving: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint32]:
        """The hash of each flow at its switch, seeded and rotated."""
        out = np.empty(len(flows), np.uint32)
        for mine, _, values in self._by_function(flows, switches, arriving):
            out[mine] = values
        return out

    def _by_function(
        self, flows: NDArray[np.int64], switches: NDArray[np.int64], arriving: NDArray[np.int64] | None
    ) -> list[tuple[NDArray[np.int64] | slice, int, NDArray[np.uint32]]]:
        functions = self.hash.functions
        ingress = self._ingress_ports(arriving)
        parts: list[tuple[NDArray[np.int64] | slice, int, NDArray[np.uint32]]] = []
        for number, function in enumerate(functions):
            mine: NDArray[np.int64] | slice = slice(None)
            if len(functions) > 1:
                mine = np.flatnonzero(self._at.function[switches] == number)
            values = self._seeded(number, flows[mine], switches[mine], None if ingress is None else ingress[mine])
            offset = self._at.offset[switches[mine]]
            parts.append((mine, function.width, rotate(values, offset, function.width) if offset.any() else values))
        return parts

    def _seeded(
        self, number: int, flows: NDArray[np.int64], switches: NDArray[np.int64], ingress: NDArray[np.int64] | None
    ) -> NDArray[np.uint32]:
        seed = self._at.seed[switches]
        table, unseeded = self._maps[number], self._unseeded[number]
        first = _first_byte(self.hash.fields, "ingress_port") if ingress is not None else -1
        if table is None or unseeded is None:
            keys = self._keys[flows]
            if ingress is not None:
                keys[:, first], keys[:, first + 1] = ingress >> 8, ingress & 255
            return self.hash.functions[number](keys, seed)
        values = unseeded[flows] ^ table.seed_part(seed)
        if ingress is not None:
            values ^= table.byte_tables[first][ingress >> 8] ^ table.byte_tables[first + 1][ingress & 255]
        return values

    def _ingress_ports(self, arriving: ArrayLike | None) -> NDArray[np.int64] | None:
        """Number on its switch, from 1, of the port each flow came in by; 0 where it is not known."""
        if "ingress_port" not in self.hash.fields:
            return None
        if arriving is None:
            raise ParameterError("the ingress port is hashed but the walk does not say by which arcs flows arrive")
        if self._ingress is None:
            self._ingress = _ingress_of_arcs(self.fabric)
        ports: NDArray[np.int64] = self._ingress[np.asarray(arriving)]
        return ports


def _ingress_of_arcs(fabric: Fabric) -> NDArray[np.int64]:
    ports, links = fabric.ports, fabric.links
    order = np.argsort(ports.node, kind="stable")
    counts = np.bincount(ports.node, minlength=len(fabric.nodes))
    start = np.cumsum(counts) - counts
    number = np.empty(len(ports), np.int64)
    number[order] = np.arange(len(ports)) - start[ports.node[order]] + 1
    arcs = np.stack([number[links.port_b], number[links.port_a]], axis=1).ravel()
    return np.append(arcs, 0) % (1 << 16)  # the last entry answers for -1


def _first_byte(fields: Sequence[str], name: str) -> int:
    """Where a field begins in the key."""
    return sum(FIELDS[field] for field in fields[: fields.index(name)])
