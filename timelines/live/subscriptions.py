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
from socialsite.recipes.pubsub_listener import Hub, Now
from socialsite.store.errors import StoreError
from timelines.live import frames
from timelines.live.channels import LIST, OpenTimeline, Refused, Timelines
from timelines.live.rendering import entry_frame
from timelines.live.replay import Missed, missed, newest
from timelines.live.service import LiveService
from timelines.live.socket_registry import Room, Socket, Subscription
from timelines.pages.page import HydratedPost

REPLAYS_AT_ONCE = 8
RETRY_S = 3.0
STUMBLED = 4500
"""Close code after a defect of ours: the client comes again and catches up."""

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


class Subscriber:
    """Begins, repairs and ends the subscriptions of all sockets. A live one costs no task."""

    def __init__(self, room: Room, hub: Hub, timelines: Timelines, live: LiveService, clock: Now) -> None:
        self._room = room
        self._hub = hub
        self._timelines = timelines
        self._live = live
        self._clock = clock
        self._reading = asyncio.Semaphore(REPLAYS_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, socket: Socket, name: str, after: PostId | None) -> None:
        """Subscribe; once more to the same timeline begins anew."""
        self.end(socket, name)
        subscription = socket.subscriptions[name] = Subscription(socket, name, after)
        self._work(subscription, self._begin(subscription, after))

    def end(self, socket: Socket, name: str) -> None:
        subscription = socket.subscriptions.pop(name, None)
        if subscription is None:
            return
        if subscription.task is not None:
            subscription.task.cancel()
        self._room.forget(subscription)
        for member in subscription.present:
            self._hub.leave(member)

    def open_lists_anew(self, account_id: AccountId) -> None:
        """Their rules are others now: what comes next is judged by them."""
        for socket in self._room.of_account(account_id):
            for name, subscription in list(socket.subscriptions.items()):
                if name.startswith(LIST):
                    self.begin(socket, name, subscription.reached)

    def hold_all(self) -> None:
        """Something may have been missed: what comes from now on waits."""
        for subscription in self._room.listening():
            subscription.hold()

    async def repair_all(self) -> None:
        """All is registered again: replay each subscription from its last id.

        Held once more, because one that was just beginning may have gone live before it was registered.
        """
        for subscription in self._room.listening():
            subscription.hold()
            if subscription.task is None or subscription.task.done():  # its callback may be due only
                self._work(subscription, self._repair(subscription))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _work(self, subscription: Subscription, work: Coroutine[None, None, None]) -> None:
        task = subscription.task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, subscription))

    def _done(self, subscription: Subscription, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if subscription.task is task:
            subscription.task = None
        if not task.cancelled() and (defect := task.exception()) is not None:
            log.error("a subscription stumbled", exc_info=defect)
            subscription.socket.outlet.close(STUMBLED)

    async def _begin(self, subscription: Subscription, after: PostId | None) -> None:
        socket, name = subscription.socket, subscription.name
        try:
            timeline = await _steadily(lambda: self._timelines.open(name, socket.account_id))
        except Refused as refused:
            del socket.subscriptions[name]
            socket.outlet.push(frames.error(refused.code))
            return
        self._room.listen(subscription, timeline)
        await self._be_present(subscription, timeline)
        if after is None:
            subscription.last = await _steadily(lambda: newest(timeline.page))
            replayed: frozenset[PostId] = frozenset()
        else:
            subscription.last = after
            replayed = await self._replay(subscription, timeline)
        socket.outlet.push(frames.subscribed(name, subscription.last))
        if subscription.replay_again:
            replayed |= await self._replay(subscription, timeline)
        self._flow(subscription, replayed)

    async def _be_present(self, subscription: Subscription, timeline: OpenTimeline) -> None:
        for member in timeline.members:
            await _steadily(partial(self._hub.enter, member))
            subscription.present.append(member)

    async def _repair(self, subscription: Subscription) -> None:
        assert subscription.timeline is not None
        replayed = await self._replay(subscription, subscription.timeline)
        self._flow(subscription, replayed)

    def _flow(self, subscription: Subscription, replayed: frozenset[PostId]) -> None:
        """Nothing held comes twice, or after the word of its deletion."""
        subscription.flow(lambda post_id: post_id in replayed or self._room.is_gone(post_id))

    async def _replay(self, subscription: Subscription, timeline: OpenTimeline) -> frozenset[PostId]:
        """Send what was missed after `last`, until nothing more may have been; the ids sent."""
        sent: set[PostId] = set()
        subscription.replay_again = True
        while subscription.replay_again:
            subscription.replay_again = False
            found = await _steadily(lambda: self._missed(subscription, timeline))
            await self._send(subscription, found)
            sent.update(entry.id for entry in found.entries)
        return frozenset(sent)

    async def _missed(self, subscription: Subscription, timeline: OpenTimeline) -> Missed:
        async with self._reading:
            now_ms = self._clock.now_ms()
            rewind_ms = await self._live.rewind_ms(now_ms)
            return await missed(timeline.page, subscription.last, now_ms, rewind_ms)

    async def _send(self, subscription: Subscription, found: Missed) -> None:
        socket = subscription.socket
        if found.gap:
            socket.outlet.push(frames.gap(subscription.name, subscription.last, found.last))
        for entry in found.entries:
            await socket.outlet.drained()
            if not self._room.is_gone(entry.id):
                socket.outlet.push(entry_frame(subscription.name, entry, socket.language))
                if isinstance(entry, HydratedPost) and subscription.timeline is not None:
                    self._room.note_sent(entry.shown.post.id, [subscription.timeline.topic])
        subscription.last = found.last


async def _steadily(read: Callable[[], Awaitable[Answer]]) -> Answer:
    """`read`, repeated while the store is away; random, so that thousands of sockets do not ask in step."""
    while True:
        try:
            return await read()
        except StoreError:
            await asyncio.sleep(random.uniform(RETRY_S / 10, RETRY_S))  # noqa: S311 - not a secret
