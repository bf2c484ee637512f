"""Lists of host names in Slurm's compressed form."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["folded"]

_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)\Z", re.DOTALL)


def folded(names: Iterable[str]) -> str:
    """Host names as Slurm writes them: sorted, the last number of each name as ranges in brackets.

    A folded list is a set: it loses the order of ranks.

    >>> folded(["n1-08", "n1-07", "n1-12", "n2-01", "login"])
    'login,n1-[07-08,12],n2-01'
    """
    groups: dict[tuple[str, str, int], set[int]] = {}
    plain: set[str] = set()
    for name in names:
        match = _NUMBERED.match(name)
        if match is None:
            plain.add(name)
            continue
        head, digits, tail = match.groups()
        # Width tells 7 from 07; names without leading zeros may grow wider inside one range.
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        groups.setdefault((head, tail, width), set()).add(int(digits))
    groups = _joined(groups)
    out = [(name, name) for name in plain]
    for (head, tail, width), numbers in groups.items():
        out.append((head, f"{head}{_ranges(sorted(numbers), width)}{tail}"))
    return ",".join(text for _, text in sorted(out))


def _joined(groups: dict[tuple[str, str, int], set[int]]) -> dict[tuple[str, str, int], set[int]]:
    """Numbers as wide as a padded group of the same name belong to it: 08, 09, 10 are one range."""
    out = {key: set(numbers) for key, numbers in groups.items()}
    for (head, tail, width), numbers in groups.items():
        loose = out.get((head, tail, 0))
        if not width or not loose:
            continue
        fitting = {number for number in loose if len(str(number)) == width}
        out[head, tail, width] = numbers | out[head, tail, width] | fitting
        loose -= fitting
        if not loose:
            del out[head, tail, 0]
    return out


def _ranges(numbers: list[int], width: int) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    said = [f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in runs]
    return said[0] if len(numbers) == 1 else f"[{','.join(said)}]"
