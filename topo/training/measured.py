"""Predicted against measured: nccl-tests output and port counters read, put beside a waterfall, and explained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from topo.errors import FormatError, ParameterError
from topo.io.text import read_text
from topo.result import Result, Row, Standing
from topo.training.waterfall import Goodput

__all__ = ["Against", "Measurement", "NcclTests", "compare_measured", "counter_gbps", "read_nccl_tests"]

_MOST_BYTES = 64 * 2**20
_COLLECTIVES = {
    "all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all", "broadcast": "broadcast", "reduce": "reduce", "sendrecv": "send",
}  # fmt: skip
_RANK = re.compile(r"^#\s+Rank\s+(\d+)\b")
_COUNT = re.compile(r"[0-9]{1,18}")
_NAME = re.compile(r"(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv|reduce)_perf")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line: size in bytes, time in us, algbw and busbw in GB/s, out of place (or in place)."""

    bytes: int
    time_us: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
    in_place: bool
    line: int


@dataclass(frozen=True)
class NcclTests(Result):
    """What an nccl-tests run printed, with notes on lines that were not understood."""

    collective: str
    ranks: int
    measurements: tuple[Measurement, ...]
    notes: tuple[str, ...]

    title: ClassVar[str] = "nccl-tests output"

    def rows(self) -> list[Row]:
        """One line a size, out of place."""
        rows = [Row("collective", self.collective or "not named"), Row("ranks", self.ranks)]
        rows += [
            Row(f"{m.bytes:,} bytes", f"{m.time_us:,.2f} us, busbw {m.busbw_gbyte_s:.2f} GB/s")
            for m in self.measurements
            if not m.in_place
        ]
        return rows + [Row("note", note) for note in self.notes]


def read_nccl_tests(source: str | Path | Iterable[str], *, name: str | None = None) -> NcclTests:
    """Read the text an nccl-tests program prints: a path (``-`` reads standard input), or its lines.

    A data line starts with size and count, then type, operation and root where the program has them, and ends in
    time, algbw, busbw and errors, out of place and in place. Other lines become notes, with their number.

    >>> lines = ["# nThread 1", "#  Rank  0 Group  0", "#  Rank  1 Group  0",
    ...          "  1048576  262144  float  sum  -1  61.2  17.13  17.13  0  60.9  17.22  17.22  0"]
    >>> found = read_nccl_tests(lines)
    >>> found.ranks, found.measurements[0].busbw_gbyte_s
    (2, 17.13)

    :raises InputError: the file cannot be read, or is too large.
    :raises FormatError: no line is one of nccl-tests' results.
    """
    path, text = _lines(source)
    label = name or path
    found, notes, ranks, collective = [], [], set[int](), ""
    for number, line in enumerate(text, start=1):
        named = _NAME.search(line)
        if named and not collective:
            collective = _COLLECTIVES[named.group(1)]
        rank = _RANK.match(line)
        if rank:
            ranks.add(int(rank.group(1)))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        values = _values(line, number)
        if values:
            found += values
        elif _COUNT.fullmatch(line.split()[0]):
            notes.append(f"line {number} starts like a result but is not one: {line.strip()[:60]!r}")
        else:
            notes.append(f"line {number} not understood: {line.strip()[:60]!r}")
    if not found:
        raise FormatError("no line is a result of nccl-tests (size, count, ..., time, algbw, busbw)", path=label)
    return NcclTests(collective, len(ranks), tuple(found), tuple(notes))


def _lines(source: str | Path | Iterable[str]) -> tuple[str | None, list[str]]:
    if not isinstance(source, (str, Path)):
        return None, [str(line) for line in source]
    text, path = read_text(source, limit=_MOST_BYTES)
    return path, text.splitlines()


def _values(line: str, number: int) -> list[Measurement]:
    """One or two measurements of a data line; none where it is not one."""
    fields = line.split()
    if len(fields) < 6 or not (_COUNT.fullmatch(fields[0]) and _COUNT.fullmatch(fields[1])):
        return []
    rest = fields[2:]
    while rest and not _is_number(rest[0]):
        rest = rest[1:]
    # The root, a whole number, stands before the first time where the program prints one.
    if len(rest) in (9, 5) and "." not in rest[0]:
        rest = rest[1:]
    if len(rest) not in (8, 4) or not all(_is_number(x) for i, x in enumerate(rest) if i % 4 != 3):
        return []
    out = []
    for i in range(0, len(rest), 4):
        time, algbw, busbw = map(float, rest[i : i + 3])
        if not (np.isfinite([time, algbw, busbw]).all() and time >= 0 and algbw >= 0 and busbw >= 0):
            return []
        out.append(Measurement(int(fields[0]), time, algbw, busbw, i > 0, number))
    return out


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def counter_gbps(before: int, after: int, seconds: float, *, unit_bytes: int = 1, bits: int = 64) -> float:
    """Rate in Gb/s from two readings of a port counter; one wrap is made good. InfiniBand counts units of 4 bytes.

    >>> counter_gbps(2**64 - 1_000, 49_999_999_000, 1.0)
    400.0

    :raises ParameterError: no time between the readings, or a reading outside the counter.
    """
    if not seconds > 0:
        raise ParameterError(f"seconds is {seconds}; the readings must be some time apart")
    for name, value in (("before", before), ("after", after)):
        if not 0 <= value < 2**bits:
            raise ParameterError(f"{name} is {value}, outside a counter of {bits} bits")
    moved = (after - before) % 2**bits
    return float(8e-9 * unit_bytes * moved / seconds)


