"""What schedulers would have chosen on the same state, scored like our own placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.io.slurm_topology import block_sizes_of
from topo.placement.affinity import PlacementAffinity, affinity_of
from topo.placement.fold import Hosts
from topo.placement.job import Job
from topo.placement.kueue import Domain, kueue_choice
from topo.placement.measure import measured
from topo.placement.placement import Placed, on_hosts, rank_width
from topo.placement.placing import Cluster, placed_on
from topo.placement.room import scopes
from topo.placement.slurm_block import block_choice
from topo.placement.slurm_tree import dragonfly_choice, tree_choice
from topo.placement.volcano import volcano_choice
from topo.result import Result, Row

__all__ = ["RULES", "SchedulerChoice", "SchedulerComparison", "compare_schedulers", "scheduler_choice"]

RULES: dict[str, str] = {
    "slurm-tree": "Slurm topology/tree",
    "slurm-dragonfly": "Slurm topology/tree with TopologyParam=dragonfly",
    "slurm-block": "Slurm topology/block",
    "kueue-bestfit": "Kueue TAS, leaf group preferred (BestFit)",
    "kueue-required": "Kueue TAS, one pod required (BestFit)",
    "kueue-leastfree": "Kueue TAS, unconstrained (LeastFreeCapacity)",
    "volcano-binpack": "Volcano hypernode binpack: the domain is a rule, the hosts inside one random draw",
}
"""The rules that are reproduced, by the name they are asked for."""

_ASSUMED = (
    "whole identical hosts of equal weight, no required hosts, no reservations",
    "switches, blocks and hosts in the order of the fabric",
    "leaf groups are the lowest switches the rule sees",
)


@dataclass(frozen=True)
class SchedulerChoice:
    """Hosts in the order a scheduler numbers them, by leaf group, and their scores; no hosts: it does not place."""

    rule: str
    hosts: tuple[str, ...]
    leaf_counts: dict[str, int]
    affinity: PlacementAffinity | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SchedulerComparison(Result):
    """Choices on one state, ours first."""

    fabric: str
    job: str
    choices: tuple[SchedulerChoice, ...]
    assumptions: tuple[str, ...]

    title: ClassVar[str] = "Schedulers' choices"

    @classmethod
    def of(cls, fabric: str, job: str, choices: tuple[SchedulerChoice, ...]) -> SchedulerComparison:
        """Choices with what all rules assume."""
        return cls(fabric, job, choices, _ASSUMED)

    def rows(self) -> list[Row]:
        """One line a choice."""
        rows = []
        for choice in self.choices:
            scores = choice.affinity
            if scores is None:
                rows.append(Row(choice.rule, f"does not place: {'; '.join(choice.notes)}"))
                continue
            pods = f", {scores.pods_spanned} pods" if scores.pods_spanned is not None else ""
            said = (
                f"{scores.leaves_spanned} leaf groups{pods}; hop-bytes {scores.hop_bytes:,.10g}; "
                f"busiest leaf {scores.max_uplink_load:,.6g}; across leaf groups {100 * scores.cross_leaf_share:.1f} %"
            )
            if scores.rates_known:
                said += f"; busiest link {scores.max_utilization_with_others:.3g} of its rate"
            rows.append(Row(choice.rule, said))
        return rows


def compare_schedulers(
    fabric: Fabric,
    job: Job,
    *,
    rules: Sequence[str] = ("slurm-tree", "kueue-bestfit"),
    busy: Any = None,
    objective: str = "leaves",
    others: Sequence[tuple[Job, Placed]] = (),
    block_sizes: Sequence[int] | None = None,
    segment: int = 0,
    budget_s: float = 8.0,
    seed: int = 0,
    state: State | None = None,
) -> SchedulerComparison:
    """Our placement and what each rule would have chosen for the same hosts, scored alike.

    Rules see the placement tree: leaf groups as the lowest switches (or blocks, racks, HyperNodes), in the fabric's
    order. They know only how many hosts a job wants; ranks are numbered in host order.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8)
    >>> busy = ["host-0[6-8]", "host-1[2-6]", "host-3[12]"]
    >>> choices = compare_schedulers(fabric, Job(12), busy=busy).choices
    >>> choices[1].leaf_counts
    {'leaf-1': 4, 'leaf-3': 8}

    :raises ParameterError: an unknown rule, or a job that does not fit.
    """
    cluster = Cluster.of(fabric, busy=busy, others=others, state=state)
    ours = placed_on(cluster, job, objective=objective, budget_s=budget_s, seed=seed)
    mine = SchedulerChoice(f"ours, {objective}", ours.hosts, ours.leaf_counts, ours.affinity, ours.notes)
    found = [
        scheduler_choice(cluster, job, rule, block_sizes=block_sizes, segment=segment, seed=seed) for rule in rules
    ]
    return SchedulerComparison.of(fabric.name, job.name, (mine, *found))


def scheduler_choice(
    cluster: Cluster, job: Job, rule: str, *, block_sizes: Sequence[int] | None = None, segment: int = 0, seed: int = 0
) -> SchedulerChoice:
    """What one rule chooses; see :data:`RULES`. Constraints of the job other than ``exclude`` are not known to it.

    :raises ParameterError: an unknown rule.
    """
    if rule not in RULES:
        raise ParameterError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
    hosts, width = cluster.hosts, rank_width(cluster.hosts, job)
    bare = replace(job, constraints=replace(job.constraints, within=None, at_most_leaves=None, hosts_per_leaf=None))
    scope = scopes(hosts, cluster.ends, bare, cluster.free)[0]
    n = job.n_hosts(width)
    notes: list[str] = [RULES[rule]]
    chosen = _chosen(hosts, scope.leaf, scope.free, n, rule, block_sizes, segment, seed, notes)
    if chosen is None:
        return SchedulerChoice(rule, (), {}, None, tuple(notes))
    placement = on_hosts(hosts, job, chosen)
    mine = measured(cluster.ends, job, placement)
    affinity = affinity_of(mine, cluster.others, ~cluster.free)
    return SchedulerChoice(rule, tuple(hosts.name[chosen].tolist()), affinity.leaf_counts, affinity, tuple(notes))


def _chosen(
    hosts: Hosts, leaf: NDArray[np.int64], free: NDArray[np.int64], n: int, rule: str,
    block_sizes: Sequence[int] | None, segment: int, seed: int, notes: list[str],
) -> NDArray[np.int64] | None:  # fmt: skip
    """Host numbers in rank order, or None where the rule does not place."""
    tree = hosts.tree
    size = np.bincount(hosts.leaf[hosts.leaf >= 0], minlength=tree.n_leaves)
    if rule.startswith("kueue"):
        return _kueue(hosts, leaf, n, rule, notes)
    if rule == "slurm-tree":
        return _first_free(leaf, tree_choice(tree, free, n), notes, "no switch has so many free nodes below it")
    if rule == "slurm-dragonfly":
        return _first_free(leaf, dragonfly_choice(tree, free, n), notes, "too few free nodes")
    if rule == "slurm-block":
        base = int(size[0])
        stated = block_sizes or block_sizes_of(hosts.fabric)
        sizes = list(stated) if stated else [base * 2**i for i in range(5)]
        notes.append(f"BlockSizes={','.join(map(str, sizes))}" + (f", segments of {segment}" if segment else ""))
        segments = block_choice(free, n, block_sizes=sizes, segment=segment)
        if segments is None:
            why = "not placed in the first pass; a retry drops hosts that have less than others, and these are alike"
            return _first_free(leaf, None, notes, why)
        return _first_free(leaf, [pair for part in segments for pair in part], notes, "", keep_order=bool(segment))
    answer = volcano_choice(tree, free, size, n, seed=seed)
    if answer is None:
        return _first_free(leaf, None, notes, "no domain holds the job")
    level = tree.levels[answer.level].name if answer.level < tree.depth else np.array(["the whole fabric"])
    notes.append(f"domain {', '.join(level[list(answer.ties)].tolist())}; hosts drawn with seed {seed}")
    return _first_free(leaf, [(i, c) for i, c in enumerate(answer.sampled) if c], notes, "")


def _first_free(
    leaf: NDArray[np.int64], choice: list[tuple[int, int]] | None, notes: list[str], why: str, *,
    keep_order: bool = False,
) -> NDArray[np.int64] | None:  # fmt: skip
    """The first free hosts of each leaf group; in host order unless segments are to be kept."""
    if choice is None:
        notes.append(why)
        return None
    taken: dict[int, int] = {}
    parts = []
    for group, count in choice:
        start = taken.get(group, 0)
        parts.append(np.flatnonzero(leaf == group)[start : start + count])
        taken[group] = start + count
    found = np.concatenate(parts)
    return found if keep_order else np.sort(found)


def _kueue(hosts: Hosts, leaf: NDArray[np.int64], n: int, rule: str, notes: list[str]) -> NDArray[np.int64] | None:
    """Kueue with levels from the top of the placement tree down to the host, one pod of the job a host."""
    tree = hosts.tree
    index = np.flatnonzero(leaf >= 0)
    roots: dict[tuple[str, ...], Domain] = {}
    number: dict[tuple[str, ...], int] = {}
    names = [level.name[at] for level, at in zip(reversed(tree.levels), reversed(tree.above), strict=True)]
    for host in index.tolist():
        group, parent = int(leaf[host]), None
        label: tuple[str, ...] = ()
        for name in names:
            label = (*label, str(name[group]))
            if label not in roots:
                roots[label] = Domain(label)
                if parent is not None:
                    parent.children.append(roots[label])
            parent = roots[label]
        label = (*label, str(hosts.name[host]))
        assert parent is not None
        parent.children.append(Domain(label, 1))
        number[label] = host
    top = [domain for label, domain in roots.items() if len(label) == 1]
    mode = {"kueue-bestfit": "preferred", "kueue-required": "required", "kueue-leastfree": "unconstrained"}[rule]
    level = 0 if rule == "kueue-required" else tree.depth - 1
    notes.append(
        "the Topology lists " + ", ".join(tree.level_word(i) for i in range(tree.depth - 1, -1, -1)) + ", host"
    )
    answer = kueue_choice(top, n, mode=mode, level=level)
    if answer is None:
        notes.append("no domain of the level holds the job" if mode == "required" else "too few free hosts")
        return None
    return np.array([number[label] for label, _ in answer], np.int64)
