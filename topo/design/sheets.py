"""The tables of a plan as one XLSX workbook; every text is written as text and defused, so that none is a formula."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from topo.design.bill import BILL_COLUMNS, Bill
from topo.design.elevations import RACK_COLUMNS, UNIT_COLUMNS, rack_rows, unit_rows
from topo.design.layout import Layout
from topo.design.schedule import COLUMNS, Schedule
from topo.errors import InputError
from topo.output import csv_cell
from topo.progress import counted, part
from topo.table import Array

__all__ = ["workbook_of"]

_MOST_ROWS = 1_048_575
_WIDE = 24
_A4 = 9


def workbook_of(
    schedule: Schedule,
    bill: Bill,
    layout: Layout,
    rack_kw: Array,
    box_kw: Array,
) -> bytes:
    """The workbook as bytes; the first sheet is the schedule.

    :raises InputError: XlsxWriter is not installed, or there are more cables than a sheet has rows.
    """
    try:
        xlsxwriter: Any = import_module("xlsxwriter")
    except ImportError:
        raise InputError(
            "writing XLSX needs XlsxWriter: pip install XlsxWriter, or leave the workbook out (--no-xlsx)"
        ) from None
    if 2 * len(schedule) > _MOST_ROWS:
        raise InputError(
            f"{len(schedule):,} links have more labels than the {_MOST_ROWS:,} rows of a sheet; "
            "leave the workbook out (--no-xlsx)"
        )
    out = io.BytesIO()
    # Written row by row without shared strings: a plan of 50,000 cables has a million cells.
    book = xlsxwriter.Workbook(out, {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    bold = book.add_format({"bold": True})
    for name, head, rows, until in (
        ("Cables", COLUMNS, schedule.rows(), 0.8),
        ("Racks", RACK_COLUMNS, rack_rows(schedule.boxes, layout, rack_kw), 0.2),
        ("Boxes", UNIT_COLUMNS, unit_rows(schedule.boxes, layout, box_kw), 0.2),
        ("Bill", BILL_COLUMNS, bill.cells(), 0.2),
    ):
        with part("", until), counted(len(schedule)) as count:
            _sheet(book.add_worksheet(name), head, rows, bold, count)
    book.close()
    return out.getvalue()


def _sheet(
    sheet: Any,
    head: tuple[str, ...],
    rows: Iterable[tuple[str | int | float, ...]],
    bold: Any,
    count: Callable[[int], None],
) -> None:
    sheet.freeze_panes(1, 0)
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.repeat_rows(0)
    sheet.fit_to_pages(1, 0)
    for column, text in enumerate(head):
        wide = _WIDE if any(word in text for word in ("Label", "Line", "Item", "Optic", "Source")) else 12
        sheet.set_column(column, column, wide)
    for column, text in enumerate(head):
        sheet.write_string(0, column, text, bold)
    for at, row in enumerate(rows, 1):
        count(at)
        for column, cell in enumerate(row):
            if isinstance(cell, str):
                if cell:
                    sheet.write_string(at, column, csv_cell(cell))
            else:
                sheet.write_number(at, column, cell)
