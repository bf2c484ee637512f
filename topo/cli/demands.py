"""Demands by words of the command line: a pattern of topo.traffic, or a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from topo.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from topo.fabric import Fabric
    from topo.traffic.demand import Demand

__all__ = ["DEMAND_WORDS", "demand_by_words"]

DEMAND_WORDS = (
    "all-to-all, permutation, shift[:BY], ring, tree, double-tree, pairing, longest-matching, incast:ENDPOINT, "
    "or a CSV file of source, sink, gbps"
)


def demand_by_words(fabric: Fabric, words: str, endpoints: Sequence[str] | None = None, *, seed: int = 0) -> Demand:
    """The demand that ``words`` name, among the endpoints that match; a file names its own.

    :raises ParameterError: unknown words, or endpoints together with a file.
    """
    from topo import traffic

    name, colon, after = words.partition(":")
    who = list(endpoints) if endpoints else None
    makers: dict[str, Callable[[], Demand]] = {
        "all-to-all": lambda: traffic.all_to_all(fabric, who),
        "permutation": lambda: traffic.permutation(fabric, who, seed=seed),
        "shift": lambda: traffic.shift(fabric, who, by=_whole(words, after) if colon else 1),
        "ring": lambda: traffic.ring(fabric, who),
        "tree": lambda: traffic.tree(fabric, who),
        "double-tree": lambda: traffic.double_tree(fabric, who),
        "pairing": lambda: traffic.random_pairing(fabric, who, seed=seed),
        "longest-matching": lambda: traffic.longest_matching(fabric, who),
    }
    if name == "incast" and after:
        return traffic.incast(fabric, after, who)
    if name in makers and (not colon or name == "shift"):
        return makers[name]()
    if words != "-" and not Path(words).exists() and "." not in words and "/" not in words:
        raise ParameterError(f"unknown demand {words!r}; known: {DEMAND_WORDS}")
    if who is not None:
        raise ParameterError(f"{words} names its own endpoints; leave --endpoints out")
    return traffic.from_file(fabric, words)


def _whole(words: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"{words!r}: {text!r} is not a whole number; write shift:8") from None
