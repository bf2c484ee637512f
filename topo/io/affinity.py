"""How near the accelerators and adapters of a host are to each other: ``nvidia-smi topo -m``, or a host's fabric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topo.errors import FormatError, ParameterError
from topo.fabric import Fabric
from topo.table import Array

__all__ = ["CLOSENESS", "Affinity", "affinity_of_fabric", "affinity_of_text", "read_affinity"]

CLOSENESS = ("X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS")
"""From near to far: itself, NVLink, one PCIe switch, several, the host bridge, between bridges of a NUMA node, between
NUMA nodes. A pair's rank is its place here; -1 where the table does not say."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DEVICE = re.compile(r"(GPU|NIC)\d+\Z")
_OLD_NIC = re.compile(r"(mlx\d_\w+|hfi\w+|ib\w+)\Z")
_NIC_NAME = re.compile(r"\s*(NIC\d+):\s*(\S+)\s*\Z")
_LINKS = re.compile(r"(?:NV|XGMI)(\d+)\Z")


@dataclass(frozen=True, eq=False)
class Affinity:
    """Closeness of every pair of accelerators and adapters of one host.

    ``devices`` names them as the table does (``GPU0``, ``NIC0``), ``names`` as the system does (``mlx5_0``) where the
    table tells; ``rank[i, j]`` is the place in :data:`CLOSENESS`, ``links[i, j]`` the number of NVLinks, ``numa`` the
    NUMA node of each (-1 unknown).
    """

    devices: tuple[str, ...]
    names: tuple[str, ...]
    rank: NDArray[np.int8]
    links: NDArray[np.int16]
    numa: NDArray[np.int16]
    source: str = ""

    @property
    def gpus(self) -> NDArray[np.int64]:
        """Rows of the accelerators."""
        return np.flatnonzero([device.startswith("GPU") for device in self.devices])

    @property
    def nics(self) -> NDArray[np.int64]:
        """Rows of the adapters."""
        return np.flatnonzero([not device.startswith("GPU") for device in self.devices])

    def nearest_nic(self) -> tuple[tuple[str, ...], ...]:
        """The nearest adapters of each accelerator, by their names; several where they are equally near.

        >>> table = affinity_of_text(" GPU0 NIC0 NIC1\\nGPU0 X SYS PIX\\nNIC0 SYS X SYS\\nNIC1 PIX SYS X\\n")
        >>> table.nearest_nic()
        (('NIC1',),)
        """
        nearest = []
        for gpu in self.gpus.tolist():
            known = [nic for nic in self.nics.tolist() if self.rank[gpu, nic] >= 0]
            best = min((int(self.rank[gpu, nic]) for nic in known), default=-1)
            nearest.append(tuple(self.names[nic] for nic in known if self.rank[gpu, nic] == best))
        return tuple(nearest)


def read_affinity(path: str | Path) -> Affinity:
    """The table in a file with ``nvidia-smi topo -m``, or of the host in an NCCL topology XML.

    :raises FormatError: neither of the two.
    """
    from topo.io.text import read_text

    text, source = read_text(path)
    if "<system" in text[: 1 << 16]:
        from topo.io.nccl import read_nccl

        return affinity_of_fabric(read_nccl(text, source))
    return affinity_of_text(text, source)


def affinity_of_text(text: str, source: str = "") -> Affinity:
    """The table that ``nvidia-smi topo -m`` prints; colours of the terminal and the legend are understood.

    :raises FormatError: no line with devices, a row that is missing or short, or a word that is no closeness.
    """
    lines = [(i, _ANSI.sub("", line)) for i, line in enumerate(text.split("\n"), 1)]
    devices: list[str] = []
    rows: dict[str, tuple[int, list[str]]] = {}
    names: dict[str, str] = {}
    for number, line in lines:
        words = line.split()
        named = _NIC_NAME.match(line)
        if named:
            names[named[1]] = named[2]
        elif (
            not devices
            and words
            and _is_device(words[0])
            and (len(words) < 2 or _is_device(words[1]) or words[1] == "CPU")
        ):
            devices = _leading_devices(words)
        elif devices and words and words[0] in devices:
            if words[0] in rows:
                raise FormatError(f"a second row for {words[0]}; give one table", path=source or None, line=number)
            rows[words[0]] = number, words[1:]
    if not devices or not rows:
        raise FormatError("no table of devices; give the output of nvidia-smi topo -m", path=source or None)
    n = len(devices)
    if len(set(devices)) != n or n > 4096:
        raise FormatError("a device stands twice in the header, or there are over 4,096", path=source or None)
    rank, links = np.full((n, n), -1, np.int8), np.zeros((n, n), np.int16)
    numa = np.full(n, -1, np.int16)
    for i, device in enumerate(devices):
        if device not in rows:
            raise FormatError(f"no row for {device}; the table is cut", path=source or None)
        number, words = rows[device]
        if len(words) < n:
            said = f"the row of {device} has {len(words)} entries, the header names {n} devices"
            raise FormatError(said, path=source or None, line=number)
        for j, word in enumerate(words[:n]):
            rank[i, j], links[i, j] = _closeness(word, source, number)
        numa[i] = _numa(words[n:])
    return Affinity(tuple(devices), tuple(names.get(each, each) for each in devices), rank, links, numa, source)


