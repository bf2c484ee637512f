"""Read topograph's models: YAML with switches over switches, and blocks of nodes under them."""

from __future__ import annotations

import re
from typing import Any

from topo.document import Document, Place, kind_of_value
from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.hostlist import expand_hosts
from topo.io.tree import TreeNode, fabric_of_tree
from topo.io.yaml_text import mapping_document, misshapen

__all__ = ["is_topograph", "read_topograph"]

_SWITCHES = re.compile(r"^switches[ \t]*:[ \t]*(?:\{\}[ \t]*)?(?:#.*)?$", re.MULTILINE)
_BLOCKS = re.compile(r"^blocks[ \t]*:[ \t]*(?:#.*)?$", re.MULTILINE)
_DOMAIN = "accelerator.topology.test/domain"


def is_topograph(head: str) -> bool:
    """Whether there are switches and blocks at the top."""
    return _SWITCHES.search(head) is not None and _BLOCKS.search(head) is not None


def read_topograph(text: str, source: str = "") -> Fabric:
    """The fabric of a topograph model: a tree of switches, hosts in blocks, accelerator domains; no rates.

    A switch that is named as a child and has no block is kept, empty, with a note.

    >>> fabric = read_topograph('''
    ... switches:
    ...   S1: {switches: [S2, S3]}
    ... blocks:
    ...   - {switch: S2, nodes: ["I[21-22]", I25]}
    ...   - {switch: S3, nodes: ["I[34-36]"]}
    ... ''')
    >>> len(fabric.switches), len(fabric.endpoints)
    (3, 6)

    :raises FormatError: a section of another shape, or a circle of switches.
    :raises InputError: not YAML, or a malformed node list.
    """
    document = mapping_document(text, source, "a topograph model")
    nodes: dict[str, TreeNode] = {}
    domains: dict[str, str] = {}
    for name, said in _section(document, "switches", dict).items():
        place: Place = ("switches", name)
        children = said.get("switches") if isinstance(said, dict) else None
        nodes[str(name)] = TreeNode(
            str(name), _names(document, (*place, "switches"), children), [], document.line(place)
        )
    for i, block in enumerate(_section(document, "blocks", list)):
        place = ("blocks", i)
        if not isinstance(block, dict) or not isinstance(block.get("switch"), (str, int)):
            raise misshapen(document, place, f"a block names its switch:, this is {kind_of_value(block)}")
        name = str(block["switch"])
        node = nodes.setdefault(name, TreeNode(name, line=document.line(place)))
        line = document.line((*place, "nodes"))
        listed = ",".join(_names(document, (*place, "nodes"), block.get("nodes")))
        hosts = expand_hosts(listed, path=source or None, line=line) if listed else []
        node.hosts += hosts
        notes = block.get("annotations")
        if isinstance(notes, dict) and notes.get(_DOMAIN):
            domains |= dict.fromkeys(hosts, str(notes[_DOMAIN]))
    book = CableBook(source, "read_topograph")
    for node in list(nodes.values()):
        for child in node.children:
            if child not in nodes:
                nodes[child] = TreeNode(child, line=node.line)
                book.notes.add("switch without nodes below, kept empty", child, node.line)
    if not nodes:
        raise FormatError("no switch and no block in it", path=source or None)
    return fabric_of_tree(book, list(nodes.values()), domains=domains)


def _section(document: Document, key: str, kind: type) -> Any:
    value = document.value.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        wanted = "keys with values are" if kind is dict else "a list is"
        raise misshapen(document, (key,), f"{wanted} wanted, this is {kind_of_value(value)}")
    return value


def _names(document: Document, place: Place, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, (str, int)) for each in value):
        raise misshapen(document, place, f"a list of names is wanted, this is {kind_of_value(value)}")
    return [str(each) for each in value]
