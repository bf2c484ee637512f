"""What an interactive map shows: groups that open, hosts and switches, bundles of links with loads, findings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.output import plain
from topo.view.map_groups import MapGroups
from topo.view.text import plural
from topo.view.units import Units

__all__ = ["FabricMap", "MapFinding", "map_of"]

_MOST_UNITS = 20_000
_MOST_PAIRS = 150_000
_MOST_FINDINGS = 2_000
_FILTERS = ("rail", "plane", "pod")


@dataclass(frozen=True, slots=True)
class MapFinding:
    """A finding for the map: its place, which names devices, what it says, and how grave it is."""

    place: str
    text: str
    severity: str


@dataclass(frozen=True)
class FabricMap:
    """The content of a map as plain JSON types, and the same in words (``alt``)."""

    data: dict[str, Any] = field(repr=False)
    alt: str

    def to_dict(self) -> dict[str, Any]:
        """The data with what it is in words first.

        Groups, units and links are columns: entry i of each list is of group, unit or link i. ``ab`` and ``ba`` are
        the highest load over capacity of a link from ``a`` to ``b`` and back, in thousandths.
        """
        words = {str(tier): word for tier, word in self.data["words"].items()}
        return {"alt": self.alt, **self.data, "words": words}

    def to_json(self) -> str:
        """The data as text that is safe inside a script element of HTML."""
        text = json.dumps(self.data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        for letter in "<>&\u2028\u2029":
            text = text.replace(letter, f"\\u{ord(letter):04x}")
        return text


def map_of(
    fabric: Fabric,
    *,
    arc_share: NDArray[np.float64] | None = None,
    load_told: str = "",
    findings: Sequence[MapFinding] = (),
) -> FabricMap:
    """The map of a fabric: every host and switch in groups of at most about forty, links as bundles of a pair.

    ``arc_share`` is load over capacity of every arc; ``load_told`` says under which demand and how sure that is.
    Where hosts and switches are more than 20,000 the hosts of a group are one box, and the switches too where pairs are
    still more than 150,000.

    >>> import topo
    >>> found = map_of(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=2))
    >>> found.alt
    'Map of leaf-spine 4x2: 2 spines, 4 leaves, 8 hosts, 16 links, in 5 groups that open.'
    >>> found.data["units"]["name"][-1]
    'spine-2'
    """
    units = Units.of(fabric, chips=True)
    groups = MapGroups(units)
    kept, of_unit, folded = _folded(units, groups)
    members = np.bincount(of_unit, minlength=len(kept))
    tier = units.tier[kept]
    words = {int(t): units.word(int(t)) for t in np.unique(units.tier)}
    names = [
        units.name(int(u)) if n == 1 else plural(int(n), words[int(t)])
        for u, n, t in zip(kept, members, tier, strict=True)
    ]
    data = {
        "title": plain(fabric.origin.title or fabric.name),
        "words": words,
        "groups": {"parent": groups.parent, "label": [plain(text) for text in groups.label]},
        "units": {
            "name": names,
            "tier": tier.tolist(),
            "group": groups.group[kept].tolist(),
            "members": members.tolist(),
            "endpoints": np.bincount(of_unit, units.n_endpoints, minlength=len(kept)).astype(int).tolist(),
            "part": units.column("part", kept).tolist(),
            "rail": _rails(units, kept, "rail"),
            "plane": _rails(units, kept, "plane"),
            "pod": groups.pod[kept].tolist(),
        },
        "links": _bundles(units, of_unit, arc_share),
        "labels": {name: _texts(fabric, name) for name in (*_FILTERS, "part")},
        "load": load_told,
        "note": folded,
        "findings": _placed(units, of_unit, findings[:_MOST_FINDINGS]),
    }
    return FabricMap(data, _alt(fabric, units, len(groups.parent)))


def _folded(units: Units, groups: MapGroups) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """The units that are drawn, the position of the one that stands for each unit, and what was put together."""
    alone = np.arange(len(units))
    if len(units) <= _MOST_UNITS and len(np.unique(_pairs(units, alone))) <= _MOST_PAIRS:
        return alone, alone, ""
    tops = len(groups.parent)
    for key, said in (  # noqa: B007
        (np.where(units.tier == 0, groups.group, tops + alone), "the hosts of a group are one box"),
        (groups.group * (int(units.tier.max()) + 1) + units.tier, "hosts and switches of a group are one box a tier"),
    ):
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        if len(np.unique(_pairs(units, inverse))) <= _MOST_PAIRS:
            break
    return first, inverse, f"So large a fabric is drawn coarser: {said}."


def _pairs(units: Units, of_unit: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each link's pair of units, whatever its direction."""
    a, b = of_unit[units.a], of_unit[units.b]
    pairs: NDArray[np.int64] = np.minimum(a, b) * (int(of_unit.max(initial=0)) + 1) + np.maximum(a, b)
    return pairs


