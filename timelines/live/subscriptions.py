"""Starts, repairs and ends subscriptions.

A subscription listens, registers its presence, replays missed entries and then goes live. This order leaves no gap:
an entry is on the page that the replay reads, or arrives live, or both.

An entry may be delivered later than the time in its id. So a replay starts 60 s before the last id of the reader, or
earlier if the largest delivery lag of the last day is longer. The client ignores entries that it already has. More than
MAX_REPLAYED_ENTRIES newer entries are a gap, which the client loads page by page.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from socialsite.ids import SEQUENCE_BITS, AccountId, PostId, TimeSource, id_at
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.store.errors import StoreError
from timelines.live import socket_messages
from timelines.live.channels import LIST_NAME_PREFIX, Channel, ChannelResolver, PageReader, SubscriptionDenied
from timelines.live.socket_registry import LiveSocket, SocketRegistry, Subscription
from timelines.live_updates.service import LiveService
from timelines.notifications.notification import VisibleNotification
from timelines.pages.page import HydratedPost

MAX_CONCURRENT_REPLAYS = 8
RETRY_S = 3.0
MAX_REPLAYED_ENTRIES = 100
REWIND_MS = 60_000
REWIND_PAGE_LIMITS = 10, 90, 100, 100
"""The sizes of the pages that a replay reads before the reader's last id. The first page usually suffices.

