"""Trees that schedulers are told: switches over switches over hosts, without ports or rates, made a fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook

__all__ = ["TreeNode", "fabric_of_tree", "tiers_of"]

_HIGHEST = 120


@dataclass(slots=True)
class TreeNode:
    """A switch of a scheduler's tree: its children among switches, its hosts, where it stands in the file."""

    name: str
    children: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    line: int = 0
    part: str = ""


def tiers_of(nodes: Sequence[TreeNode], source: str) -> dict[str, int]:
    """Height of each switch: 1 for one that has no switch below, else one more than its highest child.

    >>> tiers_of([TreeNode("root", ["a"]), TreeNode("a", [], ["n1"])], "")
    {'a': 1, 'root': 2}

    :raises FormatError: a child that is not defined, or a switch that is above itself.
    """
    by_name = {node.name: node for node in nodes}
    waiting = {node.name: 0 for node in nodes}
    above: dict[str, list[str]] = {node.name: [] for node in nodes}
    for node in nodes:
        for child in node.children:
            if child not in by_name:
                said = f"switch {node.name!r} has a child {child!r} that is not defined; define it or leave it out"
                raise FormatError(said, path=source or None, line=node.line or None)
            above[child].append(node.name)
            waiting[node.name] += 1
    tier = {name: 1 for name, count in waiting.items() if not count}
    ready = list(tier)
    for name in ready:
        for parent in above[name]:
            tier[parent] = max(tier.get(parent, 0), tier[name] + 1)
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    looped = next((node for node in nodes if waiting[node.name]), None)
    if looped is not None:
        said = f"switch {looped.name!r} is above itself, by way of its children; a tree has no circle"
        raise FormatError(said, path=source or None, line=looped.line or None)
    if max(tier.values(), default=0) > _HIGHEST:
        raise FormatError(f"a tree of more than {_HIGHEST} tiers; is the file damaged?", path=source or None)
    return {name: tier[name] for name in ready}


def fabric_of_tree(
    book: CableBook, nodes: Sequence[TreeNode], *, name: str = "", domains: Mapping[str, str] | None = None
) -> Fabric:
    """The fabric of a scheduler's tree: one link of unknown rate from every node to the one above it.

    ``domains`` maps hosts to their scale-up domain.

    :raises FormatError: as :func:`tiers_of`; or a name that is a switch and a host.
    """
    tier = tiers_of(nodes, book.source)
    rows = {node.name: book.node(node.name, node.line, kind="switch", part=node.part) for node in nodes}
    parent: dict[str, str] = {}
    for node in nodes:
        for child in dict.fromkeys(node.children):
            if child in parent:
                said = f"{child}: {parent[child]} and {node.name}"
                book.notes.add("switch under several others", said, node.line, severity="warning")
            parent[child] = node.name
    tops = [node.name for node in nodes if node.name not in parent]
    for node in nodes:
        row = rows[node.name]
        book.tier[row] = tier[node.name]
        for child in dict.fromkeys(node.children):
            book.cable(book.free_port(rows[child]), book.free_port(row), line=node.line)
    leaf_of: dict[str, str] = {}
    for node in nodes:
        for host in dict.fromkeys(node.hosts):
            if host in rows:
                said = f"{host!r} is a switch and a host at once; give one of them another name"
                raise FormatError(said, path=book.source or None, line=node.line or None)
            if host in leaf_of:
                book.notes.add(
                    "host under several switches", f"{host}: {leaf_of[host]} and {node.name}", node.line,
                    severity="warning",
                )  # fmt: skip
            leaf_of[host] = node.name
            at = book.node(host, node.line, kind="host", domain=(domains or {}).get(host, ""))
            book.cable(book.free_port(at), book.free_port(rows[node.name]), line=node.line)
    if max(tier.values(), default=0) >= 3:
        _name_pods(book, nodes, tier)
    if len(tops) > 1:
        book.notes.add(f"{len(tops):,} trees without a common switch: {', '.join(tops[:8])}")
    book.assumptions.append(
        "a scheduler's tree says who is under whom, not by how many cables: one link stands for all, its rate open"
    )
    return book.to_fabric(name, infer=False)


def _name_pods(book: CableBook, nodes: Sequence[TreeNode], tier: dict[str, int]) -> None:
    """Pods of a tree of three tiers or more: a switch of tier 2 and all below it."""
    by_name = {node.name: node for node in nodes}
    for top in nodes:
        if tier[top.name] != 2:
            continue
        book.node(top.name, top.line, pod=top.name)
        for leaf in top.children:
            for name in (leaf, *by_name[leaf].hosts):
                book.node(name, top.line, pod=top.name)
