"""State the rate of links whose rate a file leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topo.fabric import Fabric, Note
from topo.units import format_gbps

__all__ = ["NO_RATES", "ROWS_DIFFER", "with_assumed_rate"]

NO_RATES = "the file states no rates; name one with assume_gbps (--assume-gbps on the command line)"
"""What a reader notes of a file without any rate; a rate that is stated answers it."""

ROWS_DIFFER = "rows of one cable state different rates, the lower one holds"
"""What a reader notes of each cable of a table that has two rates, with the rates and their rows."""


def with_assumed_rate(fabric: Fabric, gbps: float) -> Fabric:
    """The fabric with every link of unknown rate at ``gbps``, and a note that says how many.

    ``origin.assumed`` names the assumption for every number that rests on it.
    Ports of such links, where their rate is unknown too, take the same rate.
    """
    links, ports = fabric.links, fabric.ports
    unknown = np.isnan(links.capacity_gbps)
    n = int(unknown.sum())
    if not n:
        return fabric
    port_gbps = ports.gbps.copy()
    ends = np.concatenate([links.port_a[unknown], links.port_b[unknown]])
    port_gbps[ends] = np.where(np.isnan(port_gbps[ends]), gbps, port_gbps[ends])
    rate = format_gbps(gbps)
    said = f"the rate of {n:,} of {len(links):,} link(s) is assumed: {rate}, stated by the caller"
    source = fabric.origin.sources[0] if fabric.origin.sources else ""
    origin = replace(
        fabric.origin,
        assumptions=(*fabric.origin.assumptions, said),
        notes=(*(note for note in fabric.origin.notes if note.text != NO_RATES), Note(said, source)),
        assumed=f"{rate} assumed for {n:,} of {len(links):,} links",
    )
    return replace(
        fabric,
        links=replace(links, capacity_gbps=np.where(unknown, gbps, links.capacity_gbps)),
        ports=replace(ports, gbps=port_gbps),
        origin=origin,
    )