@dataclass(frozen=True)
class Against(Result):
    """Measured beside predicted, and the step of the waterfall that the measurement falls into."""

    measured_gbps: float
    predicted_gbps: float
    explained_by: str
    below: tuple[tuple[str, float], ...]
    standing: Standing

    title: ClassVar[str] = "Predicted against measured"

    def rows(self) -> list[Row]:
        """Both rates, and what lies between."""
        off = 100 * (self.measured_gbps / self.predicted_gbps - 1)
        rows = [
            Row("measured", self.measured_gbps, "Gb/s"),
            Row("predicted", self.predicted_gbps, "Gb/s", self.standing),
            Row("measured against predicted", f"{off:+.1f} %"),
            Row("reads as", self.explained_by),
        ]
        return rows + [Row(f"with effects up to {effect}", gbps, "Gb/s") for effect, gbps in self.below]


def compare_measured(
    predicted: Goodput, measured: Sequence[Measurement] | float, *, tolerance: float = 0.03
) -> Against:
    """Put a measurement beside a waterfall: a rate in Gb/s of an endpoint's ports, or the largest nccl-tests size.

    An nccl-tests line is put on the waterfall's scale by its time: W over the time, W scaled to its size. Within
    ``tolerance`` of a level, the measurement reads as that: the effects after it did not show. Below the last,
    something the model lacks takes the rest; between two, the later effect showed in part.

    >>> import topo
    >>> from topo.training.waterfall import goodput
    >>> f = topo.leaf_spine(leaves=2, spines=8, hosts_per_leaf=8)
    >>> compare_measured(goodput(f, routing="spray", alpha_us=20), 231.0).explained_by
    '155.5 Gb/s below the prediction: something that is not in the model'

    :raises ParameterError: no measurement, one that is not above 0, or a waterfall that is no collective's.
    """
    levels = [(level.effect, level.gbps) for level in predicted.levels]
    rate = measured if isinstance(measured, (int, float)) else _rate_of(predicted, measured)
    if not rate > 0:
        raise ParameterError(f"the measured rate is {rate}; it must be above 0")
    return Against(
        measured_gbps=float(rate),
        predicted_gbps=predicted.goodput_gbps,
        explained_by=_explanation(levels, float(rate), tolerance),
        below=tuple(levels),
        standing=Standing("model", "the waterfall's last level"),
    )


def _rate_of(predicted: Goodput, measured: Sequence[Measurement]) -> float:
    if not measured:
        raise ParameterError("no measurement is given")
    if not predicted.algbw_gbyte_s:
        raise ParameterError("the waterfall is of a plain demand; nccl-tests measures collectives, give a rate instead")
    largest = max(measured, key=lambda m: m.bytes)
    size = predicted.algbw_gbyte_s * 1e9 * predicted.time_s
    return float(predicted.endpoint_gigabits * largest.bytes / size / (largest.time_us * 1e-6))


def _explanation(levels: Sequence[tuple[str, float]], rate: float, tolerance: float) -> str:
    near = [effect for effect, gbps in levels if abs(rate / gbps - 1) <= tolerance]
    last_effect, last = levels[-1]
    if last_effect in near:
        return "as predicted"
    if near:
        return f"nothing beyond {', '.join(near)}"
    if rate < last:
        return f"{last - rate:.1f} Gb/s below the prediction: something that is not in the model"
    if rate > levels[0][1]:
        return "above the line rate: reduction in switches, or another count of bytes"
    above = [(effect, gbps) for effect, gbps in levels if gbps >= rate]
    below = next((effect, gbps) for effect, gbps in levels[len(above) :] if gbps < rate)
    share = 100 * (above[-1][1] - rate) / (above[-1][1] - below[1])
    return f"{below[0]} in part: {share:.0f} % of what it was predicted to take"
