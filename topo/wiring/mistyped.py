"""Switches that some rows of a wiring write otherwise than the design and its other rows do: one switch, two names."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from difflib import SequenceMatcher

import numpy as np

from topo.table import Array, sealed
from topo.view.text import plural
from topo.wiring.cabling import Cabling
from topo.wiring.finding import Finding, finding
from topo.wiring.spelling import ends_of, shared_devices, written

__all__ = ["as_called"]

_ALIKE = 0.6
_DIGITS = re.compile(r"\d+")


def as_called(found: Cabling, planned: Cabling) -> tuple[Cabling, list[Finding]]:
    """The found cables with every mistyped switch under its planned name, and a finding of each.

    ``leef-3`` is ``leaf-3`` where no plan has ``leef-3``, the two are written nearly alike with the same numbers,
    and each of its cables is one that the plan has at ``leaf-3``, on a port that is free there. A switch none of
    whose rows bear its planned name was named anew, which is told elsewhere.
    """
    rows_f, rows_p = _by_name(found), _by_name(planned)
    alike = shared_devices(set(rows_f), set(rows_p))
    strange = sorted(set(rows_f) - set(alike.values()))
    if not strange or not alike:
        return found, []
    by_digits = defaultdict(list)
    for name in alike:
        by_digits[tuple(_DIGITS.findall(name))].append(name)
    fabric, findings, gone = found.fabric, [], []
    node = fabric.ports.node.copy()
    for name in strange:
        near = [(_likeness(name, other), other) for other in by_digits[tuple(_DIGITS.findall(name))]]
        for _, other in sorted((one for one in near if one[0] >= _ALIKE), reverse=True):
            mine, home = rows_f[name], rows_f[alike[other]]
            if not _is_planned(found, planned, mine, home, rows_p[other]):
                continue
            node[fabric.ports.node == mine] = home
            gone.append(mine)
            findings.append(_say_mistyped(found, mine, home))
            break
    if not gone:
        return found, []
    ports = replace(fabric.ports, node=sealed(node))
    return Cabling.of(replace(fabric, ports=ports).without(nodes=gone)), findings


def _by_name(side: Cabling) -> dict[str, int]:
    """Row of each cabled switch by its name as it is written; of those that share a name none."""
    links = side.links
    rows = np.unique(np.concatenate([side.fabric.link_a[links], side.fabric.link_b[links]]))
    rows = rows[side.is_switch[rows]]
    named: dict[str, list[int]] = defaultdict(list)
    for row, name in zip(rows.tolist(), side.fabric.nodes.name[rows].tolist(), strict=True):
        named[written(name)].append(row)
    return {name: same[0] for name, same in named.items() if len(same) == 1}


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _is_planned(found: Cabling, planned: Cabling, strange: int, home: int, meant: int) -> bool:
    """Whether the plan has every cable of ``strange`` at ``meant``, on ports that ``home`` leaves free."""
    here, there, wanted = _cables_at(found, strange), _cables_at(found, home), _cables_at(planned, meant)
    far = shared_devices({device for device, _ in here.values()}, {device for device, _ in wanted.values()})
    same = {(far.get(device), port, near) for near, (device, port) in wanted.items()}
    return all((device, port, near) in same and near not in there for near, (device, port) in here.items())


def _cables_at(side: Cabling, node: int) -> dict[str, tuple[str, str]]:
    """The box and port at the other end of each cable of a switch, by its own port."""
    links, fabric = side.links, side.fabric
    turned = fabric.link_b[links] == node
    mine = links[turned | (fabric.link_a[links] == node)]
    ends: list[Array] = [fabric.links.port_a[mine], fabric.links.port_b[mine]]
    is_b = fabric.link_b[mine] == node
    near, far = np.where(is_b, ends[1], ends[0]), np.where(is_b, ends[0], ends[1])
    pairs = zip(ends_of(fabric, near, side.is_switch), ends_of(fabric, far, side.is_switch), strict=True)
    return {own.port: (other.device, other.port) for own, other in pairs}


def _say_mistyped(found: Cabling, strange: int, home: int) -> Finding:
    name = found.fabric.nodes.name
    n = len(_cables_at(found, strange))
    wrong, right = str(name[strange]), str(name[home])
    said = (
        f"{plural(n, 'cable')} at {wrong}, which no plan has, on ports that {right} is planned to have them on and "
        f"leaves free; taken for {right}, which other rows name"
    )
    return finding("device-mistyped", wrong, said, at=found.first_place([strange]), fix=f"write {right} for {wrong}")
