"""Where the memory of a large site goes, from a bounded number of keys a look.

Random keys tell how many keys each family has and what a usual one weighs; those of the last looks count,
too, since posts may be a fiftieth of all keys, and a hundred of them say little. A key of a megabyte is not
usual: it counts for itself alone, by its own weight, and is remembered. Since random keys would hardly ever
meet it, each look also goes on with a walk over all keys, a slice at a time, that looks for nothing but such
keys.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
COMMANDS_PER_BATCH = 500  # commands; pages go on between two such rounds
FIRST_SAMPLE_FACTOR = 3
"""Samples of the first look, which has no others to lean on."""
SAMPLES_KEPT, SAMPLE_TTL_MS = 16, 3_600_000
LARGE_KEYS_KEPT = 100
ELEMENTS_SAMPLED = 100  # of a large key, in place of the server's usual 5
KEYS_PER_SAMPLED_POST = 40  # keys; a post is asked some 30 things (memory_shared.py)
DAY_MS = 86_400_000

KeySizes = list[tuple[Key, int]]


@dataclass(slots=True)
class KeySample:
    """Usual keys picked at random: what they weigh by family, and when the posts among them were made."""

    at_ms: int
    keys: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    post_created_ms: list[int] = field(default_factory=list)

    def add(self, weighed: KeySizes) -> None:
        for key, weight in weighed:
            if weight < LARGE_KEY_BYTES:
                self.keys[name := get_family(key)] += 1
                self.bytes[name] += weight
                if name == POST_FAMILY:
                    self.post_created_ms.append(ms_from_id(int(key.tag)))


class MemorySampler:
    """Remembers between two looks how far the walk is, the large keys it met, and the last samples."""

    def __init__(self, size: int = SAMPLE_SIZE) -> None:
        self.size = size
        self._cursors: dict[str, bytes] = {}
        self._large_keys: dict[str, dict[Key, int]] = {}
        self._samples: dict[str, deque[KeySample]] = {}
        self.sampled_post_ids: list[PostId] = []
        """Of the last look, picked at random: at most one for KEYS_PER_SAMPLED_POST keys."""

    async def build_report(self, nodes: Sequence[Node], facts: list[NodeMemory], now_ms: int) -> MemoryReport:
        report, total = MemoryReport(nodes=facts), max(1, sum(fact.keys for fact in facts))
        at_random: list[Key] = []
        for node, fact in zip(nodes, facts, strict=True):
            share = self.size * fact.keys // total
            picked = await self._sample_node(node, share, now_ms)
            at_random += [key for key, _ in picked]
            passed = await self._continue_scan(node, share)
            large = await self._refresh_large_keys(node, [*picked, *passed])
            _add_samples(report, self._samples[str(node.address)], fact.keys - len(large), now_ms)
            for key, weight in large.items():
                family = report.families.setdefault(get_family(key), FamilyMemory())
                family.keys, family.large_keys, family.large_bytes = (
                    family.keys + 1, family.large_keys + 1, family.large_bytes + weight,
                )  # fmt: skip
        self.sampled_post_ids = _sample_posts(at_random)
        return report

    async def _sample_node(self, node: Node, count: int, now_ms: int) -> KeySizes:
        """Random keys, kept as a sample."""
        before = self._samples.get(str(node.address), ())
        kept = [each for each in before if now_ms - each.at_ms < SAMPLE_TTL_MS]
        count, weighed = count if kept else FIRST_SAMPLE_FACTOR * count, list[tuple[Key, int]]()
        for start in range(0, count, COMMANDS_PER_BATCH):
            found = await node.pipeline([("RANDOMKEY",)] * min(COMMANDS_PER_BATCH, count - start))
            weighed += await _read_sizes(node, parse_keys([key for key in found if key is not None]))
        latest = KeySample(now_ms)
        latest.add(weighed)
        self._samples[str(node.address)] = deque([*kept, latest], maxlen=SAMPLES_KEPT)
        return weighed

    async def _continue_scan(self, node: Node, count: int) -> KeySizes:
        """The next keys of the walk."""
        weighed, met, name = KeySizes(), 0, str(node.address)
        while met < count:
            cursor, found = await node.execute("SCAN", self._cursors.get(name, b"0"), "COUNT", COMMANDS_PER_BATCH)
            self._cursors[name] = cursor
            weighed += await _read_sizes(node, parse_keys(found))
            met += max(1, len(found))
            if cursor == b"0":
                break
        return weighed

    async def _refresh_large_keys(self, node: Node, weighed: KeySizes) -> dict[Key, int]:
        """The largest keys of the node that are known, as they are now."""
        known = self._large_keys.get(str(node.address), {})
        met = known | {key: weight for key, weight in weighed if weight >= LARGE_KEY_BYTES}
        now = await _read_sizes(node, list(met), "SAMPLES", ELEMENTS_SAMPLED)
        largest = sorted(((weight, key) for key, weight in now if weight >= LARGE_KEY_BYTES), reverse=True)
        kept = self._large_keys[str(node.address)] = {key: weight for weight, key in largest[:LARGE_KEYS_KEPT]}
        return kept


def _sample_posts(picked: Sequence[Key]) -> list[PostId]:
    posts = [PostId(int(key.tag)) for key in picked if get_family(key) == POST_FAMILY]
    return random.sample(posts, min(len(posts), -(-len(picked) // KEYS_PER_SAMPLED_POST)))


async def _read_sizes(node: Node, keys: Sequence[Key], *how: object) -> KeySizes:
    """Without those that went meanwhile."""
    found = await node.pipeline([("MEMORY", "USAGE", key, *how) for key in keys])
    return [(key, int(weight)) for key, weight in zip(keys, found, strict=True) if weight is not None]


def _add_samples(report: MemoryReport, kept: Iterable[KeySample], keys: int, now_ms: int) -> None:
    """`keys`: how many usual ones a node has, for which those that were picked of it speak."""
    samples = list(kept)
    stands_for = keys / max(1, sum(each.keys.total() for each in samples))
    weighed = sum((each.keys for each in samples), Counter[str]())
    weight = sum((each.bytes for each in samples), Counter[str]())
    for name, count in weighed.items():
        family = report.families.setdefault(name, FamilyMemory())
        family.sampled_keys += count
        family.sampled_bytes += weight[name]
        family.keys += round(count * stands_for)
    days = Counter(max(0, now_ms - made_ms) // DAY_MS for each in samples for made_ms in each.post_created_ms)
    for age, count in days.items():
        report.posts_by_day[age] += round(count * stands_for)


def count_unexplained_bytes(report: MemoryReport) -> int:
    """What the servers use beyond what was met: large keys that the walk has not come to, and buffers."""
    tables = sum(key_table_bytes(node.keys) + UNCOUNTED_KEY_BYTES * node.keys for node in report.nodes)
    return max(0, sum(node.used - node.bare for node in report.nodes) - tables - report.bytes)
