"""YAML documents: plain data with lines, everything else refused where it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from topo.document import Document, nearest, parse_document, read_document
from topo.errors import InputError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    label: Literal["P", "S"]
    rate: float = 1.0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    hosts: int
    tags: tuple[str, ...] = ()
    items: list[Inner] = []
    by_key: dict[str, Inner] = {}
    either: int | list[int] = 0


GOOD = """\
name: x
hosts: 3
tags: [a, b]
items:
  - label: P
    rate: 2
by_key:
  one: {label: S}
either: [1, 2]
"""


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        parse_document(text, "f.yaml").checked(Outer)
    assert caught.value.path == "f.yaml"
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_good_document_becomes_the_model() -> None:
    found = parse_document(GOOD).checked(Outer)
    assert (found.name, found.hosts, found.tags, found.either) == ("x", 3, ("a", "b"), [1, 2])
    assert (found.items[0].rate, found.by_key["one"].label) == (2.0, "S")


def test_every_key_and_item_knows_its_line() -> None:
    document = parse_document(GOOD)
    lines = GOOD.splitlines()
    for place, line in document.lines.items():
        if place and isinstance(place[-1], str):
            assert f"{place[-1]}:" in lines[line - 1], place
    assert document.line(("items", 0)) == 5
    assert document.line(("items", 0, "rate")) == 6
    assert document.line(("items", 7, "nothing")) == 4  # the nearest thing around it


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("hosts: 3", "hots: 3", 2, "key hots: is not a key that is understood here; did you mean 'hosts'?"),
        ("hosts: 3", "hosts: three", 2, "key hosts: 'three' is not a whole number"),
        ("hosts: 3", "hosts: '3'", 2, "key hosts: '3' is not a whole number"),
        ("hosts: 3", "hosts: 3.5", 2, "key hosts: 3.5 is not a whole number"),
        ("hosts: 3", "hosts: true", 2, "key hosts: true is not a whole number"),
        ("hosts: 3", "hosts:", 2, "key hosts: nothing is not a whole number"),
        ("name: x", "name: 7", 1, "key name: 7 is not text"),
        ("tags: [a, b]", "tags: a", 3, "key tags: 'a' is not a list"),
        ("tags: [a, b]", "tags:\n  - a\n  - 1", 5, "key tags[2]: 1 is not text"),
        ("label: P", "label: p", 5, "key items[1].label: 'p' is not allowed; known: P, S"),
        ("rate: 2", "raet: 2", 6, "key items[1].raet: is not a key that is understood here; did you mean 'rate'?"),
        ("rate: 2", "rate: 400G", 6, "key items[1].rate: '400G' is not a number"),
        ("one: {label: S}", "one: {label: S, x: 1}", 8, "key by_key.one.x: is not a key"),
        ("one: {label: S}", "one: {}", 8, "key by_key.one.label: is missing"),
        ("either: [1, 2]", "either: [1, b]", 9, "key either[2]: 'b' is not a whole number"),
    ],
)
def test_what_does_not_fit_is_told_with_line_key_and_value(old: str, new: str, line: int, said: str) -> None:
    assert old in GOOD
    error = refusal(GOOD.replace(old, new))
    assert error.line == line
    assert said in str(error)


def test_a_missing_key_is_told() -> None:
    error = refusal(GOOD.replace("hosts: 3\n", ""))
    assert "key hosts: is missing" in str(error)


def test_a_document_that_is_no_mapping_is_told_what_keys_there_are() -> None:
    assert "keys with values (name, hosts, tags" in str(refusal("- 1\n- 2\n"))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "key a is there twice, first at line 1"),
        ("a:\n  c: 1\n  c: 2\n", 3, "key a.c is there twice, first at line 2"),
        ("a: &x [1]\nb: *x\n", 1, "anchors and aliases"),
        ("b: *x\n", 1, "anchors and aliases"),
        ("<<: *x\n", 1, "anchors and aliases"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "tags are not allowed"),
        ("a: !!int 3\n", 1, "tags are not allowed"),
        ("a: 1\n---\nb: 2\n", 2, "a second document"),
        ("? [1, 2]\n: 3\n", 1, "a key has to be plain text"),
        ("a: [1, 2\n", 2, "not valid YAML"),
        ("a: 1\n b: 2\n", 2, "not valid YAML"),
        ("a: \x07\n", 1, "not valid YAML"),
        ("a:\n\tb: 1\n", 2, "indent with spaces, YAML takes no tabs"),
        ("", None, "empty"),
        ("# only a remark\n", None, "empty"),
        ("a: " + "[" * 40 + "]" * 40, 1, "levels deep"),
    ],
)
def test_what_is_no_plain_document_is_refused(text: str, line: int | None, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        parse_document(text, "f.yaml")
    assert caught.value.line == line


def test_a_bomb_of_nested_aliases_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    with pytest.raises(InputError, match="anchors"):
        parse_document("\n".join(lines))


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("~", None),
        ("null", None),
        ("no", "no"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("0x10", "0x10"),
        ("2023-09-22", "2023-09-22"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ("'12'", "12"),
        ('"true"', "true"),
        ("400G", "400G"),
    ],
)
def test_plain_words(word: str, value: Any) -> None:
    found = parse_document(f"a: {word}").value["a"]
    assert found == value and type(found) is type(value)


def test_files(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    for data in (b"\xef\xbb\xbfa: 1\n", "a: 1\r\n".encode("utf-16"), b"\xfe\xff" + "a: 1".encode("utf-16-be")):
        good.write_bytes(data)
        assert read_document(good).value == {"a": 1}
    large = tmp_path / "large.yaml"
    large.write_text("a: " + "x" * 1000)
    with pytest.raises(InputError, match="larger than 100 bytes"):
        read_document(large, limit=100)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(InputError, match=r"binary\.yaml:2: not UTF-8"):
        read_document(binary)
    binary.write_bytes(b"\xff\xfea")
    with pytest.raises(InputError, match=r"binary\.yaml:1: not UTF-8"):
        read_document(binary)
    with pytest.raises(InputError, match="no such file"):
        read_document(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="this is a folder"):
        read_document(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_document("a\0b.yaml")


def test_nearest_says_nothing_of_long_lists_it_is_not_asked_to_show() -> None:
    known = [f"name{i}" for i in range(30)]
    assert nearest("zzz", known).endswith("name19 and 10 more")
    assert nearest("zzz", known, most=0) == ""
    assert nearest("name3x", known).startswith("; did you mean 'name3'")


WORDS = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(-1e9, 1e9) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(WORDS, PLAIN, max_size=5))
def test_json_reads_as_json_does(value: dict[str, Any]) -> None:
    assert parse_document(json.dumps(value, indent=1)).value == value


@given(st.text() | st.lists(st.sampled_from(list("a:-[]{}&*!#?|>'\"%@`,\n\t 0")), max_size=40).map("".join))
def test_any_text_is_a_document_or_an_input_error(text: str) -> None:
    try:
        document = parse_document(text)
    except InputError as error:
        assert error.line is None or 1 <= error.line <= text.count("\n") + text.count("\r") + 3
        return
    assert isinstance(document, Document)
    with pytest.raises(InputError):
        document.checked(Outer)  # nothing this short is a whole Outer


def test_all_missing_keys_are_named_at_once() -> None:
    class Model(BaseModel):
        a: int
        b: int
        c: int

    with pytest.raises(InputError) as caught:
        parse_document("b: 1\n", "x.yaml").checked(Model)
    assert str(caught.value) == "x.yaml:1: keys a, c: are missing and have to be given"
    with pytest.raises(InputError, match=r"x\.yaml:1: key a: is missing and has to be given"):
        parse_document("b: 1\nc: 2\n", "x.yaml").checked(Model)
