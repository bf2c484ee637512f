"""Small checkers of the two witnesses of a bisection bracket; a claim that does not hold raises.

The cut is recounted from the fabric's own tables. A lower bound is recomputed from its witness without search: shares,
conservation and capacity of every flow are checked on the merged graph of the problem, and the cheapest labelling of
the block tree is solved again; both the merging and that minimum are the library's own code, which the tests hold
against brute force. Bounds that are a rule, without data of their own, are found once more in ``rules``.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TypeVar, cast

import numpy as np
from scipy.sparse import coo_array, csr_array

from topo.analysis.bisection import Bisection
from topo.analysis.bisection.blocks import Bases, find_bases, joined_apart
from topo.analysis.bisection.healthier import is_comparable, lost_gbps
from topo.analysis.bisection.knapsack import Charges
from topo.analysis.bisection.layers import Gathering, gathered, layers_of, meshes_as_hubs
from topo.analysis.bisection.lower import Bound, Healthier, Layered, Witness, rounded_up
from topo.analysis.bisection.merging import cheapest_labels
from topo.analysis.bisection.pods import PodFlow, cheapest_whole, filled, joined_pods, pod_of_vertex, relayed
from topo.analysis.bisection.problem import Problem, even_sizes, inner_switches, make_problem
from topo.analysis.bisection.rules import BY_RULE
from topo.analysis.bisection.transport import Embedding
from topo.analysis.cuts import usable_arcs
from topo.errors import CertificateError, claim
from topo.fabric import Fabric, State
from topo.network import Network
from topo.table import Array

__all__ = ["CertificateError", "check", "check_cut", "check_lower"]

_SLACK = 1e-9
Given = TypeVar("Given", bound=Witness)
_EDGES = ("edge_a", "edge_b", "capacity")


def check(fabric: Fabric, answer: Bisection) -> None:
    """Check both witnesses.

    >>> import topo
    >>> f = topo.fat_tree(4)
    >>> check(f, topo.bisection_bandwidth(f))

    :raises CertificateError: naming the claim that fails.
    """
    check_cut(fabric, answer)
    check_lower(fabric, answer)


def check_cut(fabric: Fabric, answer: Bisection) -> None:
    """The sides split the endpoints as evenly as units allow, and the links between them sum to the upper bound."""
    ends, side = answer.endpoints, answer.side
    ones = int(side[ends].sum())
    claim(sorted((ones, len(ends) - ones)) == list(answer.halves), f"halves hold {ones} and {len(ends) - ones}")
    if answer.keep != "none":
        codes = getattr(fabric.nodes, answer.keep).codes[ends]
        for value in (False, True):
            claim(
                not np.isin(codes[(side[ends] == value) & (codes >= 0)], codes[side[ends] != value]).any(),
                "a unit is split",
            )
        _, unit = np.unique(np.where(codes >= 0, codes, -1 - np.arange(len(codes))), return_inverse=True)
        weight = np.bincount(unit)
    else:
        weight = np.ones(len(ends), np.int64)
    claim(even_sizes(weight) == answer.halves, f"a more even split than {answer.halves} exists")
    network = Network.of(fabric, kinds=answer.kinds, state=answer.state)
    tail, head, link = usable_arcs(network, ends[side[ends]], ends[~side[ends]])
    crossing = np.unique(link[side[tail] & ~side[head]])
    rates = (answer.state or State()).link_capacity_gbps(fabric)
    total = math.fsum(rates[crossing])
    claim(set(crossing.tolist()) == set(answer.links.rows.tolist()), "the cut lists other links")
    claim(abs(total - answer.upper_gbps) <= _SLACK * max(1.0, total), f"the cut sums to {total}")


def check_lower(fabric: Fabric, answer: Bisection) -> None:
    """The lower bound follows from its witness, recomputed from the fabric."""
    if answer.lower_method == "trivial":
        claim(answer.lower_gbps == 0, "a bound without a witness is above 0")
        return
    state = answer.state
    problem = make_problem(fabric, answer.endpoints, answer.lower_keep, kinds=answer.kinds, state=state)
    smaller = answer.halves[0]
    claim(answer.lower_keep == answer.keep or even_sizes(problem.weight) == answer.halves, "the halves differ")
    value = _proved(problem, Bound(answer.lower_gbps, answer.lower_method, answer.witness), answer.lower_keep, smaller)
    value = rounded_up(value, problem.unit_gbps)
    claim(value >= answer.lower_gbps * (1 - _SLACK), f"the witness proves {value} Gb/s only")


def _proved(problem: Problem, bound: Bound, keep: str, smaller: int) -> float:
    """What the witness of a bound proves of the problem, in Gb/s."""
    method, witness = bound.method, bound.witness
    if method == "tree":
        return _embedded(problem, _given(witness, Embedding), smaller)
    if method == "layers":
        return _summed(problem, _given(witness, Layered), smaller)
    if method == "pods":
        return _between_pods(problem, _given(witness, PodFlow), smaller)
    if method == "healthier":
        return _lessened(problem, _given(witness, Healthier), keep, smaller)
    return BY_RULE[method](problem, smaller)


def _given(witness: Witness | None, kind: type[Given]) -> Given:
    """The witness, where it is one of the kind that the bound's method takes."""
    claim(isinstance(witness, kind), f"the witness is no {kind.__name__}")
    return cast(Given, witness)


