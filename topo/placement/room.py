"""Where a job may go: free hosts under its constraints, scope by scope; and what to say when it does not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.placement.fold import Hosts, name_mask
from topo.placement.job import Job
from topo.placement.measure import EndTree
from topo.placement.placement import rank_width
from topo.placement.tree import LEVEL_WORDS, Tree
from topo.table import Array

__all__ = ["Scope", "largest_fit", "parts_of", "scopes"]


@dataclass(frozen=True, eq=False)
class Scope:
    """One part of the fabric that must hold all of a job: a tree, the leaf group of each usable host (-1: none).

    ``free`` counts the hosts that may be taken of each leaf group. ``rows`` is the endpoint of each host that a
    same-rail job takes, None where it takes whole hosts. ``name`` says which part it is, '' for the whole fabric.
    """

    name: str
    tree: Tree
    leaf: NDArray[np.int64]
    free: NDArray[np.int64]
    rows: NDArray[np.int64] | None = None


def scopes(hosts: Hosts, ends: EndTree, job: Job, free: NDArray[np.bool_]) -> list[Scope]:
    """The scopes that hold the job, under all its constraints.

    :raises ParameterError: none does: how many hosts are missing, the largest job that fits, and the first
        constraint without which it would fit.
    """
    width = rank_width(hosts, job)
    found = parts_of(hosts, ends, job, free)
    n = job.n_hosts(width)
    fitting = [scope for scope in found if largest_fit(scope, job.constraints.at_most_leaves) >= n]
    if not fitting:
        raise ParameterError(_refusal(hosts, ends, job, free, width))
    return fitting


def largest_fit(scope: Scope, most_leaves: int | None) -> int:
    """Most hosts a job can have in a scope: all that are free, or the largest leaf groups' free ones."""
    ordered = np.sort(scope.free)[::-1]
    return int((ordered if most_leaves is None else ordered[:most_leaves]).sum())


def parts_of(hosts: Hosts, ends: EndTree, job: Job, free: NDArray[np.bool_]) -> list[Scope]:
    """Every part that the job's constraints allow it to lie in, whether it fits there or not.

    :raises ParameterError: one rail is asked for where there are no rails.
    """
    rules, width = job.constraints, rank_width(hosts, job)
    size = np.maximum(hosts.size, 1)
    each = np.where(width <= size, True, width % size == 0)
    usable = free & (hosts.leaf >= 0) & ~name_mask(hosts, rules.exclude) & each
    if rules.same_rail and not (ends.rail[hosts.endpoint] >= 0).any():
        raise ParameterError(f"same_rail is asked for, but {hosts.fabric.name!r} has no rails; leave same_rail out")
    if rules.same_rail:
        wide = [_rail_scope(hosts, ends, usable, rail) for rail in range(ends.n_rails)]
    else:
        wide = [_scope("", hosts.tree, np.where(usable, hosts.leaf, -1))]
    wide = [part for scope in wide for part in _joined_parts(scope)]
    if rules.within is not None:
        wide = [part for scope in wide for part in _parts(hosts, scope, rules.within)]
    if rules.hosts_per_leaf is not None:
        wide = [replace(scope, free=np.minimum(scope.free, rules.hosts_per_leaf)) for scope in wide]
    return wide


def _scope(name: str, tree: Tree, leaf: Array, rows: Array | None = None) -> Scope:
    return Scope(name, tree, leaf, np.bincount(leaf[leaf >= 0], minlength=tree.n_leaves), rows)


def _rail_scope(hosts: Hosts, ends: EndTree, usable: Array, rail: int) -> Scope:
    rows = np.full(len(hosts), -1, np.int64)
    mine = hosts.endpoint[ends.rail[hosts.endpoint] == rail]
    rows[hosts.of_node[mine]] = mine
    leaf = np.where(usable & (rows >= 0), ends.leaf[rows], -1)
    name = str(hosts.fabric.nodes.rail.labels[rail])
    return _scope(f"rail {name}" if not name.startswith("rail") else name, ends.tree, leaf, rows)


