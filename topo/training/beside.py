"""A run of nccl-tests beside what the model says of every size, and the effect that explains the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from topo.analysis.collectives.carried import Wire
from topo.analysis.collectives.flows import Ranks
from topo.analysis.collectives.on_fabric import collective_time
from topo.errors import ParameterError
from topo.fabric import Fabric, State, expect_fabric
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.training.measured import Against, Measurement, NcclTests, compare_measured
from topo.training.waterfall import goodput

__all__ = ["BesideSize", "MeasuredBeside", "measured_beside"]


@dataclass(frozen=True, slots=True)
class BesideSize:
    """One size of the run: times in us and busbw in GB/s, out of place, and measured over predicted time."""

    bytes: int
    measured_us: float
    predicted_us: float
    measured_busbw_gbyte_s: float
    predicted_busbw_gbyte_s: float
    time_ratio: float


@dataclass(frozen=True)
class MeasuredBeside(Result):
    """Measured beside predicted, size by size, and what of the waterfall the largest size shows."""

    fabric: str
    collective: str
    algorithm: str
    ranks: int
    sizes: tuple[BesideSize, ...]
    against: Against
    notes: tuple[str, ...]
    standing: Standing

    title: ClassVar[str] = "Measured beside predicted"

    def rows(self) -> list[Row]:
        """A line a size, then rates of the largest against the levels of the waterfall."""
        rows = [Row("collective", f"{self.collective}, {self.algorithm}, {self.ranks} ranks on {self.fabric}")]
        rows += [
            Row(
                f"{one.bytes:,} bytes",
                f"measured {one.measured_us:,.1f} us, predicted {one.predicted_us:,.1f} us, x {one.time_ratio:.2f}",
            )
            for one in self.sizes
        ]
        return rows + self.against.rows() + [Row("note", note) for note in self.notes]


def measured_beside(
    fabric: Fabric,
    placement: ArrayLike | None,
    tests: NcclTests,
    collective: str | None = None,
    *,
    algorithm: str | None = None,
    alpha_us: float = 5.0,
    inner_alpha_us: float = 1.0,
    routing: Routing | str = "ecmp",
    wire: Wire | None = None,
    state: State | None = None,
    queue_pairs: int = 1,
    samples: int | None = None,
    seed: int = 0,
) -> MeasuredBeside:
    """Every size of an nccl-tests run beside :func:`~topo.analysis.collectives.on_fabric.collective_time` of it.

    Times are those of the out-of-place columns. The largest size is laid on the waterfall of the same collective and
    conditions (:func:`~topo.training.measured.compare_measured`): its last level, or the effect that showed in part.
    ``collective`` is asked for where the output does not name it; rates are payload, headers of ``wire`` left out.

    >>> import topo
    >>> from topo.training.measured import read_nccl_tests
    >>> f = topo.leaf_spine(leaves=2, spines=8, hosts_per_leaf=4)
    >>> run = read_nccl_tests(["# Collective test starting: all_reduce_perf",
    ...     "1073741824 268435456 float sum -1 44000 24.4 42.7 0 44000 24.4 42.7 0"])
    >>> answer = measured_beside(f, None, run)
    >>> round(answer.sizes[0].time_ratio, 2), answer.against.explained_by
    (1.15, '49.8 Gb/s below the prediction: something that is not in the model')

    :raises ParameterError: a run of another collective or another number of ranks (both are told), no size above 0.
    """
    expect_fabric(fabric)
    name = _agreed(tests.collective, collective)
    ranks = Ranks.of(fabric, placement)
    if tests.ranks and tests.ranks != ranks.size * len(ranks.rows):
        raise ParameterError(f"the run has {tests.ranks} ranks, but {ranks.rows.size} are placed on {fabric.name!r}")
    lines = [m for m in tests.measurements if not m.in_place and m.bytes > 0 and m.time_us > 0]
    if not lines:
        raise ParameterError("the run has no size above 0 bytes that took time")
    given = {
        "algorithm": algorithm, "alpha_us": alpha_us, "inner_alpha_us": inner_alpha_us, "routing": routing,
        "wire": wire or Wire(), "queue_pairs": queue_pairs, "samples": samples, "seed": seed,
    }  # fmt: skip
    known: dict[int, tuple[float, float, str]] = {}
    for one in lines:
        if one.bytes not in known:
            found = collective_time(fabric, placement, name, bytes=one.bytes, state=state, **given)  # type: ignore[arg-type]
            known[one.bytes] = (found.time_s, found.busbw_gbyte_s, found.algorithm)
    largest = max(line.bytes for line in lines)
    waterfall = goodput(fabric, placement, name, bytes=largest, failed=state, **given)  # type: ignore[arg-type]
    return MeasuredBeside(
        fabric=fabric.name,
        collective=name,
        algorithm=known[largest][2],
        ranks=ranks.size,
        sizes=tuple(_beside(line, *known[line.bytes][:2]) for line in lines),
        against=compare_measured(waterfall, lines),
        notes=tests.notes,
        standing=Standing("model", "alpha-beta over routed loads beside the run's own clock"),
    )


def _agreed(found: str, asked: str | None) -> str:
    if found and asked and found != asked:
        raise ParameterError(f"the run is of {found}, but {asked} is asked for; ask for the same collective")
    if not found and not asked:
        raise ParameterError("the run does not name its collective; say which it is")
    name = found or str(asked)
    if name == "reduce":
        raise ParameterError("the run is of reduce, which has no form on a fabric; a broadcast costs the same")
    return name


def _beside(line: Measurement, time_s: float, busbw: float) -> BesideSize:
    predicted = 1e6 * time_s
    ratio = line.time_us / predicted if predicted > 0 else float("inf")
    return BesideSize(line.bytes, line.time_us, predicted, line.busbw_gbyte_s, busbw, ratio)
