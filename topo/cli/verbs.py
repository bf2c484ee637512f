"""What every verb has beside its own options: ``--quiet``, ``--output``, ``--explain``, and a sign of life."""

from __future__ import annotations

import functools
import inspect
import io
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from topo.cli.options import Explain, Output
from topo.cli.printing import answers_told, explanations_text
from topo.cli.waiting import sign_of_life
from topo.errors import ParameterError

__all__ = ["shared_options", "with_shared_options"]

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors; files are written, the exit status tells.")
]
_SHARED: dict[str, tuple[Any, Any]] = {"output": (Output, None), "explain": (Explain, False), "quiet": (Quiet, False)}
_NO_ANSWER = frozenset({"completion", "convert", "doctor", "list", "schema", "template"})
"""Verbs that compute no single answer which could be explained."""
_EXPLAIN_THEMSELVES = frozenset({"map", "report"})
"""Verbs that put explanations into the file they write."""

_OUTPUT_OF = {"place": "write"}
"""Verbs whose ``--output`` is where another option's file goes; without that option it takes the answer."""


def shared_options(name: str, function: Callable[..., None]) -> dict[str, inspect.Parameter]:
    """The options that a verb gets beside its own, by parameter name."""
    own = inspect.signature(function).parameters
    found = {}
    for key, (kind, default) in _SHARED.items():
        left_out = (key == "explain" and name in _NO_ANSWER) or (key == "output" and "out" in own)
        if key not in own and not left_out:
            found[key] = inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    return found


def with_shared_options(name: str, function: Callable[..., None]) -> Callable[..., None]:
    """The verb with the options that all verbs share; those it has itself stay its own."""
    added = shared_options(name, function)
    own = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True)
    parameters = [
        p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values()
    ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        quiet = given.pop("quiet", False)
        output = given.pop("output") if "output" in added else None
        if name in _OUTPUT_OF and given[_OUTPUT_OF[name]] is None:
            output, given["output"] = given["output"], None
        explain = given.pop("explain") if "explain" in added else bool(given.get("explain"))
        explain = explain and name not in _EXPLAIN_THEMSELVES
        if explain and given.get("format") not in (None, "text", "json"):
            raise ParameterError(f"--explain goes with --format text and json, not {given['format']}")
        _run(name, lambda: function(**given), output, quiet, explain)

    run.__signature__ = own.replace(parameters=[*parameters, *added.values()])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
    return run


def _run(name: str, verb: Callable[[], None], output: str | None, quiet: bool, explain: bool) -> None:
    """Run a verb with what it prints where it belongs; its exit status passes once that is written."""
    status: typer.Exit | None = None
    to_file = output not in (None, "-")
    # A sign of life and an answer must not share a line: where there may be a sign, the answer waits for its end.
    waits = sys.stderr.isatty() and name != "convert"
    if not (to_file or quiet or explain or waits):
        with sign_of_life(name):
            verb()
        return
    kept = _Kept(is_terminal=sys.stdout.isatty() and not to_file)
    with redirect_stdout(kept), nullcontext() if quiet else sign_of_life(name), answers_told() as told:
        try:
            verb()
        except typer.Exit as stop:
            status = stop
    text = _explained(kept.text(), told) if explain else kept.text()
    if to_file:
        from topo.output import plain, write_whole

        write_whole(str(output), kept.data() if not explain else text)
        text = plain(f"The answer is in {Path(str(output))}") + "\n"
    if not quiet:
        sys.stdout.write(text)
    if status is not None:
        raise status


class _Kept(io.TextIOWrapper):
    """What a verb prints, as text and as the bytes it would be."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._bytes = io.BytesIO()
        self._is_terminal = is_terminal
        super().__init__(self._bytes, encoding="utf-8", errors="surrogateescape", newline="", write_through=True)

    def isatty(self) -> bool:
        """Whether it ends up on a terminal."""
        return self._is_terminal

    def data(self) -> bytes:
        """The bytes."""
        self.flush()
        return self._bytes.getvalue()

    def text(self) -> str:
        """The text."""
        return self.data().decode("utf-8", "surrogateescape")


def _explained(text: str, told: list[Any]) -> str:
    """An answer with its explanations: a key more in JSON, a part more for people."""
    from topo.report.explaining import explain

    found = [explain(result) for result in told]
    if not text.startswith("{"):
        return text + explanations_text(found)
    said = json.loads(text)
    said["explanations"] = [one.to_dict() for one in found]
    return json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
