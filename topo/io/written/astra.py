"""Write a fabric as a network of ASTRA-sim's analytical backend, where it factorises into dimensions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topo.elements import FORWARDS_ALL
from topo.errors import ParameterError
from topo.io.written import Written, expect_rates, left_unsaid
from topo.output import plain

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_astra"]

_LATENCY_NS = {"Ring": 500.0, "FullyConnected": 500.0, "Switch": 1000.0}


@dataclass(frozen=True, slots=True)
class _Dimension:
    """One dimension of the network: its shape, its size, and Gb/s of a link of an NPU there, one direction."""

    shape: str
    count: int
    gbps: float


def write_astra(fabric: Fabric) -> Written:
    """The fabric as topology, NPU counts and bandwidths, the innermost dimension first; bandwidth in GB/s of a link.

    What factorises: endpoints in a grid by their coordinates, whose lines along each axis are rings, all to all, or
    one switch each; one ring, or endpoints that are all joined to each other; scale-up domains of equal members under
    a scale-out fabric that carries all of them at full rate, each a ``Switch`` (one alone, too). Endpoints are counted
    along the first dimension first.

    >>> import topo
    >>> print(write_astra(topo.torus((4, 4))).content.splitlines()[:3])
    ['topology: [ Ring, Ring ]', 'npus_count: [ 4, 4 ]', 'bandwidth: [ 50, 50 ]']

    :raises ParameterError: the fabric does not factorise, with the reason; a link without a rate.
    """
    expect_rates(fabric, "a network of ASTRA-sim")
    if not len(fabric.endpoints) or not len(fabric.links):
        raise ParameterError(
            f"{plain(fabric.name)} has no endpoint or no link, so there is no network of NPUs to write"
        )
    found = _dimensions(fabric)
    others = int((~fabric.nodes.is_endpoint).sum())
    lists = {
        "topology": [each.shape for each in found],
        "npus_count": [str(each.count) for each in found],
        "bandwidth": [f"{each.gbps / 8:.10g}" for each in found],
        "latency": [f"{_LATENCY_NS[each.shape]:.1f}" for each in found],
    }
    text = "".join(f"{key}: [ {', '.join(values)} ]\n" for key, values in lists.items())
    lost = [
        "latency: nominal, 500 ns for a link and 1,000 ns for a switch",
        "names: NPUs are numbers",
        *([f"switches and parts of hosts ({others:,}), cables and rates: a line has one switch"] if others else []),
        *left_unsaid(fabric, nodes=("name", "kind", "tier", "is_endpoint", "forwards", "coordinates"),
                     links=("capacity_gbps", "kind")),
    ]  # fmt: skip
    return Written(text, tuple(lost), 0)


def _refused(fabric: Fabric, why: str) -> ParameterError:
    return ParameterError(
        f"{plain(fabric.name)} does not factorise into the dimensions of ASTRA-sim's analytical network: {why}; "
        "write it as ns-3, which keeps every link"
    )


def _one_rate(fabric: Fabric, rates: NDArray[np.float64], what: str) -> float:
    found = np.unique(rates)
    if len(found) != 1:
        raise _refused(fabric, f"{what} run at {len(found)} rates, {found[0]:g} to {found[-1]:g} Gb/s")
    return float(found[0])


def _dimensions(fabric: Fabric) -> list[_Dimension]:
    """The dimensions of a grid, of endpoints cabled to each other, or of domains below a scale-out fabric."""
    ends = fabric.nodes.is_endpoint
    at_a, at_b = ends[fabric.link_a], ends[fabric.link_b]
    if not (at_a | at_b).all():
        return _switched(fabric)
    place = _coordinates(fabric)
    if not (at_a & at_b).all():
        return _switched(fabric) if place is None else _grid(fabric, place)
    n, pairs = len(fabric.endpoints), _pairs(fabric)
    if len(pairs) == n * (n - 1) // 2 and n != 3 and n > 1:
        return [_Dimension("FullyConnected", n, _one_rate(fabric, fabric.links.capacity_gbps, "links"))]
    return [_Dimension("Ring", n, _ring(fabric, pairs))] if place is None else _grid(fabric, place)


def _pairs(fabric: Fabric) -> Counter[tuple[int, int]]:
    a, b = fabric.link_a, fabric.link_b
    pairs = Counter(zip(np.minimum(a, b).tolist(), np.maximum(a, b).tolist(), strict=True))
    if max(pairs.values(), default=1) > 1:
        raise _refused(fabric, "some endpoints are joined by several links")
    return pairs


def _grid(fabric: Fabric, place: NDArray[np.int64]) -> list[_Dimension]:
    """Endpoints by their coordinates, each line of each axis a ring, all to all, or under one switch."""
    ends = fabric.endpoints
    n, a, b, rates = len(ends), fabric.link_a, fabric.link_b, fabric.links.capacity_gbps
    _pairs(fabric)
    sizes = place[ends].max(0) + 1
    if int(np.prod(sizes)) != n or len(np.unique(place[ends], axis=0)) != n:
        raise _refused(fabric, "its coordinates are no full grid")
    direct = fabric.nodes.is_endpoint[a] & fabric.nodes.is_endpoint[b]
    hung = _switch_axis(fabric, place, sizes, direct)
    apart = (place[a] != place[b]) & direct[:, None]
    step = np.abs(place[a] - place[b]).max(1)
    if int((apart.sum(1) != 1)[direct].sum()):
        raise _refused(fabric, "some links run along no axis")
    found = []
    for axis, size in enumerate(sizes.tolist()):
        along, up = apart[:, axis], hung == axis
        here, lines, title = int(along.sum()), n // size, f"links along axis {axis + 1}"
        if size == 1 and not here:
            continue
        if up.any():
            if here or int(up.sum()) != n:
                raise _refused(fabric, f"axis {axis + 1} has switches on some lines and not on others, or links beside")
            found.append(_Dimension("Switch", size, _one_rate(fabric, rates[up], title)))
            continue
        shape = "Ring" if here == lines * (size if size > 2 else size - 1) else "FullyConnected"
        steps = set(step[along].tolist())
        if shape == "Ring" and not steps <= {1, size - 1}:
            raise _refused(fabric, f"{title} join no neighbours")
        if shape == "FullyConnected" and here != lines * size * (size - 1) // 2:
            raise _refused(
                fabric, f"axis {axis + 1} is neither rings nor all to all: {here:,} links in {lines:,} lines"
            )
        found.append(_Dimension(shape, size, _one_rate(fabric, rates[along], title)))
    return found


def _switch_axis(
    fabric: Fabric, place: NDArray[np.int64], sizes: NDArray[np.int64], direct: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """For each link to a switch the axis along which that switch joins a whole line of endpoints; -1 for others."""
    axis_of = np.full(len(direct), -1)
    rows = np.flatnonzero(~direct)
    if not rows.size:
        return axis_of
    a, b = fabric.link_a[rows], fabric.link_b[rows]
    at_a = fabric.nodes.is_endpoint[a]
    members, _, switch = place[np.where(at_a, a, b)], *np.unique(np.where(at_a, b, a), return_inverse=True)
    low = np.full((int(switch.max()) + 1, len(sizes)), np.iinfo(np.int64).max)
    high = np.full_like(low, -1)
    np.minimum.at(low, switch, members)
    np.maximum.at(high, switch, members)
    varies = high > low
    axis = varies.argmax(1)
    if (varies.sum(1) != 1).any() or (np.bincount(switch) != sizes[axis]).any():
        raise _refused(fabric, "a switch joins other endpoints than one whole line of the grid")
    axis_of[rows] = axis[switch]
    return axis_of


def _coordinates(fabric: Fabric) -> NDArray[np.int64] | None:
    """Where every node stands, None where the endpoints have no coordinates of equal length."""
    place = fabric.nodes.places()
    place = place[:, (place[fabric.endpoints] >= 0).any(axis=0)]
    return place if place.shape[1] and (place[fabric.endpoints] >= 0).all() else None


def _ring(fabric: Fabric, pairs: Counter[tuple[int, int]]) -> float:
    """Rate of the one ring that all endpoints make."""
    n = len(fabric.endpoints)
    near: dict[int, list[int]] = {}
    for a, b in pairs:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    order, before = [int(fabric.endpoints[0])], -1
    while len(order) <= n:
        ahead = [row for row in near.get(order[-1], ()) if row != before]
        if not ahead or ahead[0] == order[0]:
            break
        before = order[-1]
        order.append(ahead[0])
    if len(order) != n or len(pairs) != (n if n > 2 else n - 1):
        raise _refused(fabric, "its endpoints are cabled to each other, but as no ring, torus or full mesh")
    return _one_rate(fabric, fabric.links.capacity_gbps, "links")


def _switched(fabric: Fabric) -> list[_Dimension]:
    """Equal scale-up domains below a scale-out fabric that carries their members at full rate."""
    ends = fabric.endpoints
    domain = fabric.nodes.domain.codes[ends]
    if (fabric.nodes.forwards[ends] == FORWARDS_ALL).any():
        raise _refused(fabric, "its endpoints relay for each other between switches and no coordinates place them")
    found = []
    if fabric.links.kind.is_any("scale_up").any():
        if (domain < 0).any():
            raise _refused(fabric, "some endpoints are in no scale-up domain")
        sizes = np.unique(np.bincount(domain)[np.unique(domain)])
        if len(sizes) > 1:
            raise _refused(fabric, f"its scale-up domains have {sizes[0]} to {sizes[-1]} members")
        rate = _one_rate(fabric, _rate_out(fabric, ("scale_up",)), "the scale-up ports of endpoints together")
        found.append(_Dimension("Switch", int(sizes[0]), rate))
        if len(np.unique(domain)) == 1:
            return found
    n = len(ends) // (found[0].count if found else 1)
    rate = _one_rate(fabric, _scale_out(fabric), "the scale-out ports of endpoints together")
    _expect_non_blocking(fabric)
    return [*found, _Dimension("Switch", n, rate)]


def _rate_out(fabric: Fabric, kinds: tuple[str, ...]) -> NDArray[np.float64]:
    """What each endpoint's links of these kinds carry together."""
    links = fabric.links.kind.is_any(*kinds)
    total = np.zeros(len(fabric.nodes))
    for side in (fabric.link_a, fabric.link_b):
        np.add.at(total, side[links], fabric.links.capacity_gbps[links])
    return total[fabric.endpoints]


