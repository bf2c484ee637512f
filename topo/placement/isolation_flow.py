"""What a job owns, the routing that colouring gives for a permutation, and what a permutation gets at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.progress import solving
from topo.table import Array

__all__ = ["Owned", "Way", "permutation_theta", "routed"]

Way = tuple[int, int, int, int]
"""(source leaf, sink leaf, spine index or -1, core or -1) of one flow."""


@dataclass(frozen=True)
class Owned:
    """Leaf by leaf: pod, nodes, spine indices it owns an uplink to; ``core[pod, index]`` the cores of that spine."""

    pod: tuple[int, ...]
    nodes: tuple[int, ...]
    up: tuple[frozenset[int], ...]
    core: dict[tuple[int, int], frozenset[int]]

    @property
    def leaf_of_node(self) -> NDArray[np.int64]:
        """Leaf of every node."""
        return np.repeat(np.arange(len(self.nodes)), self.nodes)


def routed(owned: Owned, permutation: ArrayLike) -> list[Way]:
    """A way for each flow of a permutation, no owned link used twice; by colouring, under the sufficient conditions.

    The flows between leaves are a bipartite multigraph; the remainder leaf is padded with edges to itself until it is
    n-regular, so it falls into n perfect matchings, one for each spine index. Inside an index the flows between pods
    are coloured the same way by cores.

    >>> sets = (frozenset({0, 1}), frozenset({0, 1}))
    >>> routed(Owned(pod=(0, 0), nodes=(2, 2), up=sets, core={}), [2, 3, 0, 1])
    [(0, 1, 0, -1), (1, 0, 0, -1), (0, 1, 1, -1), (1, 0, 1, -1)]

    :raises ParameterError: the flows do not fall into such matchings: the conditions do not hold.
    """
    leaf = owned.leaf_of_node
    wanted = np.asarray(permutation, np.int64)
    n_leaves, full = len(owned.nodes), max(owned.nodes)
    flows = np.zeros((n_leaves, n_leaves), np.int64)
    np.add.at(flows, (leaf, leaf[wanted]), 1)
    wide = next(i for i, n in enumerate(owned.nodes) if n == full)
    colours = _coloured(flows, np.array([full - n for n in owned.nodes]), [owned.up[i] for i in range(n_leaves)],
                        owned.up[wide])  # fmt: skip
    ways: list[Way] = []
    for index, pairs in colours.items():
        ways += _over_cores(owned, index, pairs)
    return ways


def _coloured(
    flows: Array, padding: Array, own: list[frozenset[int]], names: frozenset[int]
) -> dict[int, list[tuple[int, int]]]:
    """Perfect matchings of a padded regular multigraph, named so that each real edge's ends own the name."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    left = flows + np.diag(padding)
    pads = padding.copy()
    matchings: list[list[tuple[int, int]]] = []
    for _ in range(int(left.sum(axis=1).max(initial=0))):
        match = maximum_bipartite_matching(csr_array(left > 0), perm_type="column")
        if (match < 0).any():
            raise ParameterError("the flows do not fall into perfect matchings; the conditions do not hold")
        real = []
        for i, j in enumerate(match.tolist()):
            left[i, j] -= 1
            if i == j and pads[i] > 0:
                pads[i] -= 1  # a padding edge: the node takes no part
                continue
            real.append((i, j))
        matchings.append(real)
    # Matchings with every odd node first take the names that it owns.
    out: dict[int, list[tuple[int, int]]] = {}
    spare = sorted(names)
    for real in sorted(matchings, key=lambda pairs: -len(pairs)):
        ends = {i for i, _ in real}
        shared_most = sorted(spare, key=lambda c: -sum(c in names_of for names_of in own))
        name = next((c for c in shared_most if all(c in own[i] for i in ends)), None)
        if name is None:
            raise ParameterError("a matching uses a leaf or pod beyond the links it owns; the conditions do not hold")
        spare.remove(name)
        out[name] = real
    return out


