"""Read SONiC's minigraph XML: the links of one switch and its neighbours, as the device is told them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.notes import quoted
from topo.io.xml_text import local_name, parse_xml, text_in

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["is_minigraph", "read_minigraph"]

_ROOT = re.compile(r"<DeviceMiniGraph\b")
_LINKS = ("DeviceInterfaceLink", "DeviceLinkBase")
_OTHER = ("DeviceMgmtLink", "UnderlayInterfaceLink", "DeviceSerialLink")


def is_minigraph(head: str) -> bool:
    """Whether the root element is a minigraph's."""
    return _ROOT.search(head[:65_536]) is not None


def read_minigraph(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The planned links of a minigraph (``PngDec``): both ends with their ports, the bandwidth in Mb/s.

    Ports stay as they are named: one device's alias may be another port's name. A device's type (``LeafRouter``,
    ``Server``) tells what it is.

    >>> start = "<StartDevice>l1</StartDevice><StartPort>Ethernet0</StartPort>"
    >>> end = "<EndDevice>s1</EndDevice><EndPort>eth1</EndPort><Bandwidth>40000</Bandwidth>"
    >>> fabric = read_minigraph(f'''<DeviceMiniGraph><PngDec><DeviceInterfaceLinks>
    ...   <DeviceLinkBase>{start}{end}</DeviceLinkBase></DeviceInterfaceLinks></PngDec></DeviceMiniGraph>''')
    >>> fabric.nodes.name.tolist(), fabric.links.capacity_gbps.tolist()
    (['l1', 's1'], [40.0])

    :raises FormatError: another root element, or mostly links without two ends.
    :raises InputError: not XML, or with entities.
    """
    root = parse_xml(text, source)
    if local_name(root) != "DeviceMiniGraph":
        raise FormatError(f"the root element is {quoted(root.tag, 40)}, not DeviceMiniGraph", path=source or None)
    book = CableBook(source, "read_minigraph", hosts=hosts)
    physical = next((element for element in root if local_name(element) == "PngDec"), None)
    if physical is None:
        raise FormatError("no PngDec in it: a minigraph without links", path=source or None)
    for device in (element for element in physical.iter() if local_name(element) == "Device"):
        _device(book, device)
    for link in (element for element in physical.iter() if local_name(element) == "DeviceLinkBase"):
        _link(book, link)
    book.refuse_misread("the links of a minigraph")
    return book.to_fabric()


def _kind(element: Element) -> str:
    """The type of a device or a link, by its attribute or its ElementType."""
    stated = next((value for key, value in element.attrib.items() if key.endswith("type")), "")
    return (stated or text_in(element, "ElementType")).rpartition(":")[2]


def _device(book: CableBook, device: Element) -> None:
    name = text_in(device, "Hostname")
    if name:
        book.node(name, kind=_kind(device), part=text_in(device, "HwSku"))


def _link(book: CableBook, link: Element) -> None:
    said = _kind(link)
    ends = [text_in(link, tag) for tag in ("StartDevice", "StartPort", "EndDevice", "EndPort")]
    if not all(ends):
        book.misfit("link without two ends", f"{said} {' '.join(filter(None, ends))}", 0)
        return
    if said == "LogicalLink":
        book.notes.add("logical link, not a cable; left out", " ".join(ends))
        book.understood += 1
        return
    if said and said not in _LINKS and said not in _OTHER:
        book.notes.add("link of a kind that is not known, kept", quoted(said, 40))
    rate = Rate.of(text_in(link, "Bandwidth"), default_unit="M")
    a, b = book.port(ends[0], ends[1]), book.port(ends[2], ends[3])
    book.cable(a, b, rate=rate, kind="management" if said in ("DeviceMgmtLink", "DeviceSerialLink") else "")
