"""Cables that split into legs: one plug that moves is one job, one cable that lacks is one finding."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.wiring.split import least_jobs, split_difference, splits_of

HEAD = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,Cable ID"
Legs = dict[int, tuple[str, str]]


def schedule(
    cables: list[tuple[str, str, list[tuple[str, str]]]], name: str = "plan.csv", *, ids: bool = True
) -> Fabric:
    """Each cable: switch, port, the hosts and adapters of its legs; beside them two spines for every switch."""
    rows = [
        f"{switch},{port}/{leg},{host},{adapter},200G,{f'c{number}' if ids else ''}"
        for number, (switch, port, legs) in enumerate(cables)
        for leg, (host, adapter) in enumerate(legs, 1)
        if host
    ]
    switches = sorted({switch for switch, _, _ in cables})
    rows += [f"{switch},{60 + s},spine-{s},{i},800G," for i, switch in enumerate(switches, 1) for s in (1, 2, 3)]
    return fabric_of_text("\n".join([HEAD, *rows]) + "\n", name)


def hosts_of(cage: int, n: int = 4) -> list[tuple[str, str]]:
    return [(f"host-{cage}-{leg}", "nic-1") for leg in range(n)]


PLAN = [("leaf-1", str(cage), hosts_of(cage)) for cage in range(1, 7)] + [
    ("leaf-2", str(cage), hosts_of(10 + cage)) for cage in range(1, 7)
]


def found(changes: dict[int, tuple[str, str, list[tuple[str, str]]]], *, ids: bool = True) -> Fabric:
    cables = [changes.get(i, cable) for i, cable in enumerate(PLAN)]
    return schedule([cable for cable in cables if cable[2]], "found.csv", ids=ids)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize(
    ("changes", "code", "jobs"),
    [
        ({0: ("leaf-1", "9", hosts_of(1))}, "miswired", 1),
        ({0: ("leaf-1", "2", hosts_of(1)), 1: ("leaf-1", "1", hosts_of(2))}, "swapped", 2),
        ({0: ("leaf-2", "1", hosts_of(1)), 6: ("leaf-1", "1", hosts_of(11))}, "swapped", 2),
        ({0: ("leaf-1", "1", [])}, "missing", 1),
        ({0: ("leaf-1", "1", [hosts_of(1)[0], hosts_of(1)[2], hosts_of(1)[1], hosts_of(1)[3]])}, "swapped", 2),
        ({0: ("leaf-1", "1", [*hosts_of(1)[:3], ("", "")])}, "missing", 1),
        (
            {0: ("leaf-1", "2", hosts_of(1)), 1: ("leaf-1", "3", hosts_of(2)), 2: ("leaf-1", "1", hosts_of(3))},
            "rotated",
            3,
        ),
    ],
)
def test_one_finding_and_as_many_jobs_as_plugs(changes: dict, code: str, jobs: int, ids: bool) -> None:
    """With the numbers of the cables in what was found, and without, as a discovery has it."""
    answer = topo.validate(found(changes, ids=ids), schedule(PLAN), consequence=False)
    (one,) = answer.findings
    assert (one.code, len(one.jobs), answer.n_operations) == (code, jobs, jobs)
    assert answer.least_operations <= jobs
    n_legs = sum(cable[2] != PLAN[i][2] or cable[:2] != PLAN[i][:2] for i, cable in changes.items())
    assert len(one.fix.split("; ")) == jobs and n_legs
    both = answer.comparison
    assert both is not None
    mended = both.found.copy()
    for operation in one.operations:
        mended[[row for row in (operation.found,) if row >= 0]] = False
        mended[[row for row in (operation.planned,) if row >= 0]] = True
    assert (mended == both.planned).all()


def test_a_plug_and_one_leg_of_it_in_wrong_places_are_two_jobs() -> None:
    legs = [*hosts_of(1)[:3], ("host-99", "nic-1")]
    answer = topo.validate(found({0: ("leaf-1", "9", legs)}), schedule(PLAN), consequence=False)
    (one,) = answer.findings
    assert (one.code, len(one.jobs), answer.n_operations) == ("miswired", 2, 2)
    assert (len(one.lacks), len(one.extra)) == (4, 4)


def test_a_builders_breakouts_count_as_cables() -> None:
    """GB200: two host links on a port of a leaf are one cable; both gone are one to lay."""
    design = topo.rail_optimized(hosts=64, rails=4, radix=64, breakout=2)
    cable = design.links.cable
    assert (np.bincount(cable[cable >= 0]) == 2).all()
    gone = np.flatnonzero(cable == cable[cable >= 0][10])
    answer = topo.validate(design.without(links=gone), design, consequence=False)
    assert answer.n_operations == 1
    assert [len(one.operations) for one in answer.findings] == [2]


def board(legs_f: list[Legs], legs_p: list[Legs]) -> tuple[Fabric, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A fabric of ports named ``box:port`` and both sides' rows over them."""
    from dataclasses import replace

    from topo.table import Labels

    names = sorted({name for side in (legs_f, legs_p) for legs in side for ends in legs.values() for name in ends})
    assembly = Assembly("board")
    boxes = sorted({name.split(":")[0] for name in names})
    rows = assembly.add_nodes([*boxes, "other"], kind="switch", tier=1)
    for _ in names:
        assembly.connect(rows[:1], rows[-1:], 400)
    fabric = assembly.finish()
    ports = len(fabric.ports)
    node = np.full(ports, len(boxes))
    label = ["x"] * ports
    at = {name: i for i, name in enumerate(names)}
    for name, i in at.items():
        node[i], label[i] = boxes.index(name.split(":")[0]), name.split(":")[1]
    table = replace(fabric.ports, node=node.astype(np.int32), label=Labels.of(label))
    sides = []
    for side in (legs_f, legs_p):
        sides.append(np.array([[at[a], at[b]] for legs in side for a, b in legs.values()], np.int64).reshape(-1, 2))
        sides.append(np.array([i for i, legs in enumerate(side) for _ in legs], np.int64))
    return replace(fabric, ports=table), sides[0], sides[2], sides[1], sides[3]


