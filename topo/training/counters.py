"""Port counters of a run beside the link loads that a collective was predicted to put there."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from topo.analysis.collectives.carried import Wire
from topo.analysis.collectives.on_fabric import collective_loads
from topo.errors import FormatError, InputError, ParameterError
from topo.fabric import Fabric, expect_fabric
from topo.io.notes import quoted
from topo.io.text import read_text
from topo.result import Result, Row, Standing

__all__ = ["CountersBeside", "PortBeside", "PortCounter", "counters_beside", "read_port_counters"]

_KNOWN = ("node", "port", "gbps", "bytes", "seconds", "direction")
_SHOWN = 16


@dataclass(frozen=True, slots=True)
class PortCounter:
    """Mean Gb/s that a port sent (``tx``) or received (``rx``) while the run lasted, headers counted."""

    node: str
    port: str
    direction: str
    gbps: float
    line: int
    path: str = ""


def read_port_counters(path: str | Path) -> tuple[PortCounter, ...]:
    """Counters in a CSV file: columns ``node``, ``port`` and ``gbps``, or ``bytes`` and ``seconds`` instead of it.

    ``node`` and ``port`` are written as the fabric has them; ``bytes`` is what was counted in ``seconds``. A column
    ``direction`` says ``tx`` (sent; where there is none) or ``rx``. The columns may come in any order; ``-`` reads
    standard input.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ports.csv")
    ...     n = file.write_text("node,port,bytes,seconds\\nleaf-1,9,50000000000,2\\n")
    ...     read_port_counters(file)[0].gbps
    200.0

    :raises InputError: no such file, a value that is no number of at least 0, a port counted twice.
    :raises FormatError: not CSV, a header without the columns, a row of another width, no row.
    """
    text, place = read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    found: dict[tuple[str, str, str], PortCounter] = {}
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = _header(cells, place, reader.line_num)
                continue
            if len(cells) != len(names):
                said = f"{len(cells)} cells where the header has {len(names)}"
                raise FormatError(said, path=place, line=reader.line_num)
            row = dict(zip(names, (cell.strip() for cell in cells), strict=True))
            one = _counter(row, place, reader.line_num)
            key = (one.node, one.port, one.direction)
            if key in found:
                first = found[key].line
                raise InputError(
                    f"port {quoted(one.port)} of {quoted(one.node)} was counted in line {first} already",
                    path=place, line=one.line,
                )  # fmt: skip
            found[key] = one
    except csv.Error as error:
        raise FormatError(f"not CSV: {error}; write one port a line", path=place, line=reader.line_num) from None
    if not found:
        raise FormatError("no counter below the header; give one line a port", path=place)
    return tuple(found.values())


def _header(cells: Sequence[str], place: str, line: int) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    rate = {"gbps"} <= set(names) and not {"bytes", "seconds"} & set(names)
    counted = {"bytes", "seconds"} <= set(names) and "gbps" not in names
    if not {"node", "port"} <= set(names) or len(set(names)) < len(names) or not rate ^ counted:
        raise FormatError(
            f"the header reads {quoted(','.join(cells))}; it must hold node, port and either gbps or bytes and "
            "seconds, each once, and may hold direction",
            path=place, line=line,
        )  # fmt: skip
    for name in names:
        if name not in _KNOWN:
            raise FormatError(f"column {quoted(name)} is none of {', '.join(_KNOWN)}", path=place, line=line)
    return names


def _counter(row: Mapping[str, str], place: str, line: int) -> PortCounter:
    direction = row.get("direction", "").lower() or "tx"
    if direction not in ("tx", "rx"):
        raise InputError(f"direction is {quoted(direction)}; it is tx or rx", path=place, line=line)
    if "gbps" in row:
        rate = _number(row, "gbps", place, line)
    else:
        seconds = _number(row, "seconds", place, line)
        if seconds == 0:
            raise InputError("seconds is 0; the readings must be some time apart", path=place, line=line)
        rate = 8e-9 * _number(row, "bytes", place, line) / seconds
    return PortCounter(row["node"], row["port"], direction, rate, line, place)


def _number(row: Mapping[str, str], name: str, place: str, line: int) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{name} is {quoted(row[name])}; it must be a number of at least 0", path=place, line=line)
    return value


@dataclass(frozen=True, slots=True)
class PortBeside:
    """One port: measured and predicted Gb/s on the wire, and the rate of its link."""

    node: str
    port: str
    direction: str
    measured_gbps: float
    predicted_gbps: float
    capacity_gbps: float


@dataclass(frozen=True)
class CountersBeside(Result):
    """Ports whose counters were read beside what the collective was predicted to put on them, farthest off first."""

    fabric: str
    collective: str
    ports: tuple[PortBeside, ...]
    measured_gbps: float
    predicted_gbps: float
    standing: Standing

    title: ClassVar[str] = "Port counters beside predicted loads"

    def rows(self) -> list[Row]:
        """Sums over all ports, then the ports that are farthest off."""
        rows = [
            Row("ports", len(self.ports)),
            Row("measured, all of them", self.measured_gbps, "Gb/s"),
            Row("predicted, all of them", self.predicted_gbps, "Gb/s", self.standing),
        ]
        rows += [
            Row(
                f"{p.node} {p.port} {p.direction}",
                f"measured {p.measured_gbps:.1f} Gb/s, predicted {p.predicted_gbps:.1f}, link {p.capacity_gbps:g}",
            )
            for p in self.ports[:_SHOWN]
        ]
        return rows + ([Row("more ports", len(self.ports) - _SHOWN)] if len(self.ports) > _SHOWN else [])


def counters_beside(
    fabric: Fabric,
    placement: ArrayLike | None,
    counters: Sequence[PortCounter],
    collective: str = "all_reduce",
    *,
    bytes: float,
    wire: Wire | None = None,
    **given: object,
) -> CountersBeside:
    """Counters of ports beside the mean rates of a collective that runs again and again.

    Predicted: bytes that all phases put on the arc, headers of ``wire`` added on the links between hosts, over the
    collective's time. Paths that are hashed count with their mean over draws. ``given`` is as for
    :func:`~topo.analysis.collectives.on_fabric.collective_time`. A port that has no link is refused.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> seen = [PortCounter("leaf-1", "3", "tx", 60.0, 2)]
    >>> found = counters_beside(f, None, seen, bytes=2**30, alpha_us=0)
    >>> round(found.ports[0].predicted_gbps, 1)   # the ring's one flow out of leaf-1, over two spines
    200.0

    :raises ParameterError: no counter, or a collective that takes no time.
    :raises InputError: a counter of a port that the fabric does not have; file, line and name are told.
    """
    expect_fabric(fabric)
    if not counters:
        raise ParameterError("no port counter is given")
    headers = wire or Wire()
    loads = collective_loads(fabric, placement, collective, bytes=bytes, wire=headers, **given)  # type: ignore[arg-type]
    if not loads.time_s > 0:
        raise ParameterError(f"a {collective} of {bytes:g} bytes takes no time; there is no rate to compare with")
    outside = np.repeat(fabric.links.kind.is_any("scale_out", "access", "internal"), 2)
    rate = loads.gigabits / loads.time_s / np.where(outside, headers.efficiency, 1.0)
    ports = _ports(fabric, {(one.node, one.port) for one in counters})
    beside = []
    for one in counters:
        if (one.node, one.port) not in ports:
            raise _unknown(fabric, one)
        sends = ports[one.node, one.port]
        arc = sends if one.direction == "tx" else sends ^ 1
        beside.append(
            PortBeside(
                one.node, one.port, one.direction, one.gbps, float(rate[arc]),
                float(fabric.links.capacity_gbps[arc // 2]),
            )
        )  # fmt: skip
    beside.sort(key=lambda p: -abs(p.measured_gbps - p.predicted_gbps))
    return CountersBeside(
        fabric=fabric.name,
        collective=collective,
        ports=tuple(beside),
        measured_gbps=sum(p.measured_gbps for p in beside),
        predicted_gbps=sum(p.predicted_gbps for p in beside),
        standing=Standing("model", "mean over the collective's time, one run after another without a pause"),
    )


def _unknown(fabric: Fabric, one: PortCounter) -> InputError:
    """What is wrong with a counter whose port is not found, and how ports are named."""
    rows = np.flatnonzero(fabric.nodes.name == one.node)
    if not rows.size:
        like = ", ".join(map(quoted, fabric.nodes.name[:3].tolist()))
        said = f"{quoted(one.node)} is no node of {quoted(fabric.name)}; nodes are named like {like}"
    else:
        labels = fabric.ports.label.values(np.flatnonzero(np.isin(fabric.ports.node, rows))[:3])
        like = ", ".join(map(quoted, labels.tolist()))
        said = f"{quoted(one.node)} has no port {quoted(one.port)} with a link; its ports are named like {like}"
    return InputError(said, path=one.path or "counters", line=one.line)


def _ports(fabric: Fabric, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The arc that each wanted port sends over."""
    nodes = list({node for node, _ in wanted})
    names = fabric.nodes.name
    found: dict[tuple[str, str], int] = {}
    for side, port in enumerate((fabric.links.port_a, fabric.links.port_b)):
        at = np.flatnonzero(np.isin(names[fabric.ports.node[port]], nodes))
        labels = fabric.ports.label.values(port[at])
        arcs = 2 * at + side
        for node, label, arc in zip(names[fabric.ports.node[port[at]]], labels, arcs.tolist(), strict=True):
            if (str(node), str(label)) in wanted:
                found[str(node), str(label)] = arc
    return found
