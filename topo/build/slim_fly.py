"""Slim Fly: the McKay-Miller-Siran graphs of diameter two, over every finite field they exist for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import switches_with_hosts
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["slim_fly", "slim_fly_orders"]

_MOST_ORDER = 2048


def slim_fly(
    q: int,
    *,
    hosts_per_switch: int | None = None,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """The Slim Fly of order q, a prime power q = 4 w + d with d = -1, 0 or 1: any two switches are two hops apart.

    There are 2 q^2 switches with k = (3 q - d) / 2 links to others each, so q^2 * k links, and by default ceil(k / 2)
    hosts a switch (Besta and Hoefler, SC 2014; the graphs: McKay, Miller and Siran 1998, Hafner 2004). q = 5 is the
    Hoffman-Singleton graph. Switch (0, x, y) is joined to (0, x, y') where y - y' is in X, (1, m, c) to (1, m, c')
    where c - c' is in X', and (0, x, y) to (1, m, c) where y = m x + c, all over the field of q elements.

    :func:`slim_fly_orders` lists the q there are. Columns x and m of equal number share a rack.

    >>> f = slim_fly(5)
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("scale_out").sum())
    (200, 50, 175)

    :raises ParameterError: a q that is no prime power or 2, with the nearest that can be built.
    """
    positive(q=q)
    known = slim_fly_orders()
    if q not in known:
        below, above = [n for n in known if n < q][-1:], [n for n in known if n > q][:1]
        nearest = " or ".join(map(str, below + above))
        raise ParameterError(
            f"q is {q}; a Slim Fly needs a prime power above 2, the nearest that can be built: {nearest}"
        )
    d = {0: 0, 1: 1, 3: -1}[q % 4]
    degree = (3 * q - d) // 2
    per_switch = -(-degree // 2) if hosts_per_switch is None else hosts_per_switch
    positive(hosts_per_switch=per_switch)
    refuse_too_many(float(q) * q * degree, "links")
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"Slim Fly q={q}")
    side, column, place = (index.ravel() for index in np.indices((2, q, q)))
    switches = switches_with_hosts(
        assembly,
        numbered("switch-{}-{}-{}", side, column, place),
        per_switch,
        link_gbps=rate,
        host_gbps=rate if host_gbps is None else parse_gbps(host_gbps),
        radix=radix,
        rack=Labels(column, numbered("rack-{}", np.arange(1, q + 1))),
    ).reshape(2, q, q)
    field = _Field.of(q)
    for one, generators in enumerate(_generators(field, d)):
        low, high = _differing(field, generators)
        assembly.connect(switches[one][:, low].ravel(), switches[one][:, high].ravel(), rate)
    x, m, c = (index.ravel() for index in np.indices((q, q, q)))
    assembly.connect(switches[0, x, field.plus[field.times[m, x], c]], switches[1, m, c], rate)
    return assembly.finish(Origin(made_by=f"slim_fly({q}, hosts_per_switch={per_switch})"))


def slim_fly_orders(most: int = _MOST_ORDER) -> list[int]:
    """The q up to ``most`` (2,048 at most) that :func:`slim_fly` can build: the prime powers above 2.

    >>> slim_fly_orders(32)
    [3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]
    """
    most = min(most, _MOST_ORDER)
    return [q for q in range(3, most + 1) if _prime_power(q)]


def _prime_power(q: int) -> tuple[int, int] | None:
    """The prime and the exponent, None where there are none."""
    prime = next((n for n in range(2, int(q**0.5) + 1) if q % n == 0), q)
    exponent = 0
    while q % prime == 0:
        q, exponent = q // prime, exponent + 1
    return (prime, exponent) if q == 1 else None


@dataclass(frozen=True, eq=False)
class _Field:
    """A finite field: elements are 0 .. q - 1, their digits in the prime the coefficients of a polynomial.

    ``plus`` and ``times`` are tables; ``powers[i]`` is the i-th power of an element that makes all but 0.
    """

    plus: NDArray[np.int64]
    minus: NDArray[np.int64]
    times: NDArray[np.int64]
    powers: NDArray[np.int64]

    @classmethod
    def of(cls, q: int) -> _Field:
        found = _prime_power(q)
        assert found is not None
        prime, exponent = found
        weight = prime ** np.arange(exponent)
        digits = np.arange(q)[:, None] // weight % prime
        plus = ((digits[:, None] + digits[None, :]) % prime) @ weight
        minus = ((digits[:, None] - digits[None, :]) % prime) @ weight
        powers = np.array(_primitive_powers(prime, exponent), np.int64)
        log = np.zeros(q, np.int64)
        log[powers] = np.arange(q - 1)
        times = powers[(log[:, None] + log[None, :]) % (q - 1)]
        times[0, :] = times[:, 0] = 0
        return cls(plus, minus, times, powers)


def _primitive_powers(prime: int, exponent: int) -> list[int]:
    """Powers of an element that makes the field: a primitive root, or x modulo the first polynomial that allows it."""
    q = prime**exponent
    for code in range(1, q):
        # x^n = the polynomial of `code`; for a prime field x itself is the number `code`.
        tail = [code // prime**i % prime for i in range(exponent)]
        one = [1] + [0] * (exponent - 1)
        element, seen = one, []
        for _ in range(q - 1):
            seen.append(sum(digit * prime**i for i, digit in enumerate(element)))
            carry = element[-1]
            element = [(low + carry * t) % prime for low, t in zip([0, *element[:-1]], tail, strict=True)]
            if element == one:
                break
        if len(seen) == q - 1 and element == one:
            return seen
    raise AssertionError(f"no primitive element of the field of {q} elements")


def _generators(field: _Field, d: int) -> tuple[Array, Array]:
    """The sets X and X' as powers of the primitive element; both hold the negative of each of their elements."""
    q = len(field.plus)
    if d >= 0:
        exponents = np.arange(0, q - 1 + (d == 0), 2)
        return field.powers[exponents % (q - 1)], field.powers[(exponents + 1) % (q - 1)]
    half = (q + 1) // 2
    exponents = np.concatenate([np.arange(0, half - 1, 2), np.arange(half - 1, q - 1, 2)])
    return field.powers[exponents], field.powers[(exponents + 1) % (q - 1)]


def _differing(field: _Field, generators: Array) -> tuple[Array, Array]:
    """Pairs of elements, lower first, whose difference is one of ``generators``."""
    low, high = np.triu_indices(len(field.plus), 1)
    mine = np.isin(field.minus[low, high], generators)
    return low[mine], high[mine]
