"""Write a fabric as Kubernetes Node objects with the tier labels that schedulers read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from topo.errors import ParameterError
from topo.io.written import Written
from topo.io.written.tree import domains_of, scheduler_tree

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_kubernetes"]

_TIERS = ("leaf", "spine", "core")
_LABEL = "network.topology.nvidia.com/"
_MOST = 63


def write_kubernetes(fabric: Fabric) -> Written:
    """A List of Node objects, one a host, labelled by the groups of switches it is under and its scale-up domain.

    Labels are ``network.topology.nvidia.com/leaf``, ``spine``, ``core`` and ``accelerator``; apply them with
    ``kubectl apply --server-side``.

    >>> import json, topo
    >>> nodes = json.loads(write_kubernetes(topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)).content)["items"]
    >>> nodes[2]["metadata"]["labels"]["network.topology.nvidia.com/leaf"]
    'leaf-2'

    :raises ParameterError: no host under a switch, or a name longer than the 63 characters of a label.
    """
    tree = scheduler_tree(fabric)
    parent = {child: group.name for group in tree.groups for child in group.children}
    domain_of = {host: domain for domain, hosts in domains_of(fabric).items() for host in hosts}
    items, deep = [], 0
    for group in tree.groups:
        path = [group.name]
        while path[-1] in parent:
            path.append(parent[path[-1]])
        deep = max(deep, len(path) - len(_TIERS))
        labels = {f"{_LABEL}{tier}": _value(name) for tier, name in zip(_TIERS, path, strict=False)}
        for host in group.hosts:
            own = labels | ({f"{_LABEL}accelerator": _value(domain_of[host])} if host in domain_of else {})
            items.append(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": host, "labels": own}},
            )
    lost = [*tree.lost, *([f"{deep} tiers above the third"] if deep > 0 else [])]
    value = {"apiVersion": "v1", "kind": "List", "items": items}
    return Written(json.dumps(value, indent=1, ensure_ascii=False) + "\n", tuple(lost))


def _value(name: str) -> str:
    if len(name) > _MOST:
        raise ParameterError(f"{name[:40]!r}... has {len(name)} characters; a label of Kubernetes takes {_MOST}")
    return name
