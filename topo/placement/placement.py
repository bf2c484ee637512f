"""A placement: endpoint rows in rank order, made from hosts, rows or a rank file, and checked against its job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import InputError, ParameterError
from topo.placement.fold import Hosts
from topo.placement.job import Job
from topo.table import freeze

__all__ = ["Placed", "Placement", "listed_hosts", "on_hosts", "placement_of", "rank_width", "read_ranks"]


@dataclass(frozen=True, eq=False)
class Placement:
    """Endpoint row of every rank, in rank order. Several ranks may share an endpoint only if the job says so."""

    rows: NDArray[np.int64]

    @classmethod
    def of(cls, rows: ArrayLike) -> Placement:
        """A placement from endpoint rows, one a rank."""
        return cls(freeze(rows, np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def hosts(self, hosts: Hosts) -> NDArray[np.int64]:
        """Numbers of its hosts, in the order of their first rank."""
        number = hosts.of_node[self.rows]
        _, first = np.unique(number, return_index=True)
        return np.asarray(number[np.sort(first)], np.int64)


Placed: TypeAlias = Placement | ArrayLike | Sequence[str]
"""What is taken for a placement: itself, endpoint rows in rank order, or host names in rank order."""


def rank_width(hosts: Hosts, job: Job) -> int:
    """Ranks on each host: what the job says, one for same-rail jobs, else the endpoints of a host.

    :raises ParameterError: hosts of different sizes and no ranks_per_host; ranks that do not divide over endpoints.
    """
    sizes = np.unique(hosts.size[hosts.leaf >= 0])
    if job.constraints.same_rail:
        return 1
    if job.ranks_per_host is None:
        if len(sizes) != 1:
            raise ParameterError(
                f"hosts of {hosts.fabric.name!r} have {sizes.tolist()} endpoints; give ranks_per_host with the job"
            )
        return int(sizes[0])
    width = job.ranks_per_host
    if not ((width <= sizes) | (width % np.maximum(sizes, 1) == 0)).any():  # a host that some hold is looked for later
        raise ParameterError(
            f"ranks_per_host {width} do not divide over the {int(sizes.max())} endpoints of a host; "
            f"use at most {int(sizes.max())} or a multiple"
        )
    return job.ranks_per_host


def on_hosts(hosts: Hosts, job: Job, numbers: ArrayLike, *, local: int = 0) -> Placement:
    """Ranks filled host by host in the order of ``numbers``; ``local`` is the endpoint of same-rail jobs.

    :raises ParameterError: too few or too many hosts for the job.
    """
    width = rank_width(hosts, job)
    order = np.asarray(numbers, np.int64)
    if len(order) != job.n_hosts(width):
        raise ParameterError(
            f"{len(order):,} hosts for {job.size:,} ranks at {width} a host; the job takes {job.n_hosts(width):,}"
        )
    rank = np.arange(job.size)
    host, place = order[rank // width], rank % width
    if job.constraints.same_rail:
        place = np.full(job.size, local)
    each = np.maximum(width // hosts.size[host], 1)  # ranks that share an endpoint stand together
    return Placement.of(hosts.endpoint[hosts.start[host] + place // each])


def placement_of(hosts: Hosts, job: Job, placed: Placed) -> Placement:
    """A checked placement.

    :raises ParameterError: a host twice, an unknown name, a row that is no endpoint, another number of ranks.
    """
    if isinstance(placed, Placement):
        rows = placed.rows
    else:
        given = np.asarray(placed)
        if given.dtype.kind in "UO":
            return _of_names(hosts, job, [str(name) for name in given.tolist()])
        rows = given.astype(np.int64)
    fabric = hosts.fabric
    if rows.size and (rows.min() < 0 or rows.max() >= len(fabric.nodes)):
        raise ParameterError(f"row {int(rows.max())} is outside the {len(fabric.nodes)} nodes of {fabric.name!r}")
    other = np.flatnonzero(hosts.of_node[rows] < 0)
    if other.size:
        raise ParameterError(f"rank {other[0]} is on {str(fabric.nodes.name[rows[other[0]]])!r}, which is no endpoint")
    if len(rows) != job.size:
        raise ParameterError(f"the placement has {len(rows):,} ranks, the job {job.size:,}")
    share = 1
    if job.ranks_per_host is not None:
        share = max(job.ranks_per_host // int(hosts.size[hosts.of_node[rows]].min(initial=1)), 1)
    found, count = np.unique(rows, return_counts=True)
    if (count > share).any():
        name = str(fabric.nodes.name[found[count > share][0]])
        raise ParameterError(f"{name!r} holds {int(count.max())} ranks of the placement; it can hold {share}")
    return Placement.of(rows)


def _of_names(hosts: Hosts, job: Job, names: list[str]) -> Placement:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ParameterError(f"host {name!r} is there twice; a placement lists each host once, in rank order")
        seen.add(name)
    return on_hosts(hosts, job, hosts.numbers(names))


def listed_hosts(text: str, *, path: str = "<text>") -> list[tuple[int, int | None, str]]:
    """Line, rank where it says one, and name of each host in a host file.

    >>> listed_hosts("n1 slots=8\\nn[3-4]  # a list")
    [(1, None, 'n1'), (2, None, 'n3'), (2, None, 'n4')]

    :raises InputError: a list of hosts that cannot be read, with its line.
    """
    import re

    from topo.io.hostlist import expand_hosts

    found: list[tuple[int, int | None, str]] = []
    for line, raw in enumerate(text.splitlines(), 1):
        said = raw.split("#", 1)[0].strip()
        match = re.match(r"rank\s+(\d+)\s*=\s*(\S+)", said)
        if match:
            found.append((line, int(match[1]), match[2]))
        elif "[" in said:
            found += [(line, None, name) for name in expand_hosts(said.split()[0], path=path, line=line)]
        elif said:
            found.append((line, None, re.split(r"[\s:]", said)[0]))
    return found


def read_ranks(hosts: Hosts, job: Job, text: str, *, path: str = "<text>") -> Placement:
    """A placement from a host file: hosts in rank order, one or a list (``n[01-08]``) a line, or ``rank N=HOST`` lines.

    Several lines of one host in a rank file put that many ranks on it, and must follow each other.

    :raises InputError: an unknown host, a host twice, a rank twice or missing, with the line.
    """
    order: list[str] = []
    ranks: dict[int, int] = {}
    width, known = rank_width(hosts, job), set(hosts.name.tolist())
    for line, rank, name in listed_hosts(text, path=path):
        if name not in known:
            raise InputError(f"no host of {hosts.fabric.name!r} is called {name!r}", path=path, line=line)
        if rank is not None:
            if rank in ranks:
                raise InputError(f"rank {rank} is there twice, first at line {ranks[rank]}", path=path, line=line)
            if rank != len(ranks):
                raise InputError(f"rank {rank} follows {len(ranks) - 1}; list ranks in order", path=path, line=line)
            ranks[rank] = line
            if rank % width:
                if order[-1] != name:
                    text_ = f"rank {rank} is on {name!r}, but its host {order[-1]!r} holds {width} ranks"
                    raise InputError(text_, path=path, line=line)
                continue
        if name in order:
            raise InputError(f"host {name!r} is there twice; list each host once", path=path, line=line)
        order.append(name)
    try:
        return on_hosts(hosts, job, hosts.numbers(order))
    except ParameterError as error:  # too few hosts, or too many
        raise InputError(str(error), path=path) from None
