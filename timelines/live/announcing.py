"""From a message between processes to the sockets of this one.

Rights are looked at here, once for all readers of a message: the post still stands and its author is visible
(it is read anew), each reader still follows, each list still holds the author. What finds no socket costs
no read.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Sequence
from typing import assert_never

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.outlet import Frame
from socialsite.store.errors import StoreError
from timelines.domain.account_list import ListId
from timelines.domain.live import (
    CountsChanged,
    EntryDelivered,
    EntryPublished,
    EntryPulled,
    LiveMessage,
    PostDeleted,
    SessionsEnded,
)
from timelines.domain.page import HydratedPost
from timelines.errors import PostNotFound
from timelines.live import frames
from timelines.live.rendering import EntryFrames
from timelines.live.room import Room, Socket, Subscription
from timelines.live.timelines import PUBLIC, home_of, list_of, profile_of, tag_of
from timelines.services.live import LiveService
from timelines.services.reading import ReadingService

log = logging.getLogger(__name__)

SIGNED_OUT = 4401
AT_ONCE = 100
"""Sockets sent to before others get their turn: about 1 ms."""
COUNTS_EVERY_S = 0.5
REMEMBERED = 1_000
"""Entries sent lately, with the topics they went to: their counts follow them."""


class Announcer:
    """Tells the room."""

    def __init__(self, room: Room, live: LiveService, reading: ReadingService) -> None:
        self._room = room
        self._live = live
        self._reading = reading
        self._sent: OrderedDict[PostId, set[str]] = OrderedDict()
        self._changed: set[PostId] = set()
        self._change = asyncio.Event()

    async def hear(self, message: LiveMessage) -> None:
        """Raises StoreUnavailable where the readers' rights cannot be looked at."""
        match message:
            case EntryPublished():
                await self._published(message)
            case EntryDelivered():
                await self._delivered(message)
            case EntryPulled(post_id, author_id):
                readers = tuple(filter(lambda id: self._room.has(home_of(id)), self._room.accounts))
                await self._delivered(EntryDelivered(post_id, author_id, readers))
            case PostDeleted(post_id):
                self._room.lose(post_id)
                await self._push(self._room.sockets, frames.deleted(post_id))
            case CountsChanged(post_id):
                self._changed.add(post_id)
                self._change.set()
            case SessionsEnded():
                self._end(message)
            case _:
                assert_never(message)

    async def send_counts(self) -> None:
        """For ever: a post that changes a thousand times a second is told twice a second."""
        while True:
            await self._change.wait()
            await asyncio.sleep(COUNTS_EVERY_S)
            self._change.clear()
            changed, self._changed = self._changed, set()
            try:
                for post_id in changed:
                    await self._counts(post_id)
            except StoreError as error:
                log.warning("new counts could not be read: %s", error)

    async def _published(self, message: EntryPublished) -> None:
        author_id = message.author_id
        topics = [home_of(author_id), profile_of(author_id), *map(tag_of, message.tags)]
        topics += [PUBLIC] if message.public else []
        if any(map(self._room.has, topics)):
            await self._spread(await self._find(message.post_id), topics)

    async def _delivered(self, message: EntryDelivered) -> None:
        readers = [id for id in message.followers if self._room.has(home_of(id))]
        lists = [id for id in message.lists if self._room.has(list_of(id))]
        if not readers and not lists:
            return
        entry, following, listing = await asyncio.gather(
            self._find(message.post_id),
            self._following(message.author_id, readers),
            self._listing(message.author_id, lists),
        )
        await self._spread(entry, [*map(home_of, following), *map(list_of, listing)])

    def _following(self, author_id: AccountId, readers: Sequence[AccountId]) -> Awaitable[set[AccountId]]:
        return self._live.still_following(author_id, readers)

    def _listing(self, author_id: AccountId, lists: Sequence[ListId]) -> Awaitable[set[ListId]]:
        return self._live.still_listing(author_id, lists)

    async def _find(self, post_id: PostId) -> HydratedPost | None:
        try:
            return await self._reading.post(post_id, viewer_id=None)
        except PostNotFound:
            return None  # deleted, or its author suspended, since the message was sent

    async def _spread(self, entry: HydratedPost | None, topics: Sequence[str]) -> None:
        if entry is None or self._room.is_gone(entry.post.id):
            return
        self._remember(entry.post.id, topics)
        made = EntryFrames(entry)
        for number, subscription in enumerate(self._room.at(topics), start=1):
            subscription.offer(entry.post.id, made.frame_for(subscription))
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _remember(self, post_id: PostId, topics: Iterable[str]) -> None:
        self._sent.setdefault(post_id, set()).update(topics)
        if len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)

    async def _counts(self, post_id: PostId) -> None:
        shown_on: list[Subscription] = self._room.at(self._sent.get(post_id, ()))
        sockets = dict.fromkeys([*self._room.watching(post_id), *(each.socket for each in shown_on)])
        if sockets and (entry := await self._find(post_id)) is not None:
            await self._push(sockets, frames.counts(post_id, entry.counts))

    async def _push(self, sockets: Iterable[Socket], frame: Frame) -> None:
        for number, socket in enumerate(list(sockets), start=1):
            socket.outlet.push(frame)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _end(self, message: SessionsEnded) -> None:
        for socket in self._room.of_account(message.account_id):
            if message.session in (None, socket.session_id) and (
                message.but is None or message.but != socket.session_id
            ):
                socket.outlet.close(SIGNED_OUT)
