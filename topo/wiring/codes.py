"""The codes a finding can bear: stable names, how grave each is, what it means and what mends it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CODES", "CONSEQUENCES", "HARMLESS", "SEVERITIES", "UNPRICED", "Code", "code_of"]

SEVERITIES = ("error", "warning", "note")
"""From grave to slight."""


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of fault: its stable name, its severity, what it says, and the usual fix.

    ``needs`` says what shows it: ``ports`` (one look at the ends), ``rule`` (a majority to differ from), ``design``.
    """

    code: str
    severity: str
    needs: str
    meaning: str
    fix: str


CODES: dict[str, Code] = {
    row.code: row
    for row in (
        # What the ends of the cables say by themselves.
        Code("port-used-twice", "error", "ports", "one port holds two cables", "give one of them a port of its own"),
        Code("link-ambiguous", "warning", "ports", "a port reports several far ends", "look which of them is plugged"),
        Code("link-one-sided", "warning", "ports", "only one end reports the link", "look at the silent end"),
        Code("breakout-conflict", "error", "ports", "a port and a leg of it are both used", "use the legs or the port"),
        Code("breakout-beyond", "error", "ports", "a leg beyond those the port splits into", "use a leg that exists"),
        Code("port-beyond", "error", "ports", "a port number above those the part has", "use a port that exists"),
        Code(
            "ports-too-many",
            "error",
            "ports",
            "more cables than the part has ports",
            "move cables off it, or use a larger switch",
        ),
        Code("rate-mismatch", "error", "ports", "the ports of a cable have different rates", "use ports of one rate"),
        Code("port-too-slow", "error", "ports", "a cable is faster than its port", "use a faster port"),
        Code(
            "cable-to-itself", "warning", "ports", "a cable joins a switch to itself", "remove it, or re-plug one end"
        ),
        Code("island", "error", "ports", "devices that no cable joins to the rest", "cable them to the fabric"),
        Code("name-duplicate", "warning", "ports", "several devices bear one name", "give each its own name"),
        Code("name-factory", "note", "ports", "adapters bear a factory name", "name them after host and adapter"),
        Code(
            "radix-gap", "note", "ports", "ports that every like switch leaves free", "check the port list of the part"
        ),
        # What differs from the majority.
        Code(
            "pair-thin",
            "error",
            "rule",
            "fewer parallel cables than between the like",
            "lay what is missing, or shut it",
        ),
        Code("pair-absent", "error", "rule", "no cable where the like have one", "lay the cables"),
        Code("pair-thick", "warning", "rule", "more parallel cables than between the like", "remove what is too many"),
        Code(
            "pair-unexpected", "error", "rule", "a cable between switches whose like have none", "remove or re-plug it"
        ),
        Code("pair-uneven", "error", "rule", "cable counts of a pair outside the spread of the rest", "even it out"),
        Code("same-tier-link", "error", "rule", "a cable inside one tier, where others have none", "re-plug one end"),
        Code("tier-skip-link", "error", "rule", "a cable that skips a tier, where others have none", "re-plug one end"),
        Code("uplinks-fewer", "error", "rule", "a switch with fewer uplinks than its peers", "lay the missing uplinks"),
        Code("links-unlike", "error", "rule", "a switch with another number of links than its peers", "even it out"),
        Code("spine-uneven", "warning", "rule", "a spine with other downlinks than its peers", "even it out"),
        Code(
            "oversubscription-unlike", "warning", "rule", "a leaf narrower than its peers", "move hosts or add uplinks"
        ),
        Code("link-slow", "error", "rule", "a link slower than its siblings", "reseat or change the cable"),
        Code("part-mismatch", "warning", "rule", "a switch of another part than its peers", "check the part"),
        Code(
            "leaf-missing",
            "error",
            "rule",
            "a whole leaf is missing: a rail of one unit ends nowhere",
            "connect the leaf",
        ),
        Code(
            "rail-swap", "error", "rule", "adapters of a host plugged into each other's rails", "exchange their cables"
        ),
        Code(
            "rail-wrong", "error", "rule", "an adapter on the leaf of another rail", "plug it into its own rail's leaf"
        ),
        Code("rail-leaves-unit", "error", "rule", "an adapter on a leaf of another unit", "plug it into its own unit"),
        Code("nic-missing", "error", "rule", "a host shows fewer adapters than its peers", "look at adapter and cable"),
        Code("nic-unnamed", "note", "rule", "an unnamed adapter sits where a host's should", "name it after its host"),
        Code("port-irregular", "note", "rule", "right leaf, other port than the host's peers", "none needed"),
        Code("port-off-pattern", "note", "rule", "cables of a bundle crossed at their ports", "none needed"),
        Code(
            "planes-touch",
            "error",
            "rule",
            "a cable joins planes that are apart",
            "re-plug it in its plane, or remove it",
        ),
        Code("planes-apart", "error", "rule", "a plane in parts that no cable joins", "join them as the others are"),
        Code("pattern-other", "note", "rule", "a switch cabled to a pattern of its own, total alike", "none needed"),
        Code("rule-not-learnt", "note", "rule", "too few agree to tell what is normal", "give the design (--against)"),
        # What differs from the design, or, for the first four, from what the majority says the design is.
        Code("swapped", "error", "design", "two cables exchanged an end", "exchange the two ends"),
        Code("rotated", "error", "design", "cables plugged around a circle", "move each to the port of the next"),
        Code("shifted", "error", "design", "a row of cables off by a step", "move each, from the free end on"),
        Code("miswired", "error", "design", "one end of a cable in a wrong place", "move that end"),
        Code("missing", "error", "design", "a planned cable is missing", "lay it"),
        Code("unplanned", "warning", "design", "a cable that no plan has", "remove it, or plan it"),
        Code("device-missing", "error", "design", "a planned device is missing, and its cables", "install it"),
        Code("device-extra", "warning", "design", "a device that no plan has", "remove it, or plan it"),
        Code(
            "devices-exchanged", "warning", "design", "a device stands where the plan has another", "rename or exchange"
        ),
        Code(
            "device-mistyped", "warning", "design", "rows that write a planned switch otherwise", "write its name alike"
        ),
        Code("rate-unlike-plan", "error", "design", "a link slower than planned", "reseat or change the cable"),
        Code("adapter-unlike-plan", "error", "design", "other adapter of the planned host", "use the planned adapter"),
        Code("wrong-design", "error", "design", "too little in common to compare", "give the design of this fabric"),
        Code("spelling", "error", "design", "most differences are one spelling", "spell the ports alike"),
        Code("accept-expired", "warning", "ports", "an accepted deviation whose time is over", "mend it, or renew it"),
        Code("accept-unused", "note", "ports", "an accepted deviation that is not found", "take it off the list"),
    )
}

