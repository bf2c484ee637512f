"""What a collective costs by closed form: latency and bandwidth terms of the standard algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from topo.errors import ParameterError
from topo.result import Result, Row, Standing

if TYPE_CHECKING:
    from topo.analysis.collectives.hierarchy import HierarchicalCost

__all__ = [
    "ALGORITHMS",
    "BUSBW_FACTORS",
    "TWO_LEVEL",
    "CollectiveCost",
    "algorithms",
    "best_algorithm",
    "busbw_factor",
    "chain_time",
    "collective_cost",
]


class Terms(NamedTuple):
    """A cost as messages one after another and bytes one after another: time = messages alpha + bytes / B."""

    messages: float
    bytes: float


def _log2(n: int) -> int:
    return math.ceil(math.log2(n)) if n > 1 else 0


def _share(n: int) -> float:
    return (n - 1) / n


Formula = Callable[[int, float], Terms]
"""(ranks n, bytes S) -> terms."""

ALGORITHMS: dict[str, dict[str, tuple[Formula, str]]] = {
    "all_reduce": {
        "ring": (lambda n, s: Terms(2 * (n - 1), 2 * _share(n) * s), "2 (n-1) alpha + 2 ((n-1)/n) S/B"),
        "halving_doubling": (
            lambda n, s: Terms(2 * _log2(n), 2 * _share(n) * s),
            "2 log2(n) alpha + 2 ((n-1)/n) S/B, n a power of two",
        ),
        "recursive_doubling": (lambda n, s: Terms(_log2(n), _log2(n) * s), "log2(n) (alpha + S/B), n a power of two"),
        "binomial_tree": (
            lambda n, s: Terms(2 * _log2(n), 2 * _log2(n) * s),
            "2 ceil(log2 n) (alpha + S/B), reduce then broadcast, no pipeline",
        ),
        "double_tree": (
            lambda n, s: Terms(2 * _log2(n), 2 * s if n > 1 else 0.0),
            "2 ceil(log2 n) alpha + 2 S/B, two trees of half the bytes each, pipelined",
        ),
        "in_network": (lambda n, s: Terms(2 if n > 1 else 0, s if n > 1 else 0.0), "2 alpha + S/B, switches add up"),
    },
    "reduce_scatter": {"ring": (lambda n, s: Terms(n - 1, _share(n) * s), "(n-1) alpha + ((n-1)/n) S/B")},
    "all_gather": {
        "ring": (lambda n, s: Terms(n - 1, _share(n) * s), "(n-1) alpha + ((n-1)/n) S/B"),
        "recursive_doubling": (
            lambda n, s: Terms(_log2(n), _share(n) * s),
            "log2(n) alpha + ((n-1)/n) S/B, n a power of two",
        ),
    },
    "broadcast": {
        "binomial_tree": (lambda n, s: Terms(_log2(n), _log2(n) * s), "ceil(log2 n) (alpha + S/B), no pipeline"),
        "chain": (
            lambda n, s: Terms(n - 1, s if n > 1 else 0.0),
            "(n-2+k) (alpha + S/(k B)), a chain with the best number k of pieces",
        ),
    },
    "all_to_all": {
        "pairwise": (lambda n, s: Terms(n - 1, _share(n) * s), "(n-1) (alpha + S/(n B))"),
        "bruck": (lambda n, s: Terms(_log2(n), _log2(n) * s / 2), "ceil(log2 n) (alpha + S/(2 B))"),
    },
}
"""Algorithms by collective: (terms, formula). Sources: Thakur, Rabenseifner and Gropp 2005; nccl-tests' bounds."""

_POWERS_OF_TWO = {"halving_doubling", "recursive_doubling"}

TWO_LEVEL: dict[str, dict[str, str]] = {
    "all_reduce": {
        "hierarchical": "2 [(G-1) a_i + ((G-1)/G) S/B_i] + 2 (N-1) alpha + 2 ((N-1)/N) (S/G)/B, N = n/G",
        "two_dimensional": "RS(n1, S) + AR(n2, S/n1) + AG(n1, S), rings along both sides of an n1 x n2 grid",
    },
    "all_to_all": {
        "direct": "S ((G-1)/n)/B_i + S ((n-G)/n)/B + (n-G) alpha",
        "relayed": "S ((G-1)/n + ((n-G)/n) (G-1)/G)/B_i + S ((n-G)/n)/B + (N-1) alpha, over the right rail",
    },
}
"""Formulas over two levels, G ranks a host at a_i and B_i; they need ``ranks_per_host``."""

