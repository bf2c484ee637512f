"""Failure rates by element, from a file or as published, and what they make of each element's availability."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.elements import ELEMENT_KINDS, Elements, elements, find_elements
from topo.document import Document, nearest, read_document
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric
from topo.parts.failure_rates import HOURS_PER_DAY, HOURS_PER_YEAR, PUBLISHED_CAUSES, Cause

__all__ = ["CAUSE_KEYS", "RATE_KEYS", "FailureRates", "RatedElements", "read_failure_rates"]

RATE_KEYS = ("fit", "afr", "mtbf_h", "per_day")
"""How often a cause occurs, in one of these."""
CAUSE_KEYS = (*RATE_KEYS, "mttr_h", "source")
"""All that a cause may state."""


class RatedElements(NamedTuple):
    """Elements of one kind with failures an hour and share of time down, one entry an element."""

    elements: Elements
    failures_per_hour: NDArray[np.float64]
    unavailability: NDArray[np.float64]


@dataclass(frozen=True)
class FailureRates:
    """Causes of failure by what they apply to: a kind of element (``switch``) or some of one (``switch:spine-*``).

    A later, narrower entry replaces the kind's own for the elements it matches. Independent failures are assumed:
    what fails together belongs into one element (a cage, a host, a power group).
    """

    causes: dict[str, tuple[Cause, ...]]
    origin: str = "published"

    @classmethod
    def published(cls, *kinds: str) -> FailureRates:
        """Published rates of links and switches, or of the given kinds (also ``host`` and ``nic``)."""
        return cls({kind: PUBLISHED_CAUSES[kind] for kind in (kinds or ("link", "switch"))})

    @classmethod
    def of(cls, rates: FailureRates | str | Path | dict[str, Any] | None) -> FailureRates:
        """Rates as they are, from a file, from a mapping as in a file, or the published ones for ``None``."""
        if rates is None:
            return cls.published()
        if isinstance(rates, FailureRates):
            return rates
        return _parsed(Document("rates", rates, {})) if isinstance(rates, dict) else read_failure_rates(rates)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Where each rate is from."""
        return tuple(
            f"{which}: {cause.source or self.origin}" for which, causes in self.causes.items() for cause in causes
        )

    def on(self, fabric: Fabric) -> list[RatedElements]:
        """What the rates say about a fabric, kind by kind; links are those of the scale-out network.

        :raises ParameterError: an entry that matches nothing in this fabric.
        """
        by_kind: dict[str, list[tuple[str, tuple[Cause, ...]]]] = {}
        for which, causes in self.causes.items():
            by_kind.setdefault(which.partition(":")[0], []).append((which, causes))
        return [self._rated(fabric, kind, entries) for kind, entries in by_kind.items()]

    def _rated(self, fabric: Fabric, kind: str, entries: list[tuple[str, tuple[Cause, ...]]]) -> RatedElements:
        every = elements(fabric, kind)
        if kind in ("link", "cable"):
            # A rate for links means cables between boxes, not traces and NVLinks inside them.
            outside = fabric.links.kind.is_any("scale_out", "access")[every.link[every.link_start[:-1]]]
            every = every.take(np.flatnonzero(outside))
        rate, down = np.zeros(len(every)), np.zeros(len(every))
        for which, causes in sorted(entries, key=lambda entry: ":" in entry[0]):
            mine = np.arange(len(every))
            if ":" in which:
                mine = np.flatnonzero(np.isin(every.key, find_elements(fabric, which).key))
            rate[mine] = sum(cause.failures_per_hour for cause in causes)
            up = np.prod([1 - cause.unavailability for cause in causes])
            down[mine] = 1 - up
        return RatedElements(every, rate, down)


def read_failure_rates(path: str | Path) -> FailureRates:
    """Failure rates from a YAML file.

    Each key is a kind of element or ``kind:pattern``, its value one cause or a list of them: one of ``fit``
    (failures in 10^9 h), ``afr`` (share that fails in a year, 1 - exp(-8766 h / MTBF)), ``mtbf_h`` or ``per_day``
    (flaps), with ``mttr_h``, the mean hours down, and a ``source``.

    >>> rates = FailureRates.of({"switch": {"mtbf_h": 99_990, "mttr_h": 10}})
    >>> round(rates.causes["switch"][0].unavailability, 6)
    0.0001

    :raises InputError: at file:line, an unknown kind or key, no rate or two, a rate or time not above 0.
    """
    return _parsed(read_document(path))


def _parsed(document: Document) -> FailureRates:
    value = document.value
    if not isinstance(value, dict) or not value:
        raise _refused(document, (), "failure rates are keys such as switch or link:leaf-*, each with its causes")
    causes = {}
    for which, given in value.items():
        kind = str(which).partition(":")[0]
        if kind not in ELEMENT_KINDS:
            raise _refused(document, (which,), f"unknown kind of element {kind!r}{nearest(kind, ELEMENT_KINDS)}")
        listed = given if isinstance(given, list) else [given]
        causes[str(which)] = tuple(_cause(document, which, item) for item in listed)
    return FailureRates(causes, document.path)


def _cause(document: Document, which: str, given: Any) -> Cause:
    place = (which,)
    if not isinstance(given, dict):
        raise _refused(document, place, f"{which}: a cause is keys with values: {', '.join(CAUSE_KEYS)}")
    for key in given:
        if key not in CAUSE_KEYS:
            raise _refused(document, (which, key), f"{which}: unknown key {key!r}{nearest(str(key), CAUSE_KEYS)}")
    stated = [key for key in RATE_KEYS if key in given]
    if len(stated) != 1:
        said = f"{' and '.join(stated)} are given" if stated else "none is given"
        raise _refused(document, place, f"{which}: exactly one of {', '.join(RATE_KEYS)} is needed; {said}")
    if "mttr_h" not in given:
        raise _refused(document, place, f"{which}: mttr_h, the mean hours until repair, is missing")
    for key in (*stated, "mttr_h"):
        number = given[key]
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < float("inf"):
            raise _refused(document, (which, key), f"{which}: {key} is {number!r}; it must be a number above 0")
    if "afr" in given and given["afr"] >= 1:
        raise _refused(document, (which, "afr"), f"{which}: afr is {given['afr']}; it is a share of a year's, below 1")
    return Cause(_per_hour(stated[0], float(given[stated[0]])), float(given["mttr_h"]), str(given.get("source", "")))


def _per_hour(unit: str, value: float) -> float:
    if unit == "fit":
        return value * 1e-9
    if unit == "afr":
        return float(-np.log1p(-value)) / HOURS_PER_YEAR
    return 1 / value if unit == "mtbf_h" else value / HOURS_PER_DAY


def _refused(document: Document, place: tuple[Any, ...], message: str) -> Exception:
    if not document.lines:
        return ParameterError(message)
    return InputError(message, path=document.path, line=document.line(place))
