"""What a fabric's source prints, beside what was built from it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from topo.errors import TopoError
from topo.fabric import Fabric
from topo.report.content import Grid, Section, Text
from topo.units import format_number

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection
    from topo.analysis.inventory import Inventory

__all__ = ["built_numbers", "published_rows", "published_section"]


def built_numbers(inventory: Inventory | TopoError, bisection: Bisection | TopoError) -> dict[str, float]:
    """The numbers a publication may state, by the names a specification uses for them.

    >>> import topo
    >>> fabric = topo.rail_optimized(127, managers=2)
    >>> built = built_numbers(topo.inventory(fabric), topo.bisection_bandwidth(fabric))
    >>> built["leaf_switches"], built["spine_switches"], built["bisection_gbps"]
    (32, 16, 201600.0)
    """
    built: dict[str, float] = {}
    if not isinstance(inventory, TopoError):
        for name in ("endpoints", "hosts", "switches", "links", "host_links", "fabric_links", "cables"):
            built[name] = getattr(inventory, f"n_{name}")
        for group in inventory.switch_groups:
            key = f"{group.tier_name.replace(' ', '_')}_switches"
            built[key] = built.get(key, 0) + group.n_switches
        for pair in inventory.tier_pairs:
            built[f"{pair.lower}_{pair.upper}_links".replace(" ", "_")] = pair.n_links
        if inventory.injection_gbps is not None:
            built["injection_gbps"] = inventory.injection_gbps
        if inventory.paths.diameter_hops is not None:
            built["diameter_hops"] = inventory.paths.diameter_hops
    if not isinstance(bisection, TopoError) and bisection.exact:
        built["bisection_gbps"] = bisection.upper_gbps
    return built


def published_rows(
    fabric: Fabric, inventory: Inventory | TopoError, bisection: Bisection | TopoError
) -> list[dict[str, Any]]:
    """Each published number, the built one beside it (None where there is no such number), agreement."""
    built = built_numbers(inventory, bisection)
    rows = []
    for name, published in fabric.origin.expect:
        value = built.get(name)
        agrees = None
        if value is not None and isinstance(published, (int, float)):
            agrees = math.isclose(value, published, rel_tol=1e-9)
        rows.append({"name": name, "published": published, "built": value, "agrees": agrees})
    return rows


def published_section(rows: list[dict[str, Any]]) -> Section | None:
    """Published against built, if the source states anything."""
    if not rows:
        return None
    words = {True: "equal", False: "DIFFERS", None: "not compared"}
    lines = tuple((row["name"], _text(row["published"]), _text(row["built"]), words[row["agrees"]]) for row in rows)
    equal = sum(row["agrees"] is True for row in rows)
    differ = sum(row["agrees"] is False for row in rows)
    said = f"Of {len(rows):,} published numbers {equal:,} equal what was built and {differ:,} differ."
    return Section(
        "published",
        "Published against built",
        [Text(said, "warning" if differ else ""), Grid(("number", "published", "built", ""), lines)],
    )


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return format_number(float(value)) if isinstance(value, (int, float)) else str(value)
