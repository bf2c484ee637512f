"""Faults put at random into good fabrics: precision and recall without a design, by names, and by structure alone.

The score is against the least difference after injection, never against the story of the injection. Run with ``-s`` to
see the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from injected_families import FAMILIES, good, halved, is_large_enough
from injected_faults import (
    CODES,
    HOST_KINDS,
    SWITCH_KINDS,
    Injected,
    as_read,
    inject,
    precision_recall,
    said_items,
)
from injected_origins import nearest_items

import topo
from topo.fabric import Fabric
from topo.source import catalog
from topo.table import Labels
from topo.wiring import to_text, validate
from topo.wiring.cabling import Cabling
from topo.wiring.matching import lay_over, matched_by_name

KINDS = SWITCH_KINDS + HOST_KINDS
N_FAULTS = ((1, 4), (10, 3), (50, 1))
LEAST = {1: 1.0, 10: 1.0, 50: 0.99}
GROUPS = {
    "Clos": ("leaf-spine", "fat tree", "clos", "ary", "extended tree", "tapered pods", "two tiers", "joined zones"),
    "rail": ("rails, h100", "rails, b200", "rails, b300", "rails, gb", "rails, a100", "rails alone", "split host"),
    "plane": ("two planes", "four planes", "eight planes", "dual top of rack"),
}
STRUCTURE = (
    "leaf-spine 32 x 16 x 2", "fat tree k = 16", "clos of two tiers, 1,024", "clos of three tiers, 4,096",
    "tapered pods, eight", "pods under narrow cores", "joined zones", "12-ary 3-tree", "extended tree",
    "two tiers, 64 ports", "dual top of rack", "dual top of rack, rails apart", "four planes", "eight planes",
    "rails alone, four", "rails alone, eight", "rails, a100-7su", "rails, h100-4su", "rails, b200-8su",
    "rails, gb200-1su", "rails, gb200-2su", "rails, gb300-16su", "rails, b300-xdr-4su", "rails, b300-spectrumx-2su",
    "opened hosts, GB200 2 SU", "split host links, MegaScale",
)  # fmt: skip
"""Families that the slower comparisons without names are tried on."""
LARGE = {
    "split host links, MegaScale", "rails, gb300-16su", "clos of three tiers, 4,096", "tapered pods, sixteen",
    "rails alone, eight", "eight planes", "opened hosts, GB200 2 SU", "dual top of rack, rails apart",
}  # fmt: skip
"""Families of which a smaller sibling is tried too: they run with the slow tests."""


def each(families: Iterable[str]) -> list[Any]:
    return [pytest.param(one, marks=pytest.mark.slow if one in LARGE else ()) for one in families]


def damaged(family: str, n: int, seed: int, kinds: tuple[str, ...] = KINDS) -> Injected:
    return inject(good(family), n, seed, kinds)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_design(family: str) -> None:
    """What is large enough reaches the bar; the scores of the others are printed, and nothing more is asked of them."""
    for n, seeds in N_FAULTS:
        truth: set[tuple] = set()
        said: set[tuple] = set()
        full = True
        for seed in range(10, 10 + seeds):
            injected = damaged(family, n, seed)
            full &= len(injected.faults) == n
            says = said_items(validate(as_read(injected.fabric), consequence=False))
            truth |= {(seed, *item) for item in nearest_items(good(family), injected.fabric, says)}
            said |= {(seed, *item) for item in says}
        precision, recall = precision_recall(truth, said)
        size = "" if is_large_enough(family, n) else f" (too small: {halved(family, n):.2f} switches halved)"
        print(f"{family}, {n} faults, no design: precision {precision:.3f}, recall {recall:.3f}{size}")
        if is_large_enough(family, n):
            assert full
            assert min(precision, recall) >= LEAST[n], (sorted(truth - said)[:5], sorted(said - truth)[:5])


@pytest.mark.parametrize("group", GROUPS)
def test_every_kind_of_family_is_large_enough_in_some_size(group: str) -> None:
    for start in GROUPS[group]:
        sizes = [family for family in FAMILIES if start in family]
        assert any(is_large_enough(family, 50) for family in sizes), (start, sizes)


@pytest.mark.parametrize("family", each(FAMILIES))
def test_against_the_design_by_name(family: str) -> None:
    """Every fault is exactly one finding, of its kind, with just its cables."""
    for n, seeds in ((1, 2), (10, 2), (50, 1)):
        truth: set[tuple] = set()
        said: set[tuple] = set()
        for seed in range(seeds):
            injected = damaged(family, n, seed)
            if len(injected.faults) < n:  # so many that do not overlap find no room
                continue
            answer = validate(injected.fabric, good(family), consequence=False)
            faults = without_any_uplink(good(family), injected.faults)
            truth |= {(seed, CODES[kind], ends(good(family), links)) for kind, links in faults}
            both = answer.comparison.both
            said |= {(seed, one.code, ends(both, one.lacks)) for one in answer.findings if one.severity != "note"}
            assert answer.n_operations <= sum(cost(kind, links) for kind, links in injected.faults)
        precision, recall = precision_recall(truth, said)
        print(f"{family}, {n} faults, by name: precision {precision:.3f}, recall {recall:.3f}")
        assert min(precision, recall) >= LEAST[n], (sorted(truth - said)[:3], sorted(said - truth)[:3])


def without_any_uplink(design: Fabric, faults):  # type: ignore[no-untyped-def]
    """The faults, missing cables that by chance are all uplinks of one switch as one: so it is told."""
    tier = design.nodes.tier
    a, b = design.link_a, design.link_b
    low = np.where(tier[a] < tier[b], a, b)
    leads_up = (tier[a] != tier[b]) & ~design.nodes.is_endpoint[low]
    faults = list(faults)
    for node in np.unique(low[leads_up]).tolist():
        uplinks = set(np.flatnonzero(leads_up & (low == node)).tolist())
        mine = [one for one in faults if CODES[one[0]] == "missing" and set(one[1]) <= uplinks]
        if len(mine) > 1 and {row for _, links in mine for row in links} == uplinks:
            faults = [one for one in faults if one not in mine]
            faults.append((mine[0][0], [row for _, links in mine for row in links]))
    return faults


def ends(fabric: Fabric, links) -> frozenset:  # type: ignore[no-untyped-def]
    """The planned cables by the names of their ends."""
    names, ports = fabric.nodes.name, fabric.ports
    return frozenset(
        frozenset(
            (str(names[ports.node[port]]), ports.label[port])
            for port in (fabric.links.port_a[link], fabric.links.port_b[link])
        )
        for link in links
    )


def cost(kind: str, links: frozenset[int]) -> int:
    """Operations of a fault as it was put in."""
    return len(links) if kind in ("bundle", "swap", "railswap", "unitcross") else 1


def without_names(fabric: Fabric, seed: int) -> Fabric:
    """The same wiring, nodes in another order and called by numbers, hosts unknown."""
    n = len(fabric.nodes)
    order = np.random.default_rng(seed).permutation(n)
    nodes = replace(
        fabric.nodes.take(order), name=np.array([f"device-{i}" for i in range(n)]), host=Labels.constant(None, n)
    )
    return replace(fabric, nodes=nodes, ports=replace(fabric.ports, node=np.argsort(order)[fabric.ports.node]))


UNNAMED = {
    "rails, b300-xdr-1su": (10, 109), "clos of three tiers, 512": (10, 116), "leaf-spine 32 x 16 x 2": (50, 0),
    "8-ary 3-tree": (10, 0), "rails alone, 256": (10, 0), "two planes": (10, 0), "extended tree": (50, 0),
}  # fmt: skip
"""Faults and seed; the first two draws spare few pairs of one block, and most of another switch's."""


