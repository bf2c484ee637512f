"""Tori, meshes, HyperX and HammingMesh as sheets of a grid: closing links bowed, full rows as thick lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.canvas import Canvas
from topo.view.relays import Relays
from topo.view.text import plural

__all__ = ["draw_grid"]

_MOST_SIDE = 16
_MOST_SHEETS = 4
_TOP = 64.0
_ROOM = 1000.0


def draw_grid(relays: Relays) -> tuple[Canvas, str, tuple[str, ...]]:
    """The first two dimensions as a sheet, the third as sheets side by side, others at their first place."""
    places = relays.places
    sizes = places.max(axis=0) + 1
    kinds = [_kind(relays, k, int(size)) for k, size in enumerate(sizes)]
    width, height = int(sizes[0]), int(sizes[1]) if len(sizes) > 1 else 1
    sheets = min(int(sizes[2]) if len(sizes) > 2 else 1, _MOST_SHEETS)
    columns, rows = min(width, _MOST_SIDE), min(height, _MOST_SIDE)
    step = min(56.0, (_ROOM - 40) / sheets / (columns + 0.9), 640 / rows)
    across = (_ROOM - 40) / sheets
    shown = (places[:, 0] < columns) & (places[:, 3:] == 0).all(axis=1)
    x, y = np.full(len(relays), np.nan), np.full(len(relays), np.nan)
    sheet = places[:, 2] if len(sizes) > 2 else np.zeros(len(relays), np.int64)
    down = places[:, 1] if len(sizes) > 1 else np.zeros(len(relays), np.int64)
    shown &= (sheet < sheets) & (down < rows) & (places >= 0).all(axis=1)
    margin = (across - (columns - 1) * step) / 2
    x[shown] = 20 + sheet[shown] * across + margin + places[shown, 0] * step
    y[shown] = _TOP + down[shown] * step
    canvas = Canvas()
    framed = _blocks(canvas, relays, x, y, step)
    _links(canvas, relays, kinds, x, y, step)
    _twisted_stubs(canvas, relays, sizes, x, y, step)
    _rows_as_lines(canvas, relays, kinds, x, y, step)
    over = _switched_rows(canvas, relays, x, y, step)
    radius = float(np.clip(step * 0.17, 2.5, 9))
    for i in np.flatnonzero(shown).tolist():
        canvas.dot(x[i], y[i], radius, relays.name(i))
    if len(sizes) > 2:
        for k in range(sheets):
            canvas.text(20 + (k + 0.5) * across, 24, f"third coordinate {k}", "h", middle=True)
        _between_sheets(canvas, kinds[2], sheets, int(sizes[2]), across)
    canvas.height = _TOP + (rows - 1) * step + 0.6 * step + 12
    notes = _notes(relays, kinds, sizes.tolist(), columns, rows, sheets, switched=over) + framed
    grid = " x ".join(f"{size}" for size in sizes.tolist())
    said = ", ".join(f"dimension {k + 1} {kind}" for k, kind in enumerate(kinds))
    many = plural(2, relays.word).split(" ", 1)[1]
    alt = f"a grid of {grid} {many}, {plural(len(relays.link), 'link')} between them. D{said[1:]}."
    return canvas, alt, notes


def _kind(relays: Relays, dimension: int, size: int) -> str:
    """How rows along a dimension are joined."""
    mine, apart = _along(relays, dimension)
    apart = apart[mine]
    if not len(apart):
        return "is not joined"
    if size > 3 and ((apart > 1) & (apart < size - 1)).any():
        return "is joined all with all"
    if size == 3 and (apart == 2).any() and not _closes_elsewhere(relays, dimension):
        return "is joined all with all"
    if size > 2 and (apart == size - 1).any():
        return "closes to rings"
    every = np.abs(relays.places[relays.a] - relays.places[relays.b])
    turned = (every[:, dimension] == size - 1) & ((every > 0).sum(axis=1) > 1)
    return "closes with a twist" if size > 2 and turned.any() else "is open"


def _closes_elsewhere(relays: Relays, dimension: int) -> bool:
    """Rows of three are rings and full meshes alike: what the longer rows are decides."""
    sizes = relays.places.max(axis=0) + 1
    longer = [k for k in range(len(sizes)) if sizes[k] > 3 and k != dimension]
    return not longer or not any(_kind(relays, k, int(sizes[k])) == "is joined all with all" for k in longer)


def _along(relays: Relays, dimension: int) -> tuple[Array, Array]:
    """Links that change this coordinate alone, and by how much every link changes it."""
    change = np.abs(relays.places[relays.a] - relays.places[relays.b])
    return np.flatnonzero((change > 0).sum(axis=1) == (change[:, dimension] > 0)), change[:, dimension]


def _links(canvas: Canvas, relays: Relays, kinds: list[str], x: Array, y: Array, step: float) -> None:
    """Links between two shown nodes; those of full rows only where marked."""
    a, b = relays.a, relays.b
    change = np.abs(relays.places[a] - relays.places[b])
    seen = ~(np.isnan(x[a]) | np.isnan(x[b])) & (change[:, 2:] == 0).all(axis=1)
    full = np.array(["all with all" in kind for kind in kinds])
    full_row = (change[:, full] > 0).any(axis=1)
    pairs: dict[tuple[int, int], bool] = {}
    for i in np.flatnonzero(seen & (~full_row | relays.marked)).tolist():
        key = (min(int(a[i]), int(b[i])), max(int(a[i]), int(b[i])))
        pairs[key] = pairs.get(key, False) or bool(relays.marked[i])
    for (one, other), bold in pairs.items():
        long = max(abs(x[one] - x[other]), abs(y[one] - y[other])) > 1.5 * step
        straight = x[one] == x[other] or y[one] == y[other]
        if y[one] > y[other] or (y[one] == y[other] and x[one] > x[other]):
            one, other = other, one
        bow = 0.0 if not (long and straight) else 0.42 * step * (1 if y[one] == y[other] else -1)
        canvas.line(x[one], y[one], x[other], y[other], "c" if bold else "w" if long else "l", bow=bow)


def _blocks(canvas: Canvas, relays: Relays, x: Array, y: Array, step: float) -> tuple[str, ...]:
    """A frame round the shown accelerators of each rack, or host where there are no racks; what to say of them."""
    nodes = relays.fabric.nodes
    for word, column in (("rack", nodes.rack), ("host", nodes.host)):
        code = column.codes[relays.rows]
        sheet = relays.places[:, 2] if relays.places.shape[1] > 2 else np.zeros(len(relays), np.int64)
        seen = np.flatnonzero(~np.isnan(x) & (code >= 0))
        if not relays.endpoints_relay or len(np.unique(code)) < 2 or not len(seen):
            continue
        _, of, count = np.unique(np.stack([code, sheet])[:, seen], axis=1, return_inverse=True, return_counts=True)
        if count.max() < 2:
            continue
        around = 0.34 * step
        for block in range(len(count)):
            mine = seen[of.ravel() == block]
            left, top = x[mine].min() - around, y[mine].min() - around
            canvas.frame(left, top, np.ptp(x[mine]) + 2 * around, np.ptp(y[mine]) + 2 * around)
        return (f"A frame: one {word}, such as {column.values(relays.rows[seen[:1]])[0]}.",)
    return ()


def _twisted_stubs(canvas: Canvas, relays: Relays, sizes: Array, x: Array, y: Array, step: float) -> None:
    """Closing links of a twist that lead to another sheet, as stubs at both of their ends."""
    turned = _turned_away(relays)
    ends = np.concatenate([relays.a[turned], relays.b[turned]])
    bold = np.tile(relays.marked[turned], 2)
    change = np.tile(np.abs(relays.places[relays.a[turned]] - relays.places[relays.b[turned]]), (2, 1))
    for axis, (over_x, over_y) in enumerate(((0.55 * step, 0.0), (0.0, 0.55 * step))[: len(sizes)]):
        for i in np.flatnonzero((change[:, axis] == sizes[axis] - 1) & ~np.isnan(x[ends])).tolist():
            one, sign = ends[i], 1 if relays.places[ends[i], axis] else -1
            way = (x[one] + sign * over_x, y[one] + sign * over_y)
            canvas.line(x[one], y[one], *way, "c" if bold[i] else "w")


def _turned_away(relays: Relays) -> NDArray[np.int64]:
    """Links that change several coordinates at once, one beyond the first two among them."""
    change = relays.places[relays.a] != relays.places[relays.b]
    return np.flatnonzero((change.sum(axis=1) > 1) & change[:, 2:].any(axis=1))


def _between_sheets(canvas: Canvas, kind: str, sheets: int, size: int, across: float) -> None:
    """How a sheet is joined with the next, once for all its nodes, between the headings."""
    if "not joined" in kind:
        return
    style = "g" if "all with all" in kind else "l"
    middle = [20 + (k + 0.5) * across for k in range(sheets)]
    for k in range(sheets - 1):
        canvas.line(middle[k] + 66, 20, middle[k + 1] - 66, 20, style)
    if "rings" in kind:
        canvas.line(middle[0] - 96, 20, middle[0] - 66, 20, "w")
    if sheets < size or "rings" in kind:
        canvas.line(middle[-1] + 66, 20, middle[-1] + 96, 20, "w" if sheets == size else style)


def _rows_as_lines(canvas: Canvas, relays: Relays, kinds: list[str], x: Array, y: Array, step: float) -> None:
    """One thick line through all that are joined with each other."""
    shown = np.flatnonzero(~np.isnan(x))
    for dimension, along in ((0, x), (1, y)):
        if dimension >= len(kinds) or "all with all" not in kinds[dimension]:
            continue
        rest = np.delete(relays.places[shown], dimension, axis=1)
        _, line = np.unique(rest, axis=0, return_inverse=True)
        line = line.ravel()
        for i in range(int(line.max(initial=-1)) + 1):
            mine = shown[line == i]
            first, last = mine[along[mine].argmin()], mine[along[mine].argmax()]
            over_x, over_y = (0.3 * step, 0.0) if dimension == 0 else (0.0, 0.3 * step)
            canvas.line(x[first] - over_x, y[first] - over_y, x[last] + over_x, y[last] + over_y, "g")


def _switched_rows(canvas: Canvas, relays: Relays, x: Array, y: Array, step: float) -> bool:
    """One thick line for each switch whose hosts stand in one row or column; whether there are any."""
    if not relays.endpoints_relay:
        return False
    switch, host = relays.to_switches
    order = np.argsort(switch, kind="stable")
    lines: set[tuple[int, int]] = set()
    for members in np.split(host[order], np.flatnonzero(np.diff(switch[order])) + 1):
        seen = members[~np.isnan(x[members])] if len(members) else members
        if len(seen) < 2:
            continue
        for fixed, along in ((y, x), (x, y)):
            for place in np.unique(fixed[seen]).tolist():
                row = seen[fixed[seen] == place]
                if len(row) > 1 and np.ptp(along[row]) > 1.5 * step:
                    lines.add((int(row[along[row].argmin()]), int(row[along[row].argmax()])))
    for one, other in sorted(lines):
        flat = y[one] == y[other]
        over_x, over_y = (0.3 * step, 0.0) if flat else (0.0, 0.3 * step)
        canvas.line(x[one] - over_x, y[one] - over_y, x[other] + over_x, y[other] + over_y, "g")
    return bool(lines)


def _notes(
    relays: Relays, kinds: list[str], sizes: list[int], columns: int, rows: int, sheets: int, *, switched: bool
) -> tuple[str, ...]:
    notes = [f"Each circle is one {relays.word}; the first coordinate runs to the right, the second down."]
    if any("all with all" in kind for kind in kinds):
        notes.append("A thick line: every two on it are joined.")
    if any("rings" in kind for kind in kinds[:2]):
        notes.append("Dashed curves close rings.")
    if sizes[0] > columns or (len(sizes) > 1 and sizes[1] > rows):
        notes.append(f"Shown are the first {columns} x {rows} of each sheet.")
    if len(sizes) > 2:
        if sizes[2] > sheets:
            notes.append(f"Shown are the first {sheets} of {sizes[2]} sheets.")
        notes.append(
            "Every node of a sheet is joined with its like in the next as the lines between the headings show: "
            f"dimension 3 {kinds[2]}."
        )
    if len(sizes) > 3:
        notes.append(f"Further dimensions ({len(sizes) - 3}) are shown at their first place.")
    change = np.abs(relays.places[relays.a] - relays.places[relays.b])
    turned = int(((change > 0).sum(axis=1) > 1).sum())
    if turned:
        notes.append(f"{plural(turned, 'link')} change several coordinates at once, as closing links of a twist do.")
    away = _turned_away(relays)
    if away.size:
        apart = np.unique(change[away][:, 2]) if len(sizes) > 2 else np.empty(0, np.int64)
        where = f", {apart[0]} further on" if len(apart) == 1 else ""
        notes.append(f"Dashed stubs at the rim: they close on the far side of another sheet{where}.")
    beside = len(relays.fabric.switches) if relays.endpoints_relay else 0
    if beside:
        said = "A thick line: joined through switches of its own" if switched else "Not drawn"
        notes.append(f"{said} ({plural(beside, 'switch')} in all).")
    return tuple(notes)
