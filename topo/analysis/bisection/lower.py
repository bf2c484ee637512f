"""Lower bounds of the bisection with their witnesses, the cheap ones first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from topo.analysis.bisection.blocks import BlockTree
from topo.analysis.bisection.layers import gathered, layers_of, meshes_as_hubs, tree_apart
from topo.analysis.bisection.merging import cheapest_labels
from topo.analysis.bisection.pods import (
    PodFlow,
    cheapest_whole,
    filled,
    inner_flow,
    joined_pods,
    pod_of_vertex,
    relayed,
)
from topo.analysis.bisection.problem import Problem
from topo.analysis.bisection.routed import routed_bound
from topo.analysis.bisection.spread import spectral_bound, uniform_bound
from topo.analysis.bisection.transport import Embedding, candidates
from topo.analysis.bisection.upward import upward_embedding
from topo.fabric import State
from topo.progress import part
from topo.table import Array

__all__ = [
    "MOST_FOR_SLOW_BOUNDS",
    "TRIVIAL",
    "Bound",
    "Healthier",
    "Layered",
    "Witness",
    "lower_bound",
    "pod_bound",
    "quick_bound",
    "rounded_up",
]

MOST_FOR_SLOW_BOUNDS = 2_000
"""Vertices beyond which bounds and searches that look at all pairs of them are left out."""


@dataclass(frozen=True, eq=False)
class Layered:
    """Witness of a sum over layers, ``None`` for a layer that adds nothing.

    The layers are in the order of ``layers_of`` or, where ``is_gathered``, of ``gathered``.
    """

    parts: tuple[Embedding | None, ...]
    is_gathered: bool = False


@dataclass(frozen=True, eq=False)
class Healthier:
    """Witness of a bound less what was lost since: another state of the same fabric, and the bound that holds there."""

    state: State | None
    bound: Bound


Witness = Embedding | Layered | PodFlow | Healthier


class Bound(NamedTuple):
    """A lower bound in Gb/s, what kind of witness it has, and that witness where it is data."""

    gbps: float
    method: str
    witness: Witness | None


Embeddings = Callable[[BlockTree | None], Iterator[Embedding]]
TRIVIAL = Bound(0.0, "trivial", None)


def rounded_up(value: float, unit: float) -> float:
    """The next multiple of the rate that divides every cut; values within rounding error of a multiple take it."""
    if not unit:
        return max(0.0, value)
    return max(0.0, math.ceil(value / unit - 1e-6) * unit)


def quick_bound(problem: Problem, tree: BlockTree | None, smaller: int) -> Bound:
    """The best bound of flows straight through each bundle: exact on fabrics joined in proportion, layer by layer.

    Without a tree, of an all-to-all on the fabric's routes.
    """
    if tree is None:
        return _of_rule(problem, smaller, "routed", routed_bound)
    return _best_of_layers(problem, tree, smaller, _straight, math.inf)


def pod_bound(problem: Problem, smaller: int) -> tuple[Bound, Array] | None:
    """The bound of flows inside whole pods, and the sides of units it speaks of; None where units are no pods."""
    of = pod_of_vertex(problem)
    if of is None:
        return None
    flow = inner_flow(problem, of, smaller)
    share = filled(problem, of, flow.brought, smaller)
    rates = joined_pods(problem, of, share), relayed(problem, of, share)
    value, half = cheapest_whole(problem.weight, *rates, smaller)
    if not value:
        return None
    side = np.concatenate([half, np.zeros(problem.n_vertices - problem.n_units, bool)])
    return Bound(rounded_up(value, problem.unit_gbps), "pods", flow), side


def lower_bound(problem: Problem, tree: BlockTree | None, smaller: int, enough: float = math.inf) -> Bound:
    """The best of all bounds, or the first found that is ``enough``."""
    with part("", 1 / 2):
        best = _best_of_layers(problem, tree, smaller, _embeddings, enough)
    for method, bound in (("routed", routed_bound), ("uniform", uniform_bound), ("spectral", spectral_bound)):
        slow = method != "routed" and tree is not None and problem.n_vertices > MOST_FOR_SLOW_BOUNDS
        if best.gbps >= enough or slow:
            break
        best = max(best, _of_rule(problem, smaller, method, bound), key=itemgetter(0))
    return best


def _of_rule(problem: Problem, smaller: int, method: str, bound: Callable[[Problem, int], float]) -> Bound:
    value = rounded_up(bound(problem, smaller), problem.unit_gbps)
    return Bound(value, method, None) if value > 0 else TRIVIAL


def _straight(tree: BlockTree | None) -> Iterator[Embedding]:
    """The embedding that is exact on proportional fabrics; then, where it is not, that for unevenly filled ones."""
    if tree is not None:
        yield from _first_two(tree, next(candidates(tree)))


def _embeddings(tree: BlockTree | None) -> Iterator[Embedding]:
    """The same, then those for degraded fabrics."""
    if tree is not None:
        tried = candidates(tree)
        yield from _first_two(tree, next(tried))
        yield from tried


def _first_two(tree: BlockTree, first: Embedding) -> Iterator[Embedding]:
    yield first
    if not first.is_whole:
        upward = upward_embedding(tree)
        if upward is not None:
            yield upward


def _best(problem: Problem, embeddings: Iterator[Embedding], smaller: int, enough: float = math.inf) -> Bound:
    best = TRIVIAL
    for embedding in embeddings:
        value = cheapest_labels(embedding.tree, embedding.kappa, [smaller], embedding.charges).cost
        value = rounded_up(value, problem.unit_gbps)
        if value > best.gbps:
            best = Bound(value, "tree", embedding)
        if best.gbps >= enough:
            break
    return best


def _best_of_layers(
    problem: Problem, tree: BlockTree | None, smaller: int, embeddings: Embeddings, enough: float
) -> Bound:
    hubbed = meshes_as_hubs(problem)
    apart = layers_of(hubbed)
    # Tiers that mix scale-up and scale-out switches are worth no long search where layers tell them apart.
    best = _best(problem, (_straight if apart else embeddings)(tree), smaller, enough)
    if not apart or best.gbps >= enough:
        return best
    found = [best, _summed(apart, smaller, embeddings, is_gathered=False)]
    gathering = gathered(hubbed)
    if gathering is not None:
        found.append(_summed(gathering.layers, smaller, embeddings, is_gathered=True))
    return max(found, key=lambda bound: bound.gbps)


def _summed(layers: list[Problem], smaller: int, embeddings: Embeddings, *, is_gathered: bool) -> Bound:
    parts: list[Embedding | None] = []
    total = 0.0
    for layer in layers:
        bound = _best(layer, embeddings(tree_apart(layer)), smaller)
        assert bound.witness is None or isinstance(bound.witness, Embedding)
        parts.append(bound.witness)
        total += bound.gbps
    return Bound(total, "layers", Layered(tuple(parts), is_gathered)) if total else TRIVIAL
