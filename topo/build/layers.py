"""Switch tiers: how many ports go down, how many switches stand above, and the striping between two tiers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from topo.build.assembly import MOST_ROWS, Assembly, numbered, refuse_too_many
from topo.errors import ParameterError
from topo.table import Array, Labels

__all__ = [
    "SWITCH_WORDS",
    "Layer",
    "add_layer",
    "at_least",
    "even_width",
    "given_width",
    "positive",
    "refuse_split_above",
    "split_ports",
]

SWITCH_WORDS = {1: "leaf", 2: "spine", 3: "core"}
"""What a switch of each tier is called in names."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A switch tier above the leaves: each block joins ``children`` blocks below.

    Switch i of every child block connects to its own ``width`` switches of this tier, by ``parallel`` links each.
    """

    children: int
    width: int
    parallel: int = 1
    radix: int = 0


def positive(**numbers: int) -> None:
    """Refuse counts that are not whole numbers of at least 1.

    :raises ParameterError: naming the parameter and its value.
    """
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ParameterError(f"{name} is {value!r}; it must be a whole number of at least 1")
        if value > MOST_ROWS:
            raise ParameterError(f"{name} is {value:,}; at most {MOST_ROWS:,} nodes or links are built")


def at_least(least: int, **numbers: int) -> None:
    """Refuse whole numbers too small for a family, with the smallest of which it is built.

    :raises ParameterError: naming the parameter, its value and that number.
    """
    positive(**numbers)
    for name, value in numbers.items():
        if value < least:
            raise ParameterError(f"{name} is {value}; the nearest that can be built is {least}")


def even_width(links_below: int, ports_down: int, uplinks: int) -> int:
    """Fewest upper switches that take ``links_below`` cables on ``ports_down`` ports each and divide ``uplinks``.

    The second condition gives every pair of switches the same number of parallel links; published spine counts
    follow it: 24 leaves of 32 uplinks need 12 spines of 64 ports, but 32 is not a multiple of 12, so 16 are built.

    >>> even_width(24 * 32, 64, 32), even_width(32 * 72, 144, 72)
    (16, 18)

    :raises ParameterError: even one upper switch for each uplink has too few ports.
    """
    least = math.ceil(links_below / ports_down)
    for width in range(max(1, least), uplinks + 1):
        if uplinks % width == 0:
            return width
    raise ParameterError(
        f"{links_below} links from below do not fit: with {uplinks} uplinks a switch there are at most {uplinks} "
        f"switches of {ports_down} ports above; use a larger radix, fewer switches below, or one more tier"
    )


def given_width(width: int, links_below: int, ports_down: int, uplinks: int, *, name: str) -> int:
    """``width`` where as many upper switches divide the uplinks and have ports enough; ``name`` is the parameter's.

    :raises ParameterError: they do not, with the nearest number that does.
    """
    positive(**{name: width})
    fitting = [n for n in range(1, uplinks + 1) if uplinks % n == 0 and links_below <= n * ports_down]
    if width in fitting:
        return width
    even_width(links_below, ports_down, uplinks)
    nearest = min(fitting, key=lambda n: (abs(n - width), n))
    raise ParameterError(
        f"{name} is {width}, but {uplinks} uplinks a switch and {links_below} links in all to switches of "
        f"{ports_down} ports need a divisor of {uplinks} that is large enough; the nearest is {nearest}"
    )


def refuse_split_above(uplink_breakout: int, tiers: int) -> None:
    """Refuse uplinks split into legs where their spines have uplinks too: a spine would mix ports of two sizes.

    :raises ParameterError: naming both numbers.
    """
    if uplink_breakout > 1 and tiers > 2:
        raise ParameterError(
            f"uplink_breakout is {uplink_breakout} with {tiers} tiers, but uplinks split between leaves and spines "
            f"alone; use 2 tiers, or {uplink_breakout} times the radix at a rate as much lower"
        )


def split_ports(radix: int, taper: float, *, down_gbps: float = 1.0, up_gbps: float = 1.0) -> tuple[int, int]:
    """Most down-ports with the up-ports that keep down over up capacity at or below ``taper``.

    >>> split_ports(64, 1.0), split_ports(48, 2.0), split_ports(64, 2.0)
    ((32, 32), (32, 16), (42, 21))

    :raises ParameterError: too few ports for that taper.
    """
    for down in range(radix - 1, 0, -1):
        up = math.ceil(down * down_gbps / (taper * up_gbps) - 1e-9)
        if down + up <= radix:
            return down, up
    raise ParameterError(f"a switch of {radix} ports cannot hold a taper of {taper:g}:1")


def add_layer(
    assembly: Assembly,
    below: Array,
    layer: Layer,
    gbps: float,
    *,
    tier: int,
    switch: str,
    block: str,
    part: str | None = None,
    ports_per_cage: int = 0,
    label_blocks: bool = True,
    legs: int = 1,
) -> Array:
    """Add one switch tier over ``below``, an array (blocks, switches); returns the new one (blocks, switches).

    Switch i of a lower block goes to plane i: ``layer.width`` switches that take switch i of every child block.
    ``legs`` links of a lower switch share one of its ports, as legs of one cable.
    """
    n_blocks, per_block = below.shape
    group = np.arange(n_blocks) // layer.children
    n_groups = int(group[-1]) + 1
    size = per_block * layer.width
    refuse_too_many(float(n_blocks) * size * layer.parallel, "links")
    block_no = np.repeat(np.arange(1, n_groups + 1), size)
    switch_no = np.tile(np.arange(1, size + 1), n_groups)
    names = numbered(f"{switch}-{{}}", switch_no)
    pod: Labels | None = None
    if n_groups > 1:
        names = numbered(f"{block}-{{}}-{switch}-{{}}", block_no, switch_no)
        if label_blocks:
            pod = Labels(block_no - 1, numbered(f"{block}-{{}}", np.arange(1, n_groups + 1)))
    rows = assembly.add_nodes(
        names,
        kind="switch",
        tier=tier,
        radix=layer.radix,
        port_gbps=gbps,
        ports_per_cage=ports_per_cage,
        pod=pod,
        part=part,
    )
    upper = rows.reshape(n_groups, per_block, layer.width)
    assembly.stripe(below[:, :, None], upper[group], layer.parallel, gbps, legs=legs)
    return rows.reshape(n_groups, size)
