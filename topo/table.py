"""Tables of equal-length, really read-only columns; each column is declared once with dtype, unit and meaning."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import FabricError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Array",
    "Column",
    "Labels",
    "Table",
    "appended",
    "check_rows",
    "column",
    "freeze",
    "glob_mask",
    "grouped_order",
    "ranges",
    "repeated",
    "sealed",
]

Array = NDArray[Any]


def freeze(values: ArrayLike, dtype: Any = None) -> Array:
    """A read-only one-dimensional array that no writable array shares memory with.

    Arrays that are already read-only down to their owner are taken as they are; others are copied.

    >>> a = freeze([3, 1]); a.flags.writeable
    False
    """
    array = np.asarray(values)
    if dtype is not None and array.dtype != np.dtype(dtype):
        array = _converted(array, np.dtype(dtype))
    if _is_sealed(array):
        return array
    return sealed(array.copy())


def sealed(array: Array) -> Array:
    """The array itself, read-only from now on; for one that nobody else holds."""
    array.flags.writeable = False
    return array


def repeated(value: Any, length: int, dtype: Any = None) -> Array:
    """The same value on every row of a read-only column, at no cost in memory."""
    return np.broadcast_to(sealed(np.asarray(value, dtype=dtype)), (length,))


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "U":
        return array if array.dtype.kind == "U" else array.astype(str)
    converted: Array = array.astype(dtype)
    if dtype.kind in "iu" and array.size and not np.array_equal(converted, array):
        raise FabricError(f"values of {array.dtype} do not fit a column of {dtype} without loss")
    return sealed(converted)


def _is_sealed(array: Array) -> bool:
    current: Any = array
    while isinstance(current, np.ndarray):
        if current.flags.writeable:
            return False
        current = current.base
    return current is None or isinstance(current, bytes)


def glob_mask(labels: Array, patterns: str | Iterable[str]) -> NDArray[np.bool_]:
    """Which of ``labels`` match any of the shell-style ``patterns`` (``*``, ``?``, ``[...]``, case-sensitive).

    >>> glob_mask(np.array(["leaf-1", "spine-1"]), "leaf-*").tolist()
    [True, False]
    """
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    mask = np.zeros(len(labels), dtype=bool)
    for pattern in wanted:
        if pattern == "*":
            mask |= labels != ""
        elif not any(sign in pattern for sign in "*?["):
            mask |= labels == pattern
        else:
            match = re.compile(fnmatch.translate(pattern)).match
            mask |= np.fromiter((match(label) is not None for label in labels.tolist()), bool, len(labels))
            mask |= labels == pattern  # a name that itself contains brackets
    return mask


class Labels:
    """A column of names kept as integer ``codes`` into a table of distinct ``labels``; -1 is none.

    >>> rail = Labels.of(["r0", "r1", "r0", None])
    >>> rail.codes.tolist(), rail.labels.tolist(), rail[2]
    ([0, 1, 0, -1], ['r0', 'r1'], 'r0')
    """

    __slots__ = ("codes", "labels")
    codes: NDArray[np.int32]
    labels: NDArray[np.str_]

    def __init__(self, codes: ArrayLike, labels: ArrayLike) -> None:
        frozen_codes = freeze(codes, np.int32)
        frozen_labels = freeze(labels, np.str_) if len(np.asarray(labels)) else freeze(np.empty(0, "U1"))
        if frozen_codes.size:
            low, high = int(frozen_codes.min()), int(frozen_codes.max())
            if low < -1 or high >= len(frozen_labels):
                raise FabricError(f"codes {low}..{high} outside the table of {len(frozen_labels)} labels (-1 is none)")
        object.__setattr__(self, "codes", frozen_codes)
        object.__setattr__(self, "labels", frozen_labels)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Labels are read-only; {name!r} cannot be set")

    def __reduce__(self) -> tuple[object, ...]:
        return (Labels, (np.asarray(self.codes), np.asarray(self.labels)))

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Labels:
        """Code a sequence of names, labels in order of first appearance; ``None`` and '' are none."""
        table: dict[str, int] = {}
        codes = [table.setdefault(value, len(table)) if value else -1 for value in values]
        return cls(np.array(codes, np.int32), np.array(list(table), dtype=np.str_))

    @classmethod
    def constant(cls, label: str | None, length: int) -> Labels:
        """The same label on every row; takes no memory per row."""
        return cls(
            repeated(-1 if not label else 0, length, np.int32),
            np.array([label] if label else [], dtype=np.str_),
        )

    @classmethod
    def distinct(cls, names: ArrayLike) -> Labels:
        """One label of its own for every row."""
        return cls(np.arange(len(np.asarray(names)), dtype=np.int32), names)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        code = self.codes[row]
        return str(self.labels[code]) if code >= 0 else ""

    def values(self, rows: ArrayLike | None = None) -> NDArray[np.str_]:
        """The labels as text, '' where there is none, for all rows or the given ones."""
        codes = self.codes if rows is None else self.codes[np.asarray(rows)]
        if not len(self.labels):
            return np.full(len(codes), "", dtype="U1")
        if not codes.size or codes.min() >= 0:
            return self.labels[codes]
        return np.where(codes >= 0, self.labels[np.maximum(codes, 0)], "")

    def matches(self, patterns: str | Iterable[str]) -> NDArray[np.bool_]:
        """Which rows bear a label that matches any of the patterns."""
        hit = np.append(glob_mask(self.labels, patterns), False)
        mask: NDArray[np.bool_] = hit[self.codes]
        return mask

    def is_any(self, *labels: str) -> NDArray[np.bool_]:
        """Which rows bear exactly one of ``labels``."""
        wanted = np.append(np.isin(self.labels, labels), False)
        mask: NDArray[np.bool_] = wanted[self.codes]
        return mask

    def take(self, rows: Array) -> Labels:
        """The column restricted to ``rows``, with the same table of labels."""
        return Labels(sealed(self.codes[rows]), self.labels)

    def equals(self, other: Labels) -> bool:
        """Same text on every row; the order of the tables does not matter."""
        if len(self) != len(other):
            return False
        if np.array_equal(self.labels, other.labels):
            return bool(np.array_equal(self.codes, other.codes))
        return bool(np.array_equal(self.values(), other.values()))

    def __repr__(self) -> str:
        return f"Labels({len(self)} rows, {len(self.labels)} labels)"


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds: its dtype (or :class:`Labels`), unit, meaning and default."""

    dtype: Any
    meaning: str
    unit: str
    default: Any


