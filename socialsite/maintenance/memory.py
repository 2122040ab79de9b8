"""Memory by key family, and a forecast of how many more posts fit.

Every key is counted, and the servers measure a sample of keys (MEMORY USAGE). The bytes of a family are estimated from
its sample. For the dashboard of a large site only random keys are read, so that each report reads a bounded number of
keys: it may miss a family with few keys, and contains a large key only if it was sampled.

MEMORY USAGE omits some overhead, above all the table of keys, which doubles its size when it is full. The forecast adds
this overhead. Capped caches grow with the number of posts until they are full.
"""

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from socialsite.ids import ms_from_id
from socialsite.maintenance.key_families import get_family
from socialsite.maintenance.scanning import OnProgress, count_keys, ignore_progress, parse_keys, scan_keys
from socialsite.recipes.memory_guard import parse_memory_info
from socialsite.store import Command, Key, Node, Store
from socialsite.store.key_families import FAMILIES

SAMPLE_SIZE = 20_000
LARGE_KEY_BYTES = 1 << 20
"""Random keys count a larger key only with its own size; it represents no other key."""
COMMANDS_PER_BATCH = 500  # other requests are served between two batches
MAIN_FAMILY_COUNT = 4  # the families with nearly all memory; each gets at least this part of the sample
COMPACT_ENCODINGS = frozenset({"listpack", "ziplist", "intset", "quicklist", "stream", "int", "embstr"})
"""Encodings without a pointer for each element. Quicklists and streams consist of listpacks."""
COLLECTION_ENCODINGS = frozenset({"listpack", "ziplist", "intset", "quicklist", "skiplist", "hashtable", "stream"})
POST_FAMILY = "posts:{N}:post"
BUCKET_BYTES = 8
UNCOUNTED_KEY_BYTES = 8
"""MEMORY USAGE counts 24 bytes for a key's entry in the table, which has 32 (Redis 7.0, measured)."""
TIMELINE_ENTRY_BYTES = 10.5  # measured
MAX_POSTS = 1 << 40


@dataclass(slots=True)
class FamilyMemory:
    """The sizes of one family's keys. `bytes` is estimated from the sampled keys.

    `sampled_collections` of the sampled keys are sets, lists or hashes. `large_keys` are keys above LARGE_KEY_BYTES,
    which represent no other key and are not in the sample.
    """

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
        """Return the share of collections with a compact encoding, or None if the sample has only strings."""
        return self.compact_collections / self.sampled_collections if self.sampled_collections else None


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """The memory of one server in bytes. `most` is maxmemory, or 0 without a limit; `bare` is its use when empty."""

    address: str
    used: int
    most: int
    bare: int
    keys: int


@dataclass(slots=True)
class MemoryReport:
    nodes: list[NodeMemory] = field(default_factory=list)
    families: dict[str, FamilyMemory] = field(default_factory=dict)
    posts_by_day: dict[int, int] = field(default_factory=Counter)
    """Number of posts by age in whole days."""

    @property
    def bytes(self) -> int:
        return sum(family.bytes for family in self.families.values())

    @property
    def unexplained_bytes(self) -> int:
        """Return the used bytes that are not in the families: buffers, and large keys that were not sampled."""
        tables = sum(key_table_bytes(node.keys) + UNCOUNTED_KEY_BYTES * node.keys for node in self.nodes)
        return max(0, sum(node.used - node.bare for node in self.nodes) - tables - self.bytes)

    def scale(self, factor: float) -> None:
        """Multiply the numbers of keys and posts. The numbers of large keys stay."""
        for family in self.families.values():
            family.keys = round((family.keys - family.large_keys) * factor) + family.large_keys
        self.posts_by_day = {age: round(count * factor) for age, count in self.posts_by_day.items()}

    def posts_older_than(self, days: int) -> int:
        return sum(count for age, count in self.posts_by_day.items() if age >= days)

    def posts_per_day(self, days: int = 7) -> float:
        """Return the rate of the last `days`, or of the whole life of the site if it is younger."""
        recent = {age: count for age, count in self.posts_by_day.items() if age < days}
        return sum(recent.values()) / (min(days, max(recent) + 1)) if recent else 0.0


