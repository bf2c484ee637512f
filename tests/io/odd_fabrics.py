"""Small fabrics of many families with names, ports, rates and lengths as odd as they come, for tests of writers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import topo
from topo.fabric import Fabric
from topo.table import Labels

SIGNS = "aB7-_. ,;:'\"\\/|=+@#%&*!?<>[]{}()$`~^\n\t\r\x00\x07\x1b\x7f\u00a0\u2028\u202eéß葉🦀ｱ٣"
"""Letters of names: those that formats give a meaning, that act on a terminal, and that are not of ASCII."""

WORDS = ("", " ", "null", "true", "no", "1e5", "0x10", "-", "--", "=1+1", "'=1", "#1", "//", "/*", "a->b", "&a", "*a",
         "!!python/object", "n[1-3]", "n[01", "a, b", "<b>&amp;", "]]>", "%s", "../../etc", "CON", "switch", "leaf",
         "Leaf", "host", "x" * 300, "x" * 299 + "y", "{{7*7}}", "N/A", "node-1", "port:1", "swp1")  # fmt: skip
"""Names that mean something in one format or the other."""

FAMILIES: dict[str, Callable[[Callable[[int, int], int]], Fabric]] = {
    "leaf-spine": lambda n: topo.leaf_spine(
        leaves=n(1, 4), spines=n(1, 3), hosts_per_leaf=n(1, 3), parallel=n(1, 2), link_gbps=(25.78125, 400.0)[n(0, 1)]
    ),
    "fat tree": lambda n: topo.fat_tree(2 * n(1, 2)),
    "rails": lambda n: topo.rail_optimized(2 * n(1, 3), rails=2 * n(1, 2), hosts_per_unit=4, radix=8),
    "torus": lambda n: topo.torus((n(2, 4), n(2, 3))),
    "dragonfly": lambda n: topo.dragonfly(p=n(1, 2), a=n(2, 3), h=1),
    "bcube": lambda n: topo.bcube(n=n(2, 3), k=1),
    "racks": lambda n: topo.scale_up_domain("gb200-nvl72"),
    "opened host": lambda n: topo.server("dgx-h100", inside=True),
}


def names(most: int = 12) -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(WORDS), st.text(SIGNS, max_size=most))


class Case:
    """A drawn fabric; shown by what was changed of it, not by its arrays."""

    def __init__(self, fabric: Fabric, changed: dict[str, str]) -> None:
        self.fabric = fabric
        self.changed = changed

    def __repr__(self) -> str:
        return f"Case({self.fabric!r}, {self.changed})"


@st.composite
def cases(draw: st.DrawFn, families: tuple[str, ...] = tuple(FAMILIES)) -> Case:
    """A fabric of a family; mostly with odd names of nodes, hosts, ports, racks, and of itself, and odd lengths."""
    fabric = FAMILIES[draw(st.sampled_from(families))](lambda low, high: draw(st.integers(low, high)))
    if draw(st.integers(0, 3)) == 0:
        return Case(fabric, {})
    nodes, ports, links = fabric.nodes, fabric.ports, fabric.links
    changed: dict[str, Any] = {"name": _renamed(draw, nodes.name.tolist())}
    for column in ("host", "rack", "pod", "domain"):
        labels: Labels = getattr(nodes, column)
        if len(labels.labels):
            changed[column] = Labels(labels.codes, _apart(_renamed(draw, labels.labels.tolist())))
    own = Labels(ports.label.codes, _apart(_renamed(draw, ports.label.labels.tolist())))
    some = np.array(draw(st.lists(st.integers(0, len(links) - 1), max_size=5)), np.int64)
    length = links.length_m.copy()
    length[some] = draw(st.sampled_from([0.5, 3.0, 3.048, 12.345678]))
    told = {
        f"{column} {old!r}": new
        for column, before, after in [
            ("name", nodes.name, changed["name"]),
            ("port", ports.label.labels, own.labels),
            *((name, getattr(nodes, name).labels, each.labels) for name, each in changed.items() if name != "name"),
        ]
        for old, new in zip(before.tolist(), after.tolist(), strict=True)
        if old != new
    }
    made = replace(
        fabric,
        name=draw(names()) or "fabric",
        nodes=replace(nodes, **changed),
        ports=replace(ports, label=own),
        links=replace(links, length_m=length),
    )
    return Case(made, told)


def _renamed(draw: st.DrawFn, texts: list[str]) -> np.ndarray[Any, np.dtype[np.str_]]:
    """Some of the texts replaced by odd ones."""
    given = [str(text) for text in texts]
    for row in draw(st.lists(st.integers(0, len(given) - 1), max_size=6)) if given else []:
        given[row] = draw(names())
    return np.array(given, np.str_)


def _apart(texts: np.ndarray[Any, np.dtype[np.str_]]) -> list[str]:
    """A table of labels holds each once, and none that is empty."""
    seen = set[str]()
    result = []
    for i, text in enumerate(texts.tolist()):
        kept = text if text and text not in seen else f"{text}~{i}"
        seen.add(kept)
        result.append(kept)
    return result
