"""Every writer of the registry on every family with odd names: readable again, nothing lost in silence.

A writer that is registered is held to this from that day on: it refuses nothing that ``MAY_REFUSE`` does not name, its
reader takes the file back, and whatever then differs is told in ``lost``.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from odd_fabrics import FAMILIES, Case, cases

import topo
from topo.fabric import Fabric
from topo.io import FORMATS, Format, fabric_of_bytes

WRITERS = [row for row in FORMATS if row.writer]
SOME = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

SWITCHES = ("switch", "router", "storage_switch", "scale_up_switch")

MAY_REFUSE = {
    "slurm-topology": r"a host list can hold|would be empty",
    "slurm-yaml": r"a host list can hold|would be empty",
    "slurm-block": r"a host list can hold|there are no blocks",
    "topograph": r"a host list can hold|would be empty",
    "kubernetes": r"no node of Kubernetes|one node of Kubernetes|a label of Kubernetes takes|would be empty",
    "netbox": r"no cable joins two machines",
    "schedule": r"no cable joins two machines",
    "nccl": r"the inside of one host",
    "astra-sim": r"does not factorise|no network of NPUs",
    "ns-3": r"know hosts and switches",
    "simai": r"know hosts and switches|one number of GPUs",
}
"""Why a writer may refuse a fabric; what is not here refuses none."""

TOLD = {
    "names": r"\bnames?\b|inside hosts",
    "cables": r"\bcables\b|\blinks\b|\bswitches\b",
    "rates": r"capacity_gbps|\brates\b|inside hosts",
    "endpoints": r"endpoint",
    "lengths": r"length",
    "ports": r"names of ports|ports: label|inside hosts|each port reads",
}
"""What may differ once a file is read back, and the words that own up to it."""


def reader_of(row: Format) -> str:
    """The format that reads what ``row`` writes: its own, else the one its description names."""
    if row.read:
        return row.name
    found = re.search(r"read as ([\w-]+)", row.description)
    assert found, f"{row.name}: the description does not say what reads it"
    return found[1]


def machines(fabric: Fabric) -> list[str]:
    """The machine of every node: the host, where there is one, else the node."""
    hosts, kinds = fabric.nodes.host.values().tolist(), fabric.nodes.kind.values().tolist()
    rows = zip(hosts, kinds, range(len(hosts)), strict=True)
    return [f"host {host}" if host and kind not in SWITCHES else f"node {row}" for host, kind, row in rows]


def traits(fabric: Fabric) -> dict[str, Any]:
    """What is compared: cables by the machines at their ends, as counts, so that no name takes part; and the names."""
    of = machines(fabric)
    ends = [(of[a], of[b]) for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True)]
    outer = np.array([a != b for a, b in ends], bool)
    degree = Counter(end for pair in ends if pair[0] != pair[1] for end in pair)
    hosts, names = fabric.nodes.host.values().tolist(), fabric.nodes.name.tolist()
    titled = {m: host if m.startswith("host ") else name for m, host, name in zip(of, hosts, names, strict=True)}
    cabled = np.unique(np.concatenate([fabric.links.port_a[outer], fabric.links.port_b[outer]]))
    return {
        "names": sorted(titled[machine] for machine in degree),
        "cables": sorted(degree.values()),
        "rates": sorted(fabric.links.capacity_gbps[outer].tolist()),
        "endpoints": sum(fabric.nodes.is_endpoint.tolist()),
        "lengths": sorted(metres for metres in fabric.links.length_m[outer].tolist() if metres == metres),
        "ports": sorted(fabric.ports.label.values(cabled).tolist()),
    }


def check(row: Format, fabric: Fabric) -> bool:
    """Whether the writer took the fabric; all it promises is asserted."""
    try:
        written = row.write(fabric)
    except topo.TopoError as error:
        assert isinstance(error, (topo.ParameterError, topo.InputError)), error
        assert "\n" not in str(error)
        assert row.name in MAY_REFUSE, error
        assert re.search(MAY_REFUSE[row.name], str(error)), error
        return False
    assert written.data() == row.write(fabric).data()
    assert all(line and line.isprintable() for line in written.lost), written.lost
    found = fabric_of_bytes(written.data(), "out", format=reader_of(row))
    if row.name == "native":
        assert found.equals(fabric)
    before, after = traits(fabric), traits(found)
    lost = "; ".join(written.lost)
    untold = {
        what: (before[what], after[what])
        for what, words in TOLD.items()
        if before[what] != after[what] and not re.search(words, lost)
    }
    assert not untold, (untold, written.lost)
    return True


@pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.name)
@SOME
@given(case=cases())
def test_nothing_is_lost_in_silence(row: Format, case: Case) -> None:
    check(row, case.fabric)


@cache
def plain_fabrics() -> dict[str, Fabric]:
    return {name: make(lambda low, high: min(high, low + 1)) for name, make in FAMILIES.items()}


@pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.name)
def test_every_writer_takes_some_family(row: Format) -> None:
    taken = {name for name, fabric in plain_fabrics().items() if check(row, fabric)}
    assert taken
    assert row.name in MAY_REFUSE or taken == set(FAMILIES)


@pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.name)
def test_what_is_written_is_recognised(row: Format) -> None:
    for fabric in plain_fabrics().values():
        try:
            data = row.write(fabric).data()
        except topo.TopoError:
            continue
        assert topo.io.format_of(data, "out").name == reader_of(row)


def test_a_refusal_names_a_writer() -> None:
    assert MAY_REFUSE.keys() <= {row.name for row in WRITERS}
