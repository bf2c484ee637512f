"""Dated events replayed: what a flap log made of the fabric's capacity, hour by hour, with daily minima."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import numpy as np

from topo.analysis.failures.degraded import share_of
from topo.analysis.failures.elements import find_elements
from topo.analysis.failures.measures import Measure, measure_of
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric, State
from topo.io.text import read_text
from topo.progress import steps
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.table import freeze
from topo.traffic import Demand
from topo.units import format_number, parse_gbps

__all__ = ["Event", "Replay", "read_events", "replay"]

_COLUMNS = ("time", "element", "event")
_MOST_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class Event:
    """At a time an element went ``down``, came ``up``, or runs at a rate (Gb/s) from now on."""

    time: datetime
    element: str
    event: str
    line: int = 0


@dataclass(frozen=True)
class Replay(Result):
    """The measure after each event and its daily minima, against the fabric with nothing down."""

    fabric: str
    measure: str
    unit: str
    healthy: float
    times: tuple[str, ...]
    left: tuple[float, ...]
    days: tuple[str, ...]
    daily_minimum: tuple[float, ...]
    mean: float
    n_states: int
    standing: Standing

    title: ClassVar[str] = "Capacity over time, as it happened"

    def rows(self) -> list[Row]:
        """Mean, worst moment, and the worst days."""
        worst = int(np.argmin(self.left))
        rows = [
            Row(f"{self.measure}, healthy", self.healthy, self.unit, self.standing),
            Row("mean over the time logged", self.mean, self.unit),
            Row("least", f"{format_number(self.left[worst])} {self.unit} at {self.times[worst]}"),
        ]
        order = sorted(range(len(self.days)), key=lambda i: (self.daily_minimum[i], self.days[i]))
        for i in order[:10]:
            share = format_number(100 * share_of(self.daily_minimum[i], self.healthy), 4)
            rows.append(
                Row(f"least on {self.days[i]}", f"{format_number(self.daily_minimum[i])} {self.unit} ({share} %)")
            )
        return rows


def read_events(path: str | Path) -> list[Event]:
    """Events from a CSV file with columns time (ISO 8601), element, event (down, up, or a rate such as 200G).

    Times without a zone are taken as UTC. Elements are words as for ``find_elements``: ``spine-1``,
    ``link:leaf-1/33--spine-2``.

    :raises InputError: at file:line, a column missing, a time or event that cannot be read, times that go back.
    """
    text, source = read_text(path, limit=_MOST_BYTES)
    reader = csv.reader(text.splitlines())
    header = [name.strip().lower() for name in next(reader, [])]
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        raise InputError(f"column {missing[0]!r} is missing; a log has {', '.join(_COLUMNS)}", path=source, line=1)
    at = [header.index(name) for name in _COLUMNS]
    events: list[Event] = []
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        line = reader.line_num
        if len(row) <= max(at):
            raise InputError(f"{len(row)} cells where the header has {len(header)}", path=source, line=line)
        event = _event([row[i].strip() for i in at], source, line)
        if events and event.time < events[-1].time:
            raise InputError(f"{row[at[0]]} is before the line above; sort the log by time", path=source, line=line)
        events.append(event)
    if not events:
        raise InputError("there is a header but no event", path=source, line=1)
    return events


def replay(
    fabric: Fabric,
    events: Sequence[Event] | str | Path,
    measure: str | Demand | Measure = "all-to-all",
    *,
    routing: str | Routing = "ecmp",
    state: State | None = None,
) -> Replay:
    """The measure after each event of a log; equal states are evaluated once. Time ends at the last event.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> day = datetime(2026, 1, 1, tzinfo=UTC)
    >>> log = [Event(day, "spine-1", "down"), Event(day.replace(hour=6), "spine-1", "up"),
    ...        Event(day.replace(hour=12), "spine-2", "200")]
    >>> replay(f, log).daily_minimum
    (300.0,)

    :raises InputError: see :func:`read_events`; an element that is not in the fabric, at its line.
    :raises ParameterError: no event.
    """
    source = str(events) if isinstance(events, (str, Path)) else "events"
    listed = read_events(events) if isinstance(events, (str, Path)) else list(events)
    if not listed:
        raise ParameterError("no event is given")
    chosen = measure_of(fabric, measure, routing)
    healthy = chosen(None)
    track = _Track(fabric, state)
    values, known = [], {}
    exact = healthy.is_exact
    for event in steps(listed, "events"):
        try:
            key = track.take(event)
        except ParameterError as error:
            raise InputError(str(error), path=source, line=event.line or None) from None
        if key not in known:
            value = chosen(track.state())
            known[key] = value.lower
            exact = exact and value.is_exact
        values.append(known[key])
    seconds = np.diff([event.time.timestamp() for event in listed])
    mean = float(np.average(values[:-1], weights=seconds)) if seconds.sum() > 0 else values[-1]
    days, minima = _daily(listed, values)
    return Replay(
        fabric=fabric.name,
        measure=chosen.name,
        unit=chosen.unit,
        healthy=healthy.lower,
        times=tuple(event.time.isoformat() for event in listed),
        left=tuple(values),
        days=days,
        daily_minimum=minima,
        mean=mean,
        n_states=len(known),
        standing=Standing("exact" if exact else "lower bound", "each state as logged"),
    )


class _Track:
    """What is down or slower now. A link is up when it, its cable and its ends were all reported up."""

    def __init__(self, fabric: Fabric, base: State | None) -> None:
        self.fabric, self.base = fabric, base or State()
        self.down: set[str] = set()
        self.rates: dict[str, float] = {}
        self.found: dict[str, State] = {}

    def take(self, event: Event) -> tuple[frozenset[str], frozenset[tuple[str, float]]]:
        name = event.element
        if name not in self.found:
            self.found[name] = find_elements(self.fabric, name).state()
        self.down.discard(name)
        self.rates.pop(name, None)
        if event.event == "down":
            self.down.add(name)
        elif event.event != "up":
            self.rates[name] = parse_gbps(event.event)
        return frozenset(self.down), frozenset(self.rates.items())

    def state(self) -> State:
        nodes = np.ones(len(self.fabric.nodes), bool)
        links = np.ones(len(self.fabric.links), bool)
        if self.base.node_present is not None:
            nodes &= self.base.node_present
        if self.base.link_present is not None:
            links &= self.base.link_present
        for name in self.down:
            gone = self.found[name]
            assert gone.node_present is not None
            assert gone.link_present is not None
            nodes &= gone.node_present
            links &= gone.link_present
        capacity = self.base.link_capacity_gbps(self.fabric).copy()
        for name, gbps in self.rates.items():
            slower = ~self.found[name].link_mask(self.fabric)
            capacity[slower] = np.fmin(capacity[slower], gbps)
        return State(freeze(nodes), freeze(links), freeze(capacity))


def _event(cells: list[str], source: str, line: int) -> Event:
    stamp, element, word = cells
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        raise InputError(
            f"time {stamp!r} is not ISO 8601, such as 2026-01-31T08:00:00", path=source, line=line
        ) from None
    event = word.lower()
    if event not in ("down", "up"):
        try:
            parse_gbps(word)
        except ParameterError:
            raise InputError(f"event {word!r} is not down, up or a rate such as 200G", path=source, line=line) from None
        event = word
    return Event(time if time.tzinfo else time.replace(tzinfo=UTC), element, event, line)


def _daily(events: Sequence[Event], values: Sequence[float]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Least value on each UTC day from the first event to the last; a state lasts until the next event."""
    day = np.array([event.time.astimezone(UTC).date().toordinal() for event in events])
    first, last = int(day[0]), int(day[-1])
    least = np.full(last - first + 1, np.inf)
    np.minimum.at(least, day - first, np.asarray(values))
    # What a day began with counts as well, unless the first event is on that day.
    before = np.searchsorted(day, np.arange(first + 1, last + 1), side="left") - 1
    least[1:] = np.minimum(least[1:], np.asarray(values)[before])
    names = tuple(datetime.fromordinal(int(d)).date().isoformat() for d in range(first, last + 1))
    return names, tuple(float(v) for v in least)
