"""States of the parts of hosts, on the way out and on the way in, and the arcs between states.

No arc leads from the way in back out, so nothing passes through a third host. Traffic may come back to its own host
from the switch chips of its scale-up domain: those have a copy for each host beside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topo.network import Network
from topo.routing.arcs import Arcs
from topo.table import Array, ranges

__all__ = ["HostStates", "host_states"]


class HostStates(NamedTuple):
    """Arcs between states: relays, parts on the way out, parts on the way in, then copies of chips out and in.

    ``copy_key`` is host * nodes + chip of each copy, ascending.
    """

    node: Array
    passes: Array
    is_out: Array
    edges: Arcs
    n_parts: int
    copy_key: Array


def host_states(
    network: Network, arcs: Arcs, full: Array, own: Array, parts: Array, part_of: Array, relay_of: Array, n_relays: int
) -> HostStates:
    """The states of opened hosts' parts, one on the way out and one on the way in, and the arcs between them."""
    host = network.fabric.nodes.host.codes.astype(np.int64)
    n_parts = len(parts)
    out, into = n_relays + part_of, n_relays + n_parts + part_of
    is_part = part_of >= 0
    copies = _chip_copies(network, arcs, full, own, is_part)
    tail, head = arcs.tail, arcs.head
    same = (host[tail] == host[head]) & (host[tail] >= 0)
    both = is_part[tail] & is_part[head]
    found = [
        _moved(arcs, is_part[tail] & full[head] & ~copies.replaced, out, relay_of),
        _moved(arcs, full[tail] & is_part[head], relay_of, into),
        _moved(arcs, both & same, out, out),
        _moved(arcs, both & same & own[tail], into, into),
        _moved(arcs, both & ~same, out, into),
    ]
    first = n_relays + 2 * n_parts
    found += _copy_edges(copies, arcs, first, host, full, is_part, out, into, relay_of)
    n_copies = len(copies.chip)
    node = np.concatenate([np.flatnonzero(full), parts, parts, copies.chip, copies.chip])
    passes = np.concatenate([np.ones(n_relays, bool), own[parts], own[parts], np.ones(2 * n_copies, bool)])
    is_out = np.zeros(len(node), bool)
    is_out[n_relays : n_relays + n_parts] = True
    is_out[first : first + n_copies] = True
    edges = Arcs(*(np.concatenate(column) for column in zip(*found, strict=True)))
    return HostStates(node, passes, is_out, edges, n_parts, copies.key)


def _moved(arcs: Arcs, mask: Array, tail_state: Array, head_state: Array) -> Arcs:
    some = arcs.take(np.flatnonzero(mask))
    return Arcs(tail_state[some.tail], head_state[some.head], some.arc, some.cost)


class _Copies(NamedTuple):
    """Switch chips of scale-up domains, once for each host beside them: a host's own traffic may come back to it."""

    host: Array
    chip: Array
    key: Array  # sorted host * n_nodes + chip
    to_chip: Array  # arcs from a part to a chip of its domain, as rows
    replaced: Array  # mask of those, which start at the copy instead of at the chip


def _chip_copies(network: Network, arcs: Arcs, full: Array, own: Array, is_part: Array) -> _Copies:
    nodes = network.fabric.nodes
    host, domain = nodes.host.codes.astype(np.int64), nodes.domain.codes
    scale_up = network.fabric.links.kind.is_any("scale_up")[arcs.arc // 2]
    replaced = scale_up & is_part[arcs.tail] & full[arcs.head] & (host[arcs.tail] >= 0) & (domain[arcs.tail] >= 0)
    replaced &= (domain[arcs.tail] == domain[arcs.head]) & own[arcs.tail]
    rows = np.flatnonzero(replaced)
    key = np.unique(host[arcs.tail[rows]] * len(nodes) + arcs.head[rows])
    return _Copies(key // len(nodes), key % len(nodes), key, rows, replaced)


def _copy_edges(
    copies: _Copies,
    arcs: Arcs,
    first: int,
    host: Array,
    full: Array,
    is_part: Array,
    out: Array,
    into: Array,
    relay_of: Array,
) -> list[Arcs]:
    n_copies, n_nodes = len(copies.chip), len(full)
    if not n_copies:
        return []
    up = arcs.take(copies.to_chip)
    copy = np.searchsorted(copies.key, host[up.tail] * n_nodes + up.head)
    by_tail = np.argsort(arcs.tail, kind="stable")
    start = np.searchsorted(arcs.tail[by_tail], np.arange(n_nodes + 1))
    index, owner = ranges(start[copies.chip], start[copies.chip + 1] - start[copies.chip])
    down = arcs.take(by_tail[index])
    comes_back = is_part[down.head] & (host[down.head] == copies.host[owner])
    from_out, from_in = first + owner, first + n_copies + owner
    away = is_part[down.head] & ~comes_back
    onward = full[down.head]
    return [
        Arcs(out[up.tail], first + copy, up.arc, up.cost),
        Arcs(into[up.tail], first + n_copies + copy, up.arc, up.cost),
        Arcs(from_out[comes_back], out[down.head[comes_back]], down.arc[comes_back], down.cost[comes_back]),
        Arcs(from_in[comes_back], into[down.head[comes_back]], down.arc[comes_back], down.cost[comes_back]),
        Arcs(from_out[away], into[down.head[away]], down.arc[away], down.cost[away]),
        Arcs(from_out[onward], relay_of[down.head[onward]], down.arc[onward], down.cost[onward]),
    ]
