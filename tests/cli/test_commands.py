"""The verbs: what they print is what the library answers, and every refusal is one line and exit status 2."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import topo
from topo.analysis.bisection import Bisection
from topo.analysis.inventory import Inventory
from topo.analysis.oversubscription import Oversubscription
from topo.analysis.published import PublishedNumbers
from topo.cli import main
from topo.parts import HOSTS, SWITCHES
from topo.result import Result
from topo.source import fabrics_folder
from topo.spec.builders import BUILDERS
from topo.spec.model import EXPECTED, LABELS, Spec

POD = "nvidia-superpod-h100-1su"
DUMP = 'Switch 4 "S-1"\n[1] "H-2"[1] # "n1 mlx5_0" lid 2 {}\nCa 1 "H-2" # "n1 mlx5_0"\n[1] "S-1"[1] # lid 2 {}\n'
TAPERED = "leaf-spine-2to1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """Standard output of a command that works, or the one line on standard error of one that does not."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    if status == 0:
        assert err == ""
        return out
    assert out == "" and err.startswith("topo: ") and err.count("\n") == 1 and err.endswith("\n")
    return err


def fields(result: type[Result]) -> set[str]:
    shown = {f.name for f in dataclasses.fields(result) if not f.metadata.get("hidden")}  # type: ignore[arg-type]
    return shown | set(result.derived)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "list")
    listed = json.loads(said(capsys, "list", "--format", "json"))["fabrics"]
    lines = [line for line in text.splitlines()[1:] if not line.startswith("PLANES: ")]
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [entry["name"] for entry in listed]
    assert {"name", "title", "operator", "n_endpoints", "n_switches", "n_tiers", "n_planes"} <= listed[0].keys()
    under: dict[str, str] = {}
    operator = ""
    for line in lines:
        operator = operator if line.startswith("  ") else line
        under[line.split()[0]] = operator
    assert {entry["name"]: entry["operator"] for entry in listed}.items() <= under.items()
    pod = next(line for line in lines if line.startswith("  alibaba-hpn-pod"))
    assert pod.split()[1:5] == ["15,360", "368", "3", "2"]


def test_list_builders_tells_what_a_spec_may_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """Every key, label, builder, parameter, part and expected number stands in the list, with its default."""
    text = said(capsys, "list", "--builders")
    for key in Spec.model_fields:
        assert f"\n  {key} " in text
    for name, row in BUILDERS.items():
        block = text.split(f"\n  builder {name} ")[1].split("\n  builder ")[0]
        for parameter in row.parameters.values():
            line = next(line for line in block.splitlines() if line.startswith(f"    {parameter.name} "))
            assert ("must be given" in line) == (parameter.default is parameter.empty)
            if isinstance(parameter.default, int) and not isinstance(parameter.default, bool):
                assert line.endswith(f"default {parameter.default}")
            assert ("Gb/s one direction" in line) == parameter.name.endswith("_gbps")
    for word in (*LABELS, *(part.name for part in SWITCHES), *(part.name for part in HOSTS), "gb300-nvl72", *EXPECTED):
        assert word in text
    told = json.loads(said(capsys, "list", "--builders", "--format", "json"))
    assert [builder["name"] for builder in told["builders"]] == list(BUILDERS)


def test_show_json_has_the_fields_of_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(said(capsys, "show", POD, "--format", "json"))
    assert list(shown) == ["fabric", "inventory", "oversubscription", "buildable", "expected"]
    assert shown["inventory"].keys() == fields(Inventory)
    assert shown["oversubscription"].keys() == fields(Oversubscription)
    assert shown["expected"].keys() == fields(PublishedNumbers)
    fabric = topo.load(POD)
    assert shown["inventory"] == json.loads(topo.inventory(fabric).to_json())
    assert shown["fabric"]["digest"] == fabric.digest
    assert shown["expected"]["n_differing"] == 0


def test_show_prints_identity_numbers_and_what_they_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "show", POD)
    fabric = topo.load(POD)
    for heading in ("Inventory", "Oversubscription", "Published and derived numbers against built", "Assumptions"):
        assert f"\n{heading}" in text
    for expected in (fabric.origin.title, *fabric.origin.sources, *fabric.origin.assumptions):
        assert expected in text
    assert text.count("as built") == len(fabric.origin.expect)


