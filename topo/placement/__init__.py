"""Placement: where to put a job, what a placement costs, what schedulers would do, what must move, who is isolated."""

from topo.placement.affinity import PlacementAffinity, placement_affinity
from topo.placement.compare import RULES, SchedulerComparison, compare_schedulers
from topo.placement.isolating import Isolation, isolation
from topo.placement.job import Constraints, Job
from topo.placement.job_file import parse_job, read_job
from topo.placement.moves import Moves, what_to_move
from topo.placement.placement import Placement
from topo.placement.placing import OBJECTIVES, Cluster, PlacementFound, place, placed_on
from topo.placement.several import JobsPlaced, place_jobs
from topo.placement.written import FORMATS, write_placement

__all__ = [
    "FORMATS",
    "OBJECTIVES",
    "RULES",
    "Cluster",
    "Constraints",
    "Isolation",
    "Job",
    "JobsPlaced",
    "Moves",
    "Placement",
    "PlacementAffinity",
    "PlacementFound",
    "SchedulerComparison",
    "compare_schedulers",
    "isolation",
    "parse_job",
    "place",
    "place_jobs",
    "placed_on",
    "placement_affinity",
    "read_job",
    "what_to_move",
    "write_placement",
]
