"""Fan-out ("syndication"): the work of the worker for a published post. Jobs may be repeated, and run in any order.

A pass delivers to at most POSTS_PER_PASS followers (Redis in Action, section 10.3, listing 10.15). Several passes are
read and delivered together; their number grows with the number of nodes
(docs/reference/decisions/fan-out-passes.md). A job runs passes for a time slice (time_slice.py). The queue then
acknowledges it and adds a job for the remaining passes in one step, so that other jobs run between the slices of a
large fan-out.
"""

from collections.abc import Awaitable
from contextlib import suppress
from functools import partial

import msgspec

from accounts.accounts.service import AccountService
from accounts.domain import DELETED
from socialsite.analytics.meter import Meter
from socialsite.concurrency import run_all_to_end, run_together
from socialsite.ids import AccountId, PostId, TimeSource, ms_from_id
from socialsite.recipes.job import PermanentFailure
from socialsite.service import Part
from timelines import jobs
from timelines.cached_timelines.repository import CachedTimelines
from timelines.errors import PostInvalid
from timelines.fanout.account_purge import AccountPurge
from timelines.fanout.time_slice import SLICE_MS, run_slice, slice_end, slice_is_over
from timelines.graph.follow import FIRST_PASS, PassCursor, PassPage
from timelines.graph.repository import Follows
from timelines.hashtags.trends import TrendService
from timelines.ids import ListId
from timelines.lists.repository import ListMembers
from timelines.live_updates.delivery_lag import DeliveryLag
from timelines.live_updates.service import LiveService
from timelines.media.service import MediaService
from timelines.notifications.service import NotificationService
from timelines.polls.service import PollService
from timelines.popular.service import PopularPostsService
from timelines.posts.post import Post
from timelines.posts.repository import EditResult, PostRepository, WriteResult
from timelines.previews.service import PreviewService
from timelines.publishing.timeline_writer import TimelineWriter
from timelines.reactions.boosts import BoostService
from timelines.reactions.edit_notifications import EditNotifications
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.search.indexing import SearchIndexer

ANNOUNCE_OVERDUE_MS = 2_000
"""After this time the web process that published the post has announced it, or has crashed."""
PASSES_PER_NODE, MAX_PASSES = 3, 12
"""The number of passes that are read together, per node and at most."""


