"""How Kueue's topology-aware scheduling assigns pods: BestFit and LeastFreeCapacity over levels of node labels.

Read in Kueue's source, commit ff69552e (after 0.19). BalancedPlacement is alpha and off, and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from topo.errors import ParameterError

__all__ = ["Domain", "kueue_choice"]

MODES = ("required", "preferred", "unconstrained")


@dataclass(eq=False)
class Domain:
    """One value of a label with what lies below it; a lowest domain has ``pods`` places, an upper one sums them."""

    label: tuple[str, ...]
    pods: int = 0
    children: list[Domain] = field(default_factory=list)
    slices: int = 0

    @property
    def depth(self) -> int:
        """Levels below and with this one."""
        return 1 + max((child.depth for child in self.children), default=0)


def kueue_choice(
    roots: Sequence[Domain],
    n: int,
    *,
    mode: str = "preferred",
    level: int | None = None,
    slice_size: int = 1,
    slice_level: int | None = None,
) -> list[tuple[tuple[str, ...], int]] | None:
    """Pods of each lowest domain, in the order of the label values; None: the workload waits.

    ``level`` counts from the highest, 0; default the lowest. ``required`` needs one domain of that level, ``preferred``
    goes up until one fits and then spreads over the top, ``unconstrained`` spreads from the lowest. Unconstrained
    requests use LeastFreeCapacity (the least free first), the others BestFit (the most free first, the last domain so
    as to leave least). Chosen domains are then split level by level, all children together, by the same walk. Labels
    compare as text.

    >>> nodes = [Domain((name,), pods) for name, pods in (("a", 3), ("b", 3), ("c", 2), ("d", 1))]
    >>> kueue_choice(nodes, 7)
    [(('a',), 3), (('b',), 3), (('d',), 1)]
    >>> kueue_choice(nodes, 7, mode="unconstrained")
    [(('a',), 3), (('b',), 1), (('c',), 2), (('d',), 1)]

    :raises ParameterError: an unknown mode or level, or pods that are no multiple of a slice.
    """
    if mode not in MODES:
        raise ParameterError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
    depth = max(root.depth for root in roots)
    lowest = depth - 1
    at = lowest if level is None or mode == "unconstrained" else level
    cut = lowest if slice_level is None else slice_level
    if not (0 <= at <= lowest and 0 <= cut <= lowest):
        raise ParameterError(f"level is {level!r}; this topology has levels 0 to {lowest}")
    if n % slice_size:
        raise ParameterError(f"{n} pods are no multiple of a slice of {slice_size}")
    for root in roots:
        _count(root, 0, cut, slice_size)
    by_level = _levels(roots, depth)
    least_free = mode == "unconstrained"
    chosen = _first_level(by_level, at, n // slice_size, mode, least_free)
    if chosen is None:
        return None
    level_now, domains = chosen
    taken = _walk(_sorted(domains, least_free), n // slice_size, least_free, slices=True)
    while level_now < cut:
        children = [child for domain, _ in taken for child in domain.children]
        taken = _walk(_sorted(children, least_free), n // slice_size, least_free, slices=True)
        level_now += 1
    counted = [(domain, count * slice_size) for domain, count in taken]
    while level_now < lowest:
        counted = [
            pair for domain, count in counted
            for pair in _walk(_sorted(domain.children, least_free), count, least_free, slices=False)
        ]  # fmt: skip
        level_now += 1
    return sorted((domain.label, count) for domain, count in counted if count)


def _count(domain: Domain, level: int, cut: int, size: int) -> None:
    for child in domain.children:
        _count(child, level + 1, cut, size)
    if domain.children:
        domain.pods = sum(child.pods for child in domain.children)
    if level == cut:
        domain.slices = domain.pods // size
    else:
        domain.slices = sum(child.slices for child in domain.children) if level < cut else 0


def _levels(roots: Sequence[Domain], depth: int) -> list[list[Domain]]:
    out = [list(roots)]
    for _ in range(depth - 1):
        out.append([child for domain in out[-1] for child in domain.children])
    return out


def _sorted(domains: list[Domain], least_free: bool) -> list[Domain]:
    sign = 1 if least_free else -1
    return sorted(domains, key=lambda d: (sign * d.slices, d.pods, d.label))


def _first_level(
    by_level: list[list[Domain]], at: int, need: int, mode: str, least_free: bool
) -> tuple[int, list[Domain]] | None:
    """The level where the search ends and the domains that will hold all."""
    while True:
        ordered = _sorted(by_level[at], least_free)
        if least_free:
            fitting = [domain for domain in ordered if domain.slices >= need]
        else:
            fitting = sorted((d for d in ordered if d.slices >= need), key=lambda d: d.slices)
        if fitting:
            return at, fitting[:1]
        if mode == "required":
            return None
        if mode == "preferred" and at > 0:
            at -= 1
            continue
        return (at, ordered) if sum(domain.slices for domain in ordered) >= need else None


def _walk(ordered: list[Domain], need: int, least_free: bool, *, slices: bool) -> list[tuple[Domain, int]]:
    """Take from domains in order; BestFit ends with the one that leaves least."""

    def room(domain: Domain) -> int:
        return domain.slices if slices else domain.pods

    if not slices:
        sign = 1 if least_free else -1
        ordered = sorted(ordered, key=lambda d: (sign * d.pods, d.label))
    out: list[tuple[Domain, int]] = []
    left = list(ordered)
    while need > 0 and left:
        current = left[0]
        if not least_free and room(current) >= need:
            current = min((d for d in left if room(d) >= need), key=room)
        left.remove(current)
        taken = min(need, room(current))
        out.append((current, taken))
        need -= taken
    return out
