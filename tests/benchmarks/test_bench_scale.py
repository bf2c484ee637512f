"""Time and memory over size: the table of ``scale.py`` as a benchmark, with what was promised of it.

Run alone with ``python -m pytest tests/benchmarks/test_bench_scale.py -s``: takes minutes and up to 20 GiB.
"""

from __future__ import annotations

from typing import Any

import pytest
from scale import MOST_GIB, QUESTIONS, SIZES, in_own_process, table, written

MINUTES = 300.0
FOUND: dict[int, dict[str, Any]] = {}


@pytest.mark.parametrize("size", sorted(SIZES))
def test_every_question_at_every_size(record, size: int) -> None:  # type: ignore[no-untyped-def]
    one = FOUND[size] = in_own_process(size)
    assert one["endpoints"] == size
    assert one["links"] == 3 * size
    # Non-blocking: half the endpoints at 400 Gb/s across the cut, and uniform traffic at the line rate.
    assert one["bisection_gbps"] == [size // 2 * 400, size // 2 * 400]
    assert one["theta"] == pytest.approx(1.0)
    assert one["n_evaluated"] <= 10 < one["n_elements"]
    assert one["gib"] < MOST_GIB - 1
    assert max(one["seconds"].values()) < MINUTES
    for question in QUESTIONS:
        record(f"{question}, {size:,} endpoints", "topo", one["seconds"][question], f"{one['gib']:.2f} GiB peak")


def test_growth_is_close_to_linear() -> None:
    if len(FOUND) < len(SIZES):
        pytest.skip("takes all sizes in one run")
    first, last = 131_072, 1_048_576
    for question in ("build", "inventory", "bisection", "ECMP all-to-all", "report"):
        growth = FOUND[last]["seconds"][question] / FOUND[first]["seconds"][question]
        assert growth < 3 * last / first, question
    print("\n" + table(FOUND))


def test_the_block_is_replaced_between_its_markers() -> None:
    assert written("a\n<!-- scale -->\nold\n<!-- /scale -->\nb\n", "new\n") == (
        "a\n<!-- scale -->\nnew\n<!-- /scale -->\nb\n"
    )
    with pytest.raises(ValueError, match="scale"):
        written("nothing", "new")
