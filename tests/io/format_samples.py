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

IBLINKINFO = """\
Switch: 0x00000000000000a1 MF0;leaf-1:MSB7700/U1:
      1    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       2    1[  ] "n1 mlx5_0" ( )
      1    2[  ] ==( 2X      53.125 Gbps Active/  LinkUp)==>       3    1[  ] "n2 mlx5_0" ( Could be 4X )
      1    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
CA: n1 mlx5_0:
      0x00000000000000b1      2    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       1    1[  ] "leaf-1" ( )
0x00000000000000b2 "   n2 mlx5_0"  3  1[  ] ==( 2X 53.125 Gbps Active/  LinkUp)==> 0x00000000000000a1 1  2[  ] "l" ( )
"""
NET_DUMP = """\
# ibdiagnet2.net_dump
"leaf-1", Mellanox, 0x00000000000000a1, LID 1
  # : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : Neighbor Description
  1/1/1 : 1 : ACT : LINK UP : 5 : 4x : 50 : RS : NO-RTR : 0x00000000000000b1 : 1 : 2 : "n1 mlx5_0"
  1/1/2 : 2 : ACT : LINK UP : 5 : 4x : 100 : RS : NO-RTR : 0x00000000000000a2 : 1/1/9 : 3 : "spine-1"
  1/2/1 : 3 : DOWN : POLL : N/A : N/A : N/A : N/A : N/A : : : :
"spine-1", Mellanox, 0x00000000000000a2, LID 3
  # : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : Neighbor Description
  1/1/9 : 17 : ACT : LINK UP : 5 : 4x : 100 : RS : NO-RTR : 0x00000000000000a1 : 2 : 1 : "leaf-1"
"""
DB_CSV = """\
# ibdiagnet
START_NODES
NodeDesc,NumPorts,NodeType,ClassVersion,NodeGUID
"leaf-1",64,2,1,0x00000000000000a1
"n1 mlx5_0, left",1,1,1,0x00000000000000b1
END_NODES
START_PORTS
NodeGuid,PortGuid,PortNum,LinkWidthActv,LinkSpeedActv
0x00000000000000a1,0x00000000000000a1,7,2,2048
0x00000000000000b1,0x00000000000000b1,1,2,2048
END_PORTS
START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x00000000000000a1,7,0x00000000000000b1,1
END_LINKS
"""
HTSIM = """\
# a tree
Nodes 8
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Bundle 1

Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Bundle 2
"""
INFRAGRAPH = """\
name: clos
devices:
- name: server
  components:
  - {name: xpu, count: 2, choice: xpu}
  - {name: nic, count: 2, choice: nic}
  edges:
  - {ep1: {component: xpu}, ep2: {component: nic}, link: pcie, scheme: one2one}
- name: switch
  components: [{name: asic, count: 1, choice: custom}, {name: port, count: 8, choice: port}]
instances:
- {name: host, device: server, count: 2}
- {name: leaf, device: switch, count: 2}
links:
- {name: eth, physical: {bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 50}}}
edges:
- ep1: {instance: "host[0:2]", component: "nic[0]"}
  ep2: {instance: "leaf[0]", component: "port[0:2]"}
  link: eth
  scheme: one2one
- {ep1: {instance: host, component: "nic[1]"}, ep2: {instance: "leaf[1]", component: "port[::4]"}, link: eth,
   scheme: one2one}
- {ep1: {instance: "leaf[0]", component: "port[7]"}, ep2: {instance: "leaf[1]", component: "port[7]"}, link: x,
   scheme: many2many}
"""
TESTBED = """\
topology:
  host_interfaces: [0, 1, "2,3"]
  VMs:
    ARISTA01T1:
      vlans: [28, 29]
      vm_offset: 0
    ARISTA02T1: {vlans: [30], vm_offset: 1}
configuration_properties: {common: {dut_type: ToRRouter}}
configuration: {}
"""
LLDP_IOS = """\
leaf-1#show lldp neighbors
Capability codes:
    (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device

Device ID           Local Intf     Hold-time  Capability      Port ID
spine-1.local.domainGi1/0/1         120        B               17
spine-2             Gi1/0/2        120        B,R             Gi0/2
480f.cf28.8a1b      Gi1/0/3        3601                       480f.cf28.8a1b

Total entries displayed: 3
"""
LLDP_NXOS = """\
leaf-1# show lldp neighbors
Device ID            Local Intf      Hold-time  Capability  Port ID
spine-1.with.a.long.name
                     Eth1/1          120        BR          Eth1/17
spine-2.pod.local  Eth1/2          120        BR            Eth1/18
server-1             Eth1/3          120                    ens1f0
"""
LLDP_EOS = """\
leaf-1>show lldp neighbors
Last table change time   : 5 days, 8:24:38 ago
Port          Neighbor Device ID       Neighbor Port ID    TTL
---------- ------------------------ ---------------------- ---
Et1           spine-1                  Ethernet7           120
Et2           server-1                 0011.2233.4455      120
"""
LLDP_EOS_LONG = """\
leaf-1>show lldp neighbors detail
Interface Ethernet1 detected 2 LLDP neighbors:

  Neighbor 0011.2233.4455/"0011.2233.4455", age 12 seconds
  - Chassis ID type: MAC address (4)
    Chassis ID     : 0011.2233.4455
  - Port ID type: MAC address(3)
    Port ID     : "0011.2233.4455"
  - Port Description: "ens1f0"
  - System Name: "server-1"
  Neighbor 0011.2233.4466/"Ethernet2", age 12 seconds
  - Chassis ID type: MAC address (4)
    Chassis ID     : 0011.2233.4466
    Port ID     : "Ethernet2"
  - System Name: "spine-1.company.com"
    Port ID                : 0

Interface Ethernet2 detected 0 LLDP neighbors:
"""
LLDP_NXOS_LONG = """\
leaf-1# show lldp neighbors detail
Chassis id: 0011.2233.4466
Port id: Ethernet1/7
Local Port id: Eth1/1
Port Description: to leaf-1
System Name: spine-1
Time remaining: 111 seconds

Chassis id: 0011.2233.4477
Port id: 0011.2233.4477
Local Port id: Eth1/2
Port Description: ens1f0
System Name: server-1
Total entries displayed: 2
"""
LLDP_SONIC = """\
admin@leaf-1:~$ show lldp table
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
-----------  --------------  -----------------  ------------  -----------------
Ethernet0    spine-1         Ethernet7          BR            to leaf-1
Ethernet4    server-1        00:11:22:33:44:55  O             ens1f0
--------------------------------------------------
Total entries displayed:  2
"""
LLDP_CTL = """\
admin@leaf-1:~$ show lldp neighbors
-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    Ethernet0, via: LLDP, RID: 1, Time: 0 day, 00:10:00
  Chassis:
    ChassisID:    mac 00:11:22:33:44:66
    SysName:      spine-1
    SysDescr:     Arista
    Capability:   Bridge, on
  Port:
    PortID:       ifname Ethernet7
    PortDescr:    to leaf-1
    TTL:          120
-------------------------------------------------------------------------------
Interface:    Ethernet4, via: LLDP, RID: 2, Time: 0 day, 00:10:00
  Chassis:
    ChassisID:    mac 00:11:22:33:44:55
    SysName:      server-1
  Port:
    PortID:       mac 00:11:22:33:44:55
    PortDescr:    ens1f0
"""
LLDP_XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<lldp label="LLDP neighbors">
 <interface label="Interface" name="Ethernet0" via="LLDP" rid="1">
  <chassis label="Chassis"><id label="ChassisID" type="mac">00:11:22:33:44:66</id><name>spine-1</name></chassis>
  <port label="Port"><id type="ifname">Ethernet7</id><descr>to leaf-1</descr></port>
 </interface>
 <interface label="Interface" name="Ethernet4" via="LLDP" rid="2">
  <chassis label="Chassis"><id label="ChassisID" type="mac">00:11:22:33:44:55</id></chassis>
  <port label="Port"><id type="mac">00:11:22:33:44:55</id><descr>ens1f0</descr></port>
 </interface>
</lldp>
"""
OTHER_LLDP = {
    "IOS": LLDP_IOS,
    "NX-OS": LLDP_NXOS,
    "EOS": LLDP_EOS,
    "EOS detail": LLDP_EOS_LONG,
    "NX-OS detail": LLDP_NXOS_LONG,
    "SONiC table": LLDP_SONIC,
    "lldpctl": LLDP_CTL,
    "lldpctl XML": LLDP_XML,
}
"""More spellings of what LLDP hears."""

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
    "iblinkinfo": (IBLINKINFO, (2, 1, 2)),
    "ibdiagnet": (NET_DUMP, (1, 2, 2)),
    "ibdiagnet-csv": (DB_CSV, (1, 1, 1)),
    "htsim": (HTSIM, (8, 12, 32)),
    "infragraph": (INFRAGRAPH, (2, 2, 5)),
    "sonic-testbed": (TESTBED, (4, 3, 7)),
}
