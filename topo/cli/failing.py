"""What ``topo fail`` was asked, taken to the analyses one by one, and their answers to the screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from topo.errors import ParameterError

if TYPE_CHECKING:
    from topo.analysis.failures.degraded import DegradedCapacity
    from topo.analysis.failures.measures import Measure
    from topo.analysis.failures.survivability import Survivability
    from topo.analysis.failures.worst import WorstFailures
    from topo.fabric import Fabric, State
    from topo.report.drains import Drains
    from topo.result import Result
    from topo.traffic.demand import Demand

__all__ = ["Answers", "Asked", "answers", "print_answers"]

_NAMED_MEASURES = ("bisection", "endpoints")


@dataclass(frozen=True)
class Asked:
    """The options of one run."""

    fabric: Fabric
    down: list[str] | None
    rate: list[str] | None
    measure: str
    endpoints: list[str] | None
    routing: str
    beside: tuple[str, ...]
    single: bool
    kinds: tuple[str, ...]
    require: float | None
    worst: int | None
    method: str | None
    rates: str | None
    samples: int
    events: str | None
    jobs: tuple[str, ...]
    stops_on: str
    checkpoint_write_s: float
    restart_s: float
    cluster: str | None
    workers: int
    checkpoint: str | None
    seed: int

    @property
    def asks_over_time(self) -> bool:
        """Whether capacity over time is wanted: by name, or by rates that nothing else would use."""
        return self.method is not None or (self.rates is not None and not self.jobs)

    @property
    def asks_single(self) -> bool:
        """Whether every single failure is gone through: by name, or because nothing else is asked."""
        given = self.down or self.rate or self.worst is not None or self.asks_over_time or self.events or self.jobs
        return self.single or not given


@dataclass
class Answers:
    """The answers by name; those that ``--require`` is about once more by type."""

    by_name: dict[str, Result] = field(default_factory=dict)
    degraded: DegradedCapacity | None = None
    survivability: Survivability | None = None
    worst: WorstFailures | None = None
    drains: tuple[Drains, ...] = ()

    def passes(self, require: float) -> bool:
        """Whether all that was asked leaves the required share and cuts nobody off."""
        degraded, worst = self.degraded, self.worst
        return (
            (degraded is None or (degraded.share >= require and degraded.cut_off <= 0))
            and (worst is None or (worst.share >= require and worst.cut_off <= 0))
            and (self.survivability is None or self.survivability.passes)
        )


def answers(asked: Asked) -> Answers:
    """Ask what was asked, in reading order.

    :raises ParameterError: ``--require`` outside 0 to 1 or with nothing it is about, options of a sweep without one,
        a job that is not NAME=GLOB.
    """
    from topo.analysis.failures.degraded import degraded_capacity
    from topo.analysis.failures.replay import replay
    from topo.analysis.failures.worst import worst_failures
    from topo.cli.running import given_state

    fabric = asked.fabric
    if asked.require is not None and not 0 <= asked.require <= 1:
        raise ParameterError(f"--require is {asked.require}; it is a share of the healthy value, 0 to 1")
    if asked.require is not None and not (asked.asks_single or asked.worst is not None or asked.down or asked.rate):
        raise ParameterError("--require goes with --down, --rate, --n-1 or --worst; none of them is given")
    _refuse_about_sweeps(asked)
    state = given_state(fabric, asked.down, asked.rate)
    measure = _measure(asked)
    found = Answers()
    if state is not None:
        found.degraded = degraded_capacity(fabric, state, measure, routing=asked.routing, beside=asked.beside)
        found.by_name["degraded"] = found.degraded
    if asked.worst is not None:
        found.worst = worst_failures(
            fabric, asked.worst, measure, kinds=asked.kinds, state=state, routing=asked.routing
        )
    _sweeps(asked, measure, state, found)
    if found.worst is not None:
        found.by_name["worst"] = found.worst
    if asked.events is not None:
        found.by_name["replay"] = replay(fabric, asked.events, measure, routing=asked.routing, state=state)
    if asked.jobs:
        found.by_name["jobs"] = _jobs(asked, state)
    return found


def _refuse_about_sweeps(asked: Asked) -> None:
    """Options of a sweep where none is made, and a checkpoint for two."""
    if asked.checkpoint is not None and asked.asks_single and asked.asks_over_time:
        raise ParameterError("--checkpoint keeps one sweep; ask for --n-1 and --availability in two runs")
    if asked.asks_single or asked.asks_over_time:
        return
    given = {"--jobs": asked.workers > 1, "--cluster": asked.cluster, "--checkpoint": asked.checkpoint}
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is for the sweeps --n-1 and --availability; leave it out here")


def _measure(asked: Asked) -> str | Demand | Measure:
    if asked.measure in _NAMED_MEASURES:
        if asked.endpoints:
            raise ParameterError(f"{asked.measure} is measured over all endpoints; leave --endpoints out")
        return asked.measure
    from topo.cli.demands import demand_by_words

    try:
        return demand_by_words(asked.fabric, asked.measure, asked.endpoints, seed=asked.seed)
    except ParameterError as error:
        said = (
            str(error)
            .replace("unknown demand", "unknown measure", 1)
            .replace("known: ", "known: bisection, endpoints, ", 1)
        )
        raise ParameterError(said if said.startswith("unknown measure") else str(error)) from None


def _sweeps(asked: Asked, measure: str | Demand | Measure, state: State | None, found: Answers) -> None:
    """The answers that many evaluations make: here, in other processes, or on a cluster."""
    from topo.analysis.failures.availability import availability
    from topo.analysis.failures.survivability import survivability
    from topo.cli.running import cluster_executor
    from topo.progress import part
    from topo.report.drains import drains

    fabric = asked.fabric
    with cluster_executor(asked.cluster) as executor:
        run: dict[str, Any] = {"executor": executor, "workers": asked.workers, "checkpoint": asked.checkpoint}
        if asked.asks_single:
            with part("any one element down", 0.5 if asked.asks_over_time else 1.0):
                found.survivability = survivability(
                    fabric, measure, kinds=asked.kinds, state=state, routing=asked.routing, **run,
                    require=0.9 if asked.require is None else asked.require,
                )  # fmt: skip
            found.by_name["survivability"] = found.survivability
            found.drains = drains(fabric, found.survivability, state=state)
        if asked.asks_over_time:
            with part("capacity over time", 1.0):
                found.by_name["availability"] = availability(
                    fabric, measure, asked.rates, method=asked.method or "enumeration", state=state,
                    routing=asked.routing, n_samples=asked.samples, seed=asked.seed, **run,
                )  # fmt: skip


def _jobs(asked: Asked, state: State | None) -> Result:
    from topo.analysis.failures.jobs import job_failures

    jobs: dict[str, list[str]] = {}
    for text in asked.jobs:
        name, equals, globs = text.partition("=")
        patterns = [glob for glob in globs.split(",") if glob]
        if not equals or not name or not patterns:
            raise ParameterError(f"--job {text!r} is not NAME=GLOB,..., such as train=host-0*,host-1*")
        jobs[name] = jobs.get(name, []) + patterns
    return job_failures(
        asked.fabric, jobs, asked.rates, stops_on=asked.stops_on, checkpoint_write_s=asked.checkpoint_write_s,
        restart_s=asked.restart_s, state=state,
    )  # fmt: skip


def print_answers(asked: Asked, found: Answers, *, as_json: bool) -> None:
    """All answers, as JSON or for people."""
    from topo.cli.printing import print_alerts, print_heading, print_json, print_lines, print_result
    from topo.output import plain

    if as_json:
        said: dict[str, Any] = {"fabric": asked.fabric.name, "notes": asked.fabric.origin.notes, **found.by_name}
        if found.drains:
            said["drains"] = found.drains
        if asked.require is not None:
            said["passes"] = found.passes(asked.require)
        print_json(said)
        return
    print(plain(f"Failures in {asked.fabric.name}"))
    print_alerts(asked.fabric)
    for name, answer in found.by_name.items():
        print_result(answer)
        if name == "survivability" and found.survivability is not None:
            need = found.survivability.require
            print_heading(f"Drains that leave {100 * need:.4g} % and cut nobody off, one at a time")
            print_lines(entry.text() for entry in found.drains)
    if asked.require is not None:
        verdict = "passes" if found.passes(asked.require) else "FAILS"
        print(f"\n{verdict}: {100 * asked.require:.4g} % required, and nobody cut off")
