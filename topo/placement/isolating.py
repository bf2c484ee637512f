"""Is a job's full bandwidth guaranteed by the links it owns? Conditions that suffice, a routing, or a witness against.

A job owns nodes and links of a three-tier fat tree (or of two tiers, where nothing lies above the spines). It has full
bandwidth if every permutation of its nodes can be routed on its own links at rate 1. Sufficient (after Jigsaw, HPDC
2021; restated and proved through Koenig's edge colouring): all leaves hold n nodes with uplinks to the same n spine
indices, but one remainder leaf with fewer, to a subset; all pods have L such leaves, but one remainder pod, which
holds the remainder leaf; spine i of a full pod owns L core links, to the same cores in all, in the remainder pod as
many as its leaves there have uplinks to i, among them. Cuts alone do not certify it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, expect_fabric
from topo.placement.isolation_flow import Owned, permutation_theta, routed
from topo.result import Result, Row, Standing
from topo.table import check_rows

__all__ = ["Isolation", "broken_conditions", "isolation", "isolation_of", "owned_links_of"]


@dataclass(frozen=True)
class Isolation(Result):
    """``answer``: isolated, not isolated, unknown, or (without links) that the shape could or could not be.

    ``reasons`` lists the conditions that fail. ``witness`` is a permutation of the nodes that its own links carry at
    ``theta`` < 1 only, node i sending to node witness[i].
    """

    answer: str
    reasons: tuple[str, ...]
    theta: float | None
    witness: tuple[int, ...]
    checked: int
    standing: Standing

    title: ClassVar[str] = "Isolation"

    def rows(self) -> list[Row]:
        """The answer and what it rests on."""
        rows = [Row("full bandwidth guaranteed", self.answer, standing=self.standing)]
        rows += [Row("not met", reason) for reason in self.reasons]
        if self.theta is not None and self.theta < 1:
            rows.append(Row("a permutation gets", self.theta, "of its rate"))
        return rows


def broken_conditions(owned: Owned) -> list[str]:
    """Which of the sufficient conditions do not hold; none: the job is isolated.

    >>> two = [frozenset({0, 1}), frozenset({0, 1})]
    >>> broken_conditions(Owned(pod=(0, 0), nodes=(2, 2), up=tuple(two), core={}))
    []
    """
    if len(owned.nodes) == 1:
        return []
    full = max(owned.nodes)
    small = [i for i, n in enumerate(owned.nodes) if n < full]
    wide = [i for i, n in enumerate(owned.nodes) if n == full]
    problems = []
    if len(small) > 1:
        problems.append(f"{len(small)} leaves hold fewer than {full} nodes; one may")
    common = owned.up[wide[0]]
    if any(len(owned.up[i]) != owned.nodes[i] for i in range(len(owned.nodes))):
        bad = next(i for i in range(len(owned.nodes)) if len(owned.up[i]) != owned.nodes[i])
        problems.append(f"leaf {bad} holds {owned.nodes[bad]} nodes and owns {len(owned.up[bad])} uplinks")
    if any(owned.up[i] != common for i in wide):
        problems.append("full leaves own uplinks to different spine indices")
    if any(not owned.up[i] <= common for i in small):
        problems.append("the remainder leaf owns an uplink to a spine index outside those of the full leaves")
    if len(set(owned.pod)) > 1:
        problems += _broken_pods(owned, full, common)
    return problems


def _broken_pods(owned: Owned, full: int, common: frozenset[int]) -> list[str]:
    pods = sorted(set(owned.pod))
    wide = {p: sum(owned.nodes[i] == full for i, at in enumerate(owned.pod) if at == p) for p in pods}
    rest = {p: [i for i, at in enumerate(owned.pod) if at == p and owned.nodes[i] < full] for p in pods}
    most = max(wide.values())
    odd = [p for p in pods if wide[p] < most or rest[p]]
    problems = []
    if len(odd) > 1:
        problems.append(f"pods {', '.join(map(str, odd))} differ from the others; one remainder pod may")
    if any(wide[p] == most for p in odd):
        problems.append("the remainder leaf lies in a pod that is full already")
    whole = [p for p in pods if p not in odd]
    for i in sorted(common):
        sets = [owned.core.get((p, i), frozenset()) for p in whole]
        if any(len(cores) != most or cores != sets[0] for cores in sets):
            problems.append(f"spine index {i} of the full pods does not own {most} links to the same cores")
        for p in odd:
            need = wide[p] + sum(i in owned.up[leaf] for leaf in rest[p])
            own = owned.core.get((p, i), frozenset())
            if len(own) != need or (sets and not own <= sets[0]):
                problems.append(f"spine index {i} of pod {p} does not own {need} links among the cores of full pods")
    return problems


def isolation_of(owned: Owned, *, permutations: int = 24, seed: int = 0) -> Isolation:
    """The answer for what a job owns: by the conditions, else by permutations that its links cannot carry.

    >>> sets = tuple(frozenset(s) for s in ({0, 1, 2}, {0, 1, 2}, {0, 1}, {0, 1}))
    >>> answer = isolation_of(Owned(pod=(0, 0, 0, 0), nodes=(3, 3, 2, 2), up=sets, core={}), permutations=200)
    >>> answer.answer, round(answer.theta, 3)
    ('not isolated', 0.833)
    """
    problems = broken_conditions(owned)
    n = sum(owned.nodes)
    if not problems:
        standing = Standing("exact", "the sufficient conditions hold; every permutation has a routing by colouring")
        routed(owned, np.roll(np.arange(n), -1))
        return Isolation("isolated", (), 1.0, (), 0, standing)
    rng = np.random.default_rng(seed)
    worst, witness, checked = 1.0, np.empty(0, np.int64), 0
    for trial in range(permutations):
        wanted = np.roll(np.arange(n), -(trial + 1)) if trial < min(n - 1, 8) else rng.permutation(n)
        theta = permutation_theta(owned, wanted)
        checked += 1
        if theta < worst - 1e-7:
            worst, witness = theta, wanted
    if len(witness):
        need = f"{1 / worst:.4g} times the links" if worst > 0 else "links that are not there"
        standing = Standing("exact", f"a permutation that needs {need}")
        return Isolation("not isolated", tuple(problems), worst, tuple(witness.tolist()), checked, standing)
    standing = Standing("model", f"the conditions suffice but are not necessary; {checked} permutations all fit")
    return Isolation("unknown", tuple(problems), None, (), checked, standing)


def isolation(
    fabric: Fabric, rows: ArrayLike, *, owned_links: ArrayLike | None = None, permutations: int = 24, seed: int = 0
) -> Isolation:
    """Whether the endpoints in ``rows`` have full bandwidth among them on the links the job owns.

    A placement alone owns no links: without ``owned_links`` (link rows) the answer is whether its shape could be.

    >>> import topo
    >>> fabric = topo.fat_tree(4)
    >>> isolation(fabric, fabric.rows(["host-01", "host-02", "host-03", "host-04"])).answer
    'the shape could be isolated'

    :raises ParameterError: an endpoint on no leaf or on several.
    """
    expect_fabric(fabric)
    if owned_links is None:
        return _by_shape(fabric, np.asarray(rows, np.int64))
    return isolation_of(owned_links_of(fabric, rows, owned_links), permutations=permutations, seed=seed)


def owned_links_of(fabric: Fabric, rows: ArrayLike, owned_links: ArrayLike) -> Owned:
    """What a job owns, as leaves, spine indices and cores; a spine's index is the set of cores it reaches.

    :raises ParameterError: two owned links between the same two switches, or an endpoint on several leaves.
    """
    leaf, names, pod = _leaves(fabric, np.asarray(rows, np.int64))
    links = np.unique(check_rows(np.asarray(owned_links), len(fabric.links), "links"))
    tier = fabric.nodes.tier.astype(int)
    a, b = fabric.link_a[links].astype(np.int64), fabric.link_b[links].astype(np.int64)
    low, high = np.where(tier[a] < tier[b], a, b), np.where(tier[a] < tier[b], b, a)
    if len({(int(x), int(y)) for x, y in zip(low, high, strict=True)}) < len(links):
        raise ParameterError("two owned links join the same two switches; parallel links are not covered")
    index = _spine_index(fabric)
    pod_of_spine: dict[int, int] = {}
    up = []
    for i, switch in enumerate(names.tolist()):
        spines = high[low == switch].tolist()
        pod_of_spine.update(dict.fromkeys(spines, int(pod[i])))
        up.append(frozenset(index[s] for s in spines))
    core: dict[tuple[int, int], frozenset[int]] = {}
    for spine, at in pod_of_spine.items():
        cores = high[low == spine].tolist()
        if cores:
            core[at, index[spine]] = frozenset(cores)
    counts = np.bincount(leaf, minlength=len(names))
    return Owned(tuple(pod.tolist()), tuple(counts.tolist()), tuple(up), core)


def _leaves(fabric: Fabric, rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """Leaf number of each endpoint, the leaf switches, and the pod of each: leaves that share spines."""
    from topo.placement.fold import hosts_of
    from topo.placement.measure import end_tree

    ends = end_tree(hosts_of(fabric))
    nodes = fabric.nodes
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a[access].astype(np.int64), fabric.link_b[access].astype(np.int64)
    end, switch = np.concatenate([a, b]), np.concatenate([b, a])
    keep = np.isin(end, rows) & (nodes.forwards[switch] == FORWARDS_ALL)
    if int(keep.sum()) != len(rows) or len(np.unique(end[keep])) != len(rows):
        raise ParameterError("isolation looks at endpoints on one leaf each; some attach to none or several")
    of = dict(zip(end[keep].tolist(), switch[keep].tolist(), strict=True))
    switches, leaf = np.unique(np.array([of[int(row)] for row in rows]), return_inverse=True)
    first = {int(leaf[i]): int(ends.leaf[row]) for i, row in enumerate(rows.tolist())}
    groups = np.array([first[i] for i in range(len(switches))])
    pod = ends.tree.above[1][groups] if ends.tree.depth > 1 else np.zeros(len(groups), np.int64)
    return leaf, switches, pod


def _spine_index(fabric: Fabric) -> dict[int, int]:
    """Spines with the same upper neighbours have one index; at the top every spine is its own."""
    tier = fabric.nodes.tier.astype(int)
    a, b = fabric.link_a.astype(np.int64), fabric.link_b.astype(np.int64)
    low, high = np.where(tier[a] < tier[b], a, b), np.where(tier[a] < tier[b], b, a)
    above: dict[int, set[int]] = {}
    for x, y in zip(low.tolist(), high.tolist(), strict=True):
        above.setdefault(x, set()).add(y)
    seen: dict[tuple[int, ...], int] = {}
    out = {}
    for spine in np.flatnonzero(tier >= 2).tolist():
        key = tuple(sorted(above.get(spine, ()))) or (-1, spine)
        out[spine] = seen.setdefault(key, len(seen))
    return out


def _by_shape(fabric: Fabric, rows: NDArray[np.int64]) -> Isolation:
    """Conditions on counts alone: could some choice of links isolate the job?"""
    leaf, switches, pod = _leaves(fabric, rows)
    counts = np.bincount(leaf, minlength=len(switches)).tolist()
    full = max(counts)
    common = frozenset(range(full))
    up = tuple(common if n == full else frozenset(range(n)) for n in counts)
    pods = sorted(set(pod.tolist()))
    core: dict[tuple[int, int], frozenset[int]] = {}
    for p in pods:
        for i in common:
            core[p, i] = frozenset(range(sum(i in up[at] for at in range(len(counts)) if pod[at] == p)))
    problems = broken_conditions(Owned(tuple(pod.tolist()), tuple(counts), up, core))
    tier = fabric.nodes.tier.astype(int)
    both = np.stack([fabric.link_a, fabric.link_b])
    lower = both[np.where(tier[both[0]] < tier[both[1]], 0, 1), np.arange(both.shape[1])]
    uplinks = np.bincount(lower[fabric.links.kind.is_any("scale_out")], minlength=len(fabric.nodes))[switches]
    if len(counts) > 1 and (uplinks < np.array(counts)).any():
        problems.append("a leaf has fewer uplinks than the job has nodes on it")
    answer = "the shape cannot meet the conditions" if problems else "the shape could be isolated"
    how = "counts only: a placement owns no links, name them to know"
    return Isolation(answer, tuple(problems), None, (), 0, Standing("model", how))
