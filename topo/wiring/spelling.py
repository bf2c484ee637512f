"""Names of devices and ports from two sources, spelt alike: capitals, domains, leading zeros, vendors' ports."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from topo.fabric import Fabric
from topo.table import Array

__all__ = ["End", "ends_of", "families_of_legs", "keys_of_ports", "port_key", "same_ports", "shared_devices", "written"]

_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_BLADE = re.compile(r"blade\s*(\d+)[_\s]*port\s*(\d+)/(\d+)\Z")
_ADAPTER = re.compile(r"(?:hca[-_ ]?(?P<one>\d+)|nic[-_ ]?(?P<own>\d+)|mlx\d+_(?P<zero>\d+))(?P<rest>/.*)?\Z")
_PLAIN = re.compile(r"(?:swp|ethernet1/|eth1/|e1/|port[-_ ]?|p|1/)?(\d+)\Z")
_SPLIT = re.compile(r"(?:swp(?P<a>\d+)s(?P<zero>\d+)|(?:ethernet1/|eth1/|e1/)(?P<b>\d+)/(?P<one>\d+))\Z")
_TWO = re.compile(r"(?P<family>ethernet|eth|et|e|)\s?(?P<cage>\d+)/(?P<leg>\d+)\Z")
_ONE = re.compile(r"(?P<family>ethernet|eth|et|e|)\s?\d+\Z")
_EVERY = frozenset({"ethernet", "eth", "et", "e", ""})
_MOST_LEGS = 8
_LINE_CARD = re.compile(r"/l0*(\d+)/u0*(\d+)\Z")


class End(NamedTuple):
    """Where a cable ends, in comparable words: the box, the port on it, and that port as it is ``written``."""

    device: str
    port: str
    written: str


def written(text: str) -> str:
    """A label as it is written, but for capitals and blanks."""
    return " ".join(text.lower().split())


def port_key(text: str, legs: Iterable[str] = ()) -> str:
    """A port as it is compared: the plain number behind vendors' spellings, adapters counted from 0.

    ``1/7`` is port 7 of slot 1, but leg 7 of port 1 where :func:`families_of_legs` has its family.

    >>> port_key("swp7"), port_key("Ethernet1/7"), port_key("HCA-5"), port_key("mlx5_4"), port_key("swp17s0")
    ('7', '7', 'nic4', 'nic4', '17/1')
    >>> port_key("1/2"), port_key("1/2", legs={""})
    ('2', '1/2')
    """
    if legs and (match := _TWO.match(_ZEROS.sub("", written(text)))) and match["family"] in legs:
        return f"{match['cage']}/{match['leg']}"
    return _key(text)


@lru_cache(maxsize=1 << 16)  # a hundred thousand ports bear few labels
def _key(text: str) -> str:
    plain = _ZEROS.sub("", written(text))
    if match := _ADAPTER.match(plain):
        number = int(match["zero"]) if match["zero"] else int(match["one"] or match["own"]) - 1
        return f"nic{number}{match['rest'] or ''}"
    if match := _SPLIT.match(plain):
        leg = int(match["zero"]) + 1 if match["zero"] else int(match["one"])
        return f"{match['a'] or match['b']}/{leg}"
    if match := _PLAIN.match(plain):
        return match[1]
    return plain


def families_of_legs(labels: Iterable[str]) -> frozenset[str]:
    """Beginnings of the labels of one device whose two numbers are a port and its leg, not slot 1 and a port.

    So it is where the first number differs, or where a single number stands beside them.

    >>> families_of_legs(["1/1", "1/2", "2"]), families_of_legs(["Ethernet1/1", "Ethernet1/2", "2"])
    (frozenset({''}), frozenset())
    """
    cages: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        plain = _ZEROS.sub("", written(label))
        if match := _TWO.match(plain):
            cages[match["family"]].add(match["cage"])
        elif match := _ONE.match(plain):
            cages[match["family"]].add("")
    return frozenset(family for family, seen in cages.items() if len(seen) > 1)


def ends_of(fabric: Fabric, ports: Array, is_switch: Array) -> list[End]:
    """The box and port of each port row: an adapter's is its host, and the adapter's name inside it.

    ``Blade 06_Port 2/20`` of a director is port 20 of its line card ``L6/U2``, the name that a discovery gives it.
    """
    table = fabric.ports
    where = {row: _device(fabric, row, is_switch) for row in np.unique(table.node[ports]).tolist()}
    _tell_apart(fabric, where)
    raw = [written(label) for label in table.label.labels.tolist()] + [""]
    ends = []
    for node, code in zip(table.node[ports].tolist(), table.label.codes[ports].tolist(), strict=True):
        device, slot = where[node]
        text = raw[code]
        if slot:
            key = port_key(slot)
            port = key if port_key(text) in ("", "1") else f"{key}/{port_key(text)}"
            ends.append(End(device, port, f"{slot}/{text}"))
        elif match := _BLADE.match(text):
            port = str(int(match[3]))
            ends.append(End(f"{device}/l{int(match[1])}/u{int(match[2])}", port, port))
        else:  # the port may repeat the name of its box
            text = text.removeprefix(f"{device} ")
            ends.append(End(device, port_key(text), text))
    return ends


def same_ports(found: Sequence[End], planned: Sequence[End]) -> dict[int, int]:
    """Planned to found ports of one device: those written alike first, then those that mean the same.

    A meaning counts where no other port of the device has it, on either side. Whether ``1/2`` means a leg or a port of
    slot 1 is what leaves more ports alike, where the device does not say; leg 1 of a port is that port where neither
    side has another leg of it.

    >>> sides = [[End("leaf", port_key(text), text) for text in texts] for texts in (["swp7", "1/1"], ["1/1", "7"])]
    >>> same_ports(*sides)
    {0: 1, 1: 0}
    """
    first: dict[str, int] = {}
    for row, end in enumerate(found):
        first.setdefault(end.written, row)
    same = {row: first[end.written] for row, end in enumerate(planned) if end.written in first}
    if len(same) == len(planned):
        return same
    taken, left = set(same.values()), [row for row in range(len(planned)) if row not in same]
    best: dict[int, int] = {}
    for keys_f, keys_p in product(_readings(found), _readings(planned)):
        at = {key: row for key, row in _told(found, keys_f).items() if row not in taken}
        told = _told(planned, keys_p)
        pairs = {row: at[keys_p[row]] for row in left if keys_p[row] in at and keys_p[row] in told}
        pairs |= _whole_by_leg(keys_f, keys_p, taken | set(pairs.values()), [row for row in left if row not in pairs])
        best = max(best, pairs, key=len)
    return same | best


def keys_of_ports(*fabrics: Fabric) -> list[list[str]]:
    """What each port of each fabric means, comparable without names of devices.

    A label that means the same as another of its device, on any side, is taken as it is written on all of them.
    """
    sides, clashes = [], set[str]()
    for fabric in fabrics:
        texts = [written(label) for label in fabric.ports.label.labels.tolist()] + [""]
        key = [port_key(text) for text in texts]
        codes, nodes = fabric.ports.label.codes, fabric.ports.node.astype(np.int64)
        keys = [key[code] for code in codes.tolist()]
        two = np.array([_TWO.match(text) is not None for text in texts], bool)
        of_node: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero(np.isin(nodes, nodes[two[codes]])).tolist():
            of_node[int(nodes[row])].append(row)
        for rows in of_node.values():
            legs = families_of_legs(texts[codes[row]] for row in rows)
            for row in rows if legs else ():
                keys[row] = port_key(texts[codes[row]], legs)
        number: dict[str, int] = {}
        place = nodes * (len(keys) + 1) + np.array([number.setdefault(one, len(number)) for one in keys], np.int64)
        pairs = np.unique(np.stack([place, codes]), axis=1)
        _, back, times = np.unique(pairs[0], return_inverse=True, return_counts=True)
        clashes |= {texts[code] for code in np.unique(pairs[1][times[back] > 1]).tolist()}
        sides.append((texts, codes.tolist(), keys))
    return [
        [texts[code] if texts[code] in clashes else key for code, key in zip(codes, keys, strict=True)]
        for texts, codes, keys in sides
    ]


def _readings(ends: Sequence[End]) -> list[list[str]]:
    """What the ports of a device may mean, the likelier first."""
    labels = [end.written for end in ends]
    plain = [end.port for end in ends]
    legs = families_of_legs(labels)
    as_legs = [_read(end, legs or _EVERY) for end in ends]
    if legs:
        return [as_legs]
    few = all(int(match["leg"][:6]) <= _MOST_LEGS for text in labels if (match := _TWO.match(text)))
    return [plain, as_legs] if few and as_legs != plain else [plain]


def _read(end: End, legs: frozenset[str]) -> str:
    return port_key(end.written, legs) if _TWO.match(end.written) else end.port


def _told(ends: Sequence[End], keys: Sequence[str]) -> dict[str, int]:
    """Row of each key that only one label of a device has."""
    labels: dict[str, set[str]] = defaultdict(set)
    first: dict[str, int] = {}
    for row, (end, key) in enumerate(zip(ends, keys, strict=True)):
        labels[key].add(end.written)
        first.setdefault(key, row)
    return {key: row for key, row in first.items() if len(labels[key]) == 1}


def _whole_by_leg(keys_f: Sequence[str], keys_p: Sequence[str], taken: set[int], left: Sequence[int]) -> dict[int, int]:
    """Planned to found ports of which one is called by its first leg, the only one that either side has."""
    legs = Counter(key.rpartition("/")[0] for key in {*keys_f, *keys_p})
    at = {key: row for row, key in reversed(list(enumerate(keys_f)))}
    pairs: dict[int, int] = {}
    for row in left:
        key = keys_p[row]
        whole = key.removesuffix("/1")
        other = f"{key}/1" if whole == key else whole
        mine = at.get(other, -1)
        is_alone = whole.isdecimal() and legs[whole] == 1 and key not in keys_f and other not in keys_p
        if is_alone and mine >= 0 and mine not in taken:
            pairs[row] = mine
            taken = taken | {mine}
    return pairs


def _tell_apart(fabric: Fabric, where: dict[int, tuple[str, str]]) -> None:
    """Boxes that share a name go by their identity (GUID, MAC, serial) where they have one."""
    times = Counter((device, port_key(slot) if slot else "") for device, slot in where.values())
    for row, (device, slot) in where.items():
        if times[device, port_key(slot) if slot else ""] > 1 and fabric.nodes.uid[row]:
            where[row] = str(fabric.nodes.uid[row]).lower(), slot


def _device(fabric: Fabric, row: int, is_switch: Array) -> tuple[str, str]:
    """Key of the box a node is or is in, and the node's place in it as it is written."""
    name, host = str(fabric.nodes.name[row]), fabric.nodes.host[row]
    if not is_switch[row] and host:
        rest = name[len(host) :].strip(" -_/:.") if name.lower().startswith(host.lower()) else ""
        return _box(host), written(rest)
    return _box(name), ""


def _box(name: str) -> str:
    key = written(name)
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
