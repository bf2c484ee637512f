"""Wiring: what is wrong with it, where, and what it costs; with or without the design it should follow.

:func:`validate` answers with a :class:`Validation`: findings with stable codes (:data:`CODES`), the rules or the design
they were judged by, what they cost. :func:`to_text`, :func:`to_csv` and :func:`to_junit` render it beside its own JSON.
``Validation.comparison`` holds what was found and what should be as one fabric, for a repair or a picture.
"""

from __future__ import annotations

from topo.wiring.accept import Accepted, read_accepted
from topo.wiring.answer import Consequence, Measured, Validation
from topo.wiring.codes import CODES, SEVERITIES, Code
from topo.wiring.comparison import Comparison
from topo.wiring.finding import FAIL_ON, Finding, Operation, Price
from topo.wiring.formats import to_csv, to_junit, to_text
from topo.wiring.validation import validate

__all__ = [
    "CODES",
    "FAIL_ON",
    "SEVERITIES",
    "Accepted",
    "Code",
    "Comparison",
    "Consequence",
    "Finding",
    "Measured",
    "Operation",
    "Price",
    "Validation",
    "read_accepted",
    "to_csv",
    "to_junit",
    "to_text",
    "validate",
]
