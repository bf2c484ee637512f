"""Time of one layer's kernels on one accelerator: matrix products by peak and waves, the rest by memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from topo.parts.accelerators import Accelerator
from topo.parts.models import ModelShape
from topo.training.plan import Plan

__all__ = ["Engine", "Kernels", "Product", "head_seconds", "layer_kernels", "products", "wave_share"]

_TILES = ((256, 128), (128, 256))
_HALF = 2


@dataclass(frozen=True, slots=True)
class Engine:
    """An accelerator with the share of peak its software reaches."""

    part: Accelerator
    efficiency: float

    def product_s(self, m: int, n: int, k: int, batch: int = 1, *, out_bytes: int = _HALF) -> float:
        """Time of ``batch`` products (m x k)(k x n): max(2 m n (k + fill) batch / (peak eta w), bytes / memory rate).

        w is :func:`wave_share`, fill what a tile loads before its first product; bytes are both operands in half
        precision and the result at ``out_bytes``.

        >>> from topo.parts.accelerators import accelerator
        >>> engine = Engine(accelerator("a100-80gb").with_(fill_depth=0), 0.7472)
        >>> round(1e6 * engine.product_s(2048, 4608, 12288), 1), round(1e6 * engine.product_s(2048, 12288, 1536), 1)
        (1119.2, 373.1)
        """
        moved = batch * (2.0 * m * k + 2.0 * n * k + out_bytes * m * n)
        return max(self.arithmetic_s(m, n, k + self.part.fill_depth, batch), moved / self.part.streaming_bytes_s)

    def arithmetic_s(self, m: int, n: int, k: int, batch: int = 1) -> float:
        """Time of the arithmetic alone: nothing is filled and nothing waits for memory, as inside a fused kernel."""
        w = wave_share(m, n, batch, self.part.multiprocessors)
        return 2.0 * m * n * k * batch / (self.part.peak_tflops * 1e12 * self.efficiency * w)

    def memory_s(self, size: float) -> float:
        """Time to move so many bytes of memory."""
        return size / self.part.streaming_bytes_s


@lru_cache(maxsize=65536)
def wave_share(m: int, n: int, batch: int, multiprocessors: int) -> float:
    """Share of the multiprocessors' work that is wanted: tiles fill whole waves, and edges fill whole tiles.

    The better of tiles 256 x 128 and 128 x 256: [tiles / (SMs ceil(tiles / SMs))] [m / (ceil(m / tm) tm)] [n / ...].

    >>> round(wave_share(2048, 4608, 1, 108), 4)
    0.8889
    """
    best = 0.0
    for tile_m, tile_n in _TILES:
        rows, columns = -(-m // tile_m), -(-n // tile_n)
        tiles = batch * rows * columns
        waves = math.ceil(tiles / multiprocessors)
        best = max(best, tiles / (multiprocessors * waves) * m / (rows * tile_m) * n / (columns * tile_n))
    return best


@dataclass(frozen=True, slots=True)
class Product:
    """A linear layer on one rank: tokens x inputs times inputs x outputs, ``batch`` of them; ``name`` for overlaps."""

    name: str
    tokens: int
    outputs: int
    inputs: int
    batch: int = 1


def products(model: ModelShape, plan: Plan, *, moe: bool) -> tuple[Product, ...]:
    """The matrix products of one layer's forward pass of one micro-batch on one rank."""
    t, h = plan.tensor, model.hidden
    tokens = plan.micro_batch * model.sequence // plan.context
    attention: tuple[Product, ...]
    if model.latent is None:
        kv = max(model.kv_heads // t, 1)
        wide = model.heads * model.head // t
        attention = (
            Product("qkv", tokens, wide + 2 * kv * model.head, h),
            Product("out", tokens, h, wide),
        )
    else:
        k, heads = model.latent, model.heads // t
        attention = (
            Product("down", tokens, k.query_rank + k.value_rank + k.rotary, h),
            Product("qkv", tokens, heads * (k.plain + k.rotary), k.query_rank),
            Product("kv", tokens, heads * (k.plain + k.value), k.value_rank),
            Product("out", tokens, h, heads * k.value),
        )
    if not moe or model.experts is None:
        return attention + _feed_forward(model, tokens, model.inner // t)
    x = model.experts
    arriving = round(tokens * x.per_token * plan.expert * plan.expert_skew)
    local = x.count // plan.expert
    each = max(1, arriving // x.count)
    width = max(1, x.width // t)
    routed = _feed_forward(model, each, width, batch=local)
    shared = _feed_forward(model, tokens, max(1, x.shared * x.width // t)) if x.shared else ()
    return (*attention, Product("router", tokens, x.count, h), *routed, *shared)


def _feed_forward(model: ModelShape, tokens: int, width: int, batch: int = 1) -> tuple[Product, ...]:
    first = width * (2 if model.gated else 1)
    return Product("fc1", tokens, first, model.hidden, batch), Product("fc2", tokens, model.hidden, width, batch)


@dataclass(frozen=True, slots=True)
class Kernels:
    """Seconds of one layer and micro-batch: forward, backward, what recomputation adds, and products that hide sends.

    ``input_gradient`` and ``weight_gradient`` hold (QKV, first feed-forward): the ones that overlap collectives.
    """

    linear_forward: float
    linear_input: float
    linear_weight: float
    attention_forward: float
    attention_backward: float
    attention_memory_forward: float
    attention_memory_backward: float
    memory_forward: float
    memory_backward: float
    unfused_gradients: float
    input_gradient: tuple[float, float]
    weight_gradient: tuple[float, float]

    @property
    def forward(self) -> float:
        """All of the forward pass."""
        return self.linear_forward + self.attention_forward + self.attention_memory_forward + self.memory_forward

    @property
    def backward(self) -> float:
        """All of the backward pass without recomputation."""
        return (
            self.linear_input + self.linear_weight + self.attention_backward + self.attention_memory_backward
            + self.memory_backward + self.unfused_gradients
        )  # fmt: skip

    def recomputed(self, mode: str) -> float:
        """What recomputation repeats of the forward kernels."""
        if mode == "full":
            return self.forward
        return self.attention_forward + self.attention_memory_forward if mode == "selective" else 0.0


def layer_kernels(model: ModelShape, plan: Plan, engine: Engine, *, moe: bool = False) -> Kernels:
    """Times of one layer of one micro-batch on one rank."""
    made = products(model, plan, moe=moe)
    out_bytes = 8 if plan.fused_gradients else _HALF
    inputs = {p.name: engine.product_s(p.tokens, p.inputs, p.outputs, p.batch) for p in made}
    weights = {p.name: engine.product_s(p.inputs, p.outputs, p.tokens, p.batch, out_bytes=out_bytes) for p in made}
    scores_forward, scores_backward, written_forward, written_backward = _attention(model, plan, engine)
    memory_forward, memory_backward = _passes(model, plan, moe)
    held = sum(p.outputs * p.inputs * p.batch for p in made)
    return Kernels(
        linear_forward=sum(engine.product_s(p.tokens, p.outputs, p.inputs, p.batch) for p in made),
        linear_input=sum(inputs.values()),
        linear_weight=sum(weights.values()),
        attention_forward=scores_forward,
        attention_backward=scores_backward,
        attention_memory_forward=engine.memory_s(written_forward),
        attention_memory_backward=engine.memory_s(written_backward),
        memory_forward=engine.memory_s(memory_forward),
        memory_backward=engine.memory_s(memory_backward),
        # Half-precision gradients are read, added to and written in a pass of their own.
        unfused_gradients=0.0 if plan.fused_gradients else engine.memory_s(6.0 * held),
        input_gradient=(inputs["qkv"], inputs["fc1"]),
        weight_gradient=(weights["qkv"], weights["fc1"]),
    )


def _attention(model: ModelShape, plan: Plan, engine: Engine) -> tuple[float, float, float, float]:
    """Seconds of the score products forward and backward, and bytes of the written scores."""
    b, s, local = plan.micro_batch, model.sequence, model.sequence // plan.context
    heads = max(1, model.heads // plan.tensor)
    key, value = _head_widths(model)
    if plan.flash:
        forward = engine.arithmetic_s(local, s, key, b * heads) + engine.arithmetic_s(local, value, s, b * heads)
        # The past alone is half; the backward kernel repeats the scores and makes four more products.
        return forward / 2, 2.5 * forward / 2, 0.0, 0.0
    forward = engine.product_s(local, s, key, b * heads) + engine.product_s(local, value, s, b * heads)
    scores = 2.0 * b * heads * local * s
    # Scale, mask and softmax read and write; dropout reads, writes and keeps a mask of bytes.
    return forward, 2 * forward, 4.5 * scores, 5.5 * scores


def _head_widths(model: ModelShape) -> tuple[int, int]:
    """Width of a head's keys and of its values."""
    if model.latent is None:
        return model.head, model.head
    return model.latent.plain + model.latent.rotary, model.latent.value


def _passes(model: ModelShape, plan: Plan, moe: bool) -> tuple[float, float]:
    """Bytes that kernels without arithmetic move, forward and backward, attention scores apart."""
    whole = 2.0 * plan.micro_batch * model.sequence / plan.context * model.hidden
    split = whole / plan.tensor
    norms = split if plan.sequence_parallel else whole
    h = model.hidden
    qkv = (model.heads + 2 * model.kv_heads) * model.head / h
    inner = model.inner / h
    if moe and model.experts is not None:
        x = model.experts
        inner = x.width / h * (x.per_token + x.shared)
    residual = 3.5 if model.biases else 3.0
    activation_forward, activation_backward = (3, 5) if model.gated else (2, 4)
    forward = norms * (4 + 2 * residual) + split * (2 * qkv + 2 + activation_forward * inner)
    backward = norms * (12 + 2 * residual) + split * (3 * qkv + 2 + activation_backward * inner)
    if moe and model.experts is not None:
        # Tokens are put in the order of their experts, and their results added up: each a read and a write.
        moved = split * 4 * model.experts.per_token
        forward, backward = forward + moved, backward + moved
    return forward, backward


def head_seconds(model: ModelShape, plan: Plan, engine: Engine) -> tuple[float, float]:
    """Kernel seconds of the output layer and loss of one micro-batch: forward, backward."""
    tokens = plan.micro_batch * model.sequence // plan.context
    width = -(-model.vocabulary // plan.tensor)
    product = engine.product_s(tokens, width, model.hidden)
    loss = engine.memory_s(20.0 * tokens * width)
    return product + loss, 2 * product + loss
