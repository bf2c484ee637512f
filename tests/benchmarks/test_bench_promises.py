"""What is promised in seconds: catalogue entries, the program's start, long files.

Run with ``python -m pytest tests/benchmarks/test_bench_promises.py -s``: adds lines to the table.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

import topo
from topo.io.native import read_native, write_native
from topo.io.schedule import read_schedule

ENTRIES = [entry.name for entry in topo.catalog()]
SLOWER = {"openai-mrc-131k": 5.0, "slim-fly-29": 5.0}


def best(work: Callable[[], Any], rounds: int = 2) -> float:
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def test_every_entry_of_the_catalogue_builds_in_two_seconds(record) -> None:  # type: ignore[no-untyped-def]
    spent = {name: best(lambda name=name: topo.load(name)) for name in ENTRIES}
    slowest = max(spent, key=spent.__getitem__)
    record(f"build {len(ENTRIES)} catalogue entries, the slowest", "topo", spent[slowest], slowest)
    assert {name: seconds for name, seconds in spent.items() if seconds > SLOWER.get(name, 2.0)} == {}


@pytest.mark.parametrize(("words", "limit"), [(["--help"], 0.4), (["list"], 1.5)])
def test_the_program_starts_at_once(record, words: list[str], limit: float) -> None:  # type: ignore[no-untyped-def]
    spent = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "topo", *words], capture_output=True, check=True, timeout=60)
        spent.append(time.perf_counter() - start)
    record(f"topo {' '.join(words)}", "topo", min(spent))
    assert min(spent) < limit


def test_a_schedule_of_two_hundred_thousand_rows_in_five_seconds(record) -> None:  # type: ignore[no-untyped-def]
    rows = "".join(f"leaf-{i // 64},swp{i % 64},spine-{i % 512},swp{i // 512},400G,3\n" for i in range(200_000))
    text = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,Length\n" + rows
    seconds = best(lambda: read_schedule(text, "plan.csv"))
    record("read a schedule of 200,000 rows", "topo", seconds)
    assert seconds < 5


def test_a_million_endpoints_load_in_two_seconds(record) -> None:  # type: ignore[no-untyped-def]
    data = write_native(topo.fat_tree(160)).data()
    seconds = best(lambda: read_native(data))
    record("load 1,024,000 endpoints from a .fabric file", "topo", seconds, f"{len(data) / 1e6:.0f} MB")
    assert seconds < 2


def test_selene_is_read_in_two_seconds(record, shared_data) -> None:  # type: ignore[no-untyped-def]
    seconds = best(lambda: topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt"))
    record("read Selene's dump", "topo", seconds)
    assert seconds < 2


def test_the_16384_gpu_superpod_is_repaired_in_thirty_seconds(record) -> None:  # type: ignore[no-untyped-def]
    design = topo.load("nvidia-superpod-b200-64su")
    links = list(range(len(design.links) - 40, len(design.links)))
    found = design.without(links=links)
    seconds = best(lambda: topo.repair_wiring(found, design), rounds=1)
    record(f"repair {len(design.links):,} cables of which 40 lack", "topo", seconds)
    assert seconds < 30


def test_sixteen_thousand_accelerators_are_designed_in_thirty_seconds(record) -> None:  # type: ignore[no-untyped-def]
    wanted = topo.Requirements(accelerators=16_384, nic_gbps=400)
    seconds = best(lambda: topo.candidates(wanted), rounds=1)
    record("candidates of every family for 16,384 accelerators", "topo", seconds, "one process")
    assert seconds < 30
