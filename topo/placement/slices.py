"""Contiguous slices of a grid and groups of switches, in which a job stays on links of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.placement.fold import Hosts
from topo.table import Array

__all__ = ["Grid", "Group", "Slice", "blocks_for", "slices_for"]

_MOST_SHAPES = 4096
_MOST_TRIED = 512
_MOST_FOUND = 6


@dataclass(frozen=True, eq=False)
class Grid:
    """Where the hosts of a fabric with coordinates stand, one step a host in every dimension.

    ``place[h]`` is the place of host h, -1 in every dimension for one without; ``closes[k]`` whether rows along
    dimension k close to rings.
    """

    place: NDArray[np.int64]
    dims: tuple[int, ...]
    closes: tuple[bool, ...]

    @classmethod
    def of(cls, hosts: Hosts) -> Grid | None:
        """The grid of a fabric, None where its hosts have no coordinates, of their own or of their switches.

        >>> import topo
        >>> from topo.placement.fold import hosts_of
        >>> grid = Grid.of(hosts_of(topo.tpu_slice([8, 8, 8])))
        >>> grid.dims, grid.closes
        ((4, 4, 8), (True, True, True))
        """
        nodes, network = hosts.fabric.nodes, hosts.network
        places = nodes.places()
        if not places.shape[1]:
            return None
        at = np.arange(len(nodes))
        for end, other in ((network.a, network.b), (network.b, network.a)):  # a host of a switch stands where that does
            lent = (places[end] < 0).all(axis=1) & (places[other] >= 0).all(axis=1)
            at[end[lent]] = other[lent]
        own = places[at[hosts.endpoint]]
        if (own < 0).any():
            return None
        place = np.minimum.reduceat(own, hosts.start[:-1], axis=0)  # a host of several is where its block begins
        steps = [np.unique(axis, return_inverse=True) for axis in place.T]
        dims = tuple(len(values) for values, _ in steps)
        return cls(np.stack([index for _, index in steps], axis=1), dims, _closing(places, network.a, network.b))

    def counted(self, free: Array) -> NDArray[np.int64]:
        """Free hosts at every place."""
        counts = np.zeros(self.dims, np.int64)
        np.add.at(counts, tuple(self.place[free].T), 1)
        return counts


@dataclass(frozen=True, eq=False)
class Slice:
    """A block of a grid: where it begins and how long it is in every dimension; its free hosts in winding order."""

    first: tuple[int, ...]
    size: tuple[int, ...]
    hosts: NDArray[np.int64]

    def __str__(self) -> str:
        return f"a slice of {' x '.join(map(str, self.size))} hosts from {','.join(map(str, self.first))} on"


@dataclass(frozen=True, eq=False)
class Group:
    """Free hosts of one pod, those of its leaf groups with most of them first."""

    name: str
    hosts: NDArray[np.int64]

    def __str__(self) -> str:
        return f"all within {self.name}"


def blocks_for(hosts: Hosts, free: Array, n: int) -> list[Slice] | list[Group]:
    """Blocks that hold ``n`` of the free hosts: slices where hosts stand on a grid, else pods, the fullest first.

    >>> import topo
    >>> from topo.placement.fold import hosts_of
    >>> str(blocks_for(hosts_of(topo.dragonfly(2, 4, 2)), np.arange(4, 72), 6)[0])
    'all within group-2'
    """
    grid = Grid.of(hosts)
    return _groups_for(hosts, free, n) if grid is None else slices_for(grid, free, n)


def _groups_for(hosts: Hosts, free: Array, n: int) -> list[Group]:
    pods = hosts.fabric.nodes.pod
    pod = pods.codes[hosts.endpoint[hosts.start[:-1]]].astype(np.int64)[free]
    here, count = np.unique(pod[pod >= 0], return_counts=True)
    fitting = np.flatnonzero(count >= n)
    found = []
    for code in here[fitting[np.argsort(count[fitting], kind="stable")]][:_MOST_FOUND].tolist():
        mine = free[pod == code]
        leaf = hosts.leaf[mine]
        width = np.bincount(leaf, minlength=int(leaf.max()) + 1)[leaf]
        order = np.lexsort((mine, leaf, -width))
        found.append(Group(str(pods.labels[code]), np.asarray(mine[order[:n]], np.int64)))
    return found


def _closing(places: Array, a: Array, b: Array) -> tuple[bool, ...]:
    """Dimensions in which some link joins the last place with the first."""
    top = places.max(axis=0)
    ends = np.stack([places[a], places[b]])
    low, high = ends.min(axis=0), ends.max(axis=0)
    alone = (low != high).sum(axis=1) == 1
    return tuple(
        bool((alone & (low[:, k] == 0) & (high[:, k] == top[k])).any() and top[k] > 1) for k in range(len(top))
    )


def slices_for(grid: Grid, free: Array, n: int) -> list[Slice]:
    """Some blocks with at least ``n`` free hosts (numbers in ``free``), those of least mean distance first.

    Every shape is looked for at every place, around closing rings too; the first place of each shape is kept.

    >>> import topo
    >>> from topo.placement.fold import hosts_of
    >>> hosts = hosts_of(topo.torus([4, 4, 4]))
    >>> str(slices_for(Grid.of(hosts), np.arange(64), 8)[0])
    'a slice of 2 x 2 x 2 hosts from 0,0,0 on'
    """
    counts = grid.counted(free)
    found: list[Slice] = []
    for size in itertools.islice(_shapes(grid, n, int(counts.max(initial=0))), _MOST_TRIED):
        windows = _windows(counts, size, grid.closes)
        at = np.flatnonzero(windows.ravel() >= n)
        if not at.size:
            continue
        # Of several the one that leaves fewest free hosts inside itself, then the first.
        best = at[int(windows.ravel()[at].argmin())]
        first = tuple(int(i) for i in np.unravel_index(best, windows.shape))
        found.append(Slice(first, size, _inside(grid, free, first, size)[:n]))
        if len(found) == _MOST_FOUND:
            break
    return found


def _shapes(grid: Grid, n: int, most: int) -> Iterator[tuple[int, ...]]:
    """Shapes that might hold n hosts, those whose places are nearest to each other first."""
    each = [list(range(1, size + 1)) for size in grid.dims]
    while np.prod([float(len(one)) for one in each]) > _MOST_SHAPES:  # too many: every second size of the longest
        longest = max(each, key=len)
        longest[:] = sorted({*longest[::-2], 1})
    shapes = np.array(list(itertools.product(*each)), np.int64)
    shapes = shapes[shapes.prod(axis=1) * most >= n]
    whole = (shapes == np.array(grid.dims)) & np.array(grid.closes)
    mean = np.where(whole, shapes / 4, (shapes**2 - 1) / (3 * shapes)).sum(axis=1)
    for i in np.lexsort((shapes.max(axis=1), shapes.prod(axis=1), np.round(mean, 9))).tolist():
        yield tuple(shapes[i].tolist())


def _windows(counts: Array, size: tuple[int, ...], closes: tuple[bool, ...]) -> NDArray[np.int64]:
    """Sum of every block of a size by where it begins; past the end only in rings."""
    out = counts
    for axis, (length, around) in enumerate(zip(size, closes, strict=True)):
        extent = counts.shape[axis]
        if around and length < extent:
            out = np.concatenate([out, np.take(out, range(length - 1), axis=axis)], axis=axis)
        total = np.cumsum(out, axis=axis)
        total = np.concatenate([np.zeros_like(np.take(total, [0], axis=axis)), total], axis=axis)
        n = total.shape[axis] - length
        out = np.take(total, range(length, length + n), axis=axis) - np.take(total, range(n), axis=axis)
    return np.asarray(out, np.int64)


def _inside(grid: Grid, free: Array, first: tuple[int, ...], size: tuple[int, ...]) -> NDArray[np.int64]:
    """Free hosts of a block, winding to and fro, so that each is next to the one before."""
    step = (grid.place[free] - np.array(first)) % np.array(grid.dims)
    mine = np.flatnonzero((step < np.array(size)).all(axis=1))
    step = step[mine]
    keys, turned = [], np.zeros(len(mine), np.int64)
    for axis in range(len(size) - 1, -1, -1):
        key = np.where(turned % 2 == 1, size[axis] - 1 - step[:, axis], step[:, axis])
        keys.append(key)
        turned = turned + step[:, axis]
    order = np.lexsort((free[mine], *keys[::-1]))
    return np.asarray(free[mine[order]], np.int64)
