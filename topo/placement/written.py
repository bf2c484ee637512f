"""A placement as other programs read it: node list, rank file, host file, Slurm options, Kubernetes affinity, JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np

from topo.errors import ParameterError
from topo.fabric import Fabric, expect_fabric
from topo.placement.fold import Hosts, hosts_of
from topo.placement.names import folded
from topo.placement.placement import Placement

__all__ = ["FORMATS", "write_placement"]

FORMATS = ("nodelist", "rankfile", "hostfile", "slurm", "kubernetes", "json")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


def write_placement(fabric: Fabric, placement: Placement, format: str) -> str:
    """A placement as text, in one of :data:`FORMATS`.

    ``nodelist``: Slurm's compressed form, a set without rank order. ``rankfile``: ``rank N=host slot=K`` (Open MPI).
    ``hostfile``: a host a line in rank order with its slots; as SLURM_HOSTFILE with ``--distribution=arbitrary`` a host
    is repeated for each rank. ``slurm``: the options ``--nodelist`` and ``--switches``. ``kubernetes``: affinity on
    kubernetes.io/hostname. ``json``: hosts, ranks and endpoints.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> placed = Placement.of(fabric.rows(["host-1", "host-2", "host-3"]))
    >>> print(write_placement(fabric, placed, "slurm"), end="")
    --nodelist=host-[1-3] --switches=2

    :raises ParameterError: an unknown format, or a host name such a file cannot hold.
    """
    expect_fabric(fabric)
    if format not in FORMATS:
        raise ParameterError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    hosts = hosts_of(fabric)
    numbers = placement.hosts(hosts)
    names = [str(name) for name in hosts.name[numbers].tolist()]
    for name in names:
        if format != "json" and not _SAFE.match(name):
            raise ParameterError(f"host name {name!r} holds signs that a {format} cannot; letters, digits, . _ - can")
    if format == "nodelist":
        return folded(names) + "\n"
    if format == "slurm":
        switches = len(np.unique(hosts.leaf[numbers]))
        return f"--nodelist={folded(names)} --switches={switches}\n"
    if format == "kubernetes":
        return _affinity(names)
    return _ranked(hosts, placement, names, format)


def _ranked(hosts: Hosts, placement: Placement, names: list[str], format: str) -> str:
    host = hosts.of_node[placement.rows]
    label = [str(name) for name in hosts.name[host].tolist()]
    slot = hosts.place[placement.rows]
    if format == "hostfile":
        count = Counter(label)
        return "".join(f"{name} slots={count[name]}\n" for name in names)
    if format == "rankfile":
        used: dict[str, int] = {}
        lines = []
        for rank, name in enumerate(label):
            at = used.get(name, 0)
            used[name] = at + 1
            lines.append(f"rank {rank}={name} slot={at}\n")
        return "".join(lines)
    rows = placement.rows.tolist()
    ends = hosts.fabric.nodes.name[placement.rows].tolist()
    ranks = [
        {"rank": rank, "host": name, "local_index": int(at), "endpoint": str(end), "row": int(row)}
        for rank, (name, at, end, row) in enumerate(zip(label, slot.tolist(), ends, rows, strict=True))
    ]
    value: dict[str, Any] = {"fabric": hosts.fabric.name, "hosts": names, "ranks": ranks}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _affinity(names: list[str]) -> str:
    """Required node affinity; JSON strings are YAML strings, so no name can break out."""
    values = "".join(f"          - {json.dumps(name)}\n" for name in names)
    return (
        "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
        "      - matchExpressions:\n        - key: kubernetes.io/hostname\n          operator: In\n          values:\n"
        f"{values}"
    )