def test_show_goes_on_where_rates_are_unknown(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "dump").write_text(DUMP.format("", ""))
    text = said(capsys, "show", "dump")
    assert "endpoints" in text and "not computed: " in text and "--assume-gbps" in text
    shown = json.loads(said(capsys, "show", "dump", "--format", "json"))
    assert list(shown["oversubscription"]) == ["error"]
    assert "not computed" not in said(capsys, "show", "dump", "--assume-gbps", "100G")
    assert "not computed" not in said(capsys, "show", "dump", "--assume-gbps", "100", "--read-as", "ibnetdiscover")


def test_bisect_prints_the_bracket_and_the_cut(capsys: pytest.CaptureFixture[str]) -> None:
    answer = topo.bisection_bandwidth(topo.load(TAPERED))
    text = said(capsys, "bisect", TAPERED)
    assert "51.2 Tb/s  (exact: the bounds meet)" in text
    assert f"{len(answer.links):,} links" in text
    lines = [line for line in text.splitlines() if " port " in line]
    assert lines == [f"  {answer.links[i]}, 400 Gb/s" for i in range(8)]
    assert f"... {len(answer.links) - 8} more" in text
    assert " port " not in said(capsys, "bisect", TAPERED, "--links", "0")
    assert said(capsys, "bisect", TAPERED, "--links", "9999").count(" port ") == 2 * len(answer.links)


def test_bisect_json_is_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(said(capsys, "bisect", TAPERED, "--format", "json", "--keep", "none"))
    assert shown.keys() == fields(Bisection) | {"fabric", "notes", "half_members"}
    assert shown["fabric"] == TAPERED
    assert sorted(map(len, shown["half_members"])) == [256, 256]
    assert "host-001" in [*shown["half_members"][0], *shown["half_members"][1]]
    assert (shown["lower_gbps"], shown["upper_gbps"], shown["exact"], shown["keep"]) == (51200, 51200, True, "none")
    assert len(shown["links"]) == 128


