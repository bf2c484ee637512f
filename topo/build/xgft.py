"""Extended generalized fat-trees, and k-ary n-trees as a case of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import listed
from topo.build.layers import SWITCH_WORDS, at_least, positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["k_ary_n_tree", "xgft"]

_MOST_LEVELS = 9


def xgft(
    children: Sequence[int],
    parents: Sequence[int],
    *,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    name: str | None = None,
) -> Fabric:
    """The tree XGFT(h; m_1 .. m_h; w_1 .. w_h): a node has m_i ``children`` at level i, w_i ``parents`` at level i - 1.

    There are prod m_i hosts, prod_{j > i} m_j * prod_{j <= i} w_j switches at level i, and w_i links up from each node
    of level i - 1. With w_1 = 1 the bisection is full where w_{i+1} >= m_i for every i below h (Ohring et al., IPPS
    1995). A k-ary fat-tree is ([k/2, k/2, k], [1, k/2, k/2]).

    >>> f = xgft([2, 2, 4], [1, 2, 2])
    >>> len(f.endpoints), [int((f.nodes.tier[f.switches] == t).sum()) for t in (1, 2, 3)]
    (16, [8, 8, 4])

    :raises ParameterError: lists of unequal length, or counts below 1.
    """
    children, parents = listed(children, "children", [4, 4]), listed(parents, "parents", [1, 4])
    if len(children) != len(parents) or not 1 <= len(children) <= _MOST_LEVELS:
        raise ParameterError(
            f"children lists {len(children)} levels and parents {len(parents)}; give 1 to {_MOST_LEVELS}, as "
            "many of each"
        )
    positive(**{f"children[{i}]": m for i, m in enumerate(children, 1)})
    positive(**{f"parents[{i}]": w for i, w in enumerate(parents, 1)})
    m, w = [int(x) for x in children], [int(x) for x in parents]
    h = len(m)
    size = [math.prod(m[i:]) * math.prod(w[:i]) for i in range(h + 1)]
    refuse_too_many(float(sum(size)), "nodes")
    refuse_too_many(float(sum(size[i] * w[i] for i in range(h))), "links")
    link = parse_gbps(link_gbps)
    rates = [link if host_gbps is None else parse_gbps(host_gbps), *[link] * (h - 1)]
    assembly = Assembly(name or f"XGFT({h}; {','.join(map(str, m))}; {','.join(map(str, w))})")
    below = _hosts(assembly, size[0], _subtree(m, w, 0))
    for i in range(1, h + 1):
        rows = assembly.add_nodes(
            numbered(f"{SWITCH_WORDS.get(i, f'tier{i}')}-{{}}", np.arange(1, size[i] + 1)),
            kind="switch",
            tier=i,
            pod=_pods(_subtree(m, w, i)),
        )
        # A node is (place among the subtrees of its level, number among its likes): child and parent agree in all
        # but one digit of each.
        number = math.prod(w[: i - 1])
        subtree, own = np.divmod(np.arange(size[i - 1]), number)
        parent = (subtree // m[i - 1] * w[i - 1])[:, None] + np.arange(w[i - 1])
        up = parent * number + own[:, None]
        assembly.connect(
            np.repeat(below, w[i - 1]), rows[up.ravel()], rates[i - 1], kind="access" if i == 1 else "scale_out"
        )
        below = rows
    return assembly.finish(Origin(made_by=f"xgft({m}, {w}, link_gbps={link_gbps})"))


def _subtree(m: list[int], w: list[int], level: int) -> Array | None:
    """Which top subtree each node of a level is in; None for the top, and where a tree is too low to have pods."""
    if len(m) < 3 or level == len(m):
        return None
    size = math.prod(m[level:-1]) * math.prod(w[:level])
    return np.arange(m[-1] * size) // size


def _pods(subtree: Array | None) -> Labels | None:
    return None if subtree is None else Labels(subtree, numbered("pod-{}", np.arange(1, int(subtree[-1]) + 2)))


def _hosts(assembly: Assembly, n: int, subtree: Array | None) -> Array:
    names = numbered("host-{}", np.arange(1, n + 1))
    return assembly.add_nodes(
        names,
        kind="host",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels.distinct(names),
        pod=_pods(subtree),
    )


def k_ary_n_tree(k: int, n: int, *, link_gbps: float = 400, name: str | None = None) -> Fabric:
    """The k-ary n-tree: k^n hosts under n levels of k^(n-1) switches, each with k links down and, below the top, k up.

    It is XGFT(n; k, .., k; 1, k, .., k) and has full bisection (Petrini and Vanneschi, IPPS 1997).

    >>> f = k_ary_n_tree(4, 3)
    >>> len(f.endpoints), len(f.switches), len(f.links)
    (64, 48, 192)

    :raises ParameterError: k below 2, whose switches are wires in a row, n below 1, or more levels than are built.
    """
    at_least(2, k=k)
    positive(n=n)
    if n > _MOST_LEVELS:
        raise ParameterError(f"n is {n}; the nearest that can be built is {_MOST_LEVELS}")
    return xgft([k] * n, [1] + [k] * (n - 1), link_gbps=link_gbps, name=name or f"{k}-ary {n}-tree")
