"""How long the large instances of the direct families take to build.

Run with ``python -m pytest tests/benchmarks/test_bench_families.py -s``: adds lines to the table. Five seconds each.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import topo
from topo.fabric import Fabric

CASES: list[tuple[str, Callable[[], Fabric], int]] = [
    ("Slim Fly q=29", lambda: topo.slim_fly(29), 37_004),
    ("Jellyfish, 16,384 endpoints", lambda: topo.jellyfish(1024, 16, 16), 16_384),
    ("Jellyfish, 131,072 endpoints", lambda: topo.jellyfish(8192, 24, 16), 131_072),
    ("Xpander, 16,400 endpoints", lambda: topo.xpander(24, 82, 8), 16_400),
    ("DCell n=6 k=2", lambda: topo.dcell(6, 2), 1806),
    ("TPU pod, 4,096 chips", lambda: topo.tpu_slice([16, 16, 16]), 4096),
    ("dragonfly, 279,040 endpoints", lambda: topo.dragonfly(16, 32, 17), 279_040),
    ("HyperX 32 x 32 x 32", lambda: topo.hyperx([32, 32, 32], 32), 1_048_576),
    ("BCube n=8 k=4", lambda: topo.bcube(8, 4), 32_768),
    ("Hx2Mesh, 65,536 accelerators", lambda: topo.hamming_mesh([2, 2], [128, 128]), 65_536),
]


@pytest.mark.parametrize(("name", "build", "endpoints"), CASES, ids=[case[0] for case in CASES])
def test_builds_in_five_seconds(record, name: str, build: Callable[[], Fabric], endpoints: int) -> None:  # type: ignore[no-untyped-def]
    spent = []
    for _ in range(2):
        start = time.process_time()
        fabric = build()
        spent.append(time.process_time() - start)
    record(f"build {name}", "topo", min(spent), f"{len(fabric.links):,} links")
    assert len(fabric.endpoints) == endpoints
    assert min(spent) < 5
