"""What posts take in the keys that they share: profiles, hashtags, replies, postings of the search index.

Random keys tell little of these: one profile holds as many posts as hundreds of others together, and each key
that was picked stands for hundreds it is unlike. Posts picked at random meet such a key as often as posts
stand in it. So each post is asked for its part of every key where it stands, the weight by the number of
posts there: the mean part times the number of posts is what all those keys weigh, however unlike they are
(Hansen and Hurwitz, On the theory of sampling from finite populations, 1943).
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from socialsite.admin.memory_places import SharedKey, list_shared_keys
from socialsite.admin.memory_sample import SAMPLE_TTL_MS, SAMPLES_KEPT
from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.maintenance.key_families import get_family
from socialsite.maintenance.memory import POST_FAMILY, FamilyMemory, MemoryReport
from socialsite.store import Command, Reply, Store
from socialsite.store.commands import routing_key
from timelines.posts.archive import ArchiveUnavailable

SHARED_FAMILIES = (
    "timelines:{N}:profile", "timelines:{qN}:profile", "timelines:{hex}:tag", "posts:{N}:replies",
    "search:{sN}:term", "search:{sN}:rare",
)  # fmt: skip
"""Families of which nothing stands but what posts put there."""
POSTS_PER_BATCH = 20  # some 500 commands; pages go on between


@dataclass(slots=True)
class SharedKeyTotals:
    """Of `posts` that were picked, tombstones among them: their parts of shared keys, summed up by family."""

    at_ms: int
    posts: int
    keys: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    bytes: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, place: SharedKey, shared_by: float, weight: int) -> None:
        name, part = get_family(place.key), place.weight / shared_by
        self.keys[name] += part
        self.bytes[name] += part * weight


class SharedKeySampler:
    """Remembers between two looks what the posts of the last ones said."""

    def __init__(self) -> None:
        self._totals: deque[SharedKeyTotals] = deque(maxlen=SAMPLES_KEPT)

    async def update_report(
        self, report: MemoryReport, services: Services, picked: Sequence[PostId], now_ms: int
    ) -> None:
        """What the picked posts say takes the place of what random keys said of these families."""
        try:
            latest = await _measure_posts(services, picked, now_ms)
        except ArchiveUnavailable:  # another minute; the looks before this one still know
            latest = SharedKeyTotals(now_ms, 0)
        self._totals.append(latest)
        kept = [each for each in self._totals if now_ms - each.at_ms < SAMPLE_TTL_MS]
        posts, asked = report.families.get(POST_FAMILY), sum(each.posts for each in kept)
        if posts and asked:
            _replace_families(report, kept, posts.keys / asked)


def _replace_families(report: MemoryReport, kept: Sequence[SharedKeyTotals], stands_for: float) -> None:
    for name in SHARED_FAMILIES:
        report.families.pop(name, None)
        if count := round(sum(each.keys[name] for each in kept) * stands_for):
            weight = round(sum(each.bytes[name] for each in kept) * stands_for)
            report.families[name] = FamilyMemory(keys=count, sampled_keys=count, sampled_bytes=weight)


async def _measure_posts(services: Services, picked: Sequence[PostId], now_ms: int) -> SharedKeyTotals:
    parts, profiles = SharedKeyTotals(now_ms, len(picked)), services.repositories.profiles.keys
    for start in range(0, len(picked), POSTS_PER_BATCH):
        posts = await services.repositories.posts.find_many(picked[start : start + POSTS_PER_BATCH])
        found = [place for post in posts.values() for place in list_shared_keys(post, profiles)]
        replies = iter(await _gather_from_nodes(services.store, [each for place in found for each in place.commands]))
        shared = [(place, place.count_posts([next(replies), next(replies)])) for place in found]
        shared = [(place, number) for place, number in shared if number]
        weights = await _gather_from_nodes(services.store, [("MEMORY", "USAGE", place.key) for place, _ in shared])
        for (place, number), weight in zip(shared, weights, strict=True):
            parts.add(place, number, weight or 0)  # None: it went meanwhile
    return parts


async def _gather_from_nodes(store: Store, commands: Sequence[Command]) -> list[Reply]:
    """As Store.gather. A proxy carries no MEMORY: all servers behind it are asked, one has the key."""
    if {store.node(routing_key(command)) for command in commands} <= set(store.nodes):
        return await store.gather(commands)
    answers = await asyncio.gather(*(node.pipeline(commands) for node in store.nodes))
    return [max(replies, key=bool) for replies in zip(*answers, strict=True)]
