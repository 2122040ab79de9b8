"""The search index of posts: an inverted index (Redis in Action, chapter 7), partitioned by post.

The postings of a term are the ids of its posts. They are stored as a string of sorted 7-byte ids above a floor
(search_add.lua), which is read by binary search. Postings of rare terms are fields of shared hashes. This takes a
quarter of the memory of sorted sets. A partition contains all terms of its posts, so that one partition can search its
posts alone. The index is a cache, so results are checked against the posts.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.store import Command, Key, Reply, Store, load_script
from timelines import keys
from timelines.posts.post import Post
from timelines.text.tokenizer import index_terms

SEARCH_PARTITIONS = 8
"""To change this number, delete the index and run `rebuild_timelines --search`."""
TERM_CAP = 20_000
"""The maximum number of posts of a term in one partition (140 kB). A key with a quarter more posts is trimmed."""
STEPS_PER_ROUND_CAP = 1_000
"""The maximum number of steps of one partition in one read. They take about 2 ms (docs/reference/search.md)."""
RARE_TERM_CAP = 8
"""The maximum number of posts of a rare term. They take 56 bytes; a listpack value may have 64."""
RARE_TERM_HASHES = 1024
"""The number of hashes for rare terms in one partition.

A hash is stored compactly up to 128 terms, so that all partitions together have space for about a million terms."""
TERMS_PER_SCRIPT = 400
ADDS_PER_ROUND = 16
"""The number of scripts in one round trip. They add about 1,000 posts, and take about 60 ms on the servers."""
ID_BYTES = 7

ADD_POSTINGS_SCRIPT = load_script("search_add.lua", __package__)
REMOVE_POSTINGS_SCRIPT = load_script("search_remove.lua", __package__)
FIND_POSTINGS_SCRIPT = load_script("search_find.lua", __package__)


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """The terms to look up. A post must have all terms, the author if there is one, and at least `lowest_id`."""

    terms: tuple[str, ...]
    author_id: AccountId | None
    lowest_id: int

    @property
    def digests(self) -> list[bytes]:
        authors = [] if self.author_id is None else [author_term(self.author_id)]
        return [term_digest(term) for term in (*authors, *self.terms)]


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The ids that one partition found, newest first.

    The partition was searched down to `lowest_decided_id`. 0 means that no older posts remain.
    """

    lowest_decided_id: int
    ids: list[PostId]


POSTS_ON_LOOP = 100
"""The terms of more posts are computed in a thread, because those of 1,000 posts take 0.1 s."""


class PostIndex:
    """The repository of the keys `search:{s<p>}:term:<digest>` and `search:{s<p>}:rare:<n>`."""

    def __init__(
        self, store: Store, cap: int = TERM_CAP, few: int = RARE_TERM_CAP, steps: int = STEPS_PER_ROUND_CAP
    ) -> None:
        self._component = store.component("search")
        self._cap = cap
        self._rare_cap = min(few, cap)
        self._steps = steps

    async def add(self, posts: Iterable[Post]) -> int:
        """Add posts under their terms and return the number of new postings. The caller selects public posts."""
        all_posts = list(posts)
        if len(all_posts) <= POSTS_ON_LOOP:
            calls = self._add_commands(all_posts)
        else:
            calls = await asyncio.to_thread(self._add_commands, all_posts)
        return sum([sum(await self._component.execute_all(some)) for some in batches(calls, ADDS_PER_ROUND)])

    async def remove(self, post: Post, *versions: Post, keep: Post | None = None) -> None:
        """Remove a post from the postings of all terms of these versions, except the terms of `keep`."""
        number, id = partition_of_post(post.id), pack_ids([post.id])
        digests = {digest for version in (post, *versions) for digest in post_digests(version)}
        parts = batches(list(digests.difference(post_digests(keep) if keep else ())), TERMS_PER_SCRIPT)
        await self._component.execute_all(
            [REMOVE_POSTINGS_SCRIPT.command(term_keys(number, some), [id, *some]) for some in parts]
        )

    async def find(
        self, search_terms: SearchTerms, asked: Sequence[tuple[int, int]], limit: int
    ) -> list[PartitionResult]:
        """Search the given partitions, each from its highest id down, in one round trip per node.

        Each result has at most `limit` ids.
        """
        terms = search_terms.digests
        replies = await self._component.execute_all(
            (
                FIND_POSTINGS_SCRIPT.command(
                    term_keys(number, terms), [highest, search_terms.lowest_id, limit, self._steps, *terms]
                )
                for number, highest in asked
            )
        )
        return [parse_result(reply) for reply in replies]

    def _add_commands(self, posts: Iterable[Post]) -> list[Command]:
        ids: dict[int, dict[bytes, set[PostId]]] = defaultdict(lambda: defaultdict(set))
        for post in posts:
            under = ids[partition_of_post(post.id)]
            for term in post_digests(post):
                under[term].add(post.id)
        return [
            self._add_command(number, [(term, pack_ids(sorted(under[term]))) for term in some])
            for number, under in ids.items()
            for some in batches(under, TERMS_PER_SCRIPT)
        ]

    def _add_command(self, partition: int, postings: Sequence[tuple[bytes, bytes]]) -> Command:
        """Return the call that adds postings: pairs of a term and its ids. An import makes thousands of these calls."""
        of_term, of_rare_terms = keys.search_term(partition, ""), keys.search_rare_terms(partition, 0)
        script_keys: list[Key] = []
        for term, _ids in postings:
            number = rare_hash_number(term)
            script_keys += (of_term.with_last_part(term.hex()), of_rare_terms.with_last_part(number))
        arguments = [self._cap, self._rare_cap, *(part for pair in postings for part in pair)]
        return ADD_POSTINGS_SCRIPT.command(script_keys, arguments)


def partition_of_post(post_id: int) -> int:
    return crc32(b"%d" % post_id) % SEARCH_PARTITIONS


def post_digests(post: Post) -> list[bytes]:
    """Return the digests of the author and the terms of a post."""
    return [term_digest(author_term(post.author_id)), *map(term_digest, index_terms(post.searchable_text))]


def author_term(account_id: AccountId) -> str:
    """Return the term for the posts of an author. Terms of texts contain no colon."""
    return f"from:{account_id}"


def term_keys(partition: int, terms: Iterable[bytes]) -> list[Key]:
    """Return two keys for each term: the key of its postings, and the hash for rare terms."""
    return [key for term in terms for key in _keys_of_term(partition, term)]


def _keys_of_term(partition: int, term: bytes) -> tuple[Key, Key]:
    return keys.search_term(partition, term.hex()), keys.search_rare_terms(partition, rare_hash_number(term))


def rare_hash_number(term: bytes) -> int:
    """Return the number of the hash in which the postings of a rare term are stored."""
    return int.from_bytes(term[:4], "big") % RARE_TERM_HASHES


@lru_cache(maxsize=2_048)
def term_digest(term: str) -> bytes:
    """Return a 48-bit digest, so that keys contain no user text. A collision only adds candidates to a result."""
    return blake2b(term.encode(), digest_size=6).digest()


def pack_ids(post_ids: Iterable[int]) -> bytes:
    return b"".join(post_id.to_bytes(ID_BYTES, "big") for post_id in post_ids)


def parse_result(reply: Reply) -> PartitionResult:
    edge, *ids = reply
    return PartitionResult(edge, [PostId(post_id) for post_id in ids])
