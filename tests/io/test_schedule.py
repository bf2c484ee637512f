"""Cable schedules: spellings of headers, sides, both directions, breakouts, rates and lengths, workbooks, refusals."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xlsxwriter
from format_samples import SCHEDULE

import topo
from topo.fabric import Fabric
from topo.io.schedule import read_schedule
from topo.io.schedule_columns import NEEDED, header_of

HEADERS = (
    "A-Node Name,A-Port,Z-Node Name,Z-Port",
    "StartDevice,StartPort,EndDevice,EndPort,LinkType",
    "#StartDevice,StartPort,EndDevice,EndPort,LinkType",
    "Node Type,Node,Node Interface,Peer Type,Peer Node,Peer Interface,Node Interface Enabled",
    "source_device;source_port;destination_device;destination_port",
    "From Device\tFrom Port\tTo Device\tTo Port",
    "Local Host,Local Interface,Remote Host,Remote Interface",
    "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name",
    "A End Device,A End Interface,B End Device,B End Interface",
    "Device A,Termination A,Device B,Termination B",
    "Source,Rack,Location,Slot,,Port,Destination,Rack,Location,,Port",
    "Rack,U,Name,HCA/Port,Rack,Name,Port",
    "Rack|U|Name|HCA/Port|Rack|Name|Name|Port",
)


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_are_known(header: str) -> None:
    delimiter = next(sign for sign in "\t;|," if sign in header)
    cells = header.split(delimiter)
    found = header_of(cells, 1)
    assert found is not None
    row = [""] * len(cells)
    for role, text in zip(NEEDED, ("leaf-1", "swp1", "spine-1", "swp9"), strict=True):
        row[found.column[role]] = text
    fabric = read_schedule(f"{header}\n{delimiter.join(row)}\n", "plan")
    assert fabric.nodes.name.tolist() == ["leaf-1", "spine-1"]
    assert fabric.ports.label.values().tolist() == ["swp1", "swp9"]
    assert fabric.links.line.tolist() == [2]


def test_two_columns_of_one_name_are_told() -> None:
    fabric = read_schedule("Rack|U|Name|HCA/Port|Rack|Name|Name|Port\nR1|3|h1|1|R2|row 4|leaf-1|7\n", "plan")
    assert fabric.nodes.name.tolist() == ["h1", "leaf-1"]
    assert any("2 columns that name a node, column 7 ('Name')" in note.text for note in fabric.origin.notes)


@pytest.mark.parametrize(
    "text",
    [
        "Von,Port,Nach,Port\na,1,b,2\n",
        "Hostname,ManagementIp,HwSku,Type\na,1,b,2\n",
        "#StartDevice,EndDevice,EndPort,LinkType\na,b,1,Data\n",
    ],
)
def test_an_unknown_header_is_asked_for(text: str) -> None:
    with pytest.raises(topo.FormatError) as caught:
        read_schedule(text, "plan.csv")
    said = str(caught.value)
    assert said.startswith("plan.csv:1: the columns of this cable schedule are not known: 1 ")
    assert text.split(",")[0] in said
    assert "columns={" in said
    assert "--columns" in said
    assert "\n" not in said


def test_columns_by_text_and_by_number(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("Kabel,Von,Dose,Nach,Dose\nK1,leaf-1,1,spine-1,2\nK2,leaf-1,2,spine-1,3\n")
    named = {"a_node": "von", "a_port": 3, "z_node": "Nach", "z_port": 5, "cable": "Kabel"}
    fabric = topo.read(path, columns=named)
    assert len(fabric.links) == 2
    assert fabric.ports.label.values().tolist() == ["1", "2", "2", "3"]
    numbers = dict(zip(NEEDED, (2, 3, 4, 5), strict=True))
    assert topo.read(path, columns=numbers).links.equals(fabric.links)
    with pytest.raises(topo.FormatError, match="no row holds all of the headers 'Kastl'; the first row is 'Kabel, Von"):
        topo.read(path, columns={**numbers, "a_node": "Kastl"})
    with pytest.raises(topo.ParameterError, match="columns has no 'a_name'; known: a_node, a_port"):
        topo.read(path, columns={"a_name": 1})
    with pytest.raises(topo.ParameterError, match="columns must also name z_node, z_port"):
        topo.read(path, columns={"a_node": 1, "a_port": 2})
    with pytest.raises(topo.ParameterError, match="a header text or a column number from 1"):
        topo.read(path, columns={**numbers, "a_node": 0})
    with pytest.raises(topo.ParameterError, match="of no use for the format ns-3"):
        topo.read(path, columns=numbers, format="ns-3")


def test_both_directions_are_one_cable_and_all_is_kept() -> None:
    fabric = read_schedule(SCHEDULE, "plan.csv")
    assert fabric.nodes.name.tolist() == ["leaf-1", "spine-1", "dgx-1 HCA-1", "dgx-1 HCA-2"]
    assert fabric.nodes.kind.values().tolist() == ["switch", "switch", "nic", "nic"]
    assert fabric.nodes.host.values().tolist() == ["", "", "dgx-1", "dgx-1"]
    assert fabric.nodes.local_index.tolist() == [-1, -1, 0, 1]
    assert fabric.nodes.rack.values().tolist() == ["R1", "R2", "R1", "R1"]
    assert fabric.links.capacity_gbps.tolist() == [400, 400, 200, 200]
    np.testing.assert_allclose(fabric.links.length_m, [3, 3, 3.048, 0.5])
    assert fabric.links.line.tolist() == [3, 4, 6, 7]
    assert fabric.links.kind.values().tolist() == ["scale_out", "scale_out", "access", "access"]
    assert set(fabric.links.evidence.values().tolist()) == {"planned"}
    # 1/1/1 and 1/1/2 are two ports of one cage, 2/1/1 and 2/1/2 of another.
    leaf = fabric.ports.node == 0
    assert len(np.unique(fabric.ports.cage[leaf])) == 2
    assert fabric.ports.cage[leaf].min() >= 0
    notes = [str(note) for note in fabric.origin.notes]
    assert "plan.csv: cables listed from both ends, each counted once: 1 of 4" in notes
    assert "plan.csv: cells in columns without a header, not used: 1" in notes
    assert any("'Notes'" in note for note in notes)


def test_what_a_row_may_lack() -> None:
    text = "A-Node,A-Port,Z-Node,Z-Port,Speed\nleaf-1,1,spine-1,1,fast\nleaf-1,2,,,\n,3,spine-1,,\nleaf-1,4,leaf-1,4,\n"
    fabric = read_schedule(text, "plan.csv")
    assert len(fabric.links) == 1
    assert len(fabric.ports) == 4
    notes = [str(note) for note in fabric.origin.notes]
    assert "plan.csv:2: rate of an unknown kind: leaf-1 port 1 - spine-1 port 1 ('fast')" in notes
    assert "plan.csv:3: port without a far end, kept free: leaf-1 port 2" in notes
    assert "plan.csv:4: row without two ends, not read: ', 3, spine-1, , '" in notes
    assert "plan.csv:5: a port joined to itself, left out: leaf-1 port 4" in notes
    assert np.isnan(fabric.links.capacity_gbps).all()


def test_mostly_not_understood_is_an_error() -> None:
    with pytest.raises(topo.FormatError, match=r"plan.csv:2: 2 of 3 entries do not fit .* row without two ends"):
        read_schedule("A-Node,A-Port,Z-Node,Z-Port\n,1,s,1\nl,2,s,2\n,3,,\n", "plan.csv")
    with pytest.raises(topo.FormatError, match="a header and no cable under it"):
        read_schedule("A-Node,A-Port,Z-Node,Z-Port\n", "plan.csv")


def test_four_equal_rows_of_ports_are_one_cable_and_a_port_used_twice_stays() -> None:
    head = "A-Node,A-Port,Z-Node,Z-Port\n"
    fabric = read_schedule(head + "l,1,s,1\n" * 4 + "l,1,s,2\n", "p")
    assert len(fabric.links) == 2
    notes = [str(note) for note in fabric.origin.notes]
    again = "cable listed again in the same direction, counted once: l port 1 - s port 1, a duplicate of line 2"
    assert [note for note in notes if "listed again" in note] == [f"p:{row}: {again}" for row in (3, 4, 5)]
    assert "p:6: port used by several cables: l port 1" in notes


@pytest.mark.parametrize(
    ("header", "said", "gbps"),
    [
        ("Speed", "400G", 400),
        ("Speed", "40000", 40),
        ("Speed", "400", 400),
        ("Speed", "1600", 1600),
        ("Speed (Mbps)", "400", 0.4),
        ("Speed (Gbps)", "100", 100),
        ("Bandwidth", "4xNDR", 400),
        ("Rate", "200G HDR cable", 200),
        ("Link Speed", "50 GB/s", 400),
    ],
)
def test_rates(header: str, said: str, gbps: float) -> None:
    fabric = read_schedule(f"A-Node,A-Port,Z-Node,Z-Port,{header}\nl,1,s,1,{said}\n")
    assert fabric.links.capacity_gbps.tolist() == [gbps]


def test_a_breakout_is_one_cable_with_several_ends() -> None:
    text = 'A-Node,A-Port,Z-Node,Z-Port,Speed\nleaf-1,1,host-1,"eth0,eth1",800G\nleaf-1,"11,12",s,"1,2",800G\n'
    fabric = read_schedule(text, "p")
    assert fabric.links.capacity_gbps.tolist() == [400, 400, 400, 400]
    assert fabric.links.cable.tolist() == [0, 0, 1, 1]
    ports = fabric.ports.label.values(fabric.links.port_a).tolist()
    assert ports == ["1:1", "1:2", "11", "12"]
    by_id = read_schedule("A-Node,A-Port,Z-Node,Z-Port,Cable ID\nl,swp1s0,a,e0,C1\nl,swp1s1,b,e0,C1\nl,swp2,c,e0,C2\n")
    assert by_id.links.cable.tolist() == [0, 0, -1]


def test_hosts_are_who_the_caller_says() -> None:
    text = "A-Node,A-Port,Z-Node,Z-Port\n" + "".join(
        f"luna-{i},{r},x{r},{i}\n" for i in range(1, 4) for r in range(1, 5)
    )
    unknown = read_schedule(text, "p")
    assert not len(unknown.endpoints)
    assert any("name hosts with hosts=" in note.text for note in unknown.origin.notes)
    fabric = read_schedule(text, "p", hosts=["luna-*"])
    assert len(fabric.endpoints) == 12  # four ports or more a host: each an adapter
    assert fabric.nodes.host.labels.tolist() == ["luna-1", "luna-2", "luna-3"]
    assert Fabric.rows(fabric, "luna-2").tolist() == fabric.rows("luna-2 *").tolist()


def test_a_name_that_stands_for_several_nodes() -> None:
    rows = "".join(f"Rack{r},Server 1,IB Port {p},leaf-{p},{r}\n" for r in (1, 2) for p in (1, 2))
    fabric = read_schedule("A-Rack,A-Node,A-Port,Z-Node,Z-Port\n" + rows, "p")
    assert fabric.nodes.host.labels.tolist() == ["Server 1 (Rack1)", "Server 1 (Rack2)"]
    assert len(np.unique(fabric.links.port_a)) == 4


def workbook(sheets: dict[str, list[list[object]]]) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                sheet.write_row(i, 0, row)
    return out.getvalue()


def test_workbook_of_several_sheets(tmp_path: Path) -> None:
    path = tmp_path / "plan.xlsx"
    header = ["A-Node Name", "A-Port", "Z-Node Name", "Z-Port", "Length"]
    path.write_bytes(
        workbook(
            {
                "up": [["Hall 1"], header, ["leaf-1", 33, "spine-1", 1, 12.5]],
                "read me": [["nothing"], ["here"]],
                "down": [header, ["dgx-1", "HCA-1", "leaf-1", 1, "3 m"], ["dgx-1", "HCA-2", "leaf-1", 2, None]],
            }
        )
    )
    fabric = topo.read(path)
    assert len(fabric.links) == 3
    assert fabric.links.line.tolist() == [3, 2, 3]
    assert fabric.ports.label.values(fabric.links.port_b).tolist() == ["1", "1", "2"]
    np.testing.assert_array_equal(fabric.links.length_m, [12.5, 3, np.nan])
    assert any("sheet without a header of a cable schedule, not read: read me" in n.text for n in fabric.origin.notes)
    assert topo.load(str(path)).equals(fabric)


def test_places_in_a_workbook_name_the_sheet(tmp_path: Path) -> None:
    """Every sheet has a line 2: findings, notes and refusals say which is meant; a CSV needs no such word."""
    header = ["A-Node Name", "A-Port", "Z-Node Name", "Z-Port", "Length"]
    one = [header, ["dgx-1", "HCA-1", "leaf-1", 1, "3 m"], ["dgx-2", "HCA-1", "leaf-1", 2, "wide"]]
    two = [header, ["dgx-3", "HCA-1", "leaf-1", 1, ""], ["dgx-2", "HCA-1", "leaf-1", 2, ""], ["dgx-4", "", "", "", ""]]
    path = tmp_path / "plan.xlsx"
    path.write_bytes(workbook({"HMN": one, "leaf, west": two}))
    fabric = topo.read(path)
    assert fabric.links.source.values().tolist() == [f"{path}, sheet {name}" for name in ("HMN", "HMN", "leaf, west")]
    (twice,) = (found for found in topo.validate(fabric).findings if found.code == "port-used-twice")
    assert twice.where == f"{path}, sheet leaf, west line 2: leaf-1 port 1"
    assert "leaf-1 port 1 (sheet HMN line 2) and " in twice.evidence
    assert twice.evidence.endswith("leaf-1 port 1 (sheet leaf, west line 2)")
    notes = "\n".join(map(str, fabric.origin.notes))
    assert f"{path}, sheet leaf, west line 2: port used by several cables: leaf-1 port 1" in notes
    again = "dgx-2 port HCA-1 - leaf-1 port 2, a duplicate of sheet HMN line 3"
    assert f"{path}, sheet leaf, west line 3: cable listed again in the same direction, counted once: {again}" in notes
    assert f"{path}, sheet HMN line 3: length not understood: 'wide'" in notes
    assert f"{path}, sheet leaf, west line 4: row without two ends" in notes
    path.write_bytes(workbook({"a": [header, ["x", "", "", "", ""]], "b": [header]}))
    with pytest.raises(topo.FormatError, match=r"plan\.xlsx, sheet a line 2: 1 of 1 entries do not fit"):
        topo.read(path)
    plain = topo.read(write_csv(tmp_path / "plan.csv", [*one, *two[1:]]))
    (twice,) = (found for found in topo.validate(plain).findings if found.code == "port-used-twice")
    assert twice.where.startswith(f"{tmp_path / 'plan.csv'}:4: ")
    assert "(line 2) and " in twice.evidence
    assert twice.evidence.endswith("(line 4)")


def write_csv(path: Path, rows: list[list[object]]) -> Path:
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def test_archives_that_are_no_workbook(tmp_path: Path) -> None:
    def archive(entries: dict[str, bytes]) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for name, data in entries.items():
                made.writestr(name, data)
        return out.getvalue()

    good = workbook({"a": [["x"]]})
    bomb = archive({"[Content_Types].xml": b"x", "xl/worksheets/sheet1.xml": b"\0" * (300 << 20)})
    path = tmp_path / "plan.xlsx"
    for data, said in (
        (archive({"a.txt": b"x"}), "no XLSX workbook"),
        (bomb, "unpacks to 314,572,801 bytes"),
        (good[: len(good) // 2], "damaged ZIP archive"),
        (b"PK\x03\x04", "damaged ZIP archive"),
        (archive({"[Content_Types].xml": b"<x/>"}), "not a workbook that can be read"),
    ):
        path.write_bytes(data)
        with pytest.raises(topo.InputError, match=said) as caught:
            topo.read(path)
        assert "\n" not in str(caught.value)


def test_damaged_workbooks(tmp_path: Path) -> None:
    """Single bytes changed anywhere in a workbook: a fabric or a TopoError."""
    header = ["A-Node Name", "A-Port", "Z-Node Name", "Z-Port"]
    good = workbook({"s": [header, ["leaf-1", 33, "spine-1", 1]]})
    draw = np.random.default_rng(1)
    path = tmp_path / "plan.xlsx"
    for _ in range(300):
        data = bytearray(good)
        for place in draw.integers(4, len(data), 4):
            data[place] = draw.integers(256)
        path.write_bytes(bytes(data))
        try:
            assert len(topo.read(path).nodes)
        except topo.TopoError as error:
            assert "\n" not in str(error)


def test_two_hundred_thousand_rows() -> None:
    rows = "".join(f"leaf-{i // 64},swp{i % 64},spine-{i % 512},swp{i // 512},400G,3\n" for i in range(200_000))
    fabric = read_schedule("A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,Length\n" + rows, "plan.csv")
    assert len(fabric.links) == 200_000


@pytest.mark.parametrize(
    ("text", "known", "lacking"),
    [
        ("A-Node Name,A-Port\n", "1 'A-Node Name' is a_node, 2 'A-Port' is a_port", "z_node, z_port"),
        ("\n\nZ-Port;Colour;Z-Node\n1;red;leaf-1\n", "1 'Z-Port' is z_port, 2 'Colour', 3 'Z-Node' is z_node",
         "a_node, a_port"),
        ("Rack,U,Name,Port\nR1,3,leaf-1,1\n", "1 'Rack' is a_rack, 2 'U' is a_unit, 3 'Name'", "z_node, z_port"),
        ("Hall 1,,,\nA-Node Name,A-Port,Wohin,Dose\n", "2 'A-Port' is a_port, 3 'Wohin', 4 'Dose'", "z_node, z_port"),
    ],
)  # fmt: skip
def test_a_header_of_one_side_says_what_it_has_and_lacks(text: str, known: str, lacking: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    line = next(i for i, row in enumerate(text.split("\n"), 1) if "Port" in row)
    with pytest.raises(topo.FormatError) as caught:
        topo.read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:{line}: ") and known in said and f"Not found: {lacking}. Name them with" in said
    assert "--columns" in said


def test_prose_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("We moved the leaf, then the port.\n")
    with pytest.raises(topo.FormatError, match="the format is not a known one"):
        topo.read(tmp_path / "a.txt")


UNITS = """Rack,U,Node,Port,Rack,U,Node,Port
B07,32,leaf-1,1,A01,u03,host-1,HCA-1
B07,32,leaf-1,2,A01,RU 5,host-2,HCA-1
B07,33,leaf-1,3,,20-21,host-3,HCA-1
"""


def test_a_unit_of_a_rack_is_kept_in_one_spelling() -> None:
    fabric = read_schedule(UNITS, "plan.csv")
    nodes = fabric.nodes
    assert nodes.rack_unit.values().tolist() == ["U32", "U3", "U5", "20-21"]
    assert [nodes.stands_at(row) for row in range(4)] == ["B07 U32", "A01 U3", "A01 U5", "20-21"]
    said = "plan.csv:4: rack unit of a node stated differently, the first holds: leaf-1: 'U32' and 'U33'"
    assert said in [str(note) for note in fabric.origin.notes]


def test_a_unit_stands_in_a_column_of_places_too() -> None:
    """``Location`` holds a unit where ``Rack`` holds the rack; a place that is a bare number is a rack."""
    head = "Source,Rack,Location,Slot,,Port,Destination,Rack,Location,,Port\n"
    nodes = read_schedule(
        f"{head}sw-1,x3000,u40,,,1,sw-2,x3001,u39,,2\nsw-3,x3000,17,,,1,sw-2,x3001,u39,,3\n", "p"
    ).nodes
    assert [nodes.stands_at(row) for row in range(3)] == ["x3000 U40", "x3001 U39", "17"]


@pytest.mark.parametrize("ending", ["csv", "dot", "graphml", "fabric"])
def test_a_unit_of_a_rack_is_written_and_comes_back(ending: str, tmp_path: Path) -> None:
    fabric = read_schedule(UNITS, "plan.csv")
    path = tmp_path / f"out.{ending}"
    lost = topo.write(fabric, path).lost
    assert not any("rack" in one for one in lost)
    back = topo.read(path).nodes
    assert [back.stands_at(row) for row in range(4)] == [fabric.nodes.stands_at(row) for row in range(4)]


def test_a_row_given_twice_is_told_with_both_lines() -> None:
    """In a schedule of both directions and in one of single ones, of breakouts too; the other end once is the rule."""
    head = "A-Node,A-Port,Z-Node,Z-Port\n"
    both = "l,1,h,HCA-1\nh,HCA-1,l,1\nl,2,g,HCA-1\ng,HCA-1,l,2\n"
    for text, n_links, where in (
        (head + "l,1,h,HCA-1\nl,2,g,HCA-1\nl,1,h,HCA-1\n", 2, ["p:4: l port 1 - h port HCA-1, a duplicate of line 2"]),
        (head + both + "h,HCA-1,l,1\n", 2, ["p:6: l port 1 - h port HCA-1, a duplicate of line 3"]),
        (head + both, 2, []),
        (
            head + 'l,"1,2",h,HCA-1\n' * 2,
            2,
            [f"p:3: l port {i} - h port HCA-1:{i}, a duplicate of line 2" for i in "12"],
        ),
    ):
        fabric = read_schedule(text, "p")
        said = "cable listed again in the same direction, counted once: "
        assert [str(note).replace(said, "") for note in fabric.origin.notes if said in note.text] == where
        assert len(fabric.links) == n_links
