"""From the wiring as it is to the wiring as it should be: fewest moves, in an order that keeps the fabric alive.

:func:`repair_wiring` answers with a :class:`Repair`; :func:`repair_written` renders it as text, CSV, JSON, or as swap
lists on paper: every rack, every switch face, boxes to tick. :func:`grow_fabric` and :func:`growth_written` do the same
for a fabric that becomes a larger one.
"""

from __future__ import annotations

from topo.repair.growth import Growth, grow_fabric
from topo.repair.moves import Job
from topo.repair.phases import Round
from topo.repair.repair import Left, Repair, repair_wiring
from topo.repair.steps import Step
from topo.repair.targets import Target
from topo.repair.written import growth_written, repair_written

__all__ = [
    "Growth",
    "Job",
    "Left",
    "Repair",
    "Round",
    "Step",
    "Target",
    "grow_fabric",
    "growth_written",
    "repair_wiring",
    "repair_written",
]