@pytest.mark.parametrize("family", UNNAMED)
def test_without_a_design_and_without_names(family: str) -> None:
    """Pairs of switches need no name: the bar is that of named ones."""
    n, seed = UNNAMED[family]
    assert is_large_enough(family, n)
    injected = damaged(family, n, seed, SWITCH_KINDS)
    order = np.random.default_rng(seed).permutation(len(good(family).nodes))  # as without_names draws it
    said = said_items(validate(without_names(as_read(injected.fabric), seed), consequence=False))
    said = {(kind, *sorted(int(order[row]) for row in rows)) for kind, *rows in said}
    truth = nearest_items(good(family), injected.fabric, said)
    precision, recall = precision_recall(truth, said)
    assert min(precision, recall) >= LEAST[n], (sorted(truth - said)[:5], sorted(said - truth)[:5])


@pytest.mark.parametrize("family", each(STRUCTURE))
def test_against_the_design_by_structure(family: str) -> None:
    """Without any name no more operations are needed than with them, and never fewer than the bound says."""
    for n, seed in ((0, 0), (1, 1), (10, 2)):
        fabric = damaged(family, n, seed, SWITCH_KINDS).fabric if n else good(family)
        answer = validate(without_names(fabric, seed), good(family), consequence=False)
        known = validate(fabric, good(family), consequence=False)
        assert answer.least_operations <= answer.n_operations <= known.n_operations
        assert (answer.n_operations == 0) == (n == 0)


