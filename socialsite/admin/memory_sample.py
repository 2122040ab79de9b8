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

from socialsite.ids import PostId, ms_of
from socialsite.maintenance.families import family_of
from socialsite.maintenance.forecast import UNWEIGHED_BYTES, table_bytes
from socialsite.maintenance.memory import LARGE_BYTES, POST_FAMILY, FamilyMemory, MemoryReport, NodeMemory
from socialsite.maintenance.scanning import keys_of
from socialsite.store import Key, Node

SAMPLE = 5_000
AT_ONCE = 500  # commands; pages go on between two such rounds
FIRST_PICKS = 3
"""Samples of the first look, which has no others to lean on."""
PICKS_KEPT, KEPT_MS = 16, 3_600_000
LARGE_KEPT = 100
ELEMENTS_WEIGHED = 100  # of a large key, in place of the server's usual 5
POST_OF = 40  # keys; a post is asked some 30 things (memory_shared.py)
DAY_MS = 86_400_000

Weighed = list[tuple[Key, int]]


@dataclass(slots=True)
class Picked:
    """Usual keys picked at random: what they weigh by family, and when the posts among them were made."""

    at_ms: int
    keys: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    posts_ms: list[int] = field(default_factory=list)

    def add(self, weighed: Weighed) -> None:
        for key, weight in weighed:
            if weight < LARGE_BYTES:
                self.keys[name := family_of(key)] += 1
                self.bytes[name] += weight
                if name == POST_FAMILY:
                    self.posts_ms.append(ms_of(int(key.tag)))


class MemorySample:
    """Remembers between two looks how far the walk is, the large keys it met, and the last samples."""

    def __init__(self, size: int = SAMPLE) -> None:
        self.size = size
        self._cursors: dict[str, bytes] = {}
        self._large: dict[str, dict[Key, int]] = {}
        self._kept: dict[str, deque[Picked]] = {}
        self.posts: list[PostId] = []
        """Of the last look, picked at random: at most one for POST_OF keys."""

    async def report(self, nodes: Sequence[Node], facts: list[NodeMemory], now_ms: int) -> MemoryReport:
        report, total = MemoryReport(nodes=facts), max(1, sum(fact.keys for fact in facts))
        at_random: list[Key] = []
        for node, fact in zip(nodes, facts, strict=True):
            share = self.size * fact.keys // total
            picked = await self._pick(node, share, now_ms)
            at_random += [key for key, _ in picked]
            passed = await self._passed(node, share)
            large = await self._weigh_large(node, [*picked, *passed])
            _count(report, self._kept[str(node.address)], fact.keys - len(large), now_ms)
            for key, weight in large.items():
                family = report.families.setdefault(family_of(key), FamilyMemory())
                family.keys, family.large, family.large_bytes = (
                    family.keys + 1, family.large + 1, family.large_bytes + weight,
                )  # fmt: skip
        self.posts = _some_posts(at_random)
        return report

    async def _pick(self, node: Node, count: int, now_ms: int) -> Weighed:
        """Random keys, kept as a sample."""
        before = self._kept.get(str(node.address), ())
        kept = [each for each in before if now_ms - each.at_ms < KEPT_MS]
        count, weighed = count if kept else FIRST_PICKS * count, list[tuple[Key, int]]()
        for start in range(0, count, AT_ONCE):
            found = await node.pipeline([("RANDOMKEY",)] * min(AT_ONCE, count - start))
            weighed += await _weights(node, keys_of([key for key in found if key is not None]))
        latest = Picked(now_ms)
        latest.add(weighed)
        self._kept[str(node.address)] = deque([*kept, latest], maxlen=PICKS_KEPT)
        return weighed

    async def _passed(self, node: Node, count: int) -> Weighed:
        """The next keys of the walk."""
        weighed, met, name = Weighed(), 0, str(node.address)
        while met < count:
            cursor, found = await node.execute("SCAN", self._cursors.get(name, b"0"), "COUNT", AT_ONCE)
            self._cursors[name] = cursor
            weighed += await _weights(node, keys_of(found))
            met += max(1, len(found))
            if cursor == b"0":
                break
        return weighed

    async def _weigh_large(self, node: Node, weighed: Weighed) -> dict[Key, int]:
        """The largest keys of the node that are known, as they are now."""
        known = self._large.get(str(node.address), {})
        met = known | {key: weight for key, weight in weighed if weight >= LARGE_BYTES}
        now = await _weights(node, list(met), "SAMPLES", ELEMENTS_WEIGHED)
        largest = sorted(((weight, key) for key, weight in now if weight >= LARGE_BYTES), reverse=True)
        kept = self._large[str(node.address)] = {key: weight for weight, key in largest[:LARGE_KEPT]}
        return kept


def _some_posts(picked: Sequence[Key]) -> list[PostId]:
    posts = [PostId(int(key.tag)) for key in picked if family_of(key) == POST_FAMILY]
    return random.sample(posts, min(len(posts), -(-len(picked) // POST_OF)))


async def _weights(node: Node, keys: Sequence[Key], *how: object) -> Weighed:
    """Without those that went meanwhile."""
    found = await node.pipeline([("MEMORY", "USAGE", key, *how) for key in keys])
    return [(key, int(weight)) for key, weight in zip(keys, found, strict=True) if weight is not None]


def _count(report: MemoryReport, kept: Iterable[Picked], keys: int, now_ms: int) -> None:
    """`keys`: how many usual ones a node has, for which those that were picked of it speak."""
    samples = list(kept)
    stands_for = keys / max(1, sum(each.keys.total() for each in samples))
    weighed = sum((each.keys for each in samples), Counter[str]())
    weight = sum((each.bytes for each in samples), Counter[str]())
    for name, count in weighed.items():
        family = report.families.setdefault(name, FamilyMemory())
        family.weighed += count
        family.weight += weight[name]
        family.keys += round(count * stands_for)
    days = Counter(max(0, now_ms - made_ms) // DAY_MS for each in samples for made_ms in each.posts_ms)
    for age, count in days.items():
        report.posts_by_day[age] += round(count * stands_for)


def unseen_bytes(report: MemoryReport) -> int:
    """What the servers use beyond what was met: large keys that the walk has not come to, and buffers."""
    tables = sum(table_bytes(node.keys) + UNWEIGHED_BYTES * node.keys for node in report.nodes)
    return max(0, sum(node.used - node.bare for node in report.nodes) - tables - report.bytes)
