"""Cases that Kueue and Volcano publish with their schedulers, as facts: the state, the request, what is chosen.

Kueue: pkg/cache/scheduler, the cases of topology assignment without leaders, taints or balanced placement. Volcano:
pkg/scheduler/plugins/network-topology-aware, the two tables of hypernode scores.
"""

from __future__ import annotations

import pytest

from topo.placement.kueue import Domain, kueue_choice
from topo.placement.volcano import binpack_score


def tree(**pods: int) -> list[Domain]:
    """Domains from the pods that fit into each lowest one: ``b1_r1_x3=2``, one part of the name a level."""
    roots: list[Domain] = []
    for name, fit in pods.items():
        level, label = roots, ()
        parts = name.split("_")
        for depth, part in enumerate(parts):
            label = (*label, part)
            found = next((one for one in level if one.label == label), None)
            if found is None:
                found = Domain(label, fit if depth == len(parts) - 1 else 0)
                level.append(found)
            level = found.children
    return roots


DEFAULT = {"b1_r1_x3": 1, "b1_r2_x5": 1, "b1_r2_x1": 1, "b1_r2_x6": 1, "b2_r1_x2": 1, "b2_r2_x4": 2}
RACKS = {"b1_r1": 1, "b1_r2": 3, "b2_r1": 1, "b2_r2": 2}  # the same without hosts
SCATTERED = {"b1_r1_x3": 4, "b1_r1_x5": 1, "b1_r1_x1": 1, "b2_r1_x6": 2, "b2_r1_x2": 1}
BINARY = {
    f"b{b}_r{r}_{x}": 1
    for b, r, x in [
        (1, 1, "x3"),
        (1, 1, "x5"),
        (1, 2, "x1"),
        (1, 2, "x6"),
        (2, 1, "x2"),
        (2, 1, "x4"),
        (2, 2, "x7"),
        (2, 2, "x8"),
    ]
}
BLOCK, RACK, HOST = 0, 1, 2


def request(mode: str, level: int | None = None, size: int = 1, at: int | None = None) -> dict[str, object]:
    return {"mode": mode, "level": level, "slice_size": size, "slice_level": at}


