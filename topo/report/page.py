"""A report as one HTML file: the template beside this module, filled with everything escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from topo.output import plain
from topo.report.content import Map, Section, Text
from topo.view.map_data import FabricMap

__all__ = ["html_page", "map_page"]

_PAGES = {
    "Summary": ("goodput", "measured", "main-numbers"),
    "Structure": ("tiers", "map", "fabric", "published", "inventory", "paths"),
    "Capacity": ("oversubscription", "bisection", "throughput"),
    "Collisions": ("collisions",),
    "Failures": ("failures",),
    "Placement": ("placement",),
    "Step": ("step",),
    "Wiring": ("wiring", "bill"),
    "Notes and assumptions": ("notes", "assumptions", "explained"),
}
_PAGE_OF = {key: page for page, keys in _PAGES.items() for key in keys}
_POLICY_MARK = "policy-is-filled-in-last"


def html_page(title: str, headline: str, sections: Sequence[Section]) -> str:
    """The page: nothing loaded from elsewhere, the same text for the same report; it reads and prints without scripts.

    Every text passes :func:`topo.output.plain` and the template's escaping; only drawings, which
    escape their own names, and scripts of ours go in as they are. The policy in its head allows these scripts and
    styles by their hashes, and no request at all.
    """
    has_map = any(isinstance(item, Map) for section in sections for item in section.items)
    scripts = [_script("tables.js"), *([_d3(), _script("map.js")] if has_map else [])]
    pages = [
        {"title": page, "sections": [_plain_section(section) for section in some]}
        for page, some in groupby(sections, key=lambda section: _PAGE_OF.get(section.key, ""))
    ]
    return _filled(title=title, headline=headline, pages=pages, scripts=scripts, alone=False)


def map_page(title: str, content: FabricMap, explained: Sequence[str] = ()) -> str:
    """The map alone, as high as the window, with sentences under it that explain it."""
    section = _plain_section(Section("map", "Map", [Map(content), *map(Text, explained)]))
    pages = [{"title": "", "sections": [section]}]
    scripts = [_d3(), _script("map.js")]
    return _filled(title=title, headline=content.alt, pages=pages, scripts=scripts, alone=True)


def _plain_section(section: Section) -> dict[str, Any]:
    contents = [(type(item).__name__, item) for item in section.items]
    return {"key": section.key, "title": section.title, "contents": contents}


def _filled(**given: Any) -> str:
    """The template with the content, then with the policy over the styles and scripts that it came to hold."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, finalize=_shown, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    template = environment.from_string((files("topo.report") / "template.html").read_text("utf-8"))
    text = template.render(**given, made_with=_made_with(), policy=_POLICY_MARK)
    return text.replace(_POLICY_MARK, _policy(text, given["scripts"]), 1)


def _policy(text: str, scripts: Sequence[str]) -> str:
    """A Content-Security-Policy that forbids every request; a name cannot hold a tag, so all styles found are ours."""
    styles = dict.fromkeys(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    return (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {' '.join(map(_hash, styles))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _script(name: str) -> str:
    return (files("topo.report") / name).read_text("utf-8")


@cache
def _d3() -> str:
    """D3 as its package ships it, behind the notice that its licence wants kept."""
    from xstatic.pkg import d3

    notice = (files("topo.report") / "d3-notice.txt").read_text("utf-8")
    return f"/*\n{notice}*/\n" + (Path(d3.BASE_DIR) / "d3.js").read_text("utf-8")


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
