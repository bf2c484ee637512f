"""Arithmetic of a training step: what the model needs, and what the hardware does with recomputation."""

from __future__ import annotations

from topo.errors import ParameterError
from topo.parts.models import ModelShape

__all__ = ["COUNTS", "hardware_flops", "model_flops"]

COUNTS = ("full", "causal", "6nd")


def model_flops(model: ModelShape, batch: int, *, count: str = "full") -> float:
    """Floating-point operations of forward and backward of ``batch`` sequences, recomputation left out.

    For a GPT of hidden h, l layers, V words, sequence s: 72 B s l h^2 (1 + s/(6 h) + V/(12 l h)). In general 6 a
    token for every weight of a matrix it meets, plus attention 12 l s a (d_k + d_v)/2; ``count`` "causal" halves the
    attention, "6nd" is 6 times active parameters times tokens. Source: arXiv 2104.04473, appendix.

    >>> from topo.parts.models import model_shape
    >>> m = model_shape("gpt-175b")
    >>> round(model_flops(m, 64) / 13.75 / (64 * 312e12), 3)   # MFU at the published time
    0.514

    :raises ParameterError: an unknown count.
    """
    if count not in COUNTS:
        raise ParameterError(f"unknown count {count!r} of operations; known: {', '.join(COUNTS)}")
    tokens = float(batch) * model.sequence
    if count == "6nd":
        return 6.0 * tokens * model.active_parameters
    attention = attention_flops(model, batch) * (0.5 if count == "causal" else 1.0)
    return 6.0 * tokens * _weights(model) + attention


def hardware_flops(model: ModelShape, batch: int, *, recompute: str = "none", count: str = "full") -> float:
    """The same with what is recomputed: ``full`` repeats the layers' forward, ``selective`` the attention scores.

    Counted as published: full is 96 B s l h^2 (1 + s/(6 h) + V/(16 l h)) (SC'21, equation 3), selective
    72 B s l h^2 (1 + s/(3 h) + V/(12 l h)) (arXiv 2205.05198, appendix). The latter adds the scores of forward and
    backward, three times what a kernel repeats; the difference is at most 1 % of HFU for long hidden sizes.

    >>> from topo.parts.models import model_shape
    >>> m = model_shape("gpt-1t")
    >>> round(hardware_flops(m, 512, recompute="selective") / 71.49 / (512 * 312e12), 3)
    0.57
    """
    wanted = model_flops(model, batch, count=count)
    attention = attention_flops(model, batch) * (0.5 if count == "causal" else 1.0)
    if recompute == "selective":
        return wanted + attention
    if recompute == "full":
        tokens = float(batch) * model.sequence
        in_layers = 6.0 * tokens * (_weights(model) - model.vocabulary * model.hidden) + attention
        return wanted + in_layers / 3
    return wanted


def attention_flops(model: ModelShape, batch: int) -> float:
    """Scores and their product with the values, forward and backward, every pair of positions counted."""
    if model.latent is None:
        key, value = model.head, model.head
    else:
        key, value = model.latent.plain + model.latent.rotary, model.latent.value
    return 6.0 * batch * model.layers * model.sequence**2 * model.heads * (key + value)


def _weights(model: ModelShape) -> float:
    """Matrix weights a token meets, the output layer counted, the embedding not."""
    total = model.layers * model.attention_parameters + (model.layers - model.moe_layers) * model.dense_parameters
    total += model.vocabulary * model.hidden
    if model.experts is not None:
        x = model.experts
        total += model.moe_layers * ((x.per_token + x.shared) * model.expert_parameters + x.count * model.hidden)
    return float(total)
