"""Write a fabric as a topograph model: switches over switches, and blocks of nodes under the lowest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from topo.io.hostlist import fold_hosts
from topo.io.written import Written
from topo.io.written.slurm import slurm_tree
from topo.io.written.tree import domains_of

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_topograph"]

_DOMAIN = "accelerator.topology.test/domain"


def write_topograph(fabric: Fabric) -> Written:
    """The fabric as a topograph model in YAML; hosts of one leaf in several scale-up domains are several blocks.

    >>> import topo
    >>> print(write_topograph(topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)).content, end="")
    switches:
      "spine-1": {switches: ["leaf-1", "leaf-2"]}
    blocks:
      - {switch: "leaf-1", nodes: ["host-[1-2]"]}
      - {switch: "leaf-2", nodes: ["host-[3-4]"]}

    :raises ParameterError: no host under a switch.
    """
    tree = slurm_tree(fabric)  # topograph makes Slurm's files of it
    domain_of = {host: domain for domain, hosts in domains_of(fabric).items() for host in hosts}
    switches, blocks = ["switches:"], ["blocks:"]
    for group in tree.groups:
        if group.children:
            listed = ", ".join(map(_quoted, group.children))
            switches.append(f"  {_quoted(group.name)}: {{switches: [{listed}]}}")
        by_domain: dict[str, list[str]] = {}
        for host in group.hosts:
            by_domain.setdefault(domain_of.get(host, ""), []).append(host)
        for domain, hosts in by_domain.items():
            note = f", annotations: {{{_quoted(_DOMAIN)}: {_quoted(domain)}}}" if domain else ""
            nodes = _quoted(fold_hosts(hosts))
            blocks.append(f"  - {{switch: {_quoted(group.name)}, nodes: [{nodes}]{note}}}")
    if len(switches) == 1:
        switches = ["switches: {}"]
    return Written("\n".join([*switches, *blocks]) + "\n", tree.lost, 0)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
