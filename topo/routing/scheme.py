"""Routing: how a fabric chooses paths, as one frozen object with plain strings as shorthand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topo.errors import ParameterError
from topo.network import LINK_KINDS

__all__ = ["FLUID", "GLOBAL", "PXN", "SCHEMES", "SHORTHANDS", "SINGLE_PATH_TABLES", "Routing"]

FLUID = ("ecmp", "wcmp", "spray", "valiant")
"""Schemes that divide every flow like a fluid."""
SCHEMES = (*FLUID, "single-path", "optimal")
SINGLE_PATH_TABLES = ("hash", "destination-modulo", "min-hop", "random", "dimension-order")
SHORTHANDS = ("dimension-order",)
"""Tables of single-path routing that a plain string may stand for."""
PXN = ("needed", "always", "never")
_WCMP_WEIGHTS = ("path", "local")
_HOST_IO = ("host_io", 4)
GLOBAL = "global"
"""What costs call links between switches of one tier in two pods; a word of theirs, no kind of the link table."""
_GLOBAL = (GLOBAL, 3)


@dataclass(frozen=True)
class Routing:
    """How flows find their way.

    ``scheme``: ``ecmp`` splits evenly over the next hops of all shortest paths, ``wcmp`` by weight, ``spray`` is
    per-packet spraying or adaptive routing as a limit (the even split of ecmp, as packets, so nothing collides),
    ``valiant`` sends every flow by way of all endpoints alike and splits both legs as ecmp does
    (:func:`topo.traffic.valiant`), ``single-path`` gives each flow one path, ``optimal`` the best split there is. Each
    parallel link is a next hop of its own; with ``lag`` a bundle is one, its members loaded evenly. ``up_down`` allows
    only paths that go up the tiers and then down. ``costs`` are whole link costs by link kind (1 where none is given);
    shortest means least cost. By default links over PCIe and CPUs inside a host cost 4, so that accelerators reach each
    other over scale-up links where they can, and ``global`` links, between switches of one tier in two pods, cost 3: on
    a dragonfly a path of local - global - local is then shorter than one over two global links. ``weights`` of wcmp:
    ``path`` follows the capacity left on the way to the destination, ``local`` the next link's rate alone.
    ``table`` says how single-path chooses: ``hash`` (independently for each flow and switch), a table by
    destination as InfiniBand subnet managers set it, or ``dimension-order`` on grids, which a plain string stands for
    too. ``pxn`` says when accelerators relay for others of their own host: ``needed``, only where there is no other
    way, as on rails that nothing joins; ``always``, as NCCL's PXN does by default between two ranks: within a unit
    what is for another rail goes over scale-up links to the sender's neighbour on that rail and crosses no spine;
    ``never``. True and False are always and never. It matters where hosts are opened down to their accelerators.
    ``seed`` is for what is drawn.

    >>> Routing.of("ecmp") == Routing()
    True

    :raises ParameterError: an unknown scheme, table, rule or link kind, a cost that is no whole number from 1 to 1000.
    """

    scheme: str = "ecmp"
    lag: bool = False
    up_down: bool = False
    costs: Mapping[str, int] | tuple[tuple[str, int], ...] = (_GLOBAL, _HOST_IO)
    weights: str = "path"
    table: str = "hash"
    pxn: str | bool = "needed"
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("routing scheme", self.scheme, SCHEMES, *SHORTHANDS)
        _one_of("table of single-path routing", self.table, SINGLE_PATH_TABLES)
        _one_of("weights of wcmp", self.weights, _WCMP_WEIGHTS)
        if isinstance(self.pxn, bool):
            object.__setattr__(self, "pxn", "always" if self.pxn else "never")
        _one_of("rule of pxn", str(self.pxn), PXN)
        costs = tuple(sorted(dict(self.costs).items()))
        for kind, cost in costs:
            _one_of("link kind in costs", kind, (*LINK_KINDS, GLOBAL))
            if isinstance(cost, bool) or not isinstance(cost, int) or not 1 <= cost <= 1000:
                raise ParameterError(f"cost of {kind!r} links is {cost!r}; costs are whole numbers from 1 to 1000")
        # Kept as sorted pairs: hashable and picklable.
        object.__setattr__(self, "costs", costs)

    @classmethod
    def of(cls, routing: Routing | str) -> Routing:
        """A routing from itself or its shorthand: a scheme's name, or ``dimension-order``.

        >>> str(Routing.of("dimension-order"))
        'single-path (dimension-order)'

        :raises ParameterError: an unknown scheme.
        """
        if isinstance(routing, Routing):
            return routing
        return cls(scheme="single-path", table=routing) if routing in SHORTHANDS else cls(scheme=routing)

    @property
    def may_relay(self) -> bool:
        """Whether accelerators relay at all."""
        return self.pxn != "never"

    def with_(self, **changes: object) -> Routing:
        """The same with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def __str__(self) -> str:
        extra = [word for word, on in (("LAG", self.lag), ("up/down", self.up_down)) if on]
        if self.pxn != "needed":
            extra.append("PXN always" if self.may_relay else "no PXN")
        if self.scheme == "wcmp":
            extra.insert(0, f"{self.weights} weights")
        if self.scheme == "single-path":
            extra.insert(0, self.table)
        return self.scheme + (f" ({', '.join(extra)})" if extra else "")


def _one_of(what: str, value: str, known: tuple[str, ...], *short: str) -> None:
    if value not in known:
        raise ParameterError(f"unknown {what} {value!r}; known: {', '.join((*known, *short))}")
