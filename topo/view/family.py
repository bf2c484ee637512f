"""The picture that suits a fabric: grids, groups in a ring, levels or a matrix where there are no tiers to show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.fabric import Fabric
from topo.output import plain
from topo.table import Array, check_rows
from topo.view.canvas import Canvas, on_circle
from topo.view.grid import draw_grid
from topo.view.levels import draw_levels
from topo.view.relays import Relays
from topo.view.text import plural
from topo.view.tiers import Drawing, draw_tiers

__all__ = ["draw_fabric"]

_MOST_GROUPS = 120
_MANY_LINES = 1000
_MOST_CELLS = 128
_MOST_ROUND = 64
_SIDE = 512.0
_SHADES = ("mh", "mf", "mc")
_INNER = ("scale_up", "host_io")


@dataclass(frozen=True, eq=False)
class _Picture:
    canvas: Canvas
    alt: str
    notes: tuple[str, ...]


def draw_fabric(fabric: Fabric, *, links: ArrayLike | None = None, links_word: str = "chosen") -> Drawing:
    """Draw a fabric as its family is drawn: what has tiers as :func:`topo.view.tiers.draw_tiers` does.

    What relays and has coordinates is a grid (torus, mesh, HyperX, HammingMesh), with closing links bowed and lines
    where all of a row are joined; groups that are joined directly stand in a ring (dragonfly), and so do the cells of
    a DCell; BCube is hosts under levels of switches; any other switches of one tier are an adjacency matrix (Slim Fly,
    Jellyfish, Xpander). It goes by the wiring and the columns alone, so a fabric that was read looks the same.

    ``links`` (rows or a mask) are drawn bold; ``links_word`` names them.

    >>> import topo
    >>> print(draw_fabric(topo.torus([4, 4])).alt)
    torus 4 x 4: a grid of 4 x 4 hosts, 32 links between them. Dimension 1 closes to rings, dimension 2 closes to rings.
    >>> draw_fabric(topo.slim_fly(5)).alt
    'Slim Fly q=5: 50 switches and the 175 links between them as a matrix, row by column.'

    :raises ParameterError: ``links`` outside the fabric's link table.
    """
    marked = np.zeros(len(fabric.links), bool)
    if links is not None:
        marked[check_rows(np.asarray(links), len(fabric.links), "links")] = True
    found = None if _has_inside(fabric) else _picture(fabric, marked)
    if found is None:
        return draw_tiers(fabric, links=links, links_word=links_word)
    name, notes = plain(fabric.name), found.notes
    if marked.any():
        notes = (*notes, f"Bold: the {int(marked.sum()):,} {plain(links_word)} links, where they are drawn.")
    alt = f"{name}: {found.alt}"
    return Drawing(found.canvas.svg(title=name, alt=alt, notes=notes), alt, notes)


def _has_inside(fabric: Fabric) -> bool:
    """Whether hosts are opened or domains stand beside a scale-out network, which the tiers' pictures show."""
    kinds = fabric.links.kind
    inner = kinds.is_any(*_INNER)
    placed = (fabric.nodes.coordinates.codes >= 0)[fabric.endpoints].all()
    return bool(inner.any() and not inner.all() and not placed)


def _picture(fabric: Fabric, marked: NDArray[np.bool_]) -> _Picture | None:
    relays = Relays.of(fabric, marked)
    if len(relays) < 2 or not len(relays.a):
        return _of(draw_levels(relays)) if relays.endpoints_relay else None
    if relays.places.shape[1] and (relays.places >= 0).all(axis=1).sum() >= 2:
        return _of(draw_grid(relays))
    if relays.endpoints_relay:
        if not relays.has_direct_hosts:
            return _of(draw_levels(relays))
        # Hosts that share no switch are no cells.
        return _ring(relays, relays.cells, "cell") if len(np.unique(relays.cells)) < len(relays) else None
    pods = fabric.nodes.pod.codes[relays.rows].astype(np.int64)
    if (pods >= 0).all() and len(np.unique(pods)) > 2 and relays.join_directly(pods):
        return _ring(relays, pods, "group")
    if len(np.unique(fabric.nodes.tier[relays.rows])) == 1:
        return _matrix(relays)
    return None


def _of(drawn: tuple[Canvas, str, tuple[str, ...]] | None) -> _Picture | None:
    return None if drawn is None else _Picture(*drawn)


