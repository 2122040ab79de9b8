"""Search as readers ask it, and the index of posts itself: what it answers, and where its keys lie."""

from accounts.domain import AccountId
from socialsite.ids import MAX_ID, PostId
from socialsite.services import Services
from socialsite.store import Key
from tests.support.world import Person, ids_on
from timelines.posts.post import Post
from timelines.search.partition_merge import Walk
from timelines.search.query import Query, parsed
from timelines.search.repository import PostIndex, Sought, digests_of, partition_of, places

AUTHORS = {"one": AccountId(1), "two": AccountId(2)}


async def search_index(index: PostIndex, query: Query, wanted: int = 3, *, resumed: bool = True) -> list[PostId]:
    """Every id: by one walk to its end, or `resumed` by a cursor after each round, as requests do."""
    sought = Sought(tuple(query.terms), AUTHORS.get(query.author or ""), query.lowest)
    walk, ids = Walk(index, sought, MAX_ID), list[PostId]()
    while not walk.ended:
        ids += await walk.ids(wanted)
        if resumed and walk.edge:
            walk = Walk(index, sought, walk.edge - 1)
    return ids


def keys_of(post: Post) -> list[Key]:
    """Where a post stands in the index."""
    return places(partition_of(post.id), digests_of(post))


async def search_post_ids(services: Services, query: str, viewer: Person | None = None, **cut: int) -> list[PostId]:
    """A page of what a reader finds."""
    viewer_id = viewer.id if viewer else None
    return ids_on(await services.search.posts(parsed(query), viewer_id=viewer_id, **cut))
