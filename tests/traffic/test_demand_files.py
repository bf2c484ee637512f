"""Demands from CSV files: names of any kind, errors at file and line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topo
from topo.build.assembly import Assembly
from topo.errors import FormatError, InputError, TopoError
from topo.fabric import FORWARDS_NOTHING, Fabric
from topo.traffic import from_file

HOSTILE = ["=cmd|' /C calc'!A0", 'quote " in it', "comma, inside", "<script>alert(1)</script>", "new\nline", " spaced "]


def hostile() -> Fabric:
    assembly = Assembly("hostile")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1)
    hosts = assembly.add_nodes(
        [*HOSTILE, "plain", "twin", "twin"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    assembly.connect(hosts, leaf.repeat(len(hosts)), 100, kind="access")
    return assembly.finish()


def written(folder: Path, text: str) -> Path:
    path = folder / "flows.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_columns_in_any_order_and_rates_with_units(tmp_path: Path) -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    path = written(
        tmp_path, "GBPS, sink ,source\r\n4xNDR,host-3,host-1\r\n\r\n1e2,host-1,host-2\r\n0,host-4,host-1\r\n"
    )
    demand = from_file(f, path)
    assert f.nodes.name[demand.source].tolist() == ["host-1", "host-2", "host-1"]
    assert demand.gbps.tolist() == [400, 100, 0]
    assert demand.name == "flows.csv"


def test_hostile_names_are_names(tmp_path: Path) -> None:
    import csv

    f = hostile()
    path = tmp_path / "flows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "sink", "gbps"])
        writer.writerows([name, "plain", 1] for name in HOSTILE)
        writer.writerow(["'" + HOSTILE[0], "plain", 1])  # as a spreadsheet export writes it
    demand = from_file(f, path)
    assert f.nodes.name[demand.source].tolist() == [*HOSTILE, HOSTILE[0]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("source,sink,gbps\nplain,nobody,1\n", 2, "'nobody' is no node"),
        ("source,sink,gbps\nplain,leaf,1\n", 2, "'leaf' is no endpoint"),
        ("source,sink,gbps\n\nplain,twin,1\n", 3, "several endpoints are named 'twin'"),
        ("source,sink,gbps\nplain,plain,1\n", 2, "to itself"),
        ("source,sink,gbps\nplain,=x,-1\n", 2, "'=x' is no node"),
        ('source,sink,gbps\nplain,"comma, inside",-1\n', 2, "'-1' is not a rate"),
        ('source,sink,gbps\nplain,"comma, inside",nan\n', 2, "'nan' is not a rate"),
        ('source,sink,gbps\nplain,"comma, inside",inf\n', 2, "'inf' is not a rate"),
        ('source,sink,gbps\nplain,"comma, inside",fast\n', 2, "'fast' is not a rate"),
        ('source,sink,gbps\nplain,"comma, inside",\n', 2, "'' is not a rate"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        from_file(hostile(), path)
    assert caught.value.line == line and caught.value.path == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from,to,rate\na,b,1\n", "must hold the columns source, sink and gbps"),
        ("source,sink,gbps,gbps\n", "each once"),
        ("source,sink,gbps\n", "no flow below the header"),
        ("\n\n", "no flow below the header"),
        ("source,sink,gbps\nplain,comma, inside,1\n", "4 cells where the header has 3"),
        ('source,sink,gbps\n"plain,x,1\n', "not CSV"),
    ],
)
def test_what_is_no_table_of_flows_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_file(hostile(), written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        from_file(hostile(), tmp_path / "none.csv")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text(alphabet='source,ink gbps\n"\x00plain1-\r', max_size=120).map(str.encode))
def test_any_bytes_give_a_demand_or_a_topo_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "fuzz.csv"
    path.write_bytes(data)
    with contextlib.suppress(TopoError):
        from_file(hostile(), path)
