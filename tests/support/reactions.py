"""Like, boost and bookmark posts in tests, and read the results from the store."""

from dataclasses import dataclass

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.world import Person
from timelines import keys
from timelines.pages.page import HydratedPost
from timelines.posts.post import Post, PostCounts


@dataclass
class PersonReactions:
    """Reactions as methods named like sentences, `await acts.likes(alice, post)`. Each makes one service call."""

    services: Services

    async def likes(self, person: Person, post: Post) -> HydratedPost:
        return await self.services.reactions.like(
            account_id=person.id, post_id=post.id, now_ms=self.services.clock.now_ms()
        )

    async def unlikes(self, person: Person, post: Post) -> HydratedPost:
        return await self.services.reactions.unlike(account_id=person.id, post_id=post.id)

    async def boosts(self, person: Person, post: Post) -> HydratedPost:
        return await self.services.reactions.boost(
            account_id=person.id, post_id=post.id, now_ms=self.services.clock.now_ms()
        )

    async def unboosts(self, person: Person, post: Post) -> HydratedPost:
        return await self.services.reactions.unboost(account_id=person.id, post_id=post.id)

    async def bookmarks(self, person: Person, post: Post) -> HydratedPost:
        return await self.services.reactions.bookmark(
            account_id=person.id, post_id=post.id, now_ms=self.services.clock.now_ms()
        )

    async def unbookmarks(self, person: Person, post: Post) -> HydratedPost:
        return await self.services.reactions.unbookmark(account_id=person.id, post_id=post.id)

    async def bookmark_ids(self, person: Person) -> list[PostId]:
        page = await self.services.reactions.bookmarks(person.id)
        return [entry.post.id for entry in page.entries]

    async def boost_of(self, person: Person, post: Post) -> PostId | None:
        """Return the id of the person's boost of a post, or None."""
        key = keys.boosts(post.id)
        score = await self.services.store.node(key).execute("ZSCORE", key, person.id)
        return None if score is None else PostId(int(float(score)))

    async def read_counts(self, post: Post) -> PostCounts:
        return (await self.services.reading.post(post.id, viewer_id=None)).counts

    async def counts_text(self, post_id: PostId) -> bytes | None:
        key = keys.post_counts(post_id)
        value: bytes | None = await self.services.store.node(key).execute("GET", key)
        return value

    async def read_indexes(self, person: Person) -> tuple[set[PostId], set[PostId]]:
        """Return the posts that the person has liked and boosted, from the person's own indexes."""
        node = self.services.store.node(keys.liked_posts(person.id))
        liked = await node.execute("ZRANGE", keys.liked_posts(person.id), 0, -1)
        boosted = await node.execute("ZRANGE", keys.boosted_posts(person.id), 0, -1)
        return {PostId(int(id)) for id in liked}, {PostId(int(id)) for id in boosted}

    async def likers(self, post: Post, viewer: Person | None = None, limit: int = 30) -> list[AccountId]:
        """Return all likers, read page by page."""
        account_ids: list[AccountId] = []
        cursor = None
        while True:
            page = await self.services.reactions.likers(
                post.id, viewer_id=viewer.id if viewer else None, cursor=cursor, limit=limit
            )
            account_ids += page.account_ids
            cursor = page.next
            if cursor is None:
                return account_ids

    async def read_counts_as(self, person: Person, post: Post) -> PostCounts:
        return (await self.services.reading.post(post.id, viewer_id=person.id)).counts
