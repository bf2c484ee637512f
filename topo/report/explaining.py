"""An answer in three sentences: what was computed, under which assumptions, what would change it."""

from __future__ import annotations

from dataclasses import dataclass

from topo.errors import ParameterError
from topo.report.explanations import EXPLANATIONS
from topo.result import Result

__all__ = ["Explanation", "explain"]

_MOST_ASSUMPTIONS = 3


@dataclass(frozen=True, slots=True)
class Explanation:
    """Three sentences about one answer; ``of`` is its title."""

    of: str
    computed: str
    assumes: str
    changes: str

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The three in reading order."""
        return self.computed, self.assumes, self.changes

    def to_dict(self) -> dict[str, str]:
        """Field names to text."""
        return {"of": self.of, "computed": self.computed, "assumes": self.assumes, "changes": self.changes}

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def explain(result: Result) -> Explanation:
    """Say in three sentences what an answer is: what was computed, what it assumes, what would change it.

    The first sentence ends with the answer's own main number and its standing; the second goes on with the
    assumptions that the answer itself states.

    >>> import topo
    >>> print(topo.explain(topo.oversubscription(topo.load("leaf-spine-2to1"))).computed)
    The capacity down over the capacity up, tier by tier; leaf tier: 2:1 ...

    :raises ParameterError: what is given is no answer of an analysis.
    """
    if not isinstance(result, Result):
        raise ParameterError(f"{type(result).__name__} is no answer that could be explained; give the result itself")
    found = next((EXPLANATIONS[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in EXPLANATIONS), None)
    if found is None:
        raise ParameterError(f"{type(result).__name__} has no explanation; it is a class of your own")
    what, assumes, changes = found
    return Explanation(
        type(result).title or type(result).__name__,
        f"{what}{_main_number(result)}.",
        f"This assumes that {assumes}{_own_assumptions(result)}.",
        f"What would change it: {changes}.",
    )


def _main_number(result: Result) -> str:
    """The row that is the answer in short: one that has a standing, else the first of all."""
    rows = result.rows()
    known = [row for row in rows if row.standing is not None]
    if not rows:
        return ""
    row = known[result.main_row] if known else rows[0]
    standing = f", {row.standing.kind}" if row.standing is not None else ""
    return f"; {row.label.strip()}: {row.text()}{standing}".rstrip(".")


def _own_assumptions(result: Result) -> str:
    """What the answer itself states, as far as it is short."""
    stated = getattr(result, "assumptions", ())
    listed = [stated] if isinstance(stated, str) else [str(one) for one in stated]
    if not listed:
        return ""
    more = len(listed) - _MOST_ASSUMPTIONS
    rest = f", and {more:,} more" if more > 0 else ""
    return "; " + "; ".join(one.rstrip(". ").replace(". ", ", ") for one in listed[:_MOST_ASSUMPTIONS]) + rest
