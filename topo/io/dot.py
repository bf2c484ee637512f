"""Read wiring as DOT: PTM's topology.dot and others with ``"node":"port" -- "node":"port"``, by a parser of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.notes import quoted
from topo.io.port_names import expand_ports, place_of_port, side_of_port

__all__ = ["is_dot", "read_dot"]

_GRAPH = re.compile(r"^\s*(?:strict\s+)?(?:di)?graph\b[^{\n]*\{", re.MULTILINE | re.IGNORECASE)
_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)"
    r"|\"(?P<quoted>(?:[^\"\\]|\\.)*)\""
    r"|(?P<edge>--|->)"
    r"|(?P<sign>[{}\[\]=;,:])"
    r"|(?P<word>[^\s{}\[\]=;,:\"<>-]+(?:-(?![->])[^\s{}\[\]=;,:\"<>-]*)*|-?\d+(?:\.\d+)?)",
    re.DOTALL,
)
_FILES = frozenset({"image", "imagepath", "shapefile", "fontpath", "stylesheet", "config"})
_MOST_PAIRS = 1_000_000
_MOST_DEPTH = 32
_SPEEDS = ("capacity_gbps", "speed", "bandwidth", "rate", "capacity")
_COMPASS = frozenset({"n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"})
_BRACKET = re.compile("[<>]")
_LINE_END = re.compile(r"\\[nlr]|\n")


@dataclass(slots=True)
class _Token:
    text: str
    line: int
    sign: bool = False


@dataclass(slots=True)
class _Ends:
    """One element of an edge statement: a node and its port, or the nodes of a subgraph."""

    nodes: list[tuple[str, str]]
    line: int


def is_dot(head: str) -> bool:
    """Whether a graph of DOT begins in it; its edges may come late, after many nodes with attributes."""
    return _GRAPH.search(head[:65_536]) is not None and any(sign in head for sign in ("--", "->", "];"))


def read_dot(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The planned fabric of a DOT graph: an edge a cable, ports after the colon kept as they are.

    Where an edge names no port so, ``tailport`` and ``headport`` do, then a ``taillabel`` or ``headlabel`` spelled as
    ports are; one of several ports (``E1/1,E1/2``) stands for as many cables.
    The attribute ``function`` (``type``, ``role``) of a node tells what it is, else its name, else its ports. Invisible
    edges (``style=invis``) place nodes and join nothing. Paths and pictures in attributes are never followed.

    >>> fabric = read_dot('graph G { "leaf01":"swp51" -- "spine01":"swp1"; "server01":"eth1" -- "leaf01":"swp1" }')
    >>> fabric.nodes.name.tolist(), fabric.ports.label.values().tolist()
    (['leaf01', 'spine01', 'server01'], ['swp51', 'swp1', 'eth1', 'swp1'])

    :raises FormatError: not DOT, with the line, or no edge in it.
    """
    book = CableBook(source, "read_dot", hosts=hosts)
    _Parser(_tokens(text, source), book).graph()
    if not book.near:
        raise FormatError("no edge between two nodes in it", path=source or None)
    book.refuse_misread("DOT")
    return book.to_fabric()


