"""The part of a fabric an analysis looks at: the links that carry the endpoints' traffic, with their rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.errors import InputError, ParameterError
from topo.fabric import Fabric, LinkSet, State, expect_fabric
from topo.table import freeze

__all__ = ["LINK_KINDS", "Network", "default_kinds", "kinds_in_words"]

_WORDS = {
    "scale_out": "switch to switch",
    "access": "host to switch",
    "scale_up": "accelerator to accelerator or its switch chip",
    "host_io": "PCIe and the like inside a host",
    "storage": "the storage network",
    "management": "management",
    "internal": "inside a chassis",
}
LINK_KINDS = tuple(_WORDS)


def kinds_in_words(kinds: Sequence[str]) -> str:
    """Link kinds with what they are.

    >>> kinds_in_words(["scale_out", "access"])
    'scale_out (switch to switch), access (host to switch)'
    """
    return ", ".join(f"{kind} ({_WORDS[kind]})" for kind in kinds) or "no links"


def default_kinds(fabric: Fabric) -> tuple[str, ...]:
    """Link kinds of the endpoints' own network: scale-out, and inside the hosts where accelerators are endpoints."""
    kinds = ["scale_out", "access", "internal"]
    if fabric.nodes.kind.is_any("accelerator")[fabric.endpoints].any():
        kinds += ["scale_up", "host_io"]
    label = fabric.links.kind.labels
    used = np.bincount(fabric.links.kind.codes + 1, minlength=len(label) + 1)[1:] > 0
    present = set(label[used].tolist())
    return tuple(kind for kind in kinds if kind in present)


@dataclass(frozen=True, eq=False)
class Network:
    """Links of the wanted kinds, present in a state and seen from both ends (or planned), as arrays.

    ``links`` are rows of the fabric's link table, ``a``, ``b`` their nodes. Cables that join a node to itself
    carry nothing and are left out, as are links that only one end reported unless ``one_sided`` is set.

    >>> import topo
    >>> network = topo.Network.of(topo.fat_tree(4))
    >>> len(network.links), network.kinds
    (48, ('scale_out', 'access'))
    """

    fabric: Fabric
    links: NDArray[np.int64]
    kinds: tuple[str, ...]
    state: State | None

    @classmethod
    def of(
        cls,
        fabric: Fabric,
        *,
        kinds: Sequence[str] | None = None,
        state: State | None = None,
        one_sided: bool = False,
    ) -> Network:
        """The endpoints' own network, or the links of the given kinds.

        :raises ParameterError: an unknown link kind.
        """
        expect_fabric(fabric)
        chosen = default_kinds(fabric) if kinds is None else tuple(kinds)
        for kind in chosen:
            if kind not in LINK_KINDS:
                raise ParameterError(f"unknown link kind {kind!r}; known: {', '.join(LINK_KINDS)}")
        mask = fabric.links.kind.is_any(*chosen) & (fabric.link_a != fabric.link_b)
        if state is not None:
            mask &= state.link_mask(fabric)
        if not one_sided:
            mask &= ~fabric.links.evidence.is_any("one end")
        return cls(fabric, freeze(np.flatnonzero(mask)), chosen, state)

    @cached_property
    def a(self) -> NDArray[np.int32]:
        """Node at end A of each link."""
        return freeze(self.fabric.link_a[self.links])

    @cached_property
    def b(self) -> NDArray[np.int32]:
        """Node at end B of each link."""
        return freeze(self.fabric.link_b[self.links])

    @cached_property
    def capacity_gbps(self) -> NDArray[np.float64]:
        """Rate of each link, one direction.

        :raises InputError: a link of unknown rate, named with its file and line.
        """
        state = self.state or State()
        rates = state.link_capacity_gbps(self.fabric)[self.links]
        unknown = np.flatnonzero(np.isnan(rates))
        if unknown.size:
            row = int(self.links[unknown[0]])
            link = LinkSet.of(self.fabric, [row])[0]
            path = self.fabric.links.source[row] or None
            line = int(self.fabric.links.line[row]) or None
            raise InputError(
                f"the rate of {unknown.size} link(s) is unknown, first {link}; state one with assume_gbps "
                "(--assume-gbps on the command line)",
                path=path,
                line=line,
            )
        return freeze(rates)

    @cached_property
    def is_global(self) -> NDArray[np.bool_]:
        """Which links join switches of one tier in two different pods, as the global links of a dragonfly do."""
        nodes = self.fabric.nodes
        pod, switch = nodes.pod.codes, nodes.kind.is_any("switch")
        a, b = self.a, self.b
        mask: NDArray[np.bool_] = switch[a] & switch[b] & (nodes.tier[a] == nodes.tier[b])
        return freeze(mask & (pod[a] != pod[b]) & (pod[a] >= 0) & (pod[b] >= 0))

    @property
    def kinds_text(self) -> str:
        """The link kinds, for a result's assumptions."""
        return ", ".join(self.kinds) or "no links"
