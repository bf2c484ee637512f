"""A real headless Chromium that may ask nothing of anybody; tests skip, saying so, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def _missing(reason: str) -> None:
    if os.environ.get("TOPO_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser; ``.ci/run`` installs one where it can and then sets TOPO_BROWSER=required."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        _missing("no Chromium is installed: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed: pip install playwright")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Callable[..., Any]:
    """Opens a page's text from a file; fails at the end where it asked for anything or its console had a word."""

    @contextmanager
    def open_text(text: str, *, width: int = 1200, height: int = 900, dark: bool = False) -> Iterator[Any]:
        path = tmp_path / "page.html"
        path.write_text(text, "utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        page.set_default_timeout(15_000)
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        yield page
        context.close()
        assert not said, said
        assert asked == [path.as_uri()], asked

    return open_text
