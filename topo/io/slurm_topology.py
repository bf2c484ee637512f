"""Read what Slurm is told of the network: topology.conf (tree and block) and ``scontrol show topology``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from topo.errors import FormatError, InputError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.hostlist import expand_hosts
from topo.io.tree import TreeNode, fabric_of_tree

__all__ = ["SlurmTopology", "block_sizes_of", "is_slurm_topology", "parse_slurm_topology", "read_slurm_topology"]

_RECORD = re.compile(r"^[ \t]*(?:SwitchName|BlockName)[ \t]*=", re.IGNORECASE | re.MULTILINE)
_PAIR = re.compile(r"([A-Za-z]+)[ \t]*=[ \t]*([^\s#]*)")
_KNOWN = {"switchname", "switches", "nodes", "linkspeed", "level", "blockname", "blocksizes", "blocksize", "blockindex"}
_MOST_NAMES = 8_000_000
_SIZES_SAID = "block sizes "


@dataclass(slots=True)
class SlurmTopology:
    """A topology as Slurm takes it: switches of a tree, or blocks of hosts with their sizes.

    ``block_sizes`` are the sizes of aggregated blocks in hosts, smallest first; empty where the file states none.
    """

    switches: list[TreeNode] = field(default_factory=list)
    blocks: list[TreeNode] = field(default_factory=list)
    block_sizes: tuple[int, ...] = ()
    sizes_line: int = 0
    name: str = ""

    def check(self, book: CableBook) -> None:
        """Refuse what Slurm refuses.

        :raises FormatError: a tree and blocks in one, nothing at all, a name twice, an empty switch or block, block
            sizes that are no positive multiples by powers of two.
        """
        if self.switches and self.blocks:
            raise self._wrong(book, "switches and blocks in one topology; they exclude each other", self.blocks[0].line)
        if not self.switches and not self.blocks:
            raise self._wrong(book, "no switch and no block in it; an empty topology is of no use", 0)
        seen: dict[str, int] = {}
        for node in (*self.switches, *self.blocks):
            if node.name in seen:
                raise self._wrong(book, f"{node.name!r} is defined twice, first at line {seen[node.name]}", node.line)
            seen[node.name] = node.line
            if not node.children and not node.hosts:
                raise self._wrong(book, f"{node.name!r} has nothing below it; give it Nodes or leave it out", node.line)
        self._check_sizes(book)

    def _check_sizes(self, book: CableBook) -> None:
        base = self.block_sizes[0] if self.block_sizes else 1
        for size in self.block_sizes:
            if size <= 0 or size % base or (size // base) & (size // base - 1):
                said = f"block size {size} is not {base} times a power of two" if size > 0 else f"block size {size}"
                raise self._wrong(
                    book, f"{said}; Slurm takes positive sizes, each the base times 1, 2, 4, ...", self.sizes_line
                )
        for block in self.blocks:
            if len(block.hosts) < base and self.block_sizes:
                said = f"{block.name} has {len(block.hosts)} hosts, the base is {base}"
                book.notes.add("block smaller than the base block size", said, block.line, severity="warning")

    def _wrong(self, book: CableBook, said: str, line: int) -> FormatError:
        return FormatError(said, path=book.source or None, line=line or None)

    def to_fabric(self, book: CableBook) -> Fabric:
        """The fabric of the tree, or of the blocks as leaves that are scale-up domains too, joined by a stand-in."""
        if self.blocks:
            book.assumptions.append("a block is drawn as a switch over its hosts, and is their scale-up domain")
            if self.block_sizes:
                sizes = ", ".join(map(str, self.block_sizes))
                book.notes.add(f"{_SIZES_SAID}{sizes}: blocks are joined, in the order of the file, into larger ones")
        domains = {host: block.name for block in self.blocks for host in block.hosts}
        nodes = self.switches or self.blocks
        if len(self.blocks) > 1:
            name = self._stand_in()
            book.assumptions.append(f"the file does not name what joins the blocks; the switch {name} stands for it")
            nodes = [*nodes, TreeNode(name, [block.name for block in self.blocks])]
        return fabric_of_tree(book, nodes, name=self.name, domains=domains)

    def _stand_in(self) -> str:
        """A name that no block and no host bears."""
        taken = {block.name for block in self.blocks}.union(*(block.hosts for block in self.blocks))
        name = "between-blocks"
        while name in taken:
            name += "-"
        return name


def is_slurm_topology(head: str) -> bool:
    """Whether any line defines a switch or a block."""
    return _RECORD.search(head) is not None


def read_slurm_topology(text: str, source: str = "") -> Fabric:
    """The fabric in a ``topology.conf`` or the output of ``scontrol show topology``: kinds, tiers, hosts; no rates.

    One link of unknown rate stands between a node and the switch above it. Where a switch lists both its switches and
    all the hosts below, as scontrol prints it, the hosts are those of its leaves, checked against the list. Blocks
    become leaves, and the scale-up domain of their hosts. Links state no rate: LinkSpeed is a number without a unit.

    >>> fabric = read_slurm_topology('''
    ... SwitchName=root Switches=leaf[1-2]
    ... SwitchName=leaf1 Nodes=n[01-02]
    ... SwitchName=leaf2 Nodes=n[03-04]
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.nodes.tier.tolist()
    (['root', 'leaf1', 'leaf2', 'n01', 'n02', 'n03', 'n04'], [2, 1, 1, 0, 0, 0, 0])

    :raises FormatError: what Slurm refuses: an undefined, doubled or empty switch, a circle, bad block sizes.
    :raises InputError: a malformed host list, with its line and position.
    """
    book = CableBook(source, "read_slurm_topology")
    found = parse_slurm_topology(text, book)
    found.check(book)
    return found.to_fabric(book)


def block_sizes_of(fabric: Fabric) -> tuple[int, ...]:
    """BlockSizes of the file that a fabric was read from; none where it stated none.

    >>> block_sizes_of(read_slurm_topology("BlockName=b1 Nodes=n[1-4]\\nBlockName=b2 Nodes=n[5-8]\\nBlockSizes=4,8\\n"))
    (4, 8)
    """
    for note in fabric.origin.notes:
        found = re.match(_SIZES_SAID + r"([\d, ]+):", note.text)
        if found:
            return tuple(int(size) for size in found[1].split(","))
    return ()


def parse_slurm_topology(text: str, book: CableBook) -> SlurmTopology:
    """The records of a topology.conf as a value; what is not understood goes to the book's notes.

    :raises FormatError: more lines that do not fit than lines that do.
    :raises InputError: more names than can be held.
    """
    found = SlurmTopology()
    total = 0
    good = odd = 0
    for number, raw in _joined_lines(text):
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        pairs = {key.lower(): value for key, value in _PAIR.findall(line)}
        if not pairs.keys() & {"switchname", "blockname", "blocksizes"}:
            book.misfit("line not understood", line, number)
            odd += 1
            continue
        good += 1
        for key in pairs.keys() - _KNOWN:
            book.notes.add("key not understood", f"{key}={pairs[key]}", number, severity="warning")
        if "blocksizes" in pairs:
            found.block_sizes, found.sizes_line = _sizes(pairs["blocksizes"], book.source, number), number
        if "switchname" in pairs or "blockname" in pairs:
            total += _add(found, pairs, book, number)
            if total > _MOST_NAMES:
                raise InputError(f"more than {_MOST_NAMES:,} names in all", path=book.source or None, line=number)
    if odd > good:
        _, line_number, shown = book.first_odd
        raise FormatError(
            f"{odd:,} of {odd + good:,} lines do not fit a topology.conf, the first: {shown}",
            path=book.source or None,
            line=line_number,
        )
    _drop_repeated_hosts(found, book)
    return found


def _joined_lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, those that end in a backslash joined with the next."""
    lines: list[tuple[int, str]] = []
    open_line = False
    for number, raw in enumerate(text.split("\n"), 1):
        raw = raw.rstrip("\r")
        part = raw.removesuffix("\\")
        if open_line:
            first, before = lines[-1]
            lines[-1] = first, f"{before} {part}"
        else:
            lines.append((number, part))
        open_line = part != raw
    return lines


def _add(found: SlurmTopology, pairs: dict[str, str], book: CableBook, line: int) -> int:
    def names(key: str) -> list[str]:
        value = pairs.get(key, "")
        empty = not value or value.lower() in ("(null)", "none")
        return [] if empty else expand_hosts(value, path=book.source or None, line=line)

    name = pairs.get("switchname") or pairs.get("blockname") or ""
    if not name:
        raise FormatError("a switch or block without a name", path=book.source or None, line=line)
    node = TreeNode(name, names("switches"), names("nodes"), line)
    (found.switches if "switchname" in pairs else found.blocks).append(node)
    return len(node.children) + len(node.hosts)


def _sizes(text: str, source: str, line: int) -> tuple[int, ...]:
    try:
        return tuple(sorted(int(size) for size in text.split(",") if size))
    except ValueError:
        said = f"BlockSizes={text[:60]!r} is no list of whole numbers like 4,8,16"
        raise FormatError(said, path=source or None, line=line) from None


def _drop_repeated_hosts(found: SlurmTopology, book: CableBook) -> None:
    """Hosts that a switch lists though its own switches hold them: kept at the lowest, told where they differ."""
    by_name = {node.name: node for node in found.switches}
    below: dict[str, frozenset[str] | None] = {}

    def collect(name: str) -> frozenset[str]:
        stack = [(name, False)]
        while stack:
            current, done = stack.pop()
            node = by_name.get(current)
            if node is None or (current in below and not done):
                continue
            if done:
                parts = [below.get(child) or frozenset() for child in node.children]
                below[current] = frozenset().union(*parts) if node.children else frozenset(node.hosts)
                continue
            below[current] = None
            stack.append((current, True))
            stack += [(child, False) for child in node.children if child not in below]
        return below.get(name) or frozenset()

    for node in found.switches:
        if not node.children or not node.hosts:
            continue
        held = collect(node.name)
        own = [host for host in node.hosts if host not in held]
        missing = len(held) - (len(node.hosts) - len(own))
        if own or missing:
            said = f"{node.name}: {len(own)} of its own besides, {missing} of theirs not listed"
            book.notes.add("a switch lists other hosts than its switches hold", said, node.line, severity="warning")
        node.hosts = own
