"""A report as one HTML file: the template beside this module, filled with everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from topo.output import plain
from topo.report.content import Section

__all__ = ["html_page"]


def html_page(title: str, headline: str, sections: Sequence[Section]) -> str:
    """The page: no script, nothing loaded from elsewhere, the same text for the same report.

    Every text passes :func:`topo.output.plain` and the template's escaping; only the drawing, which
    escapes its own names, goes in as it is.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, finalize=_shown, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((files("topo.report") / "template.html").read_text("utf-8"))
    content = [
        {
            "key": section.key,
            "title": section.title,
            "contents": [(type(item).__name__, item) for item in section.items],
        }
        for section in sections
    ]
    return template.render(title=title, headline=headline, sections=content, made_with=_made_with())


def _made_with() -> str:
    try:
        return f"Made with topo {version('topo-fabrics')}"
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "Made with topo"


def _shown(value: Any) -> Any:
    """Plain text with nothing hidden in it; markup that was declared safe stays."""
    if type(value) is str:
        return plain(value)
    return plain(str(value)) if value is not None and not hasattr(value, "__html__") else value
