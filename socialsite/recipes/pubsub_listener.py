"""Receive messages on this process's channels, and renew its presence set.

Each event loop has one `PubSubListener`; any process publishes through `Presence`. Messages may be lost. After a loss,
the listener calls `on_lost` before it delivers any later message. It calls `on_resynced` after it has subscribed and
registered again, so that the owner can read the stored state. The listener subscribes at the nodes that serve its
channels. These nodes change after a failover, a slot migration or a migration of the store.
"""

import asyncio
import logging
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

from socialsite.ids import TimeSource
from socialsite.recipes.presence import (
    FIXED_CHANNEL_COUNT,
    PRESENCE_TTL_S,
    PROCESS_TTL_S,
    SENTINEL_MEMBER,
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

log = logging.getLogger(__name__)


class PubSubListener:
    """This process's subscriptions and its presence set.

    Call `add_member` before reading the member's timeline. A publisher writes first and reads the presence set
    afterwards, so either the reader sees the write or the publisher sees the member.
    """

    def __init__(
        self,
        store: Store,
        clock: TimeSource,
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
        self._sockets_by_member: Counter[str] = Counter()
        self._leaving_members: frozenset[str] = frozenset()
        self._removal = asyncio.Lock()
        self._channels = [process_channel(self.process_id), *map(fixed_channel, range(FIXED_CHANNEL_COUNT))]
        self._subscriptions: list[Subscription] = []
        self._supervisor = TaskSupervisor(on_crash=self.resync)
        self._needs_resync = asyncio.Event()
        self._renewed_at = 0.0  # time of the event loop

    async def open(self) -> None:
        """Subscribe, then register the presence set. Raises StoreUnavailable."""
        async with AsyncExitStack() as cleanup:
            cleanup.push_async_callback(self._unsubscribe)
            await self._subscribe_all()
            await self._register()
            cleanup.pop_all()
        self._store.on_topology_change.add(self._on_topology_change)
        self._supervisor.repeat(self._renewal_interval_s, self._renew, "presence could not be renewed")
        self._supervisor.start(self._resync_forever)

    async def close(self) -> None:
        """Unsubscribe and delete the presence set. If the store is unavailable, the set expires."""
        self._store.on_topology_change.discard(self._on_topology_change)
        await self._unsubscribe()
        try:
            await self._store.execute_all(
                [("UNLINK", members_key(self.process_id)), ("ZREM", processes_key(), self.process_id)]
            )
        except StoreError as error:
            log.info("presence is left to fade: %s", error)

    async def add_member(self, member: str) -> None:
        """Count one more socket of `member`. If this raises StoreUnavailable, the socket is not counted."""
        self._sockets_by_member[member] += 1
        key, has_sentinel = members_key(self.process_id), None
        try:
            if member in self._leaving_members:
                async with self._removal:
                    pass  # wait, because a cluster may delay the removal until after the new entry
            has_sentinel, _, _ = await self._store.node(key).transaction(
                [("SISMEMBER", key, SENTINEL_MEMBER), ("SADD", key, member), ("EXPIRE", key, PRESENCE_TTL_S)]
            )
        finally:
            if has_sentinel is None:  # the command failed, or the caller was cancelled
                self._sockets_by_member[member] -= 1
        if not has_sentinel:
            self.resync()

    def remove_member(self, member: str) -> None:
        """Count one socket fewer. The set is updated at the next renewal, because most readers reconnect soon."""
        self._sockets_by_member[member] -= 1

    def resync(self) -> None:
        """Call `on_lost` immediately, then subscribe and register again, because messages may have been lost."""
        self._on_lost()
        self._needs_resync.set()

    def _channels_by_node(self) -> list[tuple[Node, list[Key]]]:
        by_node: dict[int, tuple[Node, list[Key]]] = {}
        for channel in self._channels:
            node = self._store.serving_node(channel)
            by_node.setdefault(id(node), (node, []))[1].append(channel)
        return list(by_node.values())

    async def _subscribe_all(self) -> None:
        """Open missing subscriptions at the nodes that serve the channels now, then close unused ones."""
        channels_by_node = self._channels_by_node()
        for node, channels in channels_by_node:
            if not any(each.covers(node, channels) for each in self._subscriptions):
                subscription = Subscription(node, channels)
                await subscription.open()
                self._subscriptions.append(subscription)
                self._supervisor.start(partial(self._listen, subscription))
        for each in list(self._subscriptions):
            if not any(each.covers(node, channels) for node, channels in channels_by_node):
                self._subscriptions.remove(each)
                each.close()

    async def _unsubscribe(self) -> None:
        await self._supervisor.close()
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions = []

    def _on_topology_change(self) -> None:
        """Subscribe again if a channel moved to another node."""
        try:
            channels_by_node = self._channels_by_node()
        except StoreError:
            return  # the lost connection will also cause a resync
        for node, channels in channels_by_node:
            if not any(each.covers(node, channels) for each in self._subscriptions):
                self.resync()
                return

    async def _listen(self, subscription: Subscription) -> None:
        """Deliver messages until the connection is lost. A subscription that was replaced needs no resync."""
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
        """Return whether this process was paused longer than the TTL. Then messages to its members were lost."""
        now = asyncio.get_running_loop().time()
        return not self._needs_resync.is_set() and now - self._renewed_at > PRESENCE_TTL_S

    async def _resync_forever(self) -> None:
        while True:
            await self._needs_resync.wait()
            self._needs_resync.clear()
            # The jitter keeps processes from resyncing at the same time.
            await asyncio.sleep(random.uniform(0, MAX_RESYNC_JITTER_S))  # noqa: S311
            try:
                # These commands have keys, so that redirections of a cluster show which nodes serve the channels now.
                await self._store.execute_all([("EXISTS", channel) for channel in self._channels])
                await self._subscribe_all()
                await self._register()
                await self._on_resynced()
            except StoreError as error:
                log.warning("live updates wait for the store: %s", error)
                self._needs_resync.set()
                await asyncio.sleep(RETRY_DELAY_S)

    async def _register(self) -> None:
        """Store the presence set and add this process to the set of processes."""
        key = members_key(self.process_id)
        sent_at = asyncio.get_running_loop().time()
        members = [SENTINEL_MEMBER, *(member for member, sockets in self._sockets_by_member.items() if sockets > 0)]
        await self._store.node(key).transaction([("SADD", key, *members), ("EXPIRE", key, PRESENCE_TTL_S)])
        await self._store.node(processes_key()).execute("ZADD", processes_key(), self._expires_at_ms(), self.process_id)
        self._renewed_at = sent_at

    async def _renew(self) -> None:
        """Extend the TTL, and remove members without sockets and expired processes. Resync if the set was lost.

        A member that left is counted until its removal is confirmed. If the removal fails, the content of the set is
        unknown, because the member may have entered again. Then the whole set is stored again.
        """
        key, sockets = members_key(self.process_id), self._sockets_by_member
        sent_at = asyncio.get_running_loop().time()
        async with self._removal:
            absent = self._leaving_members = frozenset(member for member in sockets if sockets[member] <= 0)
            try:
                has_sentinel, *_ = await self._store.execute_all(
                    [
                        ("SISMEMBER", key, SENTINEL_MEMBER),
                        *([("SREM", key, *absent)] if absent else []),
                        ("EXPIRE", key, PRESENCE_TTL_S),
                        ("ZADD", processes_key(), self._expires_at_ms(), self.process_id),
                        ("ZREMRANGEBYSCORE", processes_key(), "-inf", f"({self._clock.now_ms()}"),
                    ]
                )
            except StoreError:
                if absent:
                    self.resync()
                raise
            finally:
                self._leaving_members = frozenset()
        for member in absent:
            if sockets[member] <= 0:
                del sockets[member]
        if has_sentinel:
            self._renewed_at = sent_at
        else:
            self.resync()

    def _expires_at_ms(self) -> int:
        return self._clock.now_ms() + PROCESS_TTL_S * 1000
