"""From a message between processes to the sockets of this one.

Rights are looked at here (spreading.py): the post still stands, and each reader may see it on the timeline
that they have open. What finds no socket costs no read.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.store.errors import StoreError
from socialsite.web.socket_writer import Frame
from timelines.live import frames
from timelines.live.broadcaster import AT_ONCE, Spreading
from timelines.live.channels import PUBLIC, home_of, list_of, notices_of, profile_of, tag_of
from timelines.live.messages import (
    CountsChanged,
    EntryDelivered,
    EntryPublished,
    EntryPulled,
    ListsChanged,
    LiveMessage,
    Notified,
    PostDeleted,
    RelationChanged,
    SessionsEnded,
)
from timelines.live.rendering import entry_frame
from timelines.live.replacement_boosts import Surfacing
from timelines.live.socket_registry import Room, Socket
from timelines.notifications.service import NotificationService
from timelines.reading.batch_hydration import Seat, hydrate_for
from timelines.reading.hydration import Hydrator
from timelines.visibility.rights import Place

log = logging.getLogger(__name__)

SIGNED_OUT = 4401
COUNTS_EVERY_S = 0.5


class Announcer:
    """Tells the room."""

    def __init__(
        self,
        room: Room,
        hydrator: Hydrator,
        notifications: NotificationService,
        spreading: Spreading,
        surfacing: Surfacing,
        open_anew: Callable[[AccountId], None],
    ) -> None:
        """`open_anew`: the lists that an account has open."""
        self._room = room
        self._open_anew = open_anew
        self._hydrator = hydrator
        self._notifications = notifications
        self._spreading = spreading
        self._surfacing = surfacing
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
            case PostDeleted(post_id, boost_of, author_id):
                self._room.lose(post_id)
                await self._push(self._room.sockets, frames.deleted(post_id))
                if boost_of is not None:
                    self._surfacing.look(post_id, boost_of, author_id=author_id)
            case CountsChanged(post_id):
                self._changed.add(post_id)
                self._change.set()
            case Notified(told):
                for account_id, notification_id in told:
                    await self._notified(account_id, notification_id)
            case RelationChanged(account_id, other_id):
                self._room.change_relation(account_id, other_id)
            case ListsChanged(owner_id):
                self._room.change_relation(owner_id)
                self._open_anew(owner_id)
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
        await self._spreading.spread(message.post_id, author_id, topics)

    async def _delivered(self, message: EntryDelivered) -> None:
        topics = [*map(home_of, message.followers), *map(list_of, message.lists)]
        await self._spreading.spread(message.post_id, message.author_id, topics)

    async def _notified(self, account_id: AccountId, notification_id: PostId) -> None:
        topic = notices_of(account_id)
        if not self._room.has(topic):
            return
        noticed, moment = None, None
        while moment is None or self._room.has_changed(account_id, moment):
            moment = self._room.moment
            noticed = await self._notifications.find(account_id, notification_id)
        if noticed is None:
            return
        for subscription in self._room.at([topic]):
            frame = entry_frame(subscription.name, noticed, subscription.socket.language)
            subscription.offer(notification_id, frame)

    async def _counts(self, post_id: PostId) -> None:
        shown_on = (each.socket for each in self._room.shown_on(post_id))
        sockets = dict.fromkeys([*self._room.watching(post_id), *shown_on])
        if sockets:
            await self._tell_counts(post_id, list(sockets))

    async def _tell_counts(self, post_id: PostId, sockets: Sequence[Socket]) -> None:
        """What anybody may see is told to all of them; other counts to those who may see the post."""
        anybody = Seat(None, Place.POST)
        (entry,) = await hydrate_for(self._hydrator, post_id, None, [anybody])
        if entry is not None:
            await self._push(sockets, frames.counts(post_id, entry.counts))
            return
        seats = {id: Seat(id, Place.POST) for socket in sockets if (id := socket.account_id) is not None}
        found = await hydrate_for(self._hydrator, post_id, None, list(seats.values()))
        seen = {id: entry.counts for id, entry in zip(seats, found, strict=True) if entry is not None}
        for account_id, numbers in seen.items():
            theirs = [socket for socket in sockets if socket.account_id == account_id]
            await self._push(theirs, frames.counts(post_id, numbers))

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
