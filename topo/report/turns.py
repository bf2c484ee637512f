"""The questions of a report one after another, with word of how far they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from topo.fabric import Fabric
from topo.progress import part
from topo.report.wiring import is_from_file

__all__ = ["in_turn"]

_COST_S = {"collisions": 3.0, "failures": 1.0, "goodput": 0.5, "step": 0.4, "bill": 0.2}
_COST_OF_READ_S = {**_COST_S, "bisection": 5.0, "wiring": 0.9, "bill": 0.0}
_OTHER_S = 0.1
"""About what answers take on a fabric of some thousand endpoints: a fabric that was read is seldom regular."""


def in_turn(fabric: Fabric, questions: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """The answer to each question by its key."""
    costs = _COST_OF_READ_S if is_from_file(fabric) else _COST_S
    left = sum(costs.get(key, _OTHER_S) for key in questions)
    found = {}
    for key, question in questions.items():
        cost = costs.get(key, _OTHER_S)
        with part(key, min(1.0, cost / left) if left > 0 else 1.0):
            found[key] = question()
        left -= cost
    return found