def column(dtype: Any, meaning: str, *, unit: str = "", default: Any = None) -> Any:
    """Declare a column of a :class:`Table`; ``default`` fills it when it is not given."""
    return field(default=None, metadata={"column": Column(dtype, meaning, unit, default)})


class Table:
    """Equal-length read-only columns; subclasses are frozen dataclasses whose fields are :func:`column`.

    Columns left out take their default on every row, at no cost in memory.

    :raises FabricError: columns of different lengths or shapes.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        lengths = {name: len(value) for name in self.columns() if (value := getattr(self, name)) is not None}
        n = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != n:
                first = next(iter(lengths))
                raise FabricError(
                    f"{type(self).__name__}.{name} has {length} rows, {first} has {n}; all columns must be equal"
                )
        for name, spec in self.columns().items():
            object.__setattr__(self, name, _fill(type(self).__name__, name, spec, getattr(self, name), n))

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """The declared columns, in order."""
        return {f.name: f.metadata["column"] for f in fields(cls)}

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, rows: ArrayLike) -> Self:
        """The table restricted to ``rows`` (integers or a mask), in their order."""
        index = np.asarray(rows)
        picked: dict[str, Any] = {}
        for name in self.columns():
            value = getattr(self, name)
            picked[name] = value.take(index_rows(index)) if isinstance(value, Labels) else sealed(value[index])
        return type(self)(**picked)

    def equals(self, other: object) -> bool:
        """Same class, same rows, same values in every column (nan equals nan)."""
        if type(other) is not type(self) or len(self) != len(other):
            return False
        for name, spec in self.columns().items():
            a, b = getattr(self, name), getattr(other, name)
            if isinstance(a, Labels):
                if not a.equals(b):
                    return False
            elif not np.array_equal(a, b, equal_nan=np.dtype(spec.dtype).kind == "f"):
                return False
        return True

    def to_frame(self, rows: ArrayLike | None = None) -> pd.DataFrame:
        """A pandas DataFrame of all rows or the given ones, coded columns as text."""
        import pandas as pd

        index = np.arange(len(self)) if rows is None else index_rows(np.asarray(rows))
        data: dict[str, Any] = {}
        for name in self.columns():
            value = getattr(self, name)
            data[name] = value.values(index) if isinstance(value, Labels) else value[index]
        return pd.DataFrame(data, index=pd.Index(index, name="row"))

    def update_digest(self, digest: hashlib._Hash) -> None:
        """Feed every column into a running hash."""
        for name in self.columns():
            value = getattr(self, name)
            parts: Sequence[Array] = (value.codes, value.labels) if isinstance(value, Labels) else (value,)
            digest.update(name.encode())
            for part in parts:
                if part.strides == (0,) and part.size:
                    part = part[:1]
                digest.update(str((len(value), part.dtype.str)).encode())
                digest.update(np.ascontiguousarray(part).tobytes())

    def __reduce__(self) -> tuple[object, ...]:
        values = {name: _compact(getattr(self, name)) for name in self.columns()}
        return (_rebuild_table, (type(self), values, len(self)))


def index_rows(index: Array) -> Array:
    """Integer rows from integers or a mask."""
    return np.flatnonzero(index) if index.dtype == bool else index


def _fill(table: str, name: str, spec: Column, value: Any, n: int) -> Any:
    if spec.dtype is Labels:
        if value is None:
            return Labels.constant(spec.default, n)
        if not isinstance(value, Labels):
            return Labels.of(value)
        return value
    if value is None:
        if spec.default is None:
            raise FabricError(f"{table}.{name} must be given")
        return repeated(spec.default, n, spec.dtype)
    try:
        array = freeze(value, spec.dtype)
    except FabricError as error:
        raise FabricError(f"{table}.{name}: {error}") from None
    if array.ndim != 1:
        raise FabricError(f"{table}.{name} has {array.ndim} dimensions; a column has one")
    return array


def _compact(value: Any) -> Any:
    if isinstance(value, Labels):
        return (_compact(value.codes), np.asarray(value.labels))
    if value.strides == (0,) and value.size:
        return {"constant": value[:1].copy()}
    return np.asarray(value)


def _expand(value: Any, n: int) -> Any:
    if isinstance(value, tuple):
        return Labels(_expand(value[0], n), value[1])
    if isinstance(value, dict):
        return repeated(value["constant"][0], n)
    return sealed(value)


def _rebuild_table(kind: type[Table], values: dict[str, Any], n: int) -> Table:
    return kind(**{name: _expand(value, n) for name, value in values.items()})


def check_rows(rows: Array, n: int, what: str) -> Array:
    """``rows``, or one row alone, as integers, checked to lie in 0..n-1.

    :raises ParameterError: a row outside the table, or a mask of another length.
    """
    rows = np.atleast_1d(rows)
    if rows.dtype == bool:
        if len(rows) != n:
            raise ParameterError(f"a mask over {what} must have {n} entries, got {len(rows)}")
        return np.flatnonzero(rows)
    if rows.size and rows.dtype.kind not in "iu":
        raise ParameterError(f"rows of {what} must be integers, got {rows.dtype}")
    rows = rows.astype(np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        bad = int(rows.min()) if rows.min() < 0 else int(rows.max())
        raise ParameterError(f"row {bad} is outside the {n} {what}")
    return rows


_AnyTable = TypeVar("_AnyTable", bound=Table)


def appended(table: _AnyTable, n: int, **values: Any) -> _AnyTable:
    """The table with ``n`` rows behind its own; columns not given take their default.

    >>> import topo
    >>> nodes = topo.fat_tree(4).nodes
    >>> len(appended(nodes, 2, name=["a", "b"])) - len(nodes)
    2
    """
    columns: dict[str, Any] = {}
    for name, spec in table.columns().items():
        own = getattr(table, name)
        given = values.get(name)
        if spec.dtype is Labels:
            columns[name] = _appended_labels(own, given, spec.default, n)
        else:
            more: Array = repeated(spec.default, n, spec.dtype) if given is None else np.asarray(given, spec.dtype)
            columns[name] = np.concatenate([own, more]).astype(own.dtype if own.dtype.kind != "U" else np.str_)
    return type(table)(**columns)


def _appended_labels(own: Labels, given: Any, default: str | None, n: int) -> Labels:
    more = given if isinstance(given, Labels) else Labels.of(given if given is not None else [default] * n)
    names = {label: code for code, label in enumerate(own.labels.tolist())}
    lookup = np.array([names.setdefault(label, len(names)) for label in more.labels.tolist()] + [-1], np.int32)
    codes = np.concatenate([own.codes, lookup[more.codes]])
    return Labels(codes, np.array(list(names), np.str_))


def grouped_order(keys: Array, n: int) -> Array:
    """Stable order of 0..len(keys)-1 by key, in linear time (keys in 0..n-1).

    >>> grouped_order(np.array([1, 0, 1, 0]), 2).tolist()
    [1, 3, 0, 2]
    """
    from scipy.sparse import csr_array

    size = len(keys)
    if not size:
        return np.empty(0, np.int32)
    ones = np.ones(size, np.int8)
    matrix = csr_array((ones, keys.astype(np.int32, copy=False), np.arange(size + 1, dtype=np.int32)), shape=(size, n))
    return matrix.tocsc().indices


def ranges(start: Array, length: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows start[i] .. start[i] + length[i] - 1 one after another, and the i each belongs to.

    >>> [a.tolist() for a in ranges(np.array([5, 0]), np.array([2, 1]))]
    [[5, 6, 0], [0, 0, 1]]
    """
    owner = np.repeat(np.arange(len(length)), length)
    before = np.cumsum(length) - length
    return np.arange(len(owner)) + (start - before)[owner], owner
