"""Accelerators as a training step sees them: peak, memory, scale-up rate; and calibrations of what software reaches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from topo.document import nearest
from topo.errors import ParameterError
from topo.parts.named import named

__all__ = ["ACCELERATORS", "CALIBRATIONS", "Accelerator", "Calibration", "accelerator", "calibration"]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator: dense bf16 peak, memory, and the rate its scale-up ports give to collectives.

    ``memory_share`` of the memory's rate is what streaming kernels reach (a judgement: 0.75 to 0.95 moves the mean
    error of the published points by a percent and a half). ``multiprocessors`` round a matrix up to whole waves of
    tiles; ``fill_depth`` is how much of the inner dimension a tile's pipeline of loads holds before the first product
    (stages x depth of a stage, as kernels' names in profiles tell: 256x128 stages_64x3 on the A100, 128x256x64 stage4
    on the H100). ``ring_base_us`` and ``ring_hop_us`` are the latency of a ring over scale-up links,
    ``send_us`` that of one message over the network, as NCCL's model has them.
    """

    name: str
    title: str
    peak_tflops: float
    memory_gib: float
    memory_gbyte_s: float
    multiprocessors: int
    scale_up_gbyte_s: float
    source: str
    memory_share: float = 0.85
    fill_depth: int = 256
    ring_base_us: float = 8.4
    ring_hop_us: float = 3.4
    send_us: float = 22.4

    def with_(self, **changes: object) -> Accelerator:
        """The same with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def streaming_bytes_s(self) -> float:
        """Bytes a second that kernels without arithmetic move."""
        return self.memory_gbyte_s * 1e9 * self.memory_share


_NCCL = "scale-up: links x rate a link of NCCL 2.30.7's tuning model"

ACCELERATORS: tuple[Accelerator, ...] = (
    Accelerator(
        "a100-80gb", "NVIDIA A100 SXM 80 GB", 312, 80, 2039, 108, 12 * 20.0, f"NVIDIA A100 data sheet; {_NCCL} (SM80)",
        fill_depth=192,
    ),
    Accelerator(
        "h100-sxm", "NVIDIA H100 SXM 80 GB", 989, 79.6, 3350, 132, 18 * 20.6, f"NVIDIA H100 data sheet; {_NCCL} (SM90)"
    ),
    Accelerator(
        "h800-sxm", "NVIDIA H800 SXM 80 GB", 989, 79.6, 3350, 132, 8 * 20.6,
        f"H100 with 8 of 18 NVLinks (400 GB/s both ways, from memory); {_NCCL} (SM90)",
    ),
    Accelerator(
        "h200-sxm", "NVIDIA H200 SXM 141 GB", 989, 131, 4800, 132, 18 * 20.6,
        f"NVIDIA H200 data sheet (141 GB = 131 GiB, from memory); {_NCCL} (SM90)",
    ),
    Accelerator(
        "b200-sxm", "NVIDIA B200 SXM 180 GB", 2250, 167, 8000, 148, 18 * 40.1,
        f"NVIDIA HGX B200 data sheet (180 GB = 167 GiB, from memory); {_NCCL} (SM100)",
    ),
)  # fmt: skip
"""Every accelerator that may be named."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The one fitted parameter: the share of peak that a large matrix product reaches before whole waves.

    It belongs to an accelerator and a version of software together, never to one of them.
    """

    name: str
    accelerator: str
    software: str
    efficiency: float
    fitted_on: str
    source: str


CALIBRATIONS: tuple[Calibration, ...] = (
    Calibration(
        "a100-megatron", "a100-80gb", "Megatron-LM of 2022", 0.7888,
        "the eight iteration times of Korthikanti et al., table 5, by least squares of relative errors",
        "arXiv 2205.05198; single-layer times of its table 4 alone and the rows of SC'21 give it within 4 %",
    ),
    Calibration(
        "h100-llama-3", "h100-sxm", "Meta's training code of 2024", 0.5596,
        "the 8,192-accelerator row of Llama 3, table 4, attention counted for the past alone",
        "arXiv 2407.21783; the A100's value would promise a third more here",
    ),
)  # fmt: skip
"""Every calibration that may be named, with the data behind it."""


def accelerator(name: str) -> Accelerator:
    """The accelerator of that name.

    >>> accelerator("h100-sxm").peak_tflops
    989

    :raises ParameterError: no such accelerator; the nearest names are told.
    """
    return named(ACCELERATORS, name, f"{name!r} is not a known accelerator")


def calibration(name: str) -> Calibration:
    """The calibration of that name, or the first one of an accelerator of that name.

    >>> calibration("a100-80gb").name
    'a100-megatron'

    :raises ParameterError: no such calibration; the nearest names are told.
    """
    for found in CALIBRATIONS:
        if name in (found.name, found.accelerator):
            return found
    known = [found.name for found in CALIBRATIONS]
    raise ParameterError(f"{name!r} is not a known calibration{nearest(name, known)}; give an efficiency instead")
