"""Explanations: every class of answers has one, in three sentences; a new class cannot be forgotten."""

from __future__ import annotations

import pytest

import topo
from topo.cli.schemas import result_classes
from topo.errors import ParameterError
from topo.report.explanations import EXPLANATIONS
from topo.result import Result


def test_every_class_of_answers_is_explained() -> None:
    assert set(result_classes()) == set(EXPLANATIONS)


@pytest.mark.parametrize("name", sorted(EXPLANATIONS))
def test_clauses_read_as_sentences(name: str) -> None:
    what, assumes, changes = EXPLANATIONS[name]
    for clause in (what, assumes, changes):
        assert clause.strip() == clause and clause[-1] not in ".;:," and ". " not in clause
        assert len(clause.split()) >= 2
    assert what[0].isupper()
    assert assumes[0].islower() and changes[0].islower()
    assert len({what, assumes, changes}) == 3


def test_an_explanation_tells_number_standing_and_own_assumptions() -> None:
    fabric = topo.load("leaf-spine-2to1")
    found = topo.explain(topo.bisection_bandwidth(fabric))
    assert found.computed.endswith("bisection, one direction: 51.2 Tb/s, exact.")
    assert found.sentences == tuple(str(found).split("\n"))
    collisions = topo.ecmp_collisions(fabric, topo.traffic.permutation(fabric, seed=1), samples=8)
    assert collisions.assumptions
    assert collisions.assumptions[0].rstrip(". ").replace(". ", ", ") in topo.explain(collisions).assumes
    assert list(found.to_dict()) == ["of", "computed", "assumes", "changes"]


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(ParameterError, match="Fabric is no answer"):
        topo.explain(topo.load("leaf-spine-2to1"))  # type: ignore[arg-type]

    class Own(Result):
        pass

    with pytest.raises(ParameterError, match="Own has no explanation"):
        topo.explain(Own())
