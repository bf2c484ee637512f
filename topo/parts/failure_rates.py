"""How often parts of clusters fail: published figures with their sources, repair times where they are only assumed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HOURS_PER_DAY", "HOURS_PER_MONTH", "HOURS_PER_YEAR", "PUBLISHED_CAUSES", "Cause"]

HOURS_PER_YEAR = 8766.0
HOURS_PER_MONTH = HOURS_PER_YEAR / 12
HOURS_PER_DAY = 24.0


@dataclass(frozen=True, slots=True)
class Cause:
    """One way a part goes down: so many times an hour, for so many hours on average, and who says so."""

    failures_per_hour: float
    mttr_h: float
    source: str = ""
    is_repair_assumed: bool = False

    @property
    def unavailability(self) -> float:
        """Share of time down: MTTR / (MTBF + MTTR)."""
        down = self.failures_per_hour * self.mttr_h
        return down / (1 + down)


PUBLISHED_CAUSES: dict[str, tuple[Cause, ...]] = {
    "link": (
        Cause(
            0.00057 / HOURS_PER_MONTH,
            12.0,
            "0.057 % of NIC-ToR links fail a month: Alibaba HPN, SIGCOMM 2024, section 2.3; repair in 12 h assumed",
            is_repair_assumed=True,
        ),
    ),
    "switch": (
        Cause(
            0.00051 / HOURS_PER_MONTH,
            12.0,
            "0.051 % of ToRs crash a month: Alibaba HPN, SIGCOMM 2024, section 2.3; repair in 12 h assumed",
            is_repair_assumed=True,
        ),
    ),
    "host": (
        Cause(
            6.50e-3 / HOURS_PER_DAY,
            12.0,
            "6.50 failures in 1,000 node-days: Meta RSC-1, arXiv 2410.21680 (secondary); repair in 12 h assumed",
            is_repair_assumed=True,
        ),
    ),
    "nic": (
        Cause(
            0.0029 / HOURS_PER_YEAR,
            12.0,
            "7 NIC failures in 54 days of 16,384 GPUs, 0.29 % a NIC and year (derived): Llama 3, arXiv 2407.21783, "
            "table 5; repair in 12 h assumed",
            is_repair_assumed=True,
        ),
    ),
}
"""Failure causes by kind of element, for want of one's own; the repair times are an assumption, not published."""
