"""Tiers, rails, pods and planes from the wiring alone, for fabrics that were read from a machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, Note
from topo.io.infer_rails import rails_of
from topo.io.infer_tiers import Wiring, components, switch_tiers
from topo.table import Array, Labels
from topo.view.text import natural_key, plural

__all__ = ["infer_structure", "pods_of"]

_TIER_NAMES = {1: "leaf", 2: "spine", 3: "core"}
_JOINED = 0.25
_SMALL = 0.1


def infer_structure(fabric: Fabric, *, device: Labels | None = None) -> Fabric:
    """The fabric with tier, rail, pod and plane filled in from its wiring, and sentences that say how.

    ``device`` names each adapter inside its host (``mlx5_0``); rails follow it where it is given, because an
    adapter that did not answer shifts every ``local_index`` after it. A swapped pair of cables then shows as
    two adapters whose rail differs from their leaf's. Nothing is guessed from the names of switches.
    """
    wiring = Wiring.of(fabric)
    nodes = fabric.nodes
    tier = switch_tiers(wiring)
    said: list[str] = []
    notes: list[str] = []
    _say_tiers(wiring, tier, said, notes)
    rails = rails_of(wiring.nic, wiring.leaf, nodes.host.codes, nodes.local_index, device)
    said += rails.said
    pod = pods_of(wiring, tier, nodes.host.codes, nodes.name)
    if len(pod.labels):
        apart = int((wiring.is_switch & (pod.codes < 0) & (tier > 0) & (tier < 3)).sum())
        rest = f"; {apart:,} such switches hang from the core in small parts and are in none" if apart else ""
        said.append(f"{len(pod.labels)} pods: switches below tier 3 that links or shared hosts join{rest}")
    plane = _planes(wiring, nodes.host.codes, nodes.name, said)
    source = fabric.origin.sources[0] if fabric.origin.sources else ""
    return replace(
        fabric,
        nodes=replace(nodes, tier=tier.astype(np.int8), rail=rails.rail, pod=pod, plane=plane),
        origin=replace(
            fabric.origin,
            assumptions=(*fabric.origin.assumptions, *said),
            notes=(*fabric.origin.notes, *(Note(text, source) for text in notes)),
        ),
    )


def _say_tiers(wiring: Wiring, tier: Array, said: list[str], notes: list[str]) -> None:
    count = np.bincount(tier[wiring.is_switch], minlength=2)
    parts = [f"{n:,} {_TIER_NAMES.get(t, f'of tier {t}')}" for t, n in enumerate(count.tolist()) if t and n]
    if parts:
        said.append(f"tiers are distances from the endpoints: switches {', '.join(parts)}")
    if count[0]:
        notes.append(f"no endpoint is reached from {plural(int(count[0]), 'switch')}; the tier is unknown and stays 0")
    low, high = tier[wiring.a], tier[wiring.b]
    odd = int(((low > 0) & (high > 0) & (np.abs(low - high) != 1)).sum())
    if odd:
        notes.append(f"{odd:,} of {len(low):,} switch links do not join adjacent tiers")


def pods_of(wiring: Wiring, tier: Array, host: Array, name: Array) -> Labels:
    """Pods, where there is a third tier: parts of tiers 1 and 2 that stay together without it.

    Parts that share a quarter of the hosts of the smaller one are one pod: rails are disjoint below the core
    and meet in their hosts, while a single storage host on two pods joins nothing. A lone part is no
    pod, nor is one with less than a tenth of the endpoints of the largest (management, hanging from the core).
    """
    none = Labels.constant(None, wiring.n)
    if tier.max(initial=0) < 3:
        return none
    low = wiring.is_switch & (tier >= 1) & (tier <= 2)
    inside = low[wiring.a] & low[wiring.b]
    part = components(wiring.n, wiring.a[inside], wiring.b[inside])
    part[~low] = -1
    part = _joined_by_hosts(wiring, part, host)
    on = part[wiring.leaf]
    served = np.bincount(on[on >= 0], minlength=wiring.n)
    used = np.flatnonzero(served >= max(1.0, _SMALL * served.max(initial=0)))
    if len(used) < 2:
        return none
    code = np.full(wiring.n + 1, -1)
    code[used] = np.arange(len(used))
    pod = code[part]
    held = pod[wiring.leaf] >= 0
    pod[wiring.nic[held]] = pod[wiring.leaf[held]]
    return _labelled("pod", pod, wiring.is_switch, name)


def _joined_by_hosts(wiring: Wiring, part: Array, host: Array) -> NDArray[np.int64]:
    """The parts, those that share enough hosts made one."""
    member = (host[wiring.nic] >= 0) & (part[wiring.leaf] >= 0)
    pairs = np.unique(np.stack([host[wiring.nic[member]], part[wiring.leaf[member]]]), axis=1)
    if not pairs.size:
        return part
    n_hosts = np.bincount(pairs[1], minlength=wiring.n)
    first = np.flatnonzero(np.diff(pairs[0], prepend=-1))
    size = np.diff(np.append(first, pairs.shape[1]))
    star = np.stack([np.repeat(pairs[1][first], size), pairs[1]])
    star = star[:, star[0] != star[1]]
    both, shared = np.unique(star, axis=1, return_counts=True)
    enough = shared >= _JOINED * np.minimum(n_hosts[both[0]], n_hosts[both[1]])
    merged = components(wiring.n, both[0][enough], both[1][enough])
    return np.where(part >= 0, merged[part], -1)


def _planes(wiring: Wiring, host: Array, name: Array, said: list[str]) -> Labels:
    """Planes: parts of the switch graph that no link joins and most hosts share."""
    none = Labels.constant(None, wiring.n)
    part = components(wiring.n, wiring.a, wiring.b)
    member = host[wiring.nic] >= 0
    pairs = np.unique(np.stack([host[wiring.nic[member]], part[wiring.leaf[member]]]), axis=1)
    if not pairs.size:
        return none
    on = np.bincount(pairs[0])
    on = on[on > 0]
    if 2 * (on > 1).sum() <= len(on):
        n_parts = len(np.unique(part[wiring.is_switch]))
        if n_parts > 1:
            said.append(f"the switches form {n_parts:,} parts that no link joins")
        return none
    wide = np.flatnonzero(np.bincount(pairs[1], minlength=wiring.n) >= _JOINED * len(on))
    place = np.full(wiring.n, -1)
    place[wide] = np.arange(len(wide))
    plane = np.where(wiring.is_switch, place[part], -1)
    if len(wide) < 2:
        return none
    said.append(f"{len(wide)} planes: parts that no link joins and most hosts share")
    return _labelled("plane", plane, wiring.is_switch, name)


def _labelled(word: str, code: Array, is_switch: Array, name: Array) -> Labels:
    """Codes as ``word-1``, ``word-2``, ... in natural order of the first switch name of each."""
    n = int(code.max()) + 1
    rows = np.flatnonzero(is_switch & (code >= 0))
    order = rows[np.lexsort((name[rows], code[rows]))]
    _, first = np.unique(code[order], return_index=True)
    leading = name[order[first]].tolist()
    rank = np.empty(n, np.int64)
    rank[sorted(range(n), key=lambda i: natural_key(leading[i]))] = np.arange(n)
    width = len(str(n))
    labels = [f"{word}-{i:0{width}d}" for i in range(1, n + 1)]
    return Labels(np.where(code >= 0, rank[np.maximum(code, 0)], -1), labels)
