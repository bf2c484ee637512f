"""topo.read: recognition, encodings, bounds, and errors of one line."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

import topo
from topo.io import FORMATS
from topo.io.text import decode, read_text

GOOD = """\
vendid=0x2c9
switchguid=0x1(1)
Switch\t4 "S-0000000000000001"\t\t# "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-0000000000000002"[1](2) \t\t# "né1 mlx5_0" lid 2 4xHDR
[2]\t"H-0000000000000003"[1](3) \t\t# "n2 mlx5_0" lid 3

vendid=0x2c9
caguid=0x2
Ca\t1 "H-0000000000000002"\t\t# "né1 mlx5_0"
[1](2) \t"S-0000000000000001"[1]\t\t# lid 2 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR

caguid=0x3
Ca\t1 "H-0000000000000003"\t\t# "n2 mlx5_0"
[1](3) \t"S-0000000000000001"[2]\t\t# lid 3 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1
"""


def write(folder: Path, data: bytes, name: str = "dump.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    fabric = topo.read(write(tmp_path, GOOD.encode(encoding)))
    assert fabric.nodes.name.tolist() == ["leaf-1", "né1 mlx5_0", "n2 mlx5_0"]
    assert fabric.name == "dump"


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    plain = topo.read(write(tmp_path, GOOD.encode()))
    assert topo.read(write(tmp_path, GOOD.replace("\n", "\r\n").encode())).equals(plain)


def test_path_as_text_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD.encode())
    by_text = topo.read(str(path))
    assert by_text.links.source[0] == str(path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    piped = topo.read("-")
    assert piped.links.source[0] == "<stdin>"
    assert piped.nodes.equals(by_text.nodes)


def test_unknown_content_names_the_line_and_the_known_formats(tmp_path: Path) -> None:
    path = write(tmp_path, b"\n\nhello world, this is no dump\n")
    with pytest.raises(topo.FormatError) as caught:
        topo.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: ")
    assert "hello world" in message
    assert all(row.name in message for row in FORMATS if row.read)
    assert "\n" not in message


def test_format_overrides_recognition(tmp_path: Path) -> None:
    path = write(tmp_path, b"one\ntwo\nthree\n" + b'Switch 4 "S-1"\n')
    with pytest.raises(topo.FormatError, match=r"dump\.txt:1: 3 of 4 lines .* 'one'"):
        topo.read(path, format="ibnetdiscover")
    with pytest.raises(topo.ParameterError, match="unknown format 'pdf'; known: native, ibnetdiscover"):
        topo.read(path, format="pdf")


def test_unusable_files(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "absent", "no such file"),
        (tmp_path, "is a folder"),
        (write(tmp_path, b"", "empty"), "is empty"),
        (write(tmp_path, b" \n\n", "blank"), "nothing but blanks"),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(topo.InputError, match=reason) as caught:
            topo.read(path)
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.encode())
    path.chmod(0)
    with pytest.raises(topo.InputError, match="cannot be read: Permission denied"):
        topo.read(path)


def test_size_is_bounded(tmp_path: Path) -> None:
    path = write(tmp_path, b"x" * 101)
    with pytest.raises(topo.InputError, match="larger than 100 bytes"):
        read_text(path, limit=100)
    assert read_text(path, limit=101)[0] == "x" * 101


def test_decode_takes_any_bytes() -> None:
    assert decode(bytes(range(1, 256))) == bytes(range(1, 256)).decode("latin-1")
    assert decode(b"\xff\xfea") == "\ufffd"


def test_assumed_rate_fills_only_what_is_open(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.encode())
    open_rate = topo.read(path)
    np.testing.assert_array_equal(open_rate.links.capacity_gbps, [200, np.nan])
    fabric = topo.read(path, assume_gbps=100)
    assert fabric.links.capacity_gbps.tolist() == [200.0, 100.0]
    assert fabric.ports.gbps[fabric.links.port_a].tolist() == [200.0, 100.0]
    said = "the rate of 1 of 2 link(s) is assumed: 100 Gb/s, stated by the caller"
    assert said in [note.text for note in fabric.origin.notes]
    assert said in fabric.origin.assumptions
    for rate in (0, -1, "fast", float("nan")):
        with pytest.raises(topo.ParameterError):
            topo.read(path, assume_gbps=rate)


def test_import_is_light() -> None:
    code = "import sys, topo.io; print(*({'scipy', 'pandas', 'igraph', 'networkx', 'numpy'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out == []


@pytest.mark.parametrize("stream", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_an_open_file_is_read_to_its_end(stream: Callable[[str], IO[Any]], tmp_path: Path) -> None:
    text = 'graph g { "leaf-1":"swp1" -- "host-1":"eth0" }'
    assert topo.read(stream(text)).nodes.name.tolist() == ["leaf-1", "host-1"]
    (tmp_path / "t.dot").write_text(text)
    with (tmp_path / "t.dot").open() as file:
        assert topo.read(file).origin.sources == (str(tmp_path / "t.dot"),)
    with pytest.raises(topo.InputError, match="<stream>: the file is empty"):
        topo.read(stream(""))
