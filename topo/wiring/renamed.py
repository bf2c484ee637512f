"""Hosts under other names than the plan's: what is on a planned switch port is the host that the plan has there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from topo.view.text import natural_key, plural
from topo.wiring.cabling import Cabling
from topo.wiring.finding import Finding, finding
from topo.wiring.spelling import End

__all__ = ["names_of", "renamed_hosts", "say_renamed"]

_Ends = Sequence[tuple[int, End]]
_SHOWN = 4
_MOST = 0.5


def renamed_hosts(
    found: tuple[Cabling, _Ends], planned: tuple[Cabling, _Ends], alike: Mapping[str, str], port: NDArray[Any]
) -> dict[str, str]:
    """Planned to found hosts, neither named on the other side, that are on the same ports of the same switches.

    ``port`` is the found row of each planned port so far. At least half of the cables of either must agree.
    """
    known = set(alike.values())
    far = dict(_to_hosts(found[0]))
    at_f = {row: end.device for row, end in found[1]}
    at_p = {row: end.device for row, end in planned[1]}
    votes: Counter[tuple[str, str]] = Counter()
    n_p, n_f = Counter[str](), Counter(at_f[other] for other in far.values())
    for near, other in _to_hosts(planned[0]):
        device = at_p[other]
        n_p[device] += 1
        there = far.get(int(port[near]), -1) if port[near] >= 0 else -1
        if there >= 0 and device not in alike and at_f[there] not in known:
            votes[device, at_f[there]] += 1
    same: dict[str, str] = {}
    taken: set[str] = set()
    ordered = sorted(votes, key=lambda pair: (-votes[pair], natural_key(pair[0]), natural_key(pair[1])))
    for pair in ordered:
        if pair[0] in same or pair[1] in taken or 2 * votes[pair] < max(n_p[pair[0]], n_f[pair[1]]):
            continue
        same[pair[0]] = pair[1]
        taken.add(pair[1])
    return same


def _to_hosts(side: Cabling) -> list[tuple[int, int]]:
    """The port on the switch and the port on the host of each cable to a host."""
    return list(zip(side.leaf_port.tolist(), side.nic_port.tolist(), strict=True))


def names_of(
    found: tuple[Cabling, _Ends], planned: tuple[Cabling, _Ends], same: Mapping[str, str]
) -> tuple[tuple[int, str, str], ...]:
    """A found node, its name and the planned name of each device, planned to found; those of hosts without adapters."""
    if not same:
        return ()
    nodes, names = [], []
    for side, ends in (found, planned):
        node = {end.device: int(side.fabric.ports.node[row]) for row, end in reversed(ends)}
        nodes.append(node)
        names.append({at: side.fabric.nodes.host[row] or str(side.fabric.nodes.name[row]) for at, row in node.items()})
    pairs = [(nodes[0][there], names[0][there], names[1][device]) for device, there in same.items()]
    return tuple(sorted(pairs, key=lambda one: natural_key(one[1])))


def say_renamed(found: Cabling, pairs: Sequence[tuple[int, str, str]], n_hosts: int) -> Finding:
    """One finding of all hosts under other names: a node of each, its name, and that of the plan."""
    shown = ", ".join(f"{name} for {planned}" for _, name, planned in pairs[:_SHOWN])
    more = f" and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    said = f"{plural(len(pairs), 'host')} of names that no plan has, on the switch ports of planned ones: {shown}{more}"
    place = pairs[0][1] if len(pairs) == 1 else f"{len(pairs):,} hosts"
    severity = "note" if len(pairs) > _MOST * n_hosts else ""
    at = found.first_place([pairs[0][0]])
    return finding("devices-exchanged", place, said, severity=severity, at=at)
