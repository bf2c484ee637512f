"""Shapes of published language models, dense and mixture of experts, with what they hold in parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

from topo.errors import ParameterError
from topo.parts.named import named

__all__ = ["MODELS", "Experts", "Latent", "ModelShape", "model_shape"]


@dataclass(frozen=True, slots=True)
class Experts:
    """Feed-forward layers of a mixture of experts: ``per_token`` of ``count`` for each token, ``shared`` for all.

    ``width`` is the inner width of one expert; the first ``dense_layers`` layers have no experts.
    """

    count: int
    per_token: int
    width: int
    shared: int = 0
    dense_layers: int = 0


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: queries and keys with values go through narrow ranks; heads have three widths."""

    query_rank: int
    value_rank: int
    plain: int
    rotary: int
    value: int


@dataclass(frozen=True, slots=True)
class ModelShape:
    """One transformer: what a training step multiplies, keeps and sends.

    ``feed_forward`` is the inner width (4 h where left at 0), ``gated`` has three matrices there instead of two,
    ``key_heads`` fewer than ``heads`` is grouped-query attention, ``positions`` are learned ones. ``causal`` says
    whether attention is computed for the past only, as flash kernels do.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    key_heads: int = 0
    head_width: int = 0
    feed_forward: int = 0
    gated: bool = False
    biases: bool = False
    tied: bool = False
    positions: int = 0
    experts: Experts | None = None
    latent: Latent | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for field in ("layers", "hidden", "heads", "vocabulary", "sequence"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"model {self.name!r}: {field} is {value!r}; it must be a whole number above 0")
        if not self.head_width and self.hidden % self.heads:
            raise ParameterError(
                f"model {self.name!r}: hidden {self.hidden} is no multiple of heads {self.heads}; give head_width"
            )
        if self.heads % self.kv_heads:
            raise ParameterError(
                f"model {self.name!r}: {self.heads} heads do not share {self.kv_heads} key heads evenly"
            )
        if self.experts is not None and not 1 <= self.experts.per_token <= self.experts.count:
            raise ParameterError(
                f"model {self.name!r}: {self.experts.per_token} experts a token of {self.experts.count} experts"
            )

    @property
    def kv_heads(self) -> int:
        """Heads that keys and values have."""
        return self.key_heads or self.heads

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.head_width or self.hidden // self.heads

    @property
    def inner(self) -> int:
        """Inner width of a dense feed-forward layer."""
        return self.feed_forward or 4 * self.hidden

    @property
    def kv_width(self) -> int:
        """Elements of keys (as many of values) a token and layer: what context parallelism sends."""
        if self.latent is not None:
            return self.heads * (self.latent.plain + self.latent.rotary)
        return self.kv_heads * self.head

    @property
    def moe_layers(self) -> int:
        """Layers with experts."""
        return 0 if self.experts is None else self.layers - self.experts.dense_layers

    @property
    def attention_parameters(self) -> int:
        """Matrices of one layer's attention."""
        if self.latent is None:
            return self.hidden * self.head * (2 * self.heads + 2 * self.kv_heads)
        k = self.latent
        down = self.hidden * (k.query_rank + k.value_rank + k.rotary)
        up = k.query_rank * self.heads * (k.plain + k.rotary) + k.value_rank * self.heads * (k.plain + k.value)
        return down + up + self.heads * k.value * self.hidden

    @property
    def expert_parameters(self) -> int:
        """Matrices of one expert."""
        return 0 if self.experts is None else self._matrices * self.hidden * self.experts.width

    @property
    def dense_parameters(self) -> int:
        """Matrices of one dense feed-forward layer."""
        return self._matrices * self.hidden * self.inner

    @property
    def embedding_parameters(self) -> int:
        """Embedding, learned positions, and the output layer where it is not the embedding."""
        return (self.vocabulary * (1 if self.tied else 2) + self.positions) * self.hidden

    @property
    def parameters(self) -> int:
        """All parameters; for h, l, V, s of a GPT: 12 l h^2 (1 + 13/(12 h)) + (V + s) h."""
        return self._total(every_expert=True)

    @property
    def active_parameters(self) -> int:
        """Those that one token meets."""
        return self._total(every_expert=False)

    def with_(self, **changes: object) -> ModelShape:
        """The same with some parts changed.

        >>> model_shape("llama-3-405b").with_(sequence=131072).sequence
        131072
        """
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    def _total(self, *, every_expert: bool) -> int:
        # Two norms a layer; with biases each norm and each matrix has one: 13 h together in a GPT layer.
        small = 13 * self.hidden if self.biases else 2 * self.hidden
        total = self.layers * (self.attention_parameters + small) + self.embedding_parameters
        total += (self.layers - self.moe_layers) * self.dense_parameters
        if self.experts is not None:
            met = (self.experts.count if every_expert else self.experts.per_token) + self.experts.shared
            total += self.moe_layers * (met * self.expert_parameters + self.experts.count * self.hidden)
        return total


