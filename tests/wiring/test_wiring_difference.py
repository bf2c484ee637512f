"""The fewest operations: published cases, and a search over all physical states as an oracle."""

from __future__ import annotations

import heapq
from collections import Counter

import numpy as np
import pytest

from topo.wiring.difference import difference, grouped_moves, surplus

CASES = {
    "one end off": ([(0, 1)], [(0, 2)], 1, ["miswired"]),
    "both ends off": ([(0, 1)], [(2, 3)], 2, []),
    "swapped pair": ([(0, 3), (2, 1)], [(0, 1), (2, 3)], 2, ["swapped"]),
    "rotation of three": ([(0, 3), (2, 5), (4, 1)], [(0, 1), (2, 3), (4, 5)], 3, ["rotated"]),
    "rotation of four": ([(0, 3), (2, 5), (4, 7), (6, 1)], [(0, 1), (2, 3), (4, 5), (6, 7)], 4, ["rotated"]),
    "shifted into a free port": ([(0, 4), (1, 5), (2, 6)], [(0, 3), (1, 4), (2, 5)], 3, ["shifted"]),
    "shift, the last never pulled": ([(0, 4), (1, 5)], [(0, 3), (1, 4), (2, 5)], 3, ["shifted"]),
    "swap beside a missing cable": ([(0, 3), (2, 1)], [(0, 1), (2, 3), (4, 5)], 3, ["swapped"]),
    "two where one was planned": ([(0, 2), (1, 3)], [(0, 1)], 2, ["miswired"]),
    "three and one for two and two": ([(0, 1)] * 3 + [(0, 2)], [(0, 1)] * 2 + [(0, 2)] * 2, 1, ["miswired"]),
    "a greedy matching fails": ([(0, 1), (1, 2)], [(1, 3), (2, 3)], 2, ["miswired", "miswired"]),
    "counting a component fails": ([(0, 1), (1, 2)], [(2, 3), (3, 4)], 3, ["miswired"]),
    "nothing": ([(0, 1)], [(1, 0)], 0, []),
    "nothing at all": ([], [], 0, []),
}


def pairs(cables: list[tuple[int, int]]) -> np.ndarray:
    return np.array(cables, np.int64).reshape(-1, 2)


@pytest.mark.parametrize("name", CASES)
def test_published_cases(name: str) -> None:
    found, planned, cost, codes = CASES[name]
    answer = difference(pairs(found), pairs(planned))
    assert len(answer) == cost
    assert sorted(code for code, _ in grouped_moves(answer.moves)) == codes


def fewest_by_search(found: list[tuple[int, int]], planned: list[tuple[int, int]]) -> int:
    """Least cost over all physical states: unplugging is free, plugging in costs 1, so do laying and removing.

    A state is the multiset of cables, each with its ends, None for one in the hand. Ports are classes here: any number
    of cables may be on one, as in bundles.
    """
    goal = tuple(sorted(tuple(sorted(cable)) for cable in planned))
    ends = sorted({end for cable in (*found, *planned) for end in cable})
    start = tuple(sorted(tuple(sorted(cable)) for cable in found))
    queue: list[tuple[int, int, tuple]] = [(0, 0, start)]
    best = {start: 0}
    count = 0
    while queue:
        cost, _, state = heapq.heappop(queue)
        if cost > best[state]:
            continue
        if state == goal:
            return cost
        following = []
        for i, cable in enumerate(state):
            rest = state[:i] + state[i + 1 :]
            following.append((cost + 1, rest))
            for j in (0, 1):
                other = cable[1 - j]
                following += [(cost + 1, (*rest, tuple(sorted((other, end))))) for end in ends if end != cable[j]]
        if len(state) < len(goal) + 1:
            missing = Counter(goal) - Counter(state)
            following += [(cost + 1, (*state, cable)) for cable in missing]
        for new_cost, new in following:
            key = tuple(sorted(new))
            if new_cost < best.get(key, 99):
                best[key] = new_cost
                count += 1
                heapq.heappush(queue, (new_cost, count, key))
    raise AssertionError("the goal can always be reached")


@pytest.mark.parametrize("seed", range(60))
def test_no_list_of_operations_is_shorter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    draw = [tuple(int(x) for x in rng.choice(n, 2, replace=False)) for _ in range(int(rng.integers(1, 7)))]
    split = int(rng.integers(0, len(draw) + 1))
    found, planned = draw[:split][:3], draw[split:][:3]
    assert len(difference(pairs(found), pairs(planned))) == fewest_by_search(found, planned)


def test_the_operations_turn_the_one_into_the_other() -> None:
    rng = np.random.default_rng(3)
    found, planned = (rng.integers(0, 30, (200, 2)) for _ in range(2))
    answer = difference(found, planned)
    result = Counter(tuple(sorted(cable)) for cable in found.tolist())
    for row in answer.removes.tolist():
        result[tuple(sorted(found[row].tolist()))] -= 1
    for was, should in zip(answer.moves.found.tolist(), answer.moves.planned.tolist(), strict=True):
        result[tuple(sorted(found[was].tolist()))] -= 1
        result[tuple(sorted(planned[should].tolist()))] += 1
        assert set(found[was].tolist()) & set(planned[should].tolist())
    for row in answer.adds.tolist():
        result[tuple(sorted(planned[row].tolist()))] += 1
    assert +result == Counter(tuple(sorted(cable)) for cable in planned.tolist())


def test_surplus_is_the_multiset_difference() -> None:
    found, planned = pairs([(0, 1), (1, 0), (2, 3)]), pairs([(0, 1), (4, 5)])
    extra, lack = surplus(found, planned)
    assert (len(extra), lack.tolist()) == (2, [1])
    assert {tuple(sorted(row)) for row in found[extra].tolist()} == {(0, 1), (2, 3)}


def test_the_shorter_walk_is_taken_among_equals() -> None:
    """A swap can be mended at either end: both moves happen where the walk is short."""
    found, planned = pairs([(0, 13), (2, 11)]), pairs([(0, 11), (2, 13)])

    def walk(left: np.ndarray, entered: np.ndarray) -> np.ndarray:
        return np.where((left < 10) & (entered < 10), 0.0, 1.0)

    moves = difference(found, planned, walk).moves
    assert sorted(moves.left.tolist()) == [0, 2]
