"""The fix that a finding prints, done in the file as a hand would do it, is the end of the finding: every code."""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from topo.wiring import CODES, validate
from topo.wiring.answer import Validation
from topo.wiring.finding import Finding
from topo.wiring.formats import to_text

FOLDER = Path(__file__).resolve().parent.parent / "wiring_faults"
TODAY = datetime.date(2026, 12, 1)
with (FOLDER / "expected.tsv").open() as table:
    CASES = list(csv.DictReader(table, delimiter="\t"))

BY_HAND: dict[str, Sequence[tuple[str, str]]] = {
    # Fixes in words: what a person who follows them writes instead, patterns over the whole file.
    "port-used-twice_host.csv": [("leaf-1,1,host-17", "leaf-1,11,host-17")],  # a port of its own
    "breakout-conflict_parent_and_child.csv": [("leaf-1,11/1,", "leaf-1,12,")],  # the port
    "breakout-beyond_ninth_leg.csv": [("E1/1/9", "E1/1/4")],  # a leg that exists
    "breakout-beyond_fifth_leg.csv": [("20/5", "20/4")],  # the same
    "port-beyond_number.csv": [("leaf-1,130,", "leaf-1,3,")],  # a port that exists
    "ports-too-many_leaf.csv": [("leaf-1,[xy].*\\n", "")],  # cables moved off
    "port-too-slow_uplink.csv": [("800G", "400G")],  # its ports are of 400
    "cable-to-itself_leaf.csv": [("leaf-1,11,leaf-1,12,400G\n", "")],  # removed
    "island_pair.csv": [("leaf-20,3,spine-20,1", "leaf-20,3,spine-1,20"), ("$", "leaf-20,4,spine-1,21,400G\n" + "".join(
        f"leaf-20,{4 + i},spine-{1 + i // 2},{20 + i},400G\n" for i in range(2, 8)))],  # cabled to the fabric
    "oversubscription-unlike_leaf.csv": [("leaf-4,1[1-6],.*\n", "")],  # hosts moved away
    "link-slow_uplink.csv": [("200G", "400G")],
    "rate-unlike-plan_uplink.csv": [("200G", "400G")],
    "part-mismatch_leaf.csv": [("sn5600", "qm9700")],
    "leaf-missing_third_rail.csv": [("$", "".join(f"su2-leaf3,{i},host-0{4 + i},nic-3,400G\n" for i in range(1, 5)) +
                                     "".join(f"su2-leaf3,{4 + i},spine-{i},7,400G\n" for i in range(1, 5)))],
    "nic-missing_one.csv": [("$", "su2-leaf2,2,host-06,nic-2,400G\n")],  # where the evidence says
    "nic-missing_the_only_slot_of_a_scheme.csv": [("$", "manager-1,s1:1,leaf-2,7,100G\n")],
    "devices-exchanged_two_leaves.csv": [("su3-leaf2", "*"), ("su2-leaf1", "su3-leaf2"), (r"\*", "su2-leaf1")],
    "device-mistyped_two_rows.csv": [("laef-3", "leaf-3")],
    "link-one-sided_uplink.topo": [
        ('(Switch.*"spine-2".*\n)', r'\1[5]\t"S-0000000000000007"[5]\t\t# "leaf-3" lid 1 4xNDR\n')
    ],
    "link-ambiguous_two_far_ends.topo": [(r"\[5\].*000001b.*\[20\].*\n", "")],  # the look says: the other is plugged
    "rate-mismatch_ends_differ.topo": [("4xHDR", "4xNDR")],
    "name-duplicate_leaf.topo": [('("S-000000000000000a".*)"leaf-3"', r'\1"leaf-4"')],
    "nic-unnamed_factory.topo": [("MT4129 .*Technologies", "host-06 mlx5_1")],
    "accept-expired_term_over.csv": [("2026-01-31", "2027-01-31")],  # renewed
    "accept-unused_mended.csv": [("(?s)accept:.*", "accept: []\n")],  # off the list
}  # fmt: skip
NOT_OF_THE_FILE = {
    # Another design to give, nothing to do, or names that only those know who were there.
    "wrong-design_other_fabric.csv", "spelling_ports.csv", "rule-not-learnt_random.csv", "port-irregular_one.csv",
    "port-off-pattern_crossed.csv", "pattern-other_same_total.csv", "radix-gap_two_ports.csv",
    "name-factory_adapters.topo",
}  # fmt: skip
END = r"(.+?)(?: port (\S+))?"


def checked(file: Path, case: dict[str, str], accept: Path | None = None) -> Validation:
    against = FOLDER / case["against"] if case["against"] else None
    accept = accept or (FOLDER / case["accept"] if case["accept"] else None)
    return validate(file, against, accept=accept, today=TODAY, bisection=False)


