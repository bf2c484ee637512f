"""Builders a spec may name, one row each, and the check of a spec's parameters against their signatures."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topo.document import Document
from topo.errors import FabricError, ParameterError
from topo.fabric import Fabric, Note
from topo.parts import DOMAINS
from topo.spec import families
from topo.spec.parameters import blamed, checked, parameters_of

__all__ = ["BUILDERS", "Builder", "built"]

_MOST_PORTS = 64_000_000


@dataclass(frozen=True, slots=True)
class Builder:
    """A builder by name: where it is, which parameter fixes the radix, about how many ports it makes."""

    name: str
    module: str
    radix: str | None
    n_ports: Callable[[Mapping[str, Any]], float]

    @property
    def function(self) -> Callable[..., Fabric]:
        """The builder itself, imported when first needed."""
        found: Callable[..., Fabric] = getattr(importlib.import_module(self.module), self.name)
        return found

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What a spec may give; name and parts are keys of the spec itself."""
        return parameters_of(self.function)


def _leaf_spine_ports(given: Mapping[str, Any]) -> float:
    return float(2 * given["leaves"] * (given["hosts_per_leaf"] + given["spines"] * given["parallel"]))


def _fat_tree_ports(given: Mapping[str, Any]) -> float:
    return 1.5 * float(given["k"]) ** 3


def _clos_ports(given: Mapping[str, Any]) -> float:
    tapers = given["taper"] if isinstance(given["taper"], Sequence) else [given["taper"]]
    radices = given["radix"] if isinstance(given["radix"], Sequence) else [given["radix"]]
    growth = math.prod(1 + 1 / taper if taper > 0 else 1 for taper in tapers)
    return float(given["tiers"] * (2.0 * given["hosts"] * growth + sum(float(radix) ** 2 for radix in radices)))


