"""The listener's side of messages between processes: this process's channels and its presence set.

One `Hub` an event loop listens; any process publishes through `Presence`. Messages are hints and may be lost;
the hub says when: `on_lost` in the order of the messages, before any later one is handed over, and `on_gap`
once everything is registered again and the owner can read the truth. It listens where its channels live: that
may be another node after a failover, a slot's departure, or a move of the data.
"""

import asyncio
import logging
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

from socialsite.recipes.presence import (
    FIXED_CHANNELS,
    LISTED_S,
    MARKER,
    PRESENCE_TTL_S,
    Now,
    Presence,
    alive,
    fixed_channel,
    online,
    process_channel,
)
from socialsite.recipes.task_supervisor import Upkeep
from socialsite.store import Key, Node, Store, StoreError
from socialsite.store.pubsub import GAP, Subscription

RENEW_EVERY_S = 5.0
RETRY_S = 0.5
SPREAD_S = 0.05

__all__ = ["MARKER", "Hub", "Now", "Presence", "alive", "fixed_channel", "online", "process_channel"]
log = logging.getLogger(__name__)


class Hub:
    """The listener's side: this process's channels and its presence set.

    `enter` before reading what a member is to see: a publisher writes first and asks the set after, so
    whichever comes second sees the other.
    """

    def __init__(
        self,
        store: Store,
        clock: Now,
        *,
        on_message: Callable[[bytes], Awaitable[None]],
        on_lost: Callable[[], None],
        on_gap: Callable[[], Awaitable[None]],
        renew_every_s: float = RENEW_EVERY_S,
    ) -> None:
        self.process = secrets.token_hex(8)
        self._store = store
        self._clock = clock
        self._on_message = on_message
        self._on_lost = on_lost
        self._on_gap = on_gap
        self._renew_every_s = renew_every_s
        self._members: Counter[str] = Counter()
        self._channels = [process_channel(self.process), *map(fixed_channel, range(FIXED_CHANNELS))]
        self._subscriptions: list[Subscription] = []
        self._upkeep = Upkeep(on_stumble=self.mend)
        self._broken = asyncio.Event()
        self._renewed_at = 0.0  # of the event loop's clock

    async def open(self) -> None:
        """Listen, then be present. Raises StoreUnavailable."""
        async with AsyncExitStack() as undoing:
            undoing.push_async_callback(self._stop_listening)
            await self._listen_everywhere()
            await self._register()
            undoing.pop_all()
        self._store.watchers.add(self._look_again)
        self._upkeep.start(self._renew_for_ever)
        self._upkeep.start(self._mend_for_ever)

    async def close(self) -> None:
        """Stop listening and leave; the set would fade by itself."""
        self._store.watchers.discard(self._look_again)
        await self._stop_listening()
        try:
            await self._store.gather([("UNLINK", online(self.process)), ("ZREM", alive(), self.process)])
        except StoreError as error:
            log.info("presence is left to fade: %s", error)

    async def enter(self, member: str) -> None:
        """One more socket of `member` is here. Raises StoreUnavailable (the member then is not)."""
        self._members[member] += 1
        key, held = online(self.process), None
        try:
            held, _, _ = await self._store.node(key).transaction(
                [("SISMEMBER", key, MARKER), ("SADD", key, member), ("EXPIRE", key, PRESENCE_TTL_S)]
            )
        finally:
            if held is None:  # refused, or the caller was cancelled
                self._members[member] -= 1
        if not held:
            self.mend()

    def leave(self, member: str) -> None:
        """One socket less. The set is told at the next renewal: a reader who turns a page is back by then."""
        self._members[member] -= 1

    def mend(self) -> None:
        """Something may have been missed: the owner hears of it at once, then all is registered again."""
        self._on_lost()
        self._broken.set()

    def _channels_by_node(self) -> list[tuple[Node, list[Key]]]:
        by_node: dict[int, tuple[Node, list[Key]]] = {}
        for channel in self._channels:
            node = self._store.carrier(channel)
            by_node.setdefault(id(node), (node, []))[1].append(channel)
        return list(by_node.values())

    async def _listen_everywhere(self) -> None:
        """Listen where the channels live now: open what is missing, then close what nobody needs any more."""
        wanted = self._channels_by_node()
        for node, channels in wanted:
            if not any(each.carries(node, channels) for each in self._subscriptions):
                subscription = Subscription(node, channels)
                await subscription.open()
                self._subscriptions.append(subscription)
                self._upkeep.start(partial(self._listen, subscription))
        for each in list(self._subscriptions):
            if not any(each.carries(*place) for place in wanted):
                self._subscriptions.remove(each)
                each.close()

    async def _stop_listening(self) -> None:
        await self._upkeep.close()
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions = []

    def _look_again(self) -> None:
        """Keys changed their nodes: have channels?"""
        try:
            wanted = self._channels_by_node()
        except StoreError:
            return  # a lost connection will say so, too
        if not all(any(each.carries(*place) for each in self._subscriptions) for place in wanted):
            self.mend()

    async def _listen(self, subscription: Subscription) -> None:
        """Until its connection is gone; whoever took it off the list has another already."""
        while True:
            message = await subscription.receive()
            if message is GAP:
                if subscription in self._subscriptions:
                    self.mend()
                return
            if self._was_forgotten():
                self.mend()
            try:
                await self._on_message(message)
            except StoreError as error:
                log.warning("a live message could not be handled: %s", error)
                self.mend()

    def _was_forgotten(self) -> bool:
        """This process stood still until its set was gone: what was for its members went nowhere."""
        now = asyncio.get_running_loop().time()
        return not self._broken.is_set() and now - self._renewed_at > PRESENCE_TTL_S

    async def _mend_for_ever(self) -> None:
        while True:
            await self._broken.wait()
            self._broken.clear()
            await asyncio.sleep(random.uniform(0, SPREAD_S))  # noqa: S311 - processes shall not come in step
            try:
                # By name first: a cluster whose slots moved sends us on, and so knows where to listen.
                await self._store.gather([("EXISTS", channel) for channel in self._channels])
                await self._listen_everywhere()
                await self._register()
                await self._on_gap()
            except StoreError as error:
                log.warning("live updates wait for the store: %s", error)
                self._broken.set()
                await asyncio.sleep(RETRY_S)

    async def _register(self) -> None:
        key = online(self.process)
        asked_at = asyncio.get_running_loop().time()
        members = [MARKER, *(member for member, sockets in self._members.items() if sockets > 0)]
        await self._store.node(key).transaction(
            [("SADD", key, *members), ("EXPIRE", key, PRESENCE_TTL_S)],
        )
        await self._store.node(alive()).execute("ZADD", alive(), self._gone_at_ms(), self.process)
        self._renewed_at = asked_at

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._renew_every_s)
            try:
                await self._renew()
            except StoreError as error:
                log.warning("presence could not be renewed: %s", error)

    async def _renew(self) -> None:
        key = online(self.process)
        asked_at = asyncio.get_running_loop().time()
        left = [member for member, sockets in self._members.items() if sockets <= 0]
        for member in left:
            del self._members[member]
        commands = [("SREM", key, *left)] if left else []
        held, *_ = await self._store.gather(
            [
                ("SISMEMBER", key, MARKER),
                *commands,
                ("EXPIRE", key, PRESENCE_TTL_S),
                ("ZADD", alive(), self._gone_at_ms(), self.process),
                ("ZREMRANGEBYSCORE", alive(), "-inf", f"({self._clock.now_ms()}"),
            ]
        )
        if held:
            self._renewed_at = asked_at
        else:
            self.mend()

    def _gone_at_ms(self) -> int:
        return self._clock.now_ms() + LISTED_S * 1000