If there are more than 300 entries in this time, only the newest are replayed.
"""

Entry = HydratedPost | VisibleNotification
Result = TypeVar("Result")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MissedEntries:
    """The entries to send, oldest first.

    `last_id` is the id after which the next read starts. `has_gap` is True if more entries were missed than are
    replayed.
    """

    entries: tuple[Entry, ...]
    last_id: PostId
    has_gap: bool = False


@dataclass(eq=False, slots=True)
class SubscriptionManager:
    """Manages the subscriptions of all sockets. A subscription has a task of its own only while it begins."""

    registry: SocketRegistry
    listener: PubSubListener
    channels: ChannelResolver
    live: LiveService
    clock: TimeSource
    _replay_slots: asyncio.Semaphore = field(
        init=False, default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_REPLAYS)
    )
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    def subscribe(
        self, socket: LiveSocket, name: str, after: PostId | None = None, *, timeline: str | None = None
    ) -> None:
        """Subscribe the socket to a timeline, and replace an existing subscription of this name.

        `timeline` is the name that the channels know, if the client uses another.
        """
        self.unsubscribe(socket, name)
        subscription = socket.subscriptions[name] = Subscription(socket, name, after, timeline=timeline)
        self._start_task(subscription, self._subscribe(subscription, after))

    def unsubscribe(self, socket: LiveSocket, name: str) -> None:
        subscription = socket.subscriptions.pop(name, None)
        if subscription is None:
            return
        if subscription.task is not None:
            subscription.task.cancel()
        self.registry.remove_subscription(subscription)
        for member in subscription.presence_members:
            self.listener.remove_member(member)

    def resubscribe_lists(self, account_id: AccountId) -> None:
        """Subscribe the account's open list timelines again, because the rules of its lists changed."""
        for socket in self.registry.sockets_of_account(account_id):
            for name, subscription in list(socket.subscriptions.items()):
                if subscription.timeline.startswith(LIST_NAME_PREFIX):
                    self.subscribe(socket, name, subscription.resume_after, timeline=subscription.timeline)

    def pause_all(self) -> None:
        """Queue live entries of every subscription, because messages may have been missed."""
        for subscription in self.registry.open_subscriptions():
            subscription.pause()

    async def replay_all(self) -> None:
        """Replay every subscription from its last id, after the process is registered again.

        Each subscription is paused here, too, because it may have gone live before the process was registered.
        """
        for subscription in self.registry.open_subscriptions():
            subscription.pause()
            if subscription.task is None or subscription.task.done():  # the callback of the ended task may not have run
                self._start_task(subscription, self._replay_and_resume(subscription))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_task(self, subscription: Subscription, work: Coroutine[None, None, None]) -> None:
        task = subscription.task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._on_task_done, subscription))

    def _on_task_done(self, subscription: Subscription, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if subscription.task is task:
            subscription.task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a subscription failed", exc_info=error)
            subscription.socket.writer.close(socket_messages.INTERNAL_ERROR_CLOSE_CODE)

    async def _subscribe(self, subscription: Subscription, after: PostId | None) -> None:
        socket, name = subscription.socket, subscription.name
        try:
            resolve = partial(self.channels.resolve, subscription.timeline, socket.account_id)
            channel = await _retry_while_unavailable(resolve)
        except SubscriptionDenied as denied:
            del socket.subscriptions[name]
            socket.writer.send(socket.encoder.error(denied.code, name))
            return
        self.registry.add_subscription(subscription, channel)
        await self._register_presence(subscription, channel)
        if after is None:
            subscription.last_id = await _retry_while_unavailable(lambda: read_newest_id(channel.read_page))
            replayed_ids: frozenset[PostId] = frozenset()
        else:
            subscription.last_id = after
            replayed_ids = await self._replay(subscription, channel)
        if socket.encoder.is_page:
            socket.writer.send(socket_messages.encode_subscribed(name, subscription.last_id))
        if subscription.needs_replay:
            replayed_ids |= await self._replay(subscription, channel)
        self._resume(subscription, replayed_ids)

    async def _register_presence(self, subscription: Subscription, channel: Channel) -> None:
        for member in channel.presence_members:
            await _retry_while_unavailable(partial(self.listener.add_member, member))
            subscription.presence_members.append(member)

    async def _replay_and_resume(self, subscription: Subscription) -> None:
        assert subscription.channel is not None
        replayed_ids = await self._replay(subscription, subscription.channel)
        self._resume(subscription, replayed_ids)

    def _resume(self, subscription: Subscription, replayed_ids: frozenset[PostId]) -> None:
        """Make the subscription live. Queued entries that were replayed or deleted meanwhile are not sent."""
        subscription.resume(lambda post_id: post_id in replayed_ids or self.registry.is_deleted(post_id))

    async def _replay(self, subscription: Subscription, channel: Channel) -> frozenset[PostId]:
        """Send the entries after `last_id` until no entry can be missing. Return the ids that were sent."""
        sent_ids: set[PostId] = set()
        subscription.needs_replay = True
        while subscription.needs_replay:
            subscription.needs_replay = False
            missed = await _retry_while_unavailable(lambda: self._read_missed(subscription, channel))
            await self._send_missed(subscription, missed)
            sent_ids.update(entry.id for entry in missed.entries)
        return frozenset(sent_ids)

    async def _read_missed(self, subscription: Subscription, channel: Channel) -> MissedEntries:
        async with self._replay_slots:
            now_ms = self.clock.now_ms()
            rewind_ms = await self.live.rewind_ms(now_ms)
            return await read_missed(channel.read_page, subscription.last_id, now_ms, rewind_ms)

    async def _send_missed(self, subscription: Subscription, missed: MissedEntries) -> None:
        socket = subscription.socket
        if missed.has_gap and socket.encoder.is_page:
            socket.writer.send(socket_messages.encode_gap(subscription.name, subscription.last_id, missed.last_id))
        for entry in missed.entries:
            await socket.writer.wait_until_drained()
            if self.registry.is_deleted(entry.id) or not subscription.remember(entry.id):
                continue
            frame = await socket.encoder.entry(subscription.name, entry, socket.language)
            if frame is not None and not self.registry.is_deleted(entry.id):
                socket.writer.send(frame)
                if isinstance(entry, HydratedPost) and subscription.channel is not None:
                    self.registry.record_sent(entry.shown.post.id, [subscription.channel.topic])
        subscription.last_id = missed.last_id


async def _retry_while_unavailable(read: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat `read` while it raises StoreError. Pauses are random, so that sockets do not retry at the same time."""
    while True:
        try:
            return await read()
        except StoreError:
            await asyncio.sleep(random.uniform(RETRY_S / 10, RETRY_S))  # noqa: S311 - not a secret


async def read_newest_id(read_page: PageReader) -> PostId:
    """Return the newest id of a timeline, or 0 if the timeline is empty."""
    page = await read_page(limit=1)
    return page.entries[0].id if page.entries else PostId(0)


async def read_missed(read_page: PageReader, after: PostId, now_ms: int, rewind_ms: int = REWIND_MS) -> MissedEntries:
    """Read the entries after the id `after`, and the entries of the last `rewind_ms` before it.

    If `after` is in the future, the present time is used instead.
    """
    after = min(after, id_at(now_ms))
    newer = await read_page(after=after, limit=MAX_REPLAYED_ENTRIES)
    if newer.previous_after is not None:
        return MissedEntries((), await read_newest_id(read_page), has_gap=True)
    entries = await _read_rewound(read_page, after, rewind_ms)
    entries += reversed(newer.entries)
    return MissedEntries(tuple(entries), newer.entries[0].id if newer.entries else after)


async def _read_rewound(read_page: PageReader, after: PostId, rewind_ms: int) -> list[Entry]:
    """Read the entries of the `rewind_ms` before `after`, including `after`, oldest first."""
    start = max(0, after - (rewind_ms << SEQUENCE_BITS))
    entries: list[Entry] = []
    before: PostId | None = PostId(after + 1)
    for limit in REWIND_PAGE_LIMITS:
        page = await read_page(before=before, limit=limit)
        entries += [entry for entry in page.entries if entry.id > start]
        before = page.next_before
        if before is None or before <= start:
            break
    return entries[::-1]
