"""Pipeline schedules: 1F1B and interleaved, by formula and operation by operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError

__all__ = ["Timeline", "bubble_share", "pipeline_s", "pipeline_timeline"]


def pipeline_s(stages: int, chunks: int, micro_batches: int, chunk_s: float, head_s: float = 0.0) -> float:
    """Time of a pipeline's step: m (v t_c + head) + (p - 1) t_c, forward and backward of a chunk being t_c.

    The head belongs to the last stage alone and paces the pipeline. Equal to the schedule run operation by
    operation (:func:`pipeline_timeline`) for m a multiple of p. Without head: (m + (p - 1)/v) (t_f + t_b).

    >>> pipeline_s(8, 3, 64, 3.0), pipeline_s(35, 3, 280, 3.0, 0.6)
    (597.0, 2790.0)
    """
    return micro_batches * (chunks * chunk_s + head_s) + (stages - 1) * chunk_s


def bubble_share(stages: int, chunks: int, micro_batches: int) -> float:
    """Idle over ideal time: (p - 1) / (v m).

    >>> round(bubble_share(35, 3, 280), 4)
    0.0405
    """
    return (stages - 1) / (chunks * micro_batches)


@dataclass(frozen=True, eq=False)
class Timeline:
    """Every operation of a pipeline: stage, whether backward, micro-batch, chunk, start and end in seconds."""

    stage: NDArray[np.int64]
    backward: NDArray[np.bool_]
    micro_batch: NDArray[np.int64]
    chunk: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    @property
    def time_s(self) -> float:
        """End of the last operation."""
        return float(self.end_s.max(initial=0.0))


def pipeline_timeline(
    stages: int,
    chunks: int,
    micro_batches: int,
    forward_s: float,
    backward_s: float,
    head_forward_s: float = 0.0,
    head_backward_s: float = 0.0,
) -> Timeline:
    """Run the schedule: warm-up of forwards, one forward and one backward in turn, the rest of the backwards.

    Chunk times are given; the head's are added on the last chunk of the last stage. Interleaved order is
    Megatron-LM's: groups of p micro-batches go through the chunks one after another.

    >>> pipeline_timeline(4, 2, 8, 1.0, 2.0).time_s
    57.0

    :raises ParameterError: interleaving with micro-batches that are no multiple of the stages.
    """
    p, v, m = stages, chunks, micro_batches
    if v > 1 and m % p:
        raise ParameterError(f"{m} micro-batches are no multiple of {p} stages; the interleaved schedule needs that")
    orders = [_order(p, v, m, stage) for stage in range(p)]
    forward_end, backward_end = np.full((m, v * p), -1.0), np.full((m, v * p), -1.0)
    clock, at = [0.0] * p, [0] * p
    rows: list[tuple[int, bool, int, int, float, float]] = []
    moving = True
    while moving:
        moving = False
        for stage in range(p):
            while at[stage] < len(orders[stage]):
                backward, batch, chunk = orders[stage][at[stage]]
                place = chunk * p + stage
                ready = _ready(forward_end, backward_end, backward, batch, place)
                if ready < 0:
                    break
                last = place == v * p - 1
                spent = backward_s + head_backward_s * last if backward else forward_s + head_forward_s * last
                start = max(clock[stage], ready)
                clock[stage] = start + spent
                (backward_end if backward else forward_end)[batch, place] = clock[stage]
                rows.append((stage, backward, batch, chunk, start, clock[stage]))
                at[stage] += 1
                moving = True
    columns = list(zip(*rows, strict=True))
    return Timeline(
        np.array(columns[0]), np.array(columns[1]), np.array(columns[2]), np.array(columns[3]),
        np.array(columns[4]), np.array(columns[5]),
    )  # fmt: skip


def _ready(
    forward_end: NDArray[np.float64], backward_end: NDArray[np.float64], backward: bool, batch: int, place: int
) -> float:
    """When what an operation waits for has ended; -1 while it has not."""
    if not backward:
        return 0.0 if place == 0 else float(forward_end[batch, place - 1])
    if place == forward_end.shape[1] - 1:
        return float(forward_end[batch, place])
    return float(backward_end[batch, place + 1])


def _order(p: int, v: int, m: int, stage: int) -> list[tuple[bool, int, int]]:
    """(backward, micro-batch, chunk) of one stage, in the order it runs them."""
    total = m * v
    warm = p - stage - 1 if v == 1 else 2 * (p - stage - 1) + (v - 1) * p
    warm = min(warm, total)

    def turn(k: int) -> tuple[int, int]:
        if v == 1:
            return k, 0
        return k // (p * v) * p + k % p, k % (p * v) // p

    order: list[tuple[bool, int, int]] = [(False, *turn(k)) for k in range(warm)]
    for k in range(total):
        if warm + k < total:
            order.append((False, *turn(warm + k)))
        batch, chunk = turn(k)
        order.append((True, batch, v - 1 - chunk))
    return order
