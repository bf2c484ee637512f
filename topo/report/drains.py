"""Which elements may be drained now, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from topo.analysis.failures.survivability import Survivability, TierVerdict
    from topo.fabric import Fabric, State

__all__ = ["Drains", "drains"]


@dataclass(frozen=True, slots=True)
class Drains:
    """One kind of element in one tier: how many may go, the first that may and the first that may not."""

    verdict: TierVerdict
    safe: tuple[str, ...]
    unsafe: tuple[str, ...]

    def text(self) -> str:
        """One sentence with names."""
        n, of = self.verdict.n_safe, self.verdict.n_elements
        what = f"{self.verdict.tier} {self.verdict.kind}"
        if n == of:
            return f"{what}: any one of {of:,} may go down"
        if not n:
            return f"{what}: none of {of:,} may go down"
        return (
            f"{what}: {n:,} of {of:,} may go down, such as {_listed(self.safe, n)}; not {_listed(self.unsafe, of - n)}"
        )


def drains(fabric: Fabric, answer: Survivability, *, state: State | None = None, most: int = 4) -> tuple[Drains, ...]:
    """Names behind the verdicts of :func:`topo.survivability`, at most ``most`` of either sort for each tier.

    ``state`` is what was down already when the answer was made.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    >>> answer = topo.survivability(f, kinds=["switch"])
    >>> [entry.text() for entry in drains(f, answer, most=2)][1]
    'spine switch: any one of 4 may go down'
    """
    from topo.analysis.failures.survivability import standing_elements

    ok = np.array([loss.share_lower >= answer.require and loss.cut_off <= 0 for loss in answer.losses])
    tier = np.array([loss.tier for loss in answer.losses])
    listed = {kind: standing_elements(fabric, kind, state) for kind in answer.loss_class}
    out = []
    for verdict in answer.verdicts:
        entry = answer.loss_class[verdict.kind]
        here = np.flatnonzero(tier[entry] == verdict.tier)
        safe = here[ok[entry[here]]]
        # The worst of those that must stay come first.
        unsafe = here[~ok[entry[here]]]
        unsafe = unsafe[np.argsort(entry[unsafe], kind="stable")]
        names = [tuple(listed[verdict.kind].name(int(i)) for i in rows[:most]) for rows in (safe, unsafe)]
        out.append(Drains(verdict, names[0], names[1]))
    return tuple(out)


def _listed(names: tuple[str, ...], n: int) -> str:
    more = f" and {n - len(names):,} more" if n > len(names) else ""
    return ", ".join(names) + more
