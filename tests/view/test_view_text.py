"""Words and orders that every table and picture uses, over names from outside."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topo.view.text import natural_key


@given(st.lists(st.text(st.sampled_from("lef-0129²٣é "), max_size=8) | st.text(max_size=8), max_size=12))
def test_any_names_have_a_natural_order(names: list[str]) -> None:
    """It is one order, however they come, and equal only where they are."""
    ordered = sorted(set(names), key=natural_key)
    assert sorted([*ordered[1::2], *ordered[::2]], key=natural_key) == ordered
    assert len({natural_key(name) for name in ordered}) == len(ordered)


def test_numbers_go_by_their_size() -> None:
    long = "9" * 5_000
    names = ["leaf-10", "leaf-٣lx", f"leaf-{long}", "leaf-²", "leaf-2", "leaf-02", "leaf"]
    assert sorted(names, key=natural_key) == [
        "leaf", "leaf-02", "leaf-2", "leaf-10", f"leaf-{long}", "leaf-²", "leaf-٣lx"
    ]  # fmt: skip
