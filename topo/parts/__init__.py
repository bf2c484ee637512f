"""Standard parts by name: switches with their port modes, hosts with their adapters, each with its source."""

from topo.parts.hosts import HOSTS, HostPart, host_part
from topo.parts.switches import SWITCHES, PortMode, SwitchPart, switch_part

__all__ = ["HOSTS", "SWITCHES", "HostPart", "PortMode", "SwitchPart", "host_part", "switch_part"]