class Sheet:
    """A table of cables, changed as the printed jobs say."""

    def __init__(self, text: str) -> None:
        self.head, *self.rows = list(csv.reader(text.splitlines()))
        self.at = [(self.head.index(f"{side}-Node Name"), self.head.index(f"{side}-Port")) for side in "AZ"]

    def __str__(self) -> str:
        return "\n".join(map(",".join, [self.head, *self.rows])) + "\n"

    def ends(self, row: list[str]) -> list[tuple[str, str]]:
        """Node and port of either end; the adapter of a host is part of its name in findings, port 1 the only one."""
        return [(f"{row[node]} {row[port]}", "1") if row[port].startswith("nic-") else (row[node], row[port])
                for node, port in self.at]  # fmt: skip

    def row_of(self, one: tuple[str, str], other: tuple[str, str]) -> list[str]:
        (row,) = [row for row in self.rows if self.ends(row) in ([one, other], [other, one])]
        return row

    def free_port(self, node: str) -> str:
        return str(1 + max(int(port) for row in self.rows for name, port in self.ends(row) if name == node))

    def put(self, row: list[str], side: int, node: str, port: str | None) -> None:
        name, _, adapter = node.partition(" ")
        row[self.at[side][0]], row[self.at[side][1]] = name, adapter or port or self.free_port(node)

    def do(self, job: str) -> None:
        verb, _, rest = job.partition(" ")
        cable, _, target = rest.partition(" to ")
        cable, _, left = cable.partition(" from ")
        ends = [re.fullmatch(END, text).groups() for text in cable.split(" - ")]
        if verb == "lay":
            row = ["400G" if name == "Speed" else "" for name in self.head]
            self.rows.append(row)
            for side, (node, port) in enumerate(ends):
                self.put(row, side, node, port)
            return
        row = self.row_of(*ends)
        if verb == "remove":
            self.rows.remove(row)
            return
        assert verb == "move"
        node, port = re.fullmatch(END, target).groups()
        names = [name for name, _ in self.ends(row)]
        # Where the text does not say which end leaves, it is the switch: an adapter stays in its host.
        gone = re.fullmatch(END, left)[1] if left else next(name for name in names if " " not in name)
        self.put(row, names.index(gone), node, port)


def jobs_printed(printed: str, one: Finding) -> list[str]:
    """The jobs that stand at a finding in the printed text, cable by cable."""
    (lines,) = [lines for part in printed.split("\n\n") if f": {one.where}" in (lines := part.split("\n"))[0]]
    fix = next(line for line in lines if line.startswith("  fix: ")).removeprefix("  fix: ")
    said = [*fix.split("; "), *(line.strip() for line in lines if line.startswith("    "))]
    return [job for text in said if text.split()[0] in ("move", "lay", "remove") for job in each_of(text)]


def each_of(said: str) -> list[str]:
    """``lay 2 cables leaf-1 ports 9-10 - spine-4 ports 1-2`` cable by cable; another job as it is."""
    several = re.fullmatch(r"(lay|remove) \d+ cables (.+) ports (.+) - (.+) ports (.+)", said)
    if several is None:
        return [said]
    verb, a, ports_a, b, ports_b = several.groups()
    pairs = zip(numbers(ports_a), numbers(ports_b), strict=True)
    return [f"{verb} {a} port {p} - {b} port {q}" for p, q in pairs]


def numbers(runs: str) -> list[int]:
    ends = [run.split("-") for run in runs.split(", ")]
    return [port for end in ends for port in range(int(end[0]), int(end[-1]) + 1)]


def mended(case: dict[str, str], folder: Path) -> Validation:
    """The answer to the file after all that is printed was done."""
    source = FOLDER / case["file"]
    text, accept = source.read_text(), None
    if source.name in BY_HAND:
        changed = FOLDER / (case["accept"] or case["file"])
        after = changed.read_text()
        for pattern, now in BY_HAND[source.name]:
            after, n = re.subn(pattern if pattern != "$" else r"\Z", now, after)
            assert n > 0, pattern
        if case["accept"]:
            accept = folder / "accept.yaml"
            accept.write_text(after)
        else:
            text = after
    else:
        sheet = Sheet(text)
        answer = checked(source, case)
        printed = to_text(answer)
        for one in (one for one in answer.findings if one.code == case["code"]):
            jobs = jobs_printed(printed, one)
            assert len(jobs) == len(one.jobs) > 0, one.fix
            for job in jobs:
                sheet.do(job)
        text = str(sheet)
    path = folder / source.name
    path.write_text(text)
    return checked(path, case, accept)


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_doing_what_is_printed_ends_the_finding(case: dict[str, str], tmp_path: Path) -> None:
    if case["file"] in NOT_OF_THE_FILE:
        (one, *_) = [one for one in checked(FOLDER / case["file"], case).findings if one.code == case["code"]]
        assert not one.operations
        assert one.severity == "note" or one.code in ("wrong-design", "spelling")
        return
    also = set(filter(None, case["also"].split(",")))
    left = [str(one) for one in mended(case, tmp_path).findings
            if one.code == case["code"] or (one.severity != "note" and one.code not in also)]  # fmt: skip
    assert left == []


def test_a_shifted_row_is_told_from_its_free_end_on() -> None:
    """Every printed job finds its port free: it was never used, or the job before has left it."""
    case = next(case for case in CASES if case["code"] == "shifted")
    sheet = Sheet((FOLDER / case["file"]).read_text())
    (one,) = [one for one in checked(FOLDER / case["file"], case).findings if one.code == "shifted"]
    for job in one.jobs:
        node, port = re.fullmatch(END, job.text.partition(" to ")[2]).groups()
        assert (node, port) not in [end for row in sheet.rows for end in sheet.ends(row)]
        sheet.do(job.text)


def test_every_code_is_mended_or_said_to_be_no_matter_of_the_file() -> None:
    assert {case["code"] for case in CASES} == set(CODES)
    assert BY_HAND.keys() | NOT_OF_THE_FILE <= {case["file"] for case in CASES}
