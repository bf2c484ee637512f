"""Pictures by groups of equal nodes: a fabric by its planes or rails, its storage network, a scale-up domain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.network import Network
from topo.output import plain
from topo.table import Array, Labels
from topo.view.alike import AlikeClass, alike_classes, mixed
from topo.view.scene import Box, Scene, range_of
from topo.view.text import natural_key, plural
from topo.view.units import UNKNOWN_TIER, Units, in_hosts, kind_word, tier_word

__all__ = ["by_column", "by_groups", "domain_scenes", "storage_scene"]

_MOST_GROUPS = 8
_MOST_MESHED = 16
_FEW_ALIKE = 3
_ENOUGH = 7


def by_groups(
    units: Units,
    group: Array,
    label: Callable[[int], str],
    noun: str | Callable[[int], str],
    *,
    words: dict[int, str] | None = None,
    shades: dict[int, str] | None = None,
    heading: str = "",
) -> Scene:
    """A box for each group of a row, where there are few; else some of them and one box for the rest.

    ``group`` numbers the units' groups; units of group -1 of a row share one box. ``label`` names a group, ``noun``
    says what a group is. The rest is called alike if each group in it has as many units, endpoints, links and
    Gb/s towards every row as the groups drawn.
    """
    scene = Scene(units, heading)
    tiers = sorted({int(t) for t in units.tier}, reverse=True)
    alike = _signatures(units, group)
    meshed = _rows_joined_within(units)
    rows: dict[int, list[tuple[Array, str, int]]] = {}
    for tier in tiers:
        own = units.tier == tier
        codes = sorted({int(c) for c in group[own & (group >= 0)]}, key=lambda c: (natural_key(label(c)), c))
        most = _MOST_MESHED if tier in meshed else _MOST_GROUPS
        same = len({int(alike[c]) for c in codes}) <= 1
        shown = len(codes) if len(codes) <= most else _FEW_ALIKE if same else _ENOUGH
        boxes = [(np.flatnonzero(own & (group == code)), label(code), 0) for code in codes[:shown]]
        if shown < len(codes):
            what = noun if isinstance(noun, str) else noun(tier)
            text = plural(len(codes) - shown, what).replace(" ", " more ", 1) + (", alike" if same else "")
            boxes.append((np.flatnonzero(own & np.isin(group, codes[shown:])), text, len(codes) - shown))
        if (rest := np.flatnonzero(own & (group < 0))).size:
            boxes.append((rest, "", 0))
        rows[tier] = boxes
    scene.columns = max(len(boxes) for boxes in rows.values())
    for tier, boxes in rows.items():
        step = scene.columns / len(boxes)
        for i, (members, text, more) in enumerate(boxes):
            word = (words or {}).get(tier, tier_word(tier))
            scene.boxes.append(
                _box(units, tier, members, (i * step, (i + 1) * step), text, more, word, (shades or {}).get(tier, ""))
            )
    return scene


def _box(
    units: Units, tier: int, members: Array, span: tuple[float, float], text: str, more: int, word: str, shade: str
) -> Box:
    if len(members) == 1 and not more:
        name = units.name(int(members[0]))
        count, label, detail = "", name, text if text != name else ""
    else:
        count, label, detail = plural(len(members), word), text, range_of(units, members)
        if not label:
            label, detail = detail, ""
    endpoints = int(units.n_endpoints[members].sum())
    if endpoints and endpoints != len(members):
        detail = plural(endpoints, "endpoint")
    return Box(tier, members, *span, count, label, detail, more, word, shade)


def _signatures(units: Units, group: Array) -> NDArray[np.uint64]:
    """A number for each group, equal where counts, endpoints, links and rates towards every row are."""
    n = int(group.max(initial=-1)) + 1
    total = np.zeros(n + 1, np.uint64)
    np.add.at(total, group, mixed(units.tier, units.n_endpoints))
    rate = np.nan_to_num(units.fabric.links.capacity_gbps[units.links], nan=-1.0).view(np.int64)
    for near, far in ((units.a, units.b), (units.b, units.a)):
        same = (group[near] == group[far]).astype(np.int64)
        np.add.at(total, group[near], mixed(units.tier[near], units.tier[far], rate, same))
    return total


def _rows_joined_within(units: Units) -> set[int]:
    same = units.tier[units.a] == units.tier[units.b]
    return {int(t) for t in np.unique(units.tier[units.a[same]])}


def by_column(fabric: Fabric, column: str) -> Scene | None:
    """The fabric by plane or by rail; None where fewer than two labels are on its switches.

    The lowest row is the hosts, or where they are on rails what their cables plug into.
    """
    nodes = fabric.nodes
    labels: Labels = getattr(nodes, column)
    switch = nodes.kind.is_any("switch") & (nodes.tier > 0)
    if len(np.unique(labels.codes[switch & (labels.codes >= 0)])) < 2:
        return None
    links = Network.of(fabric).links
    links = links[fabric.links.kind.is_any("access", "scale_out")[links]]
    ends = np.zeros(len(nodes), bool)
    ends[fabric.link_a[links]] = ends[fabric.link_b[links]] = True
    ends &= ~switch & (in_hosts(fabric) | (nodes.host.codes < 0))
    at_ends = labels.codes[ends]
    split = 2 * int((at_ends >= 0).sum()) > len(at_ends)
    key = np.full(len(nodes), -1, np.int64)
    key[switch] = len(nodes.host.labels) + np.flatnonzero(switch)
    alone = ends & (split | (nodes.host.codes < 0))
    key[alone] = len(nodes.host.labels) + np.flatnonzero(alone)
    if not split:
        inside = in_hosts(fabric) & ~switch
        key[inside] = nodes.host.codes[inside]
    without = np.setdiff1d(nodes.tier[switch], nodes.tier[switch & (labels.codes >= 0)])
    above = switch & (nodes.tier > without.min(initial=UNKNOWN_TIER))
    key[above] = -1
    units = Units.folded(fabric, key, np.where(switch, nodes.tier, 0), links, named_by="" if split else "host")
    end = units.node[units.tier == 0]
    word = kind_word(nodes.kind[int(end[0])]) if split and end.size else "host"
    scene = by_groups(
        units,
        units.column(column, np.arange(len(units))),
        lambda code: units.label(column, code),
        column,
        words={0: word},
        heading=f"By {column}",
    )
    if above.any():
        scene.said = ("Tiers above are as in the first picture.",)
    return scene


def storage_scene(fabric: Fabric) -> Scene | None:
    """The storage network beside the fabric: its switches, its servers, and the hosts by their storage adapters."""
    nodes = fabric.nodes
    links = np.flatnonzero(fabric.links.kind.is_any("storage") & ~fabric.links.evidence.is_any("one end"))
    if not links.size:
        return None
    touched = np.zeros(len(nodes), bool)
    touched[fabric.link_a[links]] = touched[fabric.link_b[links]] = True
    switch = nodes.kind.is_any("storage_switch", "switch") & (nodes.tier > 0)
    key = np.full(len(nodes), -1, np.int64)
    alone = touched & (switch | (nodes.host.codes < 0))
    key[alone] = len(nodes.host.labels) + np.flatnonzero(alone)
    inside = touched & ~alone
    key[inside] = nodes.host.codes[inside]
    units = Units.folded(fabric, key, np.where(switch, nodes.tier, 0), links)
    group = np.full(len(units), -1, np.int64)
    low = units.tier == 0
    computes = in_hosts(fabric)[units.node]
    group[low] = np.where(computes[low], 0, 1)
    names = ["compute hosts", "storage servers"]
    words = {int(t): f"storage {tier_word(int(t))}" for t in np.unique(units.tier) if t > 0}
    scene = by_groups(
        units, group, names.__getitem__, "group", words=words | {0: "host"}, heading="The storage network beside it"
    )
    adapters = int((inside & _compute_adapters(fabric)).sum())
    if adapters:
        scene.said = (f"The hosts take part with {plural(adapters, 'storage adapter')} of their own.",)
    return scene


def _compute_adapters(fabric: Fabric) -> NDArray[np.bool_]:
    """Adapters of hosts that hold endpoints."""
    mask: NDArray[np.bool_] = in_hosts(fabric) & fabric.nodes.kind.is_any("nic")
    return mask


def domain_scenes(fabric: Fabric, alike: AlikeClass) -> list[Scene]:
    """One scale-up domain: its switches above its hosts, or the mesh of its racks and then of one rack's hosts."""
    nodes = fabric.nodes
    inside = nodes.domain.codes == alike.code
    links = np.flatnonzero(fabric.links.kind.is_any("scale_up") & inside[fabric.link_a] & inside[fabric.link_b])
    chip = nodes.kind.is_any("scale_up_switch") & (nodes.host.codes < 0) & inside
    name = plain(str(nodes.domain.labels[alike.code]))
    hosts = np.unique(nodes.host.codes[inside & (nodes.host.codes >= 0)])
    racks = np.unique(nodes.rack.codes[inside & (nodes.rack.codes >= 0)])
    heading = alike.heading(f"Scale-up domain {name}")
    if chip.any() or len(hosts) <= _MOST_MESHED or not 2 <= len(racks) <= _MOST_MESHED:
        scene = _folded_domain(fabric, inside, chip, links, "host", heading)
        scene.stands_for = alike
        return [scene]
    one = inside & (nodes.rack.codes == racks[0])
    near = links[one[fabric.link_a[links]] & one[fabric.link_b[links]]]
    like = next(one for one in alike_classes(fabric, "rack", racks) if racks[0] in one.codes)
    rack = like.heading(f"Rack {plain(str(nodes.rack.labels[racks[0]]))}")
    whole = _folded_domain(fabric, inside, chip, links, "rack", heading)
    whole.stands_for = alike
    return [whole, _folded_domain(fabric, one, chip, near, "host", rack)]


