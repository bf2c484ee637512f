"""A fabric's map with what is known of it: loads of an all-to-all, findings of its wiring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topo.errors import TopoError
from topo.view.map_data import FabricMap, MapFinding, map_of

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.routing.loads import LinkLoads
    from topo.wiring import Validation

__all__ = ["MOST_MAPPED", "ask_map", "fabric_map"]

MOST_MAPPED = 300_000
_MOST_LOADED = 40_000


def fabric_map(
    fabric: Fabric, *, loads: LinkLoads | None = None, wiring: Validation | None = None, why_no_load: str = ""
) -> FabricMap:
    """The map with the given loads and findings; ``why_no_load`` stands where there are none."""
    share, told = None, why_no_load
    if loads is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = loads.arc_gbps / loads.capacity_gbps
        told = (
            f"highest load over capacity of a bundle's links under {loads.demand.name} at line rate, even shares over "
            "shortest paths (exact for fluid shares, which are a model of hashed flows)"
        )
        told += f"; {fabric.origin.assumed}" if fabric.origin.assumed else ""
    found = () if wiring is None else wiring.findings
    findings = [MapFinding(one.place, f"{one.place}: {one.code}: {one.evidence}", one.severity) for one in found]
    return map_of(fabric, arc_share=share, load_told=told, findings=findings)


def ask_map(fabric: Fabric) -> FabricMap:
    """The map with loads of an all-to-all where that is quick, and with findings where the fabric was read."""
    from topo.report.wiring import ask_wiring, is_from_file
    from topo.routing.loads import link_loads
    from topo.traffic import all_to_all

    loads, why = None, f"none: not computed for more than {_MOST_LOADED:,} endpoints"
    if len(fabric.endpoints) <= _MOST_LOADED:
        try:
            loads = link_loads(fabric, all_to_all(fabric))
        except TopoError as error:
            why = f"none: {error}"
    wiring = None
    if is_from_file(fabric) and len(fabric.endpoints) <= _MOST_LOADED:
        try:
            wiring = ask_wiring(fabric)
        except TopoError as error:
            why += f"; no findings: {error}"
    return fabric_map(fabric, loads=loads, wiring=wiring, why_no_load=why)
