"""What differs between a damaged wiring and its nearest good origin, where names are labels and tell nothing.

Without a design nobody knows which of two leaves was meant to be which: the good fabric with two switches, or two
hosts, renamed is as good an origin of what was found. Where two leaves exchange their one cable each to the switches
that join zones, the wiring after is the wiring before with these leaves renamed: there is no fault to find.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.wiring.cabling import Cabling

_MOST_RENAMED = 40


@dataclass(frozen=True, eq=False)
class Boxes:
    """Each cable as two entries (box, box at its other end, adapter); a box is a switch or a host.

    Hosts with one adapter are alike, so a switch only has a number of them; adapters are told by their place in the
    host. ``kind`` is the tier of a switch and -1 of a host: only boxes of a kind are renamed.
    """

    row: NDArray[np.int64]
    far: NDArray[np.int64]
    rank: NDArray[np.int64]
    kind: NDArray[np.int64]
    name: tuple[str, ...]

    @classmethod
    def of(cls, fabric: Fabric, like: Fabric) -> Boxes:
        """The boxes of a fabric; which hosts have one adapter only, and the tiers, are those of ``like``."""
        nodes, n = fabric.nodes, len(fabric.nodes)
        plan = Cabling.of(like)
        host = nodes.host.codes.astype(np.int64)
        box = np.where(plan.is_switch | (host < 0), np.arange(n), n + host)
        size = n + int(host.max(initial=-1)) + 1
        adapters = np.unique(plan.nic)
        order = adapters[np.argsort(box[adapters], kind="stable")]
        rank = np.zeros(n, np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(box[order], box[order])
        is_lone = np.bincount(box[plan.nic], minlength=size) == 1
        links = Cabling.of(fabric).links
        a, b = fabric.link_a[links], fabric.link_b[links]
        near, other = np.concatenate([a, b]), np.concatenate([b, a])
        far = np.where(is_lone[box[other]], size, box[other])
        kept = ~is_lone[box[near]]
        kind = np.full(size, -1)
        kind[:n][plan.is_switch] = plan.tier[plan.is_switch]
        name = (*map(str, nodes.name.tolist()), *map(str, nodes.host.labels.tolist()))
        return cls(box[near][kept], far[kept], (rank[near] + rank[other])[kept], kind, name)

    def keys(self, renamed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Entries as numbers, boxes called as ``renamed`` says."""
        width = len(renamed)
        return (renamed[self.row] * width + renamed[self.far]) * 1024 + self.rank


def nearest_items(good: Fabric, damaged: Fabric, said: set[tuple]) -> set[tuple]:
    """Pairs and hosts that differ from the nearest origin found by renaming boxes in pairs.

    First each renaming that lowers the difference, best first; then, of origins that are as near, one that agrees
    better with what was said. What is returned is always the difference to a true renaming of the good fabric.
    """
    plan, found = Boxes.of(good, good), Boxes.of(damaged, good)
    same = np.arange(len(plan.kind) + 1)
    found_keys = found.keys(same)
    renamed, differs = same, _differing(plan.keys(same), found_keys)
    for _ in range(_MOST_RENAMED):
        items = _items(plan, differs)
        options = [(-len(differs), 0.0)]
        tried = []
        for one, other in _candidates(plan, found, renamed, differs, items ^ said):
            trial = renamed.copy()
            at = [int(np.flatnonzero(renamed == box)[0]) for box in (one, other)]
            trial[at] = trial[at[::-1]]
            left = _differing(plan.keys(trial), found_keys)
            if len(left) <= len(differs):
                tried.append((trial, left))
                options.append((-len(left), _agreement(_items(plan, left), said)))
        options[0] = (-len(differs), _agreement(items, said))
        best = max(range(len(options)), key=options.__getitem__)
        if options[best] <= options[0]:
            break
        renamed, differs = tried[best - 1]
    return _items(plan, differs)


def _differing(planned: NDArray[np.int64], found: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keys that one side has more often, each as often as that."""
    keys, back = np.unique(np.concatenate([planned, found]), return_inverse=True)
    more = np.bincount(back[: len(planned)], minlength=len(keys)) - np.bincount(
        back[len(planned) :], minlength=len(keys)
    )
    return np.repeat(keys, np.abs(more))


def _items(plan: Boxes, differs: NDArray[np.int64]) -> set[tuple]:
    """Pairs of switches and hosts that keys speak of."""
    width = len(plan.kind) + 1
    pairs = np.unique(differs // 1024)
    items: set[tuple] = set()
    for a, b in zip((pairs // width).tolist(), (pairs % width).tolist(), strict=True):
        if b == width - 1:
            continue
        if plan.kind[a] >= 0 and plan.kind[b] >= 0:
            items.add(("pair", min(a, b), max(a, b)))
        else:
            items.add(("host", plan.name[b if plan.kind[a] >= 0 else a]))
    return items


def _agreement(items: set[tuple], said: set[tuple]) -> float:
    return len(items & said) / max(len(items | said), 1)


def _candidates(
    plan: Boxes, found: Boxes, renamed: NDArray[np.int64], differs: NDArray[np.int64], doubtful: set[tuple]
) -> list[tuple[int, int]]:
    """Boxes of a kind that are not joined alike and whose exchange may lower the difference, or keep it where doubtful.

    The rows of both, seen as if only they were renamed, tell: |g(x) - d(y)| + |g(y) - d(x)| against
    |g(x) - d(x)| + |g(y) - d(y)|.
    """
    from scipy.spatial.distance import cdist

    width = len(renamed)
    boxes = [box for item in doubtful if item[0] == "pair" for box in item[1:]]
    touched = np.union1d(differs // 1024 // width, np.array(boxes, np.int64))
    if not touched.size:
        return []
    sides = []
    for row, far, rank in (
        (renamed[plan.row], renamed[plan.far], plan.rank),
        (found.row, found.far, found.rank),
    ):
        mine = np.isin(row, touched)
        sides.append((np.searchsorted(touched, row[mine]), far[mine] * 1024 + rank[mine]))
    columns = np.unique(np.concatenate([column for _, column in sides]))
    tables = []
    for row, column in sides:
        table = np.zeros((len(touched), len(columns)), np.int16)
        np.add.at(table, (row, np.searchsorted(columns, column)), 1)
        tables.append(table)
    across = cdist(tables[0], tables[1], "cityblock")
    own = np.diag(across)
    gain = own[:, None] + own[None, :] - across - across.T
    kind = plan.kind[touched]
    unlike = cdist(tables[0], tables[0], "cityblock") > 0
    is_doubtful = np.isin(touched, boxes)
    may = (gain > 0) | ((gain == 0) & (is_doubtful[:, None] | is_doubtful[None, :]))
    pairs = np.argwhere(np.triu(may & unlike & (kind[:, None] == kind[None, :]), 1))
    order = np.argsort(-gain[pairs[:, 0], pairs[:, 1]], kind="stable")[:200]
    return [(int(touched[a]), int(touched[b])) for a, b in pairs[order]]
