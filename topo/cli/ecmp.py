"""``topo ecmp``: how often hashed flows collide, what the slowest gets, and what would help."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topo.cli.options import (
    Cluster,
    Down,
    FabricName,
    Format,
    FormatOption,
    Rate,
    Seed,
    Senders,
    Workers,
)
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

if TYPE_CHECKING:
    from topo.fabric import Fabric, State
    from topo.hashing.scheme import EcmpHash
    from topo.result import Result
    from topo.routing.scheme import Routing

__all__ = ["Collective", "Scope", "Selection", "Split", "ecmp"]


class Selection(StrEnum):
    """How a switch picks a next hop from a hash."""

    modulo = "modulo"
    range = "range"
    resilient = "resilient"


class Split(StrEnum):
    """How next hops share what is hashed."""

    ecmp = "ecmp"
    wcmp = "wcmp"


class Scope(StrEnum):
    """Who shares a seed or an offset."""

    fabric = "fabric"
    tier = "tier"
    switch = "switch"


class Collective(StrEnum):
    """What the ranks of a job do."""

    ring = "ring"
    all_to_all = "all-to-all"


@reads_fabrics
def ecmp(
    fabric: FabricName,
    demand: Annotated[
        str,
        typer.Option("--demand", metavar="DEMAND", help="The flows: words and files as in 'topo throughput --demand'."),
    ] = "permutation",
    endpoints: Senders = None,
    queue_pairs: Annotated[
        int, typer.Option("--queue-pairs", metavar="N", help="Queue pairs that each flow is striped over.")
    ] = 1,
    hash: Annotated[
        list[str] | None,
        typer.Option(
            "--hash",
            metavar="FUNCTION",
            help="Hash as the switches do: crc-32, toeplitz, xor-16, vendor-mixing, ...; given again, that of the next "
            "tier. Default: independent even choices; vendor-mixing for --churn, crc-32 for --polarization.",
        ),
    ] = None,
    fields: Annotated[
        str, typer.Option("--fields", metavar="SET", help="What is hashed: a set's name, or fields with commas.")
    ] = "5-tuple",
    selection: Annotated[
        Selection, typer.Option("--selection", help="From the hash to a next hop.")
    ] = Selection.modulo,
    seed_per: Annotated[Scope, typer.Option("--seed-per", help="Who shares a hash seed.")] = Scope.switch,
    offset: Annotated[int, typer.Option("--offset", help="Bits the hash is rotated by, more on each tier.")] = 0,
    remedies: Annotated[bool, typer.Option("--remedies", help="What would help, in one table.")] = False,
    polarization: Annotated[
        bool, typer.Option("--polarization", help="Links that the hash leaves idle, tier by tier.")
    ] = False,
    churn: Annotated[
        list[str] | None,
        typer.Option(
            "--churn", metavar="LINK", help="Flows that move when link:leaf-1--spine-2 dies; may be repeated."
        ),
    ] = None,
    collective: Annotated[
        Collective | None,
        typer.Option("--collective", help="The stretch of a job whose ranks are the endpoints, in their order."),
    ] = None,
    routing: Annotated[
        Split, typer.Option("--routing", help="Next hops alike (ecmp), or weighted by what they lead to (wcmp).")
    ] = Split.ecmp,
    lag: Annotated[bool, typer.Option("--lag", help="Parallel links of two switches are one next hop.")] = False,
    down: Down = None,
    rate: Rate = None,
    samples: Annotated[int, typer.Option("--samples", help="Most samples drawn; 0: only what is exact.")] = 1024,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Half-width of the mean's interval at which sampling stops.")
    ] = 0.002,
    seed: Seed = 0,
    cluster: Cluster = None,
    workers: Workers = 1,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
) -> None:
    """Find how flows meet on links, what rate that leaves the mean and the slowest of them, and what would help."""
    from topo.cli.printing import print_alerts, print_json, print_lines, print_result
    from topo.cli.running import given_state
    from topo.errors import ParameterError
    from topo.hashing.scheme import EcmpHash
    from topo.output import plain
    from topo.parts.forwarding import infiniband_assumption
    from topo.routing.scheme import Routing

    asks_more = remedies or polarization or churn or collective is not None
    if asks_more and (cluster or workers > 1):
        raise ParameterError(
            "--jobs and --cluster spread the hashes drawn for plain collisions; leave them out with --remedies, "
            "--polarization, --churn and --collective"
        )
    loaded = reading.load(fabric)
    state = given_state(loaded, down, rate)
    named = fields.split(",") if "," in fields else fields
    rule = EcmpHash(
        tuple(hash) if hash else EcmpHash.function, fields=named, selection=selection.value, seed=seed if hash else 0,
        seed_per=seed_per.value, offset=offset, offset_per="tier" if offset else "fabric",
    )  # fmt: skip
    question = _Question(loaded, state, Routing(routing.value, lag=lag, seed=seed), rule if hash else None, rule, seed)
    found: dict[str, Result] = {}
    if polarization:
        found["polarization"] = question.polarization()
    if churn:
        found["churn"] = question.churn(churn, demand, endpoints)
    if collective is not None:
        found["job"] = question.job(collective.value, endpoints, queue_pairs)
    if remedies:
        found["remedies"] = question.remedies(demand, endpoints, samples)
    if not found:
        found["collisions"] = question.collisions(
            demand, endpoints, queue_pairs, samples, tolerance, (cluster, workers)
        )
    model = infiniband_assumption(loaded, ())
    if format is Format.json:
        print_json({"fabric": loaded.name, "notes": loaded.origin.notes, "assumptions": model, **found})
        return
    print(plain(f"Hashed flows in {loaded.name}"))
    print_alerts(loaded)
    # Answers about hashed flows say so themselves.
    print_lines(() if {"collisions", "remedies"} & set(found) else model)
    for answer in found.values():
        print_result(answer)


class _Question:
    """The analyses with what they share."""

    def __init__(
        self,
        fabric: Fabric,
        state: State | None,
        routing: Routing,
        given: EcmpHash | None,
        rule: EcmpHash,
        seed: int,
    ) -> None:
        self.fabric, self.state, self.routing, self.given, self.rule, self.seed = (
            fabric, state, routing, given, rule, seed,
        )  # fmt: skip

    def collisions(
        self,
        demand: str,
        endpoints: Any,
        queue_pairs: int,
        samples: int,
        tolerance: float,
        run_on: tuple[str | None, int],
    ) -> Result:
        from topo.analysis.collisions import ecmp_collisions
        from topo.cli.running import cluster_executor

        with cluster_executor(*run_on) as executor:
            return ecmp_collisions(
                self.fabric, self._flows(demand, endpoints), routing=self.routing, queue_pairs=queue_pairs,
                hash=self.given, samples=samples, tolerance=tolerance, seed=self.seed, state=self.state,
                executor=executor,
            )  # fmt: skip

    def remedies(self, demand: str, endpoints: Any, samples: int) -> Result:
        from topo.analysis.collisions.fabric_remedies import ecmp_remedies

        flows = self._flows(demand, endpoints)
        return ecmp_remedies(
            self.fabric, flows, routing=self.routing, samples=min(samples, 256), seed=self.seed, state=self.state
        )

    def polarization(self) -> Result:
        from topo.analysis.collisions.polarization import polarization

        # Vendors' mixing has no structure that could polarize; the library's own default there is a CRC.
        rule = self.given or self.rule.with_(function="crc-32")
        return polarization(self.fabric, hash=rule, routing=self.routing, state=self.state, seed=self.seed)

    def churn(self, links: list[str], demand: str, endpoints: Any) -> Result:
        import numpy as np

        from topo.analysis.collisions.churn import link_churn
        from topo.analysis.failures.elements import find_elements
        from topo.errors import ParameterError

        if self.state is not None:
            raise ParameterError("--churn compares with the fabric as wired; leave --down and --rate out")
        rows = np.unique(np.concatenate([find_elements(self.fabric, words).link for words in links]))
        if not rows.size:
            raise ParameterError(f"--churn {', '.join(links)} names no link; write link:leaf-1--spine-2")
        flows = self._flows(demand, endpoints)
        return link_churn(self.fabric, rows, flows, hash=self.rule, routing=self.routing, seed=self.seed)

    def job(self, collective: str, endpoints: Any, queue_pairs: int) -> Result:
        from topo.analysis.collisions.job import job_collisions

        ranks = self.fabric.endpoint_rows(endpoints or None)
        return job_collisions(
            self.fabric, ranks, collective, queue_pairs=queue_pairs, routing=self.routing, seed=self.seed,
            state=self.state,
        )  # fmt: skip

    def _flows(self, demand: str, endpoints: Any) -> Any:
        from topo.cli.demands import demand_by_words

        return demand_by_words(self.fabric, demand, endpoints, seed=self.seed)