REQUIRED, PREFERRED, FREE = "required", "preferred", "unconstrained"
CASES: dict[str, tuple[dict[str, int], dict[str, object], int, dict[str, int] | None]] = {
    "fewest racks before fewest hosts": (
        {"b1_r1_x3": 2, "b1_r2_x5": 2, "b1_r3_x1": 1, "b1_r3_x6": 1, "b1_r3_x2": 1, "b1_r3_x4": 1},
        request(REQUIRED, BLOCK), 4, {"x1": 1, "x2": 1, "x4": 1, "x6": 1},
    ),
    "the host that holds all": (
        {"b1_r1_x3": 2, "b1_r1_x5": 1, "b1_r1_x1": 1}, request(REQUIRED, BLOCK), 2, {"x3": 2},
    ),
    "unconstrained, six pods": (SCATTERED, request(FREE), 6, {"x1": 1, "x3": 1, "x5": 1, "x2": 1, "x6": 2}),
    "unconstrained, one pod": (DEFAULT, request(FREE), 1, {"x3": 1}),
    "block required, one a host": (BINARY, request(REQUIRED, BLOCK), 4, {"x3": 1, "x5": 1, "x1": 1, "x6": 1}),
    "host required": (DEFAULT, request(REQUIRED, HOST), 1, {"x3": 1}),
    "rack required, one pod": (RACKS, request(REQUIRED, RACK), 1, {"b1 r1": 1}),
    "rack required, three pods": (RACKS, request(REQUIRED, RACK), 3, {"b1 r2": 3}),
    "rack required, two pods": (RACKS, request(REQUIRED, RACK), 2, {"b2 r2": 2}),
    "rack required, too many": (RACKS, request(REQUIRED, RACK), 4, None),
    "rack required, by memory": (
        {"b1_r1": 10, "b1_r2": 30, "b2_r1": 10, "b2_r2": 40}, request(REQUIRED, RACK), 4, {"b1 r1": 4},
    ),
    "block preferred, two blocks": ({"b1": 2, "b2": 1, "b3": 4}, request(PREFERRED, 0), 5, {"b2": 1, "b3": 4}),
    "block required, one pod": (RACKS, request(REQUIRED, BLOCK), 1, {"b2 r1": 1}),
    "block required, over racks": (RACKS, request(REQUIRED, BLOCK), 4, {"b1 r1": 1, "b1 r2": 3}),
    "block required, too many": (RACKS, request(REQUIRED, BLOCK), 5, None),
    "a pod larger than any rack": (dict.fromkeys(RACKS, 0), request(REQUIRED, BLOCK), 1, None),
    "rack preferred, a block holds it": (RACKS, request(PREFERRED, RACK), 4, {"b1 r1": 1, "b1 r2": 3}),
    "rack preferred, over blocks": (RACKS, request(PREFERRED, RACK), 6, {"b1 r1": 1, "b1 r2": 3, "b2 r2": 2}),
    "block preferred, over blocks": (RACKS, request(PREFERRED, BLOCK), 6, {"b1 r1": 1, "b1 r2": 3, "b2 r2": 2}),
    "block preferred, too many": (RACKS, request(PREFERRED, BLOCK), 10, None),
    "slices of two on hosts": (
        {"b1_r1_x3": 3, "b1_r1_x5": 3, "b1_r1_x1": 3}, request(REQUIRED, BLOCK, 2, HOST), 6,
        {"x1": 2, "x3": 2, "x5": 2},
    ),
    "more slices first, then a tight fit": (
        {"b1_r1_x3": 6, "b1_r1_x5": 5, "b1_r1_x1": 4, "b1_r1_x6": 2}, request(REQUIRED, BLOCK, 2, HOST), 12,
        {"x1": 4, "x3": 6, "x6": 2},
    ),
    "tight fits": (
        {"b1_r1_x3": 3, "b1_r1_x5": 2, "b1_r1_x1": 2}, request(REQUIRED, BLOCK, 2, HOST), 4, {"x1": 2, "x5": 2},
    ),
    "slices of two on racks": (
        {"b1_r1_x3": 1, "b1_r1_x5": 1, "b1_r2_x1": 1, "b1_r2_x6": 1, "b1_r2_x2": 1, "b2_r1_x4": 1, "b2_r1_x7": 1},
        request(REQUIRED, BLOCK, 2, RACK), 4, {"x3": 1, "x5": 1, "x1": 1, "x2": 1},
    ),
    "block preferred, slices of two on racks": (
        DEFAULT, request(PREFERRED, BLOCK, 2, RACK), 4, {"x1": 1, "x5": 1, "x4": 2},
    ),
    "the last domain leaves least": (
        {"b1_r1_x3": 4, "b1_r1_x5": 3, "b1_r1_x1": 2}, request(REQUIRED, BLOCK, 2, HOST), 6, {"x1": 2, "x3": 4},
    ),
    "unbalanced blocks, slices of three": (
        {"b1_r1_x3": 3, "b1_r1_x5": 3, "b1_r1_x1": 3, "b2_r1_x6": 6}, request(PREFERRED, BLOCK, 3, HOST), 12,
        {"x1": 3, "x3": 3, "x6": 6},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_kueue_chooses_what_it_publishes(name: str) -> None:
    pods, asked, n, wanted = CASES[name]
    found = kueue_choice(tree(**pods), n, **asked)  # type: ignore[arg-type]
    if wanted is None:
        assert found is None
        return
    assert found is not None
    said = {label[-1] if len(label) == 3 else " ".join(label): count for label, count in found}
    assert said == wanted


NODES = {"s3": (2, 4, 8), "s4": (4, 4, 8), "s5": (2, 8, 16), "s6": (4, 8, 16)}  # two hosts each; foo on one of them
MEMBERS = {"s0": ("s3", "s4", "s5", "s6"), "s1": ("s3", "s4"), "s2": ("s5", "s6"), **{s: (s,) for s in NODES}}


@pytest.mark.parametrize(
    ("request_", "weights", "times", "table"),
    [
        (
            {"cpu": 8, "memory": 8}, {"cpu": 1, "memory": 1}, 1,
            {"s0": 25.0, "s1": 58.3, "s2": 45.8, "s3": 0.0, "s4": 100.0, "s5": 0.0, "s6": 75.0},
        ),
        (
            {"cpu": 8, "memory": 8, "foo": 16}, {"cpu": 3, "memory": 4, "foo": 3}, 10,
            {"s0": 266.7, "s1": 700.0, "s2": 450.0, "s3": 0.0, "s4": 0.0, "s5": 0.0, "s6": 800.0},
        ),
    ],
)  # fmt: skip
def test_volcano_scores_hypernodes_as_it_publishes(request_, weights, times: int, table) -> None:  # type: ignore[no-untyped-def]
    """Two tasks of 4 cpu and 4 G (and 8 foo) on idle hosts; the plugin's own weight multiplies the score."""
    for domain, wanted in table.items():
        has = {
            "cpu": sum(2 * NODES[s][0] for s in MEMBERS[domain]),
            "memory": sum(2 * NODES[s][1] for s in MEMBERS[domain]),
            "foo": sum(NODES[s][2] for s in MEMBERS[domain]),
        }
        assert times * binpack_score({}, request_, has, weights) == pytest.approx(wanted, abs=0.05), domain
