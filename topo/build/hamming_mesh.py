"""HammingMesh: boards of accelerators in a mesh, whose rows and columns small fat-trees join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.clos import sized_clos
from topo.build.direct import grid_labels, grid_places, lined_up, listed, ring_links
from topo.build.hosts import HostPorts
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["hamming_mesh"]


def hamming_mesh(
    board: Sequence[int],
    boards: Sequence[int],
    *,
    radix: int = 64,
    link_gbps: float = 400,
    name: str | None = None,
) -> Fabric:
    """Boards of a x b accelerators in a 2D mesh, x times y of them; each line of accelerators has its own fat-tree.

    ``board`` is [a, b], ``boards`` [x, y]: a * b * x * y accelerators of four ports. Inside a board they are joined as
    a mesh, a * (b - 1) + b * (a - 1) links. The two ends of every row of every board go to the network of that row of
    the whole machine: b * y networks of 2 x ports, and a * x of 2 y ports for the columns. A network is one switch, or
    a fat-tree of two tiers where it needs more ports than ``radix`` (Hoefler et al., SC 2022). Accelerators relay.
    [2, 2] is Hx2Mesh, [4, 4] Hx4Mesh; [1, 1] is a 2D HyperX of switches that stand for lines.

    >>> f = hamming_mesh([2, 2], [16, 16])
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("access").sum())
    (1024, 64, 2048)

    :raises ParameterError: a line that does not fit two tiers of the radix, with the most that does.
    """
    a, b = _pair(board, "board")
    x, y = _pair(boards, "boards")
    positive(radix=radix)
    dims = [a * x, b * y]
    refuse_too_many(4.0 * dims[0] * dims[1], "links")
    for i, n in enumerate((x, y), 1):
        most = radix // 2 * radix // 2
        if 2 * n > radix and n > most:
            raise ParameterError(f"boards[{i}] is {n}; two tiers of radix {radix} take at most {most} boards in a line")
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"HammingMesh of {x} x {y} boards of {a} x {b}")
    rows = _add_boards(assembly, (a, b), (x, y), rate)
    places = grid_places(dims)
    for axis, (word, size, n) in enumerate((("row", a, x), ("column", b, y))):
        on_edge = [np.flatnonzero(places[:, axis] % size == edge) for edge in (0, size - 1)]
        line = np.concatenate([places[edge, 1 - axis] for edge in on_edge])
        along = np.concatenate([places[edge, axis] for edge in on_edge])
        order = np.lexsort((along, line))
        ends = rows[np.concatenate(on_edge)[order]].reshape(-1, 2 * n)
        plan = sized_clos(2 * n, tiers=1 if 2 * n <= radix else 2, radix=radix, link_gbps=rate, host_gbps=rate)
        for label, nodes in zip(numbered(f"{word}-{{}}", np.arange(1, len(ends) + 1)).tolist(), ends, strict=True):
            with assembly.within(f"{label}-", plane=label):
                plan.over(assembly, HostPorts(nodes.reshape(-1, 1, 1), rate))
    made_by = f"hamming_mesh({[a, b]}, {[x, y]}, radix={radix}, link_gbps={link_gbps})"
    return assembly.finish(Origin(made_by=made_by))


def _pair(sizes: Sequence[int], name: str) -> tuple[int, int]:
    sizes = listed(sizes, name, [4, 4])
    if len(sizes) != 2:
        raise ParameterError(f"{name} lists {len(sizes)} sizes; give 2, across and up")
    positive(**{f"{name}[{i}]": size for i, size in enumerate(sizes, 1)})
    return int(sizes[0]), int(sizes[1])


def _add_boards(assembly: Assembly, board: tuple[int, int], boards: tuple[int, int], gbps: float) -> NDArray[np.int64]:
    """The accelerators, a board being a host, with the links on the boards."""
    dims = [board[0] * boards[0], board[1] * boards[1]]
    places = grid_places(dims)
    on_board: Array = np.asarray(board)
    host = lined_up(places // on_board, boards)
    rows = assembly.add_nodes(
        numbered("accelerator-{}-{}", *places.T),
        kind="accelerator",
        is_endpoint=True,
        forwards=FORWARDS_ALL,
        host=Labels(host, numbered("board-{}", np.arange(1, boards[0] * boards[1] + 1))),
        local_index=lined_up(places % on_board, board),
        coordinates=grid_labels(places),
    )
    for axis in range(2):
        low, high, _ = ring_links(dims, axis, wrap=False)
        inside = places[low, axis] % board[axis] < board[axis] - 1
        assembly.connect(rows[low[inside]], rows[high[inside]], gbps, kind="scale_up")
    return rows