CONSEQUENCES: dict[str, str] = {
    "port-used-twice": "only one of the cables can be plugged, at best the fastest; what hangs on the rest has no link",
    "link-ambiguous": "at most one of these cables is there; numbers for either path may be too good",
    "link-one-sided": "the link may be down; no number counts on it",
    "breakout-conflict": "the legs share the lanes of the port: either comes up; what carries less is lost at least",
    "breakout-beyond": "the leg has no lanes: what hangs on it has no link here",
    "port-beyond": "there is no such port: what is to hang on it has no link here",
    "ports-too-many": "the cables beyond the part's ports have no link here",
    "rate-mismatch": "the link runs at the lower rate, or stays down",
    "port-too-slow": "the link runs at the port's rate, or stays down",
    "cable-to-itself": "carries nothing itself; what is flooded may go round",
    "island": "what is in it reaches nothing else",
    "name-duplicate": "loses nothing by itself; work at one of them may be done at the other",
    "name-factory": "loses nothing by itself; a swapped rail is not seen there",
    "radix-gap": "loses nothing by itself; a cable planned there finds no port",
    "pair-thin": "hop-by-hop ECMP still sends the whole share of the pair over what is left",
    "pair-absent": "the two reach each other over others only; their uplinks are fewer",
    "pair-thick": "takes ports that another pair may lack; equal shares do not use it fully",
    "pair-unexpected": "draws paths to itself that it is too thin for",
    "pair-uneven": "equal shares over unequal pairs fill the thin ones first",
    "same-tier-link": "takes two ports and carries at most what these two switches say to each other",
    "tier-skip-link": "is the shorter path and draws to itself what many cables should share",
    "uplinks-fewer": "what is below it shares fewer cables upwards than elsewhere",
    "links-unlike": "paths through it are more or fewer than through its peers",
    "spine-uneven": "equal shares over unequal spines fill the thin ones first",
    "oversubscription-unlike": "more hosts share each of its uplinks than at its peers",
    "link-slow": "equal shares are as slow as the slowest link of the group",
    "part-mismatch": "cables above its ports or rates are findings of their own; its buffers and its delay may differ",
    "leaf-missing": "the hosts of the unit run without one rail",
    "rail-swap": "traffic of these rails crosses the spines that should stay on one leaf",
    "rail-wrong": "traffic of this rail crosses the spines that should stay on one leaf",
    "rail-leaves-unit": "its traffic crosses the spines that should stay in the unit",
    "nic-missing": "the host runs at the rate of the adapters it has left",
    "nic-unnamed": "loses nothing by itself; the adapter is taken for that of no host",
    "port-irregular": "loses nothing",
    "port-off-pattern": "loses nothing; the port map on paper is wrong here",
    "planes-touch": "the short way between the planes draws what many cables should share",
    "planes-apart": "what sits in one part does not reach the others by this plane",
    "pattern-other": "as many cables as its peers have; single pairs are thicker and thinner than elsewhere",
    "rule-not-learnt": "loses nothing by itself; single wrong cables are not seen here",
    "swapped": "changes which paths cross; the port map on paper is wrong here",
    "rotated": "changes which paths cross; the port map on paper is wrong here",
    "shifted": "changes which paths cross; the port map on paper is wrong here",
    "miswired": "one path is too many and another is missing",
    "missing": "its capacity is not there",
    "unplanned": "takes ports that the plan may need",
    "device-missing": "all paths through it are missing",
    "device-extra": "takes ports that the plan may need",
    "devices-exchanged": "loses nothing; work at one of them is done at another",
    "device-mistyped": "loses nothing by itself; who pulls these cables looks for a switch that is not there",
    "rate-unlike-plan": "equal shares are as slow as the slowest link of the group",
    "adapter-unlike-plan": "the planned adapter has no link; what runs on it gets nothing",
    "wrong-design": "nothing is compared",
    "spelling": "loses nothing by itself; ports are not compared: exchanged cables of a device are not seen",
    "accept-expired": "loses nothing by itself; the finding it accepted says what that loses",
    "accept-unused": "loses nothing",
}
"""What each means for those who use the fabric, in words."""

