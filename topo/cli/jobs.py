"""Job files: a model, how it is cut up, and what runs it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pydantic import BaseModel, ConfigDict

from topo.document import kind_of_value, read_document
from topo.errors import ParameterError
from topo.parts.accelerators import accelerator, calibration
from topo.parts.models import ModelShape, model_shape
from topo.training.losses import Checkpoints, Straggler
from topo.training.plan import Plan

__all__ = ["JobFile", "TrainingJob", "read_training_job"]

_KINDS = {field.name: str(field.type) for field in fields(Plan)}


class JobFile(BaseModel):
    """Keys of a job file; ``plan`` has the fields of :class:`~topo.training.plan.Plan`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str | ModelShape
    plan: dict[str, Any]
    accelerator: str = "h100-sxm"
    efficiency: float | str | None = None
    straggler: Straggler | None = None
    checkpoints: Checkpoints | None = None


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """A job as :func:`~topo.training.step.training_step` takes it."""

    model: ModelShape
    plan: Plan
    given: dict[str, Any]


def read_training_job(path: str) -> TrainingJob:
    """The job in a YAML file.

    :raises InputError: the file cannot be read, or a key, a name or a number in it does not fit; with the line.
    """
    document = read_document(path)
    job = document.checked(JobFile, what="a training job", template="training-job")
    place: tuple[str, ...] = ("model",)
    try:
        shape = model_shape(job.model) if isinstance(job.model, str) else job.model
        place = ("accelerator",)
        part = accelerator(job.accelerator)
        place = ("efficiency",)
        if isinstance(job.efficiency, str):
            calibration(job.efficiency)
        for key, value in job.plan.items():
            place = ("plan", key)
            _check_kind(key, value)
        place = ("plan",)
        plan = Plan.of(job.plan)
        plan.check(shape)
    except ParameterError as error:
        raise document.error(place, str(error)) from None
    given = {"part": part, "efficiency": job.efficiency, "straggler": job.straggler, "checkpoints": job.checkpoints}
    return TrainingJob(shape, plan, given)


def _check_kind(key: str, value: Any) -> None:
    """A plan checks its counts itself; that switches are true or false and shares are numbers is checked here."""
    wanted = _KINDS.get(key)
    if wanted == "bool" and not isinstance(value, bool):
        raise ParameterError(f"{kind_of_value(value)} is not true or false")
    if wanted == "float" and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise ParameterError(f"{kind_of_value(value)} is not a number")
    if key == "order" and not isinstance(value, (str, list)):
        raise ParameterError(f"{kind_of_value(value)} is not a list of dimensions")
