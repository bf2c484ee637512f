"""How the switches of a fabric forward, told by their parts: InfiniBand by destination, Ethernet by hashing."""

from __future__ import annotations

from topo.fabric import Fabric
from topo.parts.switches import SWITCHES

__all__ = ["INFINIBAND_MODEL", "infiniband_assumption", "is_infiniband"]

INFINIBAND_MODEL = "InfiniBand forwards by destination (LID), not by hashing: ECMP here is a model"
"""What an answer about hashed or evenly split flows says of itself on an InfiniBand fabric."""

_PARTS = tuple(part.name for part in SWITCHES if "InfiniBand" in part.title)
_READERS = ("read_ibnetdiscover", "read_iblinkinfo", "read_net_dump", "read_db_csv", "read_ibnl")


def is_infiniband(fabric: Fabric) -> bool:
    """Whether switches of a fabric are known to be InfiniBand's: by their standard part, or as it was discovered.

    >>> import topo
    >>> [is_infiniband(topo.load(name)) for name in ("nvidia-superpod-h100-1su", "alibaba-hpn-segment")]
    [True, False]
    """
    if fabric.origin.made_by in _READERS:
        return True
    return bool(fabric.nodes.part.is_any(*_PARTS)[fabric.switches].any())


def infiniband_assumption(fabric: Fabric, assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """The assumptions of an answer under ECMP, with one line on InfiniBand where the fabric is that.

    >>> import topo
    >>> infiniband_assumption(topo.load("nvidia-superpod-h100-1su"), ("fluid shares",))[1]
    'InfiniBand forwards by destination (LID), not by hashing: ECMP here is a model'
    >>> infiniband_assumption(topo.fat_tree(4), ("fluid shares",))
    ('fluid shares',)
    """
    if not is_infiniband(fabric):
        return assumptions
    return (*(text for text in assumptions if not text.startswith("InfiniBand forwards")), INFINIBAND_MODEL)