HARMLESS = frozenset({
    "cable-to-itself", "name-duplicate", "name-factory", "radix-gap", "nic-unnamed", "port-irregular",
    "port-off-pattern", "rule-not-learnt", "devices-exchanged", "device-mistyped", "spelling", "accept-expired",
    "accept-unused",
})  # fmt: skip
"""Codes that lose no rate, whatever the fabric: 0 Gb/s where no cable of theirs is priced."""

UNPRICED: dict[str, str] = {
    "link-ambiguous": "nobody knows which of the cables is there",
    "link-one-sided": "nobody knows whether the link is up",
    "ports-too-many": "nobody knows which of the cables have no port",
    "rate-mismatch": "nobody knows whether the link comes up",
    "port-too-slow": "nobody knows whether the link comes up",
    "pair-uneven": "numbers alone do not tell which cables are wrong",
    "uplinks-fewer": "numbers alone do not tell which cables lack",
    "links-unlike": "numbers alone do not tell which cables are wrong",
    "spine-uneven": "numbers alone do not tell which cables are wrong",
    "part-mismatch": "what this part can do is not known",
    "pattern-other": "its pattern is taken for meant, and no other is known",
    "planes-apart": "the cables that are missing are priced each",
    "wrong-design": "the two have too little in common",
}
"""Why no price can be told of a finding of each code that names no cable to lay or to remove."""


def code_of(code: str) -> Code:
    """The row of a code.

    >>> code_of("rail-swap").severity
    'error'
    """
    return CODES[code]
