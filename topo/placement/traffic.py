"""What the ranks of a job say to each other: bytes per step, as single pairs and as groups that talk all-to-all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.table import Array, freeze

__all__ = ["Traffic"]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Bytes per step between ranks 0 .. n - 1.

    ``source[i]`` sends ``amount[i]`` to ``sink[i]``. In group g every member sends ``group_amount[g]`` to every
    other: ``group[j]`` is the group of entry j and ``member[j]`` its rank. Nobody sends to itself.
    """

    n: int
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    amount: NDArray[np.float64]
    group: NDArray[np.int64]
    member: NDArray[np.int64]
    group_amount: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        n: int,
        *,
        source: ArrayLike = (),
        sink: ArrayLike = (),
        amount: ArrayLike = (),
        groups: ArrayLike | None = None,
        group_amount: float = 0.0,
    ) -> Traffic:
        """Pairs, and groups as rows of a matrix of ranks (groups, members) that all send ``group_amount``.

        >>> Traffic.of(3, groups=[[0, 1, 2]], group_amount=2.0).total
        12.0
        """
        s, t, w = np.asarray(source, np.int64), np.asarray(sink, np.int64), np.asarray(amount, float)
        keep = (s != t) & (w > 0)
        members = np.empty((0, 1), np.int64) if groups is None else np.asarray(groups, np.int64)
        if group_amount <= 0 or members.shape[1] < 2:
            members = np.empty((0, 1), np.int64)
        return cls(
            n,
            freeze(s[keep]),
            freeze(t[keep]),
            freeze(w[keep]),
            freeze(np.repeat(np.arange(len(members)), members.shape[1])),
            freeze(members.ravel()),
            freeze(np.full(len(members), float(group_amount))),
        )

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            max(self.n, other.n),
            freeze(np.concatenate([self.source, other.source])),
            freeze(np.concatenate([self.sink, other.sink])),
            freeze(np.concatenate([self.amount, other.amount])),
            freeze(np.concatenate([self.group, other.group + len(self.group_amount)])),
            freeze(np.concatenate([self.member, other.member])),
            freeze(np.concatenate([self.group_amount, other.group_amount])),
        )

    @cached_property
    def total(self) -> float:
        """Sum over all pairs."""
        size = np.bincount(self.group, minlength=len(self.group_amount))
        return float(self.amount.sum() + (self.group_amount * size * (size - 1)).sum())

    def within(self, label: ArrayLike) -> Traffic:
        """The part between ranks with the same ``label``."""
        code = np.asarray(label, np.int64)
        same = code[self.source] == code[self.sink]
        key = self.group * (int(code.max(initial=0)) + 2) + code[self.member]
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        return Traffic(
            self.n,
            freeze(self.source[same]),
            freeze(self.sink[same]),
            freeze(self.amount[same]),
            freeze(group),
            self.member,
            freeze(self.group_amount[self.group[first]]),
        )

    def between(self, a: ArrayLike, n_a: int, b: ArrayLike | None = None, n_b: int | None = None) -> Any:
        """Sparse matrix (n_a, n_b) of bytes from ranks coded ``a`` to ranks coded ``b`` (default: the same code)."""
        from scipy.sparse import coo_array, csr_array, diags_array

        rows = np.asarray(a, np.int64)
        columns, width = (rows, n_a) if b is None else (np.asarray(b, np.int64), n_b or 0)
        out = coo_array((self.amount, (rows[self.source], columns[self.sink])), shape=(n_a, width)).tocsr()
        if not len(self.member):
            return out
        n_groups, one = len(self.group_amount), np.ones(len(self.member))
        left = csr_array((one, (self.group, rows[self.member])), shape=(n_groups, n_a))
        right = csr_array((one, (self.group, columns[self.member])), shape=(n_groups, width))
        self_amount = self.group_amount[self.group]
        itself = coo_array((self_amount, (rows[self.member], columns[self.member])), shape=(n_a, width))
        return (out + left.T @ (diags_array(self.group_amount) @ right) - itself.tocsr()).tocsr()

    def sent(self) -> NDArray[np.float64]:
        """Bytes out of every rank."""
        return self._per_rank(self.source)

    def received(self) -> NDArray[np.float64]:
        """Bytes into every rank."""
        return self._per_rank(self.sink)

    def _per_rank(self, at: Array) -> NDArray[np.float64]:
        size = np.bincount(self.group, minlength=len(self.group_amount))
        each = (self.group_amount * (size - 1))[self.group]
        out = np.bincount(at, weights=self.amount, minlength=self.n) + np.bincount(
            self.member, weights=each, minlength=self.n
        )
        return np.asarray(out, float)