def _over_cores(owned: Owned, index: int, pairs: list[tuple[int, int]]) -> list[Way]:
    """The ways of one spine index: below one leaf, over the pod's spine, or over a core of the index."""
    pods = sorted(set(owned.pod))
    at = {p: i for i, p in enumerate(pods)}
    if len(pods) == 1 or not any(owned.pod[i] != owned.pod[j] for i, j in pairs):
        return [(i, j, -1 if i == j else index, -1) for i, j in pairs]
    flows = np.zeros((len(pods), len(pods)), np.int64)
    for i, j in pairs:
        flows[at[owned.pod[i]], at[owned.pod[j]]] += 1
    with_index = [owned.pod[leaf] for leaf, up in enumerate(owned.up) if index in up]
    degree = np.array([with_index.count(p) for p in pods])
    own = [owned.core.get((p, index), frozenset()) for p in pods]
    names = own[int(degree.argmax())]
    named = _coloured(flows, degree.max() - degree, own, names)
    waiting: dict[tuple[int, int], list[int]] = {}
    for core, edges in named.items():
        for edge in edges:
            waiting.setdefault(edge, []).append(core)
    ways: list[Way] = []
    for i, j in pairs:
        core = waiting[at[owned.pod[i]], at[owned.pod[j]]].pop()
        same_pod = owned.pod[i] == owned.pod[j]
        ways.append((i, j, -1 if i == j else index, -1 if same_pod else core))
    return ways


def permutation_theta(owned: Owned, permutation: ArrayLike) -> float:
    """Largest theta at which the owned links carry a permutation of the nodes, by a multicommodity linear program.

    >>> sets = (frozenset({0, 1}), frozenset({0, 2}))
    >>> permutation_theta(Owned(pod=(0, 0), nodes=(2, 2), up=sets, core={}), [2, 3, 0, 1])
    0.5
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    leaf = owned.leaf_of_node
    to = leaf[np.asarray(permutation, np.int64)]
    flows = np.zeros((len(owned.nodes), len(owned.nodes)))
    np.add.at(flows, (leaf, to), 1.0)
    np.fill_diagonal(flows, 0.0)
    sources = np.flatnonzero(flows.sum(axis=1))
    if not len(sources):
        return 1.0
    tail, head, n_nodes = _arcs(owned)
    n_arcs = len(tail)
    commodity = np.repeat(np.arange(len(sources)), n_arcs)
    variable = np.arange(len(sources) * n_arcs)
    arc = np.tile(np.arange(n_arcs), len(sources))
    rows = np.concatenate([commodity * n_nodes + tail[arc], commodity * n_nodes + head[arc]])
    columns, values = np.concatenate([variable, variable]), np.concatenate([np.ones(len(arc)), -np.ones(len(arc))])
    wanted = np.zeros((len(sources), n_nodes))
    wanted[:, : flows.shape[1]] = -flows[sources]
    wanted[np.arange(len(sources)), sources] = flows[sources].sum(axis=1)
    where = np.nonzero(wanted)
    rows = np.concatenate([rows, where[0] * n_nodes + where[1]])
    columns = np.concatenate([columns, np.full(len(where[0]), len(variable))])
    values = np.concatenate([values, -wanted[where]])
    equal = coo_array((values, (rows, columns)), shape=(len(sources) * n_nodes, len(variable) + 1)).tocsr()
    limit = coo_array((np.ones(len(arc)), (arc, variable)), shape=(n_arcs, len(variable) + 1)).tocsr()
    cost = np.zeros(len(variable) + 1)
    cost[-1] = -1.0
    bounds = np.array([[0, np.inf]] * len(variable) + [[0, 1]])
    solve: Any = linprog  # its stubs know no sparse matrices
    with solving(f"linear program of {len(variable):,} flows over owned links"):
        answer = solve(cost, A_ub=limit, b_ub=np.ones(n_arcs), A_eq=equal, b_eq=np.zeros(equal.shape[0]), bounds=bounds)
    return float(-answer.fun)


def _arcs(owned: Owned) -> tuple[Array, Array, int]:
    """Both directions of every owned link between leaves, spines and cores."""
    number: dict[tuple[str, int, int], int] = {}
    pairs = []
    n = len(owned.nodes)
    for leaf, up in enumerate(owned.up):
        for index in sorted(up):
            pairs.append((leaf, n + number.setdefault(("spine", owned.pod[leaf], index), len(number))))
    for (pod, index), cores in sorted(owned.core.items()):
        for core in sorted(cores):
            spine = number.setdefault(("spine", pod, index), len(number))
            pairs.append((n + spine, n + number.setdefault(("core", index, core), len(number))))
    low, high = np.array(pairs).T
    return np.concatenate([low, high]), np.concatenate([high, low]), n + len(number)
