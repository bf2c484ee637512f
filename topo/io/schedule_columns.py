"""Which column of a cable schedule holds what: header spellings, sides by word and by place, or the caller's word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from topo.errors import FormatError, ParameterError
from topo.io.notes import quoted

__all__ = [
    "NEEDED", "ROLES", "Header", "header_of", "is_rack_unit", "n_known", "rack_unit", "stated_header", "unknown_header",
    "words_of",
]  # fmt: skip

NEEDED = ("a_node", "a_port", "z_node", "z_port")
_SIDED = ("node", "port", "rack", "unit", "slot", "kind", "part", "mac", "description")
_WHOLE = ("speed", "length", "cable", "length_unit")
ROLES = (*(f"{side}_{role}" for side in "az" for role in _SIDED), *_WHOLE)
"""What a column can be: a_node, a_port, z_node, z_port, and beside these racks, units, MAC addresses, speed, ..."""

_SIDE_A = frozenset({"a", "start", "source", "src", "from", "local", "near", "left"})
_SIDE_Z = frozenset(
    {"z", "b", "dest", "destination", "dst", "to", "target", "remote", "peer", "neighbor", "neighbour", "far", "right"}
)
_SPELLINGS = {
    "node": "node|device|host|hostname|switch|system|server|name|node name|device name|host name|switch name"
    "|system name|equipment|router|node id|dev|server name",
    "port": "port|interface|port name|port number|port no|port id|intf|if|ifname|interface name|hca port|hca|nic"
    "|port label|node interface|node port|device port|device interface|switch port|termination"
    "|port interface|interface id",
    "rack": "rack|rack no|rack name|rack number|rack id|cabinet|node rack|device rack|rack location|location"
    "|device location|node location|cab",
    "unit": "u|u height|ru|u position|unit|rack unit|u location|elevation|rack u|u pos|u no",
    "slot": "slot",
    "kind": "type|node type|device type|role|node role|device role|kind",
    "mac": "mac|mac address|mac addr|port mac|port mac address|interface mac|nic mac|hca mac|hwaddr|hw address",
    "description": "description|descr|desc|port description|interface description|alias|ifalias",
    "part": "model|part|hwsku|hw sku|part number|node model|device model|sku",
}
_PHRASES = {phrase: role for role, phrases in _SPELLINGS.items() for phrase in phrases.split("|")}
_WHOLE_SPELLINGS = {
    "speed": "speed|bandwidth|band width|rate|link speed|data rate|capacity|speed gbps|bandwidth gbps|speed mbps"
    "|link rate|port speed|speed gb s|cable speed",
    "length": "cable length|length|len|length m|cable length m|distance|length ft|cable len|length meters"
    "|cable length ft|length metres|cable length meters",
    "cable": "cable id|cable|cable label|cable name|cable number|cable no|label",
    "length_unit": "length unit|cable length unit",
}
_WHOLE_PHRASES = {phrase: role for role, phrases in _WHOLE_SPELLINGS.items() for phrase in phrases.split("|")}
_UNIT = re.compile(r"(?:r?u\s?)?([0-9]{1,2})([a-z]?)\Z", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_LISTED = 16
_FORMULA = ("=", "+", "-", "@")


@dataclass(frozen=True, slots=True)
class Header:
    """The line of the header, and the column of each role; ``unused`` are the texts of columns that are of no
    use, ``blank`` the columns without a text, ``racks`` all that may hold a rack.
    """

    line: int
    width: int
    column: Mapping[str, int]
    text: Mapping[str, str]
    unused: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    racks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    blank: tuple[int, ...] = ()

    def cell(self, row: Sequence[str], role: str) -> str:
        """The stripped cell of a role in a row; '' where there is none.

        An apostrophe that keeps a name from being a formula, as our own schedules write it, is taken off again: one,
        where several stand there.
        """
        column = self.column.get(role)
        return "" if column is None else self.at(row, column)

    def at(self, row: Sequence[str], column: int) -> str:
        """The stripped cell of a column in a row, as :meth:`cell`."""
        text = row[column].strip() if column < len(row) else ""
        if text[:1] != "'":
            return text
        return text[1:] if text.lstrip("'")[:1] in _FORMULA else text


def words_of(cell: str) -> list[str]:
    """The words of a header cell, small letters, camel case and signs taken apart.

    >>> words_of("#Fields:StartDevice"), words_of("A-Node Name"), words_of("rack #")
    (['start', 'device'], ['a', 'node', 'name'], ['rack', 'no'])
    """
    text = cell.strip().removeprefix("#").strip()
    if text.lower().startswith("fields:"):
        text = text[7:]
    text = _CAMEL.sub(" ", text.replace("#", " no "))
    return re.findall(r"[a-z0-9]+", text.lower())


@lru_cache(4096)
def is_rack_unit(text: str) -> bool:
    """Whether a cell for racks and places holds a unit of a rack: it says so, as ``u32`` and ``RU 32`` do."""
    return _UNIT.match(text) is not None and not text[:1].isdecimal()


@lru_cache(4096)
def rack_unit(text: str) -> str:
    """A unit of a rack in one spelling; what is spelled as none stays as it is.

    >>> rack_unit("u07"), rack_unit("RU 32"), rack_unit("32"), rack_unit("32-33")
    ('U7', 'U32', 'U32', '32-33')
    """
    found = _UNIT.match(text)
    return f"U{int(found[1])}{found[2].upper()}" if found else text


def _role(words: list[str]) -> tuple[str, str]:
    """Side (``a``, ``z``, or '' for none) and role of a header cell, '' where it is none.

    >>> _role(["start", "device"]), _role(["peer", "interface"]), _role(["cable", "length"]), _role(["colour"])
    (('a', 'node'), ('z', 'port'), ('', 'length'), ('', ''))
    """
    whole = _WHOLE_PHRASES.get(" ".join(words))
    if whole:
        return "", whole
    side, rest = "", words
    for word in words:
        if word in _SIDE_A or word in _SIDE_Z:
            side = "a" if word in _SIDE_A else "z"
            rest = [other for other in words if other not in (word, "end", "side")]
            break
    else:
        if words and words[0] == "end":
            side, rest = "z", words[1:]
    if side and not rest:
        return side, "node"
    return side, _PHRASES.get(" ".join(rest), "")


def header_of(cells: Sequence[str], line: int) -> Header | None:
    """The header that a row of cells is, or None where it lacks one of the four needed columns."""
    found, unused, said = _columns(cells)
    if any(role not in found for role in NEEDED):
        return None
    column = {role: rows[0] for role, rows in found.items()}
    text = {role: cells[i].strip() for role, i in column.items()}
    racks = {side: tuple(found.get(f"{side}_rack", ())) for side in "az"}
    blank = tuple(i for i, cell in enumerate(cells) if not cell.strip())
    return Header(line, len(cells), column, text, tuple(unused), tuple(said), racks, blank)


def n_known(cells: Sequence[str]) -> int:
    """How many roles the cells of a row name, as those of a header do.

    >>> n_known(["A-Node Name", "A-Port", "Colour"]), n_known(["leaf-1", "400G"])
    (2, 0)
    """
    return len(_columns(cells)[0])


def _columns(cells: Sequence[str]) -> tuple[dict[str, list[int]], list[str], list[str]]:
    """The columns of each role, the texts of columns of no use, and what is to be said of the choice.

    Words tell the side (``StartDevice``, ``Peer Interface``). A column without such a word belongs to the side named
    last before it; where no column names a side, the second one begins after the first port.
    """
    named = [_role(words_of(cell)) if cell.strip() else ("", "") for cell in cells]
    open_side, sided = "a", any(side == "z" for side, role in named if role)
    found: dict[str, list[int]] = {}
    unused: list[str] = []
    for i, (side, role) in enumerate(named):
        if role in _WHOLE:
            found.setdefault(role, []).append(i)
            continue
        if not role or (role == "description" and not side):  # without a side it is one of the cable
            unused += [cells[i].strip()] if cells[i].strip() else []
            continue
        begins = role in ("node", "rack", "port", "unit") and not (side or sided)
        if begins and open_side == "a" and "a_port" in found:
            open_side = "z"
        open_side = side or open_side
        found.setdefault(f"{open_side}_{role}", []).append(i)
    said: list[str] = []
    for side in "az":
        _settle_names(cells, found, side, said)
    return found, unused, said


def _settle_names(cells: Sequence[str], found: dict[str, list[int]], side: str, said: list[str]) -> None:
    """Two columns for a side's node: one called ``name`` may be the port; else the one next to the port is it."""
    node, port = f"{side}_node", f"{side}_port"
    rows = found.get(node, [])
    if len(rows) < 2:
        return
    names = [i for i in rows if words_of(cells[i])[-1:] == ["name"] and "device" not in words_of(cells[i])]
    if port not in found and len(names) == 1:
        found[port] = names
        found[node] = [i for i in rows if i not in names]
    elif port in found:
        nearest = min(rows, key=lambda i: abs(i - found[port][0]))
        said.append(
            f"of {len(rows)} columns that name a node, column {nearest + 1} ({cells[nearest].strip()!r}), next to "
            f"{cells[found[port][0]].strip()!r}, is taken"
        )
        found[node] = [nearest]


