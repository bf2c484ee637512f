"""Ports that a discovery tells by another word than the plan: by MAC address, description, or their cable alone.

A switch that hears its neighbours (LLDP) often gets a MAC address for the far port, and its name, if at all, in the
description. Such a port is the planned one where any of its words is; a cable is a fault only where all disagree.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.wiring.cabling import Cabling
from topo.wiring.spelling import End, port_key

__all__ = ["address_of", "devices_by_address", "found_by_cable", "found_by_words", "has_other_words", "words_of"]

_ADDRESS = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\Z|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}\Z")

Rows = Sequence[int]


def address_of(text: str) -> str:
    """The twelve digits of a MAC address in any of its spellings; '' for other words.

    >>> address_of("00:1C:73:00:0a:01"), address_of("001c.7300.0a01"), address_of("swp1")
    ('001c73000a01', '001c73000a01', '')
    """
    plain = text.strip().lower()
    return re.sub(r"[:.-]", "", plain) if _ADDRESS.match(plain) else ""


def words_of(fabric: Fabric, row: int) -> tuple[set[str], set[str]]:
    """MAC addresses of a port, and its other words as they are compared; its label is one of them."""
    ports = fabric.ports
    said = [ports.label[row], *ports.also[row].split("; ")]
    addresses = {address for text in said if (address := address_of(text))}
    return addresses, {port_key(text) for text in said if text and not address_of(text)}


def has_other_words(fabric: Fabric) -> bool:
    """Whether any port has another word than its label, or a MAC address for one."""
    ports = fabric.ports
    return bool((ports.also.codes >= 0).any()) or any(map(address_of, ports.label.labels.tolist()))


def devices_by_address(found: tuple[Cabling, Rows, list[End]], planned: tuple[Cabling, Rows, list[End]],
                       alike: dict[str, str]) -> dict[str, str]:  # fmt: skip
    """Planned device of which a port has the MAC address that a found device goes by, to that found device."""
    taken = set(alike.values())
    nameless = {address: end.device for end in found[2] if (address := address_of(end.device))}
    nameless = {address: device for address, device in nameless.items() if device not in taken}
    if not nameless:
        return {}
    return {
        end.device: nameless[address]
        for row, end in zip(planned[1], planned[2], strict=True)
        if end.device not in alike
        for address in sorted(words_of(planned[0].fabric, row)[0] & nameless.keys())
    }


def found_by_words(
    found: tuple[Cabling, Rows, list[End]],
    planned: tuple[Cabling, Rows, list[End]],
    alike: dict[str, str],
    port: NDArray[np.int64],
) -> Counter[str]:
    """Fill in the found row of planned ports that another word tells; how many by which kind of word."""
    counts = _agreeing(found, planned, alike, port)
    used = set(port[port >= 0].tolist())
    at = {key: row for row, keys in _told_by(found, used).items() for key in keys}
    for row, end in zip(planned[1], planned[2], strict=True):
        device = alike.get(end.device)
        if device is None or port[row] >= 0:
            continue
        for kind, word in (*_keys(planned[0].fabric, row), ("description", end.port)):
            mine = at.get((device, kind, word), -1)
            if mine >= 0 and mine not in used:
                port[row] = mine
                used.add(mine)
                counts[kind] += 1
                break
    return counts


def _agreeing(
    found: tuple[Cabling, Rows, list[End]],
    planned: tuple[Cabling, Rows, list[End]],
    alike: dict[str, str],
    port: NDArray[np.int64],
) -> Counter[str]:
    """Take the far port of a cable for the planned one where another word than its name agrees; count by which word."""
    device_p, meant, told = _devices(planned), _told_by(planned), _told_by(found)
    far = _far_ends(found[0])
    counts: Counter[str] = Counter()
    taken: dict[int, int] = {}
    filled: set[int] = set()
    for a, b in _pairs(planned[0]):
        for near, open_end in ((a, b), (b, a)):
            there = far.get(int(port[near]), -1) if port[near] >= 0 and near not in filled else -1
            if there < 0 or there in taken or there == port[open_end]:
                continue
            device = alike.get(device_p[open_end], "")
            both = [kind for _, kind, word in meant[open_end] if (device, kind, word) in told[there]]
            if both:
                taken[there] = open_end
                filled.add(open_end)
                counts[max(both)] += 1
                break
    if taken:
        port[np.isin(port, list(taken))] = -1
        port[list(taken.values())] = list(taken)
    return counts


def _told_by(
    side: tuple[Cabling, Rows, list[End]], besides: Collection[int] = ()
) -> dict[int, set[tuple[str, str, str]]]:
    """Device, kind and word that tell each cabled port, ``besides`` some; a word of several of a device tells none."""
    told = {
        row: {(end.device, *key) for key in _keys(side[0].fabric, row)}
        for row, end in zip(side[1], side[2], strict=True)
        if row not in besides
    }
    times = Counter(key for keys in told.values() for key in keys)
    return {row: {key for key in keys if times[key] == 1} for row, keys in told.items()}


def _devices(side: tuple[Cabling, Rows, list[End]]) -> dict[int, str]:
    """The device of each cabled port."""
    return dict(zip(side[1], (end.device for end in side[2]), strict=True))


def _pairs(side: Cabling) -> Iterator[tuple[int, int]]:
    """The two ports of each cable."""
    links = side.fabric.links
    yield from zip(links.port_a[side.links].tolist(), links.port_b[side.links].tolist(), strict=True)


def _far_ends(side: Cabling) -> dict[int, int]:
    """The port at the other end of the cable on each port."""
    far: dict[int, int] = {}
    for a, b in _pairs(side):
        far[a], far[b] = b, a
    return far


def _keys(fabric: Fabric, row: int) -> Iterator[tuple[str, str]]:
    addresses, words = words_of(fabric, row)
    yield from (("MAC address", address) for address in sorted(addresses))
    yield from (("description", word) for word in sorted(words))


def found_by_cable(
    found: tuple[Cabling, Rows, list[End]],
    planned: tuple[Cabling, Rows, list[End]],
    alike: dict[str, str],
    port: NDArray[np.int64],
) -> int:
    """Fill in ports told by a MAC address that the plan does not hold, where the other end of the cable is as planned.

    The far device must be the planned one; an address that the plan has for its port, and another was found, disagrees.
    Where one port of a device is left on either side, they are one.
    """
    used = set(port[port >= 0].tolist())
    device_f, device_p = _devices(found), _devices(planned)
    far = _far_ends(found[0])
    n = 0
    for a, b in _pairs(planned[0]):
        for near, open_end in ((a, b), (b, a)):
            there = far.get(int(port[near]), -1) if port[near] >= 0 and port[open_end] < 0 else -1
            if there < 0 or there in used or device_f[there] != alike.get(device_p[open_end]):
                continue
            if _is_untold((found[0].fabric, there), (planned[0].fabric, open_end)):
                port[open_end] = there
                used.add(there)
                n += 1
    return n + _only_ones_left(found, planned, alike, port, used)


def _is_untold(found: tuple[Fabric, int], planned: tuple[Fabric, int]) -> bool:
    """Whether a found port is told by an address and the plan has none to compare it with."""
    return bool(words_of(*found)[0]) and not words_of(*planned)[0]


def _only_ones_left(
    found: tuple[Cabling, Rows, list[End]],
    planned: tuple[Cabling, Rows, list[End]],
    alike: dict[str, str],
    port: NDArray[np.int64],
    used: set[int],
) -> int:
    """Fill in the one planned port left of a device by the one found port left of it."""
    left_f, left_p = defaultdict(list), defaultdict(list)
    for row, end in zip(found[1], found[2], strict=True):
        if row not in used:
            left_f[end.device].append(row)
    for row, end in zip(planned[1], planned[2], strict=True):
        if port[row] < 0 and end.device in alike:
            left_p[alike[end.device]].append(row)
    n = 0
    for device, rows in left_p.items():
        mine = left_f.get(device, [])
        if len(rows) == len(mine) == 1 and _is_untold((found[0].fabric, mine[0]), (planned[0].fabric, rows[0])):
            port[rows[0]] = mine[0]
            n += 1
    return n
