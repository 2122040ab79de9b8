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
from timelines.live.replacement_boosts import Surfacing
from timelines.live.socket_registry import Room, Socket
from timelines.reading.hydration import Hydrator

SOCKETS_AT_ONCE = 20
"""Looked at in one question; after a restart most of them show the same posts."""
RETRY_S = 1.0

log = logging.getLogger(__name__)


class MissedDeletions:
    """Whoever asks is looked at soon, batch after batch: a storm of sockets waits, the site does not."""

    def __init__(self, room: Room, hydrator: Hydrator, surfacing: Surfacing) -> None:
        self._room = room
        self._hydrator = hydrator
        self._surfacing = surfacing
        self._waiting: dict[Socket, set[PostId]] = {}
        self._asked = asyncio.Event()

    def look(self, socket: Socket) -> None:
        """What the socket watches is to be looked at; it may watch something else by then."""
        if socket.watched:
            self._wait(socket, socket.watched)
            self._asked.set()

    def look_at_all(self) -> None:
        """This process may have missed the word of a deletion."""
        for socket in self._room.sockets:
            self.look(socket)

    async def tell(self) -> None:
        """For ever."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            while self._waiting:
                try:
                    await self._tell_some()
                except StoreError as error:
                    log.warning("missed deletions could not be read: %s", error)
                    await asyncio.sleep(RETRY_S)

    async def _tell_some(self) -> None:
        asked = {socket: self._waiting.pop(socket) for socket in list(islice(self._waiting, SOCKETS_AT_ONCE))}
        try:
            gone = await self._hydrator.deleted(frozenset[PostId]().union(*asked.values()))
        except StoreError:
            for socket, shown in asked.items():
                self._wait(socket, shown)
            raise
        for socket, shown in asked.items():
            if socket in self._room.sockets:
                for post_id in shown & gone.keys():
                    self._tell(socket, post_id, gone[post_id])

    def _tell(self, socket: Socket, post_id: PostId, original_id: PostId | None) -> None:
        """`original_id`: what it showed, where it was a boost."""
        socket.outlet.push(frames.deleted(post_id))
        if original_id is not None:
            self._surfacing.look(post_id, original_id, at=socket.subscriptions.values())

    def _wait(self, socket: Socket, shown: Iterable[PostId]) -> None:
        self._waiting.setdefault(socket, set()).update(shown)
