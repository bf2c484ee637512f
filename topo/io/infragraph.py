"""Read InfraGraph infrastructures (YAML or JSON): devices, instances of them, and edges between instances by slices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from topo.document import Document
from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.halves import UNKNOWN
from topo.io.notes import quoted
from topo.io.yaml_text import mapping_document

__all__ = ["is_infragraph", "read_infragraph"]

_KEYS = tuple(
    re.compile(rf'(?:^|[\s{{,])"?{key}"?[ \t]*:', re.MULTILINE) for key in ("devices", "instances", "components")
)
_EDGES = re.compile(r'(?:^|[\s{,])"?(?:edges|connections)"?[ \t]*:', re.MULTILINE)
_PART = re.compile(r"([^\[\].]+)(?:\[([\d:\s-]*)\])?\Z")
_DOTTED = re.compile(r"(.+?)\.(\d{1,7})\.(.+?)\.(\d{1,7})\.([^.]+)\.(.+?)\.(\d{1,7})\.(.+?)\.(\d{1,7})\Z")
_ACCELERATORS = ("xpu", "npu", "gpu", "tpu")
_MOST_NODES = 1_000_000
_MOST_LINKS = 2_000_000
_DEEPEST = 8


@dataclass(slots=True)
class _Plan:
    """The devices by name, the instances by name, and the rates of the links by name."""

    book: CableBook
    document: Document
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, tuple[str, int]] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)

    def wrong(self, said: str, *keys: str | int) -> FormatError:
        line = self.document.line(keys)
        return FormatError(said, path=self.book.source or None, line=line)


def is_infragraph(head: str) -> bool:
    """Whether devices with components, instances, and edges (or connections) stand in it."""
    return _EDGES.search(head) is not None and all(key.search(head) is not None for key in _KEYS)


def read_infragraph(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The fabric of an infrastructure: a node for each instance of a device, a link for each edge between two.

    ``leaf[0:2]`` and ``port[0]`` are slices as Python has them, without brackets all; ``one2one`` pairs both lists in
    order, ``many2many`` joins each with each. The dotted ``connections`` of earlier versions are read too. A port is
    its component, ``port.3``. Bandwidths are Gb/s, or GB/s taken times 8; transfers a second leave the rate open, as
    no width is stated. A device with accelerators is a host. Edges inside devices are counted in a note and not kept.

    >>> fabric = read_infragraph('''
    ... devices:
    ... - {name: server, components: [{name: xpu, count: 1, choice: xpu}, {name: nic, count: 1, choice: nic}]}
    ... - {name: switch, components: [{name: port, count: 4, choice: port}]}
    ... instances: [{name: host, device: server, count: 2}, {name: leaf, device: switch, count: 1}]
    ... links: [{name: eth, physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}}]
    ... edges:
    ... - ep1: {instance: host, component: nic}
    ...   ep2: {instance: leaf, component: "port[0:2]"}
    ...   link: eth
    ...   scheme: one2one
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.links.capacity_gbps.tolist()
    (['host.0', 'host.1', 'leaf'], [400.0, 400.0])

    :raises FormatError: no instance, an edge of unknown names or out of range, or mostly edges that do not fit.
    :raises InputError: not YAML.
    """
    document = mapping_document(text, source, "an infrastructure")
    value = document.value
    inner = value.get("infrastructure")
    prefix: tuple[str, ...] = ("infrastructure",) if isinstance(inner, dict) else ()
    value = inner if isinstance(inner, dict) else value
    book = CableBook(source, "read_infragraph", hosts=hosts)
    plan = _Plan(book, document)
    plan.devices = {str(each.get("name")): each for each in _dicts(value.get("devices"))}
    plan.rates = {str(each.get("name")): _rate(each) for each in _dicts(value.get("links"))}
    _instances(plan, value)
    for place, edge in enumerate(_list(value.get("edges"))):
        _edge(plan, edge, document.line((*prefix, "edges", place)))
    for place, said in enumerate(_list(value.get("connections"))):
        _dotted(plan, str(said), document.line((*prefix, "connections", place)))
    inside = sum(len(_list(each.get("edges"))) + len(_list(each.get("connections"))) for each in plan.devices.values())
    if inside:
        book.notes.add(f"{inside:,} edge(s) inside devices are not kept: a device is one node")
    book.refuse_misread("an infrastructure of InfraGraph")
    return book.to_fabric(str(value.get("name") or ""))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in _list(value) if isinstance(each, dict)]


def _rate(link: dict[str, Any]) -> Rate:
    physical = link.get("physical")
    said = (physical if isinstance(physical, dict) else link).get("bandwidth")
    if not isinstance(said, dict):
        return Rate()
    key = str(said.get("choice") or next((key for key in said if key != "choice"), ""))
    value = said.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Rate(status=UNKNOWN) if key else Rate()
    if "byte" in key:
        return Rate.of(f"{value}GB/s")
    return Rate.of(f"{value}Gb/s") if "bit" in key else Rate(status=UNKNOWN)


def _count(said: Any, default: int = 1) -> int:
    return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else default


def _kind(device: dict[str, Any] | None, name: str) -> str:
    """What a device is, by its components: one with accelerators is a host."""
    parts = _dicts(device.get("components")) if device else []
    words = {str(part.get("choice") or part.get("type") or "").lower() for part in parts}
    words |= {str(part.get("name") or "").lower() for part in parts}
    if words & set(_ACCELERATORS):
        return "host"
    if "switch" in words or "switch" in name.lower():
        return "switch"
    return "host" if "nic" in words else "switch" if device else ""


