"""``topo schema``: the JSON Schema of an answer, of a verb's JSON, or of a file that people write."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["schema"]


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A file (spec, job, failures, racks, prices, ...), a verb, or a class of answers."
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of that name, which editors check files by and programs check answers by.

    Without a name: what there is. In YAML files, editors with a YAML language server read the line
    '# yaml-language-server: $schema=FILE'.
    """
    from topo.cli.printing import print_heading, print_json, print_lines
    from topo.cli.schema_files import FILE_SCHEMAS, file_schema
    from topo.cli.schema_verbs import VERB_SCHEMAS, verb_schema
    from topo.cli.schemas import result_classes, result_schema
    from topo.document import nearest
    from topo.errors import ParameterError

    if name is None:
        print("Names that topo schema takes")
        for title, names in (("Files", FILE_SCHEMAS), ("Verbs", VERB_SCHEMAS), ("Answers", result_classes())):
            print_heading(title)
            print_lines(names)
    elif name in FILE_SCHEMAS:
        print_json(file_schema(name))
    elif name in VERB_SCHEMAS:
        print_json(verb_schema(name))
    elif name in result_classes():
        print_json(result_schema(result_classes()[name]))
    else:
        known = [*FILE_SCHEMAS, *VERB_SCHEMAS, *result_classes()]
        raise ParameterError(f"there is no schema {name!r}{nearest(name, known)} (topo schema shows all names)")
