"""Decides which accounts are notified, which notifications a reader sees, and how many are unread.

A notification is written once; a repetition has no effect. Each read checks its cause: a notification is neither shown
nor counted if the like was undone, the post was deleted, or its account is blocked, muted or suspended. It is shown
again if that is undone.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from accounts.accounts.repository import AccountRepository
from accounts.domain import DELETED
from socialsite.concurrency import run_together
from socialsite.ids import MAX_ID, AccountId, PostId, PostIdGenerator, ms_from_id
from socialsite.service import Service
from socialsite.store import Read, Reply
from timelines.graph.repository import Follows
from timelines.live_updates.service import LiveService
from timelines.notifications import repository
from timelines.notifications.kinds import BOOST, MENTION, QUOTE, REPLY, NotificationKind
from timelines.notifications.notification import (
    ALL,
    UNREAD_CAP,
    Badge,
    Notification,
    NotificationPage,
    Selection,
    VisibleNotification,
)
from timelines.notifications.visibility import NotificationVisibility
from timelines.pages.page import ABOVE_ALL_IDS, DEFAULT_LIMIT
from timelines.posts.post import Post
from timelines.text.linkify import find_mentions

MENTIONS_CAP = 50
"""The maximum number of accounts that one post notifies by mentions."""
NOTHING_READ = PostId(0)
MAX_ROUNDS = 6
"""The maximum number of reads for one page or one count. Batches grow, so that they cover NOTIFICATIONS_CAP."""


Devices = dict[AccountId, list[str]]
"""The devices of readers that receive push messages: the ids of their sessions and access tokens."""


class PushEvents(Protocol):
    def read_devices(self, reader_ids: Collection[AccountId]) -> Read[Devices]: ...

    async def notified(self, notifications: Mapping[AccountId, PostId], devices: Devices) -> None: ...


class NotificationService(Service):
    """Writes and reads notifications.

    The worker notifies about posts (`notify`); other services notify about their actions (`add`). If an action is
    undone, no call is needed, because each read checks the cause.
    """

    notifications: repository.Notifications
    visibility: NotificationVisibility
    follows: Follows
    accounts: AccountRepository
    live: LiveService
    pushes: PushEvents
    ids: PostIdGenerator

    # Writing

    async def notify(self, post: Post) -> None:
        """Notify the accounts that a new post answers, quotes, mentions or boosts. The call may be repeated.

        A boost that is undone and repeated notifies at most once a day.
        """
        if post.boost_of is not None:
            if post.boosted_author_id is not None:
                await self.add({post.boosted_author_id: BOOST}, post.author_id, post.boost_of, ms_from_id(post.id))
            return
        mentioned = await self.accounts.find_ids_by_handle(find_mentions(post.text)[:MENTIONS_CAP])
        kinds = dict.fromkeys(mentioned.values(), MENTION)
        if post.reply_to_author_id is not None:
            kinds[post.reply_to_author_id] = REPLY
        if post.extra.quoted_author_id is not None:
            kinds[post.extra.quoted_author_id] = QUOTE
        await self.add(kinds, post.author_id, post.id)

    async def notify_edit(self, versions: Sequence[Post], number: int) -> None:
        """Notify the accounts that version `number` mentions first, if the newest version mentions them, too.

        The call may be repeated.
        """
        post, edited = versions[-1], versions[number]
        earlier_handles = {handle for version in versions[:number] for handle in find_mentions(version.text)}
        newest = find_mentions(post.text)
        handles = [each for each in find_mentions(edited.text) if each not in earlier_handles and each in newest]
        mentioned = await self.accounts.find_ids_by_handle(handles[:MENTIONS_CAP])
        readers = [id for id in mentioned.values() if id not in (post.reply_to_author_id, post.extra.quoted_author_id)]
        await self.add(dict.fromkeys(readers, MENTION), post.author_id, post.id)

    async def add_if_caused(
        self, kind: NotificationKind, actor_id: AccountId, reader_id: AccountId, post_id: PostId | None = None
    ) -> None:
        """Notify the reader if the cause exists. The score of the cause is its time in Unix ms."""
        if reader_id != actor_id:
            cause = Notification(PostId(0), kind, actor_id, post_id)
            since_ms = await self.visibility.find_cause(reader_id, cause)
            if since_ms is not None:
                await self.add({reader_id: kind}, actor_id, post_id, since_ms)

    async def add(
        self,
        kinds: Mapping[AccountId, NotificationKind],
        actor_id: AccountId,
        post_id: PostId | None = None,
        since_ms: int | None = None,
    ) -> None:
        """Notify each account with its kind. `since_ms` is the time of the cause. The call may be repeated."""
        kinds = {id: kind for id, kind in kinds.items() if id != actor_id or kind.actor != "other"}
        reader_ids, devices = await self._interested_readers(kinds, actor_id) if kinds else ([], {})
        new_ids = await run_together(
            *(
                self.notifications.add(id, Notification(self.ids.next_id(), kinds[id], actor_id, post_id), since_ms)
                for id in reader_ids
            )
        )
        added = {reader_id: id for reader_id, id in zip(reader_ids, new_ids, strict=True) if id is not None}
        if added:
            await self.live.notified(added)
            await self.pushes.notified(added, devices)

    async def _interested_readers(
        self, kinds: Mapping[AccountId, NotificationKind], actor_id: AccountId
    ) -> tuple[list[AccountId], Devices]:
        """Return the readers whose preferences allow a notification about this actor, and their devices."""
        preferences, followers, authors, devices = await run_together(
            self.notifications.preferences(list(kinds)),
            self.follows.followers_among(actor_id, list(kinds)),
            self.accounts.find_authors(kinds),
            self.pushes.read_devices(kinds),
        )

        def is_interested(reader_id: AccountId) -> bool:
            preference = preferences[reader_id][kinds[reader_id].name]
            is_followed = reader_id in followers or reader_id == actor_id
            return preference == "all" or (preference == "followed" and is_followed)

        interested = [id for id, author in authors.items() if author.state != DELETED and is_interested(id)]
        return interested, devices

    # Reading

    async def page(
        self,
        viewer_id: AccountId,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
        selection: Selection = ALL,
        max_rounds: int = MAX_ROUNDS,
    ) -> NotificationPage:
        """Return a page of the selected notifications, newest first.

        Only the last page may be shorter. The page is directly above `after` if it is given.
        """
        edge = after if after is not None else ABOVE_ALL_IDS if before is None else before
        entries: list[VisibleNotification] = []
        last: PostId | None = None
        size = repository.UNREAD_BATCH if selection.is_narrow else min(limit + limit // 8 + 1, repository.UNREAD_BATCH)
        for round_number in range(max_rounds):
            read_mark, stored, last = await self.notifications.read(viewer_id, edge, size, upward=after is not None)
            entries += await self.visibility.visible(viewer_id, selection.of(stored), read_mark)
            if last is None or len(entries) > limit:
                break
            edge = last
            if round_number > 0 or len(entries) <= limit // 2:  # many are hidden: read more
                size = max(repository.UNREAD_BATCH, size * repository.BATCH_GROWTH)
        if len(entries) > limit:
            last = entries[limit - 1].id
        page = tuple(entries[:limit])
        return NotificationPage(page, last) if after is None else NotificationPage(page[::-1], None, last)

    async def delete(self, viewer_id: AccountId, ids: Collection[PostId] | None = None) -> None:
        """Delete these notifications, or all if `ids` is None. If a cause occurs again, it notifies again."""
        if ids is None:
            await self.notifications.remove(viewer_id, PostId(MAX_ID))
        for id in ids or ():
            await self.notifications.remove(viewer_id, id, since=id)

    async def last_read(self, viewer_id: AccountId) -> PostId:
        """Return the read mark: this notification and all older ones are read."""
        return (await self.notifications.read(viewer_id, ABOVE_ALL_IDS, 1)).read_mark

    async def find(self, viewer_id: AccountId, notification_id: PostId) -> VisibleNotification | None:
        """Return one notification, or None if the viewer may not see it."""
        page = await self.page(viewer_id, before=notification_id + 1, limit=1, max_rounds=1)
        return next((each for each in page.entries if each.id == notification_id), None)

    # Unread notifications

    async def badge(self, viewer_id: AccountId, reply: Reply) -> Badge:
        """Return the badge from the reply to `unread_command`. Only unread notifications need a second read."""
        batch = repository.parse_unread(reply)
        if not batch.notifications:
            return Badge(batch.newest)
        return Badge(batch.newest, min(len(await self._visible_unread(viewer_id, batch)), UNREAD_CAP))

    async def unread(self, viewer_id: AccountId) -> int:
        """Return the number of visible notifications above the read mark, at most UNREAD_CAP."""
        return min(len(await self.unread_entries(viewer_id)), UNREAD_CAP)

    async def unread_entries(
        self, viewer_id: AccountId, selection: Selection = ALL, limit: int = UNREAD_CAP
    ) -> list[VisibleNotification]:
        """Return the visible notifications above the read mark: all, or at least `limit`."""
        return await self._visible_unread(viewer_id, await self.notifications.unread(viewer_id), selection, limit)

    async def _visible_unread(
        self, viewer_id: AccountId, batch: repository.UnreadBatch, selection: Selection = ALL, limit: int = UNREAD_CAP
    ) -> list[VisibleNotification]:
        entries: list[VisibleNotification] = []
        size = repository.UNREAD_BATCH
        while True:
            entries += await self.visibility.visible(viewer_id, selection.of(batch.notifications), NOTHING_READ)
            if batch.last is None or len(entries) >= limit:
                return entries
            size *= repository.BATCH_GROWTH
            batch = await self.notifications.unread(viewer_id, batch.last, size)

    async def mark_read(self, viewer_id: AccountId, up_to: PostId) -> int:
        """Mark notifications as read up to this id. Return how many are still unread."""
        await self.notifications.mark_read(viewer_id, up_to)
        return await self.unread(viewer_id)

    # Preferences

    async def preferences(self, account_id: AccountId) -> repository.Preferences:
        return (await self.notifications.preferences([account_id]))[account_id]
