"""What changes of the fabric are worth to a job: one more rail, twice the uplinks, adaptive routing, a failed spine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.parts.models import ModelShape, model_shape
from topo.progress import steps
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.table import freeze
from topo.training.plan import Plan
from topo.training.step import training_step

__all__ = ["Sensitivity", "Variant", "fabric_sensitivity"]


@dataclass(frozen=True, slots=True)
class Variant:
    """The step with one thing changed; ``mfu_points`` is what that is worth in percent points of MFU."""

    change: str
    time_s: float
    mfu: float
    mfu_points: float


@dataclass(frozen=True)
class Sensitivity(Result):
    """One job on one fabric, and the same with one thing changed at a time."""

    model: str
    fabric: str
    variants: tuple[Variant, ...]
    standing: Standing

    title: ClassVar[str] = "What a change of the fabric is worth"

    def rows(self) -> list[Row]:
        """One line a change."""
        return [Row("job", f"{self.model} on {self.fabric}")] + [
            Row(v.change, f"MFU {100 * v.mfu:.2f} %, {v.mfu_points:+.2f} points, step {v.time_s:.4g} s")
            for v in self.variants
        ]


def fabric_sensitivity(
    fabric: Fabric,
    model: ModelShape | str,
    plan: Plan,
    *,
    placement: ArrayLike | None = None,
    routing: Routing | str = "single-path",
    state: State | None = None,
    **given: Any,
) -> Sensitivity:
    """MFU of a job as the fabric is, and with one thing changed: rates by the routing kernel each time.

    One more rail: NICs, access and uplinks of all hosts at (R + 1)/R of their rates. Twice the uplinks: links between
    switches at twice their rates. Adaptive: flows spread evenly instead of hashed. A failed spine: the first switch of
    the highest tier is down. Other arguments as :func:`~topo.training.step.training_step`.

    >>> import topo
    >>> f = topo.rail_optimized(hosts=16, rails=8, hosts_per_unit=8, radix=32)
    >>> plan = Plan(batch=64, tensor=8, pipeline=2, data=8, micro_batch=4, recompute="full")
    >>> found = fabric_sensitivity(f, "gpt-22b", plan, efficiency=0.5)
    >>> [v.change for v in found.variants]
    ['as it is', 'one more rail', 'twice the uplinks', 'adaptive routing', 'one failed spine']

    :raises ParameterError: what :func:`training_step` refuses.
    """
    shape = model_shape(model) if isinstance(model, str) else model
    rows = np.asarray(fabric.endpoints if placement is None else placement, np.int64)
    base = Routing.of(routing)
    rails = _rails(fabric)
    outward, between = ("access", "scale_out", "host_io", "internal"), ("scale_out", "internal")
    changes: list[tuple[str, Routing, State | None]] = [
        ("as it is", base, state),
        ("one more rail", base, _scaled(fabric, state, outward, (rails + 1) / rails)),
        ("twice the uplinks", base, _scaled(fabric, state, between, 2.0)),
        ("adaptive routing", base.with_(scheme="spray"), state),
    ]
    spine = _spine(fabric)
    if spine is not None:
        changes.append(("one failed spine", base, _without(fabric, state, spine)))
    variants: list[Variant] = []
    for change, chosen, there in steps(changes, "changes of the fabric"):
        step = training_step(shape, plan, fabric=fabric, placement=rows, routing=chosen, state=there, **given)
        first = variants[0].mfu if variants else step.mfu
        variants.append(Variant(change, step.time_s, step.mfu, 100 * (step.mfu - first)))
    return Sensitivity(
        shape.name, fabric.name, tuple(variants),
        Standing("model", "one thing changed at a time; the same hash draws in each"),
    )  # fmt: skip


def _rails(fabric: Fabric) -> int:
    """NICs, or access links, of a host."""
    rail = fabric.nodes.rail
    if len(rail.labels):
        return len(rail.labels)
    hosts = len(np.unique(fabric.nodes.host.codes[fabric.endpoints]))
    access = int(fabric.links.kind.is_any("access").sum())
    return max(1, access // max(hosts, 1))


def _scaled(fabric: Fabric, state: State | None, kinds: tuple[str, ...], factor: float) -> State:
    now = state or State()
    rate = now.link_capacity_gbps(fabric).copy()
    rate[fabric.links.kind.is_any(*kinds)] *= factor
    return State(now.node_present, now.link_present, freeze(rate))


def _spine(fabric: Fabric) -> int | None:
    """First switch of the highest tier above the leaves."""
    tier = fabric.nodes.tier[fabric.switches]
    top = fabric.switches[tier == tier.max(initial=0)] if len(tier) else fabric.switches
    return int(top[0]) if len(top) and tier.max() > 1 else None


def _without(fabric: Fabric, state: State | None, node: int) -> State:
    down = State.without(fabric, nodes=[node])
    if state is None:
        return down
    if down.node_present is None or down.link_present is None:
        raise ParameterError("a state without masks cannot lose a switch")
    nodes = down.node_present if state.node_present is None else down.node_present & state.node_present
    links = down.link_present if state.link_present is None else down.link_present & state.link_present
    return State(freeze(nodes), freeze(links), state.capacity_gbps)
