"""Commented examples of the files that people write: each loads as it is, and says which run takes it."""

from __future__ import annotations

__all__ = ["TEMPLATES"]

_SPEC = """\
# A fabric of your own. 'topo show spec.yaml' builds it and counts; every verb takes it in the place of FABRIC.
# 'topo list --builders' shows all builders, what each takes, and what 'expect' may hold.
name: my-cluster                   # lower-case letters, digits, - and .
title: 32 hosts of 8 accelerators on 8 rails
operator: Example
sources:                           # where the numbers come from
  - text: our own plan
    label: P                       # P primary, S secondary, D derived, P+D both, M from memory
builder: rail_optimized
parameters:
  hosts: 32
  rails: 8                         # adapters of a host, each on the leaf of its rail
  hosts_per_unit: 32               # hosts that share their leaves
  radix: 64                        # ports of a switch at the rate of its links
  host_gbps: 400G                  # of an adapter, one direction: 400, 400G, 4xNDR
expect:                            # counted again in what is built; 'topo show' tells what differs
  n_hosts: 32
  n_endpoints: 256
"""
_JOB = """\
# A job to place: 'topo place FABRIC --job job.yaml' finds its hosts; 'topo report FABRIC --job job.yaml' shows them.
name: my-job
degrees: {tensor: 8, data: 4}      # size is their product; or write size: 32 and a pattern instead
order: [tensor, data]              # how ranks count, the innermost first
bytes_per_step:                    # what a rank sends in each dimension, in bytes
  tensor: 2.0e9
  data: 1.5e9
constraints:
  whole_hosts: true                # no host is shared with another job
  # at_most_leaves: 2              # leaf groups that the job may use
  # exclude: [host-001]            # hosts it may not use: names or globs
"""
_TRAINING_JOB = """\
# A training job: 'topo step FABRIC --job training-job.yaml' works out a step's time, term by term.
model: gpt-22b                     # a known model, or its shape: name, layers, hidden, heads, vocabulary, sequence
accelerator: h100-sxm
plan:
  batch: 248                       # sequences a step over all ranks
  tensor: 8
  data: 31                         # tensor x context x pipeline x data ranks in all
  micro_batch: 4
  recompute: full
# efficiency: 0.5                  # share of the peak that large products reach; default: by the accelerator
# checkpoints: {interval_steps: 500, storage_gbyte_s: 200.0}
"""
_FAILURES = """\
# Failure rates: 'topo fail FABRIC --availability enumeration --rates failures.yaml' turns them into capacity over time.
# A key is a kind of element or KIND:PATTERN; the narrower one holds. Each has one of fit (in 10^9 hours), afr (share a
# year), mtbf_h or per_day, and mttr_h, the mean hours until repair.
link:
  - {afr: 0.0068, mttr_h: 12, source: our tickets of last year}
  - {per_day: 0.0001, mttr_h: 0.05, source: flaps}   # several causes add up
switch:
  mtbf_h: 250000
  mttr_h: 8
switch:spine-*:
  mtbf_h: 400000
  mttr_h: 24
"""
_RACKS = """\
# Rules for racks and cables: 'topo plan FABRIC --racks racks.yaml' lays the fabric out by them. All keys may be left
# out; these are the usual values.
rack:
  units: 48                        # usable height
  power_kw: 44.0
  switches: 16                     # at most, in a rack of switches
hall:
  racks_per_row: 20
  rack_width_m: 0.6
  row_pitch_m: 3.0
  tray_m: 0.5                      # from the top of a rack to the cable tray
leaf: auto                         # auto, top, end_of_row, middle_of_row
spine: middle                      # middle or end of the hall
cables:
  slack_percent: 5.0               # of the route
  slack_m: 0.5                     # at each end
  media: [copper, multimode, single_mode]
# boxes:                           # sizes by glob over part, name or word
#   dgx-h100: {units: 8, power_kw: 10.2}
# place:                           # boxes that stand in a named rack
#   - {boxes: "spine-*", rack: N1, row: 1, position: 10}
"""
_PRICES = """\
# A price list: 'topo plan FABRIC --prices prices.yaml' makes the bill by it, 'topo compare A B --prices prices.yaml'
# compares by it. Keys are globs; the first that fits holds. What none fits has no price, and the bill says so.
currency: USD
title: an example, not an offer
switches:
  qm9700: {price: 30000, power_kw: 1.0, source: example}
  "*": {per_gbps: 3.2, source: example}              # of each Gb/s of ports
hosts:
  "*": {price: 0, source: not part of the network}
cables:
  copper: {price: 100, per_m: 20, source: example}
  "*": {price: 60, per_m: 2, source: example}
transceivers:
  "*": {price: 900, source: example}
"""
_ACCEPT = """\
# Known deviations: 'topo validate WIRING --accept accept.yaml' marks them instead of counting them; what is over or no
# longer there is a finding itself. 'topo validate WIRING' prints code and place of each finding.
accept:
  - code: pair-thin
    where: leaf-1 - spine-2        # the place of a finding, or a glob over places
    reason: spare cable ordered
    expires: 2099-01-31            # its last day; without the key for ever
"""
_REQUIREMENTS = """\
# What a cluster has to be: 'topo design --requirements requirements.yaml' shows candidates of every family.
accelerators: 2048
nic_gbps: 400G                     # of an adapter, one direction
rails: 8                           # accelerators with an adapter each in a host
switch: qm9700                     # or radix: 64, for no known part
oversubscription: 1.0              # at most so much to 1
growth: 2.0                        # so many times the accelerators have to fit the family
# power_kw: 400                    # at most, of switches and optics
# price: 20000000                  # at most, of switches, cables and optics
"""

TEMPLATES: dict[str, str] = {
    "spec": _SPEC,
    "job": _JOB,
    "training-job": _TRAINING_JOB,
    "failures": _FAILURES,
    "racks": _RACKS,
    "prices": _PRICES,
    "accept": _ACCEPT,
    "requirements": _REQUIREMENTS,
}
"""Examples by the kind of file, the same kinds that ``topo schema`` knows."""