def _tokens(text: str, source: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, line, end = 0, 1, len(text)
    while at < end:
        if text[at] == "<":  # an HTML label: skipped to its closing bracket
            close = _html_end(text, at)
            line += text.count("\n", at, close)
            tokens.append(_Token("", line))
            at = close
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            shown = quoted(text[at : at + 20].split("\n")[0], 30)
            raise FormatError(f"{shown} is no DOT; is a quote unpaired?", path=source or None, line=line)
        if found["quoted"] is not None:
            tokens.append(_Token(found["quoted"].replace('\\"', '"').replace("\\\\", "\\"), line))
        elif found["space"] is None:
            tokens.append(_Token(found[0], line, sign=found["word"] is None))
        line += text.count("\n", at, found.end())
        at = found.end()
    return tokens


def _html_end(text: str, at: int) -> int:
    depth = 0
    for found in _BRACKET.finditer(text, at):
        depth += 1 if found[0] == "<" else -1
        if not depth:
            return found.end()
    return len(text)


@dataclass(slots=True)
class _Parser:
    """Recursive descent over the tokens, straight into the book."""

    tokens: list[_Token]
    book: CableBook
    at: int = 0
    depth: int = 0

    def _peek(self, ahead: int = 0) -> _Token:
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else _Token("", self.tokens[-1].line if self.tokens else 1, True)

    def _is(self, sign: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token.sign and token.text == sign

    def _wrong(self, said: str) -> FormatError:
        token = self._peek()
        found = quoted(token.text, 30) if token.text else "the end"
        return FormatError(f"{said}, not {found}; is this DOT?", path=self.book.source or None, line=token.line)

    def graph(self) -> None:
        """``[strict] graph name { statements }``"""
        while self.at < len(self.tokens) and not self._is("{"):
            self.at += 1
            if self.at > 8:
                raise self._wrong("graph { is wanted first")
        self._block()

    def _block(self) -> list[tuple[str, str]]:
        if not self._is("{"):
            raise self._wrong("{ is wanted")
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise self._wrong(f"at most {_MOST_DEPTH} subgraphs in each other are read")
        self.at += 1
        nodes: list[tuple[str, str]] = []
        while not self._is("}"):
            if self.at >= len(self.tokens):
                raise self._wrong("} is wanted")
            if self._is(";") or self._is(","):
                self.at += 1
                continue
            nodes += self._statement()
        self.at += 1
        self.depth -= 1
        return nodes

    def _statement(self) -> list[tuple[str, str]]:
        first = self._peek()
        if not first.sign and self._is("=", 1):
            self.at += 3
            return []
        if not first.sign and first.text.lower() in ("graph", "node", "edge") and self._is("[", 1):
            self.at += 1
            self._attributes()
            return []
        chain = [self._element()]
        while self._is("--") or self._is("->"):
            self.at += 1
            chain.append(self._element())
        said = self._attributes()
        if len(chain) == 1 and len(chain[0].nodes) == 1 and said:
            self._node(chain[0], said)
        for a, b in pairwise(chain):
            self._edge(a, b, said)
        return [node for ends in chain for node in ends.nodes]

    def _element(self) -> _Ends:
        token = self._peek()
        if self._is("{") or (not token.sign and token.text.lower() == "subgraph"):
            while not self._is("{"):
                self.at += 1
                if self.at >= len(self.tokens):
                    raise self._wrong("{ is wanted")
            return _Ends(self._block(), token.line)
        if token.sign or self.at >= len(self.tokens):
            raise self._wrong("a node is wanted")
        self.at += 1
        port = ""
        while self._is(":"):
            if self._peek(1).sign:
                raise self._wrong("a port is wanted after the colon")
            port = f"{port}:{self._peek(1).text}" if port else self._peek(1).text
            self.at += 2
        return _Ends([(token.text, port)], token.line)

    def _attributes(self) -> dict[str, str]:
        said: dict[str, str] = {}
        while self._is("["):
            self.at += 1
            while not self._is("]"):
                if self.at >= len(self.tokens):
                    raise self._wrong("] is wanted")
                if not self._peek().sign and self._is("=", 1) and not self._peek(2).sign:
                    said[self._peek().text] = self._peek(2).text
                    self.at += 3
                else:
                    self.at += 1
            self.at += 1
        for key in _FILES & said.keys():
            self.book.notes.add("attribute that names a file, not followed", f"{key}={quoted(said[key], 40)}")
        return said

    def _node(self, ends: _Ends, said: dict[str, str]) -> None:
        role = next((said[key] for key in ("function", "kind", "role", "type") if said.get(key)), "")
        name = ends.nodes[0][0]
        if name and (role or "is_endpoint" in said):
            self.book.attributes(self.book.node(name, ends.line, kind=role), said, ends.line)

    def _edge(self, a: _Ends, b: _Ends, said: dict[str, str]) -> None:
        if said.get("style", "") == "invis":
            self.book.notes.add("invisible edge, it joins nothing", f"{a.nodes[:1]} - {b.nodes[:1]}", a.line)
            return
        rate = Rate.of(next((said[key] for key in _SPEEDS if said.get(key)), None))
        states = self.book.edge_attributes(said, a.line)
        n = len(a.nodes) * len(b.nodes)
        if n > _MOST_PAIRS:
            said_n = f"an edge between groups of {len(a.nodes):,} and {len(b.nodes):,} nodes"
            raise FormatError(
                f"{said_n} stands for {n:,}; at most {_MOST_PAIRS:,}", path=self.book.source or None, line=a.line
            )
        if n > 1:
            states["cable"] = ""  # an edge between groups is no breakout
        for node_a, port_a in a.nodes:
            for node_b, port_b in b.nodes:
                if not node_a or not node_b:
                    self.book.misfit("edge of a node without a name", f"{node_a} - {node_b}", a.line)
                    continue
                labels = self._labels("tail", port_a, said, a.line), self._labels("head", port_b, said, a.line)
                legs = max(map(len, labels))
                if any(1 < len(each) < legs or (len(each) == 1 < legs and each[0]) for each in labels):
                    where = f"{node_a} {', '.join(labels[0])} - {node_b} {', '.join(labels[1])}"
                    self.book.misfit("edge whose ends name different numbers of ports", where, a.line)
                    continue
                if legs > 1:
                    drawn = f"{node_a} - {node_b}: {legs}"
                    self.book.notes.add("edge that stands for several cables, its rate is that of each", drawn, a.line)
                for leg in range(legs):
                    ends = [
                        self._port(node, each[leg] if leg < len(each) else "", a.line)
                        for node, each in zip((node_a, node_b), labels, strict=True)
                    ]
                    for end, side in zip(ends, ("left", "right"), strict=True):
                        if n == legs == 1 and said.get(f"{side}_mac"):
                            self.book.also_called(end, said[f"{side}_mac"])
                    self.book.cable(*ends, line=a.line, rate=rate, **states)

    def _labels(self, side: str, port: str, said: dict[str, str], line: int) -> list[str]:
        """The ports at one end of an edge, [""] where none is named; a label that is none is noted."""
        stated = said.get(f"{side}port", "")
        port = port or ("" if stated in _COMPASS else stated)
        label = said.get(f"{side}label", "").strip()
        if not label or label == port:
            return [port]
        ports = expand_ports(_LINE_END.sub(",", label))
        if port or not all(side_of_port(each) or place_of_port(each).cage >= 0 for each in ports):
            self.book.notes.add("label at the end of an edge, not taken for a port", quoted(label, 40), line)
            return [port]
        return ports

    def _port(self, node: str, label: str, line: int) -> int:
        return self.book.port(node, label, line) if label else self.book.free_port(self.book.node(node, line))