BUSBW_FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * _share(n),
    "reduce_scatter": _share,
    "all_gather": _share,
    "all_to_all": _share,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
}
"""busbw over algbw by collective, as nccl-tests has it."""


@dataclass(frozen=True)
class CollectiveCost(Result):
    """Time of one collective, alone, every rank sending at one rate; algbw = S / time, busbw in nccl-tests' sense.

    Over two levels ``phases`` run one after another and add up to ``time_s``; ``pipelined_s`` is what no overlap of
    them beats (the larger of both levels' totals). With one level it is ``time_s``.
    """

    collective: str
    algorithm: str
    formula: str
    bytes: float
    ranks: int
    alpha_us: float
    bandwidth_gbyte_s: float
    latency_s: float
    transfer_s: float
    time_s: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
    standing: Standing
    phases: tuple[tuple[str, float], ...] = ()
    pipelined_s: float = 0.0

    title: ClassVar[str] = "Collective, closed form"

    def rows(self) -> list[Row]:
        """Time and its two parts, phases where there are several, then the bandwidths."""
        parts = [Row(f"  {name}", 1e3 * time, "ms") for name, time in self.phases]
        if parts:
            parts.append(Row("phases overlapped, at best", 1e3 * self.pipelined_s, "ms"))
        return [
            Row("collective", f"{self.collective}, {self.algorithm}: {self.formula}"),
            Row("ranks", self.ranks),
            Row("time", 1e3 * self.time_s, "ms", self.standing),
            Row("of it latency", 1e3 * self.latency_s, "ms"),
            Row("of it transfer", 1e3 * self.transfer_s, "ms"),
            *parts,
            Row("algbw, bytes over time", self.algbw_gbyte_s, "GB/s"),
            Row("busbw, as nccl-tests prints", self.busbw_gbyte_s, "GB/s"),
        ]


def algorithms(collective: str) -> tuple[str, ...]:
    """Names of the algorithms known for a collective, those over two levels last.

    >>> algorithms("all_to_all")
    ('pairwise', 'bruck', 'direct', 'relayed')

    :raises ParameterError: an unknown collective.
    """
    if collective not in ALGORITHMS:
        raise ParameterError(f"unknown collective {collective!r}; known: {', '.join(ALGORITHMS)}")
    return (*ALGORITHMS[collective], *TWO_LEVEL.get(collective, ()))


def busbw_factor(collective: str, ranks: int) -> float:
    """busbw / algbw: 2 (n-1)/n all-reduce, (n-1)/n gather, scatter and all-to-all, 1 broadcast and reduce.

    :raises ParameterError: an unknown collective.
    """
    if collective not in BUSBW_FACTORS:
        raise ParameterError(f"unknown collective {collective!r}; known: {', '.join(BUSBW_FACTORS)}")
    return BUSBW_FACTORS[collective](ranks)


