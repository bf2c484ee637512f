"""Names of devices and ports from two sources, spelt alike: capitals, domains, leading zeros, vendors' ports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topo.fabric import Fabric
from topo.table import Array

__all__ = ["End", "ends_of", "port_key", "shared_devices"]

_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_BLADE = re.compile(r"blade\s*(\d+)[_\s]*port\s*(\d+)/(\d+)\Z")
_ADAPTER = re.compile(r"(?:hca[-_ ]?(?P<one>\d+)|nic[-_ ]?(?P<own>\d+)|mlx\d+_(?P<zero>\d+))(?P<rest>/.*)?\Z")
_PLAIN = re.compile(r"(?:swp|ethernet1/|eth1/|e1/|port[-_ ]?|p|1/)?(\d+)\Z")
_SPLIT = re.compile(r"(?:swp(?P<a>\d+)s(?P<zero>\d+)|(?:ethernet1/|eth1/|e1/)(?P<b>\d+)/(?P<one>\d+))\Z")
_LINE_CARD = re.compile(r"/l0*(\d+)/u0*(\d+)\Z")


@dataclass(frozen=True, slots=True)
class End:
    """Where a cable ends, in comparable words: the box and the port on it."""

    device: str
    port: str


def port_key(text: str) -> str:
    """A port as it is compared: the plain number behind vendors' spellings, adapters counted from 0.

    >>> port_key("swp7"), port_key("Ethernet1/7"), port_key("HCA-5"), port_key("mlx5_4"), port_key("swp17s0")
    ('7', '7', 'nic4', 'nic4', '17/1')
    """
    plain = _ZEROS.sub("", " ".join(text.lower().split()))
    if match := _ADAPTER.match(plain):
        number = int(match["zero"]) if match["zero"] else int(match["one"] or match["own"]) - 1
        return f"nic{number}{match['rest'] or ''}"
    if match := _SPLIT.match(plain):
        leg = int(match["zero"]) + 1 if match["zero"] else int(match["one"])
        return f"{match['a'] or match['b']}/{leg}"
    if match := _PLAIN.match(plain):
        return match[1]
    return plain


def ends_of(fabric: Fabric, ports: Array, is_switch: Array) -> list[End]:
    """The box and port of each port row: an adapter's is its host, and the adapter's name inside it.

    ``Blade 06_Port 2/20`` of a director is port 20 of its line card ``L6/U2``, the name that a discovery gives it.
    """
    table = fabric.ports
    where = {row: _device(fabric, row, is_switch) for row in np.unique(table.node[ports]).tolist()}
    _tell_apart(fabric, where)
    keys = [port_key(label) for label in table.label.labels.tolist()] + [""]
    raw = [" ".join(label.lower().split()) for label in table.label.labels.tolist()] + [""]
    ends = []
    for node, code in zip(table.node[ports].tolist(), table.label.codes[ports].tolist(), strict=True):
        device, slot = where[node]
        if slot:
            ends.append(End(device, slot if keys[code] in ("", "1") else f"{slot}/{keys[code]}"))
        elif raw[code].startswith(f"{device} "):  # the port repeats the name of its box
            ends.append(End(device, port_key(raw[code][len(device) :])))
        elif match := _BLADE.match(raw[code]):
            ends.append(End(f"{device}/l{int(match[1])}/u{int(match[2])}", str(int(match[3]))))
        else:
            ends.append(End(device, keys[code]))
    return ends


def _tell_apart(fabric: Fabric, where: dict[int, tuple[str, str]]) -> None:
    """Boxes that share a name go by their identity (GUID, MAC, serial) where they have one."""
    times = Counter(where.values())
    for row, key in where.items():
        if times[key] > 1 and fabric.nodes.uid[row]:
            where[row] = str(fabric.nodes.uid[row]).lower(), key[1]


def _device(fabric: Fabric, row: int, is_switch: Array) -> tuple[str, str]:
    """Key of the box a node is or is in, and the node's place in it."""
    name, host = str(fabric.nodes.name[row]), fabric.nodes.host[row]
    if not is_switch[row] and host:
        rest = name[len(host) :].strip(" -_/:.") if name.lower().startswith(host.lower()) else ""
        return _box(host), port_key(rest) if rest else ""
    return _box(name), ""


def _box(name: str) -> str:
    key = " ".join(name.lower().split())
    return _LINE_CARD.sub(lambda match: f"/l{match[1]}/u{match[2]}", key)


def shared_devices(found: set[str], planned: set[str]) -> dict[str, str]:
    """Planned device to found device by name: exact first, then without domain or leading zeros where that is unique.

    >>> shared_devices({"leaf1", "n.a"}, {"leaf1", "n.b", "x"})
    {'leaf1': 'leaf1', 'n.b': 'n.a'}
    """
    alike = {name: name for name in sorted(planned & found)}
    for shorter in (_without_domain, _without_zeros):
        left_f = _unique(sorted(found - set(alike.values())), shorter)
        left_p = _unique(sorted(planned - set(alike)), shorter)
        alike |= {left_p[key]: left_f[key] for key in left_p if key in left_f}
    return alike


def _without_domain(name: str) -> str:
    head, slash, tail = name.partition("/")
    return head.partition(".")[0] + slash + tail


def _without_zeros(name: str) -> str:
    return _ZEROS.sub("", name)


def _unique(names: list[str], shorter: Callable[[str], str]) -> dict[str, str]:
    seen: dict[str, str | None] = {}
    for name in names:
        key = shorter(name)
        seen[key] = None if key in seen else name
    return {key: name for key, name in seen.items() if name is not None}
