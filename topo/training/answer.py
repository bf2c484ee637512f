"""What a training step answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topo.result import Result, Row, Standing, hidden
from topo.training.exposure import Wait
from topo.training.plan import Plan
from topo.training.rates import GroupRate
from topo.training.schedule import Timeline, pipeline_timeline

__all__ = ["NETWORK_TERMS", "TrainingStep"]

NETWORK_TERMS = ("exposed tensor", "exposed context", "exposed expert", "exposed pipeline", "exposed data")

_STANDING = Standing("model", "one calibrated number; overlap windows as stated")


@dataclass(frozen=True)
class TrainingStep(Result):
    """One step: ``terms`` in seconds add up to ``time_s``; ``mfu`` leaves recomputation out, ``hfu`` counts it."""

    model: str
    accelerator: str
    ranks: int
    batch: int
    efficiency: float
    time_s: float
    mfu: float
    hfu: float
    tokens_s: float
    tflops_per_accelerator: float
    terms: dict[str, float]
    memory_gib: float
    chunk_forward_s: float
    chunk_backward_s: float
    head_s: float
    rates: dict[str, GroupRate]
    plan: Plan
    assumptions: tuple[str, ...]
    waits: tuple[tuple[Wait, float], ...] = hidden()

    title: ClassVar[str] = "Training step"
    derived: ClassVar[tuple[str, ...]] = ("network_share",)

    @property
    def network_share(self) -> float:
        """Share of the step spent waiting for the network, scale-up and scale-out; the bubble is not in it."""
        return sum(self.terms[name] for name in NETWORK_TERMS) / self.time_s

    def timeline(self, micro_batches: int | None = None) -> Timeline:
        """The pipeline's schedule operation by operation, for a picture; of fewer micro-batches where asked.

        Sends block, a third of the output layer falls to the forward pass. For all micro-batches it ends at the sum
        of the terms from compute to bubble, unless sends are asynchronous.
        """
        p = self.plan
        return pipeline_timeline(
            p.pipeline, p.chunks, micro_batches or p.micro_batches, self.chunk_forward_s, self.chunk_backward_s,
            self.head_s / 3, 2 * self.head_s / 3,
        )  # fmt: skip

    def rows(self) -> list[Row]:
        """Time and shares of peak first, then the terms, then what they rest on."""
        rows = [
            Row("model and accelerators", f"{self.model} on {self.ranks:,} x {self.accelerator}"),
            Row("time of a step", self.time_s, "s", _STANDING),
            Row("MFU, model operations over peak", 100 * self.mfu, "%", _STANDING),
            Row("HFU, recomputation counted", 100 * self.hfu, "%", _STANDING),
            Row("tokens a second", self.tokens_s),
            Row("model TFLOP/s an accelerator", self.tflops_per_accelerator),
        ]
        for name, seconds in self.terms.items():
            if seconds:
                rows.append(Row(f"  {name}", f"{seconds:.4g} s, {100 * seconds / self.time_s:.1f} %"))
        rows += [
            Row("waiting for the network", 100 * self.network_share, "%", _STANDING),
            Row("memory of an accelerator", self.memory_gib, "GiB"),
        ]
        rows += [
            Row(f"rate of {name} groups", f"{rate.gbyte_s:.4g} GB/s ({rate.how})") for name, rate in self.rates.items()
        ]
        return rows + [Row("assumes", text) for text in self.assumptions]
