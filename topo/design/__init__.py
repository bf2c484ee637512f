"""From a fabric to what is bought and built: racks, cable schedules, labels, bills of materials, prices."""

from topo.design.bill import Bill, BillLine
from topo.design.planning import CablingPlan, cabling_plan, write_plan
from topo.design.prices import DEFAULT_PRICES, PriceList, read_prices
from topo.design.rules import RackRules, read_rack_rules

__all__ = [
    "DEFAULT_PRICES",
    "Bill",
    "BillLine",
    "CablingPlan",
    "PriceList",
    "RackRules",
    "cabling_plan",
    "read_prices",
    "read_rack_rules",
    "write_plan",
]
