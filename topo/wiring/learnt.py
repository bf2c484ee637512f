"""What the majority says the plan is, as it is learnt: rules in words, cables to lay, cables too many, findings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.fabric import LinkSet
from topo.wiring.cabling import Cabling
from topo.wiring.comparison import Comparison, NewCables, with_laid
from topo.wiring.finding import Finding, Operation

__all__ = ["BIG", "MINN", "SUPPORT", "Learnt"]

SUPPORT = 0.80
"""A rule is learnt when this share of its instances agree."""
MINN = 4
"""Fewest instances that a rule is learnt from."""
BIG = 12
"""A block of so many pairs speaks for itself."""


@dataclass
class Learnt:
    """Collects what the checks of one fabric find; rows of laid cables continue those of the fabric's links.

    ``slow`` is the rate that each found cable should run at which runs at less, ``held`` the rate that a port holds a
    cable to which states more.
    """

    cabling: Cabling
    rules: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    slow: dict[int, float] = field(default_factory=dict)
    held: dict[int, float] = field(default_factory=dict)
    _laid: list[tuple[int, int, int, int, float, str]] = field(default_factory=list)

    def lay(self, a: int, b: int, *, ports: tuple[int, int] = (-1, -1), gbps: float, kind: str = "scale_out") -> int:
        """A cable that should be there, and the row it gets; ports that nobody knows are -1."""
        self._laid.append((a, b, ports[0], ports[1], gbps, kind))
        return len(self.cabling.fabric.links) + len(self._laid) - 1

    def remove(self, link: int) -> None:
        """A cable that should not be there."""
        self.removed.append(link)

    def uplinks_changed(self) -> NDArray[np.int64]:
        """Cables that each node should have more to those above it (fewer where negative) than were found."""
        n = len(self.cabling.fabric.nodes)
        lower = np.array([row[0] for row in self._laid if row[5] == "scale_out"], np.int64)
        gone = self.cabling.low[np.isin(self.cabling.between, np.array(self.removed, np.int64))]
        change: NDArray[np.int64] = np.bincount(lower, minlength=n) - np.bincount(gone, minlength=n)
        return change

    def rule(self, what: str, agree: int, total: int) -> bool:
        """Say a rule with its count; whether it is learnt."""
        if total < MINN:
            return False
        learnt = agree >= SUPPORT * total
        if learnt:
            self.rules.append(f"{what}: {agree:,}/{total:,} agree")
        return learnt

    def comparison(self) -> Comparison:
        """The fabric as found and as it should be, as one."""
        fabric = self.cabling.fabric
        rows = self._laid
        whole = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4)
        rates = np.array([row[4] for row in rows], np.float64)
        laid = NewCables(
            whole[:, 0], whole[:, 1], whole[:, 2], whole[:, 3], rates, np.array([row[5] for row in rows], np.str_)
        )
        both = with_laid(fabric, laid)
        found = np.arange(len(both.links)) < len(fabric.links)
        planned = np.ones(len(both.links), bool)
        planned[np.array(self.removed, np.int64)] = False
        return Comparison(both, found, planned)

    def link_text(self, link: int) -> str:
        """A found cable with its ports."""
        return str(LinkSet.of(self.cabling.fabric, [link])[0])

    def move(self, link: int, laid: int, text: str) -> Operation:
        """Moving one end of a found cable makes it the laid one."""
        self.remove(link)
        return Operation("move", link, laid, text)
