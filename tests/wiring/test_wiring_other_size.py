"""A wiring against a design of another size: devices stay what they are called, and what is said of them is so."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import topo
from topo.wiring import validate

ONE, TWO, FOUR = (f"nvidia-superpod-h100-{n}su" for n in (1, 2, 4))


def names(fabric: topo.Fabric) -> set[str]:
    return {*fabric.nodes.name.tolist(), *fabric.nodes.host.values().tolist()}


@pytest.mark.parametrize(("wiring", "design"), [(ONE, TWO), (TWO, ONE), (TWO, FOUR)])
def test_devices_of_right_names_are_neither_missing_nor_extra(wiring: str, design: str) -> None:
    found, planned = topo.load(wiring), topo.load(design)
    answer = validate(found, planned, consequence=False)
    for code, absent in (("device-missing", names(found)), ("device-extra", names(planned))):
        assert [one.place for one in answer.findings if one.code == code and one.place in absent] == []
    for one in answer.findings:
        for said in re.findall(r"the plan has no ([^,;]+)", one.evidence):
            assert said not in names(planned), one
    cables = [{*map(str, topo.LinkSet.of(side, range(len(side.links))))} for side in (found, planned)]
    assert dict(answer.counts)["common_cables"] >= len(cables[0] & cables[1])


def test_switches_whose_names_went_round_are_found_by_their_cables() -> None:
    """A quarter of the names right is no reason to trust them where structure explains everything."""
    planned = topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8)
    turned = {f"leaf-{i}": f"leaf-{i % 6 + 1}" for i in range(1, 7)}
    nodes = planned.nodes
    found = replace(planned, nodes=replace(nodes, name=np.array([turned.get(one, one) for one in nodes.name.tolist()])))
    assert validate(found, planned, consequence=False).n_operations == 0
