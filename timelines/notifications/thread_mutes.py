"""Muted threads: an account gets no notifications about their posts (`timelines:{<account>}:threads`)."""

from socialsite.ids import AccountId, PostId
from socialsite.service import Service
from socialsite.store import Store
from timelines import keys
from timelines.pages.page import HydratedPost
from timelines.reading.pipeline import ReadPipeline


class MutedThreadService(Service):
    """Mutes and unmutes the thread of a post that the account may see. Each read of notifications checks the mutes."""

    store: Store
    pipeline: ReadPipeline

    async def mute(self, *, account_id: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
        """Mute the thread, and return the post. Raises PostNotFound. A repetition changes nothing."""
        entry, key = await self.pipeline.get_visible(account_id, post_id), keys.muted_threads(account_id)
        trim = ("ZREMRANGEBYRANK", key, 0, -keys.MUTED_THREADS_CAP - 1)
        await self.store.component("timelines").write_all(
            [("ZADD", key, "NX", now_ms, entry.shown.post.thread_id), trim]
        )
        return await self.pipeline.get_visible(account_id, post_id)

    async def unmute(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Unmute the thread, and return the post. Raises PostNotFound."""
        root_id = (await self.pipeline.get_visible(account_id, post_id)).shown.post.thread_id
        await self.store.component("timelines").write("ZREM", keys.muted_threads(account_id), root_id)
        return await self.pipeline.get_visible(account_id, post_id)
