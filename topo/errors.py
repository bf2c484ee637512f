"""Every exception topo raises on purpose.

::

    TopoError
    ├── ParameterError       an argument is outside what the function takes (also a ValueError)
    ├── InputError           a file, a spec or a name from outside cannot be used; knows path and line
    │   └── FormatError      the content is not of the format it was read as
    ├── FabricError          tables that do not fit together: a malformed fabric
    └── DisconnectedError    a bandwidth was asked across parts that no path joins

Each message names the place, the value and the way out; the command line prints it as one line.
"""

from __future__ import annotations

__all__ = [
    "DisconnectedError",
    "FabricError",
    "FormatError",
    "InputError",
    "ParameterError",
    "TopoError",
]


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
        place = ""
        if path is not None:
            place = f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)

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


def _rebuild(kind: type[InputError], reason: str, path: str | None, line: int | None) -> InputError:
    return kind(reason, path=path, line=line)
