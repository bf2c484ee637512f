"""A fabric's map with what is known of it: loads of an all-to-all, findings of its wiring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topo.errors import TopoError
from topo.report.explaining import Explanation
from topo.view.map_data import FabricMap, MapFinding, map_of

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.routing.loads import LinkLoads
    from topo.wiring import Validation

__all__ = ["MOST_MAPPED", "ask_map", "explain_map", "fabric_map", "map_loads"]

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


def map_loads(fabric: Fabric) -> tuple[LinkLoads | None, str]:
    """Loads of an all-to-all where that is quick, or why there are none.

    Beyond 40,000 endpoints it is quick where a builder laid tiers over tiers and one network joins all endpoints:
    what is alike is then carried once.
    """
    from topo.routing.loads import link_loads
    from topo.traffic import all_to_all

    if len(fabric.endpoints) > _MOST_LOADED and not _is_tiered(fabric):
        return None, f"none: more than {_MOST_LOADED:,} endpoints, and not tier over tier in one network"
    try:
        return link_loads(fabric, all_to_all(fabric)), ""
    except TopoError as error:
        return None, f"none: {error}"


def _is_tiered(fabric: Fabric) -> bool:
    """Whether a builder made the fabric, each link climbs a tier, and one network holds all endpoints."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from topo.network import Network
    from topo.report.wiring import is_from_file

    if is_from_file(fabric):
        return False
    network = Network.of(fabric)
    if (fabric.nodes.tier[network.a] == fabric.nodes.tier[network.b]).any():
        return False
    n = len(fabric.nodes)
    joined = coo_array((np.ones(len(network.links), np.int8), (network.a, network.b)), shape=(n, n))
    _, part = connected_components(joined, directed=False)
    return len(np.unique(part[fabric.endpoints])) == 1


def ask_map(fabric: Fabric) -> FabricMap:
    """The map with loads of an all-to-all where that is quick, and with findings where the fabric was read."""
    from topo.report.wiring import ask_wiring, is_from_file

    loads, why = map_loads(fabric)
    wiring = None
    if is_from_file(fabric) and len(fabric.endpoints) <= _MOST_LOADED:
        try:
            wiring = ask_wiring(fabric)
        except TopoError as error:
            why += f"; no findings: {error}"
    return fabric_map(fabric, loads=loads, wiring=wiring, why_no_load=why)


def explain_map(content: FabricMap) -> Explanation:
    """What a map shows, what that assumes, what would change it."""
    load, note = str(content.data["load"]), str(content.data["note"])
    drawn = f"; {note[:1].lower()}{note[1:].rstrip('.')}" if note else ""
    return Explanation(
        "Map",
        f"{content.alt.rstrip('.')}; hosts hold their parts, links of a pair are one line{drawn}.",
        f"This assumes as loads: {load.rstrip('.')}.",
        "What would change it: another demand or routing (topo throughput, topo ecmp), failed elements (topo fail), "
        "or a wiring held against its design (topo validate --against).",
    )
