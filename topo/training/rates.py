"""What rate and latency the groups of each parallel dimension get: from two numbers, or taken from a fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topo.errors import ParameterError
from topo.parts.accelerators import Accelerator
from topo.training.plan import Plan

__all__ = ["GROUPS", "GroupRate", "Interconnect", "group_rates"]

GROUPS = ("tensor", "context", "expert", "pipeline", "data")
"""Dimensions whose ranks talk to each other."""

NETWORK_HOP_US = 14.0
"""Latency of a ring's step between hosts: NCCL 2.30.7, protocol Simple."""


@dataclass(frozen=True, slots=True)
class GroupRate:
    """What every rank of a group gets while all groups of its dimension talk: GB/s one direction, and latencies.

    ``members_inside`` of the group share a scale-up domain. A ring's step costs ``hop_us``, averaged over its steps.
    """

    gbyte_s: float
    members_inside: int
    size: int
    base_us: float
    hop_us: float
    how: str

    @property
    def is_inside(self) -> bool:
        """Whether the group never leaves its scale-up domain."""
        return self.members_inside >= self.size

    def gather_s(self, size: float, *, collectives: int = 1) -> float:
        """Time of a ring all-gather or reduce-scatter of ``size`` bytes in all, in so many equal pieces."""
        if self.size == 1:
            return 0.0
        steps = self.size - 1
        latency = collectives * (self.base_us + steps * self.hop_us) * 1e-6
        return latency + steps / self.size * size / (self.gbyte_s * 1e9)

    def reduce_s(self, size: float) -> float:
        """Time of a ring all-reduce of ``size`` bytes: twice the steps, one base latency."""
        return 0.0 if self.size == 1 else 2 * self.gather_s(size) - self.base_us * 1e-6

    def exchange_s(self, size: float) -> float:
        """Time of an all-to-all in which each rank sends ``size`` bytes, its own part included."""
        if self.size == 1:
            return 0.0
        return (self.base_us + self.hop_us) * 1e-6 + (self.size - 1) / self.size * size / (self.gbyte_s * 1e9)


@dataclass(frozen=True, slots=True)
class Interconnect:
    """A cluster in three numbers: accelerators of a scale-up domain, and payload rates of its ports and of a NIC.

    Rates are GB/s one direction an accelerator; ``share`` is what the scale-out fabric leaves of the NIC's.
    """

    domain: int = 8
    nic_gbyte_s: float = 50 * 4096 / (4096 + 82)
    scale_up_gbyte_s: float | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.domain < 1 or not self.nic_gbyte_s > 0 or not 0 < self.share <= 1:
            raise ParameterError(
                f"domain is {self.domain}, nic_gbyte_s {self.nic_gbyte_s}, share {self.share}; a domain has at least "
                "one accelerator, a NIC a rate above 0, and the fabric leaves a share of 0 to 1 of it"
            )
        if self.scale_up_gbyte_s is not None and not self.scale_up_gbyte_s > 0:
            raise ParameterError(f"scale_up_gbyte_s is {self.scale_up_gbyte_s}; it must be above 0")


def group_rates(plan: Plan, part: Accelerator, network: Interconnect) -> dict[str, GroupRate]:
    """Rates of all dimensions on a cluster given by three numbers, without contention.

    A group with k members in a domain drives k NICs: min(k x NIC, scale-up port). An all-to-all sends what leaves
    the domain over each rank's own NIC: NIC (n - 1)/(n - k) in the sense of :meth:`GroupRate.exchange_s`.

    >>> from topo.parts.accelerators import accelerator
    >>> rates = group_rates(Plan(batch=64, tensor=2, data=16), accelerator("a100-80gb"), Interconnect(nic_gbyte_s=25))
    >>> rates["tensor"].gbyte_s, rates["data"].gbyte_s
    (240.0, 100.0)
    """
    scale_up = network.scale_up_gbyte_s or part.scale_up_gbyte_s
    nic = network.nic_gbyte_s * network.share
    rates = {}
    for dimension in GROUPS:
        n, k = plan.group_size(dimension), plan.members_inside(dimension, network.domain)
        if k >= n:
            rates[dimension] = GroupRate(scale_up, n, n, part.ring_base_us, part.ring_hop_us, "scale-up port")
            continue
        rate, how = min(k * nic, scale_up), f"{k} NIC(s) of a domain" if k * nic < scale_up else "scale-up port"
        if dimension == "expert":
            rate, how = min(nic * (n - 1) / (n - k), scale_up), "own NIC, what stays in the domain beside it"
        if dimension == "pipeline":
            rate, how = nic, "own NIC"
        rates[dimension] = GroupRate(rate, k, n, part.ring_base_us, mean_hop_us(n, k, part), how)
    return rates


def mean_hop_us(n: int, k: int, part: Accelerator) -> float:
    """Latency of a ring's step, averaged: n/k - 1 steps of n - 1 go between domains."""
    if n == 1:
        return 0.0
    between = -(-n // k) - 1
    return ((n - 1 - between) * part.ring_hop_us + between * NETWORK_HOP_US) / (n - 1)


def checked_rates(plan: Plan, rates: Mapping[str, GroupRate]) -> dict[str, GroupRate]:
    """Rates for every dimension.

    :raises ParameterError: a dimension without one.
    """
    for dimension in GROUPS:
        if plan.group_size(dimension) > 1 and dimension not in rates:
            raise ParameterError(
                f"rates say nothing of {dimension}, whose groups have {plan.group_size(dimension)} ranks"
            )
    alone = GroupRate(1.0, 1, 1, 0.0, 0.0, "a single rank")
    return {dimension: rates.get(dimension, alone) for dimension in GROUPS}
