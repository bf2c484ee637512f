"""Damage for the fuzz of readers, by seed: random bytes, and good files cut, shuffled, doubled, re-encoded.

``TOPO_FUZZ_SECONDS=300 pytest -m slow tests/io -k damaged`` goes on for five minutes a reader, by new draws.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator

from format_samples import OTHER_LLDP, SAMPLES
from test_read_fuzz import GOOD as DUMP

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.text import decode

SIGNS = "0123456789[]{}()<>\"'=:;,|-_#\\/ \t\n\rxXeE.%&*!?@\0é٣­\u2028😀"
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-be", "latin-1", "cp1252", "utf-7")
HUGE = ("9" * 30, "1" * 400, "-1", "1e999", "NaN", "0x" + "f" * 40, "[1-999999999]", "&a *a", "../../etc/passwd")


def seeds(name: str) -> list[str]:
    """The good files of a format that the damage starts from."""
    if name == "ibnetdiscover":
        return [DUMP]
    return [SAMPLES[name][0], *(OTHER_LLDP.values() if name == "lldp" else ())]


def damaged(source: random.Random, text: str) -> str:
    """A text as it may arrive: of random bytes one time in eight, else ``text`` with one to six kinds of damage."""
    if source.random() < 0.125:
        return decode(source.randbytes(source.randrange(400)))
    for _ in range(source.randrange(1, 7)):
        text = source.choice(_KINDS)(source, text)
    return text[:20_000]


def _cut(source: random.Random, text: str) -> str:
    start, end = sorted(source.randrange(len(text) + 1) for _ in range(2))
    return text[:start] + text[end:] if source.random() < 0.7 else text[start:end]


def _shuffled(source: random.Random, text: str) -> str:
    lines = text.split("\n")
    source.shuffle(lines)
    return "\n".join(lines)


def _doubled(source: random.Random, text: str) -> str:
    lines = text.split("\n")
    start = source.randrange(len(lines))
    end = min(len(lines), start + source.randrange(1, 8))
    return "\n".join(lines[:end] + lines[start:end] * source.randrange(1, 4) + lines[end:])


def _encoded(source: random.Random, text: str) -> str:
    data = text.encode(source.choice(ENCODINGS), errors="replace")
    return decode(data[: len(data) - source.randrange(2)] if source.random() < 0.5 else data)


def _sprinkled(source: random.Random, text: str) -> str:
    letters = list(text)
    for _ in range(source.randrange(1, 8)):
        if letters:
            letters[source.randrange(len(letters))] = source.choice(SIGNS)
    return "".join(letters)


def _piece(source: random.Random, text: str) -> str:
    start = source.randrange(len(text) + 1)
    piece = text[start : start + source.randrange(1, 40)]
    new = source.choice((piece + piece, piece[::-1], piece.upper(), source.choice(HUGE), piece.replace(" ", "\t")))
    return text[:start] + new + text[start + len(piece) :]


_KINDS: tuple[Callable[[random.Random, str], str], ...] = (_cut, _shuffled, _doubled, _encoded, _sprinkled, _piece)


def outcome(text: str, name: str) -> Fabric | topo.TopoError:
    """What reading gives; anything but a Fabric or a one-line TopoError fails by itself."""
    try:
        fabric = fabric_of_text(text, "fuzz", format=name)
    except topo.TopoError as error:
        assert "\n" not in str(error), str(error)
        return error
    assert len(fabric.nodes)
    assert all("\n" not in str(note) for note in fabric.origin.notes)
    return fabric


def sources(n: int, *seed: str | int) -> Iterator[random.Random]:
    """``n`` times the draws of a seed; where the environment asks for seconds, new draws until they are over."""
    end = time.monotonic() + float(os.environ.get("TOPO_FUZZ_SECONDS", 0))
    known, new = random.Random(" ".join(map(str, seed))), random.Random()
    for _ in range(n):
        yield known
    while time.monotonic() < end:
        yield new


def run(name: str, n: int, seed: int = 0) -> tuple[int, int]:
    """Read ``n`` damaged files of a format: how many became a fabric, how many were refused."""
    texts, found = seeds(name), [0, 0]
    for source in sources(n, name, seed):
        text = damaged(source, source.choice(texts))
        try:
            found[not isinstance(outcome(text, name), Fabric)] += 1
        except BaseException as error:
            error.add_note(f"{name}: {text!r}")
            raise
    return found[0], found[1]