def _is_device(word: str) -> bool:
    return bool(_DEVICE.match(word) or _OLD_NIC.match(word))


def _leading_devices(words: Sequence[str]) -> list[str]:
    devices = []
    for word in words:
        if not _is_device(word):
            break
        devices.append(word)
    return devices


def _closeness(word: str, source: str, line: int) -> tuple[int, int]:
    links = _LINKS.match(word)
    if links:
        return CLOSENESS.index("NV"), min(int(links[1][:4]), 9999)
    if word in CLOSENESS:
        return CLOSENESS.index(word), 0
    if word in ("N/A", "OK", "NS", "SOC"):
        return (CLOSENESS.index("SYS") if word == "SOC" else -1), 0
    raise FormatError(f"{word[:40]!r} is no closeness; known: {', '.join(CLOSENESS)}", path=source or None, line=line)


def _numa(rest: Sequence[str]) -> int:
    """NUMA node of a row: the word after the list of CPUs."""
    if len(rest) >= 2 and rest[1].isdecimal() and len(rest[1]) < 5:
        return int(rest[1])
    return -1


def affinity_of_fabric(fabric: Fabric, host: str | None = None) -> Affinity:
    """The table of one opened host of a fabric, from the PCIe tree inside it.

    :raises ParameterError: no such host, or no accelerator in it.
    """
    nodes = fabric.nodes
    rows = np.arange(len(nodes)) if host is None else np.flatnonzero(nodes.host.matches(host))
    kind = nodes.kind.values(rows)
    gpus, nics = rows[kind == "accelerator"], rows[kind == "nic"]
    if not gpus.size:
        raise ParameterError(f"no accelerator in {host or fabric.name!r}; a host that is opened has some")
    devices = np.concatenate([gpus, nics])
    up = _parents(fabric, rows)
    rank, links = np.full((len(devices),) * 2, -1, np.int8), np.zeros((len(devices),) * 2, np.int16)
    chains = [_chain(up, int(row)) for row in devices]
    for i, a in enumerate(chains):
        for j, b in enumerate(chains):
            rank[i, j] = 0 if i == j else _between(fabric, a, b)
    _mark_scale_up(fabric, gpus, rank, links)
    names = tuple(nodes.name[devices].tolist())
    titles = tuple([f"GPU{i}" for i in range(len(gpus))] + [f"NIC{i}" for i in range(len(nics))])
    numa = np.array([_numa_of(fabric, chain) for chain in chains], np.int16)
    return Affinity(titles, names, rank, links, numa, fabric.origin.sources[0] if fabric.origin.sources else "")


def _parents(fabric: Fabric, rows: Array) -> dict[int, int]:
    """The node above each in the PCIe tree: towards the CPU."""
    inside = set(rows.tolist())
    pairs = fabric.links.kind.is_any("host_io")
    near: dict[int, list[int]] = {}
    for a, b in zip(fabric.link_a[pairs].tolist(), fabric.link_b[pairs].tolist(), strict=True):
        if a in inside and b in inside:
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
    kind = fabric.nodes.kind
    front = [row for row in near if kind[row] == "cpu"]
    up = dict.fromkeys(front, -1)
    for row in front:
        for other in near[row]:
            if other not in up:
                up[other] = row
                front.append(other)
    return up


def _chain(up: dict[int, int], row: int) -> list[int]:
    chain = [row]
    while up.get(chain[-1], -1) >= 0:
        chain.append(up[chain[-1]])
    return chain


def _between(fabric: Fabric, a: list[int], b: list[int]) -> int:
    """Closeness of two devices by where their ways to the CPU meet."""
    meet = next((row for row in a if row in b), None)
    kind = fabric.nodes.kind
    if meet is None:
        return CLOSENESS.index("SYS") if kind[a[-1]] == kind[b[-1]] == "cpu" else -1
    if kind[meet] == "cpu":
        return CLOSENESS.index("PHB" if len(a) == len(b) == 2 else "NODE")
    bridges = a.index(meet) + b.index(meet) - 1
    return CLOSENESS.index("PIX" if bridges <= 1 else "PXB")


def _mark_scale_up(fabric: Fabric, gpus: Array, rank: Array, links: Array) -> None:
    """Set the pairs of accelerators, the first rows of the table, that scale-up links join: straight or by chips."""
    scale_up = fabric.links.kind.is_any("scale_up")
    ends = np.stack([fabric.link_a[scale_up], fabric.link_b[scale_up]])
    place = {int(row): i for i, row in enumerate(gpus)}
    near = CLOSENESS.index("NV")
    for a, b in ends.T.tolist():
        if a in place and b in place:
            i, j = place[a], place[b]
            rank[i, j] = rank[j, i] = near
            links[i, j] += 1
            links[j, i] += 1
    if not fabric.nodes.kind.is_any("scale_up_switch")[ends].any():
        return
    joined = np.bincount(ends.ravel(), minlength=len(fabric.nodes))[gpus].tolist()
    for i, mine in enumerate(joined):
        for j, theirs in enumerate(joined):
            if i != j and mine and theirs:
                rank[i, j], links[i, j] = near, min(mine, theirs)


def _numa_of(fabric: Fabric, chain: list[int]) -> int:
    last = chain[-1]
    return int(fabric.nodes.local_index[last]) if fabric.nodes.kind[last] == "cpu" else -1
