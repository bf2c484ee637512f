"""Which pictures show a fabric: its tiers, its planes and rails, storage beside it, a domain and a host opened."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.output import plain
from topo.table import Array, Labels
from topo.view.alike import AlikeClass, alike_classes
from topo.view.grouped import by_column, domain_scenes, storage_scene
from topo.view.layout import scene_of
from topo.view.opened import host_scene
from topo.view.scene import Scene
from topo.view.text import plural
from topo.view.units import Units, in_hosts, kind_word

__all__ = ["left_out", "panels_of"]

_MOST_CLASSES = 2
_INSIDE = ("scale_up", "host_io")


def panels_of(fabric: Fabric, marked: NDArray[np.bool_] | None = None) -> list[Scene]:
    """The scenes of a fabric, the whole first; of ``marked`` links only those that show some for the first time."""
    inner = _inner_scenes(fabric)
    units = Units.of(fabric, without=_INSIDE if inner else ())
    found: list[Scene] = []
    if (units.tier > 0).any() or len(units.links) or not inner:
        found.append(scene_of(units, marked))
    told = _boxes(found)
    beside = [*(s for s in _by_columns(fabric) if s and not _boxes([s]) <= told), storage_scene(fabric), *inner]
    for scene in beside:
        if scene is not None and (marked is None or not found or _shows_more(scene, found, marked)):
            found.append(scene.join(marked))
    return found


def _shows_more(scene: Scene, before: list[Scene], marked: NDArray[np.bool_]) -> bool:
    """Whether a scene draws marked links that none before it does."""
    left = marked.copy()
    for one in before:
        left[one.units.links] = False
    return bool(left[scene.units.links].any())


def _boxes(scenes: list[Scene]) -> set[tuple[int, int, int]]:
    """What tells boxes of switches and hosts apart: row, size and first node."""
    return {
        (box.tier, len(box.units), int(scene.units.node[box.units].min())) for scene in scenes for box in scene.boxes
    }


def _by_columns(fabric: Fabric) -> list[Scene | None]:
    """By plane and by rail; one picture where every plane is a rail."""
    planes, rails = by_column(fabric, "plane"), by_column(fabric, "rail")
    if planes is not None and rails is not None:
        leaf = fabric.nodes.kind.is_any("switch") & (fabric.nodes.tier == 1)
        pairs = np.stack([fabric.nodes.plane.codes[leaf], fabric.nodes.rail.codes[leaf]])
        if len(np.unique(pairs, axis=1).T) == len(np.unique(pairs[0])) == len(np.unique(pairs[1])):
            rails.heading = "By rail; each rail is a plane of its own"
            return [rails]
    return [planes, rails]


def _inner_scenes(fabric: Fabric) -> list[Scene]:
    """Scale-up domains of several hosts, and hosts with parts, one of each kind."""
    nodes = fabric.nodes
    held = (nodes.domain.codes >= 0) & (nodes.host.codes >= 0)
    pairs = np.unique(np.stack([nodes.domain.codes[held], nodes.host.codes[held]]), axis=1)
    domains, hosts = np.unique(pairs[0], return_counts=True)
    found: list[Scene] = []
    wide = domains[hosts > 1]
    for alike, rest in _first_classes(fabric, "domain", wide):
        scenes = domain_scenes(fabric, alike)
        scenes[0].said += rest
        found += scenes
    own = nodes.host.codes
    within = (own[fabric.link_a] >= 0) & (own[fabric.link_a] == own[fabric.link_b])
    opened = np.unique(own[fabric.link_a[within & in_hosts(fabric)[fabric.link_a]]])
    for alike, rest in _first_classes(fabric, "host", opened):
        scene = host_scene(fabric, alike)
        scene.said += rest
        found.append(scene)
    return found


def _first_classes(fabric: Fabric, column: str, codes: Array) -> list[tuple[AlikeClass, tuple[str, ...]]]:
    """The largest classes; the last of them says what is not opened."""
    if not codes.size:
        return []
    classes = alike_classes(fabric, column, codes)
    shown = classes[:_MOST_CLASSES]
    rest = classes[_MOST_CLASSES:]
    word = "scale-up domain" if column == "domain" else "host"
    n = sum(len(one) for one in rest)
    more = (f"{plural(n, word)} of {plural(len(rest), 'further kind')} not opened here.",) if rest else ()
    return [(one, more if one is shown[-1] else ()) for one in shown]


def left_out(fabric: Fabric, scenes: list[Scene]) -> list[str]:
    """Nodes and links of the fabric that no scene shows: in no box, and in nothing that one drawn stands for."""
    nodes, a, b = fabric.nodes, fabric.link_a, fabric.link_b
    seen = np.zeros(len(nodes), bool)
    drawn = np.zeros(len(fabric.links), bool)
    for scene in scenes:
        unit = scene.units.of_node
        seen |= unit >= 0
        drawn[scene.units.links] = True
        drawn |= (unit[a] >= 0) & (unit[a] == unit[b])
        if scene.stands_for is not None:
            labels: Labels = getattr(nodes, scene.stands_for.column)
            covered = np.isin(labels.codes, scene.stands_for.codes)
            seen |= covered
            drawn |= covered[a] & (labels.codes[a] == labels.codes[b])
    said = _unseen_nodes(fabric, ~seen)
    one_sided = ~drawn & fabric.links.evidence.is_any("one end")
    if one_sided.any():
        said.append(f"{plural(int(one_sided.sum()), 'link')} that only one end reported")
    kinds = Counter(fabric.links.kind.values(np.flatnonzero(~drawn & ~one_sided)).tolist())
    said += [plural(count, f"{plain(kind).replace('_', '-')} link") for kind, count in sorted(kinds.items())]
    return said


def _unseen_nodes(fabric: Fabric, unseen: NDArray[np.bool_]) -> list[str]:
    nodes = fabric.nodes
    inside = in_hosts(fabric)
    idle = unseen & (nodes.host.codes >= 0) & ~inside
    said = []
    if idle.any():
        hosts = len(np.unique(nodes.host.codes[idle]))
        said.append(f"{plural(hosts, 'host')} without endpoints ({_counted(fabric, idle)})")
    if (parts := unseen & inside).any():
        said.append(f"{_counted(fabric, parts)} inside hosts")
    rest = unseen & ~idle & ~inside
    return [*said, _counted(fabric, rest)] if rest.any() else said


def _counted(fabric: Fabric, mask: NDArray[np.bool_]) -> str:
    kinds = Counter(fabric.nodes.kind.values(np.flatnonzero(mask)).tolist())
    words = {kind: kind_word(kind) for kind in kinds}
    return ", ".join(
        plural(n, words[kind] if words[kind] != plain(kind) or not kind else f"{words[kind]} node")
        for kind, n in sorted(kinds.items())
    )
