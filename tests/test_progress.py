"""How far work has come: nested shares, loops that stop early, work that ends in any order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import topo
from topo.progress import Course, counted, part, solving, steps, watched
from topo.sweep import sweep


def test_loops_inside_parts_share_what_the_part_has() -> None:
    seen = []
    with watched() as course:
        with part("first", 0.5):
            for _ in steps(range(2)):
                for _ in steps("ab", "letters"):
                    seen.append((course.share, course.doing))
        with part("second", 0.5):
            seen.append((course.share, course.doing))
        seen.append((course.share, course.doing))
        with part("third", 1.0):
            pass
        seen.append((course.share, course.doing))
    assert seen == [
        (0.0, "letters"), (0.125, "letters"), (0.25, "letters"), (0.375, "letters"), (0.5, "second"), (0.75, ""),
        (1.0, ""),
    ]  # fmt: skip


def test_a_loop_that_stops_early_and_one_that_fails_leave_the_rest_in_order() -> None:
    with watched() as course:
        with part("loop", 0.4):
            for item in steps(range(10)):
                if item == 3:
                    break
        assert course.share == pytest.approx(0.4)
        with pytest.raises(ZeroDivisionError), part("fails", 0.5):
            for item in steps(range(2)):
                item / 0
        assert course.share == pytest.approx(0.7) and course.end == 1.0 and course.doing == ""


def test_nothing_is_kept_where_nobody_watches() -> None:
    with part("x", 0.5), counted(3) as count:
        count(2)
        assert list(steps([1, 2, 3])) == [1, 2, 3]
    with watched() as course:
        assert list(steps([])) == [] and course.share == 0.0 and course.left_s() is None


def test_a_single_run_is_named_with_its_size_and_promises_no_time() -> None:
    seen = []
    with watched() as course:
        with part("whole", 0.5), solving("program of 3 flows") as told:
            seen.append((course.share, course.doing, course.left_s()))
            told("2 % apart")
            seen.append((course.share, course.doing, course.left_s()))
        with pytest.raises(ZeroDivisionError), solving("fails"):
            seen.append(1 / 0)
        assert course.share == pytest.approx(0.5) and course.doing == ""
    assert seen == [(0.0, "program of 3 flows", None), (0.0, "2 % apart: program of 3 flows", None)]
    with solving("nobody watches") as told:
        told("nothing")


def test_solvers_say_what_they_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(Course, "__setattr__", lambda self, key, value: (
        told.append(value) if key == "doing" else None, object.__setattr__(self, key, value)))  # fmt: skip
    fabric = topo.jellyfish(16, 5, 3, seed=3)
    with watched():
        topo.throughput(fabric, topo.traffic.permutation(fabric, seed=1), routing="optimal")
    assert any(line.startswith("linear program of ") for line in told)
    monkeypatch.setattr("topo.analysis.throughput.optimal.MOST_VARIABLES", 0)
    with watched():
        topo.throughput(fabric, topo.traffic.permutation(fabric, seed=1), routing="optimal", accuracy=1e-4)
    gaps = [line for line in told if line.startswith("bounds ") and ": certified descent over " in line]
    assert gaps and "step 50 of at most " in gaps[0]


def test_the_time_left_is_that_of_the_rate_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    course = Course()
    course.enter(1.0, "")
    clock[0] += 6.0
    assert course.left_s() is None
    course.reach(0.25)
    assert course.left_s() == pytest.approx(18.0)
    course.reach(0.1)  # never back
    assert course.share == 0.25


def _task(shared: list[float], items: Sequence[int], generator: np.random.Generator) -> Any:
    return len(items)


def test_sweeps_tell_how_far_they_are_here_and_elsewhere() -> None:
    with watched() as course:
        shares: list[float] = []
        sweep(_task, None, range(8), batch=2, workers=1, progress=lambda _: shares.append(course.share))
        assert shares == [0.0, 0.25, 0.5, 0.75] and course.share == 1.0
    with watched() as course, ThreadPoolExecutor(1) as pool:
        shares = []
        sweep(_task, None, range(8), batch=2, executor=pool, progress=lambda _: shares.append(course.share))
        assert shares == [0.0, 0.25, 0.5, 0.75] and course.share == 1.0


@pytest.mark.parametrize("ask", [
    lambda fabric: topo.make_report(fabric, sections=["bisection", "failures", "goodput"]),
    lambda fabric: topo.survivability(fabric, kinds=["switch"]),
    lambda fabric: topo.validate(fabric.without(links=[100, 110])),
    lambda fabric: topo.ecmp_remedies(fabric, topo.traffic.permutation(fabric, seed=1), samples=64),
    lambda fabric: topo.compare_fabrics([fabric, fabric]),
])  # fmt: skip
def test_long_answers_tell_how_far_they_are(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    reach = Course.reach

    def recorded(self: Course, share: float) -> None:
        reach(self, share)
        told.append(self.share)

    monkeypatch.setattr(Course, "reach", recorded)
    with watched() as course:
        ask(topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8, parallel=2))
    assert told == sorted(told) and len(set(told)) > 1 and 0.8 < course.share < 1.001