def _scale_out(fabric: Fabric) -> NDArray[np.float64]:
    """What leaves each endpoint for the scale-out fabric: by its own ports, else its share of the host's adapters."""
    own = _rate_out(fabric, ("access", "scale_out"))
    if own.any():
        return own
    links = fabric.links.kind.is_any("access")
    hosts, ends = fabric.nodes.host.codes, fabric.endpoints
    total = np.zeros(int(hosts.max(initial=0)) + 1)
    for side in (fabric.link_a, fabric.link_b):
        inside = links & (hosts[side] >= 0)
        np.add.at(total, hosts[side[inside]], fabric.links.capacity_gbps[inside])
    if not total.any() or (hosts[ends] < 0).any():
        raise _refused(fabric, "no link leads from its endpoints to a scale-out fabric")
    members = np.bincount(hosts[ends], minlength=len(total))
    return np.asarray(total[hosts[ends]] / members[hosts[ends]], float)


def _expect_non_blocking(fabric: Fabric) -> None:
    """Every switch of the scale-out fabric has as much upwards as downwards, the highest tier aside."""
    nodes, links = fabric.nodes, fabric.links
    outer = links.kind.is_any("access", "scale_out")
    tier, a, b = nodes.tier, fabric.link_a, fabric.link_b
    up, down = np.zeros(len(nodes)), np.zeros(len(nodes))
    for one, other in ((a, b), (b, a)):
        higher = outer & (tier[other] > tier[one])
        np.add.at(up, one[higher], links.capacity_gbps[higher])
        np.add.at(down, other[higher], links.capacity_gbps[higher])
    flat = outer & (tier[a] == tier[b])
    if flat.any():
        raise _refused(fabric, "switches of one tier are joined, so it is no tree of switches")
    inner = (down > 0) & (up > 0)
    short = np.flatnonzero(inner & (up < down))
    if short.size:
        row = int(short[0])
        said = f"{plain(nodes.name[row])} has {down[row]:g} Gb/s down and {up[row]:g} up"
        raise _refused(fabric, f"its scale-out fabric is oversubscribed: {said}")
    _expect_joined(fabric, outer)


def _expect_joined(fabric: Fabric, outer: NDArray[np.bool_]) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(fabric.nodes)
    kept = outer | fabric.links.kind.is_any("host_io", "scale_up")
    ends = (fabric.link_a[kept], fabric.link_b[kept])
    _, label = connected_components(coo_array((np.ones(int(kept.sum())), ends), shape=(n, n)), directed=False)
    if len(np.unique(label[fabric.endpoints])) > 1:
        raise _refused(fabric, "not all endpoints reach each other")
