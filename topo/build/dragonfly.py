"""Dragonfly and dragonfly+: groups of switches, every two groups joined by global links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import add_ends, meshed
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["dragonfly", "dragonfly_plus"]

_MOST_GROUPS = 8192


def dragonfly(
    p: int | Sequence[int],
    a: int,
    h: int,
    *,
    groups: int | Sequence[int] | None = None,
    pair_links: int | Sequence[Sequence[int]] = 1,
    local_links: int = 1,
    hosts: int | None = None,
    adapters_per_host: int = 1,
    link_gbps: float = 200,
    global_gbps: float | None = None,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """Groups of ``a`` switches in a full mesh, each with ``p`` endpoints and at most ``h`` links to other groups.

    Left to itself it is the canonical one: g = a * h + 1 groups, one global link between every two, a * g switches,
    a * p * g endpoints, g * a * (a - 1) / 2 local and g * (g - 1) / 2 global links, switches of p + a - 1 + h ports,
    at most three hops between switches (Kim et al., ISCA 2008). Balanced is a = 2p = 2h.

    ``groups`` may be fewer; ``pair_links`` is the global links of each pair, ``local_links`` those of two switches of
    a group. ``groups`` as a list is kinds of groups, such as compute and storage: then ``p`` lists endpoints a switch
    and ``pair_links`` is a symmetric table, by kind. Endpoints are hosts, or with ``adapters_per_host`` their adapters,
    each on another switch; ``hosts`` leaves the last places empty. Global links are dealt evenly to the switches.

    A group is a pod, and a link between switches of two pods counts as ``global`` in the costs of a
    :class:`topo.Routing`: by default it costs 3, so that the least cost is minimal routing, local - global - local.
    Counted in plain hops, paths over two global links would tie with those or win.

    >>> f = dragonfly(p=2, a=4, h=2)
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("scale_out").sum())
    (72, 36, 90)

    :raises ParameterError: more groups than the global ports allow, with the most; tables that fit no groups.
    """
    positive(a=a, h=h, local_links=local_links)
    plan = _Groups.of(p, groups, pair_links, default=lambda each: a * h // each + 1)
    plan.refuse_overfull(a, h, "a")
    link = parse_gbps(link_gbps)
    assembly = Assembly(name or f"dragonfly p={p} a={a} h={h}, {plan.n:,} groups")
    ends = plan.add_ends(assembly, a, hosts, adapters_per_host)
    rates = [link, link if global_gbps is None else parse_gbps(global_gbps)]
    rates.append(link if host_gbps is None else parse_gbps(host_gbps))
    refuse_too_many(float(plan.n) * a * (a - 1) / 2 * local_links, "links")
    switches = plan.add_switches(assembly, a, "switch", tier=1, radix=radix, gbps=max(rates)).reshape(plan.n, a)
    assembly.connect(ends, switches.ravel()[plan.switch_of(len(ends), a, adapters_per_host)], rates[2], kind="access")
    one, other = meshed([a], 0)
    assembly.connect(
        np.repeat(switches[:, one].ravel(), local_links), np.repeat(switches[:, other].ravel(), local_links), link
    )
    plan.join(assembly, switches, rates[1])
    made_by = f"dragonfly(p={p}, a={a}, h={h}, groups={groups}, pair_links={pair_links}, local_links={local_links})"
    return assembly.finish(Origin(made_by=made_by))


def dragonfly_plus(
    p: int | Sequence[int],
    leaves: int,
    spines: int,
    h: int,
    *,
    groups: int | Sequence[int] | None = None,
    pair_links: int | Sequence[Sequence[int]] = 1,
    parallel: int = 1,
    hosts: int | None = None,
    adapters_per_host: int = 1,
    breakout: int = 1,
    link_gbps: float = 200,
    global_gbps: float | None = None,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """Groups that are leaf-spines: ``p`` endpoints a leaf, all leaves joined to all spines, ``h`` global links a spine.

    Left to itself there are g = spines * h + 1 groups with one global link between every two spines' groups; it has
    g * leaves * p endpoints, g * leaves * spines * ``parallel`` local and g * (g - 1) / 2 global links (Shpiner et al.,
    HiPINEB 2017). ``breakout`` is how many endpoints share a port of a leaf. The other parameters and the routing are
    those of :func:`dragonfly`.

    >>> f = dragonfly_plus(p=2, leaves=2, spines=2, h=2)
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("scale_out").sum())
    (20, 20, 30)

    :raises ParameterError: more groups than the global ports allow, with the most; tables that fit no groups.
    """
    positive(leaves=leaves, spines=spines, h=h, parallel=parallel, breakout=breakout)
    plan = _Groups.of(p, groups, pair_links, default=lambda each: spines * h // each + 1)
    plan.refuse_overfull(spines, h, "spines")
    link = parse_gbps(link_gbps)
    assembly = Assembly(name or f"dragonfly+ p={p}, {leaves} leaves, {spines} spines, {plan.n:,} groups")
    ends = plan.add_ends(assembly, leaves, hosts, adapters_per_host)
    rates = [link, link if global_gbps is None else parse_gbps(global_gbps)]
    rates.append(link if host_gbps is None else parse_gbps(host_gbps))
    low = plan.add_switches(assembly, leaves, "leaf", tier=1, radix=radix, gbps=max(rates[0], rates[2] * breakout))
    high = plan.add_switches(assembly, spines, "spine", tier=2, radix=radix, gbps=max(rates[:2]))
    at = plan.switch_of(len(ends), leaves, adapters_per_host)
    assembly.connect(ends, low[at], rates[2], kind="access", legs=breakout)
    assembly.stripe(low.reshape(plan.n, leaves), high.reshape(plan.n, spines), parallel, link)
    plan.join(assembly, high.reshape(plan.n, spines), rates[1])
    made_by = (
        f"dragonfly_plus(p={p}, leaves={leaves}, spines={spines}, h={h}, groups={groups}, pair_links={pair_links})"
    )
    return assembly.finish(Origin(made_by=made_by))


def _table_by_kind(pair_links: int | Sequence[Sequence[int]], n_kinds: int) -> NDArray[np.int64]:
    """Links of a pair of groups, by the kinds of the two."""
    if not isinstance(pair_links, Sequence):
        positive(pair_links=pair_links)
        return np.full((n_kinds, n_kinds), pair_links, np.int64)
    such_as = f"; {n_kinds} kind(s) of groups need a row and a column each, such as {[[1] * n_kinds] * n_kinds}"
    table = [list(row) if isinstance(row, Sequence) else [] for row in pair_links]
    if len(table) != n_kinds or any(len(row) != n_kinds for row in table):
        raise ParameterError(f"pair_links is {pair_links}{such_as}")
    positive(**{f"pair_links[{i}][{j}]": n for i, row in enumerate(table, 1) for j, n in enumerate(row, 1)})
    links = np.array(table, np.int64)
    if (links != links.T).any():
        raise ParameterError(f"pair_links is {pair_links}; it must be symmetric: row i, column j as row j, column i")
    return links


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups by number: endpoints a switch, and global links of every two (symmetric, 0 on the diagonal)."""

    p: NDArray[np.int64]
    pair: NDArray[np.int64]
    names: NDArray[np.str_]

    @classmethod
    def of(
        cls,
        p: int | Sequence[int],
        groups: int | Sequence[int] | None,
        pair_links: int | Sequence[Sequence[int]],
        *,
        default: Callable[[int], int],
    ) -> _Groups:
        links = _table_by_kind(pair_links, len(groups) if isinstance(groups, Sequence) else 1)
        if isinstance(groups, Sequence):
            kinds = list(groups)
        else:
            kinds = [default(int(links[0, 0])) if groups is None else groups]
        n_kinds = len(kinds)
        positive(**{f"groups[{i}]" if n_kinds > 1 else "groups": count for i, count in enumerate(kinds, 1)})
        n = sum(kinds)
        if not 2 <= n <= _MOST_GROUPS:
            raise ParameterError(f"groups is {n}; the nearest that is built is {2 if n < 2 else _MOST_GROUPS}")
        each = list(p) if isinstance(p, Sequence) else [p] * n_kinds
        if len(each) != n_kinds or any(not isinstance(one, int) or one < 0 for one in each) or not any(each):
            raise ParameterError(f"p is {p!r}; give endpoints a switch for each of the {n_kinds} kind(s) of groups")
        kind = np.repeat(np.arange(n_kinds), kinds)
        pair = links[kind[:, None], kind[None, :]]
        np.fill_diagonal(pair, 0)
        return cls(np.array(each, np.int64)[kind], pair, numbered("group-{}", np.arange(1, n + 1)))

    @property
    def n(self) -> int:
        return len(self.p)

    def refuse_overfull(self, width: int, h: int, what: str) -> None:
        """Refuse more global links of a group than its switches have ports for."""
        needed = self.pair.sum(axis=1)
        worst = int(needed.argmax())
        refuse_too_many(float(needed.sum()) / 2, "global links")
        if needed[worst] <= width * h:
            return
        each = int(self.pair[worst].max())
        most = width * h // each + 1
        way_out = f"at most {most} groups" if most >= 2 else f"at most {width * h} links a pair"
        raise ParameterError(
            f"{self.names[worst]} needs {needed[worst]} global links, but {what} {width} with h {h} has "
            f"{width * h} ports for them; use {way_out}, or h {-(-int(needed[worst]) // width)}"
        )

    def add_ends(self, assembly: Assembly, width: int, hosts: int | None, adapters: int) -> NDArray[np.int64]:
        """The endpoints, group by group, as many as there are places or as ``hosts`` have."""
        positive(adapters_per_host=adapters)
        if adapters > width:
            raise ParameterError(
                f"adapters_per_host is {adapters}, but a group has {width} switches, one for each; use {width} or fewer"
            )
        if hosts is not None:
            positive(hosts=hosts)
        places = int(self.p.sum()) * width
        refuse_too_many(float(places), "endpoints")
        n = places if hosts is None else hosts * adapters
        if n > places:
            raise ParameterError(
                f"hosts is {hosts}, but there are places for {places // adapters}; use at most so many"
            )
        group = np.repeat(np.arange(self.n), self.p * width)[:n]
        return add_ends(assembly, n, adapters_per_host=adapters, pod=Labels(group, self.names))

    def switch_of(self, ends: int, width: int, adapters: int) -> NDArray[np.int64]:
        """The switch, counted over all groups, of each endpoint: a host's adapters are on switches in a row.

        Hosts in a row share their switches until those are full; where the adapters do not divide the switches of a
        group, they go around.
        """
        group = np.repeat(np.arange(self.n), self.p * width)
        first = np.cumsum(self.p * width) - self.p * width
        place = np.arange(len(group)) - first[group]
        host, adapter = np.divmod(place, adapters)
        own = place % width if width % adapters else host // self.p[group] * adapters + adapter
        switch: NDArray[np.int64] = group * width + own
        return switch[:ends]

    def add_switches(
        self, assembly: Assembly, width: int, word: str, *, tier: int, radix: int, gbps: float
    ) -> NDArray[np.int64]:
        """``width`` switches for each group, which is their pod."""
        refuse_too_many(float(self.n) * width, "switches")
        group = np.repeat(np.arange(self.n), width)
        return assembly.add_nodes(
            numbered(f"group-{{}}-{word}-{{}}", group + 1, np.tile(np.arange(1, width + 1), self.n)),
            kind="switch",
            tier=tier,
            radix=radix,
            port_gbps=gbps if radix else np.nan,
            pod=Labels(group, self.names),
        )

    def join(self, assembly: Assembly, switches: Array, gbps: float) -> None:
        """Join every two groups; link c of a pair is the last but c seen from its other end, so loads are even.

        Where a switch takes several links of a pair, those are dealt there like cards, to as many switches.
        """
        one, other = np.triu_indices(self.n, 1)
        copies = self.pair[one, other]
        a, b = np.repeat(one, copies), np.repeat(other, copies)
        copy = np.arange(len(a)) - np.repeat(np.cumsum(copies) - copies, copies)
        width = switches.shape[1]
        all_copies = np.repeat(copies, copies)
        hands = -(-all_copies // width)
        turn, card = np.divmod(copy, hands)
        dealt = card * (all_copies // hands) + np.minimum(card, all_copies % hands) + turn
        back = all_copies - 1 - dealt
        group = np.concatenate([a, b])
        at = self._dealt(group, np.concatenate([copy, back]), (np.concatenate([b, a]) - group) % self.n, width)
        ends = switches[group, at]
        assembly.connect(ends[: len(a)], ends[len(a) :], gbps)

    def _dealt(self, group: Array, copy: Array, offset: Array, width: int) -> NDArray[np.int64]:
        """The switch in its group that takes each global link: in order of copy, then of the other group's distance."""
        order = np.lexsort((offset, copy, group))
        count = np.bincount(group, minlength=self.n)
        rank = np.empty(len(group), np.int64)
        rank[order] = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
        dealt: NDArray[np.int64] = rank * width // count[group]
        return dealt