def _gpt(name: str, layers: int, hidden: int, heads: int, source: str, vocabulary: int = 51200) -> ModelShape:
    return ModelShape(
        name, layers, hidden, heads, vocabulary, 2048, biases=True, tied=True, positions=2048, source=source
    )


_SC21 = "Narayanan et al., SC'21, arXiv 2104.04473, table 1"
_SELENE = "Korthikanti et al., arXiv 2205.05198, table 3"

MODELS: tuple[ModelShape, ...] = (
    _gpt("gpt-1.7b", 24, 2304, 24, _SC21),
    _gpt("gpt-3.6b", 30, 3072, 32, _SC21),
    _gpt("gpt-7.5b", 36, 4096, 32, _SC21),
    _gpt("gpt-18b", 40, 6144, 48, _SC21),
    _gpt("gpt-22b", 48, 6144, 64, _SELENE),
    _gpt("gpt-39b", 48, 8192, 64, _SC21),
    _gpt("gpt-76b", 60, 10240, 80, _SC21),
    _gpt("gpt-146b", 80, 12288, 96, _SC21),
    _gpt("gpt-175b", 96, 12288, 96, _SELENE),
    _gpt("gpt-310b", 96, 16384, 128, _SC21),
    _gpt("gpt-530b", 105, 20480, 128, _SC21),
    _gpt("gpt-1t", 128, 25600, 160, _SC21),
    _gpt(
        "megascale-175b", 96, 12288, 128, "Jiang et al., NSDI 2024, arXiv 2402.15627, table 1 (transcription)", 64000
    ),
    ModelShape(
        "llama-3-8b", 32, 4096, 32, 128256, 8192, key_heads=8, feed_forward=14336, gated=True,
        source="Llama 3, arXiv 2407.21783, table 3",
    ),
    ModelShape(
        "llama-3-70b", 80, 8192, 64, 128256, 8192, key_heads=8, feed_forward=28672, gated=True,
        source="Llama 3, arXiv 2407.21783, table 3",
    ),
    ModelShape(
        "llama-3-405b", 126, 16384, 128, 128256, 8192, key_heads=8, feed_forward=53248, gated=True,
        source="Llama 3, arXiv 2407.21783, table 3",
    ),
    ModelShape(
        "mixtral-8x7b", 32, 4096, 32, 32000, 8192, key_heads=8, feed_forward=14336, gated=True,
        experts=Experts(8, 2, 14336), source="Mixtral of Experts, arXiv 2401.04088, table 1 (from memory)",
    ),
    ModelShape(
        "deepseek-v3", 61, 7168, 128, 129280, 4096, head_width=128, feed_forward=18432, gated=True,
        experts=Experts(256, 8, 2048, shared=1, dense_layers=3), latent=Latent(1536, 512, 128, 64, 128),
        source="DeepSeek-V3, arXiv 2412.19437, section 4.2 (from memory)",
    ),
    ModelShape(
        "qwen3-235b-a22b", 94, 4096, 64, 151936, 4096, key_heads=4, head_width=128, feed_forward=12288, gated=True,
        experts=Experts(128, 8, 1536), source="Qwen3, arXiv 2505.09388, table 2, and its configuration (from memory)",
    ),
)  # fmt: skip
"""Every model that may be named, with where its shape is published."""


def model_shape(name: str) -> ModelShape:
    """The model of that name.

    >>> round(model_shape("gpt-1t").parameters / 1e9, 2), round(model_shape("deepseek-v3").parameters / 1e9)
    (1008.04, 671)

    :raises ParameterError: no such model; the nearest names are told.
    """
    return named(MODELS, name, f"{name!r} is not a known model")