def collective_cost(
    collective: str,
    *,
    bytes: float,
    ranks: int,
    alpha_us: float,
    bandwidth_gbyte_s: float,
    algorithm: str | None = None,
    ranks_per_host: int | None = None,
    inner_alpha_us: float = 1.0,
    inner_bandwidth_gbyte_s: float | None = None,
) -> CollectiveCost:
    """Time of a collective over ``ranks`` equal ranks: messages x alpha + bytes / B, by the algorithm's formula.

    ``bytes`` is S: the buffer of each rank for all-reduce and broadcast, the whole array for reduce-scatter and
    all-gather, everything one rank sends for all-to-all. B is GB/s (10^9) a rank, one direction; without
    ``algorithm`` the fastest for this size is taken. Contention and topology are not in it.

    Two levels: ``ranks_per_host`` ranks G of a host, n = G N, reach each other at ``inner_alpha_us`` and
    ``inner_bandwidth_gbyte_s``. ``hierarchical`` (all-reduce: reduce-scatter inside, all-reduce of S/G between,
    all-gather inside), ``direct`` and ``relayed`` (all-to-all; relayed goes first to the accelerator on the right rail,
    N - 1 messages instead of n - G) and ``two_dimensional`` (G is one side of a grid, all links alike unless an inner
    rate is given) add up their phases; ``pipelined_s`` is the bound of phases that overlap.

    >>> answer = collective_cost("all_reduce", bytes=2**30, ranks=8, alpha_us=5, bandwidth_gbyte_s=50, algorithm="ring")
    >>> round(1e3 * answer.time_s, 4), round(answer.busbw_gbyte_s, 3)
    (37.651, 49.907)
    >>> two = collective_cost("all_reduce", bytes=2**30, ranks=64, alpha_us=5, bandwidth_gbyte_s=50,
    ...     algorithm="hierarchical", ranks_per_host=8, inner_alpha_us=1, inner_bandwidth_gbyte_s=370)
    >>> round(1e3 * two.time_s, 2), round(1e3 * two.pipelined_s, 2)
    (9.86, 5.09)

    :raises ParameterError: an unknown collective or algorithm, fewer than one rank, a rank number that is no power
        of two where the algorithm needs one, a size, latency or rate that is negative or not finite, two levels
        without ranks a host or the rate inside, ranks that hosts do not divide.
    """
    asked = {"bytes": bytes, "ranks": ranks, "alpha_us": alpha_us, "bandwidth_gbyte_s": bandwidth_gbyte_s}
    inside = {"inner_alpha_us": inner_alpha_us, "inner_bandwidth_gbyte_s": inner_bandwidth_gbyte_s}
    if algorithm is None:
        algorithm = best_algorithm(collective, **asked, ranks_per_host=ranks_per_host, **inside)  # type: ignore[arg-type]
    if algorithm not in algorithms(collective):
        raise ParameterError(
            f"unknown algorithm {algorithm!r} for {collective}; known: {', '.join(algorithms(collective))}"
        )
    _check(bytes, ranks, alpha_us, bandwidth_gbyte_s)
    if algorithm in TWO_LEVEL.get(collective, ()):
        return _two_level(collective, algorithm, asked, ranks_per_host, inner_alpha_us, inner_bandwidth_gbyte_s)
    if algorithm in _POWERS_OF_TWO and ranks & (ranks - 1):
        low = 1 << (ranks.bit_length() - 1)
        raise ParameterError(f"{algorithm} needs a power of two of ranks, not {ranks}; near: {low} or {2 * low}")
    formula, text = ALGORITHMS[collective][algorithm]
    terms = formula(ranks, bytes)
    latency, transfer = terms.messages * alpha_us * 1e-6, terms.bytes / (bandwidth_gbyte_s * 1e9)
    if algorithm == "chain":
        latency = chain_time(ranks, alpha_us * 1e-6, transfer) - transfer
    said = "alpha-beta closed form; every rank alone on its path at the full rate"
    return _answer(collective, algorithm, text, asked, latency, transfer, said)


def _answer(
    collective: str, algorithm: str, formula: str, asked: Mapping[str, float], latency: float, transfer: float,
    said: str, phases: tuple[tuple[str, float], ...] = (), pipelined: float | None = None,
) -> CollectiveCost:  # fmt: skip
    time = latency + transfer
    rate = asked["bytes"] / time / 1e9 if time > 0 else math.inf
    ranks = int(asked["ranks"])
    return CollectiveCost(
        collective=collective,
        algorithm=algorithm,
        formula=formula,
        bytes=float(asked["bytes"]),
        ranks=ranks,
        alpha_us=asked["alpha_us"],
        bandwidth_gbyte_s=asked["bandwidth_gbyte_s"],
        latency_s=latency,
        transfer_s=transfer,
        time_s=time,
        algbw_gbyte_s=rate,
        busbw_gbyte_s=rate * busbw_factor(collective, ranks),
        standing=Standing("model", said),
        phases=phases,
        pipelined_s=time if pipelined is None else pipelined,
    )


