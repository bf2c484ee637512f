"""Several files as one fabric: the same as one file that holds all their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import topo
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.joined import one_fabric
from topo.wiring import validate
from topo.wiring.given import read_sides

HEAD = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"


def schedule(rows: list[str], name: str) -> Fabric:
    return fabric_of_text("\n".join([HEAD, *rows]) + "\n", name)


def rows_of(seed: int) -> list[str]:
    """Three tiers: hosts of four adapters on eight leaves in two pods, spines, a core; in random order."""
    rows = [
        f"leaf-{leaf},{4 * h + 1 + n},host-{leaf // 4}-{h},HCA-{n + 1},400G"
        for leaf in range(8)
        for h in range(6)
        for n in range(4)
        if n == leaf % 4
    ]
    rows += [f"leaf-{leaf},{33 + s},spine-{leaf // 4}-{s},{leaf},800G" for leaf in range(8) for s in range(4)]
    rows += [f"spine-{p}-{s},{33 + c},core-{c},{4 * p + s},800G" for p in range(2) for s in range(4) for c in range(2)]
    return np.random.default_rng(seed).permutation(rows).tolist()


def cables(fabric: Fabric) -> set[tuple[frozenset[tuple[str, str]], float]]:
    names, labels = fabric.nodes.name[fabric.ports.node], fabric.ports.label.values()
    ends = list(zip(names.tolist(), labels.tolist(), strict=True))
    sides = zip(fabric.links.port_a.tolist(), fabric.links.port_b.tolist(), strict=True)
    return {
        (frozenset((ends[a], ends[b])), gbps)
        for (a, b), gbps in zip(sides, fabric.links.capacity_gbps.tolist(), strict=True)
    }


def columns(fabric: Fabric) -> dict[str, tuple[object, ...]]:
    nodes = fabric.nodes
    listed = (nodes.tier, nodes.is_endpoint, nodes.rail.values(), nodes.host.values(), nodes.kind.values())
    return dict(zip(nodes.name.tolist(), zip(*(column.tolist() for column in listed), strict=True), strict=True))


def test_a_copy_among_the_files_is_told(tmp_path: Path) -> None:
    """A file that adds no cable counts for nothing, and both the fabric and the validation say so."""
    rows = rows_of(1)
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "copy.csv")]
    for path, part in zip(paths, (rows[:40], rows[39:], rows[:40][::-1]), strict=True):
        path.write_text("\n".join([HEAD, *part]) + "\n")
    said = f"{paths[2]}: every cable in it is in a file before it: its 40 count once; is it a copy?"
    same = [tmp_path / "c.csv", tmp_path / "d.csv"]
    for path, copied in zip(same, (paths[0], paths[2]), strict=True):
        path.write_text(copied.read_text())
    made, design = read_sides(paths, same)
    assert cables(made) == cables(schedule(rows, "whole.csv"))
    assert [str(note) for note in made.origin.notes if "is it a copy" in note.text] == [said]
    assert said in validate(made, consequence=False).rules
    assert design is not None
    assert validate(made, design, consequence=False).rules[-2:] == (said, said.replace("copy.csv", "d.csv"))


@pytest.mark.parametrize("n_files", [2, 3, 7])
def test_parts_make_what_the_whole_makes(n_files: int) -> None:
    rows = rows_of(n_files)
    whole = schedule(rows, "whole.csv")
    parts = [schedule([*rows[i::n_files], rows[0]], f"part-{i}.csv") for i in range(n_files)]
    made = one_fabric(parts)
    assert len(made.links) == len(whole.links) and cables(made) == cables(whole)
    assert columns(made) == columns(whole)
    answer = topo.validate(made, whole, consequence=False)
    assert answer.findings == () and dict(answer.counts)["common_cables"] == len(whole.links)
    assert set(made.links.source.labels.tolist()) == {f"part-{i}.csv" for i in range(n_files)}


def test_cages_and_breakouts_of_two_files_stay_apart() -> None:
    one = schedule(['leaf-1,"1,2",spine-1,5,800G'], "one.csv")
    other = schedule(['leaf-2,"1,2",spine-1,6,800G'], "other.csv")
    made = one_fabric([one, other])
    assert sorted(np.unique(made.links.cable, return_counts=True)[1].tolist()) == [2, 2]
    for part in (one, other):
        held = {frozenset(ends) for ends, _ in cables(part)}
        mine = [i for i in range(len(made.links)) if made.links.source[i] == part.links.source[0]]
        assert len(mine) == len(held) == 2


def test_dumps_are_joined_by_guid_and_not_by_name() -> None:
    text = (
        'Switch 4 "S-{0}" # "switch"\n[1] "H-{1}"[1] # "n{1} mlx5_0" lid 2 4xHDR\n'
        'Ca 1 "H-{1}" # "n{1} mlx5_0"\n[1] "S-{0}"[1]\n'
    )
    made = one_fabric([fabric_of_text(text.format(i, 10 + i), f"plane-{i}.txt") for i in (1, 2)])
    assert (len(made.nodes), len(made.links)) == (4, 2)


def test_a_node_of_two_kinds_is_noted() -> None:
    head = f"{HEAD},A-Type"
    one = fabric_of_text(f"{head}\nbox,1,leaf-1,1,400G,server\n", "one.csv")
    other = fabric_of_text(f"{head}\nbox,2,leaf-1,2,400G,switch\n", "other.csv")
    made = one_fabric([one, other])
    assert made.nodes.is_endpoint.tolist() == [True, False]
    assert any("box is a host in one file" in str(note) for note in made.origin.notes)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no part"):
        one_fabric([])
    with pytest.raises(ParameterError, match="a Fabric is wanted"):
        topo.validate(7)  # type: ignore[arg-type]
    file = tmp_path / "plan.csv"
    file.write_text("\n".join([HEAD, *rows_of(0)]) + "\n")
    with pytest.raises(InputError, match="give each once"):
        read_sides("leaf-spine-2to1", [file, file])
    with pytest.raises(InputError, match="the same"):
        topo.validate(file, [file])
    found, design = read_sides(file)
    assert design is None and len(found.links) == len(rows_of(0))
