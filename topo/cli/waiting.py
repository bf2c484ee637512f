"""A sign of life on standard error while a verb takes its time, where that is a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["hidden_sign", "sign_of_life"]

AFTER_S = 2.0
"""Nobody needs to be told about less."""
_EVERY_S = 0.5
_hidden = threading.Event()


@contextmanager
def sign_of_life(name: str) -> Iterator[None]:
    """After two seconds a line on standard error that says what runs and for how long; silent without a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done, began, stream = threading.Event(), time.monotonic(), sys.stderr

    def tick() -> None:
        shown = False
        wait = AFTER_S
        while not done.wait(wait):
            wait = _EVERY_S
            if _hidden.is_set():
                shown = False
                continue
            stream.write(f"\r\x1b[2Ktopo {name}: {time.monotonic() - began:,.0f} s so far, time left not known yet")
            stream.flush()
            shown = True
        if shown:
            stream.write("\r\x1b[2K")
            stream.flush()

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()


@contextmanager
def hidden_sign() -> Iterator[None]:
    """While a bar with the time left stands there, the plain sign does not."""
    _hidden.set()
    try:
        yield
    finally:
        _hidden.clear()