class MemoryMeter:
    def __init__(self, store: Store, *, sample_size: int = SAMPLE_SIZE) -> None:
        self._store = store
        self._sample_size = sample_size

    async def measure(self, now_ms: int, on_progress: OnProgress = ignore_progress) -> MemoryReport:
        """Scan all keys once, and measure about `sample_size` of them."""
        report = MemoryReport()
        share = min(1.0, self._sample_size / max(1, await count_keys(self._store)))
        for node in self._store.nodes:
            report.nodes.append(await read_node_memory(node))
            async for keys in scan_keys(node, on_progress):
                self._count_keys(report, keys, now_ms)
                await self._measure_keys(report, node, self._pick_sample(report, keys, share))
        return report

    async def sample(self, now_ms: int) -> tuple[MemoryReport, bool]:
        """Return a report, and whether it is about `sample_size` random keys; a smaller store is reported whole."""
        nodes = [await read_node_memory(node) for node in self._store.nodes]
        total = sum(memory.keys for memory in nodes)
        if total <= self._sample_size:
            return await self.measure(now_ms), False
        report, sampled = MemoryReport(nodes), set[Key]()
        for node, memory in zip(self._store.nodes, nodes, strict=True):
            for start in range(0, share := self._sample_size * memory.keys // total, COMMANDS_PER_BATCH):
                names = await node.execute_all([("RANDOMKEY",)] * min(COMMANDS_PER_BATCH, share - start))
                keys = list(set(parse_keys([name for name in names if name is not None])) - sampled)
                sampled.update(keys)
                self._count_keys(report, keys, now_ms)
                await self._measure_keys(report, node, keys, LARGE_KEY_BYTES)
        report.scale(total / max(1, len(sampled)))
        return report, True

    @staticmethod
    def _count_keys(report: MemoryReport, keys: Sequence[Key], now_ms: int) -> None:
        for key in keys:
            family = get_family(key)
            report.families.setdefault(family, FamilyMemory()).keys += 1
            if family == POST_FAMILY:
                report.posts_by_day[max(0, now_ms - ms_from_id(int(key.tag))) // 86_400_000] += 1

    def _pick_sample(self, report: MemoryReport, keys: Sequence[Key], share: float) -> list[Key]:
        """Pick the first keys of every family, in the order of their hashes, and a random share of the others."""
        first = self._sample_size // MAIN_FAMILY_COUNT
        return [
            key
            for key in keys
            if report.families[get_family(key)].sampled_keys < first or random.random() < share  # noqa: S311
        ]

    @staticmethod
    async def _measure_keys(
        report: MemoryReport, node: Node, picked: Sequence[Key], large_bytes: float = math.inf
    ) -> None:
        commands: list[Command] = [("MEMORY", "USAGE", key) for key in picked]
        replies = await node.execute_all([*commands, *(("OBJECT", "ENCODING", key) for key in picked)])
        for key, weight, encoding in zip(picked, replies, replies[len(picked) :], strict=False):
            if weight is None or encoding is None:
                continue
            family, name = report.families[get_family(key)], encoding.decode()
            if weight >= large_bytes:
                family.large_keys, family.large_bytes = family.large_keys + 1, family.large_bytes + weight
                continue
            family.sampled_keys += 1
            family.sampled_bytes += weight
            family.sampled_collections += name in COLLECTION_ENCODINGS
            family.compact_collections += name in COLLECTION_ENCODINGS and name in COMPACT_ENCODINGS

    async def measure_accounts(
        self, last_id: int, keys_of: Callable[[int], Sequence[Key]], count: int = 20
    ) -> tuple[int, int, int] | None:
        """Return the minimum, median and maximum bytes of random accounts, counting only keys of a single account."""
        picked = [random.randint(1, last_id) for _ in range(min(count, last_id))]  # noqa: S311
        sizes: list[int] = []
        for account_id in picked:
            weights = [await self._read_bytes(node, keys_of(account_id)) for node in self._store.nodes]
            sizes.append(sum(weights))
        return (min(sizes), round(median(sizes)), max(sizes)) if sizes else None

    @staticmethod
    async def _read_bytes(node: Node, keys: Sequence[Key]) -> int:
        """Return the bytes of keys. The servers are read directly, because a proxy does not support MEMORY."""
        replies = await node.execute_all([("MEMORY", "USAGE", key) for key in keys])
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


@dataclass(frozen=True, slots=True)
class Forecast:
    """The posts that fit until only the reserve is free. `posts_left` is None without maxmemory or without posts."""

    bytes_a_post: float
    posts_left: int | None
    days_left: float | None


def make_forecast(report: MemoryReport, home_cap: int, reserve: int) -> Forecast:
    """Return the forecast. A full home or list timeline has `home_cap` entries."""
    posts = report.families[POST_FAMILY].keys if POST_FAMILY in report.families else 0
    if not posts:
        return Forecast(0.0, None, None)
    growth = _Growth.of(report, home_cap, posts)
    if not all(node.most for node in report.nodes):
        return Forecast(growth.bytes_per_post, None, None)
    # Posts are spread evenly, so the node with the least free memory limits all nodes.
    left = min(node.most - reserve - node.used for node in report.nodes) * len(report.nodes)
    fit = growth.posts_that_fit(left)
    rate = report.posts_per_day()
    return Forecast(growth.bytes_per_post, fit, fit / rate if rate else None)


@dataclass(frozen=True, slots=True)
class _Growth:
    """Estimates the bytes of more posts."""

    bytes_per_post: float
    keys_per_post: float
    cached_bytes_per_post: float
    cache_bytes_left: float
    keys_per_node: float
    nodes: int

    @classmethod
    def of(cls, report: MemoryReport, home_cap: int, posts: int) -> "_Growth":
        families = report.families.items()
        keys = sum(node.keys for node in report.nodes)
        growing = {get_family(each.example) for each in FAMILIES.values() if each.grows}
        timelines = {get_family(each.example) for each in FAMILIES.values() if each.is_cached_timeline}
        grown = [family for name, family in families if name in growing]
        cached = [family for name, family in families if name in timelines]
        full = sum(family.keys for family in cached) * home_cap * TIMELINE_ENTRY_BYTES
        taken = sum(family.bytes for family in cached)
        return cls(
            bytes_per_post=sum(f.bytes + UNCOUNTED_KEY_BYTES * f.keys for f in grown) / posts,
            keys_per_post=sum(f.keys for n, f in families if n.startswith("posts:")) / posts,
            cached_bytes_per_post=taken / posts,
            cache_bytes_left=max(0.0, full - taken),
            keys_per_node=keys / len(report.nodes),
            nodes=len(report.nodes),
        )

    def bytes_for_posts(self, posts: int) -> float:
        after = self.keys_per_node + posts * self.keys_per_post / self.nodes
        tables = self.nodes * (key_table_bytes(after) - key_table_bytes(self.keys_per_node))
        return posts * self.bytes_per_post + min(self.cache_bytes_left, posts * self.cached_bytes_per_post) + tables

    def posts_that_fit(self, room: float) -> int:
        """Return the largest number of posts that fit into `room` bytes."""
        return max(0, bisect_right(range(MAX_POSTS + 1), room, key=self.bytes_for_posts) - 1)


def key_table_bytes(keys: float) -> int:
    """Return the bytes of a server's table of keys. Its buckets are a power of two, at least as many as keys."""
    return BUCKET_BYTES << max(2, (max(1, round(keys)) - 1).bit_length())
