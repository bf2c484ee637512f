"""Servers and racks as data: what they add up to, their labels, and refusals with the nearest that works."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from topo.errors import ParameterError
from topo.parts import DOMAINS, SERVERS, HostTemplate, host_part, host_template, scale_up_template
from topo.parts.template import each_to_each, mesh_pairs, pcie_gbps
from topo.spec.model import LABELS


@pytest.mark.parametrize("template", SERVERS, ids=lambda template: template.name)
def test_every_number_has_a_source_and_a_label(template: HostTemplate) -> None:
    facts = [template.known, *(block.known for block in template.parts), *(wires.known for wires in template.wires)]
    facts += [adapters.known for adapters in template.adapters]
    assert all(fact.label in LABELS and fact.source for fact in facts)
    assert all(wires.gbps > 0 and wires.medium for wires in template.wires)
    assert len({block.name for block in template.parts}) == len(template.parts)


def test_numbers_from_memory_are_marked() -> None:
    (nvlink,) = (wires for wires in host_template("dgx-h100").wires if wires.kind == "scale_up")
    assert nvlink.known.label == "M" and "5, 4, 4 and 5" in nvlink.known.source
    assert [n for i, _, n in nvlink.pairs if i == 3] == [5, 4, 4, 5]


@pytest.mark.parametrize(
    ("name", "links", "gbyte_s_both"),
    [("dgx-a100", 12, 600), ("dgx-h100", 18, 900), ("dgx-h200", 18, 900), ("dgx-b200", 18, 1800),
     ("dgx-b300", 18, 1800), ("mi300x-8", 7, 896), ("gaudi2", 21, 525), ("gaudi3", 21, 1050)],
)  # fmt: skip
def test_scale_up_of_each_accelerator(name: str, links: int, gbyte_s_both: float) -> None:
    template = host_template(name)
    count, rate = [0] * template.n_accelerators, [0.0] * template.n_accelerators
    for wires in template.wires:
        if wires.kind == "scale_up":
            for i, j, parallel in wires.pairs:
                ends = [i, j] if wires.a == wires.b else [i]
                for end in ends:
                    count[end] += parallel
                    rate[end] += parallel * wires.gbps
    assert set(count) == {links}
    assert set(rate) == {gbyte_s_both * 8 / 2}


# NVIDIA DGX H100 user guide, table 6: cage and port, GPU that the adapter behind it serves.
TABLE_6 = [("1P1", 7), ("1P2", 4), ("2P1", 6), ("2P2", 5), ("3P1", 2), ("3P2", 1), ("4P1", 3), ("4P2", 0)]


def test_dgx_h100_rails_are_not_the_adapters_numbers() -> None:
    compute = host_template("dgx-h100").compute
    assert list(compute.accelerators) == [gpu for _, gpu in TABLE_6]
    assert list(compute.cages) == [int(port[0]) - 1 for port, _ in TABLE_6]
    assert compute.rails == compute.accelerators != tuple(range(8))
    shared = {cage: {r for r, c in zip(compute.rails, compute.cages, strict=True) if c == cage} for cage in range(4)}
    assert shared == {0: {7, 4}, 1: {6, 5}, 2: {2, 1}, 3: {3, 0}}


def test_the_summary_of_a_host_is_that_of_its_inside() -> None:
    h100 = host_part("dgx-h100")
    assert (h100.n_accelerators, h100.n_nics, h100.nic_gbps, h100.nics_per_cage) == (8, 8, 400, 2)
    assert (host_part("dgx-b300").nic_gbps, host_part("dgx-b300").nics_per_cage) == (800, 1)
    assert (host_part("gaudi3").nic_gbps, host_part("hgx-pcie-8").n_nics) == (600, 4)


def test_pcie_rates() -> None:
    assert [pcie_gbps(g) for g in (3, 4, 5, 6)] == [126, 252, 504, 968]
    assert pcie_gbps(5, 8) == 252
    with pytest.raises(ParameterError, match="generation 7 x16 is not known"):
        pcie_gbps(7)


def test_pairs() -> None:
    assert len(mesh_pairs(8, 3)) == 28 and {n for _, _, n in mesh_pairs(8, 3)} == {3}
    assert sum(n for _, _, n in each_to_each(8, (5, 4, 4, 5))) == 144


def broken(**changes: object) -> HostTemplate:
    template = host_template("dgx-h100")
    compute, *others = template.adapters
    return replace(template, adapters=(replace(compute, **changes), *others))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rails": (0, 1, 2, 3, 4, 0, 1, 2)}, "8 adapters on 5 rails, from 1 to 2 a rail; .*the nearest .* is 4 rails"),
        ({"rails": (0, 1, 2)}, "rails of 3 compute adapters are given, but there are 8 nic: list 8"),
        ({"cages": (0,) * 9}, "cages of 9 compute adapters are given, but there are 8"),
        ({"accelerators": (0, 1, 2, 3, 4, 5, 6, 8)}, "an adapter serves accelerator 8, but there are 8"),
    ],
)
def test_rails_and_ports_that_do_not_add_up(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        broken(**changes)


def test_wires_to_parts_that_are_not_there() -> None:
    template = host_template("dgx-h100")
    with pytest.raises(ParameterError, match="a wire goes to nvswitch 4, but the host has 2"):
        replace(template, parts=tuple(replace(p, count=2) if p.name == "nvswitch" else p for p in template.parts))


def test_unknown_names_tell_the_nearest() -> None:
    with pytest.raises(ParameterError, match="did you mean 'dgx-h100'"):
        host_template("dgx-h10")
    with pytest.raises(ParameterError, match="did you mean 'gb200-nvl72'"):
        scale_up_template("gb200-nvl7")


def test_racks_fill_their_chips_exactly() -> None:
    for template in DOMAINS:
        template.check_hosts(template.n_hosts)
        assert template.n_hosts * template.ports_per_host == template.upper_ports
        with pytest.raises(ParameterError, match=f"at most {template.n_hosts} hosts"):
            template.check_hosts(template.n_hosts + 1)


def nvidia_smi_pairs(text: str) -> dict[int, list[int]]:
    """GPU to the adapters under its own PCIe switch, from a matrix of ``nvidia-smi topo -m``."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    header = text.splitlines()[0].split("\t")
    nics = [(i, int(name[3:])) for i, name in enumerate(header) if re.fullmatch(r"NIC\d+", name)]
    found = {}
    for line in text.splitlines()[1:]:
        cells = [cell.strip() for cell in line.split("\t")]
        if re.fullmatch(r"GPU\d+", cells[0]):
            found[int(cells[0][3:])] = [nic for i, nic in nics if cells[i] in ("PIX", "PXB")]
    return found


@pytest.mark.parametrize("file", ["h100_8gpu_9nic_ansi_header.txt", "h200_8gpu_out_of_order_rails.txt"])
def test_eight_gpu_servers_pair_each_gpu_with_one_adapter(shared_data: Path, file: str) -> None:
    """What two real servers print: the tree of the template, and a rail order that differs from server to server."""
    pairs = nvidia_smi_pairs((shared_data / "nvidia_smi_topo" / file).read_text("utf-8"))
    assert sorted(pairs) == list(range(8)) and all(len(nics) == 1 for nics in pairs.values())
    assert sorted(nic for (nic,) in pairs.values()) == list(range(8))
    template = host_template("dgx-h100")
    tree = {wires.a: {i: j for i, j, _ in wires.pairs} for wires in template.wires if wires.b == "pcie"}
    shared = {gpu: [nic for nic, switch in tree["nic"].items() if switch == s] for gpu, s in tree["gpu"].items()}
    assert all(len(nics) == 1 for nics in shared.values())
