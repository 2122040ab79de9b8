"""The listener's side of messages between processes: this process's channels and its presence set.

One `PubSubListener` an event loop listens; any process publishes through `Presence`. Messages are hints and may be lost;
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
    FIXED_CHANNEL_COUNT,
    PRESENCE_TTL_S,
    PROCESS_TTL_S,
    SENTINEL_MEMBER,
    MillisecondClock,
    Presence,
    fixed_channel,
    members_key,
    process_channel,
    processes_key,
)
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.store import Key, Node, Store, StoreError
from socialsite.store.pubsub import CONNECTION_LOST, Subscription

PRESENCE_RENEWAL_INTERVAL_S = 5.0
RETRY_DELAY_S = 0.5
MAX_RESYNC_JITTER_S = 0.05

__all__ = [
    "SENTINEL_MEMBER",
    "MillisecondClock",
    "Presence",
    "PubSubListener",
    "fixed_channel",
    "members_key",
    "process_channel",
    "processes_key",
]
log = logging.getLogger(__name__)


class PubSubListener:
    """The listener's side: this process's channels and its presence set.

    `enter` before reading what a member is to see: a publisher writes first and asks the set after, so
    whichever comes second sees the other.
    """

    def __init__(
        self,
        store: Store,
        clock: MillisecondClock,
        *,
        on_message: Callable[[bytes], Awaitable[None]],
        on_lost: Callable[[], None],
        on_resynced: Callable[[], Awaitable[None]],
        renewal_interval_s: float = PRESENCE_RENEWAL_INTERVAL_S,
    ) -> None:
        self.process_id = secrets.token_hex(8)
        self._store = store
        self._clock = clock
        self._on_message = on_message
        self._on_lost = on_lost
        self._on_resynced = on_resynced
        self._renewal_interval_s = renewal_interval_s
        self._members: Counter[str] = Counter()
        self._channels = [process_channel(self.process_id), *map(fixed_channel, range(FIXED_CHANNEL_COUNT))]
        self._subscriptions: list[Subscription] = []
        self._supervisor = TaskSupervisor(on_crash=self.resync)
        self._needs_resync = asyncio.Event()
        self._renewed_at = 0.0  # of the event loop's clock

    async def open(self) -> None:
        """Listen, then be present. Raises StoreUnavailable."""
        async with AsyncExitStack() as undoing:
            undoing.push_async_callback(self._stop_listening)
            await self._subscribe_all()
            await self._register()
            undoing.pop_all()
        self._store.on_topology_change.add(self._on_topology_change)
        self._supervisor.start(self._renew_forever)
        self._supervisor.start(self._resync_forever)

    async def close(self) -> None:
        """Stop listening and leave; the set would fade by itself."""
        self._store.on_topology_change.discard(self._on_topology_change)
        await self._stop_listening()
        try:
            await self._store.gather(
                [("UNLINK", members_key(self.process_id)), ("ZREM", processes_key(), self.process_id)]
            )
        except StoreError as error:
            log.info("presence is left to fade: %s", error)

    async def add_member(self, member: str) -> None:
        """One more socket of `member` is here. Raises StoreUnavailable (the member then is not)."""
        self._members[member] += 1
        key, held = members_key(self.process_id), None
        try:
            held, _, _ = await self._store.node(key).transaction(
                [("SISMEMBER", key, SENTINEL_MEMBER), ("SADD", key, member), ("EXPIRE", key, PRESENCE_TTL_S)]
            )
        finally:
            if held is None:  # refused, or the caller was cancelled
                self._members[member] -= 1
        if not held:
            self.resync()

    def remove_member(self, member: str) -> None:
        """One socket less. The set is told at the next renewal: a reader who turns a page is back by then."""
        self._members[member] -= 1

    def resync(self) -> None:
        """Something may have been missed: the owner hears of it at once, then all is registered again."""
        self._on_lost()
        self._needs_resync.set()

    def _channels_by_node(self) -> list[tuple[Node, list[Key]]]:
        by_node: dict[int, tuple[Node, list[Key]]] = {}
        for channel in self._channels:
            node = self._store.serving_node(channel)
            by_node.setdefault(id(node), (node, []))[1].append(channel)
        return list(by_node.values())

    async def _subscribe_all(self) -> None:
        """Listen where the channels live now: open what is missing, then close what nobody needs any more."""
        wanted = self._channels_by_node()
        for node, channels in wanted:
            if not any(each.covers(node, channels) for each in self._subscriptions):
                subscription = Subscription(node, channels)
                await subscription.open()
                self._subscriptions.append(subscription)
                self._supervisor.start(partial(self._listen, subscription))
        for each in list(self._subscriptions):
            if not any(each.covers(*place) for place in wanted):
                self._subscriptions.remove(each)
                each.close()

    async def _stop_listening(self) -> None:
        await self._supervisor.close()
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions = []

    def _on_topology_change(self) -> None:
        """Keys changed their nodes: have channels?"""
        try:
            wanted = self._channels_by_node()
        except StoreError:
            return  # a lost connection will say so, too
        if not all(any(each.covers(*place) for each in self._subscriptions) for place in wanted):
            self.resync()

    async def _listen(self, subscription: Subscription) -> None:
        """Until its connection is gone; whoever took it off the list has another already."""
        while True:
            message = await subscription.receive()
            if message is CONNECTION_LOST:
                if subscription in self._subscriptions:
                    self.resync()
                return
            if self._has_presence_expired():
                self.resync()
            try:
                await self._on_message(message)
            except StoreError as error:
                log.warning("a live message could not be handled: %s", error)
                self.resync()

    def _has_presence_expired(self) -> bool:
        """This process stood still until its set was gone: what was for its members went nowhere."""
        now = asyncio.get_running_loop().time()
        return not self._needs_resync.is_set() and now - self._renewed_at > PRESENCE_TTL_S

    async def _resync_forever(self) -> None:
        while True:
            await self._needs_resync.wait()
            self._needs_resync.clear()
            await asyncio.sleep(random.uniform(0, MAX_RESYNC_JITTER_S))  # noqa: S311 - processes shall not come in step
            try:
                # By name first: a cluster whose slots moved sends us on, and so knows where to listen.
                await self._store.gather([("EXISTS", channel) for channel in self._channels])
                await self._subscribe_all()
                await self._register()
                await self._on_resynced()
            except StoreError as error:
                log.warning("live updates wait for the store: %s", error)
                self._needs_resync.set()
                await asyncio.sleep(RETRY_DELAY_S)

    async def _register(self) -> None:
        key = members_key(self.process_id)
        asked_at = asyncio.get_running_loop().time()
        members = [SENTINEL_MEMBER, *(member for member, sockets in self._members.items() if sockets > 0)]
        await self._store.node(key).transaction(
            [("SADD", key, *members), ("EXPIRE", key, PRESENCE_TTL_S)],
        )
        await self._store.node(processes_key()).execute("ZADD", processes_key(), self._expires_at_ms(), self.process_id)
        self._renewed_at = asked_at

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self._renewal_interval_s)
            try:
                await self._renew()
            except StoreError as error:
                log.warning("presence could not be renewed: %s", error)

    async def _renew(self) -> None:
        key = members_key(self.process_id)
        asked_at = asyncio.get_running_loop().time()
        left = [member for member, sockets in self._members.items() if sockets <= 0]
        for member in left:
            del self._members[member]
        commands = [("SREM", key, *left)] if left else []
        held, *_ = await self._store.gather(
            [
                ("SISMEMBER", key, SENTINEL_MEMBER),
                *commands,
                ("EXPIRE", key, PRESENCE_TTL_S),
                ("ZADD", processes_key(), self._expires_at_ms(), self.process_id),
                ("ZREMRANGEBYSCORE", processes_key(), "-inf", f"({self._clock.now_ms()}"),
            ]
        )
        if held:
            self._renewed_at = asked_at
        else:
            self.resync()

    def _expires_at_ms(self) -> int:
        return self._clock.now_ms() + PROCESS_TTL_S * 1000
