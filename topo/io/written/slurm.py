"""Write what Slurm is told of a network: topology.conf as tree or blocks, and topology.yaml."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from topo.errors import ParameterError
from topo.io.hostlist import fold_hosts
from topo.io.written import Written, names_that_fit
from topo.io.written.tree import Group, SchedulerTree, domains_of, hosts_of, one_a_host, scheduler_tree
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["slurm_tree", "write_slurm_block", "write_slurm_topology", "write_slurm_yaml"]

_UNFIT = re.compile(r"[^A-Za-z0-9_.:-]+")


def write_slurm_topology(fabric: Fabric) -> Written:
    """The fabric as topology.conf of the topology/tree plugin: a line a group of switches, lowest tier first.

    Every tier is there, every child is defined, no switch is empty; where no switch joins all, it is a forest.

    >>> import topo
    >>> print(write_slurm_topology(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)).content, end="")
    SwitchName=leaf-1 Nodes=host-[1-2]
    SwitchName=leaf-2 Nodes=host-[3-4]
    SwitchName=spine Switches=leaf-[1-2]

    :raises ParameterError: no host under a switch.
    :raises InputError: a name that no host list can hold.
    """
    tree = slurm_tree(fabric)
    lines = []
    for group in tree.groups:
        below = f"Switches={fold_hosts(group.children)}" if group.children else ""
        nodes = f"Nodes={fold_hosts(group.hosts)}" if group.hosts else ""
        lines.append(" ".join(filter(None, (f"SwitchName={group.name}", below, nodes))))
    return Written("\n".join(lines) + "\n", tree.lost, 0)


def write_slurm_block(fabric: Fabric) -> Written:
    """The scale-up domains as topology.conf of the topology/block plugin: a block a domain, and the sizes they allow.

    Sizes are the smallest block times 1, 2, 4, ... as far as the hosts reach.

    :raises ParameterError: no scale-up domain holds more than one host, so that there are no blocks.
    """
    blocks, sizes = _blocks(fabric)
    lines = [f"BlockName={name} Nodes={fold_hosts(hosts)}" for name, hosts in blocks.items()]
    lines.append(f"BlockSizes={','.join(map(str, sizes))}")
    listed = sum(map(len, blocks.values()))
    _, hosts, changed = hosts_of(fabric)
    alone = len(hosts) - listed
    lost = [*changed, *one_a_host(fabric, len(hosts))]
    lost += ["all tiers above the scale-up domain, names of switches, names of ports, rates, lengths and cables"]
    lost += [f"{plural(alone, 'host')} in no scale-up domain"] if alone else []
    return Written("\n".join(lines) + "\n", tuple(lost), 0)


def write_slurm_yaml(fabric: Fabric) -> Written:
    """The fabric as topology.yaml: the tree as the cluster's default, and blocks beside it where there are domains.

    >>> import topo
    >>> print(write_slurm_yaml(topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)).content, end="")
    ---
    - topology: "tree"
      cluster_default: true
      tree:
        switches:
          - switch: "leaf-1"
            nodes: "host-[1-2]"
          - switch: "leaf-2"
            nodes: "host-[3-4]"
          - switch: "spine-1"
            children: "leaf-[1-2]"

    :raises ParameterError: no host under a switch.
    """
    tree = slurm_tree(fabric)
    lines = ["---", '- topology: "tree"', "  cluster_default: true", "  tree:", "    switches:"]
    for group in tree.groups:
        lines += _entry("switch", group.name, children=group.children, nodes=group.hosts)
    if domains_of(fabric):
        blocks, sizes = _blocks(fabric)
        lines += ['- topology: "block"', "  cluster_default: false", "  block:", f"    block_sizes: {sizes}"]
        lines.append("    blocks:")
        for name, hosts in blocks.items():
            lines += _entry("block", name, nodes=hosts)
    return Written("\n".join(lines) + "\n", tree.lost, 0)


def _entry(word: str, name: str, **lists: list[str]) -> list[str]:
    rest = [f'        {key}: "{fold_hosts(names)}"' for key, names in lists.items() if names]
    return [f'      - {word}: "{name}"', *rest]


def slurm_tree(fabric: Fabric) -> SchedulerTree:
    """The tree with names that Slurm takes."""
    tree = scheduler_tree(fabric)
    names = [group.name for group in tree.groups]
    hosts = {host for group in tree.groups for host in group.hosts}
    changed = dict(zip(names, names_that_fit(names, _UNFIT, otherwise="switch", others=hosts), strict=True))
    groups = [
        Group(changed[group.name], group.tier, [changed[child] for child in group.children], group.hosts)
        for group in tree.groups
    ]
    odd = sum(old != new for old, new in changed.items())
    said = (f"{odd:,} names of switches hold what a list of Slurm cannot; - stands there instead",) if odd else ()
    return SchedulerTree(groups, (*tree.lost, *said))


def _blocks(fabric: Fabric) -> tuple[dict[str, list[str]], list[int]]:
    domains = domains_of(fabric)
    if not domains:
        raise ParameterError(
            f"no scale-up domain of {fabric.name!r} holds more than one host, so that there are no blocks; "
            "write the tree instead (slurm-topology)"
        )
    names = names_that_fit(list(domains), _UNFIT, otherwise="block")
    blocks = dict(zip(names, domains.values(), strict=True))
    base = min(map(len, blocks.values()))
    sizes, total = [base], sum(map(len, blocks.values()))
    while sizes[-1] * 2 <= total:
        sizes.append(sizes[-1] * 2)
    return blocks, sizes
