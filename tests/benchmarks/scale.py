"""Time and peak memory over size, 1,024 to 1,048,576 endpoints, each size in a process of its own within 21 GiB.

``python tests/benchmarks/scale.py`` prints the table in Markdown; ``--write README.md`` puts it between the markers
``<!-- scale -->`` and ``<!-- /scale -->`` there. Sizes may be named: ``python tests/benchmarks/scale.py 1024 16384``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import topo
from topo.analysis.bisection import certificate
from topo.analysis.failures.survivability import survivability
from topo.analysis.inventory import inventory
from topo.routing.loads import link_loads
from topo.traffic import all_to_all

SIZES = {1024: 32, 16_384: 64, 131_072: 128, 1_048_576: 256}
"""Endpoints of a three-tier Clos, and the ports of its switches."""
QUESTIONS = ("build", "inventory", "bisection", "both witnesses checked", "ECMP all-to-all", "N-1", "report")
MOST_GIB = 21
_MARKED = re.compile(r"(<!-- scale -->\n).*(<!-- /scale -->)", re.DOTALL)


def measured(size: int) -> dict[str, Any]:
    """Seconds of each question on one size, peak GiB, and the answers that are checked; in this process."""
    seconds: dict[str, float] = {}

    def ask(question: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        answer = work()
        seconds[question] = time.perf_counter() - start
        return answer

    fabric = ask("build", lambda: topo.clos(size, tiers=3, radix=SIZES[size]))
    parts = ask("inventory", lambda: inventory(fabric))
    cut = ask("bisection", lambda: topo.bisection_bandwidth(fabric))
    ask("both witnesses checked", lambda: certificate.check(fabric, cut))
    loads = ask("ECMP all-to-all", lambda: link_loads(fabric, all_to_all(fabric)))
    losses = ask("N-1", lambda: survivability(fabric))
    page = ask("report", lambda: topo.make_report(fabric).to_html())
    return {
        "seconds": seconds,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "links": len(fabric.links),
        "endpoints": parts.n_endpoints,
        "bisection_gbps": [cut.lower_gbps, cut.upper_gbps],
        "theta": loads.theta,
        "n_elements": losses.n_elements,
        "n_evaluated": losses.n_evaluated,
        "page_bytes": len(page),
    }


def in_own_process(size: int) -> dict[str, Any]:
    """The same in a fresh process that may not take more than 21 GiB."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_GIB << 30, MOST_GIB << 30))

    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--child", str(size)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=limited, env=environment
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{size:,} endpoints failed: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def table(found: dict[int, dict[str, Any]]) -> str:
    """Rows of sizes, columns of questions, in Markdown."""
    lines = [
        f"Three-tier Clos, one process a size, {os.cpu_count()} cores ({platform.machine()}, Python "
        f"{platform.python_version()}), seconds; printed by `python tests/benchmarks/scale.py`.",
        "",
        "| endpoints | links | " + " | ".join(QUESTIONS) + " | peak GiB |",
        "|---:" * (len(QUESTIONS) + 3) + "|",
    ]
    for size, one in found.items():
        cells = [f"{one['seconds'][question]:.3g}" for question in QUESTIONS]
        lines.append(f"| {size:,} | {one['links']:,} | {' | '.join(cells)} | {one['gib']:.2f} |")
    return "\n".join(lines) + "\n"


def written(text: str, block: str) -> str:
    """A document with the block between its markers replaced.

    :raises ValueError: there are no markers.
    """
    if not _MARKED.search(text):
        raise ValueError("no <!-- scale --> ... <!-- /scale --> in the document")
    return _MARKED.sub(lambda marks: marks[1] + block + marks[2], text)


def main() -> None:
    """Measure, print, write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="endpoints")
    parser.add_argument("--write", type=Path, help="a document with the markers")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(measured(asked.sizes[0])))
        return
    block = table({size: in_own_process(size) for size in asked.sizes})
    print(block)
    if asked.write:
        asked.write.write_text(written(asked.write.read_text(encoding="utf-8"), block), encoding="utf-8")


if __name__ == "__main__":
    main()
