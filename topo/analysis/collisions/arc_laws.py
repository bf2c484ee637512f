"""Law of the number of flows on every arc: Poisson-binomial, by signature, with relative accuracy in the tail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.occupancy import binomial_above
from topo.analysis.collisions.traversal import Entries
from topo.errors import ParameterError
from topo.table import Array

__all__ = ["ArcLaws", "binomial_pmf", "overload_bracket", "poisson_binomial"]

_BEYOND = 1e-14
_CELLS = 2000
_SLACK = 1e-9


def binomial_pmf(n: Array, p: Array, top: int) -> NDArray[np.float64]:
    """P(Binomial(n, p) = j) for j = 0 .. ``top``, one line for each (n, p), by ratios of positive terms."""
    n, p = np.asarray(n, dtype=float), np.asarray(p, dtype=float)
    pmf = np.zeros((len(n), top + 1))
    certain = p >= 1
    safe = np.where(certain, 0.5, p)
    pmf[:, 0] = np.exp(n * np.log1p(-safe))
    odds = safe / (1 - safe)
    for j in range(1, top + 1):
        pmf[:, j] = pmf[:, j - 1] * np.maximum(n - j + 1, 0) / j * odds
    pmf[certain] = 0.0
    whole = np.flatnonzero(certain & (n <= top))
    pmf[whole, n[whole].astype(np.int64)] = 1.0
    return pmf


def poisson_binomial(p: Array, count: Array, top: int) -> tuple[NDArray[np.float64], float]:
    """Law of a sum of independent ones and zeros: ``count[i]`` of them are 1 with probability ``p[i]``.

    Returns P(N = j) for j = 0 .. ``top`` and P(N > top). Both keep relative accuracy, however small they are: the
    binomials are convolved one by one, what passes ``top`` is absorbed, and no term is negative.

    >>> pmf, above = poisson_binomial([0.5, 1.0], [2, 1], top=2)
    >>> pmf.tolist(), above
    ([0.0, 0.25, 0.5], 0.25)

    :raises ParameterError: a probability outside 0..1 or a count below 0.
    """
    chance, many = np.asarray(p, dtype=float), np.asarray(count, dtype=np.int64)
    if ((chance < 0) | (chance > 1)).any() or (many < 0).any():
        raise ParameterError("probabilities must lie in 0..1 and counts must be at least 0")
    start = np.array([0, len(chance)])
    pmf, above = _convolved(start, chance, many, np.array([0]), top)
    return pmf[0], float(above[0])


def _convolved(
    start: Array, p: NDArray[np.float64], count: Array, rows: Array, top: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Laws of signatures ``rows``: signature r holds entries ``start[r]`` to ``start[r + 1]``."""
    pmf = np.zeros((len(rows), top + 1))
    pmf[:, 0] = 1.0
    above = np.zeros(len(rows))
    first, length = start[rows], start[rows + 1] - start[rows]
    spare = np.arange(top, -1, -1.0)  # room left after a = 0 .. top flows
    for e in range(int(length.max(initial=0))):
        has = np.flatnonzero(length > e)
        at = first[has] + e
        n, chance = count[at], p[at]
        law = binomial_pmf(n, chance, top)
        tail = np.where(chance[:, None] >= 1, n[:, None] > spare, 0.0)
        partly = (chance < 1) & (n > 0)
        tail[partly] = binomial_above(spare, n[partly, None], chance[partly, None])
        if e == 0:  # nothing to convolve with yet
            pmf[has], above[has] = law, tail[:, 0]
            continue
        before = pmf[has]
        above[has] += (before * tail).sum(axis=1)
        after = before * law[:, :1]
        for j in range(1, min(top, int(n.max(initial=0))) + 1):
            after[:, j:] += before[:, : top + 1 - j] * law[:, j : j + 1]
        pmf[has] = after
    return pmf, above


