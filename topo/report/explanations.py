"""What each kind of answer computes, under which assumptions, and what would change it, in words."""

from __future__ import annotations

__all__ = ["EXPLANATIONS"]

_FLUID = "flows are fluid shares of links at line rate, without queues, headers or congestion control"
_HASH = "each hash is an even, independent draw unless a hash function was named, and vendors' real ones are secret"
_RATES = "link rates are those of the fabric's file, or those that were assumed where it has none"
_ALONE = "the job has the fabric to itself and every message costs a latency and its bytes over the rate it gets"
_MODEL = "the step is a model of compute, memory and exchange with published or given efficiencies, not a measurement"
_FAILURES = "elements fail independently of each other at the stated rates and are repaired after the stated hours"
_CABLES = "a cable is right where its two ends are what the design, or the majority of the wiring, says"

EXPLANATIONS: dict[str, tuple[str, str, str]] = {
    "Ablations": (
        "How far the model of a step is off the measured steps with each of its parts changed in turn",
        "the measured steps are as published and each part is changed alone",
        "other measured steps, or steps that depend more on the part that seems to make no difference",
    ),
    "Against": (
        "What was measured beside what is predicted, and which effect the difference is as large as",
        f"the measurement is of the ranks, the collective and the size that were given, and {_ALONE}",
        "other traffic during the measurement, other ranks, or another algorithm than the library chose",
    ),
    "Availability": (
        "The share of time that each level of capacity or a better one is there",
        f"{_FAILURES}, and routing has settled after each failure",
        "other failure rates or repair times, failures that come together, and a measure other than the one asked for",
    ),
    "Bill": (
        "The boxes, cables and transceivers to buy for a fabric with their prices and power",
        "prices are those of the price list with the sources it names, and what it does not list has no price",
        "a price list of your own, another cabling plan, or other media allowed for the cables",
    ),
    "Bisection": (
        "The least capacity in one direction across any even split of the endpoints, between two proved bounds",
        f"hosts, or what was asked for, stay whole in a split, only what forwards may relay, and {_RATES}",
        "letting a split cut through hosts, other endpoints, or more links where the cut that was found runs",
    ),
    "Buildable": (
        "Whether a listed switch has the ports that each kind of switch in the fabric uses",
        "the list of switches is the one shipped here and breakouts are as the makers allow",
        "a switch that the list does not know, or another way of breaking out its ports",
    ),
    "CablingPlan": (
        "Where every box stands, how every cable runs, and how long it has to be",
        "racks, hall and cable routes follow the rules given or the usual ones, with slack added to each route",
        "other rules for racks or rows, fixed places of boxes, or a search for a better order of racks",
    ),
    "Candidates": (
        "Fabrics of every family that would connect the accelerators asked for, and which are dominated by others",
        "each family is built from the same parts, prices and power are those of the price list, and nothing else of "
        "the site counts",
        "another price list or part, a larger size, or requirements that a family fails by little",
    ),
    "Catalog": (
        "The published fabrics that can be loaded by name with their counts",
        "counts are those each spec expects, counted again in the built fabric by the tests",
        "another release of the catalogue",
    ),
    "CollectiveCost": (
        "The time of one collective from a closed form",
        "all ranks send at one rate with one latency a step, alone and without loss",
        "another algorithm or size, and a fabric whose links are shared or differ in rate",
    ),
    "CollectiveTime": (
        "The time of a collective over placed ranks, its bandwidths, and the link that binds",
        _ALONE,
        "another order of ranks, algorithm, routing or latency, and other jobs on the same links",
    ),
    "CountersBeside": (
        "What port counters saw beside the load that the collective was predicted to put on each link",
        f"the counters cover the same interval and no other traffic, and {_HASH}",
        "other traffic, an interval with idle time in it, or another path than the model's hash took",
    ),
    "DegradationCurve": (
        "The share of the healthy capacity that is left as more and more elements are down",
        "which elements are down is drawn at random, each set of one size as likely as any other",
        "failures that come together, another kind of element, or more draws, which narrow the intervals",
    ),
    "DegradedCapacity": (
        "What is left of the measure with the named elements down or slower",
        "routing has settled, what is cut off is counted apart, and flows are fluid shares of links",
        "other elements down, another measure, or a routing that weighs what its next hops lead to",
    ),
    "EcmpCollisions": (
        "How often hashed flows meet on a link, and the rate that the mean flow and the slowest get",
        f"{_HASH}, and {_FLUID}",
        "more queue pairs a flow, another hash or seed, weighted or adaptive routing, or other flows",
    ),
    "EcmpRemedies": (
        "What each remedy against collisions would give the mean flow and the slowest",
        f"{_HASH}, and {_FLUID}",
        "other flows, other numbers of queue pairs, or switches that cannot do what a remedy needs",
    ),
    "EcmpStage": (
        "The exact figures of one stage of hashed flows over equal links",
        "every flow picks its link evenly and independently of all others",
        "another number of flows or links, and hashes that are not even",
    ),
    "EffectiveBisection": (
        "The share of its line rate that a pair of a random bisection gets on static routes",
        f"pairings are drawn at random, routes do not adapt, and {_FLUID}",
        "another routing table, more draws, or a fabric with more links above its leaves",
    ),
    "Exposure": (
        "The time a step waits for one dimension's collectives, by the bandwidth its groups get",
        _MODEL,
        "more or less overlap of compute and exchange, another batch, or another cut of the job",
    ),
    "FabricComparison": (
        "The same numbers of several fabrics side by side, and where they differ",
        f"each fabric is taken as described, prices and power are those of the lists here, and {_RATES}",
        "another price list, other parts, or a size at which the fabrics' families step up a tier",
    ),
    "Fingerprint": (
        "The bytes that a rank sends in a step, by dimension and primitive, and to whom",
        "bytes follow from the model's shape and the plan, with nothing compressed",
        "another cut of the job, another precision of gradients, or sharded optimizer states",
    ),
    "Goodput": (
        "Where the bandwidth goes on its way from line rate to what the application gets, effect by effect",
        f"{_HASH}, headers are those of the transport, and {_FLUID}",
        "another routing, more queue pairs, another payload size, other jobs, or a less tapered fabric",
    ),
    "Growth": (
        "The cables that stay, move, are new or go when one fabric grows into another, and their order",
        "names of boxes tell which stay, and at each step the stated share of the old capacity remains",
        "asking for more or less capacity on the way, or another layout of the new fabric",
    ),
    "HierarchicalCost": (
        "The time of a collective in two levels, in a row and at best overlapped",
        "each level has one rate and one latency for all its ranks, alone and without loss",
        "other rates or sizes of the two levels, and how far the phases really overlap",
    ),
    "Inventory": (
        "The endpoints, switches, ports, links and cables of a fabric",
        "what counts is the endpoints' own network unless other link kinds were asked for",
        "other kinds of links, and lines of a file that its reader noted as not understood",
    ),
    "Isolation": (
        "Whether a placed job can have its own paths at full rate beside the others",
        "a job's own links carry nobody else's flows and every pattern of the job may occur",
        "other hosts, fewer neighbours on its leaves, or more links above them",
    ),
    "JobCollisions": (
        "How much longer a collective takes because its flows collide",
        f"{_HASH}, and all ranks wait for the slowest flow",
        "more queue pairs, another order of ranks, or routing that spreads packets",
    ),
    "JobFailures": (
        "How often jobs are stopped, by which element, and the time that costs",
        f"{_FAILURES}, and a job goes on from its last checkpoint",
        "other rates or repair times, other checkpoints, other hosts, or jobs that survive a lost link",
    ),
    "JobsPlaced": (
        "Hosts for several jobs at once and the sum of what they cost",
        "each job is placed on what the ones before it left, by the objective that was asked for",
        "another order of the jobs, another objective, or hosts that become free",
    ),
    "LeavesSpanned": (
        "How many leaves and pods a set of hosts touches, beside the least possible",
        "hosts are as wired, and as many others could have been free",
        "other hosts",
    ),
    "LinkChurn": (
        "How many flows change their path, or lose it, when links die",
        "the hash is the one that was named or the default, and all that hashes keeps its seed",
        "resilient selection instead of modulo, another hash, or other links",
    ),
    "MeasuredBeside": (
        "What a benchmark measured beside the prediction, size by size",
        f"the run used the ranks and the collective that were given, and {_ALONE}",
        "other latencies, another algorithm at some size, or traffic that the benchmark met",
    ),
    "Memory": (
        "The bytes on the accelerator that holds most, by what they are for",
        "activations, states and weights follow from the shape and the plan; fragmentation is left out",
        "recomputation, sharded states, smaller micro-batches, or more pipeline stages",
    ),
    "MessageTime": (
        "The time of one message over one path",
        "the path is empty and each hop forwards as its kind does",
        "more hops, another payload size, or other traffic on the path",
    ),
    "MinCut": (
        "The least capacity whose loss separates two sets of nodes, with the links it runs through",
        f"only what forwards may relay, traffic may split at will, and {_RATES}",
        "other sets, or more capacity on exactly the links of the cut",
    ),
    "Moves": (
        "The hosts that must move so that a job fits on few leaf groups",
        "jobs that run may move where they keep their size, and hosts that drain are of no use",
        "allowing more leaf groups, a smaller job, or jobs that end meanwhile",
    ),
    "NcclTests": (
        "The table that a benchmark printed, with what was not understood",
        "columns are those of the program's header line",
        "another output of the program",
    ),
    "NextHopChurn": (
        "The share of flows that change their next hop when one dies",
        "flows are many, and hashed evenly over the next hops",
        "resilient selection instead of modulo, or another number of next hops",
    ),
    "OptimalGather": (
        "The time that no all-gather on this graph beats, and the cut that says so",
        "data may take any paths at once, without latency",
        "more capacity on the cut that binds",
    ),
    "Oversubscription": (
        "The capacity down over the capacity up, tier by tier",
        f"only links of the endpoints' own network count, all endpoints send at once, and {_RATES}",
        "more uplinks, fewer endpoints a leaf, or links that are down",
    ),
    "Paths": (
        "The hops between all pairs of endpoints, and how many paths leaves have to each other",
        "paths are the shortest ones, and only what forwards may relay",
        "routing that takes longer paths, or links that are missing",
    ),
    "PlacementAffinity": (
        "Scores of one placed job, each with its unit and what it leaves out",
        f"ranks follow the job's order over its hosts, and {_FLUID}",
        "another order of ranks, other hosts, or other jobs on the same links",
    ),
    "PlacementFound": (
        "Hosts for a job, what they cost, and the least that any placement can cost",
        "hosts that are busy, drained or excluded stay so, and the objective is the one asked for",
        "another objective, hosts that become free, or more seconds for the search where a gap is left",
    ),
    "Polarization": (
        "The share of next hops that flows still reach, tier by tier, after the hashes before",
        "all pairs of groups send alike and the hash is the one that was named",
        "another seed or offset on each switch, or another hash on the next tier",
    ),
    "PublishedComparisons": (
        "Published steps beside what the model predicts for them",
        _MODEL,
        "other efficiencies, or details of those runs that were not published",
    ),
    "PublishedNumbers": (
        "The numbers that a spec expects beside the same numbers counted in the fabric that was built",
        "labels say whether a number was read, derived or remembered",
        "another builder or parameter in the spec, or a corrected source",
    ),
    "Repair": (
        "The shortest list of moves, additions and removals that mends a wiring, most valuable first",
        f"{_CABLES}, and accepted deviations stay",
        "another design, more accepted deviations, or a newer dump of the wiring",
    ),
    "Replay": (
        "The capacity after each event of a log, and the least of each day",
        "events are as logged, and routing has settled after each",
        "another measure, or events that the log does not have",
    ),
    "Scaling": (
        "The time of a step at several sizes, and the efficiency against the smallest",
        _MODEL,
        "another batch, another cut of the job, or another fabric",
    ),
    "SchedulerComparison": (
        "Where several schedulers would have put a job, beside the placement found here",
        "each rule is its documented algorithm on the state that was given, without queueing",
        "another state, another topology file of the scheduler, or a release that decides otherwise",
    ),
    "Sensitivity": (
        "What a step gains by one change of the fabric or the job at a time",
        f"changes are made one by one and do not add up, and {_MODEL}",
        "another job, or two changes together",
    ),
    "SpecKeys": (
        "All that a spec file may hold",
        "keys, builders and parts are those of this release",
        "another release",
    ),
    "Splits": (
        "The ways of cutting a job over its accelerators, the fastest first",
        _MODEL,
        "another batch, less memory, or another fabric under the larger groups",
    ),
    "Survivability": (
        "What the loss of each single element leaves, worst first",
        "routing has settled, equal elements are computed once, and what is cut off is counted apart",
        "other kinds of elements, groups that fail together, or elements that are down already",
    ),
    "Throughput": (
        "The largest share of every wanted rate that the fabric carries at once, and the links that bind",
        f"all flows of the demand send at once by the routing that was named, and {_FLUID}",
        "another demand or routing, or more capacity on the links that bind",
    ),
    "ThroughputBound": (
        "A share of the worst permutation that no routing can exceed",
        "traffic may split over all paths at will, and every flow takes at least the shortest distance",
        "more links, or shorter paths between the endpoints that are farthest apart",
    ),
    "TierPolarization": (
        "How many next hops flows still reach when tiers hash the same keys one after another",
        "keys are many and even, and the hash functions are the ones named",
        "another seed, offset or function on each tier",
    ),
    "TrainingStep": (
        "The time of a training step, term by term, with its utilization of the accelerators",
        _MODEL,
        "another cut of the job, more overlap, another order of ranks, or faster links where a term waits",
    ),
    "TrainingTime": (
        "The share of time that a job spends on progress it keeps",
        "failures come at a constant rate, and each costs a restart and half an interval",
        "more frequent checkpoints, faster ones, or fewer failures",
    ),
    "Validation": (
        "Every fault of a wiring once, with its place, evidence, cost and mending",
        _CABLES,
        "another design to judge by, rules that the wiring cannot tell by itself, or a newer dump",
    ),
    "WorstCase": (
        "The largest share of the worst permutation that fits, with that permutation",
        "paths are split evenly in a fixed way, and every endpoint sends to one and hears from one",
        "a routing that adapts, or more capacity on the links that bind",
    ),
    "WorstFailures": (
        "The elements whose loss together leaves least, and how much less any others could leave",
        "routing has settled and exactly so many elements are down",
        "other kinds of elements, one more of them, or another measure",
    ),
}
"""By class: what is computed; what it assumes; what would change it. Clauses, without their full stops."""
