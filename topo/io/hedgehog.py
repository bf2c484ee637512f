"""Read Hedgehog's wiring: a stream of YAML objects, Switches, Servers and the Connections between their ports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from topo.document import Document, Place
from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.notes import quoted
from topo.io.yaml_text import yaml_documents
from topo.units import parse_gbps

__all__ = ["is_hedgehog", "read_hedgehog"]

_SIGN = re.compile(r"^apiVersion[ \t]*:[ \t]*wiring\.githedgehog\.com/", re.MULTILINE)
_BREAKOUT = re.compile(r"(?P<legs>\d{1,2})x(?P<rate>\d+G)\Z", re.IGNORECASE)
_WITHOUT_CABLES = ("VLANNamespace", "IPv4Namespace", "SwitchGroup", "VPC", "VPCAttachment", "VPCPeering", "External",
                   "ExternalAttachment", "ExternalPeering", "SwitchProfile", "Rack")  # fmt: skip


class _Breakout(NamedTuple):
    """Into how many legs a port splits, 0 where only a rate is said, and Gb/s of each."""

    n_legs: int
    gbps: float


def is_hedgehog(head: str) -> bool:
    """Whether an object of Hedgehog's wiring API stands in it."""
    return _SIGN.search(head) is not None


def read_hedgehog(text: str, source: str = "") -> Fabric:
    """The planned fabric of a Hedgehog wiring diagram: every pair of ports that a Connection joins is a cable.

    A port is ``node/port`` (``leaf-01/E1/1``). Breakouts of a switch (``portBreakouts: {E1/1: 4x25G}``) give the rate
    of its legs and how many there are: a leg beyond them is noted as an alert, and the one leg of ``1x100G`` is the
    port itself. Other rates are open. Connections with one port lead out of the fabric and leave the port free.

    >>> fabric = read_hedgehog('''
    ... apiVersion: wiring.githedgehog.com/v1beta1
    ... kind: Connection
    ... metadata: {name: c1}
    ... spec: {unbundled: {link: {server: {port: server-1/enp2s1}, switch: {port: leaf-01/E1/1}}}}
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.ports.label.values().tolist()
    (['server-1', 'leaf-01'], ['enp2s1', 'E1/1'])

    :raises FormatError: no Connection in it.
    :raises InputError: not YAML.
    """
    book = CableBook(source, "read_hedgehog")
    legs: dict[tuple[str, str], _Breakout] = {}
    connections: list[tuple[Document, int, str, Any]] = []
    for document, before in yaml_documents(text, source):
        value = document.value if isinstance(document.value, dict) else {}
        meta, spec = value.get("metadata"), value.get("spec")
        name = str(meta.get("name") or "") if isinstance(meta, dict) else ""
        kind, line = value.get("kind"), document.line(("metadata", "name")) + before
        spec = spec if isinstance(spec, dict) else {}
        if kind == "Switch" and name:
            book.node(name, line, kind="switch", part=str(spec.get("profile") or ""))
            _breakouts(book, name, spec.get("portBreakouts"), legs, line)
        elif kind == "Server" and name:
            book.node(name, line, kind="host")
        elif kind == "Connection":
            connections.append((document, before, name, spec))
        elif kind not in _WITHOUT_CABLES:
            book.misfit("object not understood", str(kind), line)
    for document, before, name, spec in connections:
        pairs = list(_links(spec, ("spec",)))
        if not pairs:
            book.misfit("connection without ports", name, document.line(()) + before)
        for place, sides in pairs:
            _join(book, name, sides, legs, document.line(place) + before)
    book.refuse_misread("Hedgehog's wiring")
    return book.to_fabric()


def _breakouts(book: CableBook, name: str, value: Any, legs: dict[tuple[str, str], _Breakout], line: int) -> None:
    for port, said in (value if isinstance(value, dict) else {}).items():
        found = _BREAKOUT.match(str(said))
        try:
            count, rate = (int(found["legs"]), found["rate"]) if found else (0, str(said))
            legs[name, str(port)] = _Breakout(count, parse_gbps(rate))
        except ParameterError:
            book.notes.add(
                "breakout not understood", f"{name}/{port}: {quoted(str(said), 30)}", line, severity="warning"
            )


def _links(value: Any, place: Place) -> Iterator[tuple[Place, list[tuple[str, str]]]]:
    """Every place that holds one or two sides with a port, whatever the connection is called."""
    if isinstance(value, list):
        for i, each in enumerate(value):
            yield from _links(each, (*place, i))
    if not isinstance(value, dict):
        return
    sides = [
        (str(side), str(each["port"])) for side, each in value.items() if isinstance(each, dict) and "port" in each
    ]
    if sides:
        yield place, sides
        return
    for key, each in value.items():
        yield from _links(each, (*place, key))


def _join(
    book: CableBook, name: str, sides: list[tuple[str, str]], legs: dict[tuple[str, str], _Breakout], line: int
) -> None:
    ports = []
    rates = []
    for side, text in sides:
        node, slash, label = text.partition("/")
        if not node or not slash or not label:
            book.misfit("port that is no node/port", text, line)
            return
        role = {"server": "host", "gateway": "switch"}.get(
            side, "switch" if side.startswith(("switch", "leaf", "spine")) else ""
        )
        row = book.node(node, line, kind=role if node not in book.index else "")
        whole, _, leg = label.rpartition("/")
        split = legs.get((node, whole))
        if split and split.n_legs and leg.isdecimal() and (int(leg) > split.n_legs or int(leg) == 0):
            said = f"{node} port {label}, split into {split.n_legs} of {split.gbps:g} Gb/s"
            book.notes.add("leg beyond those its port splits into; use one that exists", said, line, severity="alert")
        elif split and split.n_legs == 1 and leg == "1":
            label = whole
        ports.append(book.port(row, label, line))
        split = split or legs.get((node, label))
        rates += [split.gbps] if split else []
    if len(ports) != 2:
        book.understood += 1
        kept = (
            "port that leads out of the fabric, kept free" if len(ports) == 1 else "connection of more than two ports"
        )
        book.notes.add(kept, f"{name}: {', '.join(text for _, text in sides[:4])}", line)
        return
    book.cable(*ports, line=line, rate=Rate.of(min(rates)) if rates else None)