def _rail_ports(given: Mapping[str, Any]) -> float:
    units = math.ceil(given["hosts"] / max(given["hosts_per_unit"], 1))
    leaves = max(1, given["hosts_per_unit"] // max(given["hosts_per_leaf"] or given["hosts_per_unit"], 1))
    switches = given["tiers"] * units * given["rails"] * leaves
    return float(
        given["hosts"] * given["rails"] + switches * given["radix"] + given["managers"] * given["links_per_manager"]
    )


def _multi_plane_ports(given: Mapping[str, Any]) -> float:
    ends = float(given["hosts"] * given["rails"] * max(given["planes"], 1))
    unit, rails = given["hosts_per_unit"] or given["hosts"], given["rails"]
    radix = float(given["radix"] * max(given["breakout"], given["uplink_breakout"], 1))
    spread = rails * radix * math.ceil(given["hosts"] / max(unit, 1)) if given["fabric"] != "clos" else 0
    return float(2 * given["tiers"] * (2 * ends + given["planes"] * (spread + radix**2)))


def _rail_only_ports(given: Mapping[str, Any]) -> float:
    planes = given["rails"] * given["ports"]
    radix = float(given["radix"] * max(given["breakout"], given["uplink_breakout"], 1))
    return float(given["tiers"] * planes * (4.0 * given["hosts"] + radix**2))


def _dual_tor_ports(given: Mapping[str, Any]) -> float:
    hosts = given["segments"] * (given["hosts_per_segment"] + given["backup_hosts"])
    leaves = given["segments"] * given["rails"] * given["tors"]
    return float(2 * hosts * given["rails"] * given["tors"] + 3 * given["tiers"] * leaves * given["radix"])


def _tapered_pods_ports(given: Mapping[str, Any]) -> float:
    leaves = given["pods"] * given["leaves_per_pod"]
    ends = leaves * given["hosts_per_leaf"] * given["rails"]
    spines = given["pods"] * given["spines_per_pod"]
    return float(ends + leaves * given["leaf_radix"] + 3 * spines * given["spine_radix"] + given["core_radix"] ** 2)


def _joined_zones_ports(given: Mapping[str, Any]) -> float:
    switches = given["zones"] * (given["leaves"] + given["spines"]) + given["joints"]
    return float(given["zones"] * given["leaves"] * given["hosts_per_leaf"] + switches * given["radix"])


# A host opened or a host of a rack has at most so many ports inside.
_PORTS_INSIDE = 600.0


def _server_ports(given: Mapping[str, Any]) -> float:
    return _PORTS_INSIDE * float(given["hosts"])


def _domain_ports(given: Mapping[str, Any]) -> float:
    return _PORTS_INSIDE * float(given["domains"]) * float(given["hosts"] or 100)


def _ualink_ports(given: Mapping[str, Any]) -> float:
    return float(given["stations"]) * float(max(given["accelerators"], given["switch_ports"])) * 2


def _mesh_ports(given: Mapping[str, Any]) -> float:
    dims = given["dims"]
    return float(given["links"]) * math.prod(map(float, dims)) * sum(map(float, dims))


def _cluster_ports(given: Mapping[str, Any]) -> float:
    hosts, storage = given["hosts"], given["storage"]
    if hosts.direct is not None:
        ends = float(hosts.count) * math.prod(map(float, hosts.direct.dims))
        inside = ends * sum(map(float, hosts.direct.dims)) * float(hosts.direct.links or 1)
        return inside + _plan_ports(given["scale_out"], ends * float(hosts.ports_per_adapter or 1))
    count = float(hosts.count) * (float(hosts.hosts_per_domain or 50) if hosts.template in _LARGE else 1.0)
    n_ports = _PORTS_INSIDE * count + _plan_ports(given["scale_out"], 8 * count * float(hosts.ports_per_adapter or 1))
    if storage:
        n_ports += _plan_ports(storage, 2 * count + float(storage.servers) * storage.ports_per_server)
    return n_ports


def _plan_ports(plan: Any, ends: float) -> float:
    """Ports of the switches that a plan sets over so many ports of hosts: every switch has its radix."""
    if hasattr(plan, "plan"):
        return _plan_ports(plan.plan, ends)
    radices = plan.radix if isinstance(plan.radix, Sequence) else [plan.radix]
    radix = float(max(radices, default=1))
    if hasattr(plan, "hosts_per_unit"):
        leaves = ends / float(max(plan.hosts_per_leaf or plan.hosts_per_unit, 1)) + 8
        return float(plan.tiers) * leaves * radix
    return float(plan.tiers) * (4 * ends + radix**2)


_LARGE = tuple(template.name for template in DOMAINS)

BUILDERS: dict[str, Builder] = {
    row.name: row
    for row in (
        Builder("leaf_spine", "topo.build.clos", None, _leaf_spine_ports),
        Builder("fat_tree", "topo.build.clos", "k", _fat_tree_ports),
        Builder("clos", "topo.build.clos", "radix", _clos_ports),
        Builder("rail_optimized", "topo.build.rail", "radix", _rail_ports),
        Builder("multi_plane", "topo.build.planes", "radix", _multi_plane_ports),
        Builder("rail_only", "topo.build.planes", "radix", _rail_only_ports),
        Builder("dual_tor", "topo.build.segments", "radix", _dual_tor_ports),
        Builder("tapered_pods", "topo.build.pods", None, _tapered_pods_ports),
        Builder("joined_zones", "topo.build.zones", "radix", _joined_zones_ports),
        Builder("server", "topo.build.opened", None, _server_ports),
        Builder("scale_up_domain", "topo.build.scale_up", None, _domain_ports),
        Builder("ualink_pod", "topo.build.scale_up", None, _ualink_ports),
        Builder("full_mesh_pod", "topo.build.scale_up_mesh", None, _mesh_ports),
        Builder("cluster", "topo.build.cluster", None, _cluster_ports),
        Builder("xgft", "topo.build.xgft", None, families.xgft_ports),
        Builder("k_ary_n_tree", "topo.build.xgft", None, families.k_ary_n_tree_ports),
        Builder("dragonfly", "topo.build.dragonfly", "radix", families.dragonfly_ports),
        Builder("dragonfly_plus", "topo.build.dragonfly", "radix", families.dragonfly_plus_ports),
        Builder("slim_fly", "topo.build.slim_fly", "radix", families.slim_fly_ports),
        Builder("hyperx", "topo.build.hyperx", "radix", families.hyperx_ports),
        Builder("flattened_butterfly", "topo.build.hyperx", "radix", families.flattened_butterfly_ports),
        Builder("torus", "topo.build.torus", None, families.torus_ports),
        Builder("mesh", "topo.build.torus", None, families.torus_ports),
        Builder("accelerator_torus", "topo.build.torus", None, families.torus_ports),
        Builder("tpu_slice", "topo.build.tpu", None, families.torus_ports),
        Builder("jellyfish", "topo.build.jellyfish", "radix", families.jellyfish_ports),
        Builder("xpander", "topo.build.xpander", "radix", families.xpander_ports),
        Builder("bcube", "topo.build.bcube", None, families.bcube_ports),
        Builder("dcell", "topo.build.dcell", None, families.dcell_ports),
        Builder("hamming_mesh", "topo.build.hamming_mesh", "radix", families.hamming_mesh_ports),
    )
}
"""Every builder that a spec may name."""


def built(name: str, given: Mapping[str, Any], document: Document) -> Fabric:
    """Call a builder with a spec's parameters, checked against its signature; rates may be text like ``400G``.

    :raises InputError: at the parameter's line: an unknown or missing one, a wrong type, a number that the builder
        refuses, or a fabric too large to be meant.
    """
    row = BUILDERS[name]
    place = ("parameters",)
    values = checked(row.function, row.name, given, place, document)
    complete = {key: p.default for key, p in row.parameters.items()} | values
    # Bounds before building: a slip of the keyboard must not fill the memory.
    n_ports = row.n_ports(complete)
    if n_ports > _MOST_PORTS:
        raise document.error(
            ("parameters",),
            f"would make about {n_ports:.3g} ports; a spec makes at most {_MOST_PORTS:,}, use smaller numbers",
        )
    try:
        fabric = row.function(**values)
    except (ParameterError, FabricError) as error:
        raise document.error(blamed(str(error), given, place), f"{error}") from None
    except (MemoryError, OverflowError):
        raise document.error(("parameters",), "the fabric does not fit into memory; use smaller numbers") from None
    # A spec says its own assumptions in place of the builder's, which then are notes.
    notes = (*fabric.origin.notes, *(Note(text) for text in fabric.origin.assumptions))
    return replace(fabric, origin=replace(fabric.origin, notes=notes))
