"""Read where Kubernetes nodes stand: tier labels of topograph and the clouds, or the levels of a Kueue Topology."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from topo.errors import FormatError, ParameterError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.descriptions import clean
from topo.io.json_text import looks_like_json, parse_json
from topo.io.tree import TreeNode, fabric_of_tree

__all__ = ["FAMILIES", "is_kubernetes", "read_kubernetes"]

FAMILIES: tuple[tuple[str, ...], ...] = (
    ("network.topology.nvidia.com/core", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"),
    (
        "network.topology.nvidia.com/datacenter",
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/block",
    ),
    (
        "network.topology.kubernetes.io/datacenter",
        "network.topology.kubernetes.io/spine",
        "network.topology.kubernetes.io/block",
    ),
    tuple(f"topology.kubernetes.io/network-level-{i}" for i in (3, 2, 1)),
    tuple(f"topology.k8s.aws/network-node-layer-{i}" for i in (1, 2, 3)),
    (
        "cloud.google.com/gce-topology-block",
        "cloud.google.com/gce-topology-subblock",
        "cloud.google.com/gce-topology-host",
    ),
    ("cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"),
)
"""Labels that are known, from the highest tier to the lowest; a family is taken where most nodes bear its lowest."""

_CLIQUE = "nvidia.com/gpu.clique"
_DOMAINS = ("network.topology.nvidia.com/accelerator", "network.topology.kubernetes.io/accelerator", _CLIQUE)
_BARE = re.compile(r"[0.\s-]*(?P<clique>\d+)\s*\Z")
"""A clique number with no cluster before it, or with the all-zero one of an accelerator that is in none."""
_SENTINEL = "32766"
"""The clique number of accelerators that were given none, the same on racks that have nothing in common."""
_LOCATED = 5
_HOSTNAME = "kubernetes.io/hostname"
_NODE = re.compile(r'"kind"\s*:\s*"Node"|"labels"\s*:\s*\{|kubernetes\.io/hostname')


def is_kubernetes(head: str) -> bool:
    """Whether the text is JSON with Node objects in it."""
    return looks_like_json(head) and "labels" in head and _NODE.search(head) is not None and '"metadata"' in head


def read_kubernetes(text: str, source: str = "", *, levels: Sequence[str] | None = None) -> Fabric:
    """The tree of switches that the labels of nodes tell: ``kubectl get nodes -o json``, one Node, or a list of them.

    Each level is a label, the values of all levels above and of its own name a switch; two racks of one name in two
    blocks stay two. ``levels`` names the labels from the highest down; else those of a Kueue ``Topology`` object in
    the same file, else a known family (:data:`FAMILIES`). The accelerator label is the scale-up domain, whole. A clique
    number without its cluster names no domain, as unrelated racks bear the same one; it is noted. Links state no rate.
    Where only that label is there, the hosts and their domains are read alone, with a note and without a link.

    >>> import json
    >>> labels = [{"b": "b1", "r": f"r{i // 2}"} for i in range(4)]
    >>> nodes = [{"kind": "Node", "metadata": {"name": f"n{i}", "labels": labels[i]}} for i in range(4)]
    >>> fabric = read_kubernetes(json.dumps({"items": nodes}), levels=["b", "r"])
    >>> fabric.nodes.name.tolist()[:3], len(fabric.endpoints)
    (['b1', 'r0', 'r1'], 4)

    :raises FormatError: no Node in it, or no label that is known; the labels that are there are told.
    :raises InputError: not JSON.
    :raises ParameterError: ``levels`` that is no list of names.
    """
    if levels is not None and (
        isinstance(levels, str) or not levels or not all(isinstance(each, str) for each in levels)
    ):
        raise ParameterError(f"levels is {levels!r}; give a list of label names, the highest level first")
    objects = _objects(parse_json(text, source))
    nodes = [each for each in objects if each.get("kind", "Node") == "Node" and _name(each)]
    if not nodes:
        raise FormatError("no Node object in it; give the output of kubectl get nodes -o json", path=source or None)
    labels = {_name(node): _labels(node) for node in nodes}
    book = CableBook(source, "read_kubernetes")
    if len(labels) < len(nodes):
        book.notes.add(f"{len(nodes) - len(labels):,} node(s) stand twice, the last holds", severity="warning")
    chosen = list(levels) if levels is not None else _levels_of(objects, labels)
    if not chosen and levels is None:
        return _islands(book, text, labels)
    return _fabric(book, text, labels, [level for level in chosen if level != _HOSTNAME])


def _objects(value: Any) -> list[dict[str, Any]]:
    """Every object in a list, a List object or on its own."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, dict)]


def _name(node: dict[str, Any]) -> str:
    meta = node.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    return clean(name) if isinstance(name, str) else ""


def _labels(node: dict[str, Any]) -> dict[str, str]:
    labels = node["metadata"].get("labels")
    return {clean(key): clean(str(value)) for key, value in labels.items() if value} if isinstance(labels, dict) else {}


