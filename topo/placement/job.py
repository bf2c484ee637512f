"""A job to be placed: its ranks, what they say to each other, how they are numbered, what it asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.placement.traffic import Traffic
from topo.table import Array
from topo.traffic.rings import double_tree_parents

__all__ = ["DIMENSIONS", "PATTERNS", "Constraints", "Job"]

DIMENSIONS = ("tensor", "context", "pipeline", "data")
_MOST_RANKS = 4_000_000
PATTERNS = ("all-to-all", "ring", "double-tree", "none")


@dataclass(frozen=True)
class Constraints:
    """What a placement has to keep to.

    ``at_most_leaves``: leaf groups it may use. ``within``: a level (``leaf``, ``pod``, ...) or the name of a node of
    the placement tree that must hold all of it. ``same_rail``: one rank a host, all on one rail. ``exclude``: hosts it
    may not use (globs). ``hosts_per_leaf``: the most it may take of one leaf group. ``whole_hosts``: hosts are not
    shared with other jobs, so a rest of the last host stays idle; else the rest is left to others.

    >>> Constraints(at_most_leaves=2, exclude="host-01*").exclude
    ('host-01*',)
    """

    whole_hosts: bool = True
    same_rail: bool = False
    within: str | None = None
    at_most_leaves: int | None = None
    hosts_per_leaf: int | None = None
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "exclude", _names("exclude", self.exclude))
        for name in ("at_most_leaves", "hosts_per_leaf"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ParameterError(f"{name} is {value!r}; it must be a whole number, at least 1")


@dataclass(frozen=True)
class Job:
    """Ranks, bytes per step between them, and constraints.

    Either ``size`` ranks with one ``pattern`` of ``pattern_bytes`` (per ordered pair of an all-to-all, per edge of a
    ring or of each tree of a double binary tree), or ``degrees``: tensor x context x pipeline x data, with ``expert``
    dividing data (groups of so many consecutive replicas). ``order`` numbers the ranks, fastest dimension first; it
    has no default, because a wrong guess is a wrong placement. Llama 3 has tensor, context, pipeline, data; Megatron's
    default is tensor, context, data, pipeline.

    ``bytes_per_step`` by dimension: ``tensor``, ``context`` and ``data`` per ring edge (each rank to the next of its
    group), ``pipeline`` per rank each way between neighbouring stages, ``expert`` per ordered pair of a group.
    ``pairs`` adds (source, sink, bytes) one by one. ``ranks_per_host`` defaults to the endpoints of a host.

    >>> job = Job(degrees={"tensor": 8, "data": 16}, order=("tensor", "data"), bytes_per_step={"data": 10})
    >>> job.size, job.traffic.total
    (128, 1280.0)

    :raises ParameterError: degrees whose product is not the size, a missing order, an unknown dimension.
    """

    size: int = 0
    degrees: Mapping[str, int] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    bytes_per_step: Mapping[str, float] = field(default_factory=dict)
    pattern: str = "all-to-all"
    pattern_bytes: float = 1.0
    pairs: tuple[tuple[int, int, float], ...] = ()
    ranks_per_host: int | None = None
    constraints: Constraints = field(default_factory=Constraints)
    name: str = "job"

    def __post_init__(self) -> None:
        degrees = {key: int(value) for key, value in self.degrees.items()}
        object.__setattr__(self, "degrees", degrees)
        object.__setattr__(self, "order", tuple(self.order))
        object.__setattr__(self, "bytes_per_step", {k: float(v) for k, v in self.bytes_per_step.items()})
        object.__setattr__(self, "pairs", tuple((int(s), int(t), float(w)) for s, t, w in self.pairs))
        if self.degrees:
            self._check_degrees()
        if isinstance(self.size, bool) or not isinstance(self.size, (int, np.integer)) or self.size < 1:
            raise ParameterError(f"size is {self.size!r}; a job has at least 1 rank (or give degrees)")
        if self.size > _MOST_RANKS:
            raise ParameterError(f"size is {self.size:,}; a job of more than {_MOST_RANKS:,} ranks is not looked at")
        if self.pattern not in PATTERNS:
            raise ParameterError(f"unknown pattern {self.pattern!r}; known: {', '.join(PATTERNS)}")
        if self.ranks_per_host is not None and self.ranks_per_host < 1:
            raise ParameterError(f"ranks_per_host is {self.ranks_per_host}; it must be at least 1")
        self._check_amounts()

    def _check_degrees(self) -> None:
        known = (*DIMENSIONS, "expert")
        for key, value in self.degrees.items():
            if key not in known:
                raise ParameterError(f"unknown degree {key!r}; known: {', '.join(known)}")
            if value < 1:
                raise ParameterError(f"degree {key} is {value}; it must be at least 1")
        product = math.prod(self.degree(name) for name in DIMENSIONS)
        if self.size in (0, None):
            object.__setattr__(self, "size", product)
        if product != self.size:
            written = " x ".join(f"{name} {self.degree(name)}" for name in DIMENSIONS if self.degree(name) > 1)
            raise ParameterError(f"degrees {written or '1'} make {product:,} ranks, not the size {self.size:,}")
        if self.degree("data") % self.degree("expert"):
            raise ParameterError(
                f"expert degree {self.degree('expert')} does not divide the data degree {self.degree('data')}; "
                "an expert group is so many consecutive replicas"
            )
        wanted = {name for name in DIMENSIONS if self.degree(name) > 1}
        listed = set(self.order)
        if len(listed) != len(self.order) or not wanted <= listed or listed - set(DIMENSIONS):
            raise ParameterError(
                f"order is {', '.join(self.order) or 'not given'}; it lists each of "
                f"{', '.join(n for n in DIMENSIONS if n in wanted)} once, fastest first "
                "(Llama 3: tensor, context, pipeline, data; Megatron's default: tensor, context, data, pipeline)"
            )

    def _check_amounts(self) -> None:
        known = (*DIMENSIONS, "expert")
        for key, value in self.bytes_per_step.items():
            if key not in known:
                raise ParameterError(f"unknown dimension {key!r} of bytes_per_step; known: {', '.join(known)}")
            if not self.degrees:
                raise ParameterError(f"bytes_per_step of {key} are given without degrees; give degrees and order")
            _amount(f"bytes_per_step of {key}", value)
        _amount("pattern_bytes", self.pattern_bytes)
        for source, sink, amount in self.pairs:
            _amount(f"pair {source} -> {sink}", amount)
            if not (0 <= source < self.size and 0 <= sink < self.size) or source == sink:
                raise ParameterError(f"pair {source} -> {sink} is no pair of the ranks 0 to {self.size - 1}")

    def degree(self, name: str) -> int:
        """Degree of a dimension; 1 where none is given."""
        return self.degrees.get(name, 1)

    @property
    def order_text(self) -> str:
        """How ranks are numbered, in words."""
        return f"ranks count {', then '.join(self.order)}" if self.order else "ranks in the order given"

    @cached_property
    def grid(self) -> NDArray[np.int64]:
        """Rank at every (tensor, context, pipeline, data) coordinate."""
        order = [*self.order, *(name for name in DIMENSIONS if name not in self.order)]
        shape = [self.degree(name) for name in reversed(order)]
        grid = np.arange(self.size).reshape(shape)
        return np.transpose(grid, [len(order) - 1 - order.index(name) for name in DIMENSIONS])

    @cached_property
    def traffic(self) -> Traffic:
        """Bytes per step between the ranks."""
        out = self._by_degrees() if self.degrees else self._by_pattern()
        if self.pairs:
            source, sink, amount = (np.array(column) for column in zip(*self.pairs, strict=True))
            out = out + Traffic.of(self.size, source=source, sink=sink, amount=amount)
        return out

    def _by_degrees(self) -> Traffic:
        out = Traffic.of(self.size)
        for axis, name in enumerate(DIMENSIONS):
            amount = self.bytes_per_step.get(name, 0.0)
            if self.degree(name) < 2 or amount == 0:
                continue
            along = np.moveaxis(self.grid, axis, -1)
            if name == "pipeline":
                early, late = along[..., :-1].ravel(), along[..., 1:].ravel()
                ends = np.concatenate([early, late]), np.concatenate([late, early])
            else:
                ends = along.ravel(), np.roll(along, -1, axis=-1).ravel()
            out = out + Traffic.of(self.size, source=ends[0], sink=ends[1], amount=np.full(len(ends[0]), amount))
        expert, amount = self.degree("expert"), self.bytes_per_step.get("expert", 0.0)
        if expert > 1 and amount:
            out = out + Traffic.of(self.size, groups=self.grid.reshape(-1, expert), group_amount=amount)
        return out

    def _by_pattern(self) -> Traffic:
        ranks = np.arange(self.size)
        if self.size < 2 or self.pattern == "none":
            return Traffic.of(self.size)
        if self.pattern == "all-to-all":
            return Traffic.of(self.size, groups=ranks[None, :], group_amount=self.pattern_bytes)
        if self.pattern == "ring":
            ends = ranks, np.roll(ranks, -1)
        else:
            ends = _tree_ends(self.size)
        return Traffic.of(self.size, source=ends[0], sink=ends[1], amount=np.full(len(ends[0]), self.pattern_bytes))

    def n_hosts(self, ranks_per_host: int) -> int:
        """Hosts it needs, the last one perhaps in part."""
        return -(-self.size // ranks_per_host)

    def host_traffic(self, ranks_per_host: int) -> Traffic:
        """Bytes between hosts when rank r is on host r // ranks_per_host; what stays inside a host is left out."""
        n = self.n_hosts(ranks_per_host)
        code = np.arange(self.size) // ranks_per_host
        if self.is_uniform(ranks_per_host):
            amount = self.pattern_bytes * ranks_per_host**2
            return Traffic.of(n, groups=np.arange(n)[None, :], group_amount=amount)
        matrix = self.traffic.between(code, n).tocoo()
        return Traffic.of(n, source=matrix.row, sink=matrix.col, amount=matrix.data)

    def is_uniform(self, ranks_per_host: int) -> bool:
        """Whether every host says as much to every other: an all-to-all alone, of full hosts."""
        alone = not self.degrees and not self.pairs and self.pattern == "all-to-all"
        return alone and self.size % ranks_per_host == 0


def _tree_ends(n: int) -> tuple[Array, Array]:
    """Both directions of every edge of the two trees."""
    parents = double_tree_parents(n)
    child = np.concatenate([np.flatnonzero(p >= 0) for p in parents])
    parent = np.concatenate([p[p >= 0] for p in parents])
    return np.concatenate([child, parent]), np.concatenate([parent, child])


def _amount(what: str, value: Any) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ParameterError(f"{what} is {value}; bytes are a plain number, finite and at least 0")


def _names(what: str, value: str | Sequence[str]) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"{what} lists {names!r}; it takes names of hosts or globs")
    return names