def _two_level(
    collective: str, algorithm: str, asked: Mapping[str, float], ranks_per_host: int | None, inner_alpha_us: float,
    inner_gbyte_s: float | None,
) -> CollectiveCost:  # fmt: skip
    # The forms over two levels are made of this module's one-level costs.
    from topo.analysis.collectives.hierarchy import Level, hierarchical_all_reduce, two_level_all_to_all

    ranks, size = int(asked["ranks"]), asked["bytes"]
    grid = algorithm == "two_dimensional"
    if ranks_per_host is None or (inner_gbyte_s is None and not grid):
        missing = "ranks_per_host" if ranks_per_host is None else "inner_bandwidth_gbyte_s"
        raise ParameterError(f"{algorithm} has two levels and needs {missing}")
    if isinstance(ranks_per_host, bool) or ranks_per_host < 1 or ranks % ranks_per_host:
        raise ParameterError(f"ranks {ranks} is no multiple of ranks_per_host {ranks_per_host}")
    if inner_gbyte_s is None:
        inner_gbyte_s, inner_alpha_us = asked["bandwidth_gbyte_s"], asked["alpha_us"]
    for name, value, strict in (
        ("inner_alpha_us", inner_alpha_us, False),
        ("inner_bandwidth_gbyte_s", inner_gbyte_s, 1),
    ):
        if not math.isfinite(value) or value < 0 or (strict and value == 0):
            raise ParameterError(f"{name} is {value}; it must be finite and {'above' if strict else 'at least'} 0")

    def cost(share: float) -> HierarchicalCost:
        inner = Level(ranks_per_host, share * inner_alpha_us, inner_gbyte_s)
        outer = Level(ranks // ranks_per_host, share * asked["alpha_us"], asked["bandwidth_gbyte_s"])
        if collective == "all_reduce":
            return hierarchical_all_reduce(size, inner, outer)
        return two_level_all_to_all(size, inner, outer, relay=algorithm == "relayed")

    whole, bare = cost(1.0), cost(0.0)
    said = "alpha-beta closed form, phases one after another; what overlaps at best is a bound of its own"
    return _answer(
        collective, algorithm, TWO_LEVEL[collective][algorithm], asked, whole.sum_s - bare.sum_s, bare.sum_s, said,
        whole.phases, whole.pipelined_s,
    )  # fmt: skip


def best_algorithm(
    collective: str,
    *,
    bytes: float,
    ranks: int,
    alpha_us: float,
    bandwidth_gbyte_s: float,
    in_network: bool = False,
    ranks_per_host: int | None = None,
    inner_alpha_us: float = 1.0,
    inner_bandwidth_gbyte_s: float | None = None,
) -> str:
    """The fastest algorithm for this size by closed form; in-network reduction only where it is offered.

    Those over two levels compete where ``ranks_per_host`` and the rate inside are given.

    >>> best_algorithm("all_reduce", bytes=2**20, ranks=64, alpha_us=5, bandwidth_gbyte_s=50)
    'halving_doubling'
    """
    two = ranks_per_host is not None and inner_bandwidth_gbyte_s is not None
    usable = [
        name
        for name in algorithms(collective)
        if (in_network or name != "in_network")
        and not (name in _POWERS_OF_TWO and ranks & (ranks - 1))
        # A grid with the rates of hosts is the hierarchy again.
        and (name in ALGORITHMS[collective] or (two and name != "two_dimensional"))
    ]
    asked = {"bytes": bytes, "ranks": ranks, "alpha_us": alpha_us, "bandwidth_gbyte_s": bandwidth_gbyte_s}
    if two:
        asked |= {"ranks_per_host": ranks_per_host, "inner_alpha_us": inner_alpha_us}  # type: ignore[dict-item]
        asked["inner_bandwidth_gbyte_s"] = inner_bandwidth_gbyte_s  # type: ignore[assignment]
    return min(usable, key=lambda name: collective_cost(collective, algorithm=name, **asked).time_s)  # type: ignore[arg-type]


def chain_time(ranks: int, alpha: float, transfer: float) -> float:
    """Seconds of a pipeline of n ranks whose link moves all bytes in ``transfer`` seconds, a piece waiting ``alpha``.

    (n-2+k) (alpha + T/k) at k = sqrt((n-2) T / alpha), at least one piece: (sqrt((n-2) alpha) + sqrt(T))^2.

    >>> chain_time(2, 1.0, 9.0), chain_time(6, 1.0, 9.0)
    (10.0, 25.0)
    """
    if alpha == 0 or ranks < 2:
        return transfer
    pieces = max(1.0, math.sqrt((ranks - 2) * transfer / alpha))
    return (ranks - 2 + pieces) * (alpha + transfer / pieces)


def _check(size: float, ranks: int, alpha_us: float, bandwidth_gbyte_s: float) -> None:
    if isinstance(ranks, bool) or ranks < 1 or ranks != int(ranks):
        raise ParameterError(f"ranks is {ranks}; it must be a whole number of at least 1")
    for name, value in (("bytes", size), ("alpha_us", alpha_us)):
        if not math.isfinite(value) or value < 0:
            raise ParameterError(f"{name} is {value}; it must be finite and at least 0")
    if not math.isfinite(bandwidth_gbyte_s) or bandwidth_gbyte_s <= 0:
        raise ParameterError(f"bandwidth_gbyte_s is {bandwidth_gbyte_s}; it must be above 0")
