"""Slurm's compressed host lists, through ClusterShell: expand and fold, bounded and with the place of what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable

from topo.errors import InputError
from topo.io.notes import quoted

__all__ = ["MOST_HOSTS", "expand_hosts", "fold_hosts", "split_hosts"]

MOST_HOSTS = 4_000_000
"""Most names that one list may stand for."""

_ALLOWED = re.compile(r"(?:[0-9]|[^\W\d]|[.:\-/+\[\],])*\Z")  # letters of any script, digits of ours alone
_RANGES = re.compile(r"\d{1,18}(?:-\d{1,18}(?:/\d{1,6})?)?(?:,\d{1,18}(?:-\d{1,18}(?:/\d{1,6})?)?)*\Z")
_MOST_BRACKETS = 4


def expand_hosts(text: str, *, path: str | None = None, line: int | None = None) -> list[str]:
    """The names that a host list stands for, in natural order, each once; zero padding is kept.

    >>> expand_hosts("n[001,003-004],rack[0-1]_blade[0-1],login")
    ['login', 'n001', 'n003', 'n004', 'rack0_blade0', 'rack0_blade1', 'rack1_blade0', 'rack1_blade1']

    :raises InputError: with the position of what is malformed, or more names than :data:`MOST_HOSTS`.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
    from ClusterShell.RangeSet import RangeSetException

    pieces = split_hosts(text, path=path, line=line)
    if not any("[" in piece for piece in pieces) and len(pieces) == 1:
        return pieces
    try:
        return [str(name) for name in NodeSet(",".join(pieces), resolver=RESOLVER_NOGROUP)]
    except (NodeSetException, RangeSetException, ValueError, AssertionError) as error:  # it asserts ranges below 10^9
        raise InputError(
            f"host list {quoted(text, 60)}: {' '.join(str(error).split())}", path=path, line=line
        ) from None


def split_hosts(text: str, *, path: str | None = None, line: int | None = None) -> list[str]:
    """The parts between the commas outside brackets, each checked.

    >>> split_hosts("a[1,3-4],b")
    ['a[1,3-4]', 'b']

    :raises InputError: as :func:`expand_hosts`.
    """

    def refuse(position: int, said: str) -> InputError:
        return InputError(f"host list {quoted(text, 60)}: {said} at character {position + 1}", path=path, line=line)

    if not _ALLOWED.match(text):
        at = next(i for i, letter in enumerate(text) if not _ALLOWED.match(letter))
        raise refuse(at, f"{text[at]!r} is no part of a host list")
    pieces: list[str] = []
    start, opened, total = 0, -1, 0
    for i, letter in enumerate(f"{text},"):
        if letter == "[":
            if opened >= 0:
                raise refuse(i, "a bracket inside a bracket")
            opened = i
        elif letter == "]":
            if opened < 0:
                raise refuse(i, "a bracket that was not opened")
            opened = -1
        elif letter == "," and (opened < 0 or i == len(text)):
            if opened >= 0:
                raise refuse(opened, "a bracket that is not closed")
            piece = text[start:i]
            if piece:
                total += _count(piece, start, refuse)
                if total > MOST_HOSTS:
                    raise refuse(start, f"more than {MOST_HOSTS:,} hosts")
                pieces.append(piece)
            start = i + 1
    if not pieces:
        raise refuse(0, "no host")
    return pieces


def _count(piece: str, start: int, refuse: object) -> int:
    """How many names a part stands for."""
    assert callable(refuse)
    total = 1
    groups = list(re.finditer(r"\[([^\]]*)\]", piece))
    if len(groups) > _MOST_BRACKETS:
        raise refuse(start, f"more than {_MOST_BRACKETS} brackets in one name")
    for group in groups:
        if not _RANGES.match(group[1]):
            raise refuse(start + group.start(), f"{group[0]} is no list of numbers and ranges")
        count = 0
        for part in group[1].split(","):
            low, dash, high = part.partition("-")
            high, _, step = high.partition("/")
            if dash and int(high) < int(low):
                raise refuse(start + group.start(), f"the range {part} runs backwards")
            if step and not int(step):
                raise refuse(start + group.start(), f"the range {part} has no step")
            count += (int(high) - int(low)) // int(step or 1) + 1 if dash else 1
        total *= count
    return total


def fold_hosts(names: Iterable[str]) -> str:
    """The compressed list of names, as Slurm writes it.

    >>> fold_hosts(["n003", "n001", "n002", "login"])
    'login,n[001-003]'

    :raises InputError: a name that no host list can hold.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
    from ClusterShell.RangeSet import RangeSetException

    listed = list(names)
    for name in listed:
        if not name or not _ALLOWED.match(name) or set(name) & set("[],"):
            raise InputError(f"{quoted(name, 60)} is no host name that a host list can hold")
    try:
        return str(NodeSet.fromlist(listed, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, RangeSetException, ValueError, AssertionError) as error:
        raise InputError(f"these hosts fit no host list: {' '.join(str(error).split())}") from None
