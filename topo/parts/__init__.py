"""Standard parts by name: switches with their port modes, hosts with their insides, racks; each with its source."""

from topo.parts.domains import DOMAINS, host_template, scale_up_template
from topo.parts.hosts import HOSTS, HostPart, host_part
from topo.parts.servers import SERVERS
from topo.parts.switches import SWITCHES, PortMode, SwitchPart, switch_part
from topo.parts.template import DomainTemplate, HostTemplate

__all__ = [
    "DOMAINS",
    "HOSTS",
    "SERVERS",
    "SWITCHES",
    "DomainTemplate",
    "HostPart",
    "HostTemplate",
    "PortMode",
    "SwitchPart",
    "host_part",
    "host_template",
    "scale_up_template",
    "switch_part",
]
