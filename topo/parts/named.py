"""A standard part by its name, whatever it is a part of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from topo.document import nearest
from topo.errors import ParameterError

__all__ = ["named"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Part = TypeVar("_Part", bound=_Named)


def named(parts: Iterable[_Part], name: str, unknown: str) -> _Part:
    """The part of that name; ``unknown`` says what the name is not.

    >>> from topo.parts.switches import SWITCHES
    >>> named(SWITCHES, "qm970", "'qm970' is not a known switch")
    Traceback (most recent call last):
    topo.errors.ParameterError: 'qm970' is not a known switch; did you mean 'qm9700' or 'qm8700'?

    :raises ParameterError: there is none; the nearest names are told.
    """
    listed = list(parts)
    for part in listed:
        if part.name == name:
            return part
    raise ParameterError(f"{unknown}{nearest(name, (part.name for part in listed))}")
