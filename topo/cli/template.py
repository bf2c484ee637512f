"""``topo template``: a commented example of a file that people write."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

__all__ = ["template"]


def template(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]", help="spec, job, training-job, failures, racks, prices, accept or requirements."
        ),
    ] = None,
) -> None:
    """Print a commented example that loads as it is; its first line says which run takes it.

    Without a kind: what there is. With -o FILE it goes to a file. 'topo schema KIND' is the JSON Schema by which
    editors complete it.
    """
    from topo.cli.printing import print_table
    from topo.cli.templates import TEMPLATES
    from topo.document import nearest
    from topo.errors import ParameterError

    if kind is None:
        told = [(name, text[2 : text.index("'topo ")].rstrip(" .:")) for name, text in TEMPLATES.items()]
        print_table(("KIND", "WHAT IT IS"), told)
        return
    if kind not in TEMPLATES:
        raise ParameterError(f"there is no template {kind!r}{nearest(kind, TEMPLATES)}")
    sys.stdout.write(TEMPLATES[kind])
