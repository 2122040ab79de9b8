"""Search posts in tests, through the service or in the index, and find the index keys of a post."""

from socialsite.container import Services
from socialsite.ids import MAX_ID, AccountId, PostId
from socialsite.store import Key
from tests.support.world import Person, ids_on
from timelines.posts.post import Post
from timelines.search.partition_merge import PartitionMerge
from timelines.search.query import SearchQuery, parse_query
from timelines.search.repository import PostIndex, SearchTerms, partition_of_post, post_digests, term_keys

AUTHORS = {"one": AccountId(1), "two": AccountId(2)}


async def search_index(index: PostIndex, query: SearchQuery, wanted: int = 3, *, resumed: bool = True) -> list[PostId]:
    """Return every id, found in one walk, or in `resumed` walks from a cursor after each round, as requests do."""
    sought = SearchTerms(tuple(query.terms), AUTHORS.get(query.author or ""), query.lowest_id)
    walk, ids = PartitionMerge(index, sought, MAX_ID), list[PostId]()
    while not walk.is_exhausted:
        ids += await walk.next_ids(wanted)
        if resumed and walk.lowest_decided_id:
            walk = PartitionMerge(index, sought, walk.lowest_decided_id - 1)
    return ids


def keys_of(post: Post) -> list[Key]:
    """Return the index keys of a post."""
    return term_keys(partition_of_post(post.id), post_digests(post))


async def search_post_ids(services: Services, query: str, viewer: Person | None = None, **cut: int) -> list[PostId]:
    """Return a page of a reader's search results."""
    viewer_id = viewer.id if viewer else None
    return ids_on(await services.search.search_posts(parse_query(query), viewer_id=viewer_id, **cut))
