"""The cable schedule: one line a link with both ends as a technician finds them, and the labels for the ends."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import SWITCH_WORDS, Boxes
from topo.design.layout import Layout
from topo.design.plugs import Plugs
from topo.design.routes import Routes
from topo.io.port_names import host_port
from topo.output import csv_cell
from topo.parts.media import MEDIA
from topo.table import Array

__all__ = ["COLUMNS", "LABEL_COLUMNS", "Schedule", "as_csv"]

COLUMNS = (
    "Cable ID", "Leg", "Bundle", "Speed", "Length m", "Route m", "Medium",
    "A Rack", "A U", "A Node", "A Port", "A Cage", "A Type", "A Part", "A Optic", "A Label",
    "Z Rack", "Z U", "Z Node", "Z Port", "Z Cage", "Z Type", "Z Part", "Z Optic", "Z Label",
)  # fmt: skip
"""Heads of the schedule; the reader of cable schedules knows them."""

LABEL_COLUMNS = ("Cable ID", "Leg", "End", "Rack", "Line 1", "Line 2", "Line 3")

_KINDS = {"host": "host", "storage": "host", "manager": "manager"} | dict.fromkeys(SWITCH_WORDS, "switch")


@dataclass(frozen=True, eq=False)
class Schedule:
    """All cables of a layout as text; A is the lower end (host before leaf before spine)."""

    boxes: Boxes
    plugs: Plugs
    layout: Layout
    routes: Routes

    def __len__(self) -> int:
        return len(self.boxes.links)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Links in the order of their cables, legs together."""
        return np.argsort(self.routes.cable, kind="stable")

    @cached_property
    def cable_id(self) -> list[str]:
        """Number of every cable as text: C00001."""
        width = max(5, len(str(self.routes.n_cables)))
        return [f"C{number:0{width}d}" for number in range(1, self.routes.n_cables + 1)]

    def rows(self) -> Iterator[tuple[str | int | float, ...]]:
        """One tuple a link, as :data:`COLUMNS`."""
        boxes, routes = self.boxes, self.routes
        rates = [f"{rate:g}G" for rate in boxes.fabric.links.capacity_gbps[boxes.links].tolist()]
        near, far = self._side(boxes.a, boxes.port_a, self.plugs.a), self._side(boxes.b, boxes.port_b, self.plugs.b)
        width = max(3, len(str(int(routes.bundle.max(initial=0)) + 1)))
        titles = [row.title for row in MEDIA]
        cable, leg, bundle = routes.cable.tolist(), routes.leg.tolist(), routes.bundle.tolist()
        length, way, medium = routes.length_m.tolist(), np.round(routes.route_m, 2).tolist(), routes.medium.tolist()
        for i in self.order.tolist():
            a, z = near[i], far[i]
            a_at, z_at = f"{a[0]}.U{a[1]} {a[2]} {a[3]}", f"{z[0]}.U{z[1]} {z[2]} {z[3]}"
            number = self.cable_id[cable[i]] + (f".{leg[i]}" if leg[i] else "")
            yield (
                self.cable_id[cable[i]], leg[i] or "", f"B{bundle[i] + 1:0{width}d}", rates[i], length[i], way[i],
                titles[medium[i]], *a, f"{number} {a_at} > {z_at}", *z, f"{number} {z_at} > {a_at}",
            )  # fmt: skip

    def _side(self, box: Array, port: Array, plug: Array) -> list[tuple[str | int, ...]]:
        """Rack, U, node, port, cage, type, part and optic of one end of every link."""
        of_box = [
            (self.layout.rack[rack], unit, name, _KINDS.get(word, "host"), part)
            for rack, unit, name, word, part in zip(
                self.layout.of_box.tolist(), self.layout.unit.tolist(), self.boxes.name, self.boxes.word,
                self.boxes.part, strict=True,
            )
        ]  # fmt: skip
        optics = [end.title if end else "" for end in self.routes.ends]
        ends = self._ends(box, port)
        return [
            (here[0], here[1], node, text, self.plugs.label[at], kind, here[4], optics[at])
            for (node, text, kind), here, at in zip(ends, (of_box[i] for i in box.tolist()), plug.tolist(), strict=True)
        ]

    def _ends(self, box: Array, port: Array) -> list[tuple[str, str, str]]:
        """Node, port and type as the schedule names them.

        An adapter goes by its host and ``nic-3/1``, which the reader takes apart again, or by its host and its own
        name where it has one port; any other part of a host by its own name.
        """
        fabric, boxes = self.boxes.fabric, self.boxes
        label = fabric.ports.label.values(port).tolist()
        node = fabric.ports.node[port].tolist()
        names, kinds = boxes.node_name, fabric.nodes.kind.values().tolist()
        alone = np.bincount(boxes.of_node[boxes.of_node >= 0], minlength=len(boxes)) == 1
        ports = np.concatenate([boxes.port_a, boxes.port_b])
        lone_port = np.bincount(fabric.ports.node[ports], minlength=len(fabric.nodes)) == 1
        out = []
        for i, row, text in zip(box.tolist(), node, label, strict=True):
            name, host, word = names[row], boxes.name[i], boxes.word[i]
            kind = _KINDS.get(word, "host")
            if word in SWITCH_WORDS or (alone[i] and name == host):
                out.append((name, text, kind))
                continue
            device = name[len(host) :].lstrip(" -_/:.") if name.startswith(host) else ""
            if device and host_port(host, f"{device}/{text}").device == device:
                out.append((host, f"{device}/{text}", "host"))
            elif device and kinds[row] == "nic" and lone_port[row] and text == "1":
                out.append((host, device, "host"))
            else:
                out.append((name, text, kinds[row] if kinds[row] in ("accelerator", "nic") else kind))
        return out

    def labels(self) -> Iterator[tuple[str | int, ...]]:
        """Two labels a link, one an end, as :data:`LABEL_COLUMNS`: the cable, here, there."""
        for row in self.rows():
            cable, leg = str(row[0]), row[1]
            number = f"{cable}.{leg}" if leg else cable
            a, z = row[7:16], row[16:25]
            for end, here, there in (("A", a, z), ("Z", z, a)):
                lines = [f"{at[0]}.U{at[1]} {at[2]} {at[3]}" for at in (here, there)]
                yield cable, leg if isinstance(leg, (str, int)) else "", end, str(here[0]), number, lines[0], lines[1]

    def to_csv(self) -> str:
        """The schedule as CSV; no cell starts a formula."""
        return as_csv(COLUMNS, self.rows())

    def labels_csv(self) -> str:
        """The labels as CSV."""
        return as_csv(LABEL_COLUMNS, self.labels())


def as_csv(head: tuple[str, ...], rows: Iterator[tuple[str | int | float, ...]]) -> str:
    """A table as CSV with every text defused; numbers stay numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else _number(cell) for cell in row])
    return out.getvalue()


def _number(value: float) -> str:
    return f"{value:.12g}"
