"""A job from a YAML file: the keys of :class:`~topo.placement.job.Job`, checked, with every error at its line."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from topo.document import Document, parse_document, read_document
from topo.errors import ParameterError
from topo.placement.job import Constraints, Job

__all__ = ["parse_job", "read_job"]

_Dimension = Literal["tensor", "context", "pipeline", "data"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Degrees(_Model):
    tensor: int = Field(1, ge=1)
    context: int = Field(1, ge=1)
    pipeline: int = Field(1, ge=1)
    data: int = Field(1, ge=1)
    expert: int = Field(1, ge=1)


class _Bytes(_Model):
    tensor: float = Field(0.0, ge=0)
    context: float = Field(0.0, ge=0)
    pipeline: float = Field(0.0, ge=0)
    data: float = Field(0.0, ge=0)
    expert: float = Field(0.0, ge=0)


class _Constraints(_Model):
    whole_hosts: bool = True
    same_rail: bool = False
    within: str | None = None
    at_most_leaves: int | None = Field(None, ge=1)
    hosts_per_leaf: int | None = Field(None, ge=1)
    exclude: list[str] = []


class JobKeys(_Model):
    """A job file: the keys its schema and its reader take."""

    name: str = "job"
    size: int | None = Field(None, ge=1)
    degrees: _Degrees | None = None
    order: list[_Dimension] = []
    bytes_per_step: _Bytes | None = None
    pattern: Literal["all-to-all", "ring", "double-tree", "none"] = "all-to-all"
    pattern_bytes: float = Field(1.0, ge=0)
    pairs: list[tuple[int, int, float]] = []
    ranks_per_host: int | None = Field(None, ge=1)
    constraints: _Constraints = Field(default_factory=lambda: _Constraints.model_validate({}))


def read_job(path: str | Path) -> Job:
    """The job described in a YAML file; see :func:`parse_job` for the keys.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "job.yaml")
    >>> _ = path.write_text("size: 16\\n")
    >>> read_job(path).size
    16
    >>> folder.cleanup()

    :raises InputError: the file cannot be read, or does not describe a job; with the line.
    """
    return _job(read_document(path))


def parse_job(text: str, path: str = "<text>") -> Job:
    """The job a YAML text describes: ``size`` and ``pattern``, or ``degrees``, ``order`` and ``bytes_per_step``.

    >>> job = parse_job("degrees: {tensor: 8, data: 16}\\norder: [tensor, data]\\nbytes_per_step: {data: 10}\\n")
    >>> job.size, job.order_text
    (128, 'ranks count tensor, then data')

    :raises InputError: an unknown key, a value of the wrong kind, degrees that do not make the size; with the line.
    """
    return _job(parse_document(text, path))


def _job(document: Document) -> Job:
    model = document.checked(JobKeys, what="a job", template="job")
    if model.size is None and model.degrees is None:
        raise document.error((), "a job needs size (its number of ranks) or degrees")
    try:
        constraints = Constraints(
            **{**model.constraints.model_dump(), "exclude": tuple(model.constraints.exclude)},
        )
        return Job(
            size=model.size or 0,
            degrees=model.degrees.model_dump() if model.degrees else {},
            order=tuple(model.order),
            bytes_per_step=model.bytes_per_step.model_dump() if model.bytes_per_step else {},
            pattern=model.pattern,
            pattern_bytes=model.pattern_bytes,
            pairs=tuple(model.pairs),
            ranks_per_host=model.ranks_per_host,
            constraints=constraints,
            name=model.name,
        )
    except ParameterError as error:
        raise document.error(_place(str(error), document), str(error)) from None


def _place(message: str, document: Document) -> tuple[str, ...]:
    """The key a refusal of the whole job is about."""
    for key in ("order", "expert", "degrees", "bytes_per_step", "pair", "size"):
        at: tuple[str, ...] = {"expert": ("degrees", "expert"), "pair": ("pairs",)}.get(key, (key,))
        if message.startswith(key) and document.at(at) is not None:
            return at
    return ()
