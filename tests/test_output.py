"""What leaves the program cannot act, and files are whole or not there."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topo.errors import InputError
from topo.output import csv_cell, file_name, plain, write_whole


@given(st.text())
def test_plain_text_has_nothing_that_acts_or_hides(text: str) -> None:
    shown = plain(text)
    assert not [letter for letter in shown if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


def test_plain_keeps_what_is_harmless() -> None:
    assert plain("Knoten-1 é 節点 שלום") == "Knoten-1 é 節点 שלום"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_csv_cells_start_no_formula(start: str) -> None:
    assert csv_cell(f"{start}HYPERLINK(1)")[0] == "'"


@given(st.text(max_size=300))
def test_file_names_stay_in_their_folder(text: str) -> None:
    name = file_name(text)
    assert name and len(name) <= 100
    assert Path("folder", name).resolve().parent == Path("folder").resolve()
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert name[0] not in ".-"


def test_a_file_is_written_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    write_whole(path, "eins \ud800")
    assert path.read_bytes() == b"eins \\ud800"
    path.chmod(0o640)
    write_whole(str(path), b"zwei")
    assert path.read_bytes() == b"zwei"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_a_new_file_has_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "a.html"
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"a\.html: cannot be written: No space left"):
        write_whole(path, "after")
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_an_interrupt_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", "x")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder"):
        write_whole(tmp_path, "x")
    with pytest.raises(InputError, match="there is no folder"):
        write_whole(tmp_path / "none" / "a", "x")
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / ("a" * 300), "x")
    with pytest.raises(InputError, match="cannot be written"):
        write_whole("a\0b", "x")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that refuses files even from root")
def test_a_folder_that_takes_no_files() -> None:
    with pytest.raises(InputError, match="/proc/topo-report.html: cannot be written"):
        write_whole("/proc/topo-report.html", "x")


def test_links_are_followed_and_devices_written_to(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "after"
    write_whole("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
