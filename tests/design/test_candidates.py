"""Candidates of every family against hand formulas; refusals, limits, Pareto marks and the verb."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.cli import main
from topo.design.families import FAMILIES, clos_largest, random_plan
from topo.design.pareto import CRITERIA, dominates, interval
from topo.design.requirements import Requirements, read_requirements
from topo.errors import InputError, ParameterError


@pytest.fixture(scope="module")
def found() -> topo.Result:
    """1,024 accelerators of 16-port switches."""
    return topo.candidates(Requirements(accelerators=1024, nic_gbps=400, radix=16, rails=8, growth=1))


@pytest.fixture(scope="module")
def small() -> topo.Result:
    return topo.candidates(Requirements(accelerators=128, nic_gbps=400, radix=16, rails=4))


@pytest.mark.parametrize("radix", [4, 8, 16, 64])
def test_largest_are_the_closed_forms(radix: int) -> None:
    assert clos_largest(radix, 2, 1.0) == radix**2 // 2
    assert clos_largest(radix, 3, 1.0) == radix**3 // 4
    asked = Requirements(accelerators=8, rails=2, radix=radix)
    assert FAMILIES["three tiers"](asked).largest == radix**3 // 4
    assert FAMILIES["rail-only"](asked).largest == 2 * radix**3 // 4
    if radix >= 8:
        p = (radix + 1) // 4
        many = Requirements(accelerators=2 * p * p * 2, rails=2, radix=radix)
        assert FAMILIES["dragonfly"](many).largest == 2 * p * p * (2 * p * p + 1)


def test_leaf_spine_of_64_ports() -> None:
    """2,048 accelerators: 64 leaves and 32 spines, 2,048 cables to hosts and as many between switches."""
    plan = FAMILIES["leaf-spine"](Requirements(accelerators=2048, radix=64))
    parts = topo.inventory(plan.build())
    assert (parts.n_switches, parts.n_host_links, parts.n_fabric_links) == (96, 2048, 2048)
    assert plan.largest == 2048


def test_three_tiers_of_k_ports_full(small: topo.Result) -> None:
    """5 k^2 / 4 switches, k^3 / 4 accelerators and 3 k^3 / 4 cables."""
    k = 8
    fabric = FAMILIES["three tiers"](Requirements(accelerators=k**3 // 4, radix=k, rails=4)).build()
    parts = topo.inventory(fabric)
    assert (parts.n_endpoints, parts.n_switches) == (k**3 // 4, 5 * k**2 // 4)
    assert parts.n_host_links + parts.n_fabric_links == 3 * k**3 // 4
    assert small["three tiers"].numbers.diameter_hops == 6


def test_dragonfly_of_p_a_h(found: topo.Result) -> None:
    """Radix 16 gives p = h = 4, a = 8: 32 groups of 32 endpoints, one global cable a pair of the 32 * 31 / 2."""
    one = found["dragonfly"].numbers
    assert one.n_switches == 32 * 8 and one.n_endpoints == 1024
    assert one.n_fabric_links == 32 * 8 * 7 // 2 + 32 * 31 // 2
    assert found["dragonfly"].largest == 8 * 4 * (8 * 4 + 1)
    assert one.diameter_hops == 5


def test_dragonfly_at_its_worst(found: topo.Result) -> None:
    """Groups that send to the next: one cable for 32 endpoints by minimal routes, half an all-to-all by Valiant's."""
    one = found["dragonfly"]
    assert re.search(r"groups that each send to the next 3\.1[23] % of line rate, Valiant's routes half", one.note)
    neighbours = topo.traffic.shift(one.fabric, by=32)
    assert topo.throughput(one.fabric, neighbours).network_theta == pytest.approx(1 / 32)
    detour = topo.throughput(one.fabric, topo.traffic.valiant(one.fabric, neighbours))
    assert detour.network_theta >= 0.5 * one.numbers.even_share


def test_the_largest_torus_says_its_shape(found: topo.Result) -> None:
    dims, side = map(int, re.search(r"largest has (\d+) dimensions of (\d+),", found["torus"].note).groups())
    assert found["torus"].largest % side**dims == 0
    p = found["torus"].largest // side**dims
    links = (16 - p) // (2 * dims)
    assert p >= 1 and p * side <= 8 * links < p * (side + 2)


