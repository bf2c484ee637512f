"""Columns: coded text, constants that cost nothing, globs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topo.errors import FabricError, ParameterError
from topo.fabric import NodeTable
from topo.table import Labels, check_rows, freeze, glob_mask, repeated

words = st.lists(st.one_of(st.none(), st.text(min_size=1, max_size=5).filter(lambda s: "\0" not in s)), max_size=20)


@given(words)
def test_labels_keep_every_text(values: list[str | None]) -> None:
    column = Labels.of(values)
    assert column.values().tolist() == [value or "" for value in values]
    assert [column[i] for i in range(len(column))] == [value or "" for value in values]
    assert column.equals(pickle.loads(pickle.dumps(column)))
    assert column.take(np.arange(len(column))[::-1]).values().tolist() == [value or "" for value in values][::-1]


def test_order_of_the_label_table_does_not_matter() -> None:
    a = Labels([0, 1, -1], ["x", "y"])
    b = Labels([1, 0, -1], ["y", "x"])
    assert a.equals(b)
    assert not a.equals(Labels([0, 1, 0], ["x", "y"]))
    assert a.is_any("y").tolist() == [False, True, False]
    assert a.matches("*").tolist() == [True, True, False]


@pytest.mark.parametrize("codes", [[-2], [1], [5, 0]])
def test_codes_outside_the_table_are_refused(codes: list[int]) -> None:
    with pytest.raises(FabricError, match="outside the table of 1 labels"):
        Labels(codes, ["only"])


def test_labels_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="read-only"):
        Labels.of(["a"]).codes = np.array([0])  # type: ignore[misc]


def test_a_constant_column_takes_no_memory_and_survives_pickle() -> None:
    table = NodeTable(name=np.array(["n"] * 1000))
    assert table.tier.strides == (0,)
    again = pickle.loads(pickle.dumps(table))
    assert again.tier.strides == (0,)
    assert again.equals(table)
    assert freeze(repeated(3, 10)).strides == (0,)


def test_globs_are_case_sensitive_and_take_names_with_brackets() -> None:
    names = np.array(["Leaf-1", "leaf-1", "leaf-[1]", "leaf-2"])
    assert glob_mask(names, "leaf-?").tolist() == [False, True, False, True]
    assert glob_mask(names, "leaf-[1]").tolist() == [False, True, True, False]
    assert glob_mask(names, ["Leaf*", "leaf-2"]).tolist() == [True, False, False, True]


def test_take_and_frame() -> None:
    table = NodeTable(name=np.array(["a", "b"]), rail=Labels.of(["r1", None]))
    assert table.take([1]).name.tolist() == ["b"]
    assert table.take(np.array([True, False])).rail.values().tolist() == ["r1"]
    assert table.to_frame([1]).to_dict("records")[0]["rail"] == ""
    assert not table.equals(table.take([1, 0]))


@pytest.mark.parametrize(("rows", "message"), [([3], "row 3 is outside the 3 links"), ([0.5], "must be integers")])
def test_rows_are_checked(rows: list[float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_rows(np.array(rows), 3, "links")


def test_one_row_alone_is_a_selection_of_one() -> None:
    assert check_rows(np.array(2), 3, "links").tolist() == [2]
    with pytest.raises(ParameterError, match="row 3 is outside the 3 links"):
        check_rows(np.array(3), 3, "links")
