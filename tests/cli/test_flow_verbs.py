"""topo throughput, ecmp and fail: what they print is what the library answers, in the words of the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from told import said

import topo
from topo import traffic
from topo.cli.demands import demand_by_words

POD = "nvidia-superpod-h100-1su"
TAPERED = "leaf-spine-2to1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    return json.loads(said(capsys, *arguments, "--format", "json", status=status))


@pytest.mark.parametrize("routing", ["ecmp", "wcmp", "spray", "optimal"])
def test_throughput_is_the_librarys(capsys: pytest.CaptureFixture[str], routing: str) -> None:
    f = topo.load(TAPERED)
    expected = topo.throughput(f, traffic.all_to_all(f), routing=routing)
    shown = told(capsys, "throughput", TAPERED, "--routing", routing)
    assert shown["theta_lower"] == expected.theta_lower and shown["theta_upper"] == expected.theta_upper
    # A leaf's 16 uplinks over the traffic of its 32 hosts to the 480 hosts elsewhere.
    assert math.isclose(shown["theta_lower"], 16 / (32 * 480 / 511), rel_tol=1e-6)


def test_throughput_prints_the_links_that_bind(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "throughput", TAPERED, "--links", "2")
    head, _, tail = text.partition("\nWhere it binds: 512 link directions, worst first\n")
    assert "0.532292  (exact" in head
    assert len(tail.splitlines()) == 3 and "leaf-01 to spine-1, port 33 - port 1, 400 Gb/s" in tail
    assert "... 510 more; --links 512 prints them all" in tail
    assert "Where it binds" not in said(capsys, "throughput", TAPERED, "--links", "0")


def test_throughput_with_links_down_is_that_of_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    f = topo.load(TAPERED)
    state = topo.down_state(f, ["spine-1"], rates={"link:leaf-01--spine-2": 100})
    expected = topo.throughput(f, traffic.all_to_all(f), state=state)
    given = ("--down", "spine-1", "--rate", "link:leaf-01--spine-2=100G")
    assert told(capsys, "throughput", TAPERED, *given)["theta_lower"] == expected.theta_lower


def test_throughput_of_some_endpoints_and_of_a_file(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert (
        told(capsys, "throughput", TAPERED, "--endpoints", "host-00*", "--endpoints", "host-01*")["n_pairs"] == 19 * 18
    )
    (folder / "flows.csv").write_text("source,sink,gbps\nhost-001,host-033,400\nhost-002,host-034,100G\n")
    shown = told(capsys, "throughput", TAPERED, "--demand", "flows.csv", "--routing", "optimal")
    assert (shown["n_pairs"], shown["wanted_gbps"], shown["theta_lower"]) == (2, 500, 1)


def test_questions_with_demands_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    f = topo.load(TAPERED)
    assert told(capsys, "throughput", TAPERED, "--demand", "worst-permutation")["theta_upper"] == 0.5
    assert (
        told(capsys, "throughput", TAPERED, "--demand", "upper-bound")["theta"] == topo.throughput_upper_bound(f).theta
    )
    shown = told(capsys, "throughput", TAPERED, "--demand", "effective-bisection", "--samples", "5", "--seed", "3")
    assert shown["share"] == topo.effective_bisection(f, samples=5, seed=3).share
    shown = told(
        capsys, "throughput", TAPERED, "--demand", "effective-bisection", "--samples", "5", "--seed", "3",
        "--table", "min-hop",
    )  # fmt: skip
    assert shown["share"] == topo.effective_bisection(f, table="min-hop", samples=5, seed=3).share


def test_every_word_for_a_demand_makes_that_demand() -> None:
    f = topo.fat_tree(4)
    made = {
        "all-to-all": traffic.all_to_all(f),
        "permutation": traffic.permutation(f, seed=5),
        "shift": traffic.shift(f),
        "shift:7": traffic.shift(f, by=7),
        "ring": traffic.ring(f),
        "tree": traffic.tree(f),
        "double-tree": traffic.double_tree(f),
        "pairing": traffic.random_pairing(f, seed=5),
        "longest-matching": traffic.longest_matching(f),
        "incast:host-03": traffic.incast(f, "host-03"),
    }
    for words, demand in made.items():
        found = demand_by_words(f, words, seed=5)
        assert found.name == demand.name and found.sink.tolist() == demand.sink.tolist(), words


def test_ecmp_is_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    f = topo.load(POD)
    flows = traffic.shift(f, by=32)
    expected = topo.ecmp_collisions(f, flows, queue_pairs=4, samples=0)
    asked = ("ecmp", POD, "--demand", "shift:32", "--queue-pairs", "4", "--samples", "0")
    shown = told(capsys, *asked)["collisions"]
    assert expected.slowest_rate is not None
    assert shown["slowest_rate"]["estimate"] == expected.slowest_rate.estimate
    assert shown["worst_links"][0]["p_overload_upper"] == expected.worst_links[0].p_overload_upper
    assert "worst link 1" in said(capsys, *asked)


def test_ecmp_weighs_next_hops(capsys: pytest.CaptureFixture[str]) -> None:
    """One spine at a quarter of its rate: weights keep flows off it; InfiniBand is said to be no hash, once."""
    from topo.fabric import State

    f = topo.load(POD)
    asked = ("ecmp", POD, "--demand", "shift:1", "--samples", "0", "--routing", "wcmp", "--rate", "spine-1=100")
    rates = f.links.capacity_gbps.copy()
    rates[(f.link_a == f.rows("spine-1")[0]) | (f.link_b == f.rows("spine-1")[0])] = 100.0
    expected = topo.ecmp_collisions(
        f, traffic.shift(f, by=1), routing="wcmp", state=State(capacity_gbps=rates), samples=0
    )
    found = told(capsys, *asked)["collisions"]
    assert found["slowest_rate"]["lower"] == expected.to_dict()["slowest_rate"]["lower"]
    assert found["routing"] == "wcmp (path weights)"
    even = told(capsys, *asked[:-3], "ecmp", *asked[-2:])["collisions"]
    assert even["slowest_rate"]["upper"] < found["slowest_rate"]["lower"]
    assert said(capsys, *asked).count("InfiniBand forwards by destination") == 1


def test_ecmp_hashes_as_told(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("ecmp", POD, "--samples", "256", "--tolerance", "0", "--hash", "crc-16/arc", "--hash", "crc-32c")
    shown = told(capsys, *asked, "--selection", "range", "--seed-per", "fabric", "--offset", "4")["collisions"]
    rule = topo.EcmpHash(("crc-16/arc", "crc-32c"), selection="range", seed_per="fabric", offset=4, offset_per="tier")
    assert shown["hashing"] == str(rule) and shown["samples"] == 256


def test_polarization_remedies_churn_and_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "ecmp", "fat-tree-k48", "--polarization", "--seed-per", "fabric")["polarization"]
    assert shown["is_polarized"] and shown["capacity_left"] < 0.1
    f = topo.load(TAPERED)
    link = "link:leaf-01/33--spine-1"
    asked = ("ecmp", TAPERED, "--remedies", "--samples", "0", "--demand", "shift:32", "--churn", link)
    shown = told(capsys, *asked)
    assert [item["kind"] for item in shown["remedies"]["remedies"]][:2] == ["as is", "striping"]
    assert shown["churn"]["on_links"] <= shown["churn"]["moved"] and len(shown["churn"]["links"]) == 1
    job = told(capsys, "ecmp", TAPERED, "--collective", "ring", "--endpoints", "host-0*")["job"]
    assert job["ranks"] == 99 and job["stretch"]["lower"] >= 1
    assert len(f.endpoint_rows("host-0*")) == 99


def test_fail_compares_a_state_with_the_healthy_fabric(capsys: pytest.CaptureFixture[str]) -> None:
    f = topo.load(POD)
    state = topo.down_state(f, ["spine-1", "link:su-1-leaf-1--spine-2"])
    expected = topo.degraded_capacity(f, state, beside=("wcmp", "optimal"))
    asked = ("--down", "spine-1", "--down", "link:su-1-leaf-1--spine-2", "--beside", "wcmp", "--beside", "optimal")
    shown = told(capsys, "fail", POD, *asked)["degraded"]
    assert shown["kept"] == expected.to_dict()["kept"] and len(shown["beside"]) == 2
    assert "survivability" not in told(capsys, "fail", POD, *asked)


def test_require_decides_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "fail", TAPERED, "--down", "spine-1", "--require", "0.9", status=1)
    assert text.endswith("\nFAILS: 90 % required, and nobody cut off\n") and "75 %" in text
    text = said(capsys, "fail", TAPERED, "--down", "spine-1", "--require", "0.75")
    assert text.endswith("\npasses: 75 % required, and nobody cut off\n")
    # Nobody speaks for those cut off: the others keep all they had.
    assert not told(capsys, "fail", TAPERED, "--down", "leaf-01", "--require", "0.5", status=1)["passes"]
    said(capsys, "fail", TAPERED, "--worst", "2", "--kind", "switch", "--require", "0.6", status=1)


def test_drains_name_what_may_go_given_what_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("fail", TAPERED, "--n-1", "--kind", "switch", "--require")
    text = said(capsys, *asked, "0.75", status=1)
    assert "  leaf switch: none of 16 may go down\n  spine switch: any one of 4 may go down\n" in text
    shown = told(capsys, *asked, "0.7", "--down", "spine-1", status=1)
    verdicts = {v["tier"]: (v["n_safe"], v["n_elements"]) for v in shown["survivability"]["verdicts"]}
    assert verdicts == {"leaf": (0, 16), "spine": (0, 3)}  # two of three are less than 70 %
    assert shown["degraded"]["kept"]["degraded_lower"] < shown["degraded"]["kept"]["healthy_lower"]


def test_capacity_over_time_jobs_and_a_log(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "rates.yaml").write_text("switch:spine-*: {mtbf_h: 999, mttr_h: 1}\n")
    shown = told(capsys, "fail", TAPERED, "--rates", "rates.yaml")["availability"]
    assert math.isclose(shown["curve"][-1]["held_at_least"], 0.999**4, rel_tol=1e-9)
    drawn = ("fail", TAPERED, "--rates", "rates.yaml", "--availability", "monte-carlo", "--samples", "400")
    one = told(capsys, *drawn, "--seed", "5")
    assert one == told(capsys, *drawn, "--seed", "5", "--jobs", "2", "--checkpoint", "kept")
    assert one == told(capsys, *drawn, "--seed", "5", "--checkpoint", "kept")
    (folder / "rates.yaml").write_text("switch: {mtbf_h: 7305, mttr_h: 1}\n")
    jobs = told(capsys, "fail", TAPERED, "--job", "a=host-00*,host-01*", "--rates", "rates.yaml")["jobs"]
    assert math.isclose(jobs["jobs"][0]["stops_per_month"], 0.1, rel_tol=1e-9)  # one leaf of its own
    (folder / "log.csv").write_text("time,element,event\n2026-01-01,spine-1,down\n2026-01-02,spine-1,up\n")
    replayed = told(capsys, "fail", TAPERED, "--events", "log.csv")["replay"]
    assert replayed["daily_minimum"] == pytest.approx([replayed["healthy"] * 0.75] * 2)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("throughput", POD, "--demand", "gossip"), "unknown demand 'gossip'; known: all-to-all"),
        (("throughput", POD, "--demand", "shift:x"), "'x' is not a whole number; write shift:8"),
        (("throughput", POD, "--demand", "shift:248"), "sends 'host-01-nic-1' to itself"),
        (("throughput", POD, "--demand", "none.csv"), "none.csv: no such file"),
        (("throughput", POD, "--demand", "none.csv", "--endpoints", "host-*"), "leave --endpoints out"),
        (("throughput", POD, "--routing", "magic"), "'magic' is not one of"),
        (("throughput", POD, "--down", "spine-99"), "nothing in 'nvidia-superpod-h100-1su' is called 'spine-99'"),
        (("throughput", POD, "--rate", "spine-1"), "--rate 'spine-1' is not ELEMENT=RATE"),
        (("throughput", POD, "--rate", "spine-1=fast"), "'fast' is not a rate"),
        (("throughput", POD, "--accuracy", "2"), "--accuracy is 2.0"),
        (("throughput", POD, "--demand", "worst-permutation", "--endpoints", "host-*"), "leave --endpoints out"),
        (("ecmp", POD, "--queue-pairs", "99999"), "--queue-pairs is 99,999"),
        (("ecmp", POD, "--hash", "md5"), "unknown hash function 'md5'"),
        (("ecmp", POD, "--fields", "dscp,x"), "dscp"),
        (("ecmp", POD, "--tolerance", "7"), "--tolerance is 7.0"),
        (("ecmp", POD, "--down", "spine-*", "--demand", "shift:4"), "no flow of shift by 4 has a path"),
        (("ecmp", POD, "--churn", "spine-1"), "names no link; write link:"),
        (("ecmp", POD, "--churn", "link:su-1-leaf-1--spine-1", "--down", "spine-2"), "leave --down and --rate out"),
        (("fail", POD, "--measure", "luck"), "unknown measure 'luck'; known: bisection, endpoints, all-to-all"),
        (("fail", POD, "--measure", "bisection", "--endpoints", "host-*"), "leave --endpoints out"),
        (("fail", POD, "--require", "90"), "--require is 90.0; it is a share"),
        (("fail", POD, "--require", "0.9", "--events", "x.csv"), "--require goes with --down"),
        (("fail", POD, "--events", "x.csv"), "x.csv: no such file; check the path"),
        (("fail", POD, "--rates", "x.yaml"), "x.yaml"),
        (("fail", POD, "--kind", "rocket"), "unknown kind of element 'rocket'"),
        (("fail", POD, "--worst", "0"), "--worst is 0"),
        (("fail", POD, "--job", "host-1"), "--job 'host-1' is not NAME=GLOB"),
        (("fail", POD, "--job", "a=nobody-*"), "nobody-*"),
        (("fail", POD, "--availability", "monte-carlo", "--samples", "3"), "--samples is 3"),
        (("fail", POD, "--down", "switch:*"), "takes every link"),
        (("fail", POD, "--n-1", "--availability", "enumeration", "--checkpoint", "x"), "in two runs"),
        (("fail", POD, "--down", "spine-1", "--checkpoint", "x"), "--checkpoint is for the sweeps --n-1"),
        (("fail", POD, "--worst", "1", "--jobs", "2"), "--jobs is for the sweeps --n-1 and --availability"),
        (("ecmp", POD, "--remedies", "--jobs", "2"), "leave them out with --remedies"),
        (("fail", POD, "--cluster", "nowhere"), "no Dask scheduler answers at --cluster nowhere"),
        (("fail", POD, "--cluster", "tcp://127.0.0.1:9"), "no Dask scheduler answers at --cluster tcp://127.0.0.1:9"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str) -> None:
    assert expected in said(capsys, *arguments, status=2)


def test_a_checkpoint_of_another_fabric_is_left_as_it_is(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    asked = ("--n-1", "--kind", "switch", "--checkpoint", "kept")
    said(capsys, "fail", TAPERED, *asked)
    before = (folder / "kept").read_bytes()
    assert "is the checkpoint of another sweep" in said(capsys, "fail", POD, *asked, status=2)
    assert (folder / "kept").read_bytes() == before


def test_a_checkpoint_of_another_question_is_refused(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """The same fabric and as many states, but another thing down, another demand, or other rates."""
    asked = ("fail", TAPERED, "--n-1", "--kind", "switch", "--checkpoint", "kept")
    said(capsys, *asked, "--down", "spine-1")
    for other in (("--down", "spine-2"), ("--down", "spine-1", "--endpoints", "host-0*")):
        assert "is the checkpoint of another sweep" in said(capsys, *asked, *other, status=2)
    drawn = ("fail", TAPERED, "--availability", "monte-carlo", "--samples", "400", "--checkpoint", "drawn")
    (folder / "rates.yaml").write_text("switch:spine-*: {mtbf_h: 999, mttr_h: 1}\n")
    said(capsys, *drawn, "--rates", "rates.yaml")
    (folder / "rates.yaml").write_text("switch:spine-*: {mtbf_h: 99, mttr_h: 1}\n")
    assert "is the checkpoint of another sweep" in said(capsys, *drawn, "--rates", "rates.yaml", status=2)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_gives_the_same_answer(capsys: pytest.CaptureFixture[str], scheduler: str) -> None:
    for asked in (("--n-1",), ("--availability", "monte-carlo", "--samples", "600", "--seed", "1")):
        here = told(capsys, "fail", TAPERED, *asked)
        assert told(capsys, "fail", TAPERED, *asked, "--cluster", scheduler) == here
    sampled = ("ecmp", TAPERED, "--samples", "300", "--tolerance", "0")
    assert told(capsys, *sampled, "--cluster", scheduler) == told(capsys, *sampled)


def test_without_distributed_a_cluster_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("topo.cli.running.import_module", refuse)
    err = said(capsys, "fail", POD, "--cluster", "tcp://127.0.0.1:1", status=2)
    assert "install it with: pip install distributed" in err


def test_fail_takes_some_of_a_kind_and_a_kind_twice(capsys: pytest.CaptureFixture[str]) -> None:
    some = told(capsys, "fail", TAPERED, "--kind", "link:leaf-*--spine-*", "--kind", "switch", "--kind", "switch")
    found = {(one["kind"], one["tier"]): one["n_elements"] for one in some["survivability"]["verdicts"]}
    assert found == {("link:leaf-*--spine-*", "leaf-spine"): 256, ("switch", "leaf"): 16, ("switch", "spine"): 4}
    cut = {one["tier"]: one["most_cut_off"] for one in some["survivability"]["verdicts"]}
    assert cut == {"leaf-spine": 0, "leaf": 32, "spine": 0}
    assert "no link of 'leaf-spine-2to1' matches 'zz'" in said(capsys, "fail", TAPERED, "--kind", "link:zz", status=2)


def test_fail_refuses_the_checkpoint_of_another_fabric_and_leaves_it(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    told(capsys, "fail", TAPERED, "--n-1", "--checkpoint", "kept.json")
    before = (folder / "kept.json").read_bytes()
    words = said(capsys, "fail", POD, "--n-1", "--checkpoint", "kept.json", status=2)
    assert "kept.json: is the checkpoint of another sweep" in words and "this one is left as it is" in words
    assert (folder / "kept.json").read_bytes() == before
    assert "cannot hold a checkpoint" in said(capsys, "fail", POD, "--n-1", "--checkpoint", "no/k.json", status=2)


def test_fail_knows_groups_named_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    fed = ("--group", "feed-A=spine-1,spine-2", "--group", "feed-B=spine-3")
    found = told(capsys, "fail", TAPERED, *fed, "--kind", "group")["survivability"]["losses"]
    assert [(one["name"], round(one["share_lower"], 9)) for one in found] == [
        ("group feed-A", 0.5), ("group feed-B", 0.75),
    ]  # fmt: skip
    assert told(capsys, "fail", TAPERED, *fed, "--down", "group:feed-A")["degraded"]["n_nodes_down"] == 2
    words = said(capsys, "fail", TAPERED, "--group", "feed-A", "--n-1", status=2)
    assert "--group 'feed-A' is not NAME=ELEMENT,..." in words
