"""The memory and time that the search index uses, and the cost of a query on its servers.

Posts of the reference data in English and in Korean (Korean characters are indexed alone and in pairs), by
real words: the common ones are the 60 most frequent. Bytes are the server's own count of its memory; the
reference stores the same postings as sorted sets. Microseconds are the server's, over all partitions.
"""

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from redis import Redis

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples
from benchmarks.imported import data_path
from benchmarks.servers import redis_server
from tests.support.corpora import find_corpus

if TYPE_CHECKING:
    from socialsite.store import Store
    from timelines.posts.post import Post

CORPORA = {"English": "posts/ubuntu-irc.jsonl.gz", "Korean": "posts/nsmc-korean.jsonl.gz"}
AUTHORS, QUERIES, WANTED = 3_000, 100, 31
COMMON_WORD_COUNT = 60


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    available = [name for name, file in CORPORA.items() if find_corpus(file)]
    return [figure for name in available for figure in await _corpus(name, plan)]


async def _corpus(name: str, plan: Plan) -> list[Figure]:
    from socialsite.migration.store_factory import open_store

    posts = list(islice(_posts(CORPORA[name]), plan.size(20_000)))
    what = f"{name}, {len(posts):,} posts"
    with redis_server() as server, server.client() as client:
        store = await open_store(server.url)
        try:
            bytes_a_post, us_a_post = await _fill_index(store, client, posts)
            figures = [
                Figure(
                    f"{what}: index", "bytes/post", Samples.of(bytes_a_post), None,
                    Samples.of(_as_zsets(posts)), "as sorted sets",
                ),
                Figure(f"{what}: filling, 500 at once", "server µs/post", Samples.of(us_a_post)),
            ]  # fmt: skip
            for kind, queries in _queries(posts).items():
                took = Samples.all([await _time_queries(store, client, queries) for _ in range(plan.rounds)])
                figures.append(Figure(f"{what}: {kind}", "server µs/query", took))
        finally:
            await store.close()
    return figures


def _posts(name: str) -> "Iterator[Post]":
    from socialsite.ids import AccountId, PostId
    from timelines.posts.post import Post

    chance = random.Random(7)
    with gzip.open(data_path(name), "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            id = PostId((1 << 50) + (number << 12) + chance.randrange(1 << 12))
            yield Post(id, AccountId(1 + chance.randrange(AUTHORS)), json.loads(line)["text"][:500])


async def _fill_index(store: "Store", client: Redis, posts: "list[Post]") -> tuple[float, float]:
    from socialsite.batches import batches
    from timelines.search.repository import PostIndex

    index, before = PostIndex(store), _memory(client)
    client.config_resetstat()
    for some in batches(posts, 500):
        await index.add(some)
    return (_memory(client) - before) / len(posts), _server_cpu_us(client) / len(posts)


def _as_zsets(posts: "list[Post]") -> float:
    """Return the bytes a post of the same postings as sorted sets, on a separate server."""
    from timelines.search.repository import partition_of_post, post_digests, term_keys

    with redis_server() as apart, apart.client() as client:
        before = _memory(client)
        for start in range(0, len(posts), 500):
            with client.pipeline(transaction=False) as adding:
                for post in posts[start : start + 500]:
                    for key in term_keys(partition_of_post(post.id), post_digests(post))[::2]:
                        adding.zadd(key, {str(post.id): post.id})
                adding.execute()
        return (_memory(client) - before) / len(posts)


def _queries(posts: "list[Post]") -> dict[str, list[list[str]]]:
    from timelines.text.tokenizer import index_terms

    chance = random.Random(11)
    often = Counter(term for post in posts for term in index_terms(post.text))
    common = [term for term, _ in often.most_common(COMMON_WORD_COUNT)]
    rare = [term for term, count in often.items() if count == 3]
    return {
        "one common word": [[chance.choice(common)] for _ in range(QUERIES)],
        "one rare word": [[chance.choice(rare)] for _ in range(QUERIES)],
        "a rare and a common one": [[chance.choice(rare), chance.choice(common)] for _ in range(QUERIES)],
        "two common ones": [chance.sample(common, 2) for _ in range(QUERIES)],
        "four common ones": [chance.sample(common, 4) for _ in range(QUERIES)],
    }


async def _time_queries(store: "Store", client: Redis, queries: list[list[str]]) -> float:
    """Return the server's us for one page of each query."""
    from socialsite.ids import MAX_ID
    from timelines.search.partition_merge import PartitionMerge
    from timelines.search.repository import PostIndex, SearchTerms

    index = PostIndex(store)
    client.config_resetstat()
    for terms in queries:
        walk, id_count = PartitionMerge(index, SearchTerms(tuple(terms), None, 0), MAX_ID), 0
        while not walk.is_exhausted and id_count < WANTED:
            id_count += len(await walk.next_ids(WANTED - id_count))
    return _server_cpu_us(client) / len(queries)


def _memory(client: Redis) -> int:
    return int(client.info("memory")["used_memory"])


def _server_cpu_us(client: Redis) -> int:
    return int(client.info("commandstats")["cmdstat_evalsha"]["usec"])
