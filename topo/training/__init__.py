"""Training jobs on a fabric: what they send, how long a step takes, where the bandwidth goes, how to cut them up."""

from topo.training.ablation import ablations
from topo.training.beside import measured_beside
from topo.training.calibrate import Measured, errors, fit_efficiency, left_out_errors
from topo.training.comparisons import published_comparisons
from topo.training.counters import counters_beside, read_port_counters
from topo.training.fingerprint import Fingerprint, parallelism, step_demand
from topo.training.knee import exposure
from topo.training.losses import Checkpoints, Straggler
from topo.training.measured import compare_measured, counter_gbps, read_nccl_tests
from topo.training.memory import training_memory
from topo.training.on_fabric import fabric_rates
from topo.training.plan import Plan
from topo.training.rates import GroupRate, Interconnect, group_rates
from topo.training.scaling import scaling_efficiency
from topo.training.sensitivity import fabric_sensitivity
from topo.training.splits import split_job
from topo.training.step import training_step
from topo.training.waterfall import Goodput, goodput

__all__ = [
    "Checkpoints",
    "Fingerprint",
    "Goodput",
    "GroupRate",
    "Interconnect",
    "Measured",
    "Plan",
    "Straggler",
    "ablations",
    "compare_measured",
    "counter_gbps",
    "counters_beside",
    "errors",
    "exposure",
    "fabric_rates",
    "fabric_sensitivity",
    "fit_efficiency",
    "goodput",
    "group_rates",
    "left_out_errors",
    "measured_beside",
    "parallelism",
    "published_comparisons",
    "read_nccl_tests",
    "read_port_counters",
    "scaling_efficiency",
    "split_job",
    "step_demand",
    "training_memory",
    "training_step",
]
