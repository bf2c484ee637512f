"""Write the inside of one host as the topology file that NCCL and RCCL take: NCCL_TOPO_FILE."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from topo.errors import ParameterError
from topo.io.nccl import XGMI_GBPS, nvlink_gbps
from topo.io.written import Written, left_unsaid
from topo.output import plain
from topo.parts.template import PCIE_CODING
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_nccl"]

_BUS = re.compile(r"[0-9a-f]{1,8}:[0-9a-f]{1,2}:[0-9a-f]{1,2}\.[0-9a-f]\Z")
_WIDTHS = (16, 8, 4, 2, 1)
_CLASS = {"accelerator": "0x030200", "nic": "0x020000", "pcie_switch": "0x060400", "unknown": "0xff0000"}
_NVSWITCH = "0x068000"
_GENERATIONS = (("p100", 60), ("v100", 70), ("a100", 80), ("a800", 80), ("h100", 90), ("h200", 90), ("h800", 90),
                ("h20", 90), ("gh200", 90), ("b200", 100), ("gb200", 100), ("b300", 103), ("gb300", 103))  # fmt: skip
_SM_OF_RATE = {160.0: 60, 200.0: 90, 400.0: 100}
_GCN = (("mi300", "gfx942"), ("mi325", "gfx942"), ("mi250", "gfx90a"), ("mi100", "gfx908"))
_GCN_NAME = re.compile(r"(?:gfx)?9\w\w?\Z")
_CPUS = (("xeon", "x86_64", "GenuineIntel"), ("epyc", "x86_64", "AuthenticAMD"), ("grace", "arm64", ""))


@dataclass(slots=True)
class _Tree:
    """The host as a tree below its CPUs, and its scale-up links."""

    fabric: Fabric
    bus: list[str]
    parent: dict[int, int] = field(default_factory=dict)
    rate: dict[int, float] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)
    scale_up: dict[int, Counter[int]] = field(default_factory=dict)
    scale_up_gbps: dict[int, float] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def write_nccl(fabric: Fabric) -> Written:
    """One opened host as a topology file of NCCL: PCIe speeds as transfers times width, NVLink or xGMI as counts.

    The rate of a scale-up link is not stated there: NCCL takes it from the generation of the accelerators. Attributes
    that NCCL looks up on the host itself (affinity, CPU model) are left to it. Our own reader takes the file back.

    >>> import topo
    >>> text = write_nccl(topo.server("dgx-h100", inside=True)).content
    >>> text.count("<gpu "), text.count("<nic>"), 'link_speed="32.0 GT/s PCIe" link_width="16"' in text
    (8, 10, True)

    :raises ParameterError: several hosts, no CPU in it, parts that are no tree, a rate that no PCIe link has.
    """
    nodes = fabric.nodes
    hosts = {host for host in nodes.host.values().tolist() if host}
    kinds = nodes.kind.values().tolist()
    roots = [row for row, kind in enumerate(kinds) if kind == "cpu"]
    if len(hosts) > 1 or not roots:
        said = f"it has {len(hosts):,} hosts" if len(hosts) > 1 else "the inside of its host is not open"
        raise ParameterError(
            f"an NCCL topology file is the inside of one host; {plain(fabric.name)}: {said}; "
            "give one opened host, such as topo.server('dgx-h100', inside=True)"
        )
    tree = _Tree(fabric, _bus_ids(fabric))
    _grow(tree, roots, kinds)
    tree.lines += ['<system version="1">']
    for place, row in enumerate(roots):
        number = int(nodes.local_index[row])
        attributes = {"numaid": str(number if number >= 0 else place), **_cpu(str(nodes.part[row] or ""))}
        tree.lines.append(f"  <cpu {_said(attributes)}>")
        _below(tree, row, 2, kinds)
        if place == 0:
            for alone in (r for r, kind in enumerate(kinds) if kind == "nic" and r not in tree.parent):
                _net(tree, alone, 2)
        tree.lines.append("  </cpu>")
    tree.lines.append("</system>")
    lost = [*tree.lost, "names of parts: accelerators and CPUs are numbers, PCIe switches bus ids"]
    lost += left_unsaid(fabric, nodes=("name", "uid", "kind", "tier", "is_endpoint", "forwards", "host", "domain",
                                       "local_index"), ports=("gbps",), links=("capacity_gbps", "kind"))  # fmt: skip
    return Written("\n".join(tree.lines) + "\n", tuple(lost))


def _bus_ids(fabric: Fabric) -> list[str]:
    """The bus id of every node; those without one get the next that is free."""
    found = [uid.lower() if _BUS.match(uid.lower()) else "" for uid in fabric.nodes.uid.tolist()]
    taken, number, given = set(found), 0, set[str]()
    for row, uid in enumerate(found):
        while not uid or uid in given:
            number += 1
            uid = f"{number >> 8:04x}:{number & 0xFF:02x}:00.0"
            uid = "" if uid in taken else uid
        given.add(uid)
        found[row] = uid
    return found


def _grow(tree: _Tree, roots: list[int], kinds: list[str]) -> None:
    """Hang every part below its CPU, level by level."""
    fabric = tree.fabric
    near: dict[int, list[tuple[int, float]]] = {}
    between = others = n_io = 0
    ends = zip(fabric.link_a.tolist(), fabric.link_b.tolist(), fabric.links.capacity_gbps.tolist(),
               fabric.links.kind.values().tolist(), strict=True)  # fmt: skip
    for a, b, rate, kind in ends:
        if kinds[a] == kinds[b] == "cpu":
            between += 1
        elif kind == "host_io":
            near.setdefault(a, []).append((b, rate))
            near.setdefault(b, []).append((a, rate))
            n_io += 1
        elif kind == "scale_up" and "accelerator" in (kinds[a], kinds[b]) and "cpu" not in (kinds[a], kinds[b]):
            for one, other in ((a, b), (b, a)):
                if kinds[one] == "accelerator":
                    tree.scale_up_gbps.setdefault(one, rate)
                    tree.scale_up.setdefault(one, Counter())[other] += 1
        else:
            others += 1
    queue = list(roots)
    for row in queue:
        for other, rate in near.get(row, ()):
            if other in tree.parent or kinds[other] == "cpu":
                continue
            if kinds[other] not in _CLASS:
                raise ParameterError(
                    f"an NCCL topology file has no place for {plain(fabric.nodes.name[other])} ({kinds[other]})"
                )
            tree.parent[other], tree.rate[other] = row, rate
            tree.children.setdefault(row, []).append(other)
            queue.append(other)
    if n_io != len(tree.parent):
        raise ParameterError(
            f"the parts of {plain(fabric.name)} are no tree below its CPUs: {n_io:,} inner links for "
            f"{len(tree.parent):,} parts that hang there; NCCL's file gives each one way up"
        )
    tree.lost += [f"{plural(between, 'link')} between CPUs"] if between else []
    tree.lost += (
        [f"{others:,} other links, such as those to switches outside or from CPU to accelerator"] if others else []
    )


def _cpu(part: str) -> dict[str, str]:
    for word, arch, vendor in _CPUS:
        if word in part.lower():
            return {"arch": arch, **({"vendor": vendor} if vendor else {})}
    words = part.split()
    known = [word for word in words if word in ("x86_64", "arm64", "ppc64")]
    rest = [word for word in words if word not in known]
    return ({"arch": known[0]} if known else {}) | ({"vendor": rest[0]} if known and rest else {})


def _said(attributes: dict[str, str]) -> str:
    return " ".join(f"{key}={quoteattr(plain(value))}" for key, value in attributes.items())


def _pcie(tree: _Tree, row: int) -> dict[str, str]:
    """Transfers a second and width whose product, less line coding, is the rate of the link upwards."""
    rate = tree.rate[row]
    if np.isnan(rate):
        return {"link_speed": "", "link_width": ""}
    for speed, coding in reversed(PCIE_CODING.items()):
        for width in _WIDTHS:
            if abs(np.floor(speed * width * coding) - rate) < 0.5:
                return {"link_speed": f"{speed:.1f} GT/s PCIe", "link_width": str(width)}
    raise ParameterError(
        f"{plain(tree.fabric.nodes.name[row])} hangs at {rate:g} Gb/s, which is no PCIe link: NCCL's file states "
        "transfers a second times 1 to 16 lanes"
    )


def _below(tree: _Tree, row: int, depth: int, kinds: list[str]) -> None:
    for child in tree.children.get(row, ()):
        attributes = {"busid": tree.bus[child], "class": _CLASS[kinds[child]], **_pcie(tree, child)}
        pad = "  " * depth
        tree.lines.append(f"{pad}<pci {_said(attributes)}>")
        if kinds[child] == "accelerator":
            _gpu(tree, child, depth + 1, kinds)
        elif kinds[child] == "nic":
            _net(tree, child, depth + 1)
        _below(tree, child, depth + 1, kinds)
        tree.lines.append(f"{pad}</pci>")


def _gpu(tree: _Tree, row: int, depth: int, kinds: list[str]) -> None:
    nodes = tree.fabric.nodes
    part = str(nodes.part[row] or "").lower()
    rate = tree.scale_up_gbps.get(row, float("nan"))
    gcn = next((name for word, name in _GCN if word in part), part if _GCN_NAME.match(part) else "")
    attributes = {"dev": str(int(nodes.local_index[row])), **({"gcn": gcn} if gcn else _sm(part, rate))}
    pad = "  " * depth
    peers: Counter[int] = tree.scale_up.get(row, Counter())
    tree.lines.append(f"{pad}<gpu {_said(attributes)}>")
    for other, count in peers.items():
        target = {"target": tree.bus[other], "count": str(count)}
        target["tclass"] = _NVSWITCH if kinds[other] == "scale_up_switch" else _CLASS["accelerator"]
        tree.lines.append(f"{pad}  <{'xgmi' if gcn else 'nvlink'} {_said(target)}/>")
    tree.lines.append(f"{pad}</gpu>")
    nominal = XGMI_GBPS.get(gcn, float("nan")) if gcn else nvlink_gbps(int(attributes.get("sm", "-1")))
    if peers and nominal != rate and not (np.isnan(nominal) and np.isnan(rate)):
        said = f"the rate of scale-up links, {rate:g} Gb/s here: NCCL takes the nominal one of the generation"
        tree.lost += [said] if said not in tree.lost else []


def _sm(part: str, rate: float) -> dict[str, str]:
    if part.startswith("sm_") and part[3:].isdecimal():
        return {"sm": part[3:]}
    found = next((number for word, number in reversed(_GENERATIONS) if word in part), _SM_OF_RATE.get(rate))
    return {"sm": str(found)} if found else {}


def _net(tree: _Tree, row: int, depth: int) -> None:
    """The outer ports of an adapter; one without any is an adapter all the same."""
    fabric = tree.fabric
    inner = np.zeros(len(fabric.ports), bool)
    at = fabric.links.kind.is_any("host_io")
    inner[fabric.links.port_a[at]] = inner[fabric.links.port_b[at]] = True
    ports = np.flatnonzero((fabric.ports.node == row) & ~inner)
    pad = "  " * depth
    tree.lines.append(f"{pad}<nic>")
    uid, number = str(fabric.nodes.uid[row]), int(fabric.nodes.local_index[row])
    for port in ports.tolist():
        rate = float(fabric.ports.gbps[port])
        attributes = {"name": str(fabric.nodes.name[row]), "dev": str(number if number >= 0 else row)}
        attributes |= {} if np.isnan(rate) else {"speed": str(round(rate * 1000))}
        attributes["port"] = str(fabric.ports.label[port] or "1")
        attributes |= {"guid": uid} if uid and not _BUS.match(uid.lower()) else {}
        tree.lines.append(f"{pad}  <net {_said(attributes)}/>")
    tree.lines.append(f"{pad}</nic>")
