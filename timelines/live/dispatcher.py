"""Handles messages of other processes: sends entries, counts and deletions to the sockets of this process.

The dispatcher checks whether the post still exists; broadcaster.py checks which readers may see it. A message that
concerns no socket of this process causes no read.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from socialsite.ids import AccountId, PostId
from socialsite.store.errors import StoreError
from socialsite.web.socket_writer import TextFrame
from timelines.live import socket_messages
from timelines.live.broadcaster import SENDS_PER_SLICE, Broadcaster
from timelines.live.channels import (
    PUBLIC_TOPIC,
    hashtag_topic,
    home_topic,
    list_topic,
    notifications_topic,
    profile_topic,
)
from timelines.live.replacement_boosts import ReplacementBoosts
from timelines.live.socket_registry import LiveSocket, SocketRegistry
from timelines.live_updates import process_messages
from timelines.notifications.service import NotificationService
from timelines.pages.page import HydratedPost
from timelines.pages.polls import poll_html
from timelines.pages.presenters import quote_html
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

log = logging.getLogger(__name__)

COUNTS_INTERVAL_S = 0.5


@dataclass(eq=False, slots=True)
class LiveDispatcher:
    """Handles the messages of other processes."""

    registry: SocketRegistry
    pipeline: ReadPipeline
    notifications: NotificationService
    broadcaster: Broadcaster
    replacement_boosts: ReplacementBoosts
    resubscribe_lists: Callable[[AccountId], None]
    """Subscribes the open list timelines of an account again."""
    _changed_post_ids: set[PostId] = field(init=False, default_factory=set)
    _counts_changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    async def handle(self, message: process_messages.LiveMessage) -> None:
        """Handle one message. Raises StoreUnavailable if the rights of the readers cannot be checked."""
        match message:
            case process_messages.EntryPublished():
                await self._send_published(message)
            case process_messages.EntryDelivered():
                await self._send_delivered(message)
            case process_messages.EntryPulled(post_id, author_id):
                online = tuple(id for id in self.registry.account_ids if self.registry.has_topic(home_topic(id)))
                await self._send_delivered(process_messages.EntryDelivered(post_id, author_id, online))
            case process_messages.PostDeleted(post_id, boost_of, author_id):
                self.registry.mark_deleted(post_id)
                if boost_of is not None:  # first, because the follows of a deleted account are deleted soon
                    self.replacement_boosts.check(post_id, boost_of, author_id=author_id)
                await self._send_deleted(post_id, boost_of or post_id)
            case process_messages.PostEdited(post_id):
                if sockets := self.registry.sockets_showing(post_id):
                    await self.broadcaster.send_edited(post_id, sockets)
                await self.broadcaster.send_edited_to_api(post_id)
            case process_messages.CountsChanged(post_id):
                self._changed_post_ids.add(post_id)
                self._counts_changed.set()
            case process_messages.Notified(notifications):
                for account_id, notification_id in notifications:
                    await self._send_notification(account_id, notification_id)
            case process_messages.RelationChanged(account_id, other_id):
                self.registry.invalidate_relations(account_id, other_id)
            case process_messages.ListsChanged(owner_id):
                self.registry.invalidate_relations(owner_id)
                self.resubscribe_lists(owner_id)
            case process_messages.FiltersChanged(account_id):
                self.registry.invalidate_relations(account_id)
                self._send_filters_changed(account_id)
            case process_messages.SessionsEnded():
                self._close_ended_sessions(message)
            case _:
                assert_never(message)

    async def send_counts_forever(self) -> None:
        """Send changed counts until cancelled. The counts of a post are sent at most once in COUNTS_INTERVAL_S."""
        while True:
            await self._counts_changed.wait()
            await asyncio.sleep(COUNTS_INTERVAL_S)
            self._counts_changed.clear()
            post_ids, self._changed_post_ids = self._changed_post_ids, set()
            try:
                for post_id in post_ids:
                    await self._send_counts(post_id)
            except StoreError as error:
                log.warning("new counts could not be read: %s", error)

    async def _send_published(self, message: process_messages.EntryPublished) -> None:
        author_id = message.author_id
        topics = [home_topic(author_id), profile_topic(author_id), *map(hashtag_topic, message.tags)]
        topics += [PUBLIC_TOPIC] if message.public else []
        await self.broadcaster.send(message.post_id, author_id, topics)

    async def _send_delivered(self, message: process_messages.EntryDelivered) -> None:
        topics = [*map(home_topic, message.followers), *map(list_topic, message.lists)]
        await self.broadcaster.send(message.post_id, message.author_id, topics)

    async def _send_notification(self, account_id: AccountId, notification_id: PostId) -> None:
        topic = notifications_topic(account_id)
        if not self.registry.has_topic(topic):
            return
        notification, version = None, None
        while version is None or self.registry.have_relations_changed(account_id, version):
            version = self.registry.relation_version
            notification = await self.notifications.find(account_id, notification_id)
        if notification is None:
            return
        for subscription in self.registry.subscriptions_at([topic]):
            socket = subscription.socket
            frame = await socket.encoder.entry(subscription.name, notification, socket.language)
            if frame is not None and not self.registry.have_relations_changed(account_id, version):
                subscription.send_or_queue(notification_id, frame)

    async def _send_counts(self, post_id: PostId) -> None:
        if sockets := self.registry.sockets_showing(post_id):
            await self._send_counts_to(post_id, sockets)

    async def _send_counts_to(self, post_id: PostId, sockets: Sequence[LiveSocket]) -> None:
        """Send the counts to all sockets if the post is public, else to the readers who may see it.

        Each reader of a poll or quote gets it as this reader may see it.
        """
        visitor = ViewerContext(None, ViewContext.POST)
        (entry,) = await self.pipeline.read_post_for_viewers(post_id, None, [visitor])
        if entry is not None and entry.poll is None and entry.quote is None:
            await self._send_frame(sockets, socket_messages.encode_counts(post_id, entry.counts))
            return
        if entry is not None:
            await self._send_entry([socket for socket in sockets if socket.account_id is None], entry)
        viewers = {
            id: ViewerContext(id, ViewContext.POST) for socket in sockets if (id := socket.account_id) is not None
        }
        entries = await self.pipeline.read_post_for_viewers(post_id, None, list(viewers.values()))
        for account_id, entry in zip(viewers, entries, strict=True):
            if entry is not None:
                account_sockets = [socket for socket in sockets if socket.account_id == account_id]
                await self._send_entry(account_sockets, entry)

    async def _send_entry(self, sockets: Sequence[LiveSocket], entry: HydratedPost) -> None:
        """Send the counts, the poll and the quoted post of an entry."""
        await self._send_frame(sockets, socket_messages.encode_counts(entry.id, entry.counts))
        if entry.poll is not None:
            for socket in sockets:
                await self._send_frame(
                    [socket], socket_messages.encode_poll(entry.id, poll_html(entry, socket.language))
                )
        if entry.quote is not None:
            for language in dict.fromkeys(socket.language for socket in sockets):
                frame = socket_messages.encode_quote(entry.id, quote_html(entry.quote, language))
                await self._send_frame([socket for socket in sockets if socket.language == language], frame)

    async def _send_deleted(self, post_id: PostId, shown_id: PostId) -> None:
        """Send the deletion of a public post to all sockets.

        The deletion of another post is sent only to sockets that show the post, and whose reader could see it.
        """
        (deleted,) = await self.pipeline.find_deleted([post_id], [ViewerContext(None, ViewContext.POST)])
        sockets: Sequence[LiveSocket] = list(self.registry.sockets)
        await self._send_deleted_to_api(post_id, shown_id, is_public=bool(deleted))
        if not deleted:
            showing = (each.socket for each in self.registry.subscriptions_showing(shown_id))
            sockets = list(dict.fromkeys([*self.registry.sockets_watching(post_id), *showing]))
            viewers = [ViewerContext(socket.account_id, ViewContext.POST) for socket in sockets]
            visible = await self.pipeline.find_deleted([post_id], viewers)
            sockets = [socket for socket, deleted in zip(sockets, visible, strict=True) if deleted]
        pages = [socket for socket in sockets if socket.encoder.is_page]
        await self._send_frame(pages, socket_messages.encode_deleted(post_id))

    async def _send_deleted_to_api(self, post_id: PostId, shown_id: PostId, *, is_public: bool) -> None:
        """Send a deletion to the subscriptions of API clients that may show the post and whose reader could see it."""
        subscriptions = self.registry.api_subscriptions([PUBLIC_TOPIC, *self.registry.topics_showing(shown_id)])
        if subscriptions and not is_public:
            readers = list(dict.fromkeys(each.socket.account_id for each in subscriptions))
            viewers = [ViewerContext(id, ViewContext.POST) for id in readers]
            visible = dict(zip(readers, await self.pipeline.find_deleted([post_id], viewers), strict=True))
            subscriptions = [each for each in subscriptions if visible[each.socket.account_id]]
        for subscription in subscriptions:
            socket = subscription.socket
            if (frame := socket.encoder.deleted(subscription.name, post_id)) is not None:
                socket.writer.send(frame)

    def _send_filters_changed(self, account_id: AccountId) -> None:
        for socket in self.registry.sockets_of_account(account_id):
            for name in socket.subscriptions:
                if (frame := socket.encoder.filters_changed(name)) is not None:
                    socket.writer.send(frame)

    async def _send_frame(self, sockets: Iterable[LiveSocket], frame: TextFrame) -> None:
        for number, socket in enumerate(list(sockets), start=1):
            socket.writer.send(frame)
            if number % SENDS_PER_SLICE == 0:
                await asyncio.sleep(0)

    def _close_ended_sessions(self, message: process_messages.SessionsEnded) -> None:
        for socket in self.registry.sockets_of_account(message.account_id):
            if message.session in (None, socket.session_id) and (
                message.but is None or message.but != socket.session_id
            ):
                socket.writer.close(socket_messages.SIGNED_OUT_CLOSE_CODE)
