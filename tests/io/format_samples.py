"""A small good file of every format, written for these tests, and what it holds: endpoints, switches, links."""

from __future__ import annotations

SCHEDULE = """\
Cables of hall 1,,,,,,,,
A-Node Name,A-Port,A-Rack,A-U,Z-Node Name,Z-Port,Z-Rack,Speed,Length,Notes,,
leaf-1,1/1/1,R1,U40,spine-1,1,R2,400G,3m,,,spare part
leaf-1,1/1/2,R1,U40,spine-1,2,R2,400G,3m,,,
spine-1,1,R2,U40,leaf-1,1/1/1,R1,400G,3m,,,
dgx-1,HCA-1,R1,U1,leaf-1,2/1/1,R1,200G,10 ft,,,
dgx-1,HCA-2,R1,U1,leaf-1,2/1/2,R1,200G,0.5,,,
"""
SLURM = """\
# two tiers
SwitchName=root Level=1 LinkSpeed=1 Nodes=n[01-04] Switches=leaf[1-2]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[01-02]
SwitchName=leaf2 Level=0 LinkSpeed=1 \\
    Nodes=n[03-04]
"""
SLURM_YAML = """\
---
- topology: other
  flat: true
- topology: main
  cluster_default: true
  block:
    block_sizes: [2, 4]
    blocks:
      - block: b1
        nodes: n[1-2]
      - block: b2
        nodes: [n3, n4]
"""
KUBERNETES = """\
{"kind": "List", "items": [
 {"kind": "Node", "metadata": {"name": "a", "labels": {"network.topology.nvidia.com/leaf": "l1",
  "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/accelerator": "A.32766"}}},
 {"kind": "Node", "metadata": {"name": "b", "labels": {"network.topology.nvidia.com/leaf": "l2",
  "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/accelerator": "B.32766"}}},
 {"kind": "Node", "metadata": {"name": "c", "labels": {"network.topology.nvidia.com/leaf": "l2",
  "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/accelerator": "C.32766"}}}]}
"""
NETQ = """\
[{"nodes": [{"id": "t", "node_type": "tier", "compounded_nodes": [
   {"id": "n1", "name": "leaf1", "device_type": "switch", "node_type": "device"},
   {"id": "n2", "name": "gpu1", "device_type": "host", "node_type": "device"}]}],
  "links": [{"id": "n1-*-n2", "interfaces": [{"node": "n1"}, {"node": "n2"}], "compounded_links": [
   {"interfaces": [{"node": "n1", "interface": "swp1s0"}, {"node": "n2", "interface": "ens1f0np0"}]},
   {"interfaces": [{"node": "n1", "interface": "swp1s1"}, {"node": "n2", "interface": "ens1f1np1"}]}]}]}]
"""
AIR = """\
{"format": "JSON", "title": "lab", "content": {
 "nodes": {"leaf1": {"os": "cumulus-vx-5.9"}, "server1": {"os": "ubuntu"}},
 "links": [[{"node": "leaf1", "interface": "swp1"}, {"node": "server1", "interface": "eth1"}],
           [{"node": "leaf1", "interface": "eth0"}, "exit"]]}}
"""
PADDLE = """\
{"canu_version": "1", "topology": [
 {"common_name": "sw-leaf-001", "id": 0, "type": "switch", "model": "m", "location": {"rack": "x1"}, "ports": [
  {"port": 1, "speed": 25, "slot": null, "destination_node_id": 1, "destination_port": 2, "destination_slot": "ocp"}]},
 {"common_name": "ncn-m001", "id": 1, "type": "server", "ports": [
  {"port": 2, "speed": 25, "slot": "ocp", "destination_node_id": 0, "destination_port": 1, "destination_slot": null}]}]}
"""
NODE_LINK = """\
{"directed": false, "multigraph": true, "graph": {},
 "nodes": [{"id": 0, "kind": "switch"}, {"id": 1, "kind": "host"}],
 "links": [{"source": 0, "target": 1, "key": 0, "capacity_gbps": 100},
           {"source": 0, "target": 1, "key": 1, "speed": "?"}]}
"""
LLDP = """\
{"leaf1": {"Ethernet1": [{"hostname": "spine1.dc", "port": "Et7"}],
           "Ethernet2": [{"hostname": "server1", "port": "00:11:22:33:44:55"}, {"hostname": "vm9", "port": "eth0"}]},
 "spine1": {"lldpNeighbors": [{"port": "Ethernet7", "neighborDevice": "leaf1", "neighborPort": "Ethernet1"}]}}
"""
GRAPHML = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
 <key id="d0" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
 <key id="d1" for="node" attr.name="role" attr.type="string"/>
 <graph edgedefault="undirected">
  <node id="s"><data key="d1">switch</data></node><node id="h"><data key="d1">host</data></node>
  <edge source="s" target="h"><data key="d0">1e10</data></edge>
  <edge source="s" target="h"><data key="d0">4e10</data></edge>
 </graph>
</graphml>
"""
MINIGRAPH = """\
<DeviceMiniGraph xmlns="Microsoft.Search.Autopilot.Evolution" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">
 <PngDec><DeviceInterfaceLinks>
  <DeviceLinkBase i:type="DeviceInterfaceLink"><Bandwidth>40000</Bandwidth><EndDevice>leaf</EndDevice>
   <EndPort>Ethernet0</EndPort><StartDevice>tor</StartDevice><StartPort>Ethernet8</StartPort></DeviceLinkBase>
  <DeviceLinkBase i:type="DeviceInterfaceLink"><EndDevice>srv</EndDevice>
   <EndPort>eth0</EndPort><StartDevice>tor</StartDevice><StartPort>Ethernet12</StartPort></DeviceLinkBase>
 </DeviceInterfaceLinks>
 <Devices><Device i:type="LeafRouter"><Hostname>leaf</Hostname><HwSku>X</HwSku></Device>
  <Device i:type="ToRRouter"><Hostname>tor</Hostname></Device><Device i:type="Server"><Hostname>srv</Hostname></Device>
 </Devices></PngDec>
