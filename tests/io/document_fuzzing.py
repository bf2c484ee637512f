"""The fuzz of the files that people write: specs, jobs, failures, racks, prices, accepted deviations, requirements."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import fuzzing

import topo
from topo.analysis.failures.rates import read_failure_rates
from topo.cli.jobs import read_training_job
from topo.cli.templates import TEMPLATES
from topo.design.prices import read_prices
from topo.design.requirements import read_requirements
from topo.design.rules import read_rack_rules
from topo.placement.job_file import read_job
from topo.source import fabrics_folder
from topo.spec import builders, fabric_of_spec, read_spec
from topo.wiring.accept import read_accepted

__all__ = ["READERS", "run"]

_SMALL = 3_000
"""Ports of the fabrics that a damaged spec may build: the fuzz is of the loader, not of the builders' speed."""


def _built(path: Path) -> object:
    with patch.object(builders, "_MOST_PORTS", _SMALL):
        return fabric_of_spec(*read_spec(path))


READERS: dict[str, Callable[[Path], object]] = {
    "spec": _built,
    "job": read_job,
    "training-job": lambda path: read_training_job(str(path)),
    "failures": read_failure_rates,
    "racks": read_rack_rules,
    "prices": read_prices,
    "accept": read_accepted,
    "requirements": read_requirements,
}


_VALUE = re.compile(r"(?<=: )[^\s{},\[\]#]+")
_OTHERS = ("0", "1", "2", "3", "8", "-1", "1.5", "64", "400G", "true", "~", "[1, 2]", "{a: 1}", '"x"', *fuzzing.HUGE)


def seeds(kind: str) -> list[str]:
    """The good files that the damage starts from: the template, and for specs the catalogue too."""
    more = sorted(fabrics_folder().glob("*.yaml")) if kind == "spec" else []
    return [TEMPLATES[kind], *(path.read_text("utf-8") for path in more)]


def damaged(source: random.Random, text: str) -> str:
    """Half the time damaged anyhow; else one to three of its values are others, so that it stays a document."""
    if source.random() < 0.5:
        return fuzzing.damaged(source, text)
    for _ in range(source.randrange(1, 4)):
        values = list(_VALUE.finditer(text))
        if values:
            one = source.choice(values)
            text = text[: one.start()] + source.choice(_OTHERS) + text[one.end() :]
    return text


def outcome(kind: str, path: Path) -> bool:
    """Whether the file was taken; anything but that or a one-line error of the input fails by itself."""
    try:
        READERS[kind](path)
    except topo.TopoError as error:
        assert "\n" not in str(error), str(error)
        assert isinstance(error, topo.errors.InputError | topo.errors.ParameterError), repr(error)
        return False
    return True


def run(kind: str, n: int, folder: Path, seed: int = 0) -> tuple[int, int]:
    """Read ``n`` damaged files of a kind: how many were taken, how many refused."""
    texts, found, path = seeds(kind), [0, 0], folder / f"{kind}.yaml"
    for source in fuzzing.sources(n, kind, seed):
        text = damaged(source, source.choice(texts))
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            found[not outcome(kind, path)] += 1
        except BaseException as error:
            error.add_note(f"{kind}: {text!r}")
            raise
    return found[0], found[1]