def _instances(plan: _Plan, value: dict[str, Any]) -> None:
    total = 0
    for place, each in enumerate(_dicts(value.get("instances"))):
        name, device = str(each.get("name") or ""), str(each.get("device") or "")
        count = _count(each.get("count"))
        total += count
        if not name or total > _MOST_NODES:
            raise plan.wrong(f"instance {place + 1} has no name, or makes {total:,} nodes", "instances", place)
        if device not in plan.devices:
            said = f"{name}: {quoted(device, 60)}"
            plan.book.notes.add("instance of a device that is not described", said, severity="warning")
        plan.counts[name] = device, count
        kind = _kind(plan.devices.get(device), f"{device} {name}")
        for i in range(count):
            plan.book.node(_name(plan, name, i), kind=kind, part=device)
    if not plan.counts:
        raise plan.wrong("no instance of a device in it")


def _name(plan: _Plan, instance: str, index: int) -> str:
    return instance if plan.counts[instance][1] == 1 else f"{instance}.{index}"


def _edge(plan: _Plan, edge: Any, line: int | None) -> None:
    number = line or 0
    ends = [edge.get(key) if isinstance(edge, dict) else None for key in ("ep1", "ep2")]
    lists = [_expanded(plan, end, number) if isinstance(end, dict) else None for end in ends]
    a, b = lists
    if a is None or b is None:
        plan.book.misfit("edge without two ends that are there", str(edge), number)
        return
    rate = plan.rates.get(str(edge.get("link")), Rate())
    scheme = str(edge.get("scheme") or ("many2many" if edge.get("many2many") else "one2one"))
    if scheme not in ("one2one", "many2many"):
        plan.book.misfit("edge of a scheme that is not known", scheme, number)
        return
    if scheme == "one2one" and len(a) != len(b):
        said = f"{len(a)} and {len(b)}; the first {min(len(a), len(b))} are joined"
        plan.book.notes.add("one2one with lists of different lengths", said, number, severity="warning")
    n = len(a) * len(b) if scheme == "many2many" else min(len(a), len(b))
    if len(plan.book.near) + n > _MOST_LINKS:
        raise FormatError(f"more than {_MOST_LINKS:,} links", path=plan.book.source or None, line=line)
    pairs = zip(a, b, strict=False) if scheme == "one2one" else ((x, y) for x in a for y in b if x != y)
    for one, other in pairs:
        _cable(plan, one, other, rate, number)


def _cable(plan: _Plan, one: tuple[str, str], other: tuple[str, str], rate: Rate, line: int) -> None:
    plan.book.cable(plan.book.port(*one, line), plan.book.port(*other, line), line=line, rate=rate)


def _expanded(plan: _Plan, end: dict[str, Any], line: int) -> list[tuple[str, str]] | None:
    """Node and port of each end that the slices mean; None where a name or a number is not there."""
    found = _PART.match(str(end.get("instance") or ""))
    if found is None or found[1] not in plan.counts:
        return None
    device, count = plan.counts[found[1]]
    which = _slice(found[2], count)
    paths: list[str] = [""]
    current = plan.devices.get(device)
    for depth, part in enumerate(str(end.get("component") or "").split(".")):
        piece = _PART.match(part)
        if piece is None or depth >= _DEEPEST or which is None:
            return None
        sizes = {str(each.get("name")): _count(each.get("count")) for each in _dicts((current or {}).get("components"))}
        if current is not None and piece[1] not in sizes:
            return None
        rows = _slice(piece[2], sizes.get(piece[1], _MOST_LINKS if piece[2] else 1))
        if rows is None or len(rows) * len(paths) * max(len(which), 1) > _MOST_LINKS:
            return None
        paths = [f"{path}.{piece[1]}.{i}" if path else f"{piece[1]}.{i}" for path in paths for i in rows]
        current = plan.devices.get(piece[1])
    return [(_name(plan, found[1], i), path) for i in which or () for path in paths]


def _slice(text: str | None, count: int) -> range | None:
    """The rows that ``2``, ``0:4``, ``:`` or nothing mean of ``count``; None where they reach beyond."""
    if not text or not text.strip():
        return range(count)
    words = [word.strip() for word in text.split(":")]
    if len(words) > 3 or any(word and not re.fullmatch(r"\d{1,7}", word) for word in words):
        return None
    numbers = [int(word) if word else None for word in words]
    if len(numbers) == 1:
        return range(numbers[0], numbers[0] + 1) if numbers[0] is not None and numbers[0] < count else None
    start, stop = numbers[0] or 0, count if numbers[1] is None else numbers[1]
    step = numbers[2] if len(numbers) == 3 and numbers[2] is not None else 1
    return range(start, stop, step) if step > 0 and start <= stop <= count else None


def _dotted(plan: _Plan, said: str, line: int | None) -> None:
    """``host.0.nic.1.eth.leaf.0.port.3``: instance, component, link, instance, component."""
    found = _DOTTED.match(said[:400])
    if found is None:
        plan.book.misfit("connection of another shape", said, line or 0)
        return
    a, i, part_a, m, link, b, j, part_b, n = found.groups()
    for name, index in ((a, i), (b, j)):
        if name not in plan.counts:
            plan.counts[name] = "", 2  # earlier versions name instances here alone
        if plan.counts[name][1] > 1 or int(index) == 0:
            continue
        plan.book.notes.add("instance above the count that is stated", f"{name}.{index}", line or 0, severity="warning")
    one, other = (_name(plan, a, int(i)), f"{part_a}.{int(m)}"), (_name(plan, b, int(j)), f"{part_b}.{int(n)}")
    _cable(plan, one, other, plan.rates.get(link, Rate()), line or 0)
