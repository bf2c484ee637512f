"""Read networks of ASTRA-sim's analytical backend: YAML with a topology, a count and a bandwidth for each dimension."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import Any

import numpy as np

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.notes import quoted
from topo.io.yaml_text import mapping_document

__all__ = ["is_astra", "read_astra"]

_COUNT = re.compile(r"^npus_count[ \t]*:", re.MULTILINE)
_SHAPE = re.compile(r"^topology[ \t]*:[ \t]*\[", re.MULTILINE)
_MOST_NPUS = 1_000_000
_MOST_LINKS = 5_000_000


def is_astra(head: str) -> bool:
    """Whether the keys of an analytical network stand in it."""
    return _COUNT.search(head) is not None and _SHAPE.search(head) is not None


def read_astra(text: str, source: str = "") -> Fabric:
    """The fabric of an analytical network: NPUs in a grid, each line of each dimension a ring, a switch or a mesh.

    ``bandwidth`` is GB/s of each link in one direction, taken times 8. A ring of two is one link; NPUs relay for each
    other, as rings need. In ``Switch`` an NPU has one link of that bandwidth.

    >>> fabric = read_astra('topology: [ Ring, Switch ]\\nnpus_count: [ 4, 2 ]\\nbandwidth: [ 50, 25 ]\\n')
    >>> len(fabric.endpoints), len(fabric.links), sorted(set(fabric.links.capacity_gbps.tolist()))
    (8, 16, [200.0, 400.0])

    :raises FormatError: lists of different lengths, an unknown topology, a count that is none.
    :raises InputError: not YAML.
    """
    document = mapping_document(text, source, "a network of ASTRA-sim")
    shape, counts, bandwidth = (_listed(document.value.get(key)) for key in ("topology", "npus_count", "bandwidth"))

    def wrong(key: str, said: str) -> FormatError:
        return FormatError(f"{key}: {said}", path=source or None, line=document.line((key,)))

    if not shape or len(shape) != len(counts) or len(bandwidth) != len(shape):
        said = f"{len(shape)} topologies, {len(counts)} counts, {len(bandwidth)} bandwidths; each dimension needs one"
        raise wrong("topology", said)
    for count in counts:
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_NPUS:
            raise wrong("npus_count", f"{quoted(str(count), 30)} is no count from 1 to {_MOST_NPUS:,}")
    for name in shape:
        if name not in ("Ring", "Switch", "FullyConnected"):
            raise wrong("topology", f"{quoted(str(name), 30)} is not known; Ring, Switch and FullyConnected are")
    total = prod(counts)
    links = sum(total * ((n - 1) if name == "FullyConnected" else 1) for name, n in zip(shape, counts, strict=True))
    if total > _MOST_NPUS or links > _MOST_LINKS:
        raise wrong(
            "npus_count", f"{total:,} NPUs and {links:,} links or so; at most {_MOST_NPUS:,} and {_MOST_LINKS:,}"
        )
    book = CableBook(source, "read_astra")
    book.hosts_forward = any(name != "Switch" for name in shape)
    book.assumptions.append("bandwidth is in GB/s of one link and direction, taken times 8; latency is not kept")
    rates = [
        Rate.of(f"{each}GB/s") if isinstance(each, (int, float)) else Rate.of(str(each) or "?") for each in bandwidth
    ]
    grid = np.arange(total).reshape(counts[::-1]).T  # the first dimension runs fastest
    places = np.indices(counts[::-1]).reshape(len(counts), -1)[::-1].T
    for row, place in enumerate(places.tolist()):
        book.node(f"npu-{row}", kind="accelerator", coordinates=",".join(map(str, place)))
    for axis, (name, rate) in enumerate(zip(shape, rates, strict=True)):
        lines = np.moveaxis(grid, axis, -1).reshape(-1, counts[axis])
        others = product(*(range(n) for i, n in enumerate(counts) if i != axis))
        for line, place in zip(lines.tolist(), others, strict=True):
            title = f"switch-{axis + 1}-{'-'.join(map(str, place)) or '0'}"
            _join(book, name, line, title, rate, document.line(("topology",)))
    return book.to_fabric()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _join(book: CableBook, name: str, npus: list[int], title: str, rate: Rate, line: int) -> None:
    def cable(a: int, b: int) -> None:
        book.cable(book.free_port(a), book.free_port(b), line=line, rate=rate)

    n = len(npus)
    if name == "Switch" and n > 1:
        switch = book.node(title, line, kind="switch")
        for npu in npus:
            cable(npu, switch)
    elif name == "Ring":
        for i in range(n if n > 2 else n - 1):
            cable(npus[i], npus[(i + 1) % n])
    elif name == "FullyConnected":
        for i in range(n):
            for j in range(i + 1, n):
                cable(npus[i], npus[j])
