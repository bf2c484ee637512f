"""Read the inside of a host as NCCL and RCCL describe it: a topology XML file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import FormatError
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric, LinkTable, NodeTable, Origin, PortTable
from topo.io.descriptions import clean
from topo.io.notes import NoteBook, quoted
from topo.io.xml_text import local_name, parse_xml
from topo.parts.template import PCIE_CODING
from topo.table import Labels

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["XGMI_GBPS", "is_nccl", "nvlink_gbps", "read_nccl"]

_SYSTEM = re.compile(r"<(?:system|graphs)\b[^>]*>")
_GT = re.compile(r"\s*(\d{1,4}(?:\.\d{1,3})?)\s*GT/s", re.IGNORECASE)
XGMI_GBPS = {
    **dict.fromkeys(("908", "gfx908"), 368.0),
    **dict.fromkeys(("910", "90a", "gfx90a"), 400.0),
    **dict.fromkeys(("940", "gfx940", "gfx941", "gfx942"), 512.0),
}
"""Nominal rate of one xGMI link, one direction, by the generation (``gcn``) of the accelerator."""

_ACCELERATOR = ("0x0302", "0x0380", "0x1200", "0x0300")
_ADAPTER = ("0x0200", "0x0207", "0x0280")
_BRIDGE = "0x0604"
_NVSWITCH = "0x0680"
_MOST_LINKS = 64


@dataclass(slots=True)
class _Host:
    """The parts of a host as they are met, and the links between them."""

    notes: NoteBook
    name: list[str] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    uid: list[str] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    part: list[str] = field(default_factory=list)
    by_bus: dict[str, int] = field(default_factory=dict)
    links: list[tuple[int, int, float, str]] = field(default_factory=list)
    outer: list[tuple[int, str, float]] = field(default_factory=list)
    scale_up: dict[tuple[int, int], int] = field(default_factory=dict)
    rate: dict[int, float] = field(default_factory=dict)
    wanted: list[tuple[int, str, int, str]] = field(default_factory=list)

    def add(self, name: str, kind: str, *, uid: str = "", index: int = -1, part: str = "") -> int:
        self.name.append(clean(name))
        self.kind.append(kind)
        self.uid.append(uid[:64])
        self.index.append(index if -1 <= index < 2**15 else -1)
        self.part.append(clean(part))
        return len(self.name) - 1


def is_nccl(head: str) -> bool:
    """Whether the text has the root of a topology file, or of the graphs that NCCL dumps beside it."""
    return _SYSTEM.search(head[:65_536]) is not None and "<" in head[:16]


def read_nccl(text: str, source: str = "") -> Fabric:
    """The opened host in a topology file of NCCL or RCCL: CPUs, PCIe switches, accelerators, adapters, NVLink or xGMI.

    PCIe rates are transfers times width times the share of line coding; NVLink's are nominal for the accelerator's
    generation (``sm``), xGMI's for its ``gcn``; where a file does not tell, a rate is nan. Adapters have a free port
    for each ``net``, at its speed. Accelerators are the endpoints; their ``local_index`` is NCCL's ``dev``, else the
    order of the file.

    >>> fabric = read_nccl('''<system version="1"><cpu numaid="0">
    ...   <pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
    ...     <pci busid="0000:02:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
    ...     <pci busid="0000:03:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    ...   </pci></cpu></system>''')
    >>> fabric.nodes.kind.values().tolist(), fabric.links.capacity_gbps.tolist()
    (['cpu', 'pcie_switch', 'accelerator', 'nic'], [252.0, 252.0, 252.0])

    :raises FormatError: another root element, or no CPU in it.
    :raises InputError: not XML, or with entities.
    """
    root = parse_xml(text, source)
    if local_name(root) == "graphs":
        said = "these are the graphs NCCL searched (NCCL_GRAPH_DUMP_FILE), not the topology; give NCCL_TOPO_DUMP_FILE"
        raise FormatError(said, path=source or None)
    if local_name(root) != "system":
        raise FormatError(
            f"the root element is {quoted(root.tag, 40)}; a topology file has system", path=source or None
        )
    host = _Host(NoteBook(source))
    for element in root:
        if local_name(element) == "cpu":
            number = _number(element.get("numaid"))
            row = host.add(f"numa-{element.get('numaid', '?')}", "cpu", index=number, part=_cpu_part(element))
            _children(host, element, row)
        elif local_name(element):
            host.notes.add("element not understood", quoted(local_name(element), 40), severity="warning")
    if not host.name:
        raise FormatError("no cpu in the system; the file is cut, or not a topology", path=source or None)
    _join_scale_up(host)
    _settle_names(host)
    return _fabric(host, source)


def _cpu_part(element: Element) -> str:
    return " ".join(filter(None, (element.get("vendor"), element.get("arch"))))


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 5 else -1


def _children(host: _Host, element: Element, parent: int) -> None:
    """The parts below an element, depth first (the parser bounds the depth)."""
    for child in element:
        tag = local_name(child)
        if tag == "pci":
            _children(host, child, _pci(host, child, parent))
        elif tag == "gpu":
            _gpu(host, child, parent)
        elif tag == "nic":
            _children(host, child, parent)
        elif tag == "net":
            _net(host, child, parent)
        elif tag in ("xgmi", "nvlink", "c2c", "pcilink"):
            _scale_up(host, child, parent)
        elif tag:
            host.notes.add("element not understood", quoted(tag, 40), severity="warning")


def _pci(host: _Host, element: Element, parent: int) -> int:
    number = (element.get("class") or "").lower()
    bus = (element.get("busid") or "").lower()
    inside = {local_name(child) for child in element}
    if "gpu" in inside or number.startswith(_ACCELERATOR):
        kind = "accelerator"
    elif inside & {"nic", "net"} or number.startswith(_ADAPTER):
        kind = "nic"
    elif number.startswith(_BRIDGE) or "pci" in inside:
        kind = "pcie_switch"
    else:
        kind = "unknown"
        host.notes.add("PCI device of an unknown class", f"{bus[:40]} {number[:20] or 'none'}", severity="warning")
    words = {"accelerator": "gpu", "nic": "nic", "pcie_switch": "pcie", "unknown": "pci"}
    row = host.add(f"{words[kind]}-{bus or len(host.name)}", kind, uid=bus)
    if bus in host.by_bus:
        host.notes.add("bus id used twice", quoted(bus, 40), severity="warning")
    host.by_bus.setdefault(bus, row)
    host.links.append((parent, row, _pcie_gbps(host, element, bus), "host_io"))
    return row


def _pcie_gbps(host: _Host, element: Element, bus: str) -> float:
    speed, width = element.get("link_speed") or "", _number(element.get("link_width"))
    found = _GT.match(speed)
    coding = PCIE_CODING.get(float(found[1])) if found else None
    if found is None or coding is None or width < 1:
        if speed.strip() or element.get("link_width"):
            host.notes.add("PCIe rate not understood", f"{bus[:40]} {quoted(speed, 30)} x{width}")
        return float("nan")
    return float(np.floor(float(found[1]) * width * coding))


def _gpu(host: _Host, element: Element, row: int) -> None:
    host.kind[row] = "accelerator"
    host.index[row] = _number(element.get("dev"))
    sm, gcn = _number(element.get("sm")), (element.get("gcn") or "").lower()
    host.part[row] = clean(gcn or (f"sm_{sm}" if sm > 0 else ""))
    host.rate[row] = XGMI_GBPS.get(gcn, float("nan")) if gcn else nvlink_gbps(sm)
    _children(host, element, row)


def nvlink_gbps(sm: int) -> float:
    """Nominal rate of one NVLink by compute capability: 20 GB/s, 25 GB/s, or 50 GB/s from Blackwell on."""
    if 60 <= sm < 70:
        return 160.0
    if 70 <= sm < 100 and sm != 86:
        return 200.0
    return 400.0 if 100 <= sm < 200 else float("nan")


def _net(host: _Host, element: Element, row: int) -> None:
    speed = _number_of_mbps(element.get("speed"))
    if host.kind[row] != "nic":
        row = host.add(element.get("name") or f"net-{len(host.name)}", "nic")
        host.notes.add("adapter outside the PCIe tree; its way to the accelerators is unknown", host.name[row])
    elif host.name[row].startswith("nic-") and element.get("name"):
        host.name[row] = clean(element.get("name") or "")
        host.uid[row] = (element.get("guid") or host.uid[row])[:64]
    if host.index[row] < 0:
        host.index[row] = _number(element.get("dev"))
    host.outer.append((row, clean(element.get("port") or "1"), speed))


def _number_of_mbps(text: str | None) -> float:
    if text and text.isascii() and text.isdecimal() and len(text) < 9 and int(text):
        return int(text) / 1000
    return float("nan")


def _scale_up(host: _Host, element: Element, row: int) -> None:
    count = _number(element.get("count"))
    target = (element.get("target") or "").lower()
    if not 1 <= count <= _MOST_LINKS:
        host.notes.add(
            "scale-up link without a count that can be", quoted(element.get("count") or "", 20), severity="warning"
        )
        return
    host.wanted.append((row, target, count, (element.get("tclass") or "").lower()))


def _join_scale_up(host: _Host) -> None:
    """Links between accelerators, listed from both, and to switch chips or CPUs, listed from one."""
    listed: dict[tuple[int, int], list[int]] = {}
    for row, bus, count, number in host.wanted:
        target = host.by_bus.get(bus)
        if target is None and number.startswith(_NVSWITCH):
            target = host.by_bus[bus] = host.add(f"nvswitch-{bus}", "scale_up_switch", uid=bus)
        if target == row:
            host.notes.add("scale-up link of a device to itself", quoted(bus, 40), severity="warning")
            continue
        if target is None:
            host.notes.add("scale-up link to a device that is not in the file", quoted(bus, 40), severity="warning")
            continue
        listed.setdefault((min(row, target), max(row, target)), []).append(count)
    for (a, b), counts in listed.items():
        if len(set(counts)) > 1:
            host.notes.add(
                "the ends count different links", f"{host.name[a]} - {host.name[b]}: {counts}", severity="warning"
            )
        rates = [host.rate[row] for row in (a, b) if row in host.rate]
        rate = min(rates) if rates else float("nan")
        host.links += [(a, b, rate, "scale_up")] * min(counts)
    if not listed:
        host.notes.add("no scale-up link in it: NCCL finds NVLink and xGMI by itself")
    elif any(np.isnan(rate) for _, _, rate, kind in host.links if kind == "scale_up"):
        host.notes.add(
            "the rate of the scale-up links is open: the file does not tell the generation of the accelerators"
        )


def _settle_names(host: _Host) -> None:
    """Accelerators by ``dev`` or order, adapters in order; a name that comes again gets its bus id."""
    for kind, word in (("accelerator", "gpu"), ("nic", "")):
        rows = [row for row, each in enumerate(host.kind) if each == kind]
        numbers = [host.index[row] for row in rows]
        if len(set(numbers)) < len(rows) or -1 in numbers:
            numbers = list(range(len(rows)))
        for row, number in zip(rows, numbers, strict=True):
            host.index[row] = number
            if word:
                host.name[row] = f"{word}-{number}"
    times = Counter(host.name)
    for row, name in enumerate(host.name):
        if times[name] > 1:
            host.name[row] = clean(f"{name} {host.uid[row] or row}")


def _fabric(host: _Host, source: str) -> Fabric:
    label = clean(PurePath(source).stem) or "host"
    n = len(host.name)
    kind = Labels.of(host.kind)
    relays = ~kind.is_any("unknown", "cpu") if kind.is_any("accelerator").any() else ~kind.is_any("unknown")
    nodes = NodeTable(
        name=np.array(host.name, np.str_),
        uid=np.array(host.uid, np.str_),
        kind=kind,
        tier=np.where(kind.is_any("accelerator"), 0, -1).astype(np.int8),
        is_endpoint=kind.is_any("accelerator"),
        forwards=np.where(relays, FORWARDS_OWN_HOST, FORWARDS_NOTHING).astype(np.int8),
        host=Labels.constant(label, n),
        domain=Labels.of(label if each in ("accelerator", "scale_up_switch") else None for each in host.kind),
        local_index=np.array(host.index, np.int16),
        part=Labels.of(host.part),
    )
    ports, links = _wires(host, source)
    if kind.is_any("cpu").sum() > 1:
        host.notes.add("links between CPUs are not in such files; traffic between NUMA nodes has no way here")
    origin = Origin(
        made_by="read_nccl",
        sources=(source,) if source else (),
        assumptions=(
            "PCIe rates are transfers times width times the share of line coding; NVLink and xGMI are nominal",
            "CPUs are drawn with their links and relay nothing",
        ),
        notes=host.notes.notes(),
    )
    return Fabric(label, nodes, ports, links, origin=origin)


def _wires(host: _Host, source: str) -> tuple[PortTable, LinkTable]:
    """Ports and links: the outer ports of adapters first, free, then the two ends of every link inside."""
    used: Counter[int] = Counter()
    port_node: list[int] = []
    labels: list[str] = []
    gbps: list[float] = []
    for row, text, rate in host.outer:
        port_node.append(row)
        labels.append(text)
        gbps.append(rate)
    ends: list[list[int]] = [[], []]
    for a, b, rate, _ in host.links:
        for side, row in enumerate((a, b)):
            used[row] += 1
            ends[side].append(len(port_node))
            port_node.append(row)
            labels.append(f"inner-{used[row]}")
            gbps.append(rate)
    ports = PortTable(node=np.array(port_node, np.int32), label=Labels.of(labels), gbps=np.array(gbps, float))
    links = LinkTable(
        port_a=np.array(ends[0], np.int32),
        port_b=np.array(ends[1], np.int32),
        capacity_gbps=np.array([rate for _, _, rate, _ in host.links], float),
        kind=Labels.of(each for *_, each in host.links),
        source=Labels.constant(source, len(host.links)),
    )
    return ports, links