def _ring(relays: Relays, group: Array, word: str) -> _Picture | None:
    """Groups on a circle with the links between them; beside it the first one opened."""
    labels, of = np.unique(group, return_inverse=True)
    n = len(labels)
    if n < 2:
        return None
    each = -(-n // _MOST_GROUPS)
    shown, box = -(-n // each), of // each
    canvas = Canvas()
    centre, way = on_circle(shown, 335, 330, 235)
    radius = float(np.clip(235 * np.pi / shown * 0.8, 4, 30))
    a, b = box[relays.a], box[relays.b]
    between = a != b
    pair, index = np.unique(np.minimum(a, b)[between] * shown + np.maximum(a, b)[between], return_inverse=True)
    cut = np.bincount(index, weights=relays.marked[between], minlength=len(pair)) > 0
    for key, bold in zip(pair.tolist(), cut.tolist(), strict=True):
        (x1, y1), (x2, y2) = centre[key // shown], centre[key % shown]
        canvas.line(x1, y1, x2, y2, "c" if bold else "f" if len(pair) <= _MANY_LINES else "ff")
    names = relays.names_of(group, labels, word)
    for i, ((x, y), (dx, dy)) in enumerate(zip(centre, way, strict=True)):
        members = int((box == i).sum())
        canvas.dot(x, y, radius, f"{names[i * each]}, {plural(members, relays.word)}")
        if shown <= 40:
            canvas.text(x + (radius + 28) * dx, y + (radius + 14) * dy + 4, names[i * each], middle=True, most=10)
    _opened(canvas, relays, np.flatnonzero(of == 0), f"{names[0]} opened", hub="switch" if word == "cell" else "")
    canvas.height = 640
    inside = int((~between).sum()) if each == 1 else int((of[relays.a] == of[relays.b]).sum())
    outside = len(relays.a) - inside
    kind = plural(n, word)
    counts = np.bincount(of)
    size = f"{counts.min():,}" if counts.min() == counts.max() else f"{counts.min():,} to {counts.max():,}"
    among = "a switch in each" if word == "cell" else f"{inside:,} links inside {word}s"
    alt = (
        f"{kind} of {size} {plural(2, relays.word).split(' ', 1)[1]} in a ring, {among}, "
        f"{plural(outside, 'link')} between them."
    )
    notes = [f"Each circle is one {word}; each line is all links between two."]
    if each > 1:
        notes = [f"Each circle is {each} neighbouring {word}s; each line is all links between two circles."]
    per_pair = np.bincount(index)
    if len(per_pair) and per_pair.min() == per_pair.max() and len(pair) == shown * (shown - 1) // 2:
        notes.append(f"Every two are joined, by {plural(int(per_pair[0]), 'link')}.")
    elif len(per_pair):
        least, most = int(per_pair.min()), int(per_pair.max())
        by = plural(most, "link") if least == most else f"{least:,} to {plural(most, 'link')}"
        notes.append(f"{len(pair):,} of {shown * (shown - 1) // 2:,} pairs are joined, by {by}.")
    return _Picture(canvas, alt, tuple(notes))


def _opened(canvas: Canvas, relays: Relays, members: Array, heading: str, *, hub: str = "") -> None:
    """What is in one group on a small circle, with the links among it; ``hub`` is what joins all in the middle."""
    members = members[:_MOST_ROUND]
    at = np.full(len(relays), -1)
    at[members] = np.arange(len(members))
    centre, _ = on_circle(len(members), 815, 330, 130)
    a, b = at[relays.a], at[relays.b]
    mine = np.flatnonzero((a >= 0) & (b >= 0))
    keys = np.unique(np.minimum(a, b)[mine] * len(members) + np.maximum(a, b)[mine])
    bold = set(
        np.unique((np.minimum(a, b) * len(members) + np.maximum(a, b))[mine[relays.marked[mine]]]).tolist()
    )  # fmt: skip
    for key in keys.tolist():
        (x1, y1), (x2, y2) = centre[key // len(members)], centre[key % len(members)]
        canvas.line(x1, y1, x2, y2, "c" if key in bold else "f")
    for x, y in centre if hub else ():
        canvas.line(815, 330, x, y, "l")
    if hub:
        canvas.dot(815, 330, 12, hub, "t1")
    size = float(np.clip(130 * np.pi / max(len(members), 1) * 0.7, 3, 12))
    for (x, y), row in zip(centre, members.tolist(), strict=True):
        canvas.dot(x, y, size, relays.name(row), "t2")
    canvas.text(815, 330 - 130 - 26, heading, "h", middle=True, most=40)


def _matrix(relays: Relays) -> _Picture:
    """Who is joined with whom: a cell for every two switches, or for blocks of them; round as well where few."""
    n = len(relays)
    each = -(-n // _MOST_CELLS)
    side = -(-n // each)
    size = _SIDE / side
    count, cut = np.zeros((side, side)), np.zeros((side, side), bool)
    for a, b in ((relays.a, relays.b), (relays.b, relays.a)):
        np.add.at(count, (a // each, b // each), 1)
        cut[a[relays.marked] // each, b[relays.marked] // each] = True
    canvas = Canvas()
    canvas.frame(40, 30, _SIDE, _SIDE)
    rows, columns = np.nonzero(count)
    dense = count[rows, columns] > (np.median(count[rows, columns]) if each > 1 else 0)
    style = np.where(cut[rows, columns], 2, dense)
    # Neighbours in a row that look alike are one bar, where cells stand without gaps.
    first = np.ones(len(rows), bool)
    if side > 80:
        first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 1) | (np.diff(style) != 0)
    start = np.flatnonzero(first)
    length = np.diff(np.append(start, len(rows)))
    for i, n_cells in zip(start.tolist(), length.tolist(), strict=True):
        width = size * (n_cells if side > 80 else 0.92)
        canvas.bar(40 + columns[i] * size, 30 + rows[i] * size, width, min(size, width), _SHADES[int(style[i])])
    canvas.text(40, 22, f"{relays.name(0)} first, {relays.name(n - 1)} last", most=80)
    if n <= _MOST_ROUND:
        _opened(canvas, relays, np.arange(n), "the same, round")
    else:
        _degrees(canvas, relays)
    canvas.height = 30 + _SIDE
    alt = f"{plural(n, relays.word)} and the {len(relays.a):,} links between them as a matrix, row by column."
    notes = ["A filled cell: the switch of its row is joined with the switch of its column."]
    if each > 1:
        notes = [
            f"Each cell is {each} by {each} switches; light: some of them are joined, dark: more than in most cells."
        ]
    return _Picture(canvas, alt, tuple(notes))


def _degrees(canvas: Canvas, relays: Relays) -> None:
    """What a matrix of many switches does not tell at a glance, in words beside it."""
    degree = np.bincount(np.concatenate([relays.a, relays.b]), minlength=len(relays))
    low, high = int(degree.min()), int(degree.max())
    per = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    lines = [plural(len(relays), relays.word), f"{per} links each to others", f"{len(relays.a):,} links between them"]
    for i, line in enumerate(lines):
        canvas.text(600, 60 + 20 * i, line, "" if i else "h")