</DeviceMiniGraph>
"""
NCCL = """\
<system version="1">
 <cpu numaid="0" arch="x86_64" vendor="GenuineIntel">
  <pci busid="0000:01:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
   <pci busid="0000:02:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
    <gpu dev="0" sm="90"><nvlink target="0000:0a:00.0" count="2" tclass="0x068000"/></gpu></pci>
   <pci busid="0000:03:00.0" class="0x020700" link_speed="16 GT/s" link_width="16">
    <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1"/></nic></pci></pci></cpu>
 <cpu numaid="1">
  <pci busid="0000:04:00.0" class="0x030200" link_speed="" link_width="0">
   <gpu dev="1" sm="90"><nvlink target="0000:0a:00.0" count="2" tclass="0x068000"/></gpu></pci></cpu>
</system>
"""
HEDGEHOG = """\
apiVersion: wiring.githedgehog.com/v1beta1
kind: Switch
metadata:
  name: leaf-1
spec:
  role: server-leaf
  portBreakouts:
    E1/2: 4x25G
---
# a server
apiVersion: wiring.githedgehog.com/v1beta1
kind: Server
metadata: {name: server-1}
spec: {}
---
apiVersion: wiring.githedgehog.com/v1beta1
kind: Connection
metadata: {name: c1}
spec:
  bundled:
    links:
    - server: {port: server-1/enp2s1}
      switch: {port: leaf-1/E1/2/1}
    - server: {port: server-1/enp2s2}
      switch: {port: leaf-1/E1/2/2}
---
apiVersion: wiring.githedgehog.com/v1beta1
kind: Connection
metadata: {name: out}
spec: {external: {link: {switch: {port: leaf-1/E1/9}}}}
"""
CONTAINERLAB = """\
name: lab
topology:
  nodes:
    leaf1: {kind: srl}
    client1: {kind: linux}
  links:
    - endpoints: ["leaf1:e1-1", "client1:eth1"]
    - endpoints: ["leaf1:e1-2", "mgmt-net:x"]
"""
NETLAB = """\
provider: clab
nodes:
  l1: {device: eos}
  h1: {device: linux}
links:
- interfaces:
  - {node: l1, ifname: Ethernet1}
  - {node: h1, ifname: eth1}
- interfaces:
  - {node: l1, ifname: Ethernet2}
"""
TOPOGRAPH = """\
switches:
  core:
    switches: [s1, s2]
  s1:
    switches: [l1, l2]
blocks:
- switch: l1
  nodes: ["n[1-2]"]
  annotations: {accelerator.topology.test/domain: nvl1}
- switch: s2
  nodes: [n3]
"""
ASTRA = """\
topology: [ Ring, Switch ]
npus_count: [ 4, 2 ]
bandwidth: [ 50, tbd ]  # GB/s
latency: [ 500, 500 ]
"""
DOT = """\
graph lab { // a comment
 L1="match_type=ifname"
 "leaf01" [function="leaf" config="./helper.sh"]
 node [shape=box label=<<b>x</b>>]
 "leaf01":"swp51" -- "spine01":"swp1" [LLDP="lldptmpl=L1"]
 "server01":"eth1" -- "leaf01":"swp1" [left_mac="00:03:00:11:11:01"] # another
 "leaf01":"swp45" -- "leaf01":"swp46"
 a -- "leaf01" [style=invis]
}
"""
NS3 = """\
4 1 4
3
0 3 100Gbps 1000ns 0.000000
0 3 100Gbps 1000ns 0.000000
1 3 100Gbps 1000ns 0
2 3 400Gbps 0.0005ms 0
"""
IBDM = """\
# two switches
SX6036 sw1
    P1 -4x-14G-> SX6036 sw2 P1
    P10 -> MT25408 H-1 P1

SX6036 sw2
    P1 -4x-14G-> SX6036 sw1 P1
    P10 -> MT25408 H-2 P1
"""

SAMPLES: dict[str, tuple[str, tuple[int, int, int]]] = {
    "schedule": (SCHEDULE, (2, 2, 4)),
    "slurm-topology": (SLURM, (4, 3, 6)),
    "slurm-yaml": (SLURM_YAML, (4, 3, 6)),
    "kubernetes": (KUBERNETES, (3, 3, 5)),
    "netq": (NETQ, (1, 1, 2)),
    "air": (AIR, (1, 1, 1)),
    "paddle": (PADDLE, (1, 1, 1)),
    "node-link": (NODE_LINK, (1, 1, 2)),
    "lldp": (LLDP, (2, 2, 3)),
    "graphml": (GRAPHML, (1, 1, 2)),
    "sonic-minigraph": (MINIGRAPH, (1, 2, 2)),
    "nccl": (NCCL, (2, 0, 8)),
    "hedgehog": (HEDGEHOG, (1, 1, 2)),
    "containerlab": (CONTAINERLAB, (1, 1, 1)),
    "netlab": (NETLAB, (1, 1, 1)),
    "topograph": (TOPOGRAPH, (3, 5, 7)),
    "astra-sim": (ASTRA, (8, 4, 16)),
    "dot": (DOT, (1, 2, 3)),
    "ns-3": (NS3, (3, 1, 4)),
    "ibdm": (IBDM, (2, 2, 3)),
}