def _folded_domain(fabric: Fabric, inside: Array, chip: Array, links: Array, fold: str, heading: str) -> Scene:
    nodes = fabric.nodes
    labels: Labels = getattr(nodes, fold)
    key = np.full(len(nodes), -1, np.int64)
    base = len(labels.labels)
    key[inside] = np.where(labels.codes >= 0, labels.codes, base + np.arange(len(nodes)))[inside]
    key[chip] = base + np.flatnonzero(chip)
    tier = np.where(chip, np.where(nodes.tier < 0, -nodes.tier.astype(np.int64), 1), 0)
    units = Units.folded(fabric, key, tier, links, named_by=fold, strip=True)
    group = _groups_of_chips(units)
    levels = sorted({int(t) for t in units.tier if t > 0})
    words = {0: fold} | dict.fromkeys(levels, "scale-up switch")
    planes = {
        int(g): units.label("plane", int(c))
        for g, c in zip(group, units.column("plane", np.arange(len(units))), strict=True)
        if c >= 0
    }

    def label(code: int) -> str:
        members = np.flatnonzero(group == code)
        return units.name(int(members[0])) if len(members) == 1 else planes.get(code, "")

    def noun(tier: int) -> str:
        if not tier:
            return fold
        return (
            "scale-up switch"
            if len(np.unique(group[units.tier == tier])) == int((units.tier == tier).sum())
            else "plane"
        )

    scene = by_groups(
        units, group, label, noun, words=words, shades=dict.fromkeys(levels, "t4") | {0: "t5"}, heading=heading
    )
    scene.line_word = "link"
    scene.said = _owned_chips(fabric, inside & ~chip, fold)
    return scene


def _groups_of_chips(units: Units) -> NDArray[np.int64]:
    """Each unit its own group, but for scale-up switches of one plane, which share one."""
    group = np.arange(len(units))
    plane = units.column("plane", group)
    for tier in np.unique(units.tier[units.tier > 0]).tolist():
        own = np.flatnonzero((units.tier == tier) & (plane >= 0))
        if own.size:
            _, first, inverse = np.unique(plane[own], return_index=True, return_inverse=True)
            group[own] = own[first[inverse]]
    return group


def _owned_chips(fabric: Fabric, inside: Array, fold: str) -> tuple[str, ...]:
    """Say which scale-up switches and links are inside the boxes of the lowest row."""
    own = fabric.nodes.kind.is_any("scale_up_switch") & inside
    if not own.any():
        return ()
    return (f"The {plural(int(own.sum()), 'scale-up switch')} that belong to a {fold} are inside its box.",)