class FanOutService(Part):
    """Performs the jobs of the outbox."""

    posts: PostRepository
    timeline_writer: TimelineWriter
    account_purge: AccountPurge
    boosts: BoostService
    indexing: SearchIndexer
    fan_out_on_read: FanOutOnRead
    follows: Follows
    members: ListMembers
    homes: CachedTimelines
    list_timelines: CachedTimelines
    accounts: AccountService
    live: LiveService
    media: MediaService
    lag: DeliveryLag
    meter: Meter
    clock: TimeSource
    posts_per_pass: int
    time_slice_ms: int = SLICE_MS
    notifications: NotificationService
    edit_notifications: EditNotifications
    trends: TrendService
    popular: PopularPostsService
    polls: PollService
    previews: PreviewService

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Perform one job. Return the payloads of the jobs that continue its work. Raises PermanentFailure."""
        try:
            job = jobs.decode_job(payload)
        except msgspec.DecodeError as error:
            raise PermanentFailure(f"not a job of this release: {error}") from error
        if isinstance(job, jobs.SyndicatePost):
            return await self._fan_out(job.post, bytes(job.value))
        if isinstance(job, jobs.EditPost):
            return await self._finish_edit(job)
        if isinstance(job, jobs.PurgeAccount):
            is_unfinished = await self.account_purge.purge(job.account_id, is_deletion=job.is_deletion)
            return (jobs.encode_job(jobs.PurgeAccount(job.account_id)),) if is_unfinished else ()
        if isinstance(job, jobs.DeleteBoostsOfPost):
            return (payload,) if await self.boosts.delete_more_boosts(job.post_id) else ()
        cursor = PassCursor(job.partition, job.at_ms, job.id)
        run_phase = self._fan_out_to_homes if job.phase == "homes" else self._fan_out_to_lists
        return await run_phase(self.posts.find(job.post_id), job.author_id, cursor)

    async def _fan_out(self, post: Post, value: bytes) -> tuple[bytes, ...]:
        """Finish a publication, pass the post to the services of other features, and run the first time slice."""
        result = await self.posts.write(post, value)
        if not result.exists:
            return ()
        if result is WriteResult.NEW:
            self.meter.count_post(post.author_id)
        elif result is WriteResult.EDITED and (newest := await self.posts.find(post.id)) is not None:
            post = newest
        await run_together(self.timeline_writer.add(post, is_repeat=True), self.indexing.add_or_defer(post))
        if not await self.timeline_writer.still_exists(post):
            return ()
        calls = [
            self.notifications.notify(post), self.trends.count_post(post), self.popular.count_answer(post),
            self.polls.schedule_end(post), self.previews.request(post),
        ]  # fmt: skip
        if result is WriteResult.NEW or self.clock.now_ms() - ms_from_id(post.id) > ANNOUNCE_OVERDUE_MS:
            # The web process may have crashed before it announced the post. A repeated announcement has no effect.
            calls.append(self.live.entry_published(post))
        return await run_all_to_end(self._first_slice(post), *calls)

    async def _finish_edit(self, job: jobs.EditPost) -> tuple[bytes, ...]:
        """Finish an edit, and pass it to the services of other features."""
        edited, number = job.post, job.post.extra.version
        result = EditResult.CONFLICT
        with suppress(PostInvalid):  # a picture was deleted, so this version was never acknowledged
            if edited.extra.media and await self.posts.find_value(edited.id) == bytes(job.former):
                await self.media.attach(edited)
            result = await self.posts.edit(edited.id, bytes(job.former), bytes(job.value))
        versions = await self.timeline_writer.update(edited.id)
        if versions[number : number + 1] != [edited]:  # the post was deleted, or another edit was stored first
            return ()
        newest = versions[-1]
        calls = [
            self.notifications.notify_edit(versions, number), self.edit_notifications.notify(versions, number),
            self.trends.count_post(newest), self.polls.schedule_end(newest), self.previews.request(newest),
        ]  # fmt: skip
        overdue_ms = self.clock.now_ms() - (edited.extra.edited_ms or 0)
        if result is EditResult.NEW or overdue_ms > ANNOUNCE_OVERDUE_MS:
            calls.append(self.live.post_edited(edited.id))
        await run_together(*calls)
        return ()

    async def _first_slice(self, post: Post) -> tuple[bytes, ...]:
        if await self.fan_out_on_read.skips_fan_out(post):
            await self.live.entry_pulled(post)
            return await self._fan_out_to_lists(_loaded(post), post.author_id, FIRST_PASS)
        return await self._fan_out_to_homes(_loaded(post), post.author_id, FIRST_PASS)

    def _pass_size(self, timelines: CachedTimelines) -> int:
        """Return the number of followers that are read together."""
        return self.posts_per_pass * min(PASSES_PER_NODE * timelines.node_count, MAX_PASSES)

    async def _fan_out_to_homes(
        self, load_post: Awaitable[Post | None], author_id: AccountId, cursor: PassCursor
    ) -> tuple[bytes, ...]:
        """Deliver to homes for a time slice, then to lists if the homes are done and time is left."""
        size, until = self._pass_size(self.homes), slice_end(self.time_slice_ms / 1000)

        async def read(cursor: PassCursor) -> PassPage[AccountId]:
            return await self.follows.followers_pass(author_id, cursor, size)

        post, author_exists, page = await run_together(load_post, self._author_exists(author_id), read(cursor))
        if post is None or not author_exists:
            return ()
        last = await run_slice(page, read, partial(self._deliver_to_homes, post), until=until)
        if last.next is not None:
            return (self._continue_at(post, "homes", last.next),)
        if len(last.encoded_ids) == size and slice_is_over(until):
            return (self._continue_at(post, "lists", FIRST_PASS),)
        return await self._fan_out_to_lists(_loaded(post), author_id, FIRST_PASS)

    async def _fan_out_to_lists(
        self, load_post: Awaitable[Post | None], author_id: AccountId, cursor: PassCursor
    ) -> tuple[bytes, ...]:
        size, until = self._pass_size(self.list_timelines), slice_end(self.time_slice_ms / 1000)

        async def read(cursor: PassCursor) -> PassPage[ListId]:
            return await self.members.listed_on_pass(author_id, cursor, size)

        post, author_exists, page = await run_together(load_post, self._author_exists(author_id), read(cursor))
        if post is None or not author_exists:
            return ()
        last = await run_slice(page, read, partial(self._deliver_to_lists, post), until=until)
        return () if last.next is None else (self._continue_at(post, "lists", last.next),)

    async def _deliver_to_homes(self, post: Post, page: PassPage[AccountId]) -> None:
        await self.homes.push_encoded(page.encoded_ids, post.id)
        # Announce after the homes are written, so that a page opened meanwhile has the entry or receives the message.
        await self.live.entry_delivered(post, page.encoded_ids)
        await self._count_deliveries(post, len(page.encoded_ids))

    async def _deliver_to_lists(self, post: Post, page: PassPage[ListId]) -> None:
        await self.list_timelines.push_encoded(page.encoded_ids, post.id)
        await self.live.list_entry_delivered(post, page.ids)
        await self._count_deliveries(post, len(page.encoded_ids))

    async def _count_deliveries(self, post: Post, entries: int) -> None:
        now_ms = self.clock.now_ms()
        self.meter.count_deliveries(entries, now_ms - ms_from_id(post.id))
        await self.lag.note(post.id, now_ms)

    async def _author_exists(self, account_id: AccountId) -> bool:
        """Return whether the account exists, because posts of deleted accounts are not delivered."""
        author = (await self.accounts.find_authors([account_id])).get(account_id)
        return author is not None and author.state != DELETED

    @staticmethod
    def _continue_at(post: Post, phase: jobs.FanOutPhase, cursor: PassCursor) -> bytes:
        job = jobs.SyndicatePass(PostId(post.id), post.author_id, phase, cursor.partition, cursor.at_ms, cursor.id)
        return jobs.encode_job(job)


async def _loaded(post: Post) -> Post:
    """Return the post, as an awaitable for callers that expect a read."""
    return post