def _joined_parts(scope: Scope) -> list[Scope]:
    """The scope itself, or one for each part of a forest: no path leads from one to another."""
    tree = scope.tree
    if tree.joined or tree.depth == 0:
        return [scope]
    top = tree.above[-1]
    out = []
    for node, name in enumerate(tree.levels[-1].name.tolist()):
        inside = (scope.leaf >= 0) & (top[scope.leaf] == node)
        if inside.any():
            out.append(_scope(scope.name or str(name), tree, np.where(inside, scope.leaf, -1), scope.rows))
    return out or [scope]


def _parts(hosts: Hosts, scope: Scope, within: str) -> list[Scope]:
    """The nodes of one level, or the one node of a name."""
    tree, out = scope.tree, []
    words = [tree.level_word(level) for level in range(tree.depth)]
    for level, at in enumerate(tree.above):
        names = tree.levels[level].name
        wanted = range(len(names)) if within == words[level] else np.flatnonzero(names == within).tolist()
        for node in wanted:
            inside = (scope.leaf >= 0) & (at[scope.leaf] == node)
            title = f"{scope.name} {names[node]}".strip()
            out.append(_scope(title, tree, np.where(inside, scope.leaf, -1), scope.rows))
    known_level = within in words
    if not out and not known_level:
        extra = [name for name in (*words, *LEVEL_WORDS) if name]
        examples = ", ".join(dict.fromkeys(extra[: tree.depth]))
        raise ParameterError(
            f"within is {within!r}, no level and no node of the placement tree of {hosts.fabric.name!r}; levels: "
            f"{examples}; nodes are called like {str(tree.levels[0].name[0])!r}"
        )
    return out


def _refusal(hosts: Hosts, ends: EndTree, job: Job, free: NDArray[np.bool_], width: int) -> str:
    n, rules = job.n_hosts(width), job.constraints
    found = parts_of(hosts, ends, job, free)
    most = max((largest_fit(scope, rules.at_most_leaves) for scope in found), default=0)
    bare = replace(job, constraints=replace(rules, **_NONE))
    parts = parts_of(hosts, ends, bare, free)
    loose = max(largest_fit(scope, None) for scope in parts)
    head = f"{job.name!r} needs {n:,} hosts ({job.size:,} ranks at {width} a host)"
    tail = f"the largest that fits has {most:,} hosts, {most * width:,} ranks"
    together = sum(largest_fit(scope, None) for scope in parts)
    if loose < n <= together and not rules.same_rail:
        said = f"the {together:,} free ones lie in {len(parts):,} parts that nothing joins, at most {loose:,} in one"
        return f"{head}; {said}: {n - loose:,} are missing; {tail}"
    if loose < n:
        return f"{head}, {loose:,} are free: {n - loose:,} are missing; {tail}"
    for name, value in _NONE.items():
        if getattr(rules, name) == value:
            continue
        eased = replace(job, constraints=replace(rules, **{name: value}))
        eased_most = eased.constraints.at_most_leaves
        if any(largest_fit(scope, eased_most) >= n for scope in parts_of(hosts, ends, eased, free)):
            return (
                f"{head}; the constraint {name} = {_written(getattr(rules, name))} leaves room for {most:,}: "
                f"{n - most:,} are missing; {tail}; without it the job fits"
            )
    named = ", ".join(f"{name} = {_written(getattr(rules, name))}" for name in _NONE if getattr(rules, name))
    return f"{head}; the constraints {named} together leave room for {most:,}: {n - most:,} are missing; {tail}"


_NONE: dict[str, Any] = {
    "exclude": (),
    "hosts_per_leaf": None,
    "at_most_leaves": None,
    "within": None,
    "same_rail": False,
}


def _written(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)
