"""A sign of life on standard error while a verb takes its time, with the time left, where that is a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from topo.progress import Course, watched

__all__ = ["sign_of_life"]

AFTER_S = 2.0
"""Nobody needs to be told about less."""
_EVERY_S = 0.5
_CLEAR = "\r\x1b[2K"
_MINUTE_S = 120.0


@contextmanager
def sign_of_life(name: str) -> Iterator[None]:
    """After two seconds a line on standard error: for how long, how long still, and at what; silent elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    done, began, stream = threading.Event(), time.monotonic(), sys.stderr
    with watched() as course:

        def tick() -> None:
            shown = False
            wait = AFTER_S
            while not done.wait(wait):
                wait = _EVERY_S
                width = shutil.get_terminal_size().columns
                stream.write(_CLEAR + said(name, time.monotonic() - began, course)[: width - 1])
                stream.flush()
                shown = True
            if shown:
                stream.write(_CLEAR)
                stream.flush()

        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()


def said(name: str, spent_s: float, course: Course) -> str:
    """The line: the verb, seconds spent, the time left by the rate so far, what is being done.

    >>> said("bisect", 3.0, Course())
    'topo bisect: 3 s so far, time left not known yet'
    """
    left = course.left_s()
    told = "time left not known yet" if left is None else f"about {_span(left)} left"
    return f"topo {name}: {_span(spent_s)} so far, {told}" + (f" ({course.doing})" if course.doing else "")


def _span(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < _MINUTE_S else f"{seconds / 60:,.0f} min"
