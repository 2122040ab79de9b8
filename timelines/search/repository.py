"""The search index of posts: an inverted index (Redis in Action, chapter 7), partitioned by post.

The postings of a term are sorted 7-byte ids (search_add.lua) down to a floor, found by binary search. Postings of rare
terms share hashes. This needs a quarter of the memory of sorted sets. Each partition has its posts under all of their
terms, so that it can answer a query alone. The index is a cache: results are checked against the posts.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from socialsite.ids import AccountId, PostId
from socialsite.store import Command, Key, Reply, Store, load_script
from timelines import keys
from timelines.posts.post import Post
from timelines.text.tokenizer import index_terms

SEARCH_PARTITIONS = 8
"""To change it, empty the index and run `rebuild_timelines --search`."""
TERM_CAP = 20_000
"""Newest posts of a term in one partition: 140 kB. They are trimmed at a quarter more."""
STEPS_PER_ROUND_CAP = 1_000
"""Steps of one partition in one read: about 2 ms (docs/reference/search.md)."""
RARE_TERM_CAP = 8
"""Most posts of a rare term: 56 bytes, within the limit of a listpack value (64)."""
RARE_TERM_HASHES = 1024
"""Hashes of rare terms in one partition. Compact up to 128 terms each: about a million terms in all."""
TERMS_PER_SCRIPT = 400
ID_BYTES = 7

ADD_POSTINGS_SCRIPT = load_script("search_add.lua", __package__)
REMOVE_POSTINGS_SCRIPT = load_script("search_remove.lua", __package__)
FIND_POSTINGS_SCRIPT = load_script("search_find.lua", __package__)


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """A lookup: posts that have all terms and, if given, the author."""

    terms: tuple[str, ...]
    author_id: AccountId | None
    lowest_id: int

    @property
    def digests(self) -> list[bytes]:
        authors = [] if self.author_id is None else [author_term(self.author_id)]
        return [term_digest(term) for term in (*authors, *self.terms)]


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of a partition: ids, newest first, complete from `lowest_decided_id` on (0: complete)."""

    lowest_decided_id: int
    ids: list[PostId]


class PostIndex:
    """`search:{s<p>}:term:<digest>` and `search:{s<p>}:rare:<n>`."""

    def __init__(
        self, store: Store, cap: int = TERM_CAP, few: int = RARE_TERM_CAP, steps: int = STEPS_PER_ROUND_CAP
    ) -> None:
        self._component = store.component("search")
        self._cap = cap
        self._rare_cap = min(few, cap)
        self._steps = steps

    async def add(self, posts: Iterable[Post]) -> int:
        """Add posts under their terms and return the number of new postings. The caller selects public posts."""
        replies = await self._component.gather(list(self._build_add_commands(posts)))
        return sum(replies)

    async def remove(self, post: Post) -> None:
        """Remove a post from all of its terms."""
        number, id = partition_of_post(post.id), pack_ids([post.id])
        parts = split_terms(post_digests(post), TERMS_PER_SCRIPT)
        await self._component.gather(
            [REMOVE_POSTINGS_SCRIPT.command(term_keys(number, some), [id, *some]) for some in parts]
        )

    async def find(
        self, search_terms: SearchTerms, asked: Sequence[tuple[int, int]], limit: int
    ) -> list[PartitionResult]:
        """Return at most `limit` ids of each (partition, highest id), in one round trip per node."""
        terms = search_terms.digests
        replies = await self._component.gather(
            FIND_POSTINGS_SCRIPT.command(
                term_keys(number, terms), [highest, search_terms.lowest_id, limit, self._steps, *terms]
            )
            for number, highest in asked
        )
        return [parse_result(reply) for reply in replies]

    def _build_add_commands(self, posts: Iterable[Post]) -> Iterator[Command]:
        ids: dict[int, dict[bytes, set[PostId]]] = defaultdict(lambda: defaultdict(set))
        for post in posts:
            for term in post_digests(post):
                ids[partition_of_post(post.id)][term].add(post.id)
        for number, under in ids.items():
            for some in split_terms(list(under), TERMS_PER_SCRIPT):
                postings = (part for term in some for part in (term, pack_ids(sorted(under[term]))))
                yield ADD_POSTINGS_SCRIPT.command(term_keys(number, some), [self._cap, self._rare_cap, *postings])


def partition_of_post(post_id: int) -> int:
    return crc32(b"%d" % post_id) % SEARCH_PARTITIONS


def post_digests(post: Post) -> list[bytes]:
    """Return the digests of the author and the terms of a post."""
    return [term_digest(author_term(post.author_id)), *map(term_digest, index_terms(post.text))]


def author_term(account_id: AccountId) -> str:
    """Return the term of an author's posts. Terms of texts have no colon."""
    return f"from:{account_id}"


def term_keys(partition: int, terms: Iterable[bytes]) -> list[Key]:
    """Return two keys for each term: one for many posts, one for few."""
    return [key for term in terms for key in _keys_of_term(partition, term)]


def _keys_of_term(partition: int, term: bytes) -> tuple[Key, Key]:
    number = int.from_bytes(term[:4], "big") % RARE_TERM_HASHES
    return keys.search_term(partition, term.hex()), keys.search_rare_terms(partition, number)


@lru_cache(maxsize=20_000)
def term_digest(term: str) -> bytes:
    """Return 48 bits for a key, which contains no user text. A collision only makes results less narrow."""
    return blake2b(term.encode(), digest_size=6).digest()


def pack_ids(post_ids: Iterable[int]) -> bytes:
    return b"".join(post_id.to_bytes(ID_BYTES, "big") for post_id in post_ids)


def split_terms(terms: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (terms[start : start + size] for start in range(0, len(terms), size))


def parse_result(reply: Reply) -> PartitionResult:
    edge, *ids = reply
    return PartitionResult(edge, [PostId(post_id) for post_id in ids])
