"""States the placement tests share: small fabrics by hand, the half-full SuperPOD, brute force over counts."""

from __future__ import annotations

import itertools

import numpy as np

import topo
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric
from topo.placement.tree import Tree
from topo.table import Labels

FOUR_LEAVES = {"leaves": 4, "spines": 8, "hosts_per_leaf": 8}


def hosts_by_leaf(counts: list[int], per_leaf: int = 8) -> list[str]:
    """Names of the first hosts of each leaf of a leaf-spine of up to 99 hosts."""
    return [f"host-{leaf * per_leaf + i + 1:02}" for leaf, count in enumerate(counts) for i in range(count)]


def round_robin(counts: list[int], per_leaf: int = 8) -> list[str]:
    """The same hosts dealt one a leaf in turn."""
    return [
        f"host-{leaf * per_leaf + i + 1:02}" for i in range(per_leaf) for leaf, count in enumerate(counts) if i < count
    ]


def busy_but(free: list[int], per_leaf: int = 8) -> list[str]:
    """The hosts to call busy so that each leaf has so many free ones."""
    return [f"host-{leaf * per_leaf + i + 1:02}" for leaf, f in enumerate(free) for i in range(f, per_leaf)]


def half_full() -> np.ndarray:
    """Free hosts of 64 units of 32, busy at random: seed 1, 1,022 free."""
    return np.random.default_rng(1).random((64, 32)) >= 0.5


def superpod_tree() -> tuple[Tree, np.ndarray]:
    """64 units in pods of four, and the free hosts of each."""
    free = half_full().sum(axis=1)
    return Tree.of_counts(free, pods=np.arange(64) // 4), free


def superpod() -> Fabric:
    """16,384 accelerators: 64 units of 32 hosts of 8."""
    return topo.load("nvidia-superpod-b200-64su")


def count_vectors(free: list[int], n: int):  # type: ignore[no-untyped-def]
    """Every way to take n hosts from leaves with so many free."""
    for counts in itertools.product(*(range(min(f, n) + 1) for f in free)):
        if sum(counts) == n:
            yield np.array(counts)


def uniform_cost(tree: Tree, counts: np.ndarray) -> tuple[int, int]:
    """Hop-bytes and busiest leaf of an all-to-all of one byte a pair, from the definitions."""
    n = int(counts.sum())
    total = 0
    leaf = np.repeat(np.arange(len(counts)), counts)
    for i in range(n):
        for j in range(n):
            if i != j:
                meet = next((h for h, at in enumerate(tree.above) if at[leaf[i]] == at[leaf[j]]), tree.depth)
                total += 2 * (meet + 1)
    return total, int((counts * (n - counts)).max())


def swapped_rails() -> Fabric:
    """Four hosts of eight adapters on eight rail leaves; the first host's adapters 1 and 2 are wired crosswise."""
    assembly = Assembly("swapped")
    rails = [f"rail-{r + 1}" for r in range(8)]
    host = np.repeat(np.arange(4), 8)
    index = np.tile(np.arange(8), 4)
    ends = assembly.add_nodes(
        [f"h{h}-nic{i}" for h, i in zip(host, index, strict=True)], kind="nic", is_endpoint=True,
        forwards=FORWARDS_NOTHING, local_index=index, host=Labels(host, [f"h{h}" for h in range(4)]),
        rail=Labels(index, rails),
    )  # fmt: skip
    leaf = assembly.add_nodes([f"leaf{r}" for r in range(8)], kind="switch", tier=1, rail=Labels(np.arange(8), rails))
    spine = assembly.add_nodes(["spine"], kind="switch", tier=2)
    to = index.copy()
    to[:2] = [1, 0]
    assembly.connect(ends, leaf[to], 400, kind="access")
    assembly.connect(leaf, np.repeat(spine, 8), 1600)
    return assembly.finish()


def isolated_rails(*, opened: bool) -> Fabric:
    """Four hosts of four accelerators; accelerator i of each on leaf i, and nothing joins the leaves."""
    assembly = Assembly("isolated rails")
    host, index = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    names = Labels(host, [f"h{h}" for h in range(4)])
    ends = assembly.add_nodes(
        [f"h{h}-gpu{i}" for h, i in zip(host, index, strict=True)], kind="accelerator", is_endpoint=True,
        forwards=FORWARDS_OWN_HOST, local_index=index, host=names,
    )  # fmt: skip
    leaf = assembly.add_nodes([f"leaf{r}" for r in range(4)], kind="switch", tier=1)
    assembly.connect(ends, leaf[index], 400, kind="access")
    if opened:
        chip = assembly.add_nodes(
            [f"h{h}-chip" for h in range(4)], kind="scale_up_switch", tier=-1, forwards=FORWARDS_OWN_HOST,
            host=Labels(np.arange(4), [f"h{h}" for h in range(4)]),
        )  # fmt: skip
        assembly.connect(ends, chip[host], 3600, kind="scale_up")
    return assembly.finish()


def crossed_inside() -> Fabric:
    """Three hosts of two accelerators and two adapters; in the first each accelerator is beside the other's adapter."""
    assembly = Assembly("crossed inside")
    host, index = np.repeat(np.arange(3), 2), np.tile(np.arange(2), 3)
    names = Labels(host, [f"h{h}" for h in range(3)])
    said = [(h, i) for h, i in zip(host.tolist(), index.tolist(), strict=True)]
    gpu = assembly.add_nodes(
        [f"h{h}-gpu{i}" for h, i in said], kind="accelerator", is_endpoint=True, forwards=FORWARDS_OWN_HOST,
        local_index=index, host=names,
    )  # fmt: skip
    nic = assembly.add_nodes(
        [f"h{h}-nic{i}" for h, i in said], kind="nic", forwards=FORWARDS_OWN_HOST, local_index=index, host=names
    )
    rails = Labels(np.arange(2), ["rail-1", "rail-2"])
    leaf = assembly.add_nodes(["leaf1", "leaf2"], kind="switch", tier=1, rail=rails)
    spine = assembly.add_nodes(["spine"], kind="switch", tier=2)
    beside = index.copy()
    beside[:2] = [1, 0]
    assembly.connect(gpu, nic[2 * host + beside], 500, kind="host_io")
    assembly.connect(nic, leaf[index], 400, kind="access")
    assembly.connect(leaf, np.repeat(spine, 2), 800)
    return assembly.finish()
