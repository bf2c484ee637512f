"""The same answer on any number of workers, after a kill, and after a stop."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from topo.errors import InputError, ParameterError
from topo.sweep import sweep


def _draws(shared, items, generator):
    return {"sum": shared * sum(items), "draws": generator.random(3), "odd": [0.1 + 0.2, float("nan")]}


def _kill_once(shared, items, generator):
    """Kill this worker the first time item 5 comes up; slow enough that the others are at work then."""
    mark = Path(shared)
    time.sleep(0.02)
    if 5 in items and not mark.exists():
        mark.write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return generator.random(2)


def _stop_at(shared, items, generator):
    if shared in items:
        raise KeyboardInterrupt
    return generator.random(2)


def _same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        assert one["sum"] == other["sum"]
        assert one["draws"].tobytes() == other["draws"].tobytes()
        assert one["odd"][0] == other["odd"][0]


def test_one_process_two_processes_and_threads_agree_to_the_last_bit():
    items = list(range(23))
    alone = sweep(_draws, 7, items, batch=4, seed=3, workers=1)
    assert [r["sum"] for r in alone] == [7 * sum(items[i : i + 4]) for i in range(0, 23, 4)]
    _same(alone, sweep(_draws, 7, items, batch=4, seed=3, workers=2))
    with ThreadPoolExecutor(3) as pool:
        _same(alone, sweep(_draws, 7, items, batch=4, seed=3, executor=pool))
    other = sweep(_draws, 7, items, batch=4, seed=4, workers=1)
    assert other[0]["draws"].tobytes() != alone[0]["draws"].tobytes()


def test_a_killed_process_has_its_batches_done_again(tmp_path):
    mark = tmp_path / "mark"
    mark.write_text("no kill")
    whole = sweep(_kill_once, str(mark), list(range(12)), seed=1, workers=1)
    mark.unlink()
    after = sweep(_kill_once, str(mark), list(range(12)), seed=1, workers=2)
    assert mark.read_text() == "killed"
    assert [r.tobytes() for r in after] == [r.tobytes() for r in whole]


def test_a_dask_cluster_agrees_and_survives_a_killed_worker(tmp_path):
    distributed = pytest.importorskip("distributed")
    mark = tmp_path / "mark"
    mark.write_text("no kill")
    whole = sweep(_kill_once, str(mark), list(range(12)), seed=1, workers=1)
    mark.unlink()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        after = sweep(_kill_once, str(mark), list(range(12)), seed=1, executor=client.get_executor())
    assert mark.read_text() == "killed"
    assert [r.tobytes() for r in after] == [r.tobytes() for r in whole]


def test_a_stopped_sweep_goes_on_from_its_checkpoint(tmp_path):
    path = tmp_path / "sweep.jsonl"
    whole = sweep(_stop_at, -1, list(range(9)), batch=2, seed=5, workers=1)
    with pytest.raises(KeyboardInterrupt):
        sweep(_stop_at, 6, list(range(9)), batch=2, seed=5, workers=1, checkpoint=path, key="q")
    assert len(path.read_text().splitlines()) == 1 + 3
    with path.open("a") as file:
        file.write('[3, {"array": "<f8", "sha')  # a crash in mid-line
    seen = []
    after = sweep(
        _stop_at, -1, list(range(9)), batch=2, seed=5, workers=1, checkpoint=path, key="q", progress=seen.append
    )
    assert [r.tobytes() for r in after] == [r.tobytes() for r in whole]
    assert [(p.done, p.total) for p in seen] == [(4, 5), (5, 5)]
    again = sweep(_stop_at, 0, list(range(9)), batch=2, seed=5, workers=1, checkpoint=path, key="q")
    assert [r.tobytes() for r in again] == [r.tobytes() for r in whole]


@pytest.mark.parametrize("line", ["null", "[1]", '["x", 1]', '[1, {"data": 1}]', '[1, {"map": 5}]', "[null, 2]", "{}"])
def test_a_damaged_line_of_a_checkpoint_is_done_again(tmp_path, line):
    path = tmp_path / "sweep.jsonl"
    whole = sweep(_stop_at, -1, list(range(4)), batch=2, seed=5, workers=1, checkpoint=path)
    lines = path.read_text().split("\n")
    path.write_text("\n".join([lines[0], lines[1], line, ""]))
    after = sweep(_stop_at, -1, list(range(4)), batch=2, seed=5, workers=1, checkpoint=path)
    assert [r.tobytes() for r in after] == [r.tobytes() for r in whole]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key": "other"}, "another sweep: the fabric, the measure"),
        ({"seed": 6}, "seed is 5"),
        ({"batch": 3}, "batch is 2"),
    ],
)
def test_the_checkpoint_of_another_sweep_is_refused_and_left_alone(tmp_path, change, words):
    path = tmp_path / "sweep.jsonl"
    asked = {"batch": 2, "seed": 5, "workers": 1, "key": "q", "checkpoint": path}
    sweep(_stop_at, -1, [1, 2, 3], **asked)
    before = path.read_bytes()
    with pytest.raises(InputError, match=words):
        sweep(_stop_at, -1, [1, 2, 3], **{**asked, **change})
    assert path.read_bytes() == before


def test_what_is_no_checkpoint_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(InputError, match="is no checkpoint of a sweep"):
        sweep(_stop_at, -1, [1], workers=1, checkpoint=path)
    assert path.read_text() == "my notes\n"


def test_a_checkpoint_where_no_file_can_be_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "sweep.jsonl"):
        with pytest.raises(InputError, match="cannot hold a checkpoint: .*; name a file in a folder that is there"):
            sweep(_stop_at, -1, [1], workers=1, checkpoint=path)


def test_refusals():
    with pytest.raises(ParameterError, match="batch is 0"):
        sweep(_draws, 1, [1], batch=0)
    with pytest.raises(ParameterError, match="seed is -1"):
        sweep(_draws, 1, [1], seed=-1)


def test_progress_comes_from_other_threads_results_in_order():
    lock = threading.Lock()
    seen = []

    def note(progress):
        with lock:
            seen.append(progress.done)

    with ThreadPoolExecutor(2) as pool:
        results = sweep(_draws, 1, list(range(10)), executor=pool, progress=note)
    assert seen == list(range(1, 11))
    assert [r["sum"] for r in results] == list(range(10))
    assert np.isfinite(results[0]["draws"]).all()
