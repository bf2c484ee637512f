"""What ``topo validate`` found, written as asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from topo.errors import ParameterError

if TYPE_CHECKING:
    from topo.wiring import Validation

__all__ = ["columns_of", "written"]


def columns_of(given: str | None) -> dict[str, str | int] | None:
    """Roles and headers as written on the command line; a number is that of a column.

    >>> columns_of("a_node=Von,a_port=2,z_node=Nach,z_port=4")
    {'a_node': 'Von', 'a_port': 2, 'z_node': 'Nach', 'z_port': 4}

    :raises ParameterError: a part that is not ROLE=HEADER.
    """
    if given is None:
        return None
    columns: dict[str, str | int] = {}
    for part in given.split(","):
        role, is_, header = (piece.strip() for piece in part.partition("="))
        if not (role and is_ and header):
            raise ParameterError(f"--columns has {part!r}; write it like a_node=Von,a_port=2,z_node=Nach,z_port=4")
        columns[role] = int(header) if header.isdecimal() and len(header) < 6 else header
    return columns


def written(answer: Validation, format: str | None, output: str | None, *, fail_on: str) -> None:
    """The answer to standard output, or whole to a file with a line that says so."""
    from topo.cli.printing import deliver, form_by_ending
    from topo.report.wiring import counted, wiring_page
    from topo.wiring import to_csv, to_junit, to_text

    write: dict[str, Callable[[], str]] = {
        "text": lambda: to_text(answer),
        "json": answer.to_json,
        "html": lambda: wiring_page(answer),
        "junit": lambda: to_junit(answer, fail_on=fail_on),
        "csv": lambda: to_csv(answer),
    }
    form = format or form_by_ending(output, write, "text")
    deliver(write[form](), output, f"{answer.fabric}: {counted(answer)}", f"The findings are in {output}")