@dataclass(frozen=True, eq=False)
class ArcLaws:
    """Laws of all arcs, each distinct one once: ``signature[arc]`` is the number of its law, -1 for an unused arc.

    Signature s holds entries ``start[s]`` to ``start[s + 1]`` of (p, size, count).
    """

    signature: NDArray[np.int64]
    start: NDArray[np.int64]
    p: NDArray[np.float64]
    size: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, entries: Entries, n_arcs: int, queue_pairs: int = 1) -> ArcLaws:
        """From traversal entries; ``queue_pairs`` multiplies every flow."""
        arcs, first = np.unique(entries.arc, return_index=True)
        length = np.diff(np.append(first, len(entries.arc)))
        columns = np.stack([np.unique(entries.p, return_inverse=True)[1], entries.size, entries.count])
        code = np.zeros(len(entries.arc), np.uint64)
        with np.errstate(over="ignore"):
            for column, factor in zip(columns.astype(np.uint64), _FACTORS, strict=True):
                code = (code ^ column) * factor
                code ^= code >> np.uint64(31)
            total = np.add.reduceat(np.append(code, np.uint64(0)), first)[: len(arcs)] if len(arcs) else code
        _, sample, inverse = np.unique(total, return_index=True, return_inverse=True)
        signature = np.full(n_arcs, -1, np.int64)
        signature[arcs] = inverse
        keep = (
            np.concatenate([np.arange(first[s], first[s] + length[s]) for s in sample]) if len(sample) else np.arange(0)
        )
        start = np.concatenate([[0], np.cumsum(length[sample])])
        return cls(signature, start, entries.p[keep], entries.size[keep], entries.count[keep] * queue_pairs)

    @property
    def n_laws(self) -> int:
        """Distinct laws."""
        return len(self.start) - 1

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """Mean number of flows, by signature."""
        return self._per_signature(self.p * self.count)

    @cached_property
    def most(self) -> NDArray[np.int64]:
        """Flows that may cross at all, by signature."""
        return self._per_signature(self.count.astype(float)).astype(np.int64)

    def mean_load(self, size_gbps: Array) -> NDArray[np.float64]:
        """Mean load in Gb/s, by signature; ``size_gbps`` is the rate of each size of flow."""
        return self._per_signature(self.p * self.count * np.asarray(size_gbps)[self.size])

    def _per_signature(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        owner = np.repeat(np.arange(self.n_laws), np.diff(self.start))
        return np.asarray(np.bincount(owner, weights=values, minlength=self.n_laws), dtype=float)

    @cached_property
    def _groups(self) -> list[tuple[Array, int, NDArray[np.float64], NDArray[np.float64]]]:
        """Signatures by how far their law reaches: (rows, top, pmf, P(more than j) for j = 0 .. top)."""
        most = self.most
        certain = self._per_signature(np.where(self.p >= 1, self.count, 0).astype(float))
        random = np.maximum(self.mean - certain, 1e-12)
        # Beyond a Poisson law's quantile of the same mean there is less than _BEYOND.
        reach = np.minimum(certain + _poisson_reach(random), most).astype(np.int64)
        top = 1 << np.ceil(np.log2(np.maximum(reach, 1) + 1)).astype(np.int64)
        top = np.minimum(top, np.maximum(most, 1))
        top = np.where(certain == most, np.maximum(most, 1), top)
        groups = []
        for value in np.unique(np.minimum(top, 1 << 14)).tolist():
            rows = np.flatnonzero(np.minimum(top, 1 << 14) == value)
            pmf, above = _convolved(self.start, self.p, self.count, rows, value)
            tail = np.cumsum(np.column_stack([above, pmf[:, :0:-1]]), axis=1)[:, ::-1]
            groups.append((rows, value, pmf, tail))
        return groups

    def pmf(self, arc: int) -> NDArray[np.float64]:
        """P(arc carries j flows), j = 0, 1, ...; what is left out has probability below 1e-14."""
        s = int(self.signature[arc])
        if s < 0:
            return np.ones(1)
        for rows, _, pmf, _ in self._groups:
            at = np.searchsorted(rows, s)
            if at < len(rows) and rows[at] == s:
                law: NDArray[np.float64] = pmf[at]
                return law
        raise AssertionError("every signature is in a group")

    def p_above(self, signature: Array, most: Array) -> NDArray[np.float64]:
        """P(more than ``most[i]`` flows) under law ``signature[i]``."""
        signature, most = np.asarray(signature), np.asarray(most)
        result = np.zeros(len(signature))
        where = np.full(self.n_laws, -1)
        for number, (rows, *_) in enumerate(self._groups):
            where[rows] = number
        of = where[signature]
        for number, (rows, top, _, tail) in enumerate(self._groups):
            mine = np.flatnonzero(of == number)
            k = most[mine].astype(np.int64)
            value = tail[np.searchsorted(rows, signature[mine]), np.clip(k, 0, top)]
            result[mine] = np.where(k < 0, 1.0, np.where(k > top, 0.0, value))
        return result


_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93))


