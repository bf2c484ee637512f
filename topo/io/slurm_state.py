"""Which hosts are free, from ``sinfo`` and ``squeue`` as people paste them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from topo.errors import FormatError
from topo.fabric import Fabric, Note
from topo.io.hostlist import expand_hosts
from topo.io.notes import NoteBook, quoted
from topo.io.text import read_text

__all__ = ["ClusterState", "cluster_state_of_text", "read_cluster_state"]

_STATES = {
    "allocated": "alloc", "mixed": "mix", "completing": "comp", "reserved": "resv", "planned": "plnd",
    "drained": "drain", "draining": "drng", "unknown": "unk", "failing": "failg", "power_down": "pow_dn",
    "power_up": "pow_up", "powering_down": "pow_dn", "powering_up": "pow_up", "reboot": "boot", "future": "futr",
}  # fmt: skip
_BUSY = frozenset({"alloc", "mix", "comp"})
_KNOWN = frozenset(
    re.findall(
        r"\w+",
        "idle alloc mix comp resv plnd drain drng down fail failg maint unk boot blocked inval npc futr no_respond "
        "pow_dn pow_up perfctrs error",
    )
)
_SUFFIX = "*~#!%$@^-+"
_RUNNING = frozenset({"R", "RUNNING", "CG", "COMPLETING", "S", "SUSPENDED", "CF", "CONFIGURING", "SO", "SI", "ST"})
_SINFO = ("PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class ClusterState:
    """Hosts by what a scheduler said of them at one moment.

    ``idle`` are free; ``busy`` run a job (alloc, mix, comp); ``unavailable`` are neither (drained, down, reserved,
    planned, in maintenance, or with a suffix such as ``idle~``). ``by_state`` keeps every state as it was printed, for
    callers who count some of them as free; ``jobs`` maps job ids to hosts where ``squeue`` told them. A host that is
    not named is in no set: take it for unavailable.
    """

    idle: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()
    unavailable: frozenset[str] = frozenset()
    by_state: dict[str, frozenset[str]] = field(default_factory=dict)
    jobs: dict[str, frozenset[str]] = field(default_factory=dict)
    source: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def hosts(self) -> frozenset[str]:
        """Every host that was named."""
        return self.idle | self.busy | self.unavailable

    def unknown_to(self, fabric: Fabric) -> tuple[str, ...]:
        """The hosts named here that a fabric does not have, in order."""
        known = set(fabric.nodes.host.labels.tolist())
        return tuple(sorted(self.hosts - known))

    def with_free(self, *states: str) -> ClusterState:
        """The same moment with hosts of other states counted as idle: ``with_free("plnd", "idle~")``."""
        extra = frozenset[str]().union(*(self.by_state.get(state, frozenset()) for state in states))
        return ClusterState(
            self.idle | extra,
            self.busy - extra,
            self.unavailable - extra,
            self.by_state,
            self.jobs,
            self.source,
            self.notes,
        )


def read_cluster_state(path: str | Path) -> ClusterState:
    """The state in a file (or ``-``) with the output of ``sinfo`` or ``squeue``; see :func:`cluster_state_of_text`.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "sinfo.txt")
    >>> _ = path.write_text("STATE NODELIST\\nidle n[1-2]\\nalloc n3\\n")
    >>> sorted(read_cluster_state(path).idle)
    ['n1', 'n2']
    >>> folder.cleanup()

    :raises InputError: the file cannot be read.
    """
    return cluster_state_of_text(*read_text(path))


def cluster_state_of_text(text: str, source: str = "") -> ClusterState:
    """The hosts by state in the output of ``sinfo`` (any columns with STATE and NODELIST, ``-N`` too) or ``squeue``.

    Columns are known by the header; without one, by the six of a plain ``sinfo``. A host in several partitions counts
    once, by the worst of what is said of it: unavailable, then busy, then idle.

    >>> state = cluster_state_of_text('''PARTITION AVAIL TIMELIMIT NODES STATE NODELIST
    ... gpu* up infinite 2 idle n[1-2]
    ... gpu* up infinite 1 alloc n3
    ... gpu* up infinite 1 drain* n4
    ... ''')
    >>> sorted(state.idle), sorted(state.busy), sorted(state.unavailable)
    (['n1', 'n2'], ['n3'], ['n4'])

    :raises FormatError: no header with a state and a node list and no row as a plain ``sinfo`` prints it.
    :raises InputError: a malformed host list, with its line and position.
    """
    notes = NoteBook(source)
    columns: tuple[str, ...] = ()
    states: dict[str, set[str]] = {}
    jobs: dict[str, set[str]] = {}
    good = odd = 0
    first = ""
    for number, raw in enumerate(text.split("\n"), 1):
        words = _WORD.findall(raw)
        header = _header(words)
        if header:
            columns = header
            continue
        if not words or (not columns and not _is_plain(words)):
            if words:
                odd += 1
                first = first or raw.strip()
                notes.add("line not understood", quoted(raw.strip()), number, severity="warning")
            continue
        row = dict(zip(columns or _SINFO, words, strict=False))
        if _take(row, states, jobs, notes, source, number):
            good += 1
        else:
            odd += 1
            first = first or raw.strip()
            notes.add("line not understood", quoted(raw.strip()), number, severity="warning")
    if not good or odd > good:
        said = f"the first odd line reads {quoted(first)}" if first else "no row in it"
        raise FormatError(
            f"not the output of sinfo or squeue: {said}; give one with the columns STATE and NODELIST",
            path=source or None,
        )
    return _settled(states, jobs, source, notes)


def _header(words: list[str]) -> tuple[str, ...]:
    upper = tuple(word.upper() for word in words)
    has_list = any(word.startswith(("NODELIST", "HOSTNAMES", "NODES_LIST")) for word in upper)
    if not has_list or not any(word in ("STATE", "ST", "STATECOMPACT", "JOBID") for word in upper):
        return ()
    return upper


def _is_plain(words: list[str]) -> bool:
    return len(words) >= 6 and _state(words[4])[0] in _KNOWN and words[3].isdecimal()


def _state(word: str) -> tuple[str, str]:
    """State in its short form, and its suffix."""
    plain = word.lower().rstrip(_SUFFIX)
    return _STATES.get(plain, plain), word[len(plain) :]


def _take(
    row: dict[str, str],
    states: dict[str, set[str]],
    jobs: dict[str, set[str]],
    notes: NoteBook,
    source: str,
    line: int,
) -> bool:
    """One row into the sets; whether it was understood."""
    listed = next((row[key] for key in row if key.startswith(("NODELIST", "HOSTNAMES", "NODES_LIST"))), "")
    if "JOBID" in row:
        running = row.get("ST", row.get("STATE", "")).upper() in _RUNNING
        if not running or listed.startswith("("):
            return bool(row.get("ST") or row.get("STATE"))  # a job that waits holds no host
        if not listed:
            return False
        hosts = expand_hosts(listed, path=source or None, line=line)
        jobs.setdefault(row["JOBID"], set()).update(hosts)
        states.setdefault("alloc", set()).update(hosts)
        return True
    word = row.get("STATE") or row.get("ST") or row.get("STATECOMPACT") or ""
    state, suffix = _state(word)
    if not word or not listed or listed.lower() in ("(null)", "n/a"):
        return bool(word) and row.get("NODES", "") == "0"
    hosts = expand_hosts(listed, path=source or None, line=line)
    if state not in _KNOWN and not set(state) <= set("abcdefghijklmnopqrstuvwxyz_+"):
        return False
    if state not in _KNOWN:
        notes.add("state of an unknown kind, taken for unavailable", quoted(word), line, severity="warning")
    said = row.get("NODES", "")
    if said.isdecimal() and len(said) < 10 and int(said) != len(hosts) and "NODELIST" in row and int(said) > 1:
        notes.add("a row counts other than it lists", f"NODES {said}, {len(hosts)} listed", line, severity="warning")
    states.setdefault(state + suffix, set()).update(hosts)
    return True


def _settled(states: dict[str, set[str]], jobs: dict[str, set[str]], source: str, notes: NoteBook) -> ClusterState:
    def of(keys: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(states[key] for key in keys))

    busy_keys = [key for key in states if key.rstrip(_SUFFIX) in _BUSY and key[-1:] not in "*!%"]
    unavailable = of(key for key in states if key != "idle" and key not in busy_keys)
    busy = of(busy_keys) - unavailable
    idle = of(key for key in states if key == "idle") - unavailable - busy
    return ClusterState(
        idle,
        busy,
        unavailable,
        {key: frozenset(hosts) for key, hosts in states.items()},
        {job: frozenset(hosts) for job, hosts in jobs.items()},
        source,
        notes.notes(),
    )
