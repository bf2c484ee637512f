"""Read the fat trees of htsim (``.topo``): counts of nodes and tiers, and for each tier radix, rate and bundle."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.notes import quoted

__all__ = ["is_htsim", "read_htsim"]

_MOST_NODES = 1_000_000
_MOST_LINKS = 2_000_000
_SIGN = re.compile(r"^Nodes\s+\d+\s*$", re.MULTILINE)
_TIERS = re.compile(r"^Tiers\s+[123]\s*$", re.MULTILINE)
_KEYS = ("radix_up", "radix_down", "bundle", "downlink_speed_gbps")
_UNUSED = ("downlink_latency_ns", "switch_latency_ns", "queue_up", "queue_down", "oversubscribed", "hop_latency_ns")


@dataclass(slots=True)
class _Shape:
    """What the file states: the counts at its top, and those of each tier, with their lines."""

    source: str
    top: dict[str, int] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)
    speed: dict[int, Rate] = field(default_factory=dict)
    line: dict[tuple[int, str], int] = field(default_factory=dict)

    def count(self, tier: int, key: str, default: int | None = None) -> int:
        """A count of at least 1.

        :raises FormatError: it is not stated, or 0.
        """
        value = self.tiers.get(tier, {}).get(key, default)
        if not value:
            said = "is not stated" if value is None else "is 0"
            raise FormatError(f"tier {tier}: {key} {said}", path=self.source or None, line=self.line.get((tier, key)))
        return value

    def wrong(self, said: str) -> FormatError:
        return FormatError(said, path=self.source or None)


def is_htsim(head: str) -> bool:
    """Whether the counts of nodes and tiers stand in it, a line each."""
    return _SIGN.search(head) is not None and _TIERS.search(head) is not None


def read_htsim(text: str, source: str = "") -> Fabric:
    r"""The fat tree of htsim that a ``.topo`` file describes, of one to three tiers, with every cable.

    With radix down d, radix up u and bundle b of tiers 0, 1, 2, and p nodes a pod: p / d0 leaves and u0 / b1
    spines a pod, u1 / b2 cores for each spine of a pod; a leaf has b1 parallel cables to each spine of its pod, a spine
    b2 to each of its cores. ``Downlink_speed_Gbps`` is the rate of the cables below a tier. Counts that do not fit each
    other are refused. Latencies and queues are not kept.

    >>> fabric = read_htsim('''Nodes 4
    ... Tiers 2
    ... Tier 0
    ... Downlink_speed_Gbps 100
    ... Radix_Down 2
    ... Radix_Up 2
    ... Tier 1
    ... Downlink_speed_Gbps 200
    ... Radix_Down 2
    ... ''')
    >>> len(fabric.endpoints), len(fabric.switches), sorted(fabric.links.capacity_gbps.tolist())
    (4, 4, [100.0, 100.0, 100.0, 100.0, 200.0, 200.0, 200.0, 200.0])

    :raises FormatError: counts that are missing or do not fit, with both numbers.
    """
    book = CableBook(source, "read_htsim")
    shape = _shape(book, text)
    nodes, tiers = shape.top.get("nodes", 0), shape.top.get("tiers", 0)
    if not 0 < nodes <= _MOST_NODES or tiers not in (1, 2, 3):
        raise shape.wrong(f"Nodes {nodes:,} and Tiers {tiers}; 1 to {_MOST_NODES:,} nodes and 1 to 3 tiers are read")
    pod = shape.top.get("podsize", nodes) if tiers == 3 else nodes
    down = shape.count(0, "radix_down", nodes if tiers == 1 else None)
    for what, whole, part in (("Nodes", nodes, pod), ("Podsize", pod, down)):
        if not part or whole % part:
            raise shape.wrong(
                f"{what} {whole:,} is no multiple of {part:,}, {'a pod' if what == 'Nodes' else 'a leaf'}"
            )
    pods, leaves = nodes // pod, pod // down
    spines = cores = 0  # all counts are checked before anything is built
    if tiers > 1:
        spines = _up(shape, 0, 1)
        _expect(shape, 1, leaves)
        _bounded(shape, pods * leaves * spines * shape.count(1, "bundle", 1))
    if tiers > 2:
        cores = _up(shape, 1, 2)
        _expect(shape, 2, pods)
        _bounded(shape, pods * spines * cores * shape.count(2, "bundle", 1))
    _attach(book, shape, nodes, down)
    if tiers > 1:
        _mesh(book, shape, pods, leaves, spines)
    if tiers > 2:
        _cores(book, shape, pods, spines, cores)
    return book.to_fabric()


def _shape(book: CableBook, text: str) -> _Shape:
    shape, tier = _Shape(book.source), -1
    for number, raw in enumerate(text.split("\n"), 1):
        words = raw.split("#", 1)[0].split()
        if not words:
            continue
        key = words[0].lower()
        value = words[1] if len(words) == 2 else ""
        if key in _UNUSED:
            book.understood += 1
            continue
        if key == "downlink_speed_gbps" and tier >= 0 and value:
            shape.speed[tier] = Rate.of(value)
        elif not (value.isdecimal() and len(value) < 10):
            book.misfit("line not understood", raw.strip(), number)
            continue
        elif key == "tier" and int(value) < 3:
            tier = int(value)
            if tier in shape.tiers:
                raise FormatError(f"tier {tier} stands there twice", path=book.source or None, line=number)
            shape.tiers[tier] = {}
        elif key in ("nodes", "tiers", "podsize"):
            shape.top[key] = int(value)
        elif key in _KEYS and tier >= 0:
            shape.tiers[tier][key] = int(value)
            shape.line[tier, key] = number
        else:
            book.misfit("line not understood", raw.strip(), number)
            continue
        book.understood += 1
    if book.odd > book.understood:
        _, line, said = book.first_odd
        raise FormatError(f"mostly lines that do not fit htsim, the first: {said}", path=book.source or None, line=line)
    stray = sorted(set(shape.tiers) - set(range(shape.top.get("tiers", 0))))
    if stray:
        raise shape.wrong(f"Tiers {shape.top.get('tiers', 0)}, but there is a tier {quoted(str(stray[0]))}")
    return shape


def _up(shape: _Shape, below: int, above: int) -> int:
    """Switches of the tier above that one below reaches."""
    up, bundle = shape.count(below, "radix_up"), shape.count(above, "bundle", 1)
    if up % bundle:
        raise shape.wrong(f"tier {below}: Radix_Up {up} is no multiple of Bundle {bundle} of tier {above}")
    return up // bundle


def _expect(shape: _Shape, tier: int, below: int) -> None:
    """The radix down of a tier against the switches or pods below it."""
    bundle = shape.count(tier, "bundle", 1)
    stated = shape.count(tier, "radix_down")
    if stated != below * bundle:
        what = "leaves a pod" if tier == 1 else "pods"
        raise shape.wrong(
            f"tier {tier}: Radix_Down {stated} against {below * bundle}, {below:,} {what} times Bundle {bundle}"
        )


def _bounded(shape: _Shape, links: int) -> None:
    if links > _MOST_LINKS:
        raise shape.wrong(f"{links:,} cables between two tiers; at most {_MOST_LINKS:,} are read")


def _attach(book: CableBook, shape: _Shape, nodes: int, down: int) -> None:
    rate = shape.speed.get(0, Rate())
    rows = [book.node(f"host-{i}", kind="host") for i in range(nodes)]
    for i, row in enumerate(rows):
        leaf = book.node(f"leaf-{i // down}", kind="switch")
        book.cable(book.free_port(row), book.free_port(leaf), rate=rate)


def _mesh(book: CableBook, shape: _Shape, pods: int, leaves: int, spines: int) -> None:
    pairs = product(range(pods), range(leaves), range(spines))
    _bundles(book, shape, 1, ((f"leaf-{pod * leaves + i}", f"spine-{pod * spines + j}") for pod, i, j in pairs))


def _cores(book: CableBook, shape: _Shape, pods: int, spines: int, each: int) -> None:
    pairs = product(range(pods), range(spines), range(each))
    _bundles(book, shape, 2, ((f"spine-{pod * spines + j}", f"core-{j * each + k}") for pod, j, k in pairs))


def _bundles(book: CableBook, shape: _Shape, tier: int, pairs: Iterable[tuple[str, str]]) -> None:
    """The cables between a tier and the one below, a bundle for each pair of switches."""
    bundle, rate = shape.count(tier, "bundle", 1), shape.speed.get(tier, Rate())
    for below, above in pairs:
        low, high = book.node(below, kind="switch"), book.node(above, kind="switch")
        for _ in range(bundle):
            book.cable(book.free_port(low), book.free_port(high), rate=rate)