def _lessened(problem: Problem, witness: Healthier, keep: str, smaller: int) -> float:
    """What the other state's witness proves there, less every rate that is lost since."""
    network = problem.network
    before = make_problem(network.fabric, problem.chosen, keep, kinds=network.kinds, state=witness.state)
    claim(is_comparable(problem, before), "the healthier state is one of other endpoints")
    return _proved(before, witness.bound, keep, smaller) - lost_gbps(before.network, network)


def _summed(problem: Problem, witness: Layered, smaller: int) -> float:
    """The layers fit into the fabric together; each adds what its own embedding proves."""
    hubbed = meshes_as_hubs(problem)
    if hubbed is not problem:
        _check_meshes(problem, hubbed)
    problem = hubbed
    layers = apart = layers_of(problem)
    shape = (problem.n_vertices, problem.n_vertices)
    taken = csr_array(shape)
    if witness.is_gathered:
        gathering = gathered(problem)
        claim(gathering is not None, "the fabric has no domains to gather")
        assert gathering is not None
        layers = gathering.layers
        taken = _used_by_hubs(problem, gathering, apart[0])
    for layer in layers[1:] if witness.is_gathered else layers:
        taken = taken + csr_array((layer.capacity, (layer.edge_a, layer.edge_b)), shape=shape)
    over = (taken - csr_array((problem.capacity, (problem.edge_a, problem.edge_b)), shape=shape)).tocoo()
    claim(
        bool((over.data <= _SLACK * max(1.0, float(problem.capacity.max()))).all()),
        "layers use a link beyond its capacity",
    )
    claim(len(witness.parts) == len(layers), "the layers are not the fabric's")
    return math.fsum(
        rounded_up(_embedded(layer, part, smaller), layer.unit_gbps)
        for layer, part in zip(layers, witness.parts, strict=True)
        if part is not None
    )


def _between_pods(problem: Problem, flow: PodFlow, smaller: int) -> float:
    """Flows stay inside pods and capacities, start at units, end as they say; then the least even split of pods."""
    of = pod_of_vertex(problem)
    claim(of is not None, "the units are no pods")
    assert of is not None
    n, shape = problem.n_vertices, (problem.n_vertices, problem.n_vertices)
    slack = _SLACK * max(1.0, float(problem.capacity.max()))
    claim(bool((of[flow.tail] == of[flow.head]).all() and (of[flow.tail] >= 0).all()), "a flow leaves its pod")
    used = csr_array((flow.gbps, (np.minimum(flow.tail, flow.head), np.maximum(flow.tail, flow.head))), shape=shape)
    over = (used - csr_array((problem.capacity, (problem.edge_a, problem.edge_b)), shape=shape)).tocoo()
    claim(bool((over.data <= slack).all() and (flow.gbps >= 0).all()), "a link carries more than its capacity")
    kept = np.bincount(flow.head, flow.gbps, n) - np.bincount(flow.tail, flow.gbps, n)
    switches = np.arange(n) >= problem.n_units
    claim(bool((flow.brought <= kept + slack)[switches].all()), "a flow is not conserved")
    part = filled(problem, of, flow.brought, smaller)
    rates = joined_pods(problem, of, part), relayed(problem, of, part)
    return cheapest_whole(problem.weight, *rates, smaller)[0]