def without_ports(fabric: Fabric, seed: int) -> Fabric:
    """Every port called by a word of its own that tells nothing."""
    words = [f"x{i}" for i in np.random.default_rng(seed).permutation(len(fabric.ports))]
    return replace(fabric, ports=replace(fabric.ports, label=Labels.of(words)))


def least_by_device(fabric: Fabric, design: Fabric) -> int:
    """Operations when every device is known and ports do not count."""
    sides = Cabling.of(fabric), Cabling.of(design)
    return len(lay_over(*sides, matched_by_name(*sides), by_device=True).best)


@pytest.mark.parametrize("family", each(sorted({*STRUCTURE} - {"split host links, MegaScale", "rails, gb300-16su"})))
def test_against_the_design_by_neither_names_nor_ports(family: str) -> None:
    """As few operations as with every device known, though only what is joined to what is left to go by."""
    for n, seed in ((0, 0), (1, 1), (10, 2)):
        fabric = damaged(family, n, seed, SWITCH_KINDS).fabric if n else good(family)
        answer = validate(without_ports(without_names(fabric, seed), seed), good(family), consequence=False)
        assert answer.least_operations <= answer.n_operations <= least_by_device(fabric, good(family))
        assert (answer.n_operations == 0) == (n == 0)
        assert n == 0 or "what they are joined to" in answer.rules[0]


def test_hosts_under_other_names_and_ports_of_another_maker() -> None:
    """Adapters of a host are known to be of one host, and their ranks; nothing else is called as planned."""
    design = good("rails, h100-4su")
    fabric = inject(design, 10, 7, SWITCH_KINDS + HOST_KINDS).fabric
    nodes = fabric.nodes
    hosts = [None if host is None else f"n{int(host.split('-')[1]) * 7}" if host.startswith("host-") else f"m-{host}"
             for host in nodes.host.values().tolist()]  # fmt: skip
    names = [f"{host}{name[len(own) :]}" if host else f"device {i}" for i, (host, own, name) in
             enumerate(zip(hosts, nodes.host.values().tolist(), nodes.name.tolist(), strict=True))]  # fmt: skip
    called = replace(fabric, nodes=replace(nodes, name=np.array(names), host=Labels.of(hosts)))
    answer = validate(without_ports(called, 3), design, consequence=False)
    assert "what they are joined to" in answer.rules[0]
    assert answer.n_operations <= least_by_device(fabric, design)


@pytest.mark.parametrize("name", ["nvidia-superpod-h100-4su", "nvidia-superpod-b200-16su", "leaf-spine-2to1"])
def test_a_small_or_other_wiring_is_not_forced_into_a_design(name: str) -> None:
    """By neighbours alone nearly everything fits into something larger: that is no answer."""
    for fabric in (topo.leaf_spine(4, 4, 4), good("tapered pods, eight"), good("rails, gb200-1su")):
        answer = validate(without_ports(without_names(fabric, 0), 0), topo.load(name), consequence=False)
        assert [one.code for one in answer.findings] == ["wrong-design"]