def fewest(found: list[Legs], planned: list[Legs], *, may_replace: bool = False) -> int:
    """All ways to pair found with planned cables; legs that are in place stay unless cables ``may_replace`` others."""

    def cost(one: Legs, other: Legs) -> int:
        both = one.keys() & other.keys()
        tops = any(one[i][0] != other[i][0] for i in both)
        return tops + sum(one[i][1] != other[i][1] for i in both) + len(one.keys() ^ other.keys())

    held = {(g, h) for g, one in enumerate(found) for h, other in enumerate(planned)
            if any(one.get(i) == ends for i, ends in other.items())}  # fmt: skip
    best = 10**9
    for n in range(min(len(found), len(planned)) + 1):
        for gs in combinations(range(len(found)), n):
            for hs in permutations(range(len(planned)), n):
                pairs = set(zip(gs, hs, strict=True))
                if not may_replace and not held <= pairs:
                    continue
                total = sum(cost(found[g], planned[h]) for g, h in pairs)
                best = min(best, total + len(found) + len(planned) - 2 * n)
    return best


@pytest.mark.parametrize("seed", range(150))
def test_fewest_jobs_by_trying_all_pairings(seed: int) -> None:
    """Whole cables in random cages, now and then a leg in another host, a cable more or less."""
    rng = np.random.default_rng(seed)
    n, n_legs = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    planned = [{leg: (f"s:{c}/{leg}", f"h{c}:{leg}") for leg in range(1, n_legs + 1)} for c in range(1, n + 1)]
    cages = rng.permutation(n + 2)[:n] + 1 if rng.random() < 0.7 else np.arange(1, n + 1)
    wired = [{leg: (f"s:{cages[i]}/{leg}", ends[1]) for leg, ends in cable.items()} for i, cable in enumerate(planned)]
    if rng.random() < 0.5 and n > 1:  # two legs exchange their hosts
        i, j = rng.choice(n, 2, replace=False)
        a, b = int(rng.integers(1, n_legs + 1)), int(rng.integers(1, n_legs + 1))
        one, other = wired[i][a], wired[j][b]
        wired[i][a], wired[j][b] = (one[0], other[1]), (other[0], one[1])
    if rng.random() < 0.3:
        wired.pop()
    fabric, ends_f, ends_p, cable_f, cable_p = board(wired, planned)
    splits = splits_of(fabric, ends_f, ends_p, cable_f, cable_p)
    assert splits is not None
    best = split_difference(ends_f, ends_p, splits)
    assert len(best) == fewest(wired, planned)
    assert least_jobs(best, splits, ends_f, ends_p) == fewest(wired, planned, may_replace=True)


@pytest.mark.parametrize("side", ["found", "planned"])
@pytest.mark.parametrize("seed", range(40))
def test_a_bound_above_none_where_one_side_says_what_is_one_cable(side: str, seed: int) -> None:
    """Cables that only the other side has, each of one row and on ports of its own, are a job each; others lie beside.

    Against all pairings of whole cables: the bound is never above them, and meets them where cables only lack.
    """
    rng = np.random.default_rng(seed)
    whole = [{leg: (f"s:{c}/{leg}", f"h{c}:{leg}") for leg in (1, 2)} for c in range(1, int(rng.integers(2, 4)))]
    plain = [{1: (f"t:{c}", f"k{c}:x")} for c in range(1, int(rng.integers(2, 5)))]
    more = [] if rng.random() < 0.5 else whole[:1]
    full, less = plain, whole if not more else whole[1:]
    if more:  # one split cable lacks on the side that does not speak of any
        full = [*plain, *whole[1:]]
        less = whole
    found, planned = (less, full) if side == "found" else (full, less)
    fabric, ends_f, ends_p, cable_f, cable_p = board(found, planned)
    silent = np.full(len(cable_p if side == "found" else cable_f), -1)
    cables = (cable_f, silent) if side == "found" else (silent, cable_p)
    splits = splits_of(fabric, ends_f, ends_p, *cables)
    assert splits is not None
    best = split_difference(ends_f, ends_p, splits)
    least = least_jobs(best, splits, ends_f, ends_p)
    assert len(plain) <= least <= fewest(found, planned, may_replace=True) <= len(best)
    if not more:
        assert least >= max(len(whole), len(plain))


@pytest.mark.parametrize("n_lacking", [1, 3, 9])
def test_pure_additions_are_a_job_each_by_the_bound_too(n_lacking: int) -> None:
    """Found says what is one cable, and every one of them is right; the plan has some plain cables more."""
    plain = [("leaf-3", str(port), [(f"host-{30 + port}", "nic-1")]) for port in range(1, 10)]
    rows = [*PLAN, *plain]
    fabric, ends_f, ends_p, cable_f, _ = board(*(
        [{leg: (f"{switch}:{port}/{leg}", f"{host}:{leg}") for leg, (host, _) in enumerate(legs, 1)}
         for switch, port, legs in cables] for cables in (rows[: len(rows) - n_lacking], rows)
    ))  # fmt: skip
    splits = splits_of(fabric, ends_f, ends_p, cable_f, np.full(len(ends_p), -1))
    assert splits is not None
    best = split_difference(ends_f, ends_p, splits)
    assert len(best) == least_jobs(best, splits, ends_f, ends_p) == n_lacking
