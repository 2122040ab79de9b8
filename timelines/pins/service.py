"""Pins posts to profiles. Only the author pins a post, and a boost cannot be pinned."""

from collections.abc import Collection, Iterable

from msgspec import structs

from socialsite.ids import AccountId, PostId
from socialsite.service import Service
from socialsite.store import Store
from timelines.errors import NotPinnable, PinsCapReached
from timelines.pages.page import HydratedPost
from timelines.pins.repository import Pins
from timelines.posts.repository import PostRepository
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


class PinService(Service):
    store: Store
    pins: Pins
    posts: PostRepository
    pipeline: ReadPipeline

    async def pin(self, *, account_id: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
        """Pin an own post. Raises PostNotFound, NotPinnable and PinsCapReached. Repeating it changes nothing."""
        entry = await self._find_own(account_id, post_id)
        if not await self.pins.add(account_id, post_id, now_ms):
            await self._remove_deleted(account_id)
            if not await self.pins.add(account_id, post_id, now_ms):
                raise PinsCapReached
        return mark_pinned([entry], {post_id})[0]

    async def unpin(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Unpin a post. It is no error if the post is not pinned. Raises PostNotFound and NotPinnable."""
        entry = await self._find_own(account_id, post_id)
        await self.pins.remove(account_id, [post_id])
        return entry

    async def pinned_ids(self, account_id: AccountId) -> list[PostId]:
        (ids,) = await self.store.read(self.pins.read(account_id))
        return list(ids)

    async def load(self, post_ids: Collection[PostId], viewer_id: AccountId | None) -> list[HydratedPost]:
        """Return the pinned posts that the viewer may see, in the order of `post_ids`."""
        if not post_ids:
            return []
        entries = await self.pipeline.read_posts(list(post_ids), ViewerContext(viewer_id, ViewContext.PROFILE))
        return mark_pinned(entries, post_ids)

    async def _find_own(self, account_id: AccountId, post_id: PostId) -> HydratedPost:
        entry = await self.pipeline.get_visible(account_id, post_id)
        if entry.post.author_id != account_id or entry.post.boost_of is not None:
            raise NotPinnable
        return entry

    async def _remove_deleted(self, account_id: AccountId) -> None:
        ids = await self.pinned_ids(account_id)
        posts = await self.posts.find_many(ids)
        if deleted_ids := [post_id for post_id in ids if post_id not in posts]:
            await self.pins.remove(account_id, deleted_ids)


def mark_pinned(entries: Iterable[HydratedPost], pinned_ids: Collection[PostId]) -> list[HydratedPost]:
    """Return the entries, with a mark on the viewer's own posts that are pinned."""
    return [
        structs.replace(entry, viewer=structs.replace(entry.viewer, pinned=True))
        if entry.viewer is not None and entry.viewer.own and entry.post.id in pinned_ids
        else entry
        for entry in entries
    ]