def test_two_exchanged_leaves_are_one_finding_beside_the_other_faults() -> None:
    """135 operations by name become those of the faults and one pair of exchanged devices."""
    design = good("rails, h100-4su")
    fabric = inject(design, 5, 3, SWITCH_KINDS).fabric
    names = fabric.nodes.name.copy()
    one, other = (int(np.flatnonzero(names == name)[0]) for name in ("su-1-leaf-3", "su-3-leaf-5"))
    names[[one, other]] = names[[other, one]]
    renamed = replace(fabric, nodes=replace(fabric.nodes, name=names))
    answer = validate(renamed, design, consequence=False)
    assert [one.code for one in answer.findings].count("devices-exchanged") == 1
    assert answer.n_operations == validate(fabric, design, consequence=False).n_operations


@pytest.mark.parametrize("family", FAMILIES)
def test_good_families_raise_nothing_above_note(family: str) -> None:
    for fabric in (good(family), as_read(good(family))):
        answer = validate(fabric, consequence=False)
        assert [str(one) for one in answer.findings if one.severity != "note"] == []
    assert validate(fabric, good(family), consequence=False).findings == ()


@pytest.mark.parametrize("name", [entry.name for entry in catalog() if (entry.n_endpoints or 0) <= 9_000])
def test_good_catalogue_raises_nothing_above_note(name: str) -> None:
    fabric = topo.load(name)
    if not len(Cabling.of(fabric).links):
        with pytest.raises(topo.ParameterError, match="no cable between devices"):
            validate(fabric)
        return
    answer = validate(fabric, consequence=False)
    assert [str(one) for one in answer.findings if one.severity != "note"] == []


def test_good_flat_fabrics_say_that_degrees_only_are_judged() -> None:
    rng = np.random.default_rng(0)
    answer = validate(random_regular(40, 6, rng), consequence=False)
    assert [one for one in answer.findings if one.severity != "note"] == []
    assert any("degrees only" in rule for rule in answer.rules)


def random_regular(n: int, degree: int, rng: np.random.Generator) -> Fabric:
    """Switches with one host each, joined at random, each to ``degree`` others."""
    import networkx as nx

    from topo.build.assembly import Assembly

    graph = nx.random_regular_graph(degree, n, seed=int(rng.integers(1 << 30)))
    assembly = Assembly("random regular")
    switches = assembly.add_nodes([f"switch-{i}" for i in range(n)], kind="switch", tier=1)
    hosts = assembly.add_nodes([f"host-{i}" for i in range(n)], kind="host", is_endpoint=True, forwards=0)
    assembly.connect(hosts, switches, 400, kind="access")
    pairs = np.array(graph.edges)
    assembly.connect(switches[pairs[:, 0]], switches[pairs[:, 1]], 400)
    return assembly.finish()


@pytest.mark.parametrize("n_faults", [0, 3])
def test_an_irregular_plan_without_names_and_ports_is_told_to_be_a_bound(n_faults: int) -> None:
    """In a random graph what a switch is joined to tells less: the answer says that it is only an upper bound."""
    design = topo.jellyfish(30, 4, 2, seed=1)
    fabric = inject(design, n_faults, 1, SWITCH_KINDS).fabric if n_faults else design
    answer = validate(without_ports(without_names(fabric, 1), 1), design, consequence=False)
    known = least_by_device(fabric, design)
    assert answer.least_operations <= known <= answer.n_operations
    assert answer.is_shortest == (answer.n_operations == answer.least_operations) == (n_faults == 0)
    text = to_text(answer)
    assert ("only an upper bound; no list has fewer than" in text) == (n_faults > 0)
    assert answer.summary["operations_standing"] == ("upper bound" if n_faults else "exact")
    assert any("only an upper bound: another identification may leave fewer" in rule for rule in answer.rules)
