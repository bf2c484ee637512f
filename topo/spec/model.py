"""The keys of a spec file, and the numbers a spec may expect of its fabric."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from topo.elements import Expected

__all__ = ["EXPECTED", "LABELS", "ExpectedNumber", "Source", "Spec"]

LABELS = {
    "P": "primary text read",
    "S": "secondary source that quotes the primary",
    "D": "derived by arithmetic from published numbers",
    "P+D": "published, and reproduced exactly by arithmetic",
    "M": "from memory, not confirmed",
}
"""How sure a source or a published number is, by the label a spec gives it."""

EXPECTED: dict[str, str] = {
    "n_hosts": "hosts",
    "n_endpoints": "endpoints",
    "n_switches": "switches",
    "n_tiers": "switch tiers",
    "n_leaves": "leaf switches",
    "n_spines": "spine switches",
    "n_cores": "core switches",
    "n_links": "links of the endpoints' own network",
    "n_host_links": "links from endpoints to leaves",
    "n_host_and_manager_links": "links from endpoints and fabric managers to leaves",
    "n_leaf_spine_links": "links from leaves to spines",
    "n_spine_core_links": "links from spines to cores",
    "parallel_leaf_spine": "parallel links of each leaf and spine that are joined",
    "parallel_spine_core": "parallel links of each spine and core that are joined",
    "leaf_oversubscription": "down over up capacity of the leaves",
    "spine_oversubscription": "down over up capacity of the spines",
    "n_planes": "parts of the network that no relay joins: planes, or rails where an endpoint touches only one",
    "n_units": "pods, segments or scalable units of the endpoints",
    "n_fabric_links": "links from switch to switch",
    "n_standby_adapters": "adapters wired to leaves that are no endpoints",
    "n_access_ports": "ports of the leaves that no spine takes",
    "leaf_uplinks": "links up of every leaf",
    "hosts_per_leaf": "most hosts on one leaf",
    "used_leaf_ports": "ports in use on every leaf, a breakout as one",
    "used_spine_ports": "ports in use on every spine, a breakout as one",
    "used_core_ports": "ports in use on every core, a breakout as one",
    "host_cables_800g": "capacity from endpoints to leaves in cables of 800 Gb/s",
    "leaf_spine_cables_800g": "capacity from leaves to spines in cables of 800 Gb/s",
    "injection_gbps": "all endpoints sending at once, one direction",
    "cost_usd": "cost at 81,920 USD a switch and 550 USD a link from switch to switch",
    "bisection_gbps": "bisection bandwidth, one direction, hosts kept whole",
    "n_accelerators": "accelerators",
    "n_domains": "scale-up domains",
    "n_scale_up_switches": "scale-up switch chips",
    "n_scale_up_tiers": "levels of scale-up switch chips",
    "n_scale_up_planes": "groups of scale-up switch chips that only accelerators join to each other",
    "n_scale_up_leaves": "scale-up switch chips of the first level",
    "n_scale_up_spines": "scale-up switch chips of the second level",
    "n_scale_up_links": "scale-up links",
    "n_scale_up_switch_links": "scale-up links from chip to chip",
    "scale_up_links_per_accelerator": "scale-up links of every accelerator",
    "used_scale_up_ports": "ports in use on every scale-up switch chip",
    "used_scale_up_spine_ports": "ports in use on every chip of the second level",
    "scale_up_two_link_paths": "disjoint paths of two links between any two accelerators of a domain",
    "scale_up_diameter_hops": "most hops between accelerators over scale-up links",
    "scale_up_oversubscription": "down over up capacity of the first level of chips",
    "accelerator_scale_up_gbps": "scale-up rate of every accelerator, one direction",
    "accelerator_scale_up_both_directions_gbyte_s": "scale-up rate of every accelerator, both directions, in GB/s",
    "scale_up_total_both_directions_gbyte_s": "scale-up rate of all accelerators, both directions, in GB/s",
    "scale_up_bisection_gbps": "bisection over scale-up links, one direction",
    "scale_up_bisection_both_directions_gbyte_s": "bisection over scale-up links, both directions summed, in GB/s",
    "bisection_both_directions_gbyte_s": "bisection bandwidth, both directions summed, in GB/s",
    "n_storage_switches": "switches of the storage network",
    "n_storage_host_links": "links from hosts to the storage network",
    "diameter_hops": "most hops from endpoint to endpoint",
    "n_global_links": "links between switches of two groups",
    "global_gbps": "capacity of all links between groups, one direction",
    "links_per_group_pair": "links of every two groups with endpoints",
    "group_taper": "injection over the rate to other groups with endpoints, largest of all groups",
    "group_bisection_gbps": "links straight from one half of the groups with endpoints to the other, one direction",
    "n_optical_switches": "optical circuit switches",
    "n_optical_circuits": "links that pass an optical circuit switch",
    "used_optical_ports": "ports in use on every optical circuit switch",
}
"""What a spec may expect of its fabric, by key; every number is computed again from the built fabric."""

_NAME = r"^[a-z0-9][a-z0-9.-]{0,63}$"
Label = Literal["P", "S", "D", "P+D", "M"]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


def _name(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(_NAME, value):
        raise ValueError("a name has lower-case letters, digits, - and ., 64 at most, and starts with none of - and .")
    return value


Name = Annotated[str, BeforeValidator(_name), StringConstraints(pattern=_NAME)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Source(_Strict):
    """Where numbers come from, and how sure that is."""

    text: Text
    label: Label


class ExpectedNumber(_Strict):
    """A number with what is to be said of it; a bare number stands for its ``value``."""

    value: float
    label: Label | None = None
    note: str = ""
    printed: float | None = None
    printed_by: Annotated[str, StringConstraints(max_length=200)] = ""


def _as_number(given: Any) -> Any:
    return given if isinstance(given, dict) else {"value": given}


class Spec(_Strict):
    """The keys of a spec file. Published numbers without a label of their own take that of the first source."""

    name: Name
    title: Text
    operator: Text
    sources: tuple[Source, ...]
    builder: str
    parameters: dict[str, Any]
    host_part: str | None = None
    switch_part: str | None = None
    assumptions: tuple[Text, ...] = ()
    expect: dict[str, Annotated[ExpectedNumber, BeforeValidator(_as_number)]] = {}

    def expected(self) -> tuple[Expected, ...]:
        """The published numbers, labels filled in."""
        first = self.sources[0].label if self.sources else "M"
        return tuple(
            Expected(key, number.value, number.label or first, number.note, number.printed, number.printed_by)
            for key, number in self.expect.items()
        )