def _texts(fabric: Fabric, column: str) -> list[str]:
    return [plain(text) for text in getattr(fabric.nodes, column).labels.tolist()]


def _rails(units: Units, kept: NDArray[np.int64], column: str) -> list[int]:
    """Rail or plane of the switches; a host has its ports in several."""
    codes: list[int] = np.where(units.tier[kept] > 0, units.column(column, kept), -1).tolist()
    return codes


def _bundles(units: Units, of_unit: NDArray[np.int64], share: NDArray[np.float64] | None) -> dict[str, list[Any]]:
    """Links of one pair, rail and plane together: how many, Gb/s, the highest load each way in thousandths."""
    fabric = units.fabric
    a, b = of_unit[units.a], of_unit[units.b]
    low, high = np.minimum(a, b), np.maximum(a, b)
    end_a, end_b = fabric.link_a[units.links], fabric.link_b[units.links]
    codes = []
    for column in ("rail", "plane"):
        code = getattr(fabric.nodes, column).codes.astype(np.int64)
        codes.append(np.where(code[end_a] >= 0, code[end_a], code[end_b]))
    wide = [len(fabric.nodes.rail.labels) + 1, len(fabric.nodes.plane.labels) + 1]
    key = (_pairs(units, of_unit) * wide[0] + codes[0] + 1) * wide[1] + codes[1] + 1
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rate = fabric.links.capacity_gbps[units.links]
    total = np.bincount(inverse, np.nan_to_num(rate), minlength=len(first))
    unknown = np.bincount(inverse, np.isnan(rate), minlength=len(first)) > 0
    out: dict[str, list[Any]] = {
        "a": low[first].tolist(),
        "b": high[first].tolist(),
        "n": np.bincount(inverse, minlength=len(first)).tolist(),
        "gbps": [None if lost else round(x, 3) for x, lost in zip(total.tolist(), unknown.tolist(), strict=True)],
        "rail": codes[0][first].tolist(),
        "plane": codes[1][first].tolist(),
    }
    if share is None:
        return out
    forward = np.where(a <= b, 0, 1)
    for name, arc in (("ab", 2 * units.links + forward), ("ba", 2 * units.links + 1 - forward)):
        most = np.zeros(len(first))
        np.maximum.at(most, inverse, np.minimum(np.nan_to_num(share[arc], nan=0.0, posinf=1e6), 1e6))
        out[name] = np.rint(1000 * most).astype(int).tolist()
    return out


def _placed(units: Units, of_unit: NDArray[np.int64], findings: Sequence[MapFinding]) -> list[list[Any]]:
    """Findings with the units that their places name."""
    if not findings:
        return []
    of_name = {units.name(i): int(of_unit[i]) for i in range(len(units))}
    out = []
    for one in findings:
        words = plain(one.place).replace(",", " ").split()
        found = list(dict.fromkeys(of_name[word] for word in words if word in of_name))
        whole = [at for name, at in of_name.items() if " " in name and name in one.place] if not found else []
        out.append([plain(one.text), one.severity, found or whole])
    return out


def _alt(fabric: Fabric, units: Units, n_groups: int) -> str:
    tiers, counts = np.unique(units.tier, return_counts=True)
    said = [plural(int(n), units.word(int(t))) for t, n in zip(tiers[::-1], counts[::-1], strict=True)]
    said.append(plural(len(units.links), "link"))
    opens = "that opens" if n_groups == 1 else "that open"
    return f"Map of {plain(fabric.name)}: {', '.join(said)}, in {plural(n_groups, 'group')} {opens}."
