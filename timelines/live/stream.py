"""Live updates of one web process: its ear, its sockets, and the work that keeps both right.

One `Stream` an event loop, opened with its first socket.
"""

import asyncio
import logging
from typing import Protocol

from accounts.accounts.service import AccountService
from accounts.sessions.service import SessionService
from socialsite.ids import PostId
from socialsite.recipes.pubsub_listener import Now
from socialsite.recipes.task_supervisor import Upkeep
from socialsite.store.errors import StoreError
from timelines.hashtags.service import TagService
from timelines.lists.service import ListService
from timelines.live import frames
from timelines.live.broadcaster import Spreading
from timelines.live.channels import Timelines
from timelines.live.dispatcher import SIGNED_OUT, Announcer
from timelines.live.missed_deletions import MissedDeletions
from timelines.live.replacement_boosts import Surfacing
from timelines.live.requests import BadMessage, Subscribe, Unsubscribe, Watch, parse, post_id
from timelines.live.service import LiveService
from timelines.live.socket_registry import Room, Socket
from timelines.live.subscriptions import Subscriber
from timelines.notifications.service import NotificationService
from timelines.reading.hydration import Hydrator
from timelines.reading.service import ReadingService

SESSIONS_EVERY_S = 4.0
SUBSCRIPTIONS_CAP = 20
"""Timelines open on one socket; a page shows one, a client with columns a few."""

log = logging.getLogger(__name__)


class StreamServices(Protocol):
    """What the sockets need of the site's services."""

    @property
    def live(self) -> LiveService: ...
    @property
    def reading(self) -> ReadingService: ...
    @property
    def hydrator(self) -> Hydrator: ...
    @property
    def accounts(self) -> AccountService: ...
    @property
    def sessions(self) -> SessionService: ...
    @property
    def lists(self) -> ListService: ...
    @property
    def notifications(self) -> NotificationService: ...
    @property
    def tagging(self) -> TagService: ...
    @property
    def clock(self) -> Now: ...


class Stream:
    """The sockets of this process, from their first message to their last."""

    def __init__(self, services: StreamServices) -> None:
        self._room = Room()
        self._sessions = services.sessions
        spreading = Spreading(self._room, services.hydrator)
        self._surfacing = Surfacing(self._room, services.hydrator, spreading)
        self._announcer = Announcer(
            self._room,
            services.hydrator,
            services.notifications,
            spreading,
            self._surfacing,
            open_anew=lambda account_id: self._subscriber.open_lists_anew(account_id),
        )
        self._missed_deletions = MissedDeletions(self._room, services.hydrator, self._surfacing)
        self._hub = services.live.listen(
            on_message=self._announcer.hear,
            on_lost=lambda: self._subscriber.hold_all(),
            on_gap=self._repair,
        )
        timelines = Timelines(
            services.reading, services.accounts, services.lists, services.notifications, services.tagging
        )
        self._subscriber = Subscriber(self._room, self._hub, timelines, services.live, services.clock)
        self._upkeep = Upkeep()

    async def open(self) -> None:
        """Raises StoreUnavailable."""
        await self._hub.open()
        self._upkeep.start(self._check_sessions)
        self._upkeep.start(self._announcer.send_counts)
        self._upkeep.start(self._missed_deletions.tell)
        self._upkeep.start(self._surfacing.tell)

    async def close(self) -> None:
        await self._upkeep.close()
        await self._subscriber.close()
        await self._hub.close()

    def enter(self, socket: Socket) -> None:
        self._room.enter(socket)

    def leave(self, socket: Socket) -> None:
        """The connection is gone."""
        for name in list(socket.subscriptions):
            self._subscriber.end(socket, name)
        self._room.leave(socket)
        socket.outlet.release()

    def hear(self, socket: Socket, text: str | None) -> None:
        """A message of the client; None for a binary one. What cannot be understood is answered so."""
        try:
            match parse(text):
                case Subscribe(timeline, after):
                    self._subscribe(socket, timeline, None if after is None else post_id(after))
                case Unsubscribe(timeline):
                    self._subscriber.end(socket, timeline)
                case Watch(ids):
                    self._room.watch(socket, [post_id(given) for given in ids])
                    self._missed_deletions.look(socket)
        except BadMessage:
            socket.outlet.push(frames.error(frames.BAD_MESSAGE))

    def _subscribe(self, socket: Socket, name: str, after: PostId | None) -> None:
        if name not in socket.subscriptions and len(socket.subscriptions) >= SUBSCRIPTIONS_CAP:
            raise BadMessage
        self._subscriber.begin(socket, name, after)

    async def _repair(self) -> None:
        """Words may have been lost, of entries and of deletions."""
        await self._subscriber.repair_all()
        self._missed_deletions.look_at_all()

    async def _check_sessions(self) -> None:
        """For ever: close what a lost control message left open."""
        while True:
            await asyncio.sleep(SESSIONS_EVERY_S)
            try:
                await self._close_ended()
            except StoreError as error:
                log.warning("open sessions could not be checked: %s", error)

    async def _close_ended(self) -> None:
        sockets = [
            (socket, (socket.account_id, socket.session_id))
            for socket in self._room.sockets
            if socket.account_id is not None and socket.session_id is not None
        ]
        alive = await self._sessions.sessions_alive(list(dict.fromkeys(pair for _, pair in sockets)))
        pairs = dict(zip(dict.fromkeys(pair for _, pair in sockets), alive, strict=True))
        for socket, pair in sockets:
            if not pairs[pair]:
                socket.outlet.close(SIGNED_OUT)
