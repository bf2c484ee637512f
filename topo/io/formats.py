"""The formats, one row each: how to recognise them, what reads and writes them, what they were held against."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.io.written import Written

__all__ = ["FORMATS", "Format"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that :func:`read` or :func:`write` knows: name, description, the functions that recognise and read it.

    ``sniff(head) -> bool`` looks at the first 262,144 characters; ``read(text, source) -> Fabric`` reads all
    of it. Both are named, and imported from ``module`` when first needed. ``options`` are the keywords beyond these
    that ``read`` takes; ``read_many(texts) -> Fabric`` takes several files of one fabric, each ``(text, source)``.
    ``held_against`` says which real files the tests read. ``writer`` is ``module:function`` of ``fabric ->
    Written``; ``suffix`` the ending of a file's name that means the format when it is written; ``takes_bytes`` is for
    files that are no text: ``sniff`` and ``read`` get all their bytes then.
    """

    name: str
    description: str
    module: str = ""
    sniff: str = ""
    read: str = ""
    options: tuple[str, ...] = ()
    read_many: str = ""
    held_against: str = ""
    writer: str = ""
    suffix: str = ""
    takes_bytes: bool = False

    def function(self, name: str) -> Callable[..., Any]:
        """The named function of the format's module."""
        found: Callable[..., Any] = getattr(importlib.import_module(self.module), name)
        return found

    def write(self, fabric: Fabric) -> Written:
        """The fabric as a file of this format."""
        module, _, name = self.writer.partition(":")
        found: Callable[[Fabric], Written] = getattr(importlib.import_module(module), name)
        return found(fabric)


