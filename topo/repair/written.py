"""A work list as text for people and as CSV for sheets: the steps in order, then the same by rack and device."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from itertools import groupby

from topo.errors import ParameterError
from topo.output import csv_cell, plain
from topo.repair.growth import Growth
from topo.repair.repair import Repair
from topo.repair.steps import DOES, NO_RACK, Step, Touch, gives_text, in_order, touches_of
from topo.repair.swaps import swap_page
from topo.result import Result
from topo.view.text import plural, sentence

__all__ = ["growth_written", "repair_written", "steps_csv", "work_text"]

_COLUMNS = ("done", "step", "rack", "device", "port", "do", "what", "because", "gives_back_gbps")


def steps_csv(steps: Sequence[Step], touches: Sequence[Touch]) -> str:
    """One line a port touched, by rack and device, with an empty column to tick; cells are made safe for sheets."""
    gives = {step.number: step.gives_gbps for step in steps}
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in touches:
        lost = gives[one.step]
        texts = (one.rack, one.device, one.port, DOES[one.does], one.text, one.because)
        writer.writerow(["", one.step, *map(csv_cell, texts), "" if math.isnan(lost) else f"{lost:.6g}"])
    return sheet.getvalue()


def work_text(answer: Result, steps: Sequence[Step], touches: Sequence[Touch], notes: Sequence[str] = ()) -> str:
    """The sums, every step in order with a box to tick, then what is to be done at each rack and device."""
    lines = [plain(line) for line in Result.__str__(answer).split("\n")]
    lines += [plain(f"  note: {note}") for note in notes]
    if steps:
        lines += ["", in_order(steps)]
    for step in steps:
        lines.append(plain(f"  [ ] {step.number:>3}  {step.text}{_gives(step)}"))
    for rack, mine in groupby(touches, key=lambda one: one.rack):
        lines += ["", plain(f"Rack {rack}" if rack != NO_RACK else "By device")]
        for device, ports in groupby(mine, key=lambda one: one.device):
            lines.append(plain(f"  {device}"))
            for one in ports:
                port = f"port {one.port}: " if one.port and one.does != "name" else ""
                lines.append(plain(f"    [ ] step {one.step:>3}  {port}{DOES[one.does]}; {one.text}"))
    return "\n".join(lines) + "\n"


def _gives(step: Step) -> str:
    if math.isnan(step.gives_gbps):
        return f"  ({step.because})" if step.because else ""
    return f"  ({gives_text(step)}; {step.because})"


def repair_written(answer: Repair, format: str = "text") -> str:
    """A repair as ``text``, ``csv`` (a line a port), ``json``, or ``html``: a page to print, with boxes to tick.

    >>> import topo
    >>> design = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    >>> print(repair_written(topo.repair_wiring(design.without(links=[40]), design), "csv"), end="")
    done,step,rack,device,port,do,what,because,gives_back_gbps
    ,1,no rack is stated,leaf-2,9,plug in,new cable to spine-1 port 3,missing: leaf-2 port 9 - spine-1 port 3,219.355
    ,1,no rack is stated,spine-1,3,plug in,new cable from leaf-2 port 9,missing: leaf-2 port 9 - spine-1 port 3,219.355

    :raises ParameterError: another format.
    """
    against = f" against {answer.against}" if answer.against else ""
    return _written(answer, format, f"Repair of {answer.fabric}{against}", _lead(answer))


def growth_written(answer: Growth, format: str = "text") -> str:
    """A growth as ``text``, ``csv`` (a line a port), ``json``, or ``html``: a page to print, with boxes to tick.

    >>> import topo
    >>> old = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, parallel=4)
    >>> growth = topo.grow_fabric(old, topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8, parallel=2))
    >>> print(growth_written(growth, "csv").splitlines()[1])
    ,17,no rack is stated,leaf-5,9,plug in,new cable to spine-1 port 3,new leaf-5: enable it when all its cables are in,

    :raises ParameterError: another format.
    """
    lead = f"{plural(len(answer.steps), 'step')}; devices are those of {answer.new}."
    return _written(answer, format, f"{answer.old} grows to {answer.new}", lead)


def _written(answer: Repair | Growth, format: str, title: str, lead: str) -> str:
    """The list in one of the four formats.

    :raises ParameterError: another format.
    """
    assert answer.comparison is not None
    both = answer.comparison.both
    touches = touches_of(both, answer.jobs, answer.acts, answer.steps)
    if format == "html":
        notes = [sentence(text) for text in answer.assumptions]
        return swap_page(title, lead, answer.rows(), both, answer.steps, touches, notes)
    if format == "csv":
        return steps_csv(answer.steps, touches)
    if format == "json":
        return answer.to_json() + "\n"
    if format != "text":
        raise ParameterError(f"there is no list in format {format!r}; use text, csv, json or html")
    return work_text(answer, answer.steps, touches, answer.assumptions)


def _lead(answer: Repair) -> str:
    if not answer.jobs:
        return "Nothing to mend at the cables."
    said = f"{answer.growth_text}. " if answer.growth_text else ""
    said += f"{plural(answer.n_operations, 'job')} in {plural(len(answer.steps), 'step')}, what costs most first."
    return said + (" No shorter list does the same." if answer.is_shortest else "")
