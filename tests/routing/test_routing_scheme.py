"""Routing: shorthand, equality, words, refusals."""

import pickle

import numpy as np
import pytest

from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_OWN_HOST, State
from topo.routing import Routing
from topo.routing.loads import link_loads
from topo.traffic import Demand


def test_shorthand_hash_and_pickle():
    routing = Routing("wcmp", costs={"scale_out": 2, "access": 1}, lag=True)
    assert Routing.of(routing) is routing
    assert Routing.of("wcmp") == Routing(scheme="wcmp")
    assert pickle.loads(pickle.dumps(routing)) == routing
    assert hash(routing) == hash(Routing("wcmp", costs={"access": 1, "scale_out": 2}, lag=True))
    assert routing.with_(lag=False).lag is False


def test_words():
    assert str(Routing("wcmp", up_down=True)) == "wcmp (path weights, up/down)"
    assert str(Routing("single-path", table="destination-modulo")) == "single-path (destination-modulo)"
    assert str(Routing()) == "ecmp"
    assert str(Routing(pxn="always")) == "ecmp (PXN always)"
    assert str(Routing(pxn="never", lag=True)) == "ecmp (LAG, no PXN)"


def test_rules_of_pxn():
    assert Routing().pxn == "needed"
    assert Routing(pxn=True) == Routing(pxn="always") != Routing()
    assert Routing(pxn=False) == Routing(pxn="never")
    assert [Routing(pxn=rule).may_relay for rule in ("needed", "always", "never")] == [True, True, False]
    with pytest.raises(ParameterError, match="unknown rule of pxn 'sometimes'; known: needed, always, never"):
        Routing(pxn="sometimes")


def test_by_default_accelerators_meet_over_scale_up_links_where_they_can():
    assert dict(Routing().costs)["host_io"] == 4
    assembly = Assembly("two accelerators on an NVSwitch and a PCIe switch")
    own = {"host": "a", "forwards": FORWARDS_OWN_HOST}
    gpus = assembly.add_nodes(["gpu-1", "gpu-2"], kind="accelerator", is_endpoint=True, **own)
    for kind, links in (("scale_up_switch", "scale_up"), ("pcie_switch", "host_io")):
        assembly.connect(gpus, np.repeat(assembly.add_nodes([kind], kind=kind, tier=-1, **own), 2), 400, kind=links)
    fabric = assembly.finish()
    one = Demand.of(fabric, "one", source=gpus[:1], sink=gpus[1:], gbps=100)
    over_pcie = np.repeat(fabric.links.kind.is_any("host_io"), 2)
    assert link_loads(fabric, one).arc_gbps[over_pcie].max() == 0
    assert link_loads(fabric, one, routing=Routing(costs={})).arc_gbps[over_pcie].max() == 50
    down = State.without(fabric, nodes="scale_up_switch")
    assert link_loads(fabric, one, state=down).arc_gbps[over_pcie].max() == 100


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"scheme": "ospf"}, "'ospf'; known: ecmp, wcmp"),
        ({"scheme": "single-path", "table": "magic"}, "'magic'; known: hash"),
        ({"scheme": "wcmp", "weights": "heavy"}, "'heavy'; known: path, local"),
        ({"costs": {"access": 0}}, "'access' links is 0"),
        ({"costs": {"access": 1.5}}, "1.5"),
    ],
)
def test_refusals(kwargs, words):
    with pytest.raises(ParameterError, match=words):
        Routing(**kwargs)
