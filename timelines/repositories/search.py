"""The search index of posts: an inverted index (the book's chapter 7), partitioned by post.

A term's postings are a string of 7-byte ids (search_add.lua): a tenth of what a ZSET takes, sought by
halving, cut at a floor. Each partition holds its posts under all of their terms, so it answers the whole
query alone; all are asked at once. A cache: it narrows, the posts themselves decide.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.store import Command, Key, Reply, Store, load
from timelines import keys
from timelines.domain.post import Post
from timelines.domain.searching import terms_of

SEARCH_PARTITIONS = 8
"""Fixed: another number needs an empty index and `rebuild_timelines --search`."""
TERM_CAP = 20_000
"""Newest posts of a term that one partition keeps: 140 kB; a quarter more before they are cut."""
STEPS_CAP = 1_000
"""Of one partition in one round, about two milliseconds; the next round goes on (docs/search.md)."""
KEYS_PER_SCRIPT = 400
ID_BYTES = 7

ADD = load("search_add.lua", __package__)
REMOVE = load("search_remove.lua", __package__)
FIND = load("search_find.lua", __package__)


@dataclass(frozen=True, slots=True)
class Sought:
    """What is asked of every partition: posts under all of the terms, and of an author where one is named."""

    terms: tuple[str, ...]
    author_id: AccountId | None
    lowest: int

    def keys(self, partition: int) -> list[Key]:
        found = [] if self.author_id is None else [keys.search_author(partition, self.author_id)]
        return found + [keys.search_term(partition, digest(term)) for term in self.terms]


@dataclass(frozen=True, slots=True)
class Round:
    """What a partition answered: ids, newest first; all from `edge` on are decided (0: it is done)."""

    edge: int
    ids: list[PostId]


class PostIndex:
    """`search:{s<p>}:term:<digest>` and `search:{s<p>}:author:<account>`."""

    def __init__(self, store: Store, cap: int = TERM_CAP, steps: int = STEPS_CAP) -> None:
        self._place = store.component("search")
        self._cap = cap
        self._steps = steps

    async def add(self, posts: Iterable[Post]) -> int:
        """Put posts under their terms; the number of new postings. The caller says which may be found."""
        replies = await self._place.gather(list(self._additions(posts)))
        return sum(replies)

    async def remove(self, post: Post) -> None:
        """From under all of its terms."""
        commands = [
            REMOVE.command(some, [packed([post.id])]) for some in in_parts(keys_of(post), KEYS_PER_SCRIPT)
        ]
        await self._place.gather(commands)

    async def find(self, sought: Sought, asked: Sequence[tuple[int, int]], most: int) -> list[Round]:
        """At most `most` ids of each (partition, highest id), in one round trip a node."""
        replies = await self._place.gather(
            FIND.command(sought.keys(number), [highest, sought.lowest, most, self._steps])
            for number, highest in asked
        )
        return [round_of(reply) for reply in replies]

    def _additions(self, posts: Iterable[Post]) -> Iterator[Command]:
        ids: dict[int, dict[Key, set[PostId]]] = defaultdict(lambda: defaultdict(set))
        for post in posts:
            for key in keys_of(post):
                ids[partition_of(post.id)][key].add(post.id)
        for under in ids.values():
            for some in in_parts(list(under), KEYS_PER_SCRIPT):
                yield ADD.command(some, [self._cap, *(packed(sorted(under[key])) for key in some)])


def partition_of(post_id: int) -> int:
    return crc32(b"%d" % post_id) % SEARCH_PARTITIONS


def keys_of(post: Post) -> list[Key]:
    """Where a post stands in the index; all of one partition."""
    number = partition_of(post.id)
    terms = [keys.search_term(number, digest(term)) for term in terms_of(post.text)]
    return [keys.search_author(number, post.author_id), *terms]


@lru_cache(maxsize=20_000)
def digest(term: str) -> str:
    """User text never enters a key. 48 bits: two terms that share one only narrow less."""
    return blake2b(term.encode(), digest_size=6).hexdigest()


def packed(post_ids: Iterable[int]) -> bytes:
    return b"".join(post_id.to_bytes(ID_BYTES, "big") for post_id in post_ids)


def in_parts(keys: Sequence[Key], size: int) -> Iterator[Sequence[Key]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))


def round_of(reply: Reply) -> Round:
    edge, *ids = reply
    return Round(edge, [PostId(post_id) for post_id in ids])