def test_bisect_of_some_endpoints(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--endpoints", "host-01", "--endpoints", "host-0[2-4]", "--format", "json")
    shown = json.loads(said(capsys, "bisect", POD, *arguments))
    assert (shown["n_endpoints"], shown["full_gbps"]) == (32, 2 * 8 * 400)
    assert "matches 'nope*'" in said(capsys, "bisect", POD, "--endpoints", "nope*", status=2)


def test_report_goes_to_a_file_named_after_the_fabric(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    text = said(capsys, "report", POD)
    assert [path.name for path in folder.iterdir()] == [f"{POD}-report.html"]
    assert (folder / f"{POD}-report.html").read_text("utf-8") == topo.make_report(topo.load(POD)).to_html()
    assert text.endswith(f"The report is in {POD}-report.html\n")
    assert len(text.splitlines()) <= 24
    assert "…" not in text  # nothing is cut where no terminal limits it


@pytest.mark.parametrize(("format", "start"), [("html", "<!"), ("md", "# "), ("json", "{")])
def test_report_formats(capsys: pytest.CaptureFixture[str], folder: Path, format: str, start: str) -> None:
    printed = said(capsys, "report", POD, "--format", format, "-o", "-", "--endpoints", "host-0*")
    assert printed.lower().startswith(start) and list(folder.iterdir()) == []
    said(capsys, "report", POD, "--format", format, "--endpoints", "host-0*")
    assert (folder / f"{POD}-report.{format}").read_text("utf-8").rstrip("\n") == printed.rstrip("\n")
    said(capsys, "report", POD, "--format", format, "-o", "mine")
    assert (folder / "mine").is_file()


def test_a_fabrics_name_cannot_choose_the_folder(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "..hidden name.txt").write_text(DUMP.format("4xHDR", "4xHDR"))
    said(capsys, "report", "./..hidden name.txt")
    (made,) = folder.glob("*-report.html")
    assert made.name == "hidden-name-report.html"


def test_names_from_files_cannot_act_on_the_terminal(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    hostile = "\x1b[31mred\x1b]0;title\x07\u202e"
    text = DUMP.format("4xHDR", "4xHDR").replace("n1", hostile).replace('"S-1"', f'"S-{hostile}"')
    (folder / "dump\x1b[2J").write_text(text, "utf-8")
    for verb in ("show", "bisect", "report"):
        main([verb, "dump\x1b[2J"])
        out, err = capsys.readouterr()
        assert out + err
        assert not {"\x1b", "\x07", "\u202e"} & set(out + err)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("show", "nvidia-superpod-h100-9su"), "did you mean 'nvidia-superpod-h100-"),
        (("show", "NVIDIA-SuperPOD-H100-4SU"), "did you mean 'nvidia-superpod-h100-4su'"),
        (("show", "none.yaml"), "none.yaml: no such file"),
        (("bisect", "nvidia-dgx-h100"), "with --keep none endpoints are split singly"),
        (("show", POD, "--assume-gbps", "1e300"), "is not a rate"),
        (("show", POD, "--assume-gbps", "9999T"), "at most 1,000,000 Gb/s"),
        (("show", "."), "there is no file in this folder"),
        (("show", "/proc/1/mem"), "/proc/1/mem: cannot be read"),
        (("show", POD, "--read-as", "x"), "unknown format 'x'; known: native, ibnetdiscover"),
        (("show", POD, "--assume-gbps", "fast"), "'fast' is not a rate"),
        (("show",), "Missing argument 'FABRIC' (topo show --help shows what it takes)"),
        (("show", POD, "extra"), "is of the catalogue and complete by itself"),
        (("show", POD, "--format", "xml"), "'xml' is not one of"),
        (("bisect", POD, "--keep", "rack"), "'rack' is not one of"),
        (("bisect", POD, "--links", "-1"), "--links"),
        (("bisect", POD, "--links", "many"), "--links"),
        (("bisect", POD, "--nope"), "No such option"),
        (("report", POD, "-o", "none/x.html"), "none/x.html: there is no folder"),
        (("report", POD, "-o", "."), ".: this is a folder"),
        (("report", POD, "-o", "/proc/x"), "/proc/x: cannot be written"),
        (("nope",), "No such command 'nope'"),
        (("--nope",), "No such option"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str) -> None:
    assert expected in said(capsys, *arguments, status=2)


def test_a_spec_with_an_error_is_told_with_its_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "a.yaml").write_text("name: a\ntitle: t\noperator: o\nsources: [{text: s, label: D}]\nbuilder: cloz\n")
    err = said(capsys, "show", "a.yaml", status=2)
    assert (
        err
        == "topo: a.yaml:1: key parameters: is missing and has to be given; 'topo template spec' shows a whole one\n"
    )
    (folder / "b.yaml").write_text((folder / "a.yaml").read_text() + "parameters: {}\n")
    assert "topo: b.yaml:5: key builder: 'cloz' is not a known builder; did you mean 'clos'?" in said(
        capsys, "show", "b.yaml", status=2
    )


def test_two_parts_have_no_bisection(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    one = DUMP.format("4xHDR", "4xHDR")
    (folder / "two").write_text(one + one.replace("S-1", "S-3").replace("H-2", "H-4").replace("n1", "n2"))
    assert "topo: " in said(capsys, "bisect", "two", status=2)
    assert "connected parts" in said(capsys, "show", "two")


def test_an_interrupt_is_status_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("topo.source.catalog", interrupted)
    assert main(["list"]) == 130
    assert capsys.readouterr() == ("", "topo: interrupted\n")


def test_too_little_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def exhausted() -> None:
        raise MemoryError

    monkeypatch.setattr("topo.source.catalog", exhausted)
    assert "memory" in said(capsys, "list", status=2)


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--version") == f"topo {topo.__version__}\n"
    text = said(capsys, "--help")
    for verb in ("list", "show", "report", "bisect", "throughput", "ecmp", "fail"):
        assert f"\n  {verb} " in text
        assert "..." not in next(line for line in text.splitlines() if line.startswith(f"  {verb} "))
        assert said(capsys, verb, "-h").startswith(f"Usage: topo {verb} ")
    assert main([]) == 2
    assert capsys.readouterr().out == text


PROGRAM = [sys.executable, "-m", "topo"]


def test_the_module_runs_as_the_program_does(folder: Path) -> None:
    script = Path(sys.executable).with_name("topo")
    for command in (PROGRAM, [str(script)]):
        done = subprocess.run([*command, "bisect", "nope"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("topo: 'nope' is neither") and done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen([*PROGRAM, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_device_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "list"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "topo: output: No space left on device\n")


def test_a_terminal_of_few_letters_still_gets_its_text(folder: Path) -> None:
    (folder / "dump").write_text(DUMP.format("4xHDR", "4xHDR").replace("n1", "nœud"), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*PROGRAM, "show", "dump"], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "nœud" not in done.stdout


def test_standard_input_is_read() -> None:
    text = DUMP.format("4xHDR", "4xHDR")
    done = subprocess.run([*PROGRAM, "show", "-"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Inventory" in done.stdout


def test_a_report_is_written_as_its_file_ends(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    for ending, start in (("md", "# "), ("json", "{"), ("htm", "<!doctype html>")):
        said(capsys, "report", TAPERED, "-o", f"x.{ending}")
        assert (folder / f"x.{ending}").read_text(encoding="utf-8").startswith(start)


def test_a_dump_seen_from_one_end_is_warned_about(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "cut.txt").write_text(DUMP.format("4xHDR", "4xHDR").split("Ca 1")[0], encoding="utf-8")
    assert "links one end reports" in said(capsys, "report", "cut.txt")


def test_a_dump_cut_in_a_stanza_warns_in_the_first_lines(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    whole = DUMP.format("4xHDR", "4xHDR") + DUMP.format("4xHDR", "4xHDR").replace("S-1", "S-3").replace("H-2", "H-4")
    (folder / "whole.txt").write_text(whole, "utf-8")
    assert "seems cut off" not in said(capsys, "show", "whole.txt")
    for end in ('\nCa 1 "H-4"', '\n[1] "S-3"', '\nCa 1 "H-2"'):  # before the last record, in it, before two of them
        (folder / "cut.txt").write_text(whole[: whole.rindex(end)], "utf-8")
        assert "seems cut off: only one end reports" in said(capsys, "show", "cut.txt").splitlines()[1]
        text = said(capsys, "report", "cut.txt")
        assert "The file seems cut off" in text.splitlines()[1]
        injection = next(line for line in text.splitlines() if line.startswith("injection"))
        assert "exact" not in injection and "(lower bound: " in injection
    assert "seems cut off" in said(capsys, "bisect", "cut.txt", status=2)


def test_one_sided_links_have_a_row_of_their_own(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "cut.txt").write_text(DUMP.format("4xHDR", "4xHDR").split("Ca 1")[0], "utf-8")
    text = said(capsys, "show", "cut.txt")
    row = next(line for line in text.splitlines() if "one end only" in line)
    assert "1 link, left out of every capacity" in row
    told = json.loads(said(capsys, "show", "cut.txt", "--format", "json"))
    (pair,) = told["inventory"]["one_sided_pairs"]
    assert pair["n_links"] == 1 and told["inventory"]["tier_pairs"] == []
    assert told["oversubscription"]["n_one_sided_links"] == 1


def test_assumed_rates_are_named_by_every_number_on_them(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    two = DUMP.format("", "") + DUMP.format("", "").replace("H-2", "H-4").replace("[1]", "[2]").replace("n1", "n2")
    two = two.replace('"H-4"[2]', '"H-4"[1]').replace('[2] "S-1"', '[1] "S-1"')
    (folder / "dump").write_text(two, "utf-8")
    assert "states no rates" in said(capsys, "show", "dump")
    shown = said(capsys, "show", "dump", "--assume-gbps", "400G")
    assert "states no rates" not in shown
    for text in (shown, said(capsys, "report", "dump", "--assume-gbps", "400G", "-o", "x.html")):
        injection = next(line for line in text.splitlines() if "injection" in line)
        assert "400 Gb/s assumed for 2 of 2 links" in injection
    bisection = said(capsys, "bisect", "dump", "--assume-gbps", "400G").splitlines()[1]
    assert "(exact: 400 Gb/s assumed for 2 of 2 links; the bounds meet)" in bisection
    assert "Given: 400 Gb/s assumed" in said(capsys, "report", "dump", "--assume-gbps", "400G")


def test_endpoints_asked_about_narrow_the_bisection_alone_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "report", POD, "--endpoints", "host-0[1-4]")
    assert "32 endpoints  (given: as asked; all other numbers are of the whole fabric)" in text
    assert "32 of 248 endpoints" in said(capsys, "bisect", POD, "--endpoints", "host-0[1-4]")


def test_a_spec_is_known_by_its_content(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    spec = (fabrics_folder() / f"{TAPERED}.yaml").read_text("utf-8")
    (folder / "mine.txt").write_text(spec, "utf-8")
    (folder / "mine").write_text(spec, "utf-8")
    for name in ("mine.txt", "./mine"):
        assert "51.2 Tb/s  (exact" in said(capsys, "bisect", name)
    done = subprocess.run([*PROGRAM, "bisect", "-"], input=spec, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "51.2 Tb/s  (exact" in done.stdout
    done = subprocess.run([*PROGRAM, "show", "-"], input=spec + "x: 1\n", capture_output=True, text=True, timeout=60)
    line = spec.count("\n") + 1
    assert (done.returncode, done.stderr[:12]) == (2, "topo: <stdin")
    assert f":{line}: key x: is not a key" in done.stderr
    (folder / "x.txt").write_text("name: X!\n", "utf-8")
    assert "x.txt:1: key name: 'X!' does not fit" in said(capsys, "show", "x.txt", "--read-as", "spec", status=2)


def test_binary_data_is_not_echoed(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "x.dat").write_bytes(bytes(range(256)) * 20)
    err = said(capsys, "show", "x.dat", status=2)
    assert "x.dat: it is not text but binary data, beginning '\\x00\\x01\\x02\\x03'; give " in err
    assert "U+" not in err and len(err) < 200


def test_a_server_of_one_host_is_split_itself(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "report", "nvidia-dgx-h100")
    assert "14.4 Tb/s  (exact" in text and "nothing, endpoints are split singly" in text
    assert "not computed" not in text


def test_an_expectation_that_fails_stands_in_the_main_numbers(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    spec = (fabrics_folder() / f"{TAPERED}.yaml").read_text("utf-8").replace("n_leaves: 16", "n_leaves: 17")
    (folder / "wrong.yaml").write_text(spec, "utf-8")
    text = said(capsys, "report", "wrong.yaml")
    assert "expected numbers DIFFER   leaf switches: 17 expected, 16 built" in text
    shown = said(capsys, "show", "wrong.yaml")
    assert "WARNING: Of 13 numbers, 13 derived, 12 equal what was built and 1 differ" in shown.splitlines()[1]
    assert "published" not in shown.split("Published and derived numbers against built")[1].split("Assumptions")[0]


def test_a_page_of_two_like_fabrics_says_that_nothing_differs(folder: Path) -> None:
    assert main(["compare", POD, POD, "--format", "html", "-o", "page.html"]) == 0
    text = (folder / "page.html").read_text("utf-8")
    assert "No number differs." in text and "* differs" not in text


def test_one_link_is_told_in_the_singular(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    head = "a_node,a_port,z_node,z_port,speed,a_kind,z_kind\n"
    (folder / "one.csv").write_text(head + "".join(f"host-{i},1,leaf-1,{i},400G,host,switch\n" for i in (1, 2, 3)))
    assert "\nA cut of 400 Gb/s: 1 link\n" in said(capsys, "bisect", "one.csv")


def test_a_report_of_two_fabrics_prints_them_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", POD, "--compare", POD, "-o", "both.html"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert main(["compare", POD, POD]) == 0
    assert printed == [*capsys.readouterr().out.splitlines(), "The report is in both.html"]
