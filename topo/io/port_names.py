"""Port names as vendors spell them: whose port it is, its cage, the adapter and the port of it."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["HostPort", "PortPlace", "cage_of", "expand_ports", "host_port", "place_of_port", "side_of_port"]

_HOST = re.compile(
    r"(?:.*\b)?(?:hca|mlx\d*_|mthca|nic|gpu|ocp|pcie|bmc|rail|bond|roce|cx-?\d|ib[\s_-]?port|ib\d|ib[ps]\d|en[opsx]\w*\d"
    r"|eth\d|onboard|ipmi|idrac|ilo|lan\d)",
    re.IGNORECASE,
)
_SWITCH = re.compile(
    r"(?:blade|swp|port[\s_-]*\d|ethernet\s?\d|eth(?:ernet)?\s?\d+/|e\d+(?:/|-)\d|sw\d+p\d|p\d+\.\d+\Z|(?:et|xe|ge)-\d"
    r"|(?:hundred|fortygig|twentyfive|ten|fourhundred)\w*\s?\d|gi\w*\s?\d|osfp|qsfp|fab\d|\d+/\d+(?:/\d+)*(?::\d+)?\Z)",
    re.IGNORECASE,
)
_CAGES = (
    re.compile(r"(?P<cage>swp\d+)s\d+\Z", re.IGNORECASE),
    re.compile(r"(?P<cage>p\d+)\.\d+\Z", re.IGNORECASE),
    re.compile(r"(?P<cage>sw\d+)p\d+(?:s\d+)?\Z", re.IGNORECASE),
    re.compile(r"(?P<cage>[a-z]*\s?\d+/\d+)/\d+(?:/\d+)?\Z", re.IGNORECASE),
)
_DEVICE = re.compile(
    r"(?P<device>hca[\s_-]?\d*|mlx\d*_\w+?|ib[\s_-]?port[\s_-]?\d+|ib[ps]\d\w*?|ib\d+|(?:storage[\s_-]?)?nic[\s_-]?\d+|gpu[\s_-]?\d+|rail[\s_-]?\d+"
    r"|cx-?\d+[\s_-]?\d*)(?:(?:/|:|\s+port\s?|\s+p|(?<=\d)p)(?P<port>\d+))?\Z",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)-(\d+)\Z")
_MOST_PORTS = 64


_PLACES = (
    re.compile(r"swp(?P<cage>\d{1,4})(?:s(?P<leg>\d{1,2}))?\Z", re.IGNORECASE),
    re.compile(r"sw(?P<cage>\d{1,4})p(?P<port>\d{1,4})(?:s(?P<leg>\d{1,2}))?\Z", re.IGNORECASE),
    re.compile(r"p(?P<cage>\d{1,4})\.(?P<port>\d{1,4})\Z", re.IGNORECASE),
    re.compile(r"blade\s?(?P<unit>\d{1,4})[_\s]port\s?(?P<cage>\d{1,4})/(?P<port>\d{1,4})\Z", re.IGNORECASE),
    re.compile(r"(?P<unit>\d{1,4})/(?P<cage>\d{1,4})/(?P<port>\d{1,4})(?:/(?P<leg>\d{1,2}))?\Z"),
    re.compile(r"(?:e|et|eth|ethernet)\s?(?P<unit>\d{1,4})/(?P<cage>\d{1,4})(?:/(?P<leg>\d{1,2}))?\Z", re.IGNORECASE),
    re.compile(r"(?:e|et|eth|ethernet|port\s?)?(?P<cage>\d{1,4})\Z", re.IGNORECASE),
)


class PortPlace(NamedTuple):
    """Where a port of a switch sits, as its name says; -1 for what the name does not say."""

    unit: int
    cage: int
    port: int
    leg: int


class HostPort(NamedTuple):
    """A port at a host: the adapter it belongs to, '' where the name tells none, and its name there."""

    device: str
    port: str


def side_of_port(label: str) -> str:
    """Whose port bears such a name: ``host``, ``switch``, or '' where both do.

    >>> [side_of_port(label) for label in ("mlx5_0", "HCA-1", "swp17s0", "Blade 16_Port 2/20", "E1/1/1", "7")]
    ['host', 'host', 'switch', 'switch', 'switch', '']
    """
    if _SWITCH.match(label):
        return "switch"
    return "host" if _HOST.match(label) else ""


def cage_of(label: str) -> str:
    """The cage a port shares with its neighbours, where the name says so; else ''.

    ``1/1/2`` is port 2 of cage ``1/1``, ``swp17s1`` leg 1 of ``swp17``, ``P22.1`` port 1 of cage ``P22``.

    >>> [cage_of(label) for label in ("1/1/2", "swp17s1", "P22.1", "E1/1/3", "swp5", "Port 4")]
    ['1/1', 'swp17', 'P22', 'E1/1', '', '']
    """
    for pattern in _CAGES:
        found = pattern.match(label)
        if found:
            return found["cage"]
    return ""


def place_of_port(label: str) -> PortPlace:
    """Unit (slot, blade, ASIC), cage, port of the cage and leg of the breakout that a switch's port name says.

    ``1/1/2/1`` is ASIC 1, cage 1, port 2, leg 1 (Quantum-2); ``Blade 16_Port 2/20`` ASIC 2 of leaf 16 and its port
    20. ``1/3`` is left alone: port 3 of cage 1 in one tool, leg 3 of port 1 in another. An alias says the place of
    a cage, a SONiC name a lane: neither is changed into the other.

    >>> place_of_port("swp17s0"), place_of_port("1/1/2/1")
    (PortPlace(unit=-1, cage=17, port=-1, leg=0), PortPlace(unit=1, cage=1, port=2, leg=1))
    """
    for pattern in _PLACES:
        found = pattern.match(label.strip())
        if found:
            said = found.groupdict()
            return PortPlace(*(int(said.get(key) or -1) for key in PortPlace._fields))
    return PortPlace(-1, -1, -1, -1)


def host_port(host: str, label: str) -> HostPort:
    """The adapter that a port name at a host means, and the port of it; the host's own name before it is dropped.

    >>> host_port("n1", "n1 mlx5_0"), host_port("n1", "HCA-1/2"), host_port("n1", "eth0")
    (HostPort(device='mlx5_0', port='1'), HostPort(device='HCA-1', port='2'), HostPort(device='', port='eth0'))
    """
    text = label
    if host and len(label) > len(host) and label.lower().startswith(host.lower()) and not label[len(host)].isalnum():
        text = label[len(host) :].strip(" -_/:.") or label
    found = _DEVICE.match(text)
    if found is None:
        return HostPort("", text)
    return HostPort(found["device"], found["port"] or "1")


def expand_ports(label: str) -> list[str]:
    """The ports that one cell names: several with commas, else the cell itself.

    >>> expand_ports("11,12"), expand_ports("swp1s0-3"), expand_ports("1/1,1/2")
    (['11', '12'], ['swp1s0-3'], ['1/1', '1/2'])
    """
    if "," not in label and ";" not in label:
        return [label]
    parts = [part.strip() for part in re.split(r"[,;]", label) if part.strip()]
    expanded: list[str] = []
    for part in parts:
        found = _RANGE.match(part)
        if found and len(found[1]) < 6 and len(found[2]) < 6 and 0 <= int(found[2]) - int(found[1]) < _MOST_PORTS:
            expanded += map(str, range(int(found[1]), int(found[2]) + 1))
        else:
            expanded.append(part)
    return expanded[:_MOST_PORTS] or [label]
