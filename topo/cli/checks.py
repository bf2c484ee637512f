"""What ``topo doctor`` looks at: versions, extras, the catalogue, write access, one known answer of every area."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Check", "checks"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; what is not needed may be missing."""

    check: str
    is_fine: bool
    said: str
    needed: bool = True


def checks() -> Iterator[Check]:
    """Every check, as it is done."""
    yield Check("Python", sys.version_info >= (3, 11), f"{sys.version.split()[0]}; 3.11 or later is needed")
    yield from _packages()
    yield from _files()
    for name, ask, expected in _known_answers():
        yield _tried(f"known answer: {name}", lambda ask=ask: ask(), expected)  # type: ignore[misc]


def _packages() -> Iterator[Check]:
    """Requirements as the installed distribution states them, those of extras marked as not needed."""
    try:
        wanted = importlib.metadata.requires("topo-fabrics") or []
    except importlib.metadata.PackageNotFoundError:
        yield Check("installation", False, "topo-fabrics is not installed: pip install . in its checkout", needed=False)
        return
    for line in wanted:
        requirement, _, marker = line.partition(";")
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        if extra and extra[1] == "test":
            continue
        name, least = re.match(r"([\w.-]+)[^,]*?>=([\w.]+)", requirement.replace(" ", "") + ">=0").groups()  # type: ignore[union-attr]
        yield _package(name, least, extra[1] if extra else "")


def _package(name: str, least: str, extra: str) -> Check:
    what = f"package {name}" + (f" (extra {extra})" if extra else "")
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(what, False, f"is not installed: pip install '{name}>={least}'", needed=not extra)
    is_new_enough = _numbers(found) >= _numbers(least)
    return Check(what, is_new_enough, f"{found}; {least} or later is needed", needed=not extra)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _files() -> Iterator[Check]:
    from topo.errors import TopoError
    from topo.output import write_whole
    from topo.source import catalog

    try:
        n = len(catalog())
        yield Check("catalogue", n > 0, f"{n:,} fabrics can be loaded by name")
    except TopoError as error:
        yield Check("catalogue", False, str(error))
    for what, folder in (("this folder", Path.cwd()), ("temporary folder", Path(tempfile.gettempdir()))):
        try:
            with tempfile.TemporaryDirectory(dir=folder, prefix=".topo-doctor-") as inside:
                write_whole(Path(inside, "x"), "x")
            yield Check(f"write into {what}", True, str(folder))
        except (OSError, TopoError) as error:
            said = f"{folder}: {error}; name files elsewhere with -o"
            yield Check(f"write into {what}", False, said, needed=what != "this folder")


def _tried(name: str, ask: Callable[[], Any], expected: Any) -> Check:
    from topo.errors import TopoError

    try:
        found = ask()
    except (TopoError, ImportError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Check(name, False, f"{type(error).__name__}: {error}")
    told, wanted = (", ".join(map(str, v)) if isinstance(v, tuple) else f"{v}" for v in (found, expected))
    said = told if found == expected else f"{told}, and it should be {wanted}"
    return Check(name, found == expected, said)


def _known_answers() -> list[tuple[str, Callable[[], Any], Any]]:
    """Questions about a leaf-spine of 4 leaves, 2 spines and 16 hosts whose answers follow on paper."""
    import topo

    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=1)
    rate = float(fabric.links.capacity_gbps[0])
    tree = topo.fat_tree(k=4)
    job = topo.Job(size=4)
    return [
        (
            "building (endpoints, nodes, links)",
            lambda: (len(tree.endpoints), len(tree.nodes), len(tree.links)),
            (16, 36, 48),
        ),
        ("inventory (switches)", lambda: topo.inventory(fabric).n_switches, 6),
        ("bisection (Gb/s)", lambda: topo.bisection_bandwidth(fabric).upper_gbps, 4 * rate),
        ("throughput (theta)", lambda: round(_throughput(fabric), 9), round(0.5 * 15 / 12, 9)),
        ("collisions (chance of none)", lambda: round(topo.ecmp_stage(2, 2).p_no_collision, 9), 0.5),
        (
            "failures (endpoints cut off)",
            lambda: topo.degraded_capacity(fabric, topo.down_state(fabric, ["spine-1"])).cut_off,
            0,
        ),
        ("placement (leaves)", lambda: float(topo.place(fabric, job).value), 1.0),
        ("collectives (busbw over rate)", _busbw, 1.0),
        ("wiring (findings)", lambda: len(topo.validate(fabric, fabric).findings), 0),
        ("racks (cables)", lambda: topo.cabling_plan(fabric).n_cables, len(fabric.links)),
        ("convert (links)", lambda: topo.to_networkx(fabric).number_of_edges(), len(fabric.links)),
        (
            "report (pages)",
            lambda: topo.make_report(fabric, sections=["inventory"]).to_html().lower().count("</html>"),
            1,
        ),
    ]


def _throughput(fabric: Any) -> float:
    """All-to-all of 16 hosts: 12 of every 15 flows of a host leave its leaf, over uplinks of half the rate."""
    import topo

    return float(topo.throughput(fabric, topo.traffic.all_to_all(fabric)).theta_lower)


def _busbw() -> float:
    """A ring's busbw without latency is its rate."""
    import topo

    cost = topo.collective_cost("all_reduce", bytes=1e9, ranks=8, alpha_us=0.0, bandwidth_gbyte_s=50.0)
    return round(float(cost.busbw_gbyte_s) / 50.0, 9)
