"""Every answer about training renders as text, HTML, JSON and a frame, and survives pickling."""

import json
import pickle
from collections.abc import Callable

import pytest

import topo
from topo.analysis.collectives.on_fabric import collective_time
from topo.analysis.collectives.optimum import optimal_all_gather
from topo.parts.models import model_shape
from topo.result import Result
from topo.training import (
    Plan,
    compare_measured,
    exposure,
    fabric_sensitivity,
    goodput,
    parallelism,
    read_nccl_tests,
    scaling_efficiency,
    split_job,
    training_memory,
    training_step,
)

FABRIC = topo.rail_optimized(hosts=16, rails=8, hosts_per_unit=8, radix=32)
PLAN = Plan(batch=64, tensor=8, data=16, recompute="selective", sequence_parallel=True)

ANSWERS: dict[str, Callable[[], Result]] = {
    "step": lambda: training_step("gpt-22b", PLAN, fabric=FABRIC, efficiency=0.5),
    "fingerprint": lambda: parallelism("gpt-22b", PLAN),
    "memory": lambda: training_memory(model_shape("gpt-22b"), PLAN),
    "goodput": lambda: goodput(FABRIC, samples=5),
    "collective": lambda: collective_time(FABRIC, bytes=1e9, routing="single-path", samples=5),
    "optimum": lambda: optimal_all_gather(FABRIC),
    "exposure": lambda: exposure(training_step("gpt-22b", PLAN, efficiency=0.5), "tensor"),
    "scaling": lambda: scaling_efficiency("gpt-22b", PLAN, [4, 8], fabric=FABRIC, efficiency=0.5),
    "sensitivity": lambda: fabric_sensitivity(FABRIC, "gpt-22b", PLAN, efficiency=0.5),
    "splits": lambda: split_job("gpt-22b", 128, 64, efficiency=0.5, fabric=FABRIC, keep=2),
    "measured": lambda: compare_measured(goodput(FABRIC, routing="spray"), 300.0),
    "nccl-tests": lambda: read_nccl_tests(["1024 256 float sum -1 1.0 1.0 1.0 0 1.0 1.0 1.0 0"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_rendering(name: str) -> None:
    answer = ANSWERS[name]()
    assert answer.title in str(answer)
    assert "<table>" in answer._repr_html_()
    assert json.loads(answer.to_json()) == answer.to_dict()
    assert len(answer.to_frame()) == len(answer.rows())
    again = pickle.loads(pickle.dumps(answer))
    assert again.to_dict() == answer.to_dict()
    assert all("nan" not in row.text() for row in answer.rows())
