"""A fabric as data: a spec file names a builder, its parameters and parts, its sources, what was published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from topo.document import Document, nearest, read_document
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.parts import host_part, switch_part
from topo.spec.builders import BUILDERS, built
from topo.spec.match import part_column, unlike_host, unlike_switch
from topo.spec.model import EXPECTED, LABELS, Spec

__all__ = ["fabric_of_spec", "read_spec", "spec_of_document"]


def read_spec(path: str | Path) -> tuple[Spec, Document]:
    """A spec file, its keys checked, and the document with its lines; nothing is built.

    :raises InputError: the file breaks a rule, with its line, the value and what is allowed.
    """
    document = read_document(path)
    return spec_of_document(document), document


def spec_of_document(document: Document) -> Spec:
    """The spec in a document, its keys checked; nothing is built.

    :raises InputError: the document breaks a rule, with its line, the value and what is allowed.
    """
    spec = document.checked(Spec, what="a fabric spec", template="spec")
    if not spec.sources:
        raise document.error(("sources",), "names no source; give at least one, if only your own design")
    if spec.builder not in BUILDERS:
        known = nearest(spec.builder, BUILDERS)
        raise document.error(("builder",), f"{spec.builder!r} is not a known builder{known}")
    for key in spec.expect:
        if key not in EXPECTED:
            known = nearest(key, EXPECTED)
            raise document.error(("expect", key), f"is not a number that is computed from a fabric{known}")
    try:
        if spec.host_part is not None:
            host_part(spec.host_part)
    except ParameterError as error:
        raise document.error(("host_part",), str(error)) from None
    try:
        if spec.switch_part is not None:
            switch_part(spec.switch_part)
    except ParameterError as error:
        raise document.error(("switch_part",), str(error)) from None
    return spec


def fabric_of_spec(spec: Spec, document: Document) -> Fabric:
    """Build the fabric of a spec, with its name, its parts and where its numbers come from.

    :raises InputError: parameters that the builder does not take, or parts unlike what it built.
    """
    fabric = built(spec.builder, spec.parameters, document)
    fixed = BUILDERS[spec.builder].radix is not None
    why = unlike_switch(fabric, spec.switch_part, whole=fixed) if spec.switch_part else None
    if why:
        raise document.error(("switch_part",), why)
    why = unlike_host(fabric, spec.host_part) if spec.host_part else None
    if why:
        raise document.error(("host_part",), why)
    origin = Origin(
        made_by=fabric.origin.made_by,
        title=spec.title,
        sources=tuple(f"{source.text} ({source.label}: {LABELS[source.label]})" for source in spec.sources),
        assumptions=spec.assumptions,
        notes=fabric.origin.notes,
        expect=tuple((number.key, number) for number in spec.expected()),
    )
    nodes = replace(fabric.nodes, part=part_column(fabric, spec.switch_part, spec.host_part))
    return replace(fabric, name=spec.name, nodes=nodes, origin=origin)
