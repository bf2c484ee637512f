"""Cables that pairs of switches lack beside the like: on which ports they belong, and the findings that tell them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from topo.wiring.cabling import Cabling, port_words
from topo.wiring.finding import Operation, cut_words, finding
from topo.wiring.learnt import Learnt
from topo.wiring.totals import near_place

__all__ = ["Sides", "Taken", "against_like", "say_lacking"]

_FEWEST_STRIPPED = 2
_SHOWN = 4


@dataclass(eq=False)
class Sides:
    """Cables of pairs beyond what was learnt, and those that lack, with the block that says so.

    ``planned`` is the cables that a switch should have in its blocks to those below it, or above it (False, True).
    """

    extra: list[tuple[int, int]] = field(default_factory=list)
    lack: list[tuple[int, int]] = field(default_factory=list)
    wanted: dict[tuple[int, int], tuple[int, int, str]] = field(default_factory=dict)
    why: dict[tuple[int, int], str] = field(default_factory=dict)
    ports: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    alone: list[int] = field(default_factory=list)
    planned: dict[tuple[int, bool], int] = field(default_factory=lambda: defaultdict(int))


class Taken:
    """Gives out the free ports that belong to a lacking cable."""

    def __init__(self, cabling: Cabling, links: list[int], sides: Sides) -> None:
        self.cabling, self.sides = cabling, sides
        self.used = cabling.cabled.copy()
        rows = np.array(links, np.int64)
        self.used[cabling.fabric.links.port_a[rows]] = False
        self.used[cabling.fabric.links.port_b[rows]] = False
        self.ends: dict[int, tuple[int, int]] = {}

    def lay(self, learnt: Learnt, low: int, high: int, *, keep: tuple[int, int] | None = None) -> int:
        """A cable of the pair on its free ports; with ``keep`` (node, link) one end stays where that link has it."""
        ports = {}
        fabric = self.cabling.fabric
        for near, far in ((low, high), (high, low)):
            if keep is not None and keep[0] == near:
                link = keep[1]
                at_a = int(fabric.link_a[link]) == near
                ports[near] = int(fabric.links.port_a[link] if at_a else fabric.links.port_b[link])
            else:
                free = [row for row in self.sides.ports.get((near, far), ()) if not self.used[row]]
                ports[near] = free[0] if free else -1
            if ports[near] >= 0:
                self.used[ports[near]] = True
        laid = learnt.lay(low, high, ports=(ports[low], ports[high]), gbps=self.cabling.usual_gbps(low, high))
        self.ends[laid] = ports[low], ports[high]
        return laid

    def port_text(self, laid: int, node: int) -> str:
        """The port of a laid cable on a node, as `` port 7``; empty where unknown."""
        for port in self.ends[laid]:
            if port >= 0 and self.cabling.fabric.ports.node[port] == node:
                return f" {port_words(str(self.cabling.fabric.ports.label[port]))}"
        return ""

    def text(self, laid: int) -> str:
        """The known ports of a laid cable."""
        return " and ".join(self.cabling.port_name(port) for port in self.ends[laid] if port >= 0)


def say_lacking(cabling: Cabling, sides: Sides, pairs: list[tuple[int, int]], taken: Taken, learnt: Learnt) -> None:
    """What lacks, a finding a pair; of a switch that lacks most of its cables up or down one with them all."""
    lacking = Counter(pairs)
    name = cabling.fabric.nodes.name
    for node, above in _stripped(sides, lacking):
        mine = {pair: lacking.pop(pair) for pair in list(lacking) if pair[not above] == node}
        n, whole = sum(mine.values()), sides.planned[node, above]
        where, to = ("above", "switches above") if above else ("below", "switches below")
        evidence = f"{whole - n} of its {whole} cables to {to}; {sides.wanted[next(iter(mine))][2]}"
        words = f"the cut {where} {name[node]} loses {n} of {whole} cables ({100 * n / whole:.3g} %)"
        code, at = "uplinks-fewer" if above else "pair-absent", cabling.first_place(node)
        _lay_all(code, str(name[node]), evidence, at, words, mine, taken, learnt)
    for (low, high), n in lacking.items():
        count = sides.wanted[low, high][0]
        n_above = int((cabling.low == low).sum()) + sum(m for (other, _), m in lacking.items() if other == low)
        place = f"{name[low]} - {name[high]}"
        words = cut_words(place, str(name[low]), lost=n, of=count + n, above=n_above)
        evidence, at = against_like(cabling, sides, (low, high)), near_place(cabling, low, high)
        code = "pair-thin" if count else "pair-absent"
        _lay_all(code, place, evidence, at, words, {(low, high): n}, taken, learnt)


def _stripped(sides: Sides, lacking: Counter[tuple[int, int]]) -> list[tuple[int, bool]]:
    """Switches that lack most of their cables to one side (True: above them), two or more; three where it is half.

    The one that lacks most is first, and takes its cables from the others.
    """
    left = Counter(lacking)
    told: list[tuple[int, bool]] = []
    while True:
        lacks: Counter[tuple[int, bool]] = Counter()
        for (low, high), n in left.items():
            lacks[low, True] += n
            lacks[high, False] += n
        most = [
            key
            for key, n in lacks.items()
            if n >= _FEWEST_STRIPPED and 2 * n + (n > _FEWEST_STRIPPED) > sides.planned[key] > 0
        ]
        if not most:
            return told
        node, above = max(most, key=lacks.__getitem__)
        told.append((node, above))
        left = Counter({pair: n for pair, n in left.items() if pair[not above] != node})


def _lay_all(
    code: str, place: str, evidence: str, at: tuple[str, int], words: str, pairs: dict[tuple[int, int], int],
    taken: Taken, learnt: Learnt,
) -> None:  # fmt: skip
    """One finding of the cables that pairs lack, by their numbers."""
    name = learnt.cabling.fabric.nodes.name
    operations, known = [], []
    for (low, high), n in pairs.items():
        for row in (taken.lay(learnt, low, high) for _ in range(n)):
            text = taken.text(row)
            known += [text] if text else []
            operations.append(Operation("add", -1, row, f"lay {text or f'{name[low]} - {name[high]}'}"))
    evidence += f"; free: {'; '.join(known[:_SHOWN])}" if known else ""
    fix = "; ".join(operation.text for operation in operations[:_SHOWN])
    fix += f"; and {len(operations) - _SHOWN:,} more" if len(operations) > _SHOWN else ""
    lacks = tuple(operation.planned for operation in operations)
    learnt.findings.append(
        finding(code, place, evidence, fix=fix, at=at, operations=tuple(operations), lacks=lacks, words=words)
    )


def against_like(cabling: Cabling, sides: Sides, pair: tuple[int, int]) -> str:
    """How many cables a pair of switches has of how many, and what says so."""
    name = cabling.fabric.nodes.name
    count, planned, says = sides.wanted[pair]
    return f"{name[pair[0]]} - {name[pair[1]]} has {count} of {planned} cables; {says}"
