"""What a named node is, from the words a file has for it: a role, a name, the spelling of its ports."""

from __future__ import annotations

import re

__all__ = ["kind_of_name", "kind_of_role"]

_SWITCH_ROLE = re.compile(
    r"leaf|spine|switch|router|\btor\b|aggregation|\bcore\b|fabric|fanout|gateway|\bsw\b|border|firewall|controller|exit"
    r"|internetrouter|mgmttor",
    re.IGNORECASE,
)
_HOST_ROLE = re.compile(
    r"\bhost|server|compute|client|\bgpu\b|\bnode\b|endpoint|worker|storage|\bvm\b|\bnic\b|\bhca\b|\bca\b",
    re.IGNORECASE,
)
_SWITCH_NAME = re.compile(
    r"leaf|spine|switch|router|fanout|\btor\d*\b|(?:\b|_)(?:i?sw|core|agg|asw|psw|dsw|tor|csw|rsw|fsw|ssw)[-_]?\d|\bsw[-_]",
    re.IGNORECASE,
)
_HOST_NAME = re.compile(
    r"server|(?:\b|_|\d)(?:host|dgx|hgx|gpu|client|compute|srv|worker)s?(?:\b|[-_]?\d|_)|\bnode[-_]?\d|\bncn-|\b(?:cn|uan)\d",
    re.IGNORECASE,
)


def kind_of_role(role: str) -> str:
    """``switch`` or ``host`` for a role, type or function that a file states; '' for one that tells nothing.

    >>> kind_of_role("l3leaf"), kind_of_role("Server"), kind_of_role("dcim.interface"), kind_of_role("super-spine")
    ('switch', 'host', '', 'switch')
    """
    if role == "server-leaf" or _SWITCH_ROLE.search(role):
        return "switch"
    return "host" if _HOST_ROLE.search(role) else ""


def kind_of_name(name: str) -> str:
    """``switch`` or ``host`` for a name that holds a word for one; '' for one that does not.

    >>> [kind_of_name(name) for name in ("A09-P1-IBLEAF-01-01", "b08-p1-dgx-08-c01", "Server 1", "luna-0001", "sw1")]
    ['switch', 'host', 'host', '', 'switch']
    """
    if _SWITCH_NAME.search(name):
        return "switch"
    return "host" if _HOST_NAME.search(name) else ""
