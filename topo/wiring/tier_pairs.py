"""The cables between one tier and the next: the counts of all pairs, and the blocks of switches cabled alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.wiring.learnt import SUPPORT

__all__ = ["Block", "TierPair"]


@dataclass(eq=False)
class Block:
    """Lower switches cabled alike (``rows``) and the upper ones that most of them reach (``columns``).

    ``count`` is found cables, ``planned`` what each pair should have (None: no rule), of shape (rows, columns).
    ``spread`` is the two neighbouring counts where that is the rule instead. ``how`` says which rule it is.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    count: NDArray[np.int64]
    planned: NDArray[np.int64] | None = None
    spread: tuple[int, int] | None = None
    how: str = ""

    @property
    def n_agree(self) -> int:
        """Pairs that have what they should."""
        if self.spread is not None:
            return int(np.isin(self.count, self.spread).sum())
        return int((self.count == self.planned).sum()) if self.planned is not None else 0


@dataclass(eq=False)
class TierPair:
    """All cables between one tier and the next: the counts of all pairs, the blocks, the rows of another pattern.

    ``between`` masks the columns that serve several small blocks and are of none.
    """

    lower: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    count: NDArray[np.int64]
    blocks: list[Block] = field(default_factory=list)
    odd: list[tuple[int, Block]] = field(default_factory=list)
    between: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def n_pairs(self) -> int:
        """Pairs inside blocks."""
        return sum(block.count.size for block in self.blocks)

    @property
    def n_ruled(self) -> int:
        """Pairs that a rule speaks of."""
        return sum(block.count.size for block in self.blocks if block.planned is not None or block.spread)

    @property
    def is_ruled(self) -> bool:
        """Whether enough pairs have a rule to name a pair as faulty."""
        return self.n_ruled >= SUPPORT * max(self.n_pairs, 1) and self.n_ruled > 0
