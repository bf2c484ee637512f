"""Max-min fair rates of flows with one path each: water-filling, many samples at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.table import Array

__all__ = ["equal_share_rates", "max_min_rates"]


def max_min_rates(arcs: ArrayLike, capacity_gbps: ArrayLike, limit_gbps: ArrayLike) -> NDArray[np.float64]:
    """Max-min fair rate in Gb/s of every flow: no rate can grow without a smaller or equal one shrinking.

    ``arcs`` is (hops, flows), or (hops, samples, flows) for samples that do not meet; -1 pads, and a flow with no
    arc at all has no path and gets 0. ``capacity_gbps`` has one entry an arc, ``limit_gbps`` is what a flow wants
    at most: one number, one a flow, or one a flow and sample; it may be infinite. Returns ``arcs.shape[1:]``.

    Each round gives every flow the least fair share c/n (capacity and flows left) on its path, or its limit; an arc
    on which no flow has less than its share is a bottleneck, and its flows are done. Shares never fall, so a share
    that is least on all paths through its arc is final. Three to seven rounds, instead of one for each level.
    The slowest flow gets min(limit, least c/n) where limits are equal (Bertsekas and Gallager, Data Networks, 6.5.2).

    >>> max_min_rates([[0, 0, 1], [-1, 1, -1]], [100.0, 160.0], 100.0).tolist()
    [50.0, 50.0, 100.0]

    :raises ParameterError: an arc outside the capacities, a capacity or limit that is negative or nan, limits of
        another shape, a flow with infinite limit on arcs of infinite capacity.
    """
    paths, capacity, limit = _checked(arcs, capacity_gbps, limit_gbps)
    slots, n_samples = _slots(paths, len(capacity))
    rate = _filled(slots, np.tile(capacity, n_samples), limit.ravel())
    endless = np.flatnonzero(np.isinf(rate))
    if endless.size:
        raise ParameterError(f"flow {endless[0]} has no finite limit and no arc of finite capacity on its path")
    return rate.reshape(paths.shape[1:])


def equal_share_rates(arcs: ArrayLike, capacity_gbps: ArrayLike, limit_gbps: ArrayLike) -> NDArray[np.float64]:
    """Rate min(limit, least c/n on the path) in Gb/s of every flow: never more than its max-min fair rate.

    Arguments as of :func:`max_min_rates`; n counts all flows on an arc, whatever they want.

    >>> equal_share_rates([[0, 0, 1], [-1, 1, -1]], [100.0, 160.0], 100.0).tolist()
    [50.0, 50.0, 80.0]

    :raises ParameterError: as :func:`max_min_rates`.
    """
    paths, capacity, limit = _checked(arcs, capacity_gbps, limit_gbps)
    slots, n_samples = _slots(paths, len(capacity))
    count = np.bincount(slots.ravel(), minlength=len(capacity) * n_samples + 1)
    share = np.append(np.tile(capacity, n_samples), np.inf) / np.maximum(count, 1)
    rate = limit.ravel().copy()
    for row in slots:
        np.minimum(rate, share[row], out=rate)
    rate[(slots == len(capacity) * n_samples).all(axis=0)] = 0.0
    return rate.reshape(paths.shape[1:])


def _checked(arcs: ArrayLike, capacity_gbps: ArrayLike, limit_gbps: ArrayLike) -> tuple[Array, Array, Array]:
    paths = np.asarray(arcs)
    if paths.ndim not in (2, 3):
        raise ParameterError(f"arcs have {paths.ndim} dimensions; give (hops, flows) or (hops, samples, flows)")
    capacity = np.asarray(capacity_gbps, dtype=float)
    if paths.size and (paths.dtype.kind not in "iu" or paths.max() >= len(capacity) or paths.min() < -1):
        raise ParameterError(f"arcs must be whole numbers from -1 to {len(capacity) - 1}, one below the capacities")
    bad = np.flatnonzero(~(capacity >= 0))
    if bad.size:
        # Arcs that carry nothing may be of unknown rate.
        used = np.intersect1d(bad, paths)
        if used.size:
            raise ParameterError(f"capacity of arc {used[0]} is {capacity[used[0]]}; it must be at least 0")
    limit = np.asarray(limit_gbps, dtype=float)
    if not (limit >= 0).all():
        raise ParameterError(f"a limit is {limit[~(limit >= 0)].ravel()[0]}; limits must be at least 0")
    try:
        return paths, capacity, np.broadcast_to(limit, paths.shape[1:])
    except ValueError:
        raise ParameterError(f"limits of shape {limit.shape} do not fit flows of shape {paths.shape[1:]}") from None


def _slots(paths: Array, n_arcs: int) -> tuple[NDArray[np.intp], int]:
    """Arc slots (hops, all flows): arcs of sample s shifted by s * n_arcs, padding to one slot past the end."""
    n_samples = paths.shape[1] if paths.ndim == 3 else 1
    each = int(np.prod(paths.shape[1:])) // max(n_samples, 1)
    slots = paths.reshape(len(paths), n_samples, each) + (np.arange(n_samples) * n_arcs)[:, None]
    slots[paths.reshape(slots.shape) < 0] = n_samples * n_arcs
    return slots.reshape(len(paths), n_samples * each), n_samples


def _filled(slots: NDArray[np.intp], capacity: NDArray[np.float64], limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Water-filling over slots; the last slot, of padding, is never full."""
    size = len(capacity) + 1
    none = size - 1
    rate = np.where((slots == none).all(axis=0), 0.0, limit)
    left = np.append(capacity, np.inf)
    active = np.flatnonzero((rate > 0) & (slots != none).any(axis=0))
    slots, bound = slots[:, active], limit[active]
    count = np.bincount(slots.ravel(), minlength=size)
    # A hop whose arcs could take all their flows at their limits holds nobody back: access links, as a rule.
    if np.isfinite(bound).all():
        ample = count * bound.max(initial=0.0) <= left
        slots = slots[[not ample.take(row).all() for row in slots]]
    while len(active):
        share = np.where(count > 0, left, np.inf) / np.maximum(count, 1)
        on_path = share.take(slots)
        now = np.minimum(on_path.min(axis=0, initial=np.inf), bound)
        held_back = np.zeros(size, bool)
        held_back[slots[now < on_path]] = True
        done = (now == bound) | ~held_back.take(slots).all(axis=0)
        finished, rest = np.flatnonzero(done), np.flatnonzero(~done)
        rate[active[finished]] = now[finished]
        if not rest.size:
            break
        gone = slots[:, finished]
        spent = np.bincount(gone.ravel(), weights=np.tile(now[finished], len(slots)), minlength=size)
        left = np.maximum(left - spent, 0.0)
        left[none] = np.inf
        count -= np.bincount(gone.ravel(), minlength=size)
        active, slots, bound = active[rest], slots[:, rest], bound[rest]
    return rate
