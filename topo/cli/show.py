"""``topo show``: what a fabric is, where it narrows, where its numbers come from, whether they hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topo.cli.options import FabricName, Format, FormatOption, Seed
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

if TYPE_CHECKING:
    from topo.errors import TopoError
    from topo.fabric import Fabric
    from topo.result import Result

__all__ = ["show"]

_MOST_NOTES = 12

Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE.svg", help="Draw the fabric as its family is drawn, to this file."),
]


@reads_fabrics
def show(
    fabric: FabricName,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:
    """Show what a fabric is made of, where it narrows, and its published numbers against the built ones."""
    from topo.analysis.buildable import buildable
    from topo.analysis.inventory import inventory
    from topo.analysis.oversubscription import oversubscription
    from topo.analysis.published import published_numbers
    from topo.cli.printing import print_json
    from topo.errors import TopoError

    loaded = reading.load(fabric)
    if plot is not None:
        _draw(loaded, plot)
    answers: dict[str, Result | TopoError] = {}
    questions: dict[str, Callable[[], Result]] = {
        "inventory": lambda: inventory(loaded, seed=seed),
        "oversubscription": lambda: oversubscription(loaded),
        "buildable": lambda: buildable(loaded),
    }
    for name, ask in questions.items():
        try:
            answers[name] = ask()
        except TopoError as error:
            answers[name] = error
    if loaded.origin.expect:
        answers["expected"] = published_numbers(loaded)
    if format is Format.json:
        said = {name: {"error": str(a)} if isinstance(a, TopoError) else a for name, a in answers.items()}
        print_json({"fabric": _identity(loaded), **said})
        return
    _print_text(loaded, answers)


def _draw(fabric: Fabric, path: Path) -> None:
    """The picture that suits the fabric, to a file."""
    from topo.output import write_whole
    from topo.view.family import draw_fabric

    write_whole(path, draw_fabric(fabric).svg)


def _identity(fabric: Fabric) -> dict[str, Any]:
    origin = fabric.origin
    return {
        "name": fabric.name,
        "title": origin.title,
        "made_by": origin.made_by,
        "sources": origin.sources,
        "assumptions": origin.assumptions,
        "notes": origin.notes,
        "assumed": origin.assumed,
        "digest": fabric.digest,
    }


def _print_text(fabric: Fabric, answers: dict[str, Result | TopoError]) -> None:
    from topo.analysis.published import PublishedNumbers
    from topo.cli.printing import print_alerts, print_heading, print_lines, print_result
    from topo.errors import TopoError
    from topo.output import plain

    origin = fabric.origin
    print(plain(f"{fabric.name}: {origin.title}" if origin.title else fabric.name))
    print_alerts(fabric)
    expected = answers.get("expected")
    if isinstance(expected, PublishedNumbers) and expected.n_differing:
        print_lines([f"WARNING: {expected.counts_text} {expected.differences_text}"])
    print_lines([f"made by {origin.made_by}"] if origin.made_by else [])
    print_lines(f"source: {source}" for source in origin.sources)
    for name, answer in answers.items():
        if isinstance(answer, TopoError):
            print_heading(name.capitalize())
            print_lines([f"not computed: {answer}"])
        else:
            print_result(answer)
    if origin.assumptions:
        print_heading("Assumptions")
        print_lines(origin.assumptions)
    if origin.notes:
        print_heading(f"Notes ({len(origin.notes):,})")
        print_lines(map(str, origin.notes[:_MOST_NOTES]))
        more = len(origin.notes) - _MOST_NOTES
        print_lines([f"... {more:,} more; --format json has them all"] if more > 0 else [])
