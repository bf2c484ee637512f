"""How far a piece of work has come: loops tell it where they run, whoever watches reads it, else nothing happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["Course", "counted", "part", "solving", "steps", "watched"]

_Item = TypeVar("_Item")


class Course:
    """The share of the work that is done, from 0 to 1, and what is being done; it never goes back.

    Work lies inside work: a loop of ten items inside the second of two parts takes the share from 0.5 to 1. What tells
    nothing of itself stands still until the work around it goes on.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self.doing = ""
        self._began = 0.0
        self._ends = [1.0]

    def left_s(self) -> float | None:
        """Seconds left if it goes on as fast as until now; None where that is not known yet."""
        if self.share <= 0.0:
            return None
        return (time.monotonic() - self._began) * (1 - self.share) / self.share

    def enter(self, end: float, doing: str) -> str:
        """Begin what takes the work up to the share ``end``; returns what was being done."""
        if not self._began:
            self._began = time.monotonic()
        self._ends.append(end)
        before, self.doing = self.doing, doing or self.doing
        return before

    def leave(self, doing: str) -> None:
        """End what was begun last, and go on with ``doing``."""
        self.reach(self._ends.pop())
        self.doing = doing

    def reach(self, share: float) -> None:
        """The work is done up to this share."""
        self.share = max(self.share, min(share, 1.0))

    @property
    def end(self) -> float:
        """The share that is reached when the work at hand is done."""
        return self._ends[-1]


_course: ContextVar[Course | None] = ContextVar("course", default=None)


@contextmanager
def watched() -> Iterator[Course]:
    """Watch what runs meanwhile; another thread may read the course.

    >>> with watched() as course:
    ...     for _ in steps(range(4), "squares"):
    ...         print(course.share, course.doing)
    0.0 squares
    0.25 squares
    0.5 squares
    0.75 squares
    """
    course = Course()
    token = _course.set(course)
    try:
        yield course
    finally:
        _course.reset(token)


@contextmanager
def part(doing: str, until: float) -> Iterator[None]:
    """What runs inside takes the work at hand up to ``until``, a share of all that is left of it here."""
    course = _course.get()
    if course is None:
        yield
        return
    before = course.enter(course.share + until * (course.end - course.share), doing)
    try:
        yield
    finally:
        course.leave(before)


@contextmanager
def solving(what: str) -> Iterator[Callable[[str], None]]:
    """Name a single piece of work that cannot tell how far it is, a solver's run: the share stands still meanwhile.

    ``what`` says what is solved and its size. What is yielded takes what is known on the way, as how far bounds are
    apart; that is said first, as a line may be cut short.

    >>> with watched() as course, solving("linear program of 40 flows") as told:
    ...     told("2 % apart")
    ...     print(course.share, course.doing)
    0.0 2 % apart: linear program of 40 flows
    """
    course = _course.get()
    if course is None:
        yield lambda known: None
        return
    before, course.doing = course.doing, what
    try:
        yield lambda known: setattr(course, "doing", f"{known}: {what}")
    finally:
        course.doing = before


def steps(items: Collection[_Item], doing: str = "") -> Iterator[_Item]:
    """The items, each as much work as any other; together they take all that is left of the work at hand."""
    course = _course.get()
    if course is None or not items:
        yield from items
        return
    low, high = course.share, course.end
    for i, item in enumerate(items, 1):
        before = course.enter(low + (high - low) * i / len(items), doing)
        try:
            yield item
        finally:
            course.leave(before)


@contextmanager
def counted(total: int, doing: str = "") -> Iterator[Callable[[int], None]]:
    """What runs inside tells how many of ``total`` are done, for work whose items end in any order."""
    course = _course.get()
    if course is None or total < 1:
        yield lambda done: None
        return
    low, high = course.share, course.end
    before = course.enter(high, doing)
    try:
        yield lambda done: course.reach(low + (high - low) * done / total)
    finally:
        course.leave(before)
