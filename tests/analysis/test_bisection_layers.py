"""Bisection under scale-up domains: layers apart, domains gathered into hubs, equal units counted together."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.bisection import certificate
from topo.analysis.bisection.blocks import find_bases, grow_tree, tree_of
from topo.analysis.bisection.knapsack import Charges, TreeCost
from topo.analysis.bisection.layers import gathered, layers_of, meshes_as_hubs
from topo.analysis.bisection.lower import Bound, _embeddings, _summed, lower_bound, quick_bound
from topo.analysis.bisection.merging import cheapest_labels
from topo.analysis.bisection.problem import Problem, even_sizes, make_problem
from topo.build.assembly import Assembly, numbered
from topo.build.cluster import ClusterHosts, cluster
from topo.build.planes import Plan, PlanesPlan
from topo.build.rail import RailPlan
from topo.fabric import FORWARDS_NOTHING, Fabric, State
from topo.table import Labels


def least_cut(problem: Problem) -> float:
    """Least cut by trying every even set of units and every side of every switch."""
    n, m = problem.n_units, problem.n_vertices - problem.n_units
    smaller, _ = even_sizes(problem.weight)
    adjacency = problem.adjacency.toarray()
    sides = (np.arange(1 << m)[:, None] >> np.arange(m)) & 1
    within = ((sides @ adjacency[n:, n:]) * (1 - sides)).sum(axis=1)
    best = np.inf
    for size in range(n + 1):
        for chosen in itertools.combinations(range(n), size):
            one = np.zeros(n)
            one[list(chosen)] = 1
            if problem.weight @ one != smaller:
                continue
            direct = (one @ adjacency[:n, :n]) @ (1 - one)
            to_switch = sides @ ((1 - one) @ adjacency[:n, n:]) + (1 - sides) @ (one @ adjacency[:n, n:])
            best = min(best, float((within + to_switch).min() + direct))
    return best


def random_domains(seed: int) -> Fabric:
    """Two or three domains, each a mesh or under chips of even or uneven rates, pairs on a part, leaves and spines."""
    rng = np.random.default_rng(seed)
    assembly = Assembly(f"domains {seed}")
    domains = int(rng.integers(2, 4))
    sizes = rng.integers(2, 4, domains) if rng.random() < 0.5 else np.full(domains, int(rng.integers(2, 4)))
    domain = np.repeat(np.arange(domains), sizes)
    n = len(domain)
    names = numbered("gpu-{}", np.arange(n))
    gpu = assembly.add_nodes(
        names, kind="accelerator", is_endpoint=True, forwards=FORWARDS_NOTHING,
        host=Labels.distinct(names), domain=Labels(domain, numbered("d-{}", np.arange(domains))),
    )  # fmt: skip
    leaves, spines = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    leaf = assembly.add_nodes(numbered("leaf-{}", np.arange(leaves)), kind="switch", tier=1)
    spine = assembly.add_nodes(numbered("spine-{}", np.arange(spines)), kind="switch", tier=2)
    by_rail = rng.random() < 0.5
    local = np.concatenate([np.arange(size) for size in sizes])
    assembly.connect(gpu, leaf[(local if by_rail else domain) % leaves], float(rng.integers(1, 4)), kind="access")
    if rng.random() < 0.8:
        assembly.stripe(leaf, spine, 1, float(rng.integers(1, 5)))
    for d in range(domains):
        mine = gpu[domain == d]
        style = rng.random()
        if style < 0.3:
            for a, b in itertools.combinations(mine.tolist(), 2):
                assembly.connect([a], [b], float(rng.choice([4.0, 4.0, 6.0])), kind="scale_up")
            continue
        chips = assembly.add_nodes(
            numbered(f"chip-{d}-{{}}", np.arange(int(rng.integers(1, 3)))), kind="switch", tier=1
        )
        for i, chip in enumerate(chips):
            rates = rng.integers(1, 7, len(mine)) if style > 0.8 else np.full(len(mine), 3 + i)
            for a, rate in zip(mine.tolist(), rates.tolist(), strict=True):
                assembly.connect([a], [chip], float(rate), kind="scale_up")
        if rng.random() < 0.4:
            part = assembly.add_nodes([f"part-{d}"], kind="switch", tier=1)
            assembly.connect(mine[:2], np.repeat(part, 2), 2.0, kind="host_io")
    return assembly.finish()


def bounds_of(problem: Problem, smaller: int) -> list[Bound]:
    """Every bound over layers, and the best of all."""
    found = [quick_bound(problem, tree_of(problem), smaller), lower_bound(problem, tree_of(problem), smaller)]
    hubbed = meshes_as_hubs(problem)
    apart = layers_of(hubbed)
    if apart:
        found.append(_summed(apart, smaller, _embeddings, is_gathered=False))
        gathering = gathered(hubbed)
        if gathering is not None:
            found.append(_summed(gathering.layers, smaller, _embeddings, is_gathered=True))
    return found


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), keep=st.sampled_from(["none", "domain"]))
def test_no_bound_over_layers_exceeds_brute_force(seed: int, keep: str) -> None:
    fabric = random_domains(seed)
    try:
        problem = make_problem(fabric, None, keep, kinds=None, state=None)
    except topo.DisconnectedError:
        assume(False)
    assume(problem.n_vertices <= 17)
    smaller, _ = even_sizes(problem.weight)
    true = least_cut(problem)
    answer = topo.bisection_bandwidth(fabric, keep=keep)
    assert answer.lower_gbps <= true <= answer.upper_gbps
    certificate.check(fabric, answer)
    for bound in bounds_of(problem, smaller):
        assert bound.gbps <= true + 1e-9
        claim = {"lower_gbps": bound.gbps, "lower_method": bound.method, "witness": bound.witness, "lower_keep": keep}
        certificate.check_lower(fabric, dataclasses.replace(answer, **claim))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "keep", "gbps"),
    [
        ("nvidia-gb200-nvl72", "none", 36 * 18 * 400),
        ("nvidia-gb200-nvl72", "host", 36 * 18 * 400),
        ("huawei-cloudmatrix384", "none", 192 * 7 * 448),
        ("nvidia-dgx-a100", "none", 4 * 12 * 200),
        ("nvidia-dgx-h100-nvlink-256", "none", 16 * 72 * 200),
        # 63 of 127 hosts, and one is cut in two: four accelerators by 18 links of NVLink and by one adapter.
        ("nvidia-superpod-h100-4su-dgx", "none", 63 * 8 * 400 + 4 * 18 * 200 + 4 * 400),
        ("nvidia-superpod-h100-4su-dgx", "domain", 63 * 8 * 400),
        ("nvidia-superpod-gb200-2su-nvl72", "none", 8 * 72 * 400),
        ("nvidia-superpod-gb200-2su-nvl72", "host", 8 * 72 * 400),
        ("nvidia-superpod-gb200-2su-nvl72", "domain", 8 * 72 * 400),
    ],
)
def test_scale_up_domains_of_the_catalogue_are_exact(name: str, keep: str, gbps: float) -> None:
    fabric = topo.load(name)
    answer = topo.bisection_bandwidth(fabric, keep=keep)
    assert answer.lower_gbps == answer.upper_gbps == gbps
    certificate.check(fabric, answer)


# (hosts, count, fabric above them, Gb/s with domains kept whole, Gb/s with accelerators split singly)
DGX_LEAF = 8 * 400
OVER_DOMAINS = [
    ("dgx-h100", 32, PlanesPlan(RailPlan(hosts_per_unit=16), by="rail"), 16 * DGX_LEAF, 16 * DGX_LEAF),
    ("dgx-h100", 33, RailPlan(hosts_per_unit=32), 16 * DGX_LEAF, 16 * DGX_LEAF + 4 * (3600 + 400)),
    # Three units, 2:1: one on each side, of the third 16 hosts at full rate, and 16 x 8 uplinks of the first.
    ("dgx-h100", 96, RailPlan(hosts_per_unit=32, uplinks=16), 2 * 16 * DGX_LEAF, 2 * 16 * DGX_LEAF),
    ("gb200-nvl72", 3, RailPlan(hosts_per_unit=18), 72 * 400, 72 * 400 + 36 * (7200 + 400)),
    ("mi300x-8", 16, RailPlan(hosts_per_unit=16), 8 * DGX_LEAF, 8 * DGX_LEAF),
]  # fmt: skip


@pytest.mark.parametrize(("template", "count", "plan", "whole", "single"), OVER_DOMAINS)
def test_domains_under_a_fabric_are_exact(template: str, count: int, plan: Plan, whole: float, single: float) -> None:
    fabric = cluster(ClusterHosts(template, count), plan)
    for keep, expected in (("domain", whole), ("none", single)):
        answer = topo.bisection_bandwidth(fabric, keep=keep)
        assert answer.lower_gbps == answer.upper_gbps == expected, keep
        certificate.check(fabric, answer)


def test_an_odd_domain_under_a_tapered_fabric_gets_an_honest_bracket() -> None:
    fabric = cluster(ClusterHosts("dgx-h100", 33), RailPlan(hosts_per_unit=32, uplinks=16))
    answer = topo.bisection_bandwidth(fabric, keep="none")
    assert 16 * DGX_LEAF + 4 * 3200 <= answer.lower_gbps <= answer.upper_gbps <= 16 * DGX_LEAF + 4 * 4000
    certificate.check(fabric, answer)


def test_lies_about_layers_are_caught() -> None:
    fabric = cluster(ClusterHosts("dgx-h100", 32), PlanesPlan(RailPlan(hosts_per_unit=16), by="rail"))
    answer = topo.bisection_bandwidth(fabric, keep="none")
    witness = answer.witness
    assert answer.lower_method == "layers"
    assert witness.is_gathered  # type: ignore[union-attr]
    with pytest.raises(certificate.CertificateError, match="proves"):
        certificate.check_lower(fabric, dataclasses.replace(answer, lower_gbps=answer.lower_gbps + 400))
    first = witness.parts[0]  # type: ignore[union-attr]
    more = dataclasses.replace(first, kappa=first.kappa * 1.5, gbps=first.gbps * 1.5)
    for parts, reason in (((more, *witness.parts[1:]), "capacity"), ((first,) * 5, "layers")):  # type: ignore[union-attr]
        lie = dataclasses.replace(witness, parts=parts)  # type: ignore[type-var, arg-type]
        with pytest.raises(certificate.CertificateError, match=reason):
            certificate.check_lower(fabric, dataclasses.replace(answer, witness=lie))
    apart = dataclasses.replace(witness, is_gathered=False)  # type: ignore[type-var, arg-type]
    with pytest.raises(certificate.CertificateError):
        certificate.check_lower(fabric, dataclasses.replace(answer, witness=apart))


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), charged=st.booleans(), one_link=st.booleans())
def test_units_counted_together_cost_what_they_cost_singly(seed: int, charged: bool, one_link: bool) -> None:
    rng = np.random.default_rng(seed)
    gbps = float(rng.choice([100, 200]))
    if one_link:  # alone on its leaf
        fabric = topo.xgft([1, int(rng.integers(2, 5)), 2 * int(rng.integers(1, 4))], [1, 2, 2], link_gbps=gbps)
    else:
        fabric = topo.multi_plane(int(rng.integers(2, 7)) * 4, planes=2, rails=1, lanes=2, radix=8, nic_gbps=gbps)
    bases = find_bases(make_problem(fabric, None, "none", kinds=None, state=None))
    tree = grow_tree(bases) if bases is not None else None
    assert tree is not None
    kappa = rng.choice([50.0, 100.0, 150.0, 400.0], len(tree.parent))
    charges = None
    if charged:
        total = np.zeros(len(kappa))
        total[np.unique(tree.parent[: tree.n_bases])] = 30.0 * (rng.random() < 0.5)
        total[tree.parent[0]] = 20.0
        charges = Charges(10.0, total, total * rng.random(len(kappa)))
    n = len(fabric.endpoints)
    singly = TreeCost(tree, kappa, [n // 2], charges).solve()
    together = cheapest_labels(tree, kappa, [n // 2], charges)
    assert together.cost == pytest.approx(singly.cost)
    assert together.class_ones.sum() == n // 2
    if not charged:
        up = tree.parent[:-1]
        differ = kappa[:-1][together.label[:-1] != together.label[up]].sum()
        label = together.label[tree.bases.class_base]
        off = np.where(label == 0, together.class_ones, tree.bases.class_count - together.class_ones)
        assert differ + (off * tree.bases.class_cost).sum() == pytest.approx(together.cost)


def test_forty_thousand_adapters_of_several_ports_are_exact_and_lose_what_a_cable_carries() -> None:
    fabric = topo.multi_plane(40_960, planes=2, nic_gbps=800, lanes=2, radix=512)
    whole = topo.bisection_bandwidth(fabric, keep="none")
    assert whole.lower_gbps == whole.upper_gbps == 20_480 * 800
    certificate.check(fabric, whole)
    access = np.flatnonzero(fabric.links.kind.is_any("access"))
    answer = topo.bisection_bandwidth(fabric, keep="none", state=State.without(fabric, links=access[:1]))
    assert answer.lower_gbps == answer.upper_gbps == 20_480 * 800 - 400
    certificate.check(fabric, answer)


def test_forty_thousand_leaves_of_one_host_are_exact() -> None:
    fabric = topo.xgft([1, 210, 210], [1, 4, 4])
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps == answer.upper_gbps == 105 * 4 * 4 * 400
    certificate.check(fabric, answer)
