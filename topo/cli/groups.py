"""The program as a whole: its verbs in groups in the help, each with the options that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from topo.cli.verbs import with_shared_options

__all__ = ["GROUPS", "GroupedVerbs", "Program"]

GROUPS: dict[str, tuple[str, ...]] = {
    "What a fabric is": ("list", "show", "map", "report", "compare"),
    "What it carries": ("bisect", "throughput", "ecmp", "fail"),
    "What a job gets": ("goodput", "collective", "step", "place"),
    "Choosing and building": ("design", "plan", "validate", "repair", "convert"),
    "The program itself": ("template", "schema", "completion", "doctor"),
}
"""Verbs by what people are after, in the order of the help."""


class GroupedVerbs(TyperGroup):
    """Help that lists the verbs group by group."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Verbs in the order of their groups."""
        order = [name for names in GROUPS.values() for name in names]
        known = super().list_commands(ctx)
        return [name for name in order if name in known] + [name for name in known if name not in order]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section a group, verbs aligned over all of them."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        grouped = {name for group in GROUPS.values() for name in group}
        sections = {**GROUPS, "More": tuple(name for name in names if name not in grouped)}
        for title, members in sections.items():
            lines = [
                (name.ljust(width), self.commands[name].get_short_help_str(formatter.width))
                for name in members
                if name in names
            ]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


class Program(typer.Typer):
    """A Typer whose verbs get the shared options as they are added."""

    def command(  # type: ignore[override]
        self, name: str | None = None, **given: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """As a Typer's own; the function is left as it is."""
        add = super().command(name, **given)

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            add(with_shared_options(name or function.__name__, function))
            return function

        return added