def stated_header(
    rows: Sequence[tuple[int, Sequence[str]]], columns: Mapping[str, str | int], source: str
) -> Header | None:
    """The header by the caller's ``columns``: role to header text or column number (from 1).

    None where no row holds all the texts; with numbers alone, the first row is the header.

    :raises ParameterError: an unknown role, a missing one, or a number below 1.
    """
    for role in columns:
        if role not in ROLES:
            raise ParameterError(f"columns has no {role!r}; known: {', '.join(ROLES)}")
    missing = [role for role in NEEDED if role not in columns]
    if missing:
        raise ParameterError(f"columns must also name {', '.join(missing)}; each as header text or column number")
    for role, place in columns.items():
        if isinstance(place, bool) or (isinstance(place, int) and place < 1) or not isinstance(place, (int, str)):
            raise ParameterError(f"columns[{role!r}] is {place!r}; give a header text or a column number from 1")
    for line, cells in rows:
        text = [_plain(cell) for cell in cells]
        if not all(isinstance(place, int) or _plain(place) in text for place in columns.values()):
            continue
        column = {
            role: place - 1 if isinstance(place, int) else text.index(_plain(place)) for role, place in columns.items()
        }
        said = {role: cells[i].strip() if i < len(cells) else "" for role, i in column.items()}
        racks = {side: (column[f"{side}_rack"],) for side in "az" if f"{side}_rack" in column}
        return Header(line, len(cells), column, said, racks=racks)
    return None


def _plain(cell: str) -> str:
    return " ".join(cell.strip().removeprefix("#").lower().split())


def unknown_header(cells: Sequence[str], line: int, source: str) -> FormatError:
    """The refusal of a header: each column with the role it was understood as, the roles not found, the way out."""
    found = _columns(cells)[0]
    role_of = {i: role for role, rows in found.items() for i in rows}
    seen = ", ".join(
        f"{i + 1} {quoted(cell.strip(), 40)}" + (f" is {role_of[i]}" if i in role_of else "")
        for i, cell in enumerate(cells[:_MOST_LISTED])
        if cell.strip()
    )
    more = f" and {len(cells) - _MOST_LISTED} more" if len(cells) > _MOST_LISTED else ""
    lacking = [role for role in NEEDED if role not in found]
    return FormatError(
        f"the columns of this cable schedule are not known: {seen or 'none'}{more}. Not found: {', '.join(lacking)}. "
        "Name them with columns={'a_node': 'text or number', 'a_port': ..., 'z_node': ..., 'z_port': ...} "
        "(--columns on the command line)",
        path=source or None,
        line=line,
    )
