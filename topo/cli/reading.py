"""How every verb that takes a FABRIC reads it: one set of options, several files joined as one fabric."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from topo.cli.options import AssumeGbps, ReadAs

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["PLAINLY", "Reading", "reads_fabrics"]

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="ROLE=HEADER,...",
        help="Columns of a cable table with a header of its own, by text or number: "
        "a_node=Von,a_port=2,z_node=Nach,z_port=4; beside these a_ and z_ rack, unit, slot, kind, part, mac, "
        "description, and speed, length, cable. Used for every file that has them.",
    ),
]
_HOSTS = "Nodes that are hosts, where a file does not say; may be repeated."
HostNames = Annotated[list[str] | None, typer.Option("--host-names", "--hosts", metavar="GLOB", help=_HOSTS)]
_HostNamesAlone = Annotated[list[str] | None, typer.Option("--host-names", metavar="GLOB", help=_HOSTS)]
Levels = Annotated[
    str | None,
    typer.Option("--levels", metavar="LABEL,...", help="Labels of Kubernetes nodes that name tiers, highest first."),
]
OneSided = Annotated[
    bool,
    typer.Option(
        "--one-sided",
        help="Take links that only one end reported as there; else they carry nothing.",
    ),
]
_OPTIONS: dict[str, Any] = {
    "assume_gbps": AssumeGbps,
    "read_as": ReadAs,
    "columns": Columns,
    "host_names": HostNames,
    "levels": Levels,
    "one_sided": OneSided,
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the command line says of how files are read."""

    assume_gbps: str | None = None
    read_as: str | None = None
    columns: str | None = None
    host_names: list[str] | None = None
    levels: str | None = None
    one_sided: bool = False

    def load(self, fabric: str | Sequence[str]) -> Fabric:
        """The fabric of one name or file, or that several files make together."""
        from topo.source import load

        names = [fabric] if isinstance(fabric, str) else list(fabric)
        return load(names, assume_gbps=self.assume_gbps, format=self.read_as, one_sided=self.one_sided, **self.tables())

    def tables(self) -> dict[str, Any]:
        """The options for tables and bare graphs, as keywords of the library."""
        from topo.cli.validating import columns_of

        levels = [label.strip() for label in self.levels.split(",")] if self.levels else None
        return {"columns": columns_of(self.columns), "hosts": self.host_names or None, "levels": levels}


PLAINLY = Reading()
"""No option given."""


def reads_fabrics(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with an option for each field of :class:`Reading` in the place of its parameter ``reading``."""
    hints = get_type_hints(verb, include_extras=True)
    parameters: list[inspect.Parameter] = []
    own = inspect.signature(verb).parameters
    # 'topo place --hosts' is the size of the job.
    kinds = _OPTIONS | ({"host_names": _HostNamesAlone} if "hosts" in own else {})
    if "against" in own:
        # A link that one end reports is a finding of its own there.
        kinds = {key: kind for key, kind in kinds.items() if key != "one_sided"}
    for name, parameter in own.items():
        if name == "reading":
            parameters += [
                inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=getattr(PLAINLY, key), annotation=kind)
                for key, kind in kinds.items()
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(verb)
    def run(**given: Any) -> None:
        reading = Reading(**{key: given.pop(key) for key in _OPTIONS if key in given})
        verb(**given, reading=reading)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
