"""What was measured beside what is predicted: a run of nccl-tests size by size, counters port by port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from topo.errors import ParameterError, TopoError
from topo.parts.forwarding import is_infiniband
from topo.report.answers import why_not
from topo.report.content import Facts, Grid, Section, Text
from topo.units import format_gbps, format_number
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.training.beside import MeasuredBeside
    from topo.training.counters import CountersBeside

__all__ = ["MeasuredAnswers", "MeasuredAsked", "ask_measured", "measured_section"]

_TITLE = "Measured beside predicted"
_SHOWN = 20
_USUAL_BYTES = 2**30
_USUAL = "all_reduce"


@dataclass(frozen=True, slots=True)
class MeasuredAsked:
    """What an nccl-tests program printed, and port counters as CSV: files, one of them at least."""

    run: str | Path | None = None
    counters: str | Path | None = None


@dataclass(frozen=True, eq=False)
class MeasuredAnswers:
    """A run and counters beside their predictions, as far as they were given; ``told`` says of which collective."""

    run: MeasuredBeside | None
    counters: CountersBeside | None
    told: str


def ask_measured(fabric: Fabric, asked: MeasuredAsked) -> MeasuredAnswers:
    """The run on as many endpoints as it has ranks, the first of the fabric; counters while its largest size runs.

    Counters without a run are held against an all-reduce of 1 GiB over all endpoints. Headers are those of the
    fabric's own network.

    :raises TopoError: a file that cannot be used, a run of more ranks than there are endpoints, a port that is not
        there.
    """
    from topo.analysis.collectives.carried import Wire
    from topo.training.beside import measured_beside
    from topo.training.counters import counters_beside, read_port_counters
    from topo.training.measured import read_nccl_tests

    if asked.run is None and asked.counters is None:
        raise ParameterError("nothing was measured: give a run of nccl-tests, port counters, or both")
    wire = Wire(transport="infiniband") if is_infiniband(fabric) else Wire()
    rows, name, size, run = fabric.endpoints, _USUAL, _USUAL_BYTES, None
    if asked.run is not None:
        tests = read_nccl_tests(asked.run)
        if tests.ranks > len(rows):
            raise ParameterError(f"the run has {tests.ranks:,} ranks and the fabric {plural(len(rows), 'endpoint')}")
        rows = rows[: tests.ranks] if tests.ranks else rows
        run = measured_beside(fabric, rows, tests, wire=wire)
        name, size = run.collective, max(one.bytes for one in run.sizes)
    counters = None
    if asked.counters is not None:
        counters = counters_beside(fabric, rows, read_port_counters(asked.counters), name, bytes=size, wire=wire)
    told = f"{name} over the first {len(rows):,} endpoints in the fabric's order, flows spread evenly"
    return MeasuredAnswers(run, counters, told)


def measured_section(answer: MeasuredAnswers | TopoError) -> Section:
    """Every size with measured over predicted time, what explains the largest, and the ports farthest off."""
    if isinstance(answer, TopoError):
        return Section("measured", _TITLE, why_not(answer))
    return Section("measured", _TITLE, list(_items(answer)))


def _items(answer: MeasuredAnswers) -> Iterator[Text | Facts | Grid]:
    yield Text(f"Predicted for {answer.told}; a ratio above 1 is slower than predicted.")
    if answer.run is not None:
        run = answer.run
        rows = tuple(
            (
                f"{one.bytes:,}", f"{one.measured_us:,.1f} us", f"{one.predicted_us:,.1f} us",
                f"{one.measured_busbw_gbyte_s:.4g} GB/s", f"{one.predicted_busbw_gbyte_s:.4g} GB/s",
                f"{one.time_ratio:.2f}",
            )
            for one in run.sizes
        )  # fmt: skip
        head = ("bytes", "measured time", "predicted time", "measured busbw", "predicted busbw", "ratio of times")
        yield Grid(head, rows, f"{run.collective}, {run.algorithm}, {run.ranks:,} ranks", f"Standing: {run.standing}.")
        yield Facts(tuple(run.against.rows()))
        yield from (Text(note) for note in run.notes)
    if answer.counters is not None:
        seen = answer.counters
        lines = tuple(
            (
                one.node, one.port, {"tx": "sent", "rx": "received"}.get(one.direction, one.direction),
                format_gbps(one.measured_gbps), format_gbps(one.predicted_gbps), format_gbps(one.capacity_gbps),
            )
            for one in seen.ports[:_SHOWN]
        )  # fmt: skip
        more = len(seen.ports) - len(lines)
        note = f"All {len(seen.ports):,} ports: measured {format_gbps(seen.measured_gbps)}, predicted "
        note += f"{format_gbps(seen.predicted_gbps)} ({format_number(100 * _ratio(seen), 4)} % of it measured)."
        note += f" Nearer: {plural(more, 'more port')}, all in the JSON form." if more else ""
        head = ("node", "port", "direction", "measured", "predicted", "rate of the link")
        yield Grid(head, lines, "Port counters, the farthest off first", f"{note} Standing: {seen.standing}.")


def _ratio(seen: CountersBeside) -> float:
    return seen.measured_gbps / seen.predicted_gbps if seen.predicted_gbps > 0 else float("inf")