FORMATS: tuple[Format, ...] = (
    Format(
        "native",
        "topo's own: every column, group and note kept",
        "topo.io.native",
        "is_native",
        "read_native",
        held_against="every fabric of the catalogue",
        writer="topo.io.native:write_native",
        suffix=".fabric",
        takes_bytes=True,
    ),
    Format(
        "ibnetdiscover",
        "InfiniBand subnet discovery: ibnetdiscover, its port list (-p), and ibsim net files",
        "topo.io.ibnetdiscover",
        "is_ibnetdiscover",
        "read_ibnetdiscover",
        held_against="19 dumps, three of them of whole machines",
    ),
    Format(
        "iblinkinfo",
        "InfiniBand links as iblinkinfo prints them, node by node or one a line (-l)",
        "topo.io.iblinkinfo",
        "is_iblinkinfo",
        "read_iblinkinfo",
        held_against="no real file",
    ),
    Format(
        "ibdiagnet",
        "ibdiagnet's net_dump: a block a switch, a row a port",
        "topo.io.ibdiagnet",
        "is_net_dump",
        "read_net_dump",
        held_against="no real file",
    ),
    Format(
        "ibdiagnet-csv",
        "ibdiagnet's db_csv: its sections of nodes, ports and links",
        "topo.io.ibdiagnet",
        "is_db_csv",
        "read_db_csv",
        held_against="no real file",
    ),
    Format(
        "slurm-topology",
        "Slurm's topology.conf, tree or block, and scontrol show topology; no rates",
        "topo.io.slurm_topology",
        "is_slurm_topology",
        "read_slurm_topology",
        held_against="9 files, JUPITER's among them",
        writer="topo.io.written.slurm:write_slurm_topology",
        suffix=".conf",
    ),
    Format(
        "slurm-yaml",
        "Slurm's topology.yaml: the default topology of the cluster, tree or block; no rates",
        "topo.io.slurm_yaml",
        "is_slurm_yaml",
        "read_slurm_yaml",
        held_against="7 files that Slurm refuses too",
        writer="topo.io.written.slurm:write_slurm_yaml",
    ),
    Format(
        "kubernetes",
        "Kubernetes nodes as JSON: tier labels of topograph and the clouds, levels of a Kueue Topology, or levels=; "
        "no rates",
        "topo.io.kubernetes",
        "is_kubernetes",
        "read_kubernetes",
        options=("levels",),
        held_against="no real file",
        writer="topo.io.written.kubernetes:write_kubernetes",
    ),
    Format(
        "netq",
        "NVIDIA NetQ's topology graph as JSON; no rates",
        "topo.io.netq",
        "is_netq",
        "read_netq",
        options=("hosts",),
        held_against="1 graph",
    ),
    Format(
        "air",
        "NVIDIA Air topology as JSON; no rates",
        "topo.io.air",
        "is_air",
        "read_air",
        options=("hosts",),
        held_against="1 lab, equal to its Hedgehog wiring",
        writer="topo.io.written.air:write_air",
    ),
    Format(
        "paddle",
        "HPE CANU's paddle file (CCJ) as JSON",
        "topo.io.air",
        "is_paddle",
        "read_paddle",
        options=("hosts",),
        held_against="1 file",
    ),
    Format(
        "node-link",
        "networkx node-link JSON",
        "topo.io.graphs",
        "is_node_link",
        "read_node_link",
        options=("hosts",),
        held_against="written by networkx",
    ),
    Format(
        "lldp",
        "LLDP neighbours: EOS, NAPALM and lldpctl as JSON, lldpctl as XML, text of EOS, NX-OS, IOS and SONiC; one "
        "device a file, or several files; no rates",
        "topo.io.lldp",
        "is_lldp",
        "read_lldp",
        options=("hosts",),
        read_many="read_lldp_files",
        held_against="13 outputs; none of SONiC's",
    ),
    Format(
        "graphml",
        "GraphML, parallel edges kept",
        "topo.io.graphs",
        "is_graphml",
        "read_graphml",
        options=("hosts",),
        held_against="3 networks",
        writer="topo.io.written.graphml:write_graphml",
        suffix=".graphml",
    ),
    Format(
        "sonic-minigraph",
        "SONiC minigraph XML",
        "topo.io.sonic",
        "is_minigraph",
        "read_minigraph",
        options=("hosts",),
        held_against="5 files",
    ),
    Format(
        "nccl",
        "NCCL and RCCL topology XML: the inside of one host",
        "topo.io.nccl",
        "is_nccl",
        "read_nccl",
        held_against="17 hosts",
        writer="topo.io.written.nccl:write_nccl",
    ),
    Format(
        "hedgehog",
        "Hedgehog wiring diagram: YAML objects with connections and breakouts",
        "topo.io.hedgehog",
        "is_hedgehog",
        "read_hedgehog",
        held_against="2 labs",
    ),
    Format(
        "infragraph",
        "InfraGraph YAML or JSON: instances and the edges between them; the inside of a device is not kept",
        "topo.io.infragraph",
        "is_infragraph",
        "read_infragraph",
        options=("hosts",),
        held_against="no real file",
        writer="topo.io.written.infragraph:write_infragraph",
    ),
    Format(
        "sonic-testbed",
        "SONiC testbed topology YAML (sonic-mgmt): ports of the switch under test; no rates",
        "topo.io.sonic_testbed",
        "is_testbed",
        "read_testbed",
        options=("hosts",),
        held_against="4 topologies",
    ),
    Format(
        "containerlab",
        "containerlab topology YAML; no rates",
        "topo.io.containerlab",
        "is_containerlab",
        "read_containerlab",
        held_against="2 labs",
    ),
    Format(
        "netlab",
        "netlab topology YAML after netlab create; no rates",
        "topo.io.containerlab",
        "is_netlab",
        "read_netlab",
        held_against="1 lab",
    ),
    Format(
        "topograph",
        "topograph model YAML: switches and blocks of nodes; no rates",
        "topo.io.topograph",
        "is_topograph",
        "read_topograph",
        held_against="6 models",
        writer="topo.io.written.topograph:write_topograph",
    ),
    Format(
        "astra-sim",
        "ASTRA-sim analytical network YAML",
        "topo.io.astra",
        "is_astra",
        "read_astra",
        held_against="5 networks",
        writer="topo.io.written.astra:write_astra",
    ),
    Format(
        "htsim",
        "htsim fat tree (.topo) of one to three tiers, its cables made from the counts",
        "topo.io.htsim",
        "is_htsim",
        "read_htsim",
        held_against="1 tree",
    ),
    Format(
        "dot",
        "DOT with ports, as PTM's topology.dot",
        "topo.io.dot",
        "is_dot",
        "read_dot",
        options=("hosts",),
        held_against="5 graphs",
        writer="topo.io.written.dot:write_dot",
        suffix=".dot",
    ),
    Format(
        "ns-3",
        "ns-3 topology file of HPCC, ASTRA-sim or SimAI",
        "topo.io.ns3",
        "is_ns3",
        "read_ns3",
        held_against="5 files; none of SimAI's",
        writer="topo.io.written.ns3:write_ns3",
    ),
    Format(
        "ibdm",
        "IBDM topology file (.topo, IBNL)",
        "topo.io.ibnl",
        "is_ibnl",
        "read_ibnl",
        options=("hosts",),
        held_against="2 files",
    ),
    Format(
        "schedule",
        "Point-to-point cable schedule: CSV, XLSX or UFM's NDT, a node and a port for either end; other headers are "
        "named with columns=; how many legs a port splits into, where no part says it, is learnt from the switch's "
        "other split ports",
        "topo.io.schedule",
        "is_schedule",
        "read_schedule",
        options=("columns", "hosts"),
        held_against="9 tables and 4 workbooks",
        writer="topo.io.written.schedule:write_schedule",
        suffix=".csv",
    ),
    Format(
        "slurm-block",
        "Slurm's topology.conf with the scale-up domains as blocks; read as slurm-topology",
        writer="topo.io.written.slurm:write_slurm_block",
    ),
    Format(
        "simai",
        "SimAI's topology file; read as ns-3",
        writer="topo.io.written.ns3:write_simai",
    ),
    Format(
        "netbox",
        "NetBox's CSV for the import of cables; read as schedule",
        writer="topo.io.written.netbox:write_netbox",
    ),
)
