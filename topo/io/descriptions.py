"""What InfiniBand node descriptions say: switch name, part and chassis; host and device of an adapter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from topo.view.text import natural_key

__all__ = [
    "MAX_NAME",
    "HostNames",
    "SwitchName",
    "clean",
    "host_names",
    "natural_key",
    "switch_name",
    "switch_names",
]

MAX_NAME = 256
"""Longest name that is kept; InfiniBand allows 64 bytes."""

_FACTORY = re.compile(r"\bTechnologies\b|\bInfiniHost\b|^MT\d{4,6}\b| (Voltaire|QLogic|TrueScale)\b", re.IGNORECASE)
_UNNAMED = re.compile(
    r"(localhost\b.*|ubuntu|debian|centos|rhel|rocky|fedora|sles|host|node|server|unknown|none|null|\(none\)|n/a|-)"
    r"\Z",
    re.IGNORECASE,
)
_UNIT = re.compile(r"U\d+\Z")
_SAME_DEVICE = 3


def clean(text: str) -> str:
    """A description without control characters, blanks trimmed and collapsed, at most 256 characters.

    >>> clean("  selene-cache-02   mlx5_1 ")
    'selene-cache-02 mlx5_1'
    """
    name = " ".join(text.split())
    if not name.isprintable():
        name = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    return name[:MAX_NAME]


@dataclass(frozen=True, slots=True)
class SwitchName:
    """What a managed switch's description says: name, part, place inside a chassis, and the chassis."""

    name: str
    part: str = ""
    place: str = ""
    chassis: str = ""


def switch_name(description: str) -> SwitchName:
    """Take a cleaned switch description apart; anything but ``MF0;host:part/place`` is a plain name.

    >>> switch_name("MF0;CSPINE4-37:MQM8700/U1")
    SwitchName(name='CSPINE4-37', part='MQM8700', place='U1', chassis='')
    >>> switch_name("MF0;big:MCS8500/L16/U2")
    SwitchName(name='big/L16/U2', part='MCS8500', place='L16/U2', chassis='big')
    """
    if not description.startswith("MF0;"):
        return SwitchName(description)
    host, colon, tail = description[4:].rpartition(":")
    host = host.strip()
    if not colon or not host:
        return SwitchName(description[4:].strip() or description)
    part, _, place = tail.partition("/")
    if not place or _UNIT.match(place):
        return SwitchName(host, part, place)
    return SwitchName(f"{host}/{place}", part, place, host)


def switch_names(descriptions: Sequence[str]) -> list[SwitchName]:
    """Take many apart; a box of several ASICs ``host:part/U1``, ``.../U2`` becomes a chassis of that name."""
    names = [switch_name(description) for description in descriptions]
    units: dict[str, set[str]] = {}
    for each in names:
        if each.place and not each.chassis:
            units.setdefault(each.name, set()).add(each.place)
    return [
        SwitchName(f"{each.name}/{each.place}", each.part, each.place, each.name)
        if each.place and not each.chassis and len(units[each.name]) > 1
        else each
        for each in names
    ]


@dataclass(frozen=True, slots=True)
class HostNames:
    """Host and device of each adapter; ``named`` is False where the description names no host."""

    host: list[str]
    device: list[str]
    named: list[bool]


def host_names(descriptions: Sequence[str], own: Sequence[str]) -> HostNames:
    """Split ``"host device"``; where no host is named, the adapter is a host of its own, labelled by ``own``.

    No host is named by a factory name, by an installer's default (localhost, ubuntu), or by a name that bears
    the same device three times or more: then many machines share it.

    >>> host_names(["n1 mlx5_0", "MT4123 ConnectX6 Mellanox Technologies", ""], ["01", "02", "03"]).host
    ['n1', '02', '03']
    """
    pairs = [text.partition(" ")[::2] for text in descriptions]
    times = Counter((host, device) for host, device in pairs)
    shared = {host for (host, _), n in times.items() if n >= _SAME_DEVICE}
    named = [
        bool(host) and host not in shared and not _UNNAMED.match(host) and not _FACTORY.search(text)
        for (host, _), text in zip(pairs, descriptions, strict=True)
    ]
    return HostNames(
        [host if ok else label for (host, _), ok, label in zip(pairs, named, own, strict=True)],
        [device if ok else "" for (_, device), ok in zip(pairs, named, strict=True)],
        named,
    )
