"""Write a fabric as Kubernetes Node objects with the tier labels that schedulers read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from topo.errors import ParameterError
from topo.io.written import Written, names_that_fit
from topo.io.written.tree import domains_of, scheduler_tree
from topo.output import cut_short

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_kubernetes"]

_TIERS = ("leaf", "spine", "core")
_LABEL = "network.topology.nvidia.com/"
_MOST = 63
_MOST_NODE = 253
_NODE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
"""Names of nodes: subdomains of the DNS (RFC 1123)."""
_UNFIT = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+\Z|[^A-Za-z0-9_.-]+")
"""Values of labels, as the API server takes them."""


def write_kubernetes(fabric: Fabric) -> Written:
    """A List of Node objects, one a host, labelled by the groups of switches it is under and its scale-up domain.

    Labels are ``network.topology.nvidia.com/leaf``, ``spine``, ``core`` and ``accelerator``; apply them with
    ``kubectl apply --server-side``.

    >>> import json, topo
    >>> nodes = json.loads(write_kubernetes(topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)).content)["items"]
    >>> nodes[2]["metadata"]["labels"]["network.topology.nvidia.com/leaf"]
    'leaf-2'

    Values of labels keep letters, digits, ``-``, ``_`` and ``.``, with ``-`` for all else. Nodes are named as the
    kubelet names itself: in small letters.

    :raises ParameterError: no host under a switch, a host whose name no node can bear, or a switch or domain whose
        name is longer than the 63 characters of a label.
    """
    tree = scheduler_tree(fabric)
    parent = {child: group.name for group in tree.groups for child in group.children}
    domains = domains_of(fabric)
    domain_of = {host: domain for domain, hosts in domains.items() for host in hosts}
    node_of, lowered = _node_names([host for group in tree.groups for host in group.hosts])
    switch_value, changed = _values([group.name for group in tree.groups])
    domain_value, renamed = _values(list(domains))
    items, deep = [], 0
    for group in tree.groups:
        path = [group.name]
        while path[-1] in parent:
            path.append(parent[path[-1]])
        deep = max(deep, len(path) - len(_TIERS))
        labels = {f"{_LABEL}{tier}": switch_value[name] for tier, name in zip(_TIERS, path, strict=False)}
        for host in group.hosts:
            domain = domain_value.get(domain_of.get(host, ""), "")
            own = labels | ({f"{_LABEL}accelerator": domain} if domain else {})
            items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node_of[host], "labels": own}})
    lost = [*tree.lost, *([f"{deep} tiers above the third"] if deep > 0 else [])]
    lost += [f"{lowered:,} names of hosts in capitals, which nodes have not"] if lowered else []
    odd = changed + renamed
    lost += [f"{odd:,} names of switches and domains hold what labels cannot; - stands there instead"] if odd else []
    value = {"apiVersion": "v1", "kind": "List", "items": items}
    return Written(json.dumps(value, indent=1, ensure_ascii=False) + "\n", tuple(lost), 0)


def _node_names(hosts: list[str]) -> tuple[dict[str, str], int]:
    """The node of each host, and how many names are no longer in capitals."""
    taken: dict[str, str] = {}
    for host in hosts:
        name = host.lower()
        if not _NODE.match(name) or len(name) > _MOST_NODE:
            raise ParameterError(
                f"no node of Kubernetes can be named {cut_short(host)!r}: letters, digits, - and . alone, 253 at most; "
                "name the hosts as the cluster does, or write slurm-topology or topograph"
            )
        if name in taken:
            raise ParameterError(f"hosts {taken[name]!r} and {host!r} would be one node of Kubernetes, {name!r}")
        taken[name] = host
    return {host: name for name, host in taken.items()}, sum(name != host for name, host in taken.items())


def _values(names: list[str]) -> tuple[dict[str, str], int]:
    """The value of a label for each name, all different, and how many are not the name itself."""
    long = next((name for name in names if len(name) > _MOST), None)
    if long is not None:
        raise ParameterError(
            f"{cut_short(long)!r} has {len(long)} characters; a label of Kubernetes takes {_MOST}, shorten the name"
        )
    values = dict(zip(names, names_that_fit(names, _UNFIT, otherwise="switch", most=_MOST), strict=True))
    return values, sum(name != value for name, value in values.items())
