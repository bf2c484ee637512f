"""What fabrics are held side by side by: each measure with its words, its text and which way is better."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topo.design.numbers import FabricNumbers, share_text
from topo.result import Standing
from topo.units import format_gbps, format_number

__all__ = ["JUDGED", "MEASURES", "MeasureOf", "cables_by_kind", "standing_rows", "standings_of"]

Number = float | None
_RATE = re.compile(r" (\d+ x )?\d[\d.x]*G\b.*$")


@dataclass(frozen=True, slots=True)
class MeasureOf:
    """One line of a comparison: ``value`` is compared and ``text`` shown; ``better`` is +1 for more, -1 for less.

    ``head`` is the short name of a column, ``phrase`` how a sentence calls it, ``tolerance`` the relative difference
    below which two values count as equal, ``margin`` half the interval of a value that was sampled.
    """

    key: str
    label: str
    head: str
    text: Callable[[FabricNumbers], str]
    value: Callable[[FabricNumbers], Number] | None = None
    better: int = 0
    phrase: str = ""
    tolerance: float = 0.0
    standing: Callable[[FabricNumbers], Standing | None] | None = None
    margin: Callable[[FabricNumbers], Number] | None = None


def _whole(value: float | None) -> str:
    return "-" if value is None else format_number(round(value))


def _counts(of: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in of.items()) or "-"


def _bisection(found: FabricNumbers) -> str:
    share = found.bisection_share
    if share is None:
        return "-"
    low, high = (share_text(value) for value in share)
    return high if low == high else f"{low.removesuffix(' %')}-{high}"


def _gbps(value: float | None) -> str:
    return "-" if value is None else format_gbps(value)


MEASURES: tuple[MeasureOf, ...] = (
    MeasureOf("n_endpoints", "endpoints", "ends", lambda n: f"{n.n_endpoints:,}", lambda n: n.n_endpoints),
    MeasureOf("n_hosts", "hosts", "hosts", lambda n: f"{n.n_hosts:,}", lambda n: n.n_hosts),
    MeasureOf("endpoint_gbps", "rate of an endpoint", "Gb/s", lambda n: _gbps(n.endpoint_gbps),
              lambda n: n.endpoint_gbps),
    MeasureOf("link_gbps", "rates of links, Gb/s", "rates",
              lambda n: ", ".join(format_number(rate) for rate in n.link_gbps) or "-"),
    MeasureOf("n_tiers", "tiers", "tiers", lambda n: str(n.n_tiers), lambda n: n.n_tiers),
    MeasureOf("n_planes", "planes", "planes", lambda n: str(n.n_planes), lambda n: n.n_planes),
    MeasureOf("n_switches", "switches", "switches", lambda n: f"{n.n_switches:,}", lambda n: n.n_switches, -1,
              "switches"),
    MeasureOf("switches", "switches by tier", "by tier", lambda n: _counts(n.switches)),
    MeasureOf("n_host_links", "host links", "host links", lambda n: f"{n.n_host_links:,}", lambda n: n.n_host_links),
    MeasureOf("n_fabric_links", "fabric links", "fabric links", lambda n: f"{n.n_fabric_links:,}",
              lambda n: n.n_fabric_links),
    MeasureOf("n_cables", "cables", "cables", lambda n: _whole(n.n_cables), lambda n: n.n_cables, -1, "cables"),
    MeasureOf("cables", "cables by kind", "by kind", lambda n: _counts(n.cables)),
    MeasureOf("n_copper", "copper cables", "copper", lambda n: _whole(n.n_copper), lambda n: n.n_copper),
    MeasureOf("n_optical", "optical cables", "optical", lambda n: _whole(n.n_optical), lambda n: n.n_optical),
    MeasureOf("n_transceivers", "transceivers", "optics", lambda n: _whole(n.n_transceivers),
              lambda n: n.n_transceivers, -1, "transceivers"),
    MeasureOf("power_kw", "power, kW, of switches and optics", "kW", lambda n: _short(n.power_kw),
              lambda n: n.power_kw, -1, "power", 0.005, lambda n: Standing("model", "published power, without hosts")),
    MeasureOf("price", "price of switches, cables, optics", "price", lambda n: _price(n), lambda n: n.price, -1,
              "price", 0.005, lambda n: n.price_standing),
    MeasureOf("diameter_hops", "diameter, hops", "hops", lambda n: _whole(n.diameter_hops), lambda n: n.diameter_hops,
              -1, "diameter"),
    MeasureOf("mean_hops", "mean distance, hops", "mean", lambda n: _short(n.mean_hops), lambda n: n.mean_hops),
    MeasureOf("joined_share", "pairs joined by the network", "joined", lambda n: share_text(n.joined_share),
              lambda n: n.joined_share, 1, "share of pairs joined", 0.001),
    MeasureOf("bisection", "bisection, of full", "bisection", _bisection,
              lambda n: None if n.bisection_share is None else n.bisection_share[0], 1, "bisection", 0.01,
              lambda n: n.bisection_standing),
    MeasureOf("even_share", "all-to-all, ECMP divided evenly, of line rate", "even", lambda n: share_text(n.even_share),
              lambda n: n.even_share, 1, "all-to-all rate", 0.01,
              lambda n: Standing("exact", "fluid even split over all shortest paths")),
    MeasureOf("hashed_share", "permutation, ECMP hashed, of line rate", "hashed",
              lambda n: _sampled(n.hashed_share, n.hashed_margin), lambda n: n.hashed_share, 1, "hashed rate", 0.02,
              lambda n: n.hashed_standing, lambda n: n.hashed_margin),
    MeasureOf("n1_share", "left of the all-to-all, worst switch or cable down", "N-1", lambda n: _at_most(n),
              lambda n: n.n1_share, 1, "what N-1 leaves", 0.01,
              lambda n: n.n1_standing),
    MeasureOf("n1_cut_off", "endpoints cut off by the worst switch", "cut off", lambda n: _whole(n.n1_cut_off),
              lambda n: n.n1_cut_off, -1, "endpoints that one switch cuts off"),
)  # fmt: skip
"""All measures in reading order."""

JUDGED: tuple[MeasureOf, ...] = tuple(measure for measure in MEASURES if measure.better)
"""Those by which one fabric can be better than another."""


def _short(value: float | None) -> str:
    return "-" if value is None else format_number(value, 3)


def cables_by_kind(found: FabricNumbers) -> dict[str, int]:
    """Cables by what they are made of, whatever their rate: passive copper, multimode fibre, ..."""
    out: dict[str, int] = {}
    for name, count in found.cables.items():
        kind = _RATE.sub("", name)
        out[kind] = out.get(kind, 0) + count
    return out


def _sampled(share: float | None, margin: float | None) -> str:
    """A share in percent with half its interval, to the digit that the interval leaves.

    >>> _sampled(0.53263, 0.0123), _sampled(0.53263, 0.00123), _sampled(0.5, 0.0)
    ('53 ±1 %', '53.3 ±0.1 %', '50 %')
    """
    if share is None or not margin:
        return share_text(share)
    digits = 1 if margin < 0.0095 else 0
    return f"{100 * share:.{digits}f} ±{max(100 * margin, 0.1**digits):.{digits}f} %"


def _at_most(found: FabricNumbers) -> str:
    """What N-1 leaves, marked where some element that was not tried may leave less."""
    bound = found.n1_standing is not None and found.n1_standing.kind == "upper bound"
    return f"≤{share_text(found.n1_share)}" if bound and found.n1_share is not None else share_text(found.n1_share)


def _price(found: FabricNumbers) -> str:
    if found.price is None:
        return "-"
    more = "from " if found.unpriced else ""
    return f"{more}{format_number(found.price / 1e6, 4)} M{found.currency}"


def standing_rows(names: Sequence[str], fabrics: Sequence[FabricNumbers]) -> tuple[tuple[str, str, str], ...]:
    """How sure each measure is: its phrase, of which fabrics ('' for all), and the standing; those alike once."""
    out = []
    for measure in MEASURES:
        if measure.standing is None:
            continue
        groups: dict[str, list[str]] = {}
        for name, found in zip(names, fabrics, strict=True):
            groups.setdefault(str(measure.standing(found) or "not computed"), []).append(name)
        for said, of in groups.items():
            out.append((measure.phrase or measure.label, "" if len(groups) == 1 else ", ".join(of), said))
    return tuple(out)


def standings_of(names: Sequence[str], fabrics: Sequence[FabricNumbers]) -> tuple[str, ...]:
    """The rows of :func:`standing_rows`, a sentence each."""
    return tuple(f"{phrase}{f' ({of})' if of else ''}: {said}" for phrase, of, said in standing_rows(names, fabrics))
