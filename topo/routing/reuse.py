"""Cores of one fabric in many states, as sweeps over failures ask for them: read off the whole fabric's by masks."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.core import Core, Folded
from topo.routing.scheme import Routing
from topo.routing.twins import find_alike
from topo.routing.weights import is_path_aware
from topo.table import Array, freeze
from topo.traffic.demand import Demand

__all__ = ["core_in", "once", "remembered"]

_Answer = TypeVar("_Answer")

_MOST_LINKS = 300_000
_ROUTINGS_KEPT = 2
_ANSWERS_KEPT = 8
_MOST_CHANGED = 16


@dataclass(frozen=True, eq=False)
class _Whole:
    """The core of a fabric where nothing failed, without the fabric itself: it must not keep that alive."""

    values: dict[str, Any]
    links: NDArray[np.int64]
    kinds: tuple[str, ...]
    link_of_entry: NDArray[np.int64]

    @classmethod
    def of(cls, fabric: Fabric, routing: Routing) -> _Whole:
        core = Core.of(fabric, state=None, routing=routing)
        values = {field.name: getattr(core, field.name) for field in fields(core) if field.name != "network"}
        values["alike"] = find_alike(core)
        return cls(values, core.network.links, core.network.kinds, core.arc // 2)

    def core(self, network: Network, **changed: Any) -> Core:
        """A core that differs from this in some of its fields."""
        return Core(network=network, **{**self.values, **changed})


_wholes: WeakKeyDictionary[Fabric, OrderedDict[Routing, _Whole]] = WeakKeyDictionary()


def core_in(fabric: Fabric, *, state: State | None, routing: Routing) -> Core:
    """The core of a fabric in a state, like ``Core.of``; on fabrics of moderate size the numbering is kept.

    What is kept goes with the fabric, and is of the last two routings asked for. Where links only fail, the rows stay
    those of the whole fabric, so that parts with one link left are not folded: the loads are the same.

    :raises InputError: a link of unknown rate.
    """
    if len(fabric.links) > _MOST_LINKS:
        return Core.of(fabric, state=state, routing=routing)
    if state is not None:
        weighs_anew = routing.lag or is_path_aware(routing) or state.capacity_gbps is not None
        if weighs_anew or np.isnan(fabric.links.capacity_gbps).any():
            return Core.of(fabric, state=state, routing=routing)
    kept = _wholes.setdefault(fabric, OrderedDict())
    if routing not in kept:
        kept[routing] = _Whole.of(fabric, routing)
        while len(kept) > _ROUTINGS_KEPT:
            kept.popitem(last=False)
    kept.move_to_end(routing)
    whole = kept[routing]
    if state is None:
        return whole.core(Network(fabric, whole.links, whole.kinds, None))
    return _without(whole, fabric, state)


_Kept = OrderedDict[tuple[Fabric, Routing, bytes], Any]
_answers: ContextVar[_Kept | None] = ContextVar("_answers", default=None)


@contextmanager
def remembered() -> Iterator[None]:
    """Within this, loads asked for again are not worked out again: a report's sections share many questions.

    Elsewhere every call does its own work, so that what is timed or swept holds no memory of what was asked before.
    """
    token = _answers.set(OrderedDict() if _answers.get() is None else _answers.get())
    try:
        yield
    finally:
        _answers.reset(token)


def once(
    fabric: Fabric, demand: Demand, *, routing: Routing, state: State | None, work: Callable[[], _Answer]
) -> _Answer:
    """What ``work()`` gives for this demand, or what it gave before where answers are :func:`remembered`.

    The last eight answers are kept. States with something absent are not: sweeps over failures ask each once. What
    ``work`` returns must never be changed.
    """
    kept = _answers.get()
    if kept is None or len(fabric.links) > _MOST_LINKS or (state is not None and not _is_complete(state)):
        return work()
    key = fabric, routing, _digest(demand, state)
    if key in kept:
        kept.move_to_end(key)
        found: _Answer = kept[key]
        return found
    answer = kept[key] = work()
    while len(kept) > _ANSWERS_KEPT:
        kept.popitem(last=False)
    return answer


def _is_complete(state: State) -> bool:
    return state.node_present is None and state.link_present is None


def _digest(demand: Demand, state: State | None) -> bytes:
    """A name of a demand and the rates of a state, by content."""
    digest = hashlib.sha256()
    parts: list[Array] = [demand.source, demand.sink, demand.gbps]
    for block in demand.blocks:
        parts += [block.sources, block.sinks, np.array(block.gbps), block.source_weight, block.sink_weight]
    if state is not None and state.capacity_gbps is not None:
        parts.append(state.capacity_gbps)
    for part in parts:
        digest.update(f"|{part.dtype}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


def _without(whole: _Whole, fabric: Fabric, state: State) -> Core:
    present = state.link_mask(fabric)
    network = Network(fabric, freeze(whole.links[present[whole.links]]), whole.kinds, state)
    old = whole.values
    changed: dict[str, Any] = {}
    gone = ~present[old["folded"].arc // 2]
    if gone.any():
        changed.update(_without_access(old, gone))
    keep = present[whole.link_of_entry]
    if keep.all():
        return whole.core(network, **changed)
    bundle = old["bundle"][keep]
    left = np.zeros(len(old["tail"]), bool)
    left[bundle] = True
    arc_weight = old["arc_weight"][keep]
    lost = old["bundle"][~keep]
    changed["alike"] = _alike(old, np.concatenate([old["tail"][lost], old["head"][lost]]))
    if not left.all():
        for name in ("tail", "head", "kind", "cost", "built_gbps"):
            changed[name] = old[name][left]
        bundle = (np.cumsum(left, dtype=np.int32) - np.int32(1))[bundle]
    n_bundles = int(left.sum())
    changed.update(
        arc=old["arc"][keep],
        bundle=bundle,
        arc_weight=arc_weight,
        weight=np.bincount(bundle, weights=arc_weight, minlength=n_bundles).astype(float),
    )
    return whole.core(network, **changed)


def _without_access(old: dict[str, Any], gone: Array) -> dict[str, Any]:
    """Folded endpoints without some of their links: the others take over; without any they are cut off."""
    folded: Folded = old["folded"]
    share = np.where(gone, 0.0, folded.share)
    total = np.bincount(folded.node[folded.out], weights=share[folded.out], minlength=len(old["home"]))
    touched = np.unique(folded.node[gone])
    scale = np.ones(len(total))
    scale[touched] = np.where(total[touched] > 0, 1 / np.where(total[touched] > 0, total[touched], 1.0), 0.0)
    home, goal = old["home"].copy(), old["goal"].copy()
    cut_off = touched[total[touched] == 0]
    home[cut_off] = goal[cut_off] = -1
    return {
        "folded": Folded(folded.arc, folded.node, folded.out, share * scale[folded.node]),
        "home": home,
        "goal": goal,
    }


def _alike(old: dict[str, Any], rows: Array) -> NDArray[np.int64] | None:
    """Classes of units once bundles of some rows changed: these are alone; None where they are many."""
    n_sources, n_parts = old["n_relays"] + old["n_parts"], old["n_parts"]
    rows = np.unique(np.where(rows < n_sources, rows, rows - n_parts))
    units = np.unique(np.searchsorted(old["unit_start"], rows, side="right") - 1)
    if len(units) > _MOST_CHANGED:
        return None
    alike: NDArray[np.int64] = old["alike"].copy()
    leaders = units[alike[units] == units]
    alike[units] = units
    for leader in leaders.tolist():
        others = np.flatnonzero(alike == leader)[1:]
        if len(others):
            alike[others] = others[0]
    return alike
