"""Time to plan the SuperPOD of 16,384 GPUs: racks, 49,152 cables, labels, elevations, bill and workbook in 20 seconds.

Run with ``python -m pytest tests/benchmarks/test_plan_speed.py -s``.
"""

from __future__ import annotations

import time
from pathlib import Path

import topo
from topo.design import cabling_plan, write_plan

LIMIT_SECONDS = 20.0


def test_the_superpod_of_16384_is_planned_and_written(tmp_path: Path) -> None:
    start = time.perf_counter()
    plan = cabling_plan(topo.load("nvidia-superpod-b200-64su"))
    planned = time.perf_counter() - start
    files = write_plan(plan, tmp_path / "plan")
    whole = time.perf_counter() - start
    size = sum(path.stat().st_size for path in files)
    print(f"\n{plan.n_cables:,} cables, {plan.n_racks:,} racks: planned in {planned:.1f} s")
    print(f"{len(files)} files, {size:,} bytes, all in {whole:.1f} s")
    assert plan.n_cables == 49_152
    assert whole < LIMIT_SECONDS
