"""JSON from outside as plain values: bounded, no key twice in silence, one-line errors with the line."""

from __future__ import annotations

import json
import math
from typing import Any

from topo.errors import InputError

__all__ = ["looks_like_json", "parse_json"]


def looks_like_json(head: str) -> bool:
    """Whether a text starts as an object or a list does.

    >>> looks_like_json(' {"a": 1}'), looks_like_json("[1](guid)")
    (True, False)
    """
    start = head.lstrip("\ufeff \t\r\n")[:400]
    if start[:1] == "{":
        return start[1:].lstrip()[:1] in ('"', "}", "")
    return start[:1] == "[" and start[1:].lstrip()[:1] in ("{", "[", '"', "]", "")


def parse_json(text: str, source: str) -> Any:
    """The value of a JSON text.

    :raises InputError: not JSON, with the line; or nested too deep.
    """
    try:
        return json.loads(text, parse_constant=_constant, parse_float=_number, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=source or None, line=error.lineno) from None
    except RecursionError:
        raise InputError("not read: nested too deep", path=source or None) from None


def _constant(name: str) -> None:
    return None


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _integer(text: str) -> int | str:
    """A whole number; one of more than 18 digits stays text."""
    return int(text) if len(text) <= 19 else text
