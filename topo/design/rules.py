"""The rules by which racks are filled and cables run, as a checked YAML file states them or as they are by default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from topo.document import read_document
from topo.errors import InputError
from topo.parts.media import MEDIUM_ORDER
from topo.parts.sizes import BoxSize

__all__ = ["BoxRule", "CableRule", "HallRule", "MediumKind", "PlaceRule", "RackRule", "RackRules", "read_rack_rules"]

MediumKind = Literal["copper", "active_copper", "active_optical", "multimode", "single_mode"]
_Name = Annotated[str, Field(min_length=1, max_length=64)]


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RackRule(_Rule):
    """One rack: usable units, power in kW, and how many switches a rack of switches holds at most."""

    units: int = Field(default=48, ge=4, le=70)
    power_kw: float = Field(default=44.0, gt=0, le=1000)
    switches: int = Field(default=16, ge=1, le=60)
    closed_kw: float = Field(default=150.0, gt=0, le=1000)


class HallRule(_Rule):
    """The floor: racks a row, width of a rack, distance from row to row, and how many racks there may be."""

    racks_per_row: int = Field(default=20, ge=1, le=1000)
    most_racks: int | None = Field(default=None, ge=1)
    rack_width_m: float = Field(default=0.6, gt=0, le=5)
    row_pitch_m: float = Field(default=3.0, gt=0, le=100)
    tray_m: float = Field(default=0.5, ge=0, le=10)


class CableRule(_Rule):
    """How cables run: slack in percent of the route and in metres at each end, and the media that are bought."""

    slack_percent: float = Field(default=5.0, ge=0, le=100)
    slack_m: float = Field(default=0.5, ge=0, le=20)
    media: tuple[MediumKind, ...] = Field(default=("copper", "multimode", "single_mode"), min_length=1)


class BoxRule(_Rule):
    """Size and power of boxes, without pluggable optics."""

    units: int = Field(ge=1, le=70)
    power_kw: float = Field(ge=0, le=1000)


class PlaceRule(_Rule):
    """Boxes, by a glob over their names, that stand in a named rack; its row and position where they are fixed."""

    boxes: _Name
    rack: _Name
    row: int | None = Field(default=None, ge=1, le=10_000)
    position: int | None = Field(default=None, ge=1, le=1000)


class RackRules(_Rule):
    """Where boxes stand and how cables run; what a file leaves out is as by default.

    ``leaf`` is where leaves stand: ``top`` of the rack of their hosts, at the ``end_of_row`` or in the
    ``middle_of_row`` of the racks of their unit; ``auto`` is the top where a leaf and all its hosts fit into one rack,
    else the end of the row. ``spine`` is the ``middle`` of the hall or its ``end``. ``boxes`` are sizes by glob over
    part, name or word (switch, host, storage, manager).

    >>> RackRules().rack.units, RackRules().cables.media
    (48, ('copper', 'multimode', 'single_mode'))
    """

    rack: RackRule = RackRule()
    hall: HallRule = HallRule()
    leaf: Literal["auto", "top", "end_of_row", "middle_of_row"] = "auto"
    spine: Literal["middle", "end"] = "middle"
    boxes: dict[_Name, BoxRule] = Field(default_factory=dict, max_length=1000)
    place: tuple[PlaceRule, ...] = Field(default=(), max_length=10_000)
    cables: CableRule = CableRule()

    def sizes(self) -> dict[str, BoxSize]:
        """The sizes that are stated, by glob."""
        return {
            name: BoxSize(name, rule.units, rule.power_kw, "stated", "the racks file")
            for name, rule in self.boxes.items()
        }

    @property
    def media(self) -> tuple[str, ...]:
        """The media that are bought, the shortest reach first."""
        return tuple(kind for kind in MEDIUM_ORDER if kind in self.cables.media)


def read_rack_rules(path: str | Path) -> RackRules:
    """The rules in a YAML file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "racks.yaml")
    ...     n = file.write_text("rack: {power_kw: 17.5}\\nleaf: end_of_row\\n")
    ...     rules = read_rack_rules(file)
    >>> rules.rack.power_kw, rules.rack.units, rules.leaf
    (17.5, 48, 'end_of_row')

    :raises InputError: no such file, or a key or a value that does not fit, with its line.
    """
    document = read_document(path)
    rules = document.checked(RackRules, what="a racks file", template="racks")
    fixed: dict[str, tuple[int, int]] = {}
    for i, one in enumerate(rules.place):
        if (one.row is None) != (one.position is None):
            raise document.error(("place", i), "row and position belong together; give both or neither")
        if one.row is None or one.position is None:
            continue
        here = (one.row, one.position)
        if fixed.setdefault(one.rack, here) != here:
            raise document.error(("place", i), f"rack {one.rack!r} stands at two places; keep one")
        if one.position > rules.hall.racks_per_row:
            most = rules.hall.racks_per_row
            raise document.error(("place", i), f"position is {one.position}, but a row has {most}; raise racks_per_row")
    _refuse_one_place(fixed, str(path))
    return rules


def _refuse_one_place(fixed: dict[str, tuple[int, int]], path: str) -> None:
    taken: dict[tuple[int, int], str] = {}
    for rack, place in fixed.items():
        other = taken.setdefault(place, rack)
        if other != rack:
            row, position = place
            raise InputError(
                f"racks {other!r} and {rack!r} both stand at row {row}, position {position}; move one", path=path
            )
