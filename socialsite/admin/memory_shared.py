"""Estimate the memory of keys that posts share: author feeds, hashtags, replies, postings of the search index.

Random keys estimate these sizes badly, since one author feed may have as many posts as hundreds of others. A random
post selects a key in proportion to the key's number of posts. So each sampled post contributes a part of each of its
keys: the key's size divided by its number of posts. The mean part times the number of posts estimates the total size
(Hansen and Hurwitz, "On the theory of sampling from finite populations", 1943).
"""

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from socialsite.admin.memory_sample import SAMPLE_TTL_MS, SAMPLES_KEPT
from socialsite.batches import batches
from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.maintenance.key_families import get_family
from socialsite.maintenance.memory import POST_FAMILY, FamilyMemory, MemoryReport
from socialsite.store import Command, Key, Reply, Store
from socialsite.store.commands import routing_key
from socialsite.tasks import run_together
from timelines import keys
from timelines.author_feeds.hashtag_timelines import hashtag_key
from timelines.posts.archive import ArchiveUnavailable
from timelines.posts.post import Post
from timelines.search.repository import ID_BYTES, partition_of_post, post_digests, term_keys

SHARED_FAMILIES = (
    "timelines:{N}:profile", "timelines:{qN}:profile", "timelines:{hex}:tag", "posts:{N}:replies",
    "search:{sN}:term", "search:{sN}:rare",
)  # fmt: skip
"""Families whose keys contain only posts."""
POSTS_PER_BATCH = 20  # about 500 commands; other requests are served between two batches
SIMILAR_KEYS_SAMPLED = 4
"""Maximum number of hashtags (and of terms) that are read for each post. They represent all hashtags of the post."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A key that may contain a sampled post.

    `count_posts` returns the number of posts in the key from the two replies to `commands`, or 0 if the key does not
    contain this post. `weight` is the number of similar keys of the post that this key represents, including itself.
    """

    key: Key
    commands: tuple[Command, Command]
    count_posts: Callable[[Reply, Reply], float]
    weight: float = 1.0


def list_shared_keys(post: Post, profiles: keys.AuthorFeedKeys) -> Iterator[SharedKey]:
    """Yield the keys that may contain the post. Caps may have removed the post from some of them."""
    yield _timeline_key(profiles.of_post(post.author_id, post.id), post.id)
    if post.in_reply_to is not None:
        yield _timeline_key(keys.replies(post.in_reply_to), post.id)
    if post.is_discoverable:
        tags, weight = _sample_with_weight(post.indexed_hashtags)
        yield from (_timeline_key(hashtag_key(tag), post.id, weight) for tag in tags)
        terms, weight = _sample_with_weight(post_digests(post))
        for term in terms:
            many, few = term_keys(partition_of_post(post.id), [term])
            yield _postings_key(many, post.id, weight)
            yield _rare_postings_key(few, term, weight)


def _sample_with_weight(similar: Sequence[T]) -> tuple[Sequence[T], float]:
    if len(similar) <= SIMILAR_KEYS_SAMPLED:
        return similar, 1.0
    return random.sample(similar, SIMILAR_KEYS_SAMPLED), len(similar) / SIMILAR_KEYS_SAMPLED


def _timeline_key(key: Key, post_id: PostId, weight: float = 1.0) -> SharedKey:
    commands = ("ZSCORE", key, post_id), ("ZCARD", key)
    return SharedKey(key, commands, lambda score, size: 0 if score is None else int(size), weight)


def _postings_key(key: Key, post_id: PostId, weight: float) -> SharedKey:
    """Return the key of a common term, which contains a floor and the ids above the floor."""

    def count_posts(floor: Reply, size: Reply) -> float:
        return int(size) / ID_BYTES - 1 if floor and int.from_bytes(floor, "big") < post_id else 0

    return SharedKey(key, (("GETRANGE", key, 0, ID_BYTES - 1), ("STRLEN", key)), count_posts, weight)


def _rare_postings_key(key: Key, term: bytes, weight: float) -> SharedKey:
    """Return the hash that many rare terms share. A post has a part of a term's part of the hash."""
    commands = ("HSTRLEN", key, term), ("HLEN", key)
    return SharedKey(key, commands, lambda size, terms: int(size) / ID_BYTES * int(terms), weight)


@dataclass(slots=True)
class SharedKeyTotals:
    """The parts of shared keys and of their bytes that belong to sampled posts, by family.

    `posts` is the number of sampled posts, including tombstones.
    """

    at_ms: int
    posts: int
    keys: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    bytes: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, shared_key: SharedKey, post_count: float, size: int) -> None:
        name, part = get_family(shared_key.key), shared_key.weight / post_count
        self.keys[name] += part
        self.bytes[name] += part * size


class SharedKeySampler:
    """Samples shared keys. It keeps the totals of the last samples between two reports."""

    def __init__(self) -> None:
        self._totals: deque[SharedKeyTotals] = deque(maxlen=SAMPLES_KEPT)

    async def update_report(
        self, report: MemoryReport, services: Services, sampled: Sequence[PostId], now_ms: int
    ) -> None:
        """Replace the estimates of SHARED_FAMILIES by those of the sampled posts."""
        try:
            latest = await _measure_posts(services, sampled, now_ms)
        except ArchiveUnavailable:  # only the earlier samples are used then
            latest = SharedKeyTotals(now_ms, 0)
        self._totals.append(latest)
        recent = [each for each in self._totals if now_ms - each.at_ms < SAMPLE_TTL_MS]
        posts, sampled_count = report.families.get(POST_FAMILY), sum(each.posts for each in recent)
        if posts and sampled_count:
            _replace_families(report, recent, posts.keys / sampled_count)


def _replace_families(report: MemoryReport, totals: Sequence[SharedKeyTotals], scale: float) -> None:
    for name in SHARED_FAMILIES:
        report.families.pop(name, None)
        if key_count := round(sum(each.keys[name] for each in totals) * scale):
            size = round(sum(each.bytes[name] for each in totals) * scale)
            report.families[name] = FamilyMemory(keys=key_count, sampled_keys=key_count, sampled_bytes=size)


async def _measure_posts(services: Services, sampled: Sequence[PostId], now_ms: int) -> SharedKeyTotals:
    totals, profiles = SharedKeyTotals(now_ms, len(sampled)), services.repositories.author_feeds.keys
    for batch in batches(sampled, POSTS_PER_BATCH):
        posts = await services.repositories.posts.find_many(batch)
        shared_keys = [key for post in posts.values() for key in list_shared_keys(post, profiles)]
        replies = iter(
            await _gather_from_nodes(services.store, [command for key in shared_keys for command in key.commands])
        )
        counted = [(key, key.count_posts(next(replies), next(replies))) for key in shared_keys]
        counted = [(key, post_count) for key, post_count in counted if post_count]
        sizes = await _gather_from_nodes(services.store, [("MEMORY", "USAGE", key.key) for key, _ in counted])
        for (key, post_count), size in zip(counted, sizes, strict=True):
            totals.add(key, post_count, size or 0)  # None if the key was deleted meanwhile
    return totals


async def _gather_from_nodes(store: Store, commands: Sequence[Command]) -> list[Reply]:
    """Send commands as Store.gather does, or to all servers behind a proxy, which does not forward MEMORY USAGE."""
    if {store.node(routing_key(command)) for command in commands} <= set(store.nodes):
        return await store.gather(commands)
    replies_by_node = await run_together(*(node.pipeline(commands) for node in store.nodes))
    return [max(replies, key=bool) for replies in zip(*replies_by_node, strict=True)]