def test_torus_carries_what_its_formula_says(found: topo.Result) -> None:
    """Per dimension an all-to-all loads the largest ring with p d / 8 rates on L cables."""
    one = found["torus"]
    assert one.numbers is not None and one.fabric is not None
    sides = [int(x) for x in one.note.split(",")[0].split(" x ")]
    p, links = (int(re.search(rf"(\d+) {word}", one.note)[1]) for word in ("accelerators? a switch", "cables? to each"))
    assert math.prod(sides) == one.numbers.n_switches and p * math.prod(sides) >= 1024
    assert f"{p * math.prod(sides):,} in all" in one.note and one.numbers.n_endpoints == p * math.prod(sides)
    pairs = sum(math.prod(sides) // (2 if side == 2 else 1) for side in sides)
    assert one.numbers.n_fabric_links == links * pairs
    assert one.numbers.diameter_hops == sum(side // 2 for side in sides) + 2
    n = one.numbers.n_endpoints
    theta = 8 * links / (p * max(4, *sides)) * (n - 1) / n
    assert theta >= 0.99 and one.numbers.even_share == pytest.approx(min(1.0, theta), rel=1e-6)


@pytest.mark.parametrize("radix", [3, 4])
def test_a_torus_of_too_few_ports_says_how_many_it_takes(radix: int) -> None:
    """Two ports for each of two dimensions and one for an accelerator: fewer hold none, of whatever size."""
    with pytest.raises(
        ParameterError, match=r"takes 5 ports .* have \d; the nearest that can: switches of (\d+)"
    ) as said:
        FAMILIES["torus"](Requirements(accelerators=64, rails=1, radix=radix))
    wider = int(re.search(r"switches of (\d+) ports", str(said.value))[1])
    assert FAMILIES["torus"](Requirements(accelerators=64, rails=1, radix=wider)).build()
    for between in range(radix + 1, wider):
        with pytest.raises(ParameterError):
            FAMILIES["torus"](Requirements(accelerators=64, rails=1, radix=between))


@pytest.mark.parametrize("radix", range(5, 12))
@pytest.mark.parametrize("n", [16, 36, 64, 100, 512])
def test_a_torus_that_is_planned_meets_what_is_asked(radix: int, n: int) -> None:
    """Its all-to-all is within a hundredth of line rate, also that of few endpoints; or its largest is less."""
    asked = Requirements(accelerators=n, rails=1, radix=radix)
    try:
        made = FAMILIES["torus"](asked).build()
    except ParameterError as error:
        assert error.largest < n and f"at most {error.largest:,} accelerators at 1:1" in str(error)
        return
    theta = topo.throughput(made, topo.traffic.all_to_all(made), routing="ecmp").network_theta
    assert theta * 1.01 >= 1


def test_a_torus_of_more_than_it_carries_is_looser_with_oversubscription() -> None:
    tight = FAMILIES["torus"](Requirements(accelerators=512, radix=16, rails=1)).build()
    loose = FAMILIES["torus"](Requirements(accelerators=512, radix=16, rails=1, oversubscription=4)).build()
    assert len(loose.switches) < len(tight.switches)


def test_rail_families_keep_their_promises(found: topo.Result) -> None:
    rail_only, optimized = found["rail-only"].numbers, found["rail-optimized"].numbers
    assert rail_only.joined_share == pytest.approx((1024 / 8 - 1) / 1023)
    assert rail_only.n_planes == 8 and optimized.joined_share == 1
    assert optimized.bisection_share == (1.0, 1.0)
    assert found["multi-plane"].numbers.n1_cut_off == 0  # every adapter has another plane
    assert found["three tiers"].numbers.n1_cut_off == 8  # a leaf's


def test_equal_fabrics_get_equal_numbers(small: topo.Result) -> None:
    """The numbers are those of the analyses asked one by one."""
    one = small["leaf-spine"]
    plan = topo.cabling_plan(one.fabric)
    lines = [line for line in plan.bill.lines if line.group != "server"]
    assert one.numbers.power_kw == pytest.approx(sum(line.power_kw for line in lines))
    assert one.numbers.price == pytest.approx(sum(line.price for line in lines))
    assert one.numbers.price == pytest.approx(24 * 16 * 400 * 3.2 + 256 * 400 * 1.375)
    assert one.numbers.n_copper + one.numbers.n_optical == one.numbers.n_cables == 256
    assert one.numbers.n_transceivers == plan.bill.count("transceiver")
    cut = topo.bisection_bandwidth(one.fabric)
    assert one.numbers.bisection_lower_gbps == cut.lower_gbps
    whole = topo.survivability(one.fabric, "all-to-all", kinds=["switch", "link:*leaf*--*spine*"])
    assert one.numbers.n1_share == pytest.approx(min(loss.share_lower for loss in whole.losses))
    assert one.numbers.n1_cut_off == max(loss.cut_off for loss in whole.losses)


def test_the_random_graph_has_the_same_equipment(found: topo.Result) -> None:
    like, drawn = found["three tiers"].fabric, found["random graph"].fabric
    assert len(drawn.switches) == len(like.switches) and len(drawn.endpoints) == len(like.endpoints)
    assert len(drawn.links) <= len(like.links)
    ports = np.bincount(np.concatenate([drawn.link_a, drawn.link_b]), minlength=len(drawn.nodes))[drawn.switches]
    assert ports.max() <= 16
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph(zip(drawn.link_a.tolist(), drawn.link_b.tolist(), strict=True))
    switches = graph.subgraph(drawn.switches.tolist())
    hosting = {int(n) for n in drawn.switches if any(int(x) not in switches for x in graph[int(n)])}
    far = max(
        max(d for node, d in lengths.items() if node in hosting)
        for source, lengths in networkx.all_pairs_shortest_path_length(switches)
        if source in hosting
    )
    one = found["random graph"].numbers
    assert one.diameter_hops == far + 2
    # No more than the cables over the mean distance allow, and shorter ways than the tree's.
    between = one.n_fabric_links * 2 * 400
    assert one.even_share <= between / ((one.mean_hops - 2) * one.n_endpoints * 400) + 1e-9
    assert one.mean_hops < found["three tiers"].numbers.mean_hops
    assert found["random graph"].verdict == "yardstick"


def test_another_seed_draws_another_random_graph() -> None:
    asked = Requirements(accelerators=128, radix=16, rails=4)
    like = FAMILIES["leaf-spine"](asked).build()
    graphs = [random_plan(asked, like, seed=seed).build() for seed in (0, 0, 1)]
    assert graphs[0].equals(graphs[1]) and not graphs[0].equals(graphs[2])


def test_the_quick_bracket_holds_the_true_bisection() -> None:
    from topo.design.carried import _quick_bisection

    uneven = random_plan(Requirements(accelerators=36, radix=8, rails=2), topo.leaf_spine(8, 4, 4)).build()
    for made in (
        topo.torus([4, 4], hosts_per_switch=2),
        topo.dragonfly(2, 4, 2),
        topo.jellyfish(20, 5, 2, seed=3),
        topo.jellyfish(16, 4, 6, seed=1),
        uneven,
    ):
        quick = _quick_bisection(made)
        assert quick is not None
        true = topo.bisection_bandwidth(made, keep="none")
        assert quick[0] <= true.upper_gbps + 1e-6 and quick[2] == true.full_gbps
        assert quick[1] >= topo.bisection_bandwidth(made).lower_gbps - 1e-6


def test_a_large_random_graph_is_bracketed_between_its_eigenvalue_and_a_cut() -> None:
    """Ten cables and five endpoints a switch: the eigenvalue below, at most a quarter over Kernighan-Lin above."""
    from topo.design.carried import _quick_bisection

    fabric = topo.jellyfish(720, 10, 5, seed=2)
    quick = _quick_bisection(fabric)
    assert quick is not None
    lower, upper, full, _ = quick
    networkx = pytest.importorskip("networkx")
    switch = fabric.nodes.kind.is_any("switch")
    between = switch[fabric.link_a] & switch[fabric.link_b]
    graph = networkx.Graph(zip(fabric.link_a[between].tolist(), fabric.link_b[between].tolist(), strict=True))
    laplacian = networkx.laplacian_matrix(graph).toarray().astype(float)
    second = np.linalg.eigvalsh(laplacian)[1]
    assert lower == pytest.approx(400 * second * 720 / 4, rel=1e-6)
    half, other = networkx.algorithms.community.kernighan_lin_bisection(graph, seed=1)
    assert lower <= 400 * networkx.cut_size(graph, half, other)
    assert upper < 0.65 * full and upper < 1.25 * 400 * networkx.cut_size(graph, half, other)


@pytest.mark.parametrize("seed", range(6))
def test_the_eigenvalue_bounds_graphs_of_unequal_switches(seed: int) -> None:
    """Against every two-colouring of the switches, endpoints moved to make it even."""
    asked = Requirements(accelerators=21 + seed, radix=9, rails=1)
    fabric = random_plan(asked, topo.leaf_spine(6, 4, 4), seed=seed).build()
    found = topo.bisection_bandwidth(fabric)
    row = {int(node): i for i, node in enumerate(fabric.switches)}
    ends = list(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    hosts = np.bincount([row.get(a, row.get(b)) for a, b in ends if (a in row) != (b in row)], minlength=len(row))
    cables = [(row[a], row[b]) for a, b in ends if a in row and b in row]
    n = int(hosts.sum())
    assert len(set(hosts.tolist())) > 1
    best = math.inf
    for side in itertools.product((0, 1), repeat=len(row)):
        held = int(hosts @ np.array(side))
        moved = max(0, held - (n - n // 2), n // 2 - held)
        best = min(best, sum(side[a] != side[b] for a, b in cables) + moved)
    assert found.lower_gbps <= 400 * best <= found.upper_gbps
    from topo.analysis.bisection.problem import make_problem
    from topo.analysis.bisection.spread import spectral_bound

    bound = spectral_bound(make_problem(fabric, None, "none", kinds=None, state=None), n // 2)
    assert 0.5 * 400 * best < bound <= 400 * best + 1e-6


def test_pareto_marks_by_brute_force(found: topo.Result) -> None:
    able = {one.family: one.numbers for one in found.candidates if one.verdict in ("best", "dismissed")}
    assert len(able) >= 5

    def is_beaten(name: str) -> bool:
        for other, numbers in able.items():
            if other == name:
                continue
            no_worse = better = 0
            for measure in CRITERIA:
                a, b = interval(measure, numbers), interval(measure, able[name])
                # Of what was sampled, two whose intervals meet are no worse than each other.
                no_worse += (a[1] >= b[0]) if measure.key == "hashed_share" else (a[0] >= b[1])
                better += a[0] > b[1]
            if no_worse == len(CRITERIA) and better:
                return True
        return False

    marks = {name: "dismissed" if is_beaten(name) else "best" for name in able}
    assert marks == {one.family: one.verdict for one in found.candidates if one.family in able}
    assert "best" in marks.values()
    for a, b, c in itertools.permutations(able.values(), 3):
        assert not (dominates(a, b) and dominates(b, a))
        assert not (dominates(a, b) and dominates(b, c) and dominates(c, a))
    assert not any(dominates(one, one) for one in able.values())


def test_a_dismissal_names_who_is_better_and_by_how_much(small: topo.Result) -> None:
    one = small["three tiers"]
    assert one.verdict == "dismissed"
    by = next(c for c in small.best if f" {c.family}" in one.reason)
    ratio = one.numbers.price / by.numbers.price
    assert f"{ratio:.3g} times the price" in one.reason
    assert "is no better in" in one.reason


def test_limits_are_reasons_with_the_nearest(small: topo.Result) -> None:
    cheapest = min(one.numbers.price for one in small.candidates if one.numbers and one.verdict != "yardstick")
    found = topo.candidates(Requirements(accelerators=128, radix=16, rails=4, price=cheapest - 1, power_kw=1e6))
    assert not found.best
    assert all(one.verdict in ("cannot", "yardstick") for one in found.candidates)
    assert "price is" in found["leaf-spine"].reason and "the nearest that can: " not in found["leaf-spine"].reason
    for one in found.candidates:
        if one.verdict == "cannot" and one.numbers is not None:
            assert re.search(r"is asked; no family can, and (this|\S+ with [\d,]+ USD) comes nearest", one.reason)
    assert "no family meets all limits together" in found["leaf-spine"].reason
    grown = topo.candidates(Requirements(accelerators=128, radix=16, rails=4, growth=2))
    able = [one.family for one in grown.candidates if one.verdict in ("best", "dismissed")]
    assert grown["leaf-spine"].reason.endswith(f"all limits are met by {', '.join(able)}")
    assert "the nearest that can: three tiers with 1,024 accelerators" in grown["leaf-spine"].reason
    assert "grows to 128" in grown["leaf-spine"].reason and grown["three tiers"].verdict != "cannot"


def test_what_is_too_large_says_what_would_do() -> None:
    with pytest.raises(ParameterError, match=r"at most 2,048 .* 2,048 accelerators, or switches of 182 ports"):
        FAMILIES["leaf-spine"](Requirements(accelerators=16384, radix=64))
    assert clos_largest(182, 2, 1.0) >= 16384 > clos_largest(181, 2, 1.0)
    with pytest.raises(ParameterError, match="one group"):
        FAMILIES["dragonfly"](Requirements(accelerators=64, radix=64))


def test_any_number_of_workers_gives_the_same(small: topo.Result) -> None:
    again = topo.candidates(Requirements(accelerators=128, radix=16, rails=4), workers=2)
    assert again.to_dict() == small.to_dict()


def test_the_answer_renders(small: topo.Result) -> None:
    assert json.loads(small.to_json()) == small.to_dict()
    assert pickle.loads(pickle.dumps(small)).to_dict() == small.to_dict()
    assert len(small.to_frame()) == len(small.rows())
    text, page = str(small), small._repr_html_()
    for one in small.candidates:
        assert one.family in text
    assert page.count("<table>") == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"accelerators": -1}, "accelerators is -1"),
        ({"accelerators": 1.5}, "accelerators is 1.5"),
        ({"accelerators": True}, "accelerators is True"),
        ({"accelerators": 10**9}, "at most|from 2 to"),
        ({"nic_gbps": float("nan")}, "nic_gbps: nan"),
        ({"nic_gbps": "fast"}, "nic_gbps: 'fast'"),
        ({"nic_gbps": 0}, "above 0"),
        ({"oversubscription": 0.5}, "oversubscription is 0.5; .* at least 1"),
        ({"oversubscription": float("nan")}, "oversubscription is nan"),
        ({"growth": float("inf")}, "growth is inf"),
        ({"power_kw": -3.0}, "power_kw is -3.0"),
        ({"price": 0}, "price is 0; .* above 0"),
        ({"rails": 0}, "rails is 0"),
        ({"rails": 64, "accelerators": 8}, "use 8 rails"),
        ({"switch": "qm9799"}, "did you mean 'qm9700'"),
        ({"switch": 5}, "switch is 5"),
        ({"switch": "qm8700", "nic_gbps": 400}, r"no ports of 400 Gb/s, but 40 x 200 .* qm9700"),
        ({"switch": "qm9700", "radix": 64}, "give one of the two"),
        ({"planes": 3}, "splits into 2, 4 or 8"),
        ({"planes": 8, "switch": "qm9700"}, "no ports of 50 Gb/s; use 2"),
    ],
)
def test_requirements_that_cannot_be_are_named(given: dict[str, object], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Requirements(**{"accelerators": 1024, **given})


def test_a_file_of_requirements_is_read_with_lines(tmp_path: Path) -> None:
    file = tmp_path / "asked.yaml"
    file.write_text("accelerators: 1024\nrail: 8\n")
    with pytest.raises(InputError, match=r"asked\.yaml:2: key rail: .*did you mean 'rails'"):
        read_requirements(file)
    file.write_text("accelerators: 1024\noversubscription: 0.2\n")
    with pytest.raises(InputError, match=r"asked\.yaml:2: key oversubscription: oversubscription is 0\.2"):
        read_requirements(file)
    file.write_text("accelerators: many\n")
    with pytest.raises(InputError, match=r"asked\.yaml:1: key accelerators: "):
        read_requirements(file)
    file.write_text("rails: 4\nnic_gbps: 200G\n")
    with pytest.raises(ParameterError, match="how many accelerators"):
        read_requirements(file)
    assert read_requirements(file, accelerators=64) == Requirements(accelerators=64, rails=4, nic_gbps=200)
    with pytest.raises(ParameterError, match="are no requirements"):
        topo.candidates(64)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["design", "--accelerators", "64", "--radix", "16", "--rails", "4"]
    assert main([*asked]) == 0
    text = capsys.readouterr().out
    assert "Pareto-best" in text and "leaf-spine" in text
    assert main([*asked, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {one["family"] for one in said["candidates"]} == {*FAMILIES, "random graph"}
    page = tmp_path / "page.html"
    assert main([*asked, "--format", "html", "-o", str(page)]) == 0
    capsys.readouterr()
    html = page.read_text()
    assert html.lstrip().lower().startswith("<!doctype html>") and "leaf-spine" in html and "http://" not in html
    prices = tmp_path / "prices.yaml"
    prices.write_text("currency: EUR\ntitle: an offer\nswitches:\n  '*': {price: 1000, power_kw: 2.0}\n")
    assert main([*asked, "--prices", str(prices), "--format", "json"]) == 0
    one = next(c for c in json.loads(capsys.readouterr().out)["candidates"] if c["family"] == "leaf-spine")["numbers"]
    assert one["price"] == 1000 * one["n_switches"] and one["currency"] == "EUR"
    assert one["price_standing"].startswith("lower bound") and one["power_kw"] > 2 * one["n_switches"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--accelerators", "-4"], "-4"),
        (["--nic-rate", "400"], "--accelerators"),
        (["--accelerators", "64", "--switch", "nothing"], "not a known switch"),
        (["--accelerators", "64", "--requirements", "nowhere.yaml"], "nowhere.yaml"),
        (["--accelerators", "64", "--power", "nan"], "nan"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and says in err
