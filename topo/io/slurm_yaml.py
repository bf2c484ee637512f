"""Read Slurm's topology.yaml: a list of topologies, each a tree or blocks; the cluster's default is taken."""

from __future__ import annotations

import re
from typing import Any

from topo.document import Document, Place, kind_of_value, parse_document
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.hostlist import expand_hosts
from topo.io.slurm_topology import SlurmTopology
from topo.io.tree import TreeNode
from topo.io.yaml_text import misshapen

__all__ = ["is_slurm_yaml", "read_slurm_yaml"]

_PLUGINS = ("block", "flat", "ring", "torus3d", "tree")
_TOPOLOGY = re.compile(r"^[ \t]*(?:-[ \t]+)?topology[ \t]*:[ \t]*[^\s#]", re.MULTILINE)
_PLUGIN = re.compile(r"^[ \t]+(?:-[ \t]+)?(?:block|flat|ring|torus3d|tree)[ \t]*:", re.MULTILINE)


def is_slurm_yaml(head: str) -> bool:
    """Whether a topology is named and one of Slurm's plugins configured."""
    return _TOPOLOGY.search(head) is not None and _PLUGIN.search(head) is not None


def read_slurm_yaml(text: str, source: str = "") -> Fabric:
    """The fabric of the default topology of a ``topology.yaml``; see ``topo.io.slurm_topology.read_slurm_topology``.

    >>> fabric = read_slurm_yaml('''
    ... - topology: main
    ...   cluster_default: true
    ...   tree:
    ...     switches:
    ...       - {switch: root, children: "s[1-2]"}
    ...       - {switch: s1, nodes: "n[1-2]"}
    ...       - {switch: s2, nodes: "n[3-4]"}
    ... ''')
    >>> len(fabric.endpoints), len(fabric.switches), fabric.name
    (4, 3, 'main')

    :raises FormatError: a section of the wrong shape, two plugins in one topology, none that can be drawn.
    :raises InputError: not YAML, or a malformed host list.
    """
    book = CableBook(source, "read_slurm_yaml")
    document = parse_document(text, source)
    topologies = document.value if isinstance(document.value, list) else [document.value]
    base: Place = () if isinstance(document.value, dict) else (0,)
    for i, each in enumerate(topologies):
        if not isinstance(each, dict):
            place: Place = (i,) if isinstance(document.value, list) else ()
            raise misshapen(document, place, f"a topology is keys with values, this is {kind_of_value(each)}")
    if not topologies:
        raise misshapen(document, (), "no topology in the list")
    chosen = next((i for i, each in enumerate(topologies) if each.get("cluster_default") is True), 0)
    place = (chosen,) if isinstance(document.value, list) else base
    if len(topologies) > 1:
        rest = [str(each.get("topology")) for i, each in enumerate(topologies) if i != chosen]
        book.notes.add(
            f"{len(topologies)} topologies; {topologies[chosen].get('topology')} is read, not {', '.join(rest[:8])}"
        )
    found = _topology(document, place, topologies[chosen])
    found.name = str(topologies[chosen].get("topology") or "")
    found.check(book)
    return found.to_fabric(book)


def _topology(document: Document, place: Place, value: dict[str, Any]) -> SlurmTopology:
    given = [name for name in _PLUGINS if value.get(name) not in (None, False)]
    if len(given) > 1:
        said = f"{' and '.join(given)} exclude each other; keep one"
        raise misshapen(document, (*place, given[1]), said)
    if not given or given[0] in ("flat", "ring", "torus3d"):
        said = f"{given[0]} draws no tree of switches" if given else f"none of {', '.join(_PLUGINS)} in it"
        raise misshapen(document, place, f"{said}; a tree or block topology can be read")
    name = given[0]
    section, place = value[name], (*place, name)
    if not isinstance(section, dict):
        raise misshapen(document, place, f"keys with values are wanted, this is {kind_of_value(section)}")
    if name == "tree":
        return SlurmTopology(switches=_nodes(document, place, section, "switches", "switch"))
    return SlurmTopology(
        blocks=_nodes(document, place, section, "blocks", "block"),
        block_sizes=_sizes(document, (*place, "block_sizes"), section.get("block_sizes")),
        sizes_line=document.line((*place, "block_sizes")),
    )


def _sizes(document: Document, place: Place, value: Any) -> tuple[int, ...]:
    sizes = [] if value is None else value if isinstance(value, list) else [value]
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int):
            raise misshapen(document, place, f"whole numbers are wanted, not {kind_of_value(size)}")
    return tuple(sorted(sizes))


def _nodes(document: Document, place: Place, section: dict[str, Any], key: str, name: str) -> list[TreeNode]:
    place = (*place, key)
    listed = section.get(key)
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise misshapen(document, place, f"a list is wanted, this is {kind_of_value(listed)}")
    nodes = []
    for i, each in enumerate(listed):
        here = (*place, i)
        if not isinstance(each, dict) or not isinstance(each.get(name), (str, int)):
            raise misshapen(document, here, f"each needs a {name}: with a name, this is {kind_of_value(each)}")
        line = document.line(here)
        nodes.append(
            TreeNode(
                str(each[name]),
                _hosts(document, (*here, "children"), each.get("children")),
                _hosts(document, (*here, "nodes"), each.get("nodes")),
                line,
            )
        )
    return nodes


def _hosts(document: Document, place: Place, value: Any) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, list) and all(isinstance(each, (str, int)) for each in value):
        value = ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise misshapen(document, place, f"a host list is wanted, this is {kind_of_value(value)}")
    return expand_hosts(str(value), path=document.path or None, line=document.line(place))
