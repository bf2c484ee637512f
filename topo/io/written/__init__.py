"""Fabrics to foreign files: one format a file, over what all of them need: unique names, and what is left unsaid."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import ParameterError
from topo.io.descriptions import MAX_NAME, clean
from topo.output import csv_cell, plain
from topo.table import Labels, Table
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = [
    "Written",
    "as_written",
    "expect_rates",
    "host_titles",
    "left_unsaid",
    "names_that_fit",
    "port_names",
    "several_ports",
    "sheet_cell",
    "unique_names",
]

_OTHERWISE = "on one line, blanks drawn together, signs that act spelled out, cut at 256 characters"
_MOST_MARK = 64
_SEVERAL = re.compile(r"[,;]")
_ROWS = {"node", "port_a", "port_b"}


@dataclass(frozen=True, slots=True)
class Written:
    """A fabric as a file of another tool: its content, and in words what of the fabric that format cannot say.

    ``n_cables`` is how many cables stand in the file, each link one: 0 where a format knows none, None for all links.

    >>> import topo
    >>> from topo.io.written.dot import write_dot
    >>> isinstance(write_dot(topo.fat_tree(4)).content, str)
    True
    """

    content: str | bytes
    lost: tuple[str, ...] = ()
    n_cables: int | None = None

    def data(self) -> bytes:
        """The bytes of the file; text is UTF-8."""
        if isinstance(self.content, bytes):
            return self.content
        return self.content.encode("utf-8", errors="backslashreplace")


def as_written(text: str) -> str:
    """A name as it stands in the files of others: one line, blanks drawn together, at most 256 characters.

    That is what readers, our own among them, make of it anyway; two names must differ in it to stay two.

    >>> as_written("  leaf \t 1"), as_written("leaf" + chr(7))
    ('leaf 1', 'leaf<U+0007>')
    """
    return clean(plain(text))


def unique_names(fabric: Fabric) -> tuple[list[str], list[str]]:
    """A name for every node that no other bears, and what was changed for that.

    Nodes that share a name get their identity in brackets, else their row: ``switch (0xe41d)``.
    """
    said = fabric.nodes.name.tolist()
    names = [as_written(name) for name in said]
    odd = sum(name != text for name, text in zip(names, said, strict=True))
    lost = [f"{plural(odd, 'name')} written otherwise: {_OTHERWISE}"] if odd else []
    times = Counter(names)
    twice = {name for name, count in times.items() if count > 1 or not name}
    if not twice:
        return names, lost
    uids = fabric.nodes.uid.tolist()
    taken, changed = set(times), 0
    for row, name in enumerate(names):
        if name not in twice:
            continue
        given = _marked(name or "node", as_written(uids[row])[:_MOST_MARK] or str(row))
        while given in taken:
            given = _marked(given, str(row))
        taken.add(given)
        names[row], changed = given, changed + 1
    return names, [
        *lost,
        f"{plural(changed, 'node')} without a name of their own; written with the identity behind it",
    ]


def host_titles(fabric: Fabric, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The name of every node's host as it is written, '' without one, and what was changed for that.

    Hosts that differ stay apart, from each other and from nodes of no host, whose written ``names`` are given.
    """
    hosts = fabric.nodes.host
    taken = {name for name, code in zip(names, hosts.codes.tolist(), strict=True) if code < 0}
    title: dict[int, str] = {-1: ""}
    odd = 0
    for code in dict.fromkeys(hosts.codes.tolist()):
        if code < 0:
            continue
        said = str(hosts.labels[code])
        given = as_written(said) or "host"
        while given in taken:
            given = _marked(given, "host")
        taken.add(given)
        title[code] = given
        odd += given != said
    lost = [f"names of hosts written otherwise: {odd:,} here, {_OTHERWISE}, or another node bears them"] if odd else []
    return [title[code] for code in hosts.codes.tolist()], lost


def sheet_cell(text: str) -> str:
    """A written name as a cell of a sheet, so that our own reader of schedules takes it back as it was.

    An apostrophe goes before what could start a formula, and before an apostrophe that would read as such a one.

    >>> sheet_cell("=1"), sheet_cell("'=1"), sheet_cell("leaf-1")
    ("'=1", "''=1", 'leaf-1')
    """
    cell = csv_cell(text)
    return f"'{cell}" if text[:1] == "'" and csv_cell(text[1:]) != text[1:] else cell