def _levels_of(objects: list[dict[str, Any]], labels: dict[str, dict[str, str]]) -> list[str]:
    """The labels of the tiers, the highest first; none where no Topology and no family names them."""
    for each in objects:
        spec = each.get("spec")
        if each.get("kind") == "Topology" and isinstance(spec, dict) and isinstance(spec.get("levels"), list):
            named = [level.get("nodeLabel") for level in spec["levels"] if isinstance(level, dict)]
            return [clean(level) for level in named if isinstance(level, str)]
    for family in FAMILIES:
        if sum(family[-1] in each for each in labels.values()) * 2 > len(labels):
            return [level for level in family if any(level in each for each in labels.values())]
    return []


def _islands(book: CableBook, text: str, labels: dict[str, dict[str, str]]) -> Fabric:
    """The hosts and their scale-up domains, where no label names a tier.

    :raises FormatError: no domain either; the labels that are there are told.
    """
    domains = _domains(book, text, labels)
    if not domains:
        seen = sorted({key for each in labels.values() for key in each})
        said = ", ".join(seen[:12]) + (f" and {len(seen) - 12} more" if len(seen) > 12 else "")
        raise FormatError(
            f"no label of the nodes is known to name a tier; there are: {said or 'none'}. Name them with levels=[...], "
            "the highest first",
            path=book.source or None,
        )
    for name in labels:
        book.node(name, kind="host", domain=domains.get(name, ""))
    outside = len(labels) - len(domains)
    book.notes.add(
        "no label of the nodes names a tier: scale-up domains alone are read, without a switch or a link; name the "
        "labels of the tiers with levels=",
        severity="warning",
    )
    if outside:
        book.notes.add(f"{outside:,} of {len(labels):,} nodes are in no scale-up domain", severity="warning")
    return book.to_fabric(infer=False)


def _domains(book: CableBook, text: str, labels: dict[str, dict[str, str]]) -> dict[str, str]:
    """The scale-up domain of each node by its label; a clique number that could be anyone's is none, and is told.

    Only labels of cliques are numbers: others may number their domains as they like, the sentinel aside.
    """
    key = next((key for key in _DOMAINS if any(key in each for each in labels.values())), "")
    domains = {name: said[key] for name, said in labels.items() if key in said}
    kind = "clique number without its cluster, which unrelated racks share; the node is in no scale-up domain"
    for name, value in list(domains.items()):
        found = _BARE.match(value)
        if found and (key == _CLIQUE or found["clique"] == _SENTINEL):
            del domains[name]
            line = _line_of(text, name) if book.notes.count(kind) < _LOCATED else 0
            book.notes.add(kind, f"{name}: {key}={value}", line, severity="warning")
    return domains


def _line_of(text: str, name: str) -> int:
    """Line where the node's name is said, 0 where several are."""
    found = [each.start() for each in re.finditer(rf'"name"\s*:\s*{re.escape(json.dumps(name))}', text)]
    return text.count("\n", 0, found[0]) + 1 if len(found) == 1 else 0


def _fabric(book: CableBook, text: str, labels: dict[str, dict[str, str]], levels: list[str]) -> Fabric:
    below: dict[tuple[str, ...], dict[str, None]] = {}
    hosts: dict[tuple[str, ...], list[str]] = {}
    for name, said in labels.items():
        path = tuple(said.get(level, "") for level in levels)
        if not all(path):
            lacking = next((level for level, value in zip(levels, path, strict=True) if not value), "levels")
            book.notes.add("node without a label of a level, left out", f"{name}: {lacking}", severity="warning")
            book.odd += 1
            continue
        book.understood += 1
        for depth in range(1, len(path)):
            below.setdefault(path[:depth], {})[path[depth]] = None
        hosts.setdefault(path, []).append(name)
    if book.odd > book.understood or not levels:
        lack = f"{book.odd:,} of {len(labels):,} nodes lack a label of the levels {', '.join(levels)}"
        raise FormatError(lack if levels else "the levels name no tier above the host", path=book.source or None)
    title = _titles([*below, *hosts], set(labels))
    nodes = [TreeNode(title[path], [title[(*path, child)] for child in below[path]]) for path in below]
    nodes += [TreeNode(title[path], [], members) for path, members in hosts.items()]
    book.assumptions.append(f"tiers by the labels {', '.join(levels)}, the highest first")
    return fabric_of_tree(book, nodes, domains=_domains(book, text, labels))


def _titles(paths: list[tuple[str, ...]], taken: set[str]) -> dict[tuple[str, ...], str]:
    """A name for each path: its last value, or all of them where that is not unique."""
    times: dict[str, int] = {}
    for path in paths:
        times[path[-1]] = times.get(path[-1], 0) + 1
    return {path: path[-1] if times[path[-1]] == 1 and path[-1] not in taken else "/".join(path) for path in paths}
