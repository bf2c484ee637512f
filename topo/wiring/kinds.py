"""Which devices are of one kind by their names: ``ncn-m001`` and ``ncn-m002`` are, ``gateway01`` is alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["kinds_of", "named", "stem"]

_SHOWN = 4
_SERIAL = re.compile(r"\d+[a-z]?(?![a-z])|(?<=[-_. ])[a-z]$")


def kinds_of(names: Sequence[str]) -> NDArray[np.int64]:
    """Number of the kind of each name: what is left of it without its numbers.

    A letter behind a number (``leaf1a``) or at the end (``gpu-a``) counts as one. Where most names are alone of their
    kind (``alice``, ``bob``; GUIDs) names say nothing, and all are one kind.

    >>> kinds_of(["dgx-01", "dgx-02", "leaf1a", "leaf1b", "gateway01"]).tolist()
    [0, 0, 2, 2, 1]
    >>> kinds_of(["alice", "bob", "carol"]).tolist()
    [0, 0, 0]
    """
    each, of_name = np.unique(np.array(names, np.str_), return_inverse=True)
    stems = [stem(name) for name in each.tolist()]
    _, kind, times = np.unique(np.array(stems, np.str_), return_inverse=True, return_counts=True)
    if 2 * (times == 1).sum() > len(each):
        return np.zeros(len(names), np.int64)
    return kind[of_name.ravel()].astype(np.int64)


def stem(name: str) -> str:
    """What is left of a name without its numbers.

    >>> stem("DGX-01"), stem("gpu-a")
    ('dgx-#', 'gpu-#')
    """
    return _SERIAL.sub("#", name.lower())


def named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are.

    >>> named(["a", "b", "c", "d", "e", "f"]), named(["a"])
    ('a, b, c, d and 2 more', 'a')
    """
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