def port_names(fabric: Fabric, *, commas: bool = False) -> tuple[list[str], list[str]]:
    """The names of all ports as they are written, none empty, and what was changed for that.

    In a table a comma parts the ports of a breakout: without ``commas`` a point stands for it.
    """
    said = fabric.ports.label.values().tolist()
    names = [as_written(text) for text in said]
    if not commas:
        names = [_SEVERAL.sub(".", name) for name in names]
    names = [name or f"unnamed-{row}" for row, name in enumerate(names)]
    odd = sum(name != text for name, text in zip(names, said, strict=True))
    how = "on one line, none empty" if commas else "on one line, none empty, without commas"
    return names, [f"names of ports written otherwise: {odd:,} here, {how}"] if odd else []


def names_that_fit(
    names: Sequence[str], unfit: re.Pattern[str], *, otherwise: str = "node", most: int = MAX_NAME,
    others: Collection[str] = (),
) -> list[str]:  # fmt: skip
    """Names with ``-`` for whatever ``unfit`` matches, all different where the names are, none of them of ``others``.

    ``otherwise`` stands where nothing of a name is left; a number that tells two apart keeps within ``most`` letters.

    >>> names_that_fit(["a b", "a-b", "a:b"], re.compile("[ :]+"))
    ['a-b-2', 'a-b', 'a-b-3']
    """
    fit = {name for name in names if name and not unfit.search(name)}
    taken, found = {*fit, *others}, []
    for name in names:
        new = name
        if name not in fit:
            stem, number = unfit.sub("-", name).strip("-") or otherwise, 1
            new = stem
            while new in taken:
                number += 1
                new = f"{stem[: most - len(str(number)) - 1]}-{number}"
            taken.add(new)
        found.append(new)
    return found


def _marked(name: str, mark: str) -> str:
    return f"{name[: MAX_NAME - len(mark) - 3]} ({mark})"


def left_unsaid(fabric: Fabric, *, nodes: Collection[str] = (), ports: Collection[str] = (),
                links: Collection[str] = (), groups: bool = False) -> list[str]:  # fmt: skip
    """The columns that hold something and are not among those written, in words."""
    lost = []
    for title, table, kept in (("nodes", fabric.nodes, nodes), ("ports", fabric.ports, ports),
                               ("links", fabric.links, links)):  # fmt: skip
        lacking = [name for name in table.columns() if name not in kept and name not in _ROWS and _says(table, name)]
        if lacking:
            lost.append(f"of the {title}: {', '.join(lacking)}")
    if len(fabric.groups) and not groups:
        lost.append(f"{plural(len(set(fabric.groups.group.values().tolist())), 'shared-risk group')}")
    cabled = np.zeros(len(fabric.ports), bool)
    cabled[fabric.links.port_a] = cabled[fabric.links.port_b] = True
    if not cabled.all():
        lost.append(plural(int((~cabled).sum()), "free port"))
    return lost


def several_ports(fabric: Fabric) -> list[str]:
    """That readers take each port of a host for an adapter, where an endpoint of several ports is no host of adapters.

    >>> import topo
    >>> several_ports(topo.torus((3, 4)))
    ['that endpoints of several ports are one each: 12 here; each port reads as an adapter of its own']
    """
    cabled = np.concatenate([fabric.links.port_a, fabric.links.port_b])
    ports = np.bincount(fabric.ports.node[cabled], minlength=len(fabric.nodes))
    n = int((fabric.nodes.is_endpoint & (ports > 1)).sum())
    said = "that endpoints of several ports are one each: {:,} here; each port reads as an adapter of its own"
    return [said.format(n)] if n else []


def _says(table: Table, name: str) -> bool:
    """Whether a column differs from its default on some row."""
    value, default = getattr(table, name), table.columns()[name].default
    if isinstance(value, Labels):
        return bool((value.values() != (default or "")).any())
    if default is None:
        return True
    if isinstance(default, float) and np.isnan(default):
        return not bool(np.isnan(value).all())
    return bool((value != default).any())


def expect_rates(fabric: Fabric, what: str) -> None:
    """Refuse links of unknown rate where a format must state one.

    :raises ParameterError: naming the first of them.
    """
    from topo.fabric import LinkSet

    unknown = np.flatnonzero(np.isnan(fabric.links.capacity_gbps))
    if unknown.size:
        link = LinkSet.of(fabric, unknown[:1])[0]
        raise ParameterError(
            f"{what} states a rate for every link; {unknown.size:,} have none here, the first {link}; "
            "state one with assume_gbps= (--assume-gbps)"
        )
