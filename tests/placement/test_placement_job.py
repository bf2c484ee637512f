"""Jobs, their traffic, and job files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from topo.errors import InputError, ParameterError
from topo.placement.job import Constraints, Job
from topo.placement.job_file import parse_job, read_job
from topo.placement.traffic import Traffic


def dense(job: Job) -> np.ndarray:
    return job.traffic.between(np.arange(job.size), job.size).toarray()


def test_grid_traffic_by_hand() -> None:
    job = Job(
        degrees={"tensor": 2, "pipeline": 3, "data": 4, "expert": 2},
        order=("tensor", "pipeline", "data"),
        bytes_per_step={"tensor": 100, "pipeline": 7, "data": 3, "expert": 0.5},
    )
    w = dense(job)

    def rank(t: int, p: int, d: int) -> int:
        return t + 2 * (p + 3 * d)

    for t in range(2):
        for p in range(3):
            for d in range(4):
                assert w[rank(t, p, d), rank(1 - t, p, d)] == 100
                if p < 2:
                    assert w[rank(t, p, d), rank(t, p + 1, d)] == w[rank(t, p + 1, d), rank(t, p, d)] == 7
                expert_too = 0.5 if (d + 1) % 4 // 2 == d // 2 else 0.0
                assert w[rank(t, p, d), rank(t, p, (d + 1) % 4)] == 3 + expert_too
                assert w[rank(t, p, d), rank(t, p, d ^ 1)] >= 0.5
    assert w.sum() == job.traffic.total == 24 * 100 + 2 * 16 * 7 + 24 * 3 + 24 * 0.5
    np.testing.assert_allclose(job.traffic.sent(), w.sum(axis=1))
    np.testing.assert_allclose(job.traffic.received(), w.sum(axis=0))


def test_order_moves_ranks() -> None:
    degrees = {"tensor": 2, "data": 2, "pipeline": 2}
    llama = Job(degrees=degrees, order=("tensor", "pipeline", "data"), bytes_per_step={"data": 1})
    megatron = Job(degrees=degrees, order=("tensor", "data", "pipeline"), bytes_per_step={"data": 1})
    assert dense(llama)[0].nonzero()[0].tolist() == [4]
    assert dense(megatron)[0].nonzero()[0].tolist() == [2]


def test_blocks_agree_with_pairs() -> None:
    rng = np.random.default_rng(3)
    groups = rng.permutation(12).reshape(3, 4)
    block = Traffic.of(12, groups=groups, group_amount=2.0, source=[0, 1], sink=[5, 1], amount=[4.0, 9.0])
    label, code = rng.integers(0, 3, 12), rng.integers(0, 5, 12)
    w = np.zeros((12, 12))
    for group in groups:
        w[np.ix_(group, group)] += 2.0
    np.fill_diagonal(w, 0)
    w[0, 5] += 4
    onto = np.eye(5)[code]
    np.testing.assert_allclose(block.between(code, 5).toarray(), onto.T @ w @ onto)
    same = label[:, None] == label[None, :]
    np.testing.assert_allclose(block.within(label).between(code, 5).toarray(), onto.T @ (w * same) @ onto)
    assert block.total == w.sum()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"size": 64, "degrees": {"tensor": 8, "data": 4}, "order": ("tensor", "data")},
            "make 32 ranks, not the size 64",
        ),
        ({"degrees": {"tensor": 8, "data": 4}}, "order is not given"),
        ({"degrees": {"tensor": 8, "data": 4}, "order": ("tensor",)}, "lists each of tensor, data once"),
        ({"degrees": {"data": 6, "expert": 4}, "order": ("data",)}, "expert degree 4 does not divide"),
        ({"degrees": {"sequence": 2}, "order": ()}, "unknown degree 'sequence'"),
        ({"size": 0}, "at least 1 rank"),
        ({"size": 4, "pattern": "star"}, "unknown pattern 'star'"),
        ({"size": 4, "bytes_per_step": {"data": 1}}, "without degrees"),
        ({"size": 4, "pattern_bytes": float("nan")}, "pattern_bytes is nan"),
        ({"size": 4, "pairs": ((0, 4, 1.0),)}, "pair 0 -> 4"),
    ],
)
def test_refusals(arguments: dict, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Job(**arguments)


def test_constraints_are_checked() -> None:
    with pytest.raises(ParameterError, match="at_most_leaves is 0"):
        Constraints(at_most_leaves=0)


FILE = """
name: pretraining
degrees: {tensor: 8, pipeline: 8, data: 16}
order: [tensor, pipeline, data]
bytes_per_step:
  data: 1.25e9
  pipeline: 50000000
constraints:
  at_most_leaves: 8
  exclude: ["host-00*"]
"""


def test_job_file(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(FILE)
    job = read_job(path)
    assert (job.name, job.size, job.order) == ("pretraining", 1024, ("tensor", "pipeline", "data"))
    assert job.bytes_per_step["data"] == 1.25e9
    assert job.constraints == Constraints(at_most_leaves=8, exclude=("host-00*",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("size: 12\ncolour: red\n", "<text>:2: key colour: is not a key"),
        ("size: twelve\n", "<text>:1: key size: 'twelve' is not a whole number"),
        ("name: x\n", "needs size"),
        (FILE + "size: 100\n", "make 1,024 ranks, not the size 100"),
        (FILE.replace("order: [tensor, pipeline, data]", "order: [tensor]"), ":4: key order"),
        ("size: 4\nconstraints: {at_most_leaves: 0}\n", "<text>:2: key constraints.at_most_leaves"),
    ],
)
def test_job_files_are_refused_at_their_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        parse_job(text)
    assert said in str(error.value)


def test_a_job_of_absurd_size_is_refused_before_it_is_made() -> None:
    with pytest.raises(ParameterError, match="more than 4,000,000 ranks"):
        Job(10**9)
    import topo

    with pytest.raises(ParameterError, match="3,999,968 are missing"):
        topo.place(topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8), Job(4_000_000))
    with pytest.raises(ParameterError, match="has no rails; leave same_rail out"):
        topo.place(
            topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8), Job(4, constraints=Constraints(same_rail=True))
        )
