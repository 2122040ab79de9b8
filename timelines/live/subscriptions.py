"""From "subscribe" to live: listen in memory, be present, read what was missed, then what came meanwhile.

In this order there is no hole: an entry is in the page that is read, or arrives at the socket, or both.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TypeVar

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.recipes.pubsub_listener import MillisecondClock, PubSubListener
from socialsite.store.errors import StoreError
from timelines.live import frames
from timelines.live.channels import LIST_NAME_PREFIX, Channel, ChannelResolver, SubscriptionDenied
from timelines.live.rendering import render_entry_frame
from timelines.live.replay import MissedEntries, read_missed, read_newest_id
from timelines.live.service import LiveService
from timelines.live.socket_registry import LiveSocket, SocketRegistry, Subscription
from timelines.pages.page import HydratedPost

MAX_CONCURRENT_REPLAYS = 8
RETRY_S = 3.0
INTERNAL_ERROR_CLOSE_CODE = 4500
"""Close code after a defect of ours: the client comes again and catches up."""

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class SubscriptionManager:
    """Begins, repairs and ends the subscriptions of all sockets. A live one costs no task."""

    def __init__(
        self,
        registry: SocketRegistry,
        listener: PubSubListener,
        channels: ChannelResolver,
        live: LiveService,
        clock: MillisecondClock,
    ) -> None:
        self._registry = registry
        self._listener = listener
        self._channels = channels
        self._live = live
        self._clock = clock
        self._replay_slots = asyncio.Semaphore(MAX_CONCURRENT_REPLAYS)
        self._tasks: set[asyncio.Task[None]] = set()

    def subscribe(self, socket: LiveSocket, name: str, after: PostId | None) -> None:
        """Subscribe; once more to the same timeline begins anew."""
        self.unsubscribe(socket, name)
        subscription = socket.subscriptions[name] = Subscription(socket, name, after)
        self._start_task(subscription, self._subscribe(subscription, after))

    def unsubscribe(self, socket: LiveSocket, name: str) -> None:
        subscription = socket.subscriptions.pop(name, None)
        if subscription is None:
            return
        if subscription.task is not None:
            subscription.task.cancel()
        self._registry.remove_subscription(subscription)
        for member in subscription.presence_members:
            self._listener.remove_member(member)

    def resubscribe_lists(self, account_id: AccountId) -> None:
        """Their rules are others now: what comes next is judged by them."""
        for socket in self._registry.sockets_of_account(account_id):
            for name, subscription in list(socket.subscriptions.items()):
                if name.startswith(LIST_NAME_PREFIX):
                    self.subscribe(socket, name, subscription.resume_after)

    def pause_all(self) -> None:
        """Something may have been missed: what comes from now on waits."""
        for subscription in self._registry.open_subscriptions():
            subscription.pause()

    async def replay_all(self) -> None:
        """All is registered again: replay each subscription from its last id.

        Held once more, because one that was just beginning may have gone live before it was registered.
        """
        for subscription in self._registry.open_subscriptions():
            subscription.pause()
            if subscription.task is None or subscription.task.done():  # its callback may be due only
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
        if not task.cancelled() and (defect := task.exception()) is not None:
            log.error("a subscription stumbled", exc_info=defect)
            subscription.socket.writer.close(INTERNAL_ERROR_CLOSE_CODE)

    async def _subscribe(self, subscription: Subscription, after: PostId | None) -> None:
        socket, name = subscription.socket, subscription.name
        try:
            timeline = await _retry_while_unavailable(lambda: self._channels.resolve(name, socket.account_id))
        except SubscriptionDenied as refused:
            del socket.subscriptions[name]
            socket.writer.send(frames.encode_error(refused.code))
            return
        self._registry.add_subscription(subscription, timeline)
        await self._register_presence(subscription, timeline)
        if after is None:
            subscription.last_id = await _retry_while_unavailable(lambda: read_newest_id(timeline.read_page))
            replayed: frozenset[PostId] = frozenset()
        else:
            subscription.last_id = after
            replayed = await self._replay(subscription, timeline)
        socket.writer.send(frames.encode_subscribed(name, subscription.last_id))
        if subscription.needs_replay:
            replayed |= await self._replay(subscription, timeline)
        self._resume(subscription, replayed)

    async def _register_presence(self, subscription: Subscription, timeline: Channel) -> None:
        for member in timeline.presence_members:
            await _retry_while_unavailable(partial(self._listener.add_member, member))
            subscription.presence_members.append(member)

    async def _replay_and_resume(self, subscription: Subscription) -> None:
        assert subscription.channel is not None
        replayed = await self._replay(subscription, subscription.channel)
        self._resume(subscription, replayed)

    def _resume(self, subscription: Subscription, replayed: frozenset[PostId]) -> None:
        """Nothing held comes twice, or after the word of its deletion."""
        subscription.resume(lambda post_id: post_id in replayed or self._registry.is_deleted(post_id))

    async def _replay(self, subscription: Subscription, timeline: Channel) -> frozenset[PostId]:
        """Send what was missed after `last`, until nothing more may have been; the ids sent."""
        sent: set[PostId] = set()
        subscription.needs_replay = True
        while subscription.needs_replay:
            subscription.needs_replay = False
            found = await _retry_while_unavailable(lambda: self._read_missed(subscription, timeline))
            await self._send_missed(subscription, found)
            sent.update(entry.id for entry in found.entries)
        return frozenset(sent)

    async def _read_missed(self, subscription: Subscription, timeline: Channel) -> MissedEntries:
        async with self._replay_slots:
            now_ms = self._clock.now_ms()
            rewind_ms = await self._live.rewind_ms(now_ms)
            return await read_missed(timeline.read_page, subscription.last_id, now_ms, rewind_ms)

    async def _send_missed(self, subscription: Subscription, found: MissedEntries) -> None:
        socket = subscription.socket
        if found.has_gap:
            socket.writer.send(frames.encode_gap(subscription.name, subscription.last_id, found.last_id))
        for entry in found.entries:
            await socket.writer.wait_until_drained()
            if not self._registry.is_deleted(entry.id):
                socket.writer.send(render_entry_frame(subscription.name, entry, socket.language))
                if isinstance(entry, HydratedPost) and subscription.channel is not None:
                    self._registry.record_sent(entry.shown.post.id, [subscription.channel.topic])
        subscription.last_id = found.last_id


async def _retry_while_unavailable(read: Callable[[], Awaitable[Result]]) -> Result:
    """`read`, repeated while the store is away; random, so that thousands of sockets do not ask in step."""
    while True:
        try:
            return await read()
        except StoreError:
            await asyncio.sleep(random.uniform(RETRY_S / 10, RETRY_S))  # noqa: S311 - not a secret
