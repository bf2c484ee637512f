"""One LLDP neighbour on one local port, whatever the format that told it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from topo.io.cables import CableBook

__all__ = ["Heard", "heard"]

_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\Z|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """One neighbour on one local port: its name, its word for its port, and the description of that port.

    ``mac`` is the address that its port was told by, where the description is taken for its word.
    ``port`` is '' where the output does not say on which local port it was heard; ``cut`` marks a name as long as
    the column that it stands in, which may have lost its end.
    """

    port: str
    far: str
    far_port: str
    about: str = ""
    cut: bool = False
    line: int = 0
    mac: str = ""


def heard(
    book: CableBook, device: str, port: Any, name: Any, far: Any, about: Any, *, line: int = 0, cut: bool = False
) -> Iterator[Heard]:
    """The neighbour that these texts tell; a port told by its MAC address goes by its description if there is one."""
    port, name, far, about = (str(each).strip().strip('"').strip() if each else "" for each in (port, name, far, about))
    if not name:
        book.misfit("neighbour without a name or a local port", f"{device} {port} {name}", line)
        return
    if not port:
        book.notes.add("neighbour without its local port, kept on a port of its own", f"{device}: {name}", line)
    if _MAC.match(far) and about:
        said = f"{name} {far}: {about}"
        book.notes.add("neighbour's port told by its MAC address; its description is taken", said, line)
        yield Heard(port, name, about, about, cut, line, mac=far)
        return
    yield Heard(port, name, far, about, cut, line)
