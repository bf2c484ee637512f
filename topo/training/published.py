"""Measured training steps that were published: what this model of a step is judged by."""

from __future__ import annotations

from topo.parts.models import model_shape
from topo.training.calibrate import Measured
from topo.training.plan import ORDERS, Plan
from topo.training.rates import Interconnect

__all__ = ["llama_3", "megascale", "megatron_2021", "megatron_2022", "megatron_on_megascale"]

_MEGATRON = ORDERS["tensor, context, data, pipeline"]
_SELENE = Interconnect(nic_gbyte_s=25 * 4096 / (4096 + 26))
_ROCE_200G = Interconnect(nic_gbyte_s=25 * 4096 / (4096 + 82))
_ROCE_400G = Interconnect(nic_gbyte_s=50 * 4096 / (4096 + 82))


def megatron_2022() -> tuple[Measured, ...]:
    """Eight iteration times of arXiv 2205.05198, table 5: four models, full and selective recomputation.

    No data parallelism anywhere: these test compute and schedule, not the scale-out fabric.
    """
    rows = (
        ("gpt-22b", 1, 1, 4, 4, 1.42, 1.10),
        ("gpt-175b", 8, 3, 64, 1, 18.13, 13.75),
        ("gpt-530b", 35, 3, 280, 1, 49.05, 37.83),
        ("gpt-1t", 64, 1, 512, 1, 94.42, 71.49),
    )
    points = []
    for model, p, v, batch, b, full, selective in rows:
        plan = Plan(batch=batch, micro_batch=b, tensor=8, pipeline=p, chunks=v, order=_MEGATRON)
        for mode, time, changes in (
            ("full", full, {"recompute": "full"}),
            ("selective", selective, {"recompute": "selective", "sequence_parallel": True}),
        ):
            points.append(
                Measured(
                    f"{model}, {mode}", model, plan.with_(**changes), time, "a100-80gb", _SELENE, model,
                    "arXiv 2205.05198, table 5",
                )
            )  # fmt: skip
    return tuple(points)


def megatron_2021() -> tuple[Measured, ...]:
    """The ten rows of SC'21 table 1; times follow from printed TFLOP/s by equation 3.

    Code of 2021: no overlap in the backward pass, half-precision gradients added up in a pass of their own and reduced
    after the passes. Micro-batches and chunks are those of the repository's script for the table.
    """
    rows = (
        ("gpt-1.7b", 1, 1, 32, 512, 16, 1, 3.528), ("gpt-3.6b", 2, 1, 64, 512, 16, 1, 3.697),
        ("gpt-7.5b", 4, 1, 128, 512, 16, 1, 3.696), ("gpt-18b", 8, 1, 256, 1024, 8, 1, 9.399),
        ("gpt-39b", 8, 2, 512, 1536, 4, 1, 14.453), ("gpt-76b", 8, 4, 1024, 1792, 2, 3, 16.058),
        ("gpt-146b", 8, 8, 1536, 2304, 2, 2, 24.817), ("gpt-310b", 8, 16, 1920, 2160, 1, 2, 37.614),
        ("gpt-530b", 8, 35, 2520, 2520, 1, 3, 54.085), ("gpt-1t", 8, 64, 3072, 3072, 1, 1, 102.630),
    )  # fmt: skip
    return tuple(
        Measured(
            model,
            model,
            Plan(
                batch=batch, micro_batch=b, tensor=t, pipeline=p, data=ranks // (t * p), chunks=v, recompute="full",
                overlap_tensor=False, fused_gradients=False, gradient_bytes=2, order=_MEGATRON,
            ),
            time,
            "a100-80gb",
            _SELENE,
            model,
            "arXiv 2104.04473, table 1",
        )
        for model, t, p, ranks, batch, b, v, time in rows
    )  # fmt: skip


def megatron_on_megascale() -> tuple[Measured, ...]:
    """The Megatron-LM column of MegaScale's table 2: A100 over RoCE, another company; recomputation is assumed.

    The network's share is largest here, so this column is the best public test of the network terms.
    """
    plan = Plan(
        batch=768, tensor=8, pipeline=8, chunks=6, recompute="selective", sequence_parallel=True, order=_MEGATRON
    )
    rows = (
        (256, 768, 40.0), (512, 768, 21.2), (768, 768, 15.2), (1024, 768, 11.9),
        (3072, 6144, 29.02), (6144, 6144, 14.78), (8192, 6144, 12.24), (12288, 6144, 8.57),
    )  # fmt: skip
    return tuple(
        Measured(
            f"{ranks:,}", "megascale-175b", plan.with_(data=ranks // 64, batch=batch), time, "a100-80gb", _ROCE_200G,
            source="arXiv 2402.15627, table 2, Megatron-LM (transcription)",
        )
        for ranks, batch, time in rows
    )  # fmt: skip


def megascale() -> tuple[Measured, ...]:
    """MegaScale's own column from 3,072 accelerators up; overlap of all but the first and last chunk is assumed."""
    plan = Plan(
        batch=6144, tensor=8, pipeline=8, chunks=6, recompute="selective", sequence_parallel=True, order=_MEGATRON,
        overlap_data=True, gradient_bytes=2, shard="optimizer", asynchronous_sends=True,
    )  # fmt: skip
    return tuple(
        Measured(
            f"{ranks:,}", "megascale-175b", plan.with_(data=ranks // 64), time, "a100-80gb", _ROCE_200G,
            source="arXiv 2402.15627, table 2 (transcription)",
        )
        for ranks, time in ((3072, 23.66), (6144, 12.21), (8192, 9.56), (12288, 6.34))
    )  # fmt: skip


def llama_3() -> tuple[tuple[Measured, float], ...]:
    """Rows of Llama 3's table 4 with their printed TFLOP/s an accelerator, rounded to 10; seconds are not printed.

    Chunks follow from one layer a chunk, embedding and output taking a place each.
    """
    plan = Plan(
        batch=2048, tensor=8, pipeline=16, chunks=8, spare_layers=2, sequence_parallel=True, flash=True,
        shard="gradients", overlap_data=True, asynchronous_sends=True,
    )  # fmt: skip
    short = model_shape("llama-3-405b")
    rows = (
        ("8,192", short, plan.with_(data=64), 430.0),
        ("16,384", short, plan.with_(data=128), 400.0),
        ("16,384, sequence 131,072", short.with_(sequence=131072), plan.with_(data=8, context=16, batch=128), 380.0),
    )
    return tuple(
        (Measured(label, model, chosen, float("nan"), "h100-sxm", _ROCE_400G, source="arXiv 2407.21783, table 4"), rate)
        for label, model, chosen, rate in rows
    )
