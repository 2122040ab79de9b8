"""Deletions that a page missed while its socket was away: what it shows and is gone by now.

A page says what it shows (`watch`) whenever it is live again; what was deleted meanwhile is told as it would
have been, and what takes the place of a boost. Only tombstones are told, which every open socket heard of:
hidden posts and ids of nothing look alike, both are silence.
"""

import asyncio
import logging
from collections.abc import Iterable
from itertools import islice

from socialsite.ids import PostId
from socialsite.store.errors import StoreError
from timelines.live import frames
from timelines.live.replacement_boosts import ReplacementBoosts
from timelines.live.socket_registry import LiveSocket, SocketRegistry
from timelines.reading.hydration import Hydrator

SOCKETS_PER_BATCH = 20
"""Looked at in one question; after a restart most of them show the same posts."""
RETRY_S = 1.0

log = logging.getLogger(__name__)


class MissedDeletions:
    """Whoever asks is looked at soon, batch after batch: a storm of sockets waits, the site does not."""

    def __init__(self, registry: SocketRegistry, hydrator: Hydrator, replacement_boosts: ReplacementBoosts) -> None:
        self._registry = registry
        self._hydrator = hydrator
        self._replacement_boosts = replacement_boosts
        self._pending: dict[LiveSocket, set[PostId]] = {}
        self._has_pending = asyncio.Event()

    def check(self, socket: LiveSocket) -> None:
        """What the socket watches is to be looked at; it may watch something else by then."""
        if socket.watched_post_ids:
            self._add_pending(socket, socket.watched_post_ids)
            self._has_pending.set()

    def check_all(self) -> None:
        """This process may have missed the word of a deletion."""
        for socket in self._registry.sockets:
            self.check(socket)

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._has_pending.wait()
            self._has_pending.clear()
            while self._pending:
                try:
                    await self._send_batch()
                except StoreError as error:
                    log.warning("missed deletions could not be read: %s", error)
                    await asyncio.sleep(RETRY_S)

    async def _send_batch(self) -> None:
        asked = {socket: self._pending.pop(socket) for socket in list(islice(self._pending, SOCKETS_PER_BATCH))}
        try:
            gone = await self._hydrator.find_deleted(frozenset[PostId]().union(*asked.values()))
        except StoreError:
            for socket, shown in asked.items():
                self._add_pending(socket, shown)
            raise
        for socket, shown in asked.items():
            if socket in self._registry.sockets:
                for post_id in shown & gone.keys():
                    self._send_deletion(socket, post_id, gone[post_id])

    def _send_deletion(self, socket: LiveSocket, post_id: PostId, original_id: PostId | None) -> None:
        """`original_id`: what it showed, where it was a boost."""
        socket.writer.send(frames.encode_deleted(post_id))
        if original_id is not None:
            self._replacement_boosts.check(post_id, original_id, subscriptions=socket.subscriptions.values())

    def _add_pending(self, socket: LiveSocket, shown: Iterable[PostId]) -> None:
        self._pending.setdefault(socket, set()).update(shown)
