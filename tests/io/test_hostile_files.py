"""Files that mean harm: entities, aliases, archives that lie, paths, products; the kept corpus; the long fuzz."""

from __future__ import annotations

import builtins
import io
import zipfile
from pathlib import Path
from typing import Any

import fuzzing
import pytest

import topo
from topo.io import FORMATS, fabric_of_text
from topo.io.text import decode
from topo.io.workbook import text_of_workbook

TEXTS = [row.name for row in FORMATS if row.sniff and not row.takes_bytes]
CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><{0}><interface name="&b;"/></{0}>',
    '<!DOCTYPE x SYSTEM "file:///etc/passwd"><{0}/>',
    '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><{0}>&f;</{0}>',
)
ROOTS = {"lldp": "lldp", "graphml": "graphml", "sonic-minigraph": "DeviceMiniGraph", "nccl": "system"}
YAML = ("slurm-yaml", "hedgehog", "infragraph", "sonic-testbed", "containerlab", "netlab", "topograph", "astra-sim")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_the_kept_corpus(path: Path) -> None:
    """Each file is a text that once broke a reader or came near it; its name begins with the format."""
    name = path.name.split("__")[0]
    assert name in TEXTS
    text = decode(path.read_bytes())
    fuzzing.outcome(text, name)
    for row in FORMATS:
        if row.sniff and not row.takes_bytes:
            row.function(row.sniff)(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_hundred_thousand_damaged_files(name: str) -> None:
    fabrics, refused = fuzzing.run(name, 100_000)
    assert fabrics > 100
    assert refused > 100


@pytest.mark.parametrize("name", TEXTS)
def test_a_hundred_damaged_files(name: str) -> None:
    fabrics, refused = fuzzing.run(name, 100, seed=7)
    assert fabrics
    assert refused


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("text", LAUGHS)
def test_entities_are_refused(name: str, text: str) -> None:
    with pytest.raises(topo.InputError, match="entities"):
        fabric_of_text(text.format(ROOTS[name]), "t", format=name)


@pytest.mark.parametrize("name", YAML)
def test_aliases_are_refused(name: str) -> None:
    laughs = "a: &a [ha, ha]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\ntopology: *b\n"
    with pytest.raises(topo.InputError, match="anchors and aliases"):
        fabric_of_text(laughs, "t", format=name)


@pytest.mark.parametrize("name", YAML)
def test_objects_of_python_are_refused(name: str) -> None:
    with pytest.raises(topo.TopoError) as caught:
        fabric_of_text("topology: !!python/object/apply:os.system ['true']\n", "t", format=name)
    assert "\n" not in str(caught.value)


def test_an_archive_that_lies_about_its_size() -> None:
    """The header says 100 bytes, the stream unpacks to 300 MiB."""
    out = io.BytesIO()
    size = 300 << 20
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("[Content_Types].xml", b"x")
        made.writestr("xl/worksheets/sheet1.xml", b"\0" * size)
    data = out.getvalue().replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) == 101
    with pytest.raises(topo.InputError, match=r"unpacks to 26\d,\d{3},\d{3} bytes, more than 268,435,456"):
        text_of_workbook(data, "plan.xlsx")


def test_paths_in_dot_are_never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """graph g { imagepath="/etc"
      a [image="/etc/passwd" function=leaf] b [shapefile="../../secret" config="./helper.sh"] a:1 -- b:1 }"""
    fabric_of_text(text, "t.dot")  # what is imported late is imported now

    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(builtins, "open", opened)
    monkeypatch.setattr(io, "open", opened)
    monkeypatch.setattr(Path, "open", opened)
    fabric = fabric_of_text(text, "t.dot")
    said = [str(note) for note in fabric.origin.notes]
    assert "t.dot: attribute that names a file, not followed: image='/etc/passwd'" in said
    assert sum("not followed" in note for note in said) == 3


def test_edges_between_groups_are_bounded() -> None:
    group = " ".join(f"n{i}" for i in range(2000))
    with pytest.raises(topo.FormatError, match="groups of 2,000 and 2,000 nodes stands for 4,000,000"):
        fabric_of_text(f"graph g {{ {{ {group} }} -- {{ {group} }} }}", "t.dot")


def test_two_hundred_thousand_rows() -> None:
    rows = "".join(f"leaf-{i // 64},swp{i % 64},spine-{i % 512},swp{i // 512},400G,3\n" for i in range(200_000))
    fabric = fabric_of_text("A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,Length\n" + rows, "plan.csv")
    assert len(fabric.links) == 200_000
