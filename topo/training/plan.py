"""How a job is cut up: degrees of parallelism, schedule, and what is recomputed, sharded and overlapped."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.parts.models import ModelShape

__all__ = ["DIMENSIONS", "ORDERS", "RECOMPUTE", "SHARDS", "Plan"]

DIMENSIONS = ("tensor", "context", "pipeline", "data")
"""Dimensions whose degrees multiply to the ranks; expert groups lie inside the data dimension."""

RECOMPUTE = ("none", "selective", "full")
SHARDS = ("none", "optimizer", "gradients", "weights")
ORDERS = {
    "tensor, context, pipeline, data": ("tensor", "context", "pipeline", "data"),
    "tensor, context, data, pipeline": ("tensor", "context", "data", "pipeline"),
}
"""Orders of ranks, innermost first: the first is Llama 3's, the second Megatron-LM's."""

_DEGREES = ("tensor", "pipeline", "data", "context", "expert")
_COUNTS = (*_DEGREES, "batch", "micro_batch", "chunks", "gradient_bytes", "weight_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Degrees and schedule of one training job.

    ``tensor`` x ``context`` x ``pipeline`` x ``data`` ranks; ``expert`` ranks of the data dimension share the experts
    of a layer. ``batch`` sequences a step over all ranks, ``micro_batch`` of them at a time, ``chunks`` model chunks a
    stage (1: 1F1B, more: interleaved). ``spare_layers`` are places of layers that embedding and output take in the
    first and last stage (Llama 3: 2); without them the last stage has the output besides its layers and paces the
    pipeline. ``shard`` none, optimizer (ZeRO-1), gradients (ZeRO-2), weights (ZeRO-3, FSDP). ``order`` innermost
    dimension first. ``expert_skew`` is the load of the busiest expert rank over the mean.

    ``overlap_tensor``: the backward pass hides tensor-parallel collectives behind matrix products (Megatron-LM since
    September 2021). ``overlap_data``: gradients and weights travel while the passes run. ``fused_gradients``: weight
    gradients are added up inside the matrix product. ``scatter_gather``: without sequence parallelism each tensor
    rank sends its part of a boundary. ``asynchronous_sends``: boundaries cost time in the fill only.
    ``flash``: attention is never written to memory and computes the past alone.
    """

    batch: int
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1
    expert: int = 1
    micro_batch: int = 1
    chunks: int = 1
    spare_layers: int = 0
    sequence_parallel: bool = False
    recompute: str = "none"
    shard: str = "none"
    flash: bool = False
    gradient_bytes: int = 4
    weight_bytes: int = 2
    overlap_tensor: bool = True
    overlap_data: bool = False
    overlap_expert: bool = False
    fused_gradients: bool = True
    scatter_gather: bool = True
    asynchronous_sends: bool = False
    expert_skew: float = 1.0
    bucket_mib: float = 160.0
    order: tuple[str, ...] = DIMENSIONS

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{name} is {value!r}; it must be a whole number of at least 1")
        if isinstance(self.spare_layers, bool) or not isinstance(self.spare_layers, int) or self.spare_layers < 0:
            raise ParameterError(f"spare_layers is {self.spare_layers!r}; it must be a whole number of at least 0")
        for name, known in (("recompute", RECOMPUTE), ("shard", SHARDS)):
            if getattr(self, name) not in known:
                raise ParameterError(f"{name} is {getattr(self, name)!r}; known: {', '.join(known)}")
        if sorted(self.order) != sorted(DIMENSIONS):
            raise ParameterError(f"order is {self.order!r}; it must list {', '.join(DIMENSIONS)}, innermost first")
        if not self.expert_skew >= 1 or not self.bucket_mib > 0:
            raise ParameterError(
                f"expert_skew is {self.expert_skew} and bucket_mib {self.bucket_mib}; at least 1, and above 0"
            )
        if self.data % self.expert:
            raise ParameterError(f"expert {self.expert} does not divide data {self.data}; expert groups lie in it")

    @classmethod
    def of(cls, values: dict[str, Any]) -> Plan:
        """A plan from a mapping of its fields.

        :raises ParameterError: a key that is no field, or no batch.
        """
        from topo.document import nearest

        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise ParameterError(f"{key!r} is nothing a plan has{nearest(key, known)}")
        if "batch" not in values:
            raise ParameterError("a plan needs a batch: sequences a step over all ranks")
        given = dict(values)
        if isinstance(given.get("order"), (list, str)):
            order = given["order"]
            given["order"] = tuple(part.strip() for part in (order.split(",") if isinstance(order, str) else order))
        return cls(**given)

    @property
    def ranks(self) -> int:
        """Accelerators of the job."""
        return self.tensor * self.context * self.pipeline * self.data

    @property
    def micro_batches(self) -> int:
        """Micro-batches a pipeline runs in a step."""
        return self.batch // (self.data * self.micro_batch)

    @property
    def replicas(self) -> int:
        """Ranks with the same weights, whose gradients are added up: context x data."""
        return self.context * self.data

    def group_size(self, dimension: str) -> int:
        """Ranks of a group: the degree, and all replicas for ``data``."""
        if dimension == "data":
            return self.replicas
        if dimension not in _DEGREES:
            raise ParameterError(f"{dimension!r} is no dimension; known: {', '.join(_DEGREES)}")
        return int(getattr(self, dimension))

    def groups(self, dimension: str) -> NDArray[np.int64]:
        """Ranks by group of a dimension, shape (groups, members), members in ring order.

        >>> Plan(batch=8, tensor=2, pipeline=2, data=2).groups("data").tolist()
        [[0, 4], [1, 5], [2, 6], [3, 7]]
        """
        size = self.group_size(dimension)
        # Outermost dimension first, as arrays are laid out.
        outer = list(reversed(self.order))
        shape = [getattr(self, name) for name in outer]
        rank = np.arange(self.ranks, dtype=np.int64).reshape(shape)
        moved = [name for name in outer if name in ("data", "context")] if dimension == "data" else [dimension]
        if dimension == "expert":
            moved = ["data"]
        axes = [i for i, name in enumerate(outer) if name not in moved] + [outer.index(name) for name in moved]
        return rank.transpose(axes).reshape(-1, size)

    def members_inside(self, dimension: str, domain: int) -> int:
        """Members of the first group that share a scale-up domain of so many ranks with its first.

        >>> Plan(batch=64, tensor=2, data=16).members_inside("data", 8)
        4
        """
        inside = 1
        for name in self.order:
            stride = self._stride(name)
            if name in (
                ("data", "context") if dimension == "data" else ("data" if dimension == "expert" else dimension,)
            ):
                degree = self.expert if dimension == "expert" else getattr(self, name)
                inside *= max(1, min(degree, domain // stride))
        return inside

    def _stride(self, dimension: str) -> int:
        stride = 1
        for name in self.order[: self.order.index(dimension)]:
            stride *= getattr(self, name)
        return stride

    def layers_per_chunk(self, model: ModelShape) -> int:
        """Layers, or places of them, of one chunk of one stage."""
        return (model.layers + self.spare_layers) // (self.pipeline * self.chunks)

    def with_(self, **changes: Any) -> Plan:
        """The same with some parts changed."""
        return replace(self, **changes)

    def check(self, model: ModelShape, ranks: int | None = None) -> None:
        """Refuse degrees that do not fit the model or the number of ranks, naming both numbers.

        :raises ParameterError: naming the two numbers that do not go together.
        """
        if ranks is not None and self.ranks != ranks:
            raise ParameterError(
                f"tensor {self.tensor} x context {self.context} x pipeline {self.pipeline} x data {self.data} is "
                f"{self.ranks:,} ranks, but {ranks:,} are given"
            )
        self._divides("heads", model.heads, "tensor", self.tensor)
        if self.tensor > model.kv_heads and self.tensor % model.kv_heads:
            raise ParameterError(
                f"tensor {self.tensor} neither divides nor is a multiple of {model.kv_heads} key heads"
            )
        self._divides("feed-forward width", model.inner, "tensor", self.tensor)
        stages = self.pipeline * self.chunks
        self._divides("layers and spare places", model.layers + self.spare_layers, "pipeline x chunks", stages)
        self._divides("batch", self.batch, "data x micro_batch", self.data * self.micro_batch)
        if self.chunks > 1:
            if self.pipeline == 1:
                raise ParameterError(f"chunks is {self.chunks} with pipeline 1; interleaving needs several stages")
            self._divides("micro-batches", self.micro_batches, "pipeline (interleaved)", self.pipeline)
        # Causal attention is balanced by giving each context rank an early and a late piece.
        self._divides("sequence", model.sequence, "2 x context" if self.context > 1 else "context", self._pieces)
        if self.sequence_parallel:
            self._divides("sequence of a context rank", model.sequence // self.context, "tensor", self.tensor)
        if self.expert > 1:
            if model.experts is None:
                raise ParameterError(f"expert is {self.expert}, but {model.name} has no experts")
            self._divides("experts", model.experts.count, "expert", self.expert)

    @property
    def _pieces(self) -> int:
        return 2 * self.context if self.context > 1 else 1

    @staticmethod
    def _divides(what: str, whole: int, by: str, part: int) -> None:
        if whole % part:
            below = whole // part * part
            near = f"{below} or {below + part}" if below else str(part)
            raise ParameterError(f"{what} {whole:,} is no multiple of {by} {part:,}; near: {near}")
