"""Syndication (fan-out): the worker's side of a post. Every job may run any number of times, in any order.

A pass handles at most POSTS_PER_PASS followers (seed listing 10.15); several are read and delivered together,
more of them where there are more nodes (docs/reference/decisions/fan-out-passes.md). A job makes passes for a
few ms (turns.py); its successor is stored together with its acknowledgement by the queue, so large fan-outs
take turns with everything else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from accounts.domain import DELETED, Author
from socialsite.ids import AccountId, PostId, TimeSource, ms_from_id
from socialsite.recipes.job_queue import PermanentFailure
from timelines.cached_timelines.repository import CachedTimelines
from timelines.fanout.account_purge import AccountPurge
from timelines.fanout.time_slice import SLICE_MS, run_concurrently, run_slice, slice_end, slice_is_over
from timelines.graph.follow import FIRST_PASS, PassCursor, PassPage
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.jobs import (
    DeleteBoostsOfPost,
    FanOutPhase,
    PurgeAccount,
    SyndicatePass,
    SyndicatePost,
    decode_job,
    encode_job,
)
from timelines.lists.repository import ListMembers
from timelines.live.delivery_lag import DeliveryLag
from timelines.ports import PostMeter
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository, WriteResult
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.reactions.boosting import BoostService
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.search.indexing import SearchIndexer

ANNOUNCE_OVERDUE_MS = 2_000
"""After this the web process that took the post has surely announced it, or died before."""


Finding = Awaitable[Post | None]
"""Looks for the post of a pass, together with everything else that the pass has to know."""

TOGETHER, MOST_TOGETHER = 3, 12
"""So many passes are read together for each node, and at most. Read one by one they take as long as to push,
and the nodes wait in between."""

PostListener = Callable[[Post], Coroutine[Any, Any, None]]
"""Somebody who wants to know of each published post, at least once, after it stands; safe to repeat."""


class Pusher(Protocol):
    async def entry_published(self, post: Post) -> None: ...

    async def entry_pulled(self, post: Post) -> None: ...

    async def entry_delivered(self, post: Post, followers: Sequence[AccountId | bytes]) -> None: ...

    async def list_entry_delivered(self, post: Post, list_ids: Sequence[ListId]) -> None: ...


class Authors(Protocol):
    async def find_authors(self, ids: Iterable[AccountId]) -> dict[AccountId, Author]: ...


class FanOutService:
    """Performs the jobs of the outbox."""

    def __init__(
        self,
        *,
        posts: PostRepository,
        author_timelines: AuthorTimelines,
        account_purge: AccountPurge,
        boosts: BoostService,
        indexing: SearchIndexer,
        fan_out_on_read: FanOutOnRead,
        follows: Follows,
        members: ListMembers,
        homes: CachedTimelines,
        list_timelines: CachedTimelines,
        accounts: Authors,
        live: Pusher,
        lag: DeliveryLag,
        meter: PostMeter,
        clock: TimeSource,
        posts_per_pass: int,
        slice_ms: int = SLICE_MS,
        post_listeners: Sequence[PostListener] = (),
    ) -> None:
        self._posts = posts
        self._placing = author_timelines
        self._purging = account_purge
        self._boosting = boosts
        self._indexing = indexing
        self._pulling = fan_out_on_read
        self._follows = follows
        self._members = members
        self._homes = homes
        self._list_timelines = list_timelines
        self._accounts = accounts
        self._live = live
        self._lag = lag
        self._meter = meter
        self._clock = clock
        self._posts_per_pass = posts_per_pass
        self._turn_s = slice_ms / 1000
        self._noticing = post_listeners

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Perform one job; the payloads of the jobs that follow from it. Raises PermanentFailure."""
        try:
            job = decode_job(payload)
        except msgspec.DecodeError as error:
            raise PermanentFailure(f"not a job of this release: {error}") from error
        if isinstance(job, SyndicatePost):
            return await self._first(job.post, bytes(job.value))
        if isinstance(job, PurgeAccount):
            return (payload,) if await self._purging.purge(job.account_id) else ()
        if isinstance(job, DeleteBoostsOfPost):
            return (payload,) if await self._boosting.delete_more_boosts(job.post_id) else ()
        cursor = PassCursor(job.partition, job.at_ms, job.id)
        performed = self._homes_turn if job.phase == "homes" else self._lists_turn
        return await performed(self._posts.find(job.post_id), job.author_id, cursor)

    async def _first(self, post: Post, value: bytes) -> tuple[bytes, ...]:
        """Repeat what publish may not have finished, then the first pass."""
        written = await self._posts.write(post, value)
        if not written.exists:
            return ()
        if written is WriteResult.NEW:
            self._meter.count_post(post.author_id)
        await asyncio.gather(self._placing.add(post, is_repeat=True), self._indexing.add_or_defer(post))
        if not await self._placing.still_exists(post):
            return ()
        notices = [notice(post) for notice in self._noticing]
        if written is WriteResult.NEW or self._clock.now_ms() - ms_from_id(post.id) > ANNOUNCE_OVERDUE_MS:
            # In the place of a web process that died on the way; a second word shows nothing twice.
            notices.append(self._live.entry_published(post))
        return await run_concurrently(self._first_turn(post), *notices)

    async def _first_turn(self, post: Post) -> tuple[bytes, ...]:
        if await self._pulling.skips_fan_out(post):
            await self._live.entry_pulled(post)
            return await self._lists_turn(given(post), post.author_id, FIRST_PASS)
        return await self._homes_turn(given(post), post.author_id, FIRST_PASS)

    def _pass_size(self, timelines: CachedTimelines) -> int:
        """Followers that are read together."""
        return self._posts_per_pass * min(TOGETHER * timelines.node_count, MOST_TOGETHER)

    async def _homes_turn(self, finding: Finding, author_id: AccountId, cursor: PassCursor) -> tuple[bytes, ...]:
        """Passes over homes; where these end in time, or with little work, the lists follow at once."""
        size, until = self._pass_size(self._homes), slice_end(self._turn_s)

        async def read(cursor: PassCursor) -> PassPage[AccountId]:
            return await self._follows.followers_pass(author_id, cursor, size)

        post, is_author, page = await asyncio.gather(finding, self._is_author(author_id), read(cursor))
        if post is None or not is_author:
            return ()
        last = await run_slice(page, read, partial(self._into_homes, post), until=until)
        if last.next is not None:
            return (self._following(post, "homes", last.next),)
        if len(last.encoded_ids) == size and slice_is_over(until):
            return (self._following(post, "lists", FIRST_PASS),)
        return await self._lists_turn(given(post), author_id, FIRST_PASS)

    async def _lists_turn(self, finding: Finding, author_id: AccountId, cursor: PassCursor) -> tuple[bytes, ...]:
        size, until = self._pass_size(self._list_timelines), slice_end(self._turn_s)

        async def read(cursor: PassCursor) -> PassPage[ListId]:
            return await self._members.listed_on_pass(author_id, cursor, size)

        post, is_author, page = await asyncio.gather(finding, self._is_author(author_id), read(cursor))
        if post is None or not is_author:
            return ()
        last = await run_slice(page, read, partial(self._into_lists, post), until=until)
        return () if last.next is None else (self._following(post, "lists", last.next),)

    async def _into_homes(self, post: Post, page: PassPage[AccountId]) -> None:
        await self._homes.push_encoded(page.encoded_ids, post.id)
        # After the homes: whoever opens one now either reads the entry there or is told.
        await self._live.entry_delivered(post, page.encoded_ids)
        await self._delivered(post, len(page.encoded_ids))

    async def _into_lists(self, post: Post, page: PassPage[ListId]) -> None:
        await self._list_timelines.push_encoded(page.encoded_ids, post.id)
        await self._live.list_entry_delivered(post, page.ids)
        await self._delivered(post, len(page.encoded_ids))

    async def _delivered(self, post: Post, entries: int) -> None:
        now_ms = self._clock.now_ms()
        self._meter.count_deliveries(entries, now_ms - ms_from_id(post.id))
        await self._lag.note(post.id, now_ms)

    async def _is_author(self, account_id: AccountId) -> bool:
        """Whether the account still writes: posts of deleted ones go nowhere."""
        author = (await self._accounts.find_authors([account_id])).get(account_id)
        return author is not None and author.state != DELETED

    @staticmethod
    def _following(post: Post, phase: FanOutPhase, cursor: PassCursor) -> bytes:
        job = SyndicatePass(PostId(post.id), post.author_id, phase, cursor.partition, cursor.at_ms, cursor.id)
        return encode_job(job)


async def given(post: Post) -> Post:
    """A post that was found before."""
    return post
