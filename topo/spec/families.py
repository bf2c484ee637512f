"""About how many ports the direct families make, from a spec's parameters, before anything is built."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "bcube_ports",
    "dcell_ports",
    "dragonfly_plus_ports",
    "dragonfly_ports",
    "flattened_butterfly_ports",
    "hamming_mesh_ports",
    "hyperx_ports",
    "jellyfish_ports",
    "k_ary_n_tree_ports",
    "slim_fly_ports",
    "torus_ports",
    "xgft_ports",
    "xpander_ports",
]

_MANY = 1e18
"""Stands for more than can be counted, so that powers do not overflow."""


def _most(value: Any) -> float:
    """The largest of a number, a list or a table; 0 of nothing."""
    if isinstance(value, Sequence):
        return max(map(_most, value), default=0.0)
    return float(value or 0)


def _product(sizes: Sequence[float]) -> float:
    return min(math.prod(map(float, sizes)), _MANY)


def _power(base: float, exponent: float) -> float:
    if base <= 0:
        return 0.0
    return _MANY if base > 1 and exponent * math.log(base) > 40 else float(base) ** exponent


def _switches(given: Mapping[str, Any], count: float, ports: float) -> float:
    """Ports of so many switches, each with at least its radix."""
    return count * max(ports, float(given.get("radix") or 0))


def torus_ports(given: Mapping[str, Any]) -> float:
    """Ports of a torus or mesh, of hosts, switches or accelerators."""
    links = float(given.get("links", 1))
    return float(_product(given["dims"]) * (2.0 * len(given["dims"]) * links + 2.0 * given.get("hosts_per_switch", 0)))


def hyperx_ports(given: Mapping[str, Any]) -> float:
    """Ports of a HyperX."""
    ports = given["hosts_per_switch"] + _most(given["links"]) * sum(map(float, given["dims"]))
    count = _product(given["dims"])
    return _switches(given, count, ports) + float(count * given["hosts_per_switch"])


def flattened_butterfly_ports(given: Mapping[str, Any]) -> float:
    """Ports of a flattened butterfly."""
    count = _power(given["k"], given["n"] - 1)
    return _switches(given, count, float(given["n"]) * given["k"]) + float(count * given["k"])


def xgft_ports(given: Mapping[str, Any]) -> float:
    """Ports of an XGFT: as many as twice its links."""
    children, parents = given["children"], given["parents"]
    levels = range(min(len(children), len(parents)))
    return 2 * sum(_product([*children[i:], *parents[: i + 1]]) for i in levels)


def k_ary_n_tree_ports(given: Mapping[str, Any]) -> float:
    """Ports of a k-ary n-tree."""
    return float(2.0 * given["n"] * _power(given["k"], given["n"]))


def dragonfly_ports(given: Mapping[str, Any]) -> float:
    """Ports of a dragonfly."""
    groups = _groups(given, float(given["a"]) * given["h"])
    p = _most(given["p"])
    ports = p + float(given["a"]) * given["local_links"] + given["h"]
    return _switches(given, groups * given["a"], ports) + float(groups * given["a"] * p)


def dragonfly_plus_ports(given: Mapping[str, Any]) -> float:
    """Ports of a dragonfly+."""
    groups = _groups(given, float(given["spines"]) * given["h"])
    p, parallel = _most(given["p"]), float(given["parallel"])
    leaves = _switches(given, groups * given["leaves"], p + given["spines"] * parallel)
    return leaves + _switches(given, groups * given["spines"], given["leaves"] * parallel + given["h"]) + leaves


def _groups(given: Mapping[str, Any], ports: float) -> float:
    groups = given["groups"]
    if groups is None:
        return ports / max(_most(given["pair_links"]), 1) + 1
    return float(sum(groups)) if isinstance(groups, Sequence) else float(groups)


def slim_fly_ports(given: Mapping[str, Any]) -> float:
    """Ports of a Slim Fly."""
    q = float(given["q"])
    hosts = float(given["hosts_per_switch"] or 0.75 * q + 1)
    return _switches(given, 2 * q * q, 1.5 * q + 1 + hosts) + 2 * q * q * hosts


def jellyfish_ports(given: Mapping[str, Any]) -> float:
    """Ports of a Jellyfish."""
    count, hosts = float(given["switches"]), float(given["hosts_per_switch"])
    return _switches(given, count, given["links_per_switch"] + hosts) + count * hosts


def xpander_ports(given: Mapping[str, Any]) -> float:
    """Ports of an Xpander."""
    return jellyfish_ports({**given, "switches": (given["links_per_switch"] + 1.0) * given["lift"]})


def bcube_ports(given: Mapping[str, Any]) -> float:
    """Ports of a BCube."""
    return float(2.0 * (given["k"] + 1) * _power(given["n"], given["k"] + 1))


def dcell_ports(given: Mapping[str, Any]) -> float:
    """Ports of a DCell."""
    size = float(given["n"])
    for _ in range(min(max(given["k"], 0), 8)):
        size = min(size * (size + 1), _MANY)
    return float(size * (given["k"] + 2.0))


def hamming_mesh_ports(given: Mapping[str, Any]) -> float:
    """Ports of a HammingMesh: accelerators, and lines of switches that may be half empty."""
    (a, b), (x, y) = (_two(given["board"]), _two(given["boards"]))
    lines = a * x + b * y
    return float(4 * a * b * x * y + lines * (given["radix"] ** 2 + 6 * max(x, y)))


def _two(sizes: Sequence[float]) -> tuple[float, float]:
    """Two sizes; what is missing counts as 1, the builder refuses it."""
    padded = [*map(float, sizes), 1.0, 1.0]
    return padded[0], padded[1]
