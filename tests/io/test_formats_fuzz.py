"""Fuzz of every reader: random bytes, and good files cut, shuffled, doubled and mutated: a Fabric or a TopoError."""

from __future__ import annotations

import random

import pytest
from format_samples import OTHER_LLDP, SAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.fabric import Fabric
from topo.io import FORMATS, fabric_of_text
from topo.io.affinity import affinity_of_text
from topo.io.hostlist import expand_hosts, fold_hosts
from topo.io.slurm_state import cluster_state_of_text
from topo.io.text import decode

TEXTS = [row for row in FORMATS if row.sniff and not row.takes_bytes]
NAMES = [row.name for row in TEXTS if row.name != "ibnetdiscover"]
SIGNS = "0123456789[]{}()<>\"'=:;,|-_#\\/ \t\n\rxXeE\0é٣"
MATRIX = "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-3\t0\nNIC0\tPIX\t X \t\t\n\nNIC0: mlx5_0\n"
SINFO = "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\ngpu* up infinite 2 idle n[1-2]\ngpu* up infinite 1 drain* n4\n"


def outcome(text: str, name: str) -> Fabric | topo.TopoError:
    """What reading gives; anything but a Fabric or a TopoError fails the test by itself."""
    try:
        fabric = fabric_of_text(text, "fuzz", format=name)
    except topo.TopoError as error:
        assert "\n" not in str(error)
        return error
    assert len(fabric.nodes)
    assert len(fabric.digest) == 64
    assert all("\n" not in str(note) for note in fabric.origin.notes)
    return fabric


def test_every_format_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_samples_are_good(name: str) -> None:
    text, counts = SAMPLES[name]
    fabric = outcome(text, name)
    assert isinstance(fabric, Fabric), fabric
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == counts
    assert outcome(text.replace("\n", "\r\n"), name).equals(fabric) or name in ("ns-3",)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_recognised_as_what_it_is(name: str) -> None:
    sniffed = [row.name for row in TEXTS if row.function(row.sniff)(SAMPLES[name][0])]
    assert sniffed[:1] == [name]


@pytest.mark.parametrize("which", OTHER_LLDP)
def test_every_spelling_of_neighbours_is_recognised(which: str) -> None:
    text = OTHER_LLDP[which]
    assert next(row.name for row in TEXTS if row.function(row.sniff)(text)) == "lldp"
    assert isinstance(outcome(text, "lldp"), Fabric)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=300))
def test_random_bytes(name: str, data: bytes) -> None:
    outcome(decode(data), name)
    for row in TEXTS:
        row.function(row.sniff)(decode(data))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(source=st.randoms(use_true_random=False))
def test_good_files_damaged(name: str, source: random.Random) -> None:
    """Lines dropped, doubled and shuffled; pieces cut out, doubled and overwritten; signs sprinkled."""
    text = SAMPLES[name][0] if name != "lldp" else source.choice([SAMPLES[name][0], *OTHER_LLDP.values()])
    if source.random() < 0.3:
        lines = text.split("\n")
        text = "\n".join(source.choice(lines) for _ in range(source.randrange(2 * len(lines))))
    for _ in range(source.randrange(6)):
        start, end = sorted(source.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + 40)
        action = source.random()
        piece = text[start:end]
        text = text[:start] + ("" if action < 0.4 else piece + piece if action < 0.7 else piece[::-1]) + text[end:]
    letters = list(text)
    for _ in range(source.randrange(8)):
        if letters:
            letters[source.randrange(len(letters))] = source.choice(SIGNS)
    outcome("".join(letters), name)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab01239[]-,/_ .é٣^@!&%", max_size=24))
def test_host_lists(text: str) -> None:
    try:
        names = expand_hosts(text)
    except topo.TopoError as error:
        assert "\n" not in str(error)
        return
    assert names
    assert sorted(expand_hosts(fold_hosts(names))) == sorted(set(names))


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_states_and_matrices(source: random.Random) -> None:
    for text, read in ((MATRIX, affinity_of_text), (SINFO, cluster_state_of_text)):
        letters = list(text)
        for _ in range(source.randrange(20)):
            letters[source.randrange(len(letters))] = source.choice(SIGNS)
        try:
            read("".join(letters)[source.randrange(10) :], "fuzz")
        except topo.TopoError as error:
            assert "\n" not in str(error)
