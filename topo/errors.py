"""Every exception topo raises on purpose.

::

    TopoError
    ├── ParameterError       an argument is outside what the function takes (also a ValueError)
    ├── InputError           a file, a spec or a name from outside cannot be used; knows path and line
    │   └── FormatError      the content is not of the format it was read as
    ├── FabricError          tables that do not fit together: a malformed fabric
    ├── DisconnectedError    a bandwidth was asked across parts that no path joins
    └── CertificateError     a witness does not prove what its result claims

Each message names the place, the value and the way out; the command line prints it as one line.
"""

from __future__ import annotations

__all__ = [
    "CertificateError",
    "DisconnectedError",
    "FabricError",
    "FormatError",
    "InputError",
    "ParameterError",
    "TopoError",
    "claim",
    "place_in",
    "sheet_of",
]

_SHEET = ", sheet "


class TopoError(Exception):
    """Root of every exception raised on purpose by topo."""


class ParameterError(TopoError, ValueError):
    """An argument is outside what the function takes."""


class InputError(TopoError):
    """A file, a spec or a name from outside cannot be used.

    ``path`` and ``line`` (1-based) say where, when the place is known; they lead the message as
    ``path:line:`` so that editors can jump there.
    """

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.reason = message
        super().__init__(message if path is None else f"{place_in(path, line)}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.reason, self.path, self.line))


class FormatError(InputError):
    """The content is not of the format it was read as."""


class FabricError(TopoError):
    """The tables of a fabric do not fit together."""


class DisconnectedError(TopoError):
    """A bandwidth was asked across parts of a fabric that no path joins.

    ``component_sizes`` holds the number of endpoints in each part, largest first.
    """

    def __init__(self, message: str, component_sizes: tuple[int, ...] = ()) -> None:
        self.component_sizes = component_sizes
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.component_sizes))


class CertificateError(TopoError):
    """A witness does not prove what its result claims."""


def sheet_of(source: str, name: str) -> str:
    """The source that the lines of one sheet of a workbook stand in."""
    return f"{source}{_SHEET}{name}"


def place_in(source: str, line: int | None = None, *, beside: str | None = None) -> str:
    """A line of a source as people and editors take it; without a line, the source as a whole.

    ``beside`` is a source that is named with it: the file is left out where it is the same.

    >>> place_in("plan.csv", 7), place_in(sheet_of("plan.xlsx", "HMN"), 7), place_in("plan.csv")
    ('plan.csv:7', 'plan.xlsx, sheet HMN line 7', 'plan.csv')
    >>> place_in("plan.csv", 7, beside="plan.csv"), place_in("a.xlsx, sheet B", 7, beside="a.xlsx, sheet C")
    ('line 7', 'sheet B line 7')
    """
    if line is None:
        return source
    file, sign, sheet = source.rpartition(_SHEET)
    if sign and beside is not None and beside.rpartition(_SHEET)[0] == file:
        return f"sheet {sheet} line {line}"
    if source == beside:
        return f"line {line}"
    return f"{source} line {line}" if sign else f"{source}:{line}"


def claim(holds: bool, reason: str) -> None:
    """Let a certificate pass whose claim ``holds``.

    :raises CertificateError: it does not, for that reason.
    """
    if not holds:
        raise CertificateError(f"the certificate does not hold: {reason}")


def _rebuild(kind: type[InputError], reason: str, path: str | None, line: int | None) -> InputError:
    return kind(reason, path=path, line=line)
