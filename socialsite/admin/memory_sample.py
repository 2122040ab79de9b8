"""Estimate the memory of a large site by key family, with a bounded number of keys for each report.

Random keys give the share and the mean size of each family. Samples of earlier reports are used, too, since posts may
be only a fiftieth of all keys. A large key (a megabyte or more) represents no other key: it counts with its own size,
and later reports measure it again. Random keys seldom include a large key, so each report also scans the next part of
all keys for large keys.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from socialsite.clock import DAY_MS
from socialsite.ids import PostId, ms_from_id
from socialsite.maintenance.key_families import get_family
from socialsite.maintenance.memory import (
    LARGE_KEY_BYTES,
    POST_FAMILY,
    UNCOUNTED_KEY_BYTES,
    FamilyMemory,
    MemoryReport,
    NodeMemory,
    key_table_bytes,
)
from socialsite.maintenance.scanning import parse_keys
from socialsite.store import Key, Node

SAMPLE_SIZE = 5_000
COMMANDS_PER_BATCH = 500  # other requests are served between two batches
FIRST_SAMPLE_FACTOR = 3
"""The first sample is larger by this factor, because there are no earlier samples."""
SAMPLES_KEPT, SAMPLE_TTL_MS = 16, 3_600_000
LARGE_KEYS_KEPT = 100
ELEMENTS_SAMPLED = 100  # elements of a large key; the server's default is 5
KEYS_PER_SAMPLED_POST = 40  # keys; one sampled post costs about 30 commands (memory_shared.py)

KeySizes = list[tuple[Key, int]]


@dataclass(slots=True)
class KeySample:
    """The number and size by family of random keys below LARGE_KEY_BYTES, and the times of posts among them."""

    at_ms: int
    keys: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    post_created_ms: list[int] = field(default_factory=list)

    def add(self, sizes: KeySizes) -> None:
        for key, weight in sizes:
            if weight < LARGE_KEY_BYTES:
                self.keys[name := get_family(key)] += 1
                self.bytes[name] += weight
                if name == POST_FAMILY:
                    self.post_created_ms.append(ms_from_id(int(key.tag)))


class MemorySampler:
    """Samples keys. It keeps the position of the scan, the large keys and the last samples between two reports."""

    def __init__(self, size: int = SAMPLE_SIZE) -> None:
        self.size = size
        self._cursors: dict[str, bytes] = {}
        self._large_keys: dict[str, dict[Key, int]] = {}
        self._samples: dict[str, deque[KeySample]] = {}
        self.sampled_post_ids: list[PostId] = []
        """Random posts of the last report, at most one for each KEYS_PER_SAMPLED_POST keys."""

    async def build_report(self, nodes: Sequence[Node], node_memory: list[NodeMemory], now_ms: int) -> MemoryReport:
        report, total = MemoryReport(nodes=node_memory), max(1, sum(memory.keys for memory in node_memory))
        random_keys: list[Key] = []
        for node, memory in zip(nodes, node_memory, strict=True):
            share = self.size * memory.keys // total
            sampled = await self._sample_node(node, share, now_ms)
            random_keys += [key for key, _ in sampled]
            scanned = await self._continue_scan(node, share)
            large = await self._refresh_large_keys(node, [*sampled, *scanned])
            _add_samples(report, self._samples[str(node.address)], memory.keys - len(large), now_ms)
            for key, weight in large.items():
                family = report.families.setdefault(get_family(key), FamilyMemory())
                family.keys, family.large_keys, family.large_bytes = (
                    family.keys + 1, family.large_keys + 1, family.large_bytes + weight,
                )  # fmt: skip
        self.sampled_post_ids = _sample_posts(random_keys)
        return report

    async def _sample_node(self, node: Node, count: int, now_ms: int) -> KeySizes:
        """Read the sizes of random keys, and keep them as a sample."""
        earlier = self._samples.get(str(node.address), ())
        samples = [each for each in earlier if now_ms - each.at_ms < SAMPLE_TTL_MS]
        count, sizes = count if samples else FIRST_SAMPLE_FACTOR * count, KeySizes()
        for start in range(0, count, COMMANDS_PER_BATCH):
            names = await node.pipeline([("RANDOMKEY",)] * min(COMMANDS_PER_BATCH, count - start))
            sizes += await _read_sizes(node, parse_keys([key for key in names if key is not None]))
        latest = KeySample(now_ms)
        latest.add(sizes)
        self._samples[str(node.address)] = deque([*samples, latest], maxlen=SAMPLES_KEPT)
        return sizes

    async def _continue_scan(self, node: Node, count: int) -> KeySizes:
        """Scan the next keys of the node and return their sizes."""
        sizes, scanned, name = KeySizes(), 0, str(node.address)
        while scanned < count:
            cursor, names = await node.execute("SCAN", self._cursors.get(name, b"0"), "COUNT", COMMANDS_PER_BATCH)
            self._cursors[name] = cursor
            sizes += await _read_sizes(node, parse_keys(names))
            scanned += max(1, len(names))
            if cursor == b"0":
                break
        return sizes

    async def _refresh_large_keys(self, node: Node, sizes: KeySizes) -> dict[Key, int]:
        """Return the present sizes of the node's largest known keys, at most LARGE_KEYS_KEPT."""
        earlier = self._large_keys.get(str(node.address), {})
        candidates = earlier | {key: weight for key, weight in sizes if weight >= LARGE_KEY_BYTES}
        present = await _read_sizes(node, list(candidates), "SAMPLES", ELEMENTS_SAMPLED)
        largest = sorted(((weight, key) for key, weight in present if weight >= LARGE_KEY_BYTES), reverse=True)
        large = self._large_keys[str(node.address)] = {key: weight for weight, key in largest[:LARGE_KEYS_KEPT]}
        return large


def _sample_posts(sampled: Sequence[Key]) -> list[PostId]:
    posts = [PostId(int(key.tag)) for key in sampled if get_family(key) == POST_FAMILY]
    return random.sample(posts, min(len(posts), -(-len(sampled) // KEYS_PER_SAMPLED_POST)))


async def _read_sizes(node: Node, keys: Sequence[Key], *options: object) -> KeySizes:
    """Return the sizes of the keys that still exist."""
    sizes = await node.pipeline([("MEMORY", "USAGE", key, *options) for key in keys])
    return [(key, int(weight)) for key, weight in zip(keys, sizes, strict=True) if weight is not None]


def _add_samples(report: MemoryReport, samples: Iterable[KeySample], keys: int, now_ms: int) -> None:
    """Add a node's samples to the report, scaled to `keys`, the number of the node's keys that are not large."""
    samples = list(samples)
    scale = keys / max(1, sum(each.keys.total() for each in samples))
    keys_by_family = sum((each.keys for each in samples), Counter[str]())
    bytes_by_family = sum((each.bytes for each in samples), Counter[str]())
    for name, count in keys_by_family.items():
        family = report.families.setdefault(name, FamilyMemory())
        family.sampled_keys += count
        family.sampled_bytes += bytes_by_family[name]
        family.keys += round(count * scale)
    days = Counter(max(0, now_ms - created_ms) // DAY_MS for each in samples for created_ms in each.post_created_ms)
    for age, count in days.items():
        report.posts_by_day[age] += round(count * scale)


def count_unexplained_bytes(report: MemoryReport) -> int:
    """Return the used bytes that the report does not contain: buffers, and large keys that were not scanned yet."""
    tables = sum(key_table_bytes(node.keys) + UNCOUNTED_KEY_BYTES * node.keys for node in report.nodes)
    return max(0, sum(node.used - node.bare for node in report.nodes) - tables - report.bytes)