def _poisson_reach(mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """A number that a Poisson variable of this mean passes with less than 1e-14 (Bennett's bound, inverted roughly)."""
    spare = -np.log(_BEYOND)
    return np.asarray(np.ceil(mean + np.sqrt(2 * mean * spare) + spare / 1.5 + 3))


def overload_bracket(
    p: Array, rate: Array, count: Array, capacity: float, *, cells: int = _CELLS
) -> tuple[float, float]:
    """P(load above ``capacity``) of independent flows: ``count[i]`` of ``rate[i]``, each present with ``p[i]``.

    Rates that are multiples of capacity over ``cells``, or of a larger common step, are exact: both ends are equal.
    Others are rounded down and up to that grid, and stochastic order makes the two probabilities bounds.

    >>> round(overload_bracket([1/4, 1/8, 1/16], [100, 200, 400], [4, 3, 2], 400)[0] * 524288, 9)
    71003.0
    """
    share = np.asarray(rate, dtype=float) / capacity * cells if capacity > 0 else np.full(len(np.asarray(rate)), np.inf)
    if capacity <= 0:
        miss = float(np.prod((1 - np.asarray(p, dtype=float)) ** np.asarray(count)))
        return 1 - miss, 1 - miss
    low, high = np.floor(share * (1 + _SLACK) + _SLACK), np.ceil(share * (1 - _SLACK) - _SLACK)
    chance, many = np.asarray(p, dtype=float), np.asarray(count, dtype=np.int64)
    lower = _lattice_above(chance, low.astype(np.int64), many, cells)
    return lower, lower if (low == high).all() else _lattice_above(chance, high.astype(np.int64), many, cells)


def _lattice_above(p: NDArray[np.float64], step: Array, count: Array, cells: int) -> float:
    """P(sum of steps above ``cells``), absorbing what passes."""
    law = np.zeros(cells + 1)
    law[0] = 1.0
    above = 0.0
    for chance, size, many in zip(p.tolist(), step.tolist(), count.tolist(), strict=True):
        if size == 0 or many == 0 or chance == 0:
            continue
        room = (cells - np.arange(cells + 1)) // size
        most = min(int(cells // size), many)
        single = binomial_pmf(np.array([many]), np.array([chance]), most)[0]
        if chance >= 1:
            beyond = (many > room).astype(float)
        elif many <= 64:
            whole = binomial_pmf(np.array([many]), np.array([chance]), many)[0]
            tail = np.append(np.cumsum(whole[:0:-1])[::-1], 0.0)
            beyond = tail[np.minimum(room, many)]
        else:
            beyond = binomial_above(room, many, chance)
        above += float(law @ beyond)
        after = law * single[0]
        for j in range(1, most + 1):
            after[j * size :] += law[: cells + 1 - j * size] * single[j]
        law = after
    return above
