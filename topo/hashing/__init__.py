"""Hashing as switches do it: keys, functions, selection of a member."""

from topo.hashing.chooser import HashChooser
from topo.hashing.functions import HASH_FUNCTIONS, hash_function
from topo.hashing.keys import FIELD_SETS, FIELDS, FlowKeys, endpoint_addresses, roce_keys
from topo.hashing.roce import roce_flow_label, roce_source_port
from topo.hashing.scheme import EcmpHash
from topo.hashing.selection import SELECTIONS, BucketTable, select, select_without

__all__ = [
    "FIELDS",
    "FIELD_SETS",
    "HASH_FUNCTIONS",
    "SELECTIONS",
    "BucketTable",
    "EcmpHash",
    "FlowKeys",
    "HashChooser",
    "endpoint_addresses",
    "hash_function",
    "roce_flow_label",
    "roce_keys",
    "roce_source_port",
    "select",
    "select_without",
]