def _check_meshes(problem: Problem, hubbed: Problem) -> None:
    """Every link of a mesh holds its ends' shares of what they send to the hub; other links are untouched."""
    n = problem.n_vertices
    new = hubbed.edge_b >= n
    hub, rate = np.full(n, -1), np.zeros(n)
    hub[hubbed.edge_a[new]], rate[hubbed.edge_a[new]] = hubbed.edge_b[new], hubbed.capacity[new]
    size = np.bincount(hub[hub >= 0], minlength=hubbed.n_vertices)
    a, b = problem.edge_a, problem.edge_b
    mesh = (hub[a] >= 0) & (hub[a] == hub[b])
    pairs = np.bincount(hub[a[mesh]], minlength=hubbed.n_vertices)
    claim(np.array_equal(pairs, size * (size - 1) // 2), "a mesh is not full")
    sent = (rate[a] + rate[b])[mesh] / size[hub[a[mesh]]]
    claim(bool((sent <= problem.capacity[mesh] * (1 + _SLACK)).all()), "a link of a mesh carries too much")
    same = [(np.asarray(getattr(problem, x))[~mesh], np.asarray(getattr(hubbed, x))[~new]) for x in _EDGES]
    claim(all(np.array_equal(x, y) for x, y in same), "links beside the meshes differ")


def _used_by_hubs(problem: Problem, gathering: Gathering, outside: Problem) -> csr_array:
    """Capacity that the layer with hubs takes: every link of a hub is one of the units', led over the domain's switches
    in the hub's shares."""
    n, n_units, hub, first = problem.n_vertices, problem.n_units, gathering.hub, gathering.layers[0]
    unit_hub = np.append(hub, np.full(n - n_units, -1))
    a, b = problem.edge_a, problem.edge_b
    inside = (unit_hub[a] >= 0) & (gathering.hub_of_switch[b] == unit_hub[a])
    shares = np.bincount(a[inside], gathering.share[b[inside]], n)[:n_units]
    claim(bool(np.allclose(shares[hub >= 0], 1, rtol=0, atol=_SLACK)), "shares of a hub do not sum to 1")
    to_hub = (unit_hub[first.edge_a] >= 0) & (first.edge_b == unit_hub[first.edge_a])
    room = np.bincount(first.edge_a[to_hub], first.capacity[to_hub], n)[:n_units]
    plain = (unit_hub[a] < 0) & (np.isin(b, first.edge_b)) & (a < n_units) & inner_switches(problem)[b]
    stays = np.where(unit_hub >= 0, unit_hub, np.arange(n))
    own = csr_array((problem.capacity[plain], (a[plain], b[plain])), shape=(n, n))
    led = _bundles(stays[outside.edge_a], stays[outside.edge_b], outside.capacity, n)
    rest = csr_array((first.capacity[~to_hub], (first.edge_a[~to_hub], first.edge_b[~to_hub])), shape=(n, n))
    over = (rest - led - own).tocoo()
    claim(bool((over.data <= _SLACK * max(1.0, float(problem.capacity.max()))).all()), "a hub has links of no unit")
    through = (room + outside.injection)[a[inside]] * gathering.share[b[inside]]
    used: csr_array = own + _bundles(
        np.concatenate([outside.edge_a, a[inside]]),
        np.concatenate([outside.edge_b, b[inside]]),
        np.concatenate([outside.capacity, through]),
        n,
    )
    return used


def _bundles(a: Array, b: Array, gbps: Array, n: int) -> csr_array:
    """Capacity between vertices, lower number first; what joins a vertex to itself is left out."""
    used = a != b
    return csr_array((gbps[used], (np.minimum(a, b)[used], np.maximum(a, b)[used])), shape=(n, n))


def _embedded(problem: Problem, witness: Embedding, smaller: int) -> float:
    """Shares are distributions, flows keep to supply, demand and capacity; then the tree's minimum less the unsent."""
    tree, bases = witness.tree, witness.tree.bases
    own = find_bases(problem)
    claim(
        own is not None and (_same_bases(own, bases) or _same_bases(joined_apart(own), bases)),
        "the units and links are not the fabric's",
    )
    claim(np.array_equal(tree.element[bases.vertex], np.arange(tree.n_bases)), "a base does not stand for itself")
    claim(bool((tree.parent[:-1] > np.arange(len(tree.parent) - 1)).all()), "the blocks are no tree")
    n, n_elements = len(tree.element), len(tree.parent)
    share, kappa = witness.share, witness.kappa
    has = tree.element >= 0
    sums = np.bincount(tree.element[has], share[has], n_elements)
    claim(
        bool((share >= 0).all() and np.allclose(sums, 1, rtol=0, atol=_SLACK)),
        "shares of a block do not sum to 1",
    )
    shape = (n_elements, n)
    out = csr_array((witness.gbps, (witness.edge, witness.tail)), shape=shape)
    into = csr_array((witness.gbps, (witness.edge, witness.head)), shape=shape)
    net = (out - into).tocoo()
    supply = np.where(tree.element[net.col] == net.row, kappa[net.row] * share[net.col], 0.0)
    demand = np.where(tree.element[net.col] == tree.parent[net.row], kappa[net.row] * share[net.col], 0.0)
    slack = _SLACK * max(1.0, float(bases.capacity.max(initial=0)))
    claim(
        bool((net.data <= supply + slack).all() and (-net.data <= demand + slack).all()),
        "a flow is not conserved",
    )
    pair = csr_array(
        (bases.capacity, (np.minimum(bases.edge_a, bases.edge_b), np.maximum(bases.edge_a, bases.edge_b))),
        shape=(n, n),
    )
    low, high = np.minimum(witness.tail, witness.head), np.maximum(witness.tail, witness.head)
    load = csr_array((witness.gbps, (low, high)), shape=(n, n))
    over = (load - pair).tocoo()
    claim(bool((over.data <= slack).all()), "a link carries more than its capacity")
    sent = np.bincount(net.row, np.maximum(net.data, 0), n_elements)
    unsent = np.maximum(kappa - sent, 0)
    unsent[tree.root] = 0
    unsent[unsent <= _SLACK * np.maximum(kappa, 1e-300)] = 0
    is_base = np.arange(n_elements) < tree.n_bases
    total: Array = np.bincount(np.maximum(tree.parent, 0)[is_base], unsent[is_base], n_elements)
    charges = Charges(
        float(unsent[~is_base].sum()), total, _opposed(tree.parent, tree.element, is_base, kappa, share, net)
    )
    return cheapest_labels(tree, kappa, [smaller], charges).cost


def _same_bases(one: Bases, other: Bases) -> bool:
    return one.n_vertices == other.n_vertices and all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(Bases)
    )


def _opposed(parent: Array, element: Array, is_base: Array, kappa: Array, share: Array, net: coo_array) -> Array:
    """For each block, the largest unmet demand of one of its switches over that switch's share."""
    wanted = np.bincount(np.maximum(parent, 0)[is_base], kappa[is_base], len(parent))
    from_base = is_base[net.row] & (net.data < 0)
    got = np.bincount(net.col[from_base], -net.data[from_base], len(share))
    worst = np.zeros(len(parent))
    for vertex in np.flatnonzero((element >= 0) & (share > 0)).tolist():
        block = int(element[vertex])
        if not is_base[block]:
            worst[block] = max(worst[block], wanted[block] - got[vertex] / share[vertex])
    return worst
