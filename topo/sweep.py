"""Many evaluations of one thing: over any executor, with seeds, progress and a checkpoint to resume from."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topo.errors import InputError, ParameterError
from topo.progress import counted, steps

__all__ = ["Progress", "Task", "sweep"]

Task = Callable[[Any, Sequence[Any], np.random.Generator], Any]
"""What a batch runs: (what all batches share, the batch's items, its random generator) -> JSON values and arrays."""

_MOST_RESTARTS = 3
_VERSION = 1
_shared: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is: batches done of all, seconds spent, and seconds left by the rate so far."""

    done: int
    total: int
    spent_s: float
    left_s: float


def sweep(
    task: Task,
    shared: Any,
    items: Sequence[Any],
    *,
    batch: int = 1,
    seed: int = 0,
    executor: Executor | None = None,
    workers: int | None = None,
    checkpoint: str | Path | None = None,
    key: str = "",
    progress: Callable[[Progress], None] | None = None,
) -> list[Any]:
    """Run ``task(shared, some items, generator)`` over all items and return the results in batch order.

    Items are cut into batches of ``batch`` whatever runs them, and batch i draws from child i of ``seed``: the
    answer is the same to the last bit on 1 worker or 100. ``executor`` is any ``concurrent.futures.Executor`` (a
    Dask cluster's is ``client.get_executor()``); without one a pool of ``workers`` processes runs (all cores; 1
    runs in this process). Batches of a worker that died are done again. ``task`` is a module's function; what it
    returns is made of numbers, text, lists, mappings and arrays. With ``checkpoint``, finished batches are
    appended to that file and a later call with the same ``key``, seed, batch and number of items goes on from
    there; ``key`` names the question (the digest of a fabric, say).

    >>> def squares(shared, items, generator):
    ...     return [shared * i * i for i in items]
    >>> sweep(squares, 10, [1, 2, 3], batch=2, workers=1)
    [[10, 40], [90]]

    :raises ParameterError: a batch below 1, a seed below 0.
    :raises InputError: the checkpoint is of another question, or is no checkpoint.
    """
    if batch < 1:
        raise ParameterError(f"batch is {batch}; it must be at least 1")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ParameterError(f"seed is {seed!r}; it must be a whole number of at least 0")
    batches = [items[i : i + batch] for i in range(0, len(items), batch)]
    store = _Store.open(checkpoint, {"key": key, "seed": int(seed), "batch": batch, "items": len(items)})
    results = dict(store.found)
    todo = [i for i in range(len(batches)) if i not in results]
    if not todo:
        return [results[i] for i in range(len(batches))]
    blob = pickle.dumps(shared, protocol=pickle.HIGHEST_PROTOCOL) if _elsewhere(executor, workers, todo) else b""
    digest = hashlib.sha256(blob).hexdigest()
    began = time.monotonic()

    def finished(number: int, result: Any) -> None:
        # With a checkpoint the result goes through the file's form, so that a resumed sweep is like an undisturbed one.
        results[number] = store.add(number, result)
        if progress is not None:
            spent, done_now = time.monotonic() - began, len(results) - len(store.found)
            progress(Progress(len(results), len(batches), spent, spent / done_now * (len(batches) - len(results))))

    if blob:
        jobs = {i: (task, digest, blob, batches[i], int(seed), i) for i in todo}
        with counted(len(todo)) as count:

            def finished_elsewhere(number: int, result: Any) -> None:
                finished(number, result)
                count(len(results) - len(store.found))

            _run_elsewhere(jobs, executor, workers, finished_elsewhere)
    else:
        for i in steps(todo):
            finished(i, task(shared, batches[i], _generator(int(seed), i)))
    return [results[i] for i in range(len(batches))]


def _elsewhere(executor: Executor | None, workers: int | None, todo: list[int]) -> bool:
    return executor is not None or ((workers or os.cpu_count() or 1) > 1 and len(todo) > 1)


def _generator(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def _work(task: Task, digest: str, blob: bytes, items: Sequence[Any], seed: int, number: int) -> Any:
    """One batch in a worker, which keeps what is shared by its digest instead of unpickling it each time."""
    if digest not in _shared:
        _shared.clear()
        _shared[digest] = pickle.loads(blob)
    return task(_shared[digest], items, _generator(seed, number))


def _run_elsewhere(
    jobs: dict[int, tuple[Any, ...]],
    executor: Executor | None,
    workers: int | None,
    finished: Callable[[int, Any], None],
) -> None:
    """Submit every job, hand on results as they come, and do again what a dead worker took with it."""
    left, restarts = dict(jobs), 0
    while left:
        pool = executor or ProcessPoolExecutor(max_workers=workers)
        before = len(left)
        try:
            _drain(pool, left, finished)
        except BrokenExecutor:
            restarts = restarts + 1 if len(left) == before else 1
            if restarts > _MOST_RESTARTS or executor is not None:
                raise
        finally:
            if executor is None:
                pool.shutdown(cancel_futures=True)


def _drain(pool: Executor, left: dict[int, tuple[Any, ...]], finished: Callable[[int, Any], None]) -> None:
    running: dict[Future[Any], int] = {pool.submit(_work, *job): number for number, job in left.items()}
    try:
        while running:
            # An executor of a cluster has futures of its own kind, which concurrent.futures.wait accepts as well.
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                number = running[future]
                result = future.result()
                del running[future], left[number]
                finished(number, result)
    finally:
        for future in running:
            future.cancel()


@dataclass(frozen=True)
class _Store:
    """Finished batches in a file of JSON lines, the first of which says of what question."""

    path: Path | None
    found: dict[int, Any]

    @classmethod
    def open(cls, path: str | Path | None, header: dict[str, Any]) -> _Store:
        if path is None:
            return cls(None, {})
        path = Path(path)
        header = {"topo sweep": _VERSION, **header}
        try:
            if not path.exists():
                path.write_text(json.dumps(header) + "\n", encoding="utf-8")
                return cls(path, {})
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise InputError(
                f"cannot hold a checkpoint: {error.strerror or error}; name a file in a folder that is there",
                path=str(path),
            ) from None
        known = _parse(lines[0])
        if not isinstance(known, dict) or "topo sweep" not in known:
            raise InputError(
                "is no checkpoint of a sweep; name another file, this one is left as it is", path=str(path)
            )
        for name, value in header.items():
            if known.get(name) != value:
                differs = f"{name} is {known.get(name)!r} there and {value!r} here"
                if name == "key":
                    differs = "the fabric, the measure, what is down, or what may fail and how often differs"
                raise InputError(
                    f"is the checkpoint of another sweep: {differs}; name another file, this one is left as it is",
                    path=str(path),
                )
        found = {}
        for entry in map(_entry, lines[1:]):
            if entry is not None:
                found[entry[0]] = entry[1]
        if lines[-1]:
            # A cut line must not swallow the next entry.
            with path.open("a", encoding="utf-8") as file:
                file.write("\n")
        return cls(path, found)

    def add(self, number: int, result: Any) -> Any:
        if self.path is None:
            return result
        text = json.dumps([number, _encoded(result)])
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
        return _decoded(json.loads(text)[1])


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _entry(line: str) -> tuple[int, Any] | None:
    """Number and result of a batch; None for a line that a crash cut off, whose batch is done again."""
    try:
        number, result = json.loads(line)
        return int(number), _decoded(result)
    except (ValueError, TypeError, KeyError):
        return None


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": value.dtype.str, "shape": list(value.shape), "data": data}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {"map": [[key, _encoded(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, dict) and "map" in value:
        return {key: _decoded(item) for key, item in value["map"]}
    if isinstance(value, dict):
        array = np.frombuffer(base64.b64decode(value["data"]), dtype=np.dtype(value["array"]))
        return array.reshape(value["shape"])
    return value
