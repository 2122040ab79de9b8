"""Where the memory goes: every key is counted, a sample is weighed, the rest is inferred by family.

Weights are the servers' own (MEMORY USAGE). What they leave out, the tables of keys above all, is
the difference to what INFO says is used; the forecast takes it into account.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from socialsite.ids import ms_from_id
from socialsite.maintenance.backup import scan_keys
from socialsite.maintenance.key_families import get_family
from socialsite.maintenance.scanning import OnProgress, count_keys, ignore_progress
from socialsite.recipes.memory_guard import parse_memory_info
from socialsite.store import Command, Key, Node, Store

SAMPLE_SIZE = 20_000
LARGE_KEY_BYTES = 1 << 20
"""A key that weighs more is weighed for itself, where keys are picked at random."""
MAIN_FAMILY_COUNT = 4  # so few make up nearly all memory: each has at least this part of the sample
COMPACT_ENCODINGS = frozenset({"listpack", "ziplist", "intset", "quicklist", "stream", "int", "embstr"})
"""Encodings without a pointer an element; quicklists and streams are made of listpacks."""
COLLECTION_ENCODINGS = frozenset({"listpack", "ziplist", "intset", "quicklist", "skiplist", "hashtable", "stream"})
POST_FAMILY = "posts:{N}:post"


@dataclass(slots=True)
class FamilyMemory:
    """`bytes` is inferred from `weighed` keys; `sampled_collections` of them are sets, lists or hashes. Keys above
    LARGE_KEY_BYTES that speak for no other (`large`) are not among the weighed."""

    keys: int = 0
    sampled_keys: int = 0
    sampled_bytes: int = 0
    sampled_collections: int = 0
    compact_collections: int = 0
    large_keys: int = 0
    large_bytes: int = 0

    @property
    def bytes_per_key(self) -> float:
        return self.bytes / self.keys if self.keys else 0.0

    @property
    def bytes(self) -> int:
        usual = self.sampled_bytes / self.sampled_keys if self.sampled_keys else 0.0
        return round(usual * (self.keys - self.large_keys)) + self.large_bytes

    @property
    def compact_share(self) -> float | None:
        """None where the family holds plain strings."""
        return self.compact_collections / self.sampled_collections if self.sampled_collections else None


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """Bytes; `most` is maxmemory, 0 for none. `bare` is what an empty server uses."""

    address: str
    used: int
    most: int
    bare: int
    keys: int


@dataclass(slots=True)
class MemoryReport:
    nodes: list[NodeMemory] = field(default_factory=list)
    families: dict[str, FamilyMemory] = field(default_factory=dict)
    posts_by_day: Counter[int] = field(default_factory=Counter)
    """Posts by their age in whole days."""

    @property
    def bytes(self) -> int:
        return sum(family.bytes for family in self.families.values())

    def posts_older_than(self, days: int) -> int:
        return sum(count for age, count in self.posts_by_day.items() if age >= days)

    def posts_per_day(self, days: int = 7) -> float:
        """At the rate of the last days, or of the site's whole life where that is shorter."""
        recent = {age: count for age, count in self.posts_by_day.items() if age < days}
        return sum(recent.values()) / (min(days, max(recent) + 1)) if recent else 0.0


class MemoryMeter:
    def __init__(self, store: Store, *, sample_size: int = SAMPLE_SIZE) -> None:
        self._store = store
        self._sample_size = sample_size

    async def measure(self, now_ms: int, on_progress: OnProgress = ignore_progress) -> MemoryReport:
        """One walk over all keys, about `sample` of them weighed."""
        report = MemoryReport()
        share = min(1.0, self._sample_size / max(1, await count_keys(self._store)))
        for node in self._store.nodes:
            report.nodes.append(await read_node_memory(node))
            async for found in scan_keys(node, on_progress):
                self._count_keys(report, found, now_ms)
                await self._measure_keys(report, node, self._pick_sample(report, found, share))
        return report

    @staticmethod
    def _count_keys(report: MemoryReport, found: Sequence[Key], now_ms: int) -> None:
        for key in found:
            family = get_family(key)
            report.families.setdefault(family, FamilyMemory()).keys += 1
            if family == POST_FAMILY:
                report.posts_by_day[max(0, now_ms - ms_from_id(int(key.tag))) // 86_400_000] += 1

    def _pick_sample(self, report: MemoryReport, found: Sequence[Key], share: float) -> list[Key]:
        """The first of every family, a share of the rest: a walk goes by hash, so the first are random."""
        first = self._sample_size // MAIN_FAMILY_COUNT
        return [
            key
            for key in found
            if report.families[get_family(key)].sampled_keys < first or random.random() < share  # noqa: S311
        ]

    @staticmethod
    async def _measure_keys(report: MemoryReport, node: Node, picked: Sequence[Key]) -> None:
        commands: list[Command] = [("MEMORY", "USAGE", key) for key in picked]
        replies = await node.pipeline([*commands, *(("OBJECT", "ENCODING", key) for key in picked)])
        for key, weight, encoding in zip(picked, replies, replies[len(picked) :], strict=False):
            if weight is None or encoding is None:
                continue
            family, name = report.families[get_family(key)], encoding.decode()
            family.sampled_keys += 1
            family.sampled_bytes += weight
            family.sampled_collections += name in COLLECTION_ENCODINGS
            family.compact_collections += name in COLLECTION_ENCODINGS and name in COMPACT_ENCODINGS

    async def measure_accounts(
        self, last_id: int, keys_of: Callable[[int], Sequence[Key]], count: int = 20
    ) -> tuple[int, int, int] | None:
        """Least, middle and most bytes of accounts picked at random, by the keys that are theirs alone."""
        picked = [random.randint(1, last_id) for _ in range(min(count, last_id))]  # noqa: S311
        sizes: list[int] = []
        for account_id in picked:
            weights = [await self._read_bytes(node, keys_of(account_id)) for node in self._store.nodes]
            sizes.append(sum(weights))
        return (min(sizes), round(median(sizes)), max(sizes)) if sizes else None

    @staticmethod
    async def _read_bytes(node: Node, keys: Sequence[Key]) -> int:
        """Asked of the servers themselves: a proxy carries no MEMORY."""
        replies = await node.pipeline([("MEMORY", "USAGE", key) for key in keys])
        return sum(reply or 0 for reply in replies)


async def read_node_memory(node: Node) -> NodeMemory:
    facts = parse_memory_info(await node.execute("INFO", "memory"))
    return NodeMemory(
        address=str(node.address),
        used=facts.get("used_memory", 0),
        most=facts.get("maxmemory", 0),
        bare=facts.get("used_memory_startup", 0),
        keys=int(await node.execute("DBSIZE")),
    )
