"""Notifications: who is told of what, what of it may be seen, and how much is unread.

What is told is written once (a repetition is none) and checked at read: a like that was taken back, a deleted
post, somebody blocked, muted or suspended show nothing and count nothing, and show again where it is undone.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from accounts.domain import DELETED, Author
from socialsite.ids import AccountId, PostId, PostIdGenerator, ms_from_id
from socialsite.store import Command, Reply
from timelines.graph.repository import Follows
from timelines.notifications.notification import (
    UNREAD_CAP,
    Badge,
    Notification,
    NotificationKind,
    NotificationPage,
    NotificationPreference,
    VisibleNotification,
)
from timelines.notifications.repository import (
    NOTIFICATIONS_CAP,
    UNREAD_BATCH,
    Notifications,
    UnreadBatch,
    parse_unread,
    unread_command,
)
from timelines.notifications.visibility import NotificationVisibility
from timelines.pages.page import ABOVE_ALL_IDS, DEFAULT_LIMIT
from timelines.posts.post import Post
from timelines.text.linkify import mentions

MENTIONS_CAP = 50
"""People told of one post; a longer list of names is no conversation."""
NOTHING_READ = PostId(0)
ROUNDS = NOTIFICATIONS_CAP // UNREAD_BATCH + 1
"""Reads for one page or count when nearly everything is hidden: all there can be."""


class Accounts(Protocol):
    """AccountRepository."""

    async def find_ids_by_handle(self, handles: Iterable[str]) -> dict[str, AccountId]: ...

    async def find_authors(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Author]: ...


class LiveEvents(Protocol):
    """LiveService."""

    async def notified(self, reader_ids: Mapping[AccountId, PostId]) -> None: ...


class NotificationService:
    """The worker tells of posts (`notice`); reactions and follows tell of theirs (services/ports.py).

    What is taken back needs no word: it is looked at whenever somebody reads.
    """

    def __init__(
        self,
        *,
        notifications: Notifications,
        visibility: NotificationVisibility,
        follows: Follows,
        accounts: Accounts,
        live: LiveEvents,
        ids: PostIdGenerator,
    ) -> None:
        self._notifications = notifications
        self._rights = visibility
        self._follows = follows
        self._accounts = accounts
        self._live = live
        self._ids = ids

    # What happens

    async def notify(self, post: Post) -> None:
        """A post was published: tell whom it answers, mentions or boosts. Safe to repeat."""
        if post.boost_of is not None:
            if post.boosted_author_id is not None:
                await self._tell({post.boosted_author_id: "boost"}, post.author_id, post.boost_of, ms_from_id(post.id))
            return
        named = await self._accounts.find_ids_by_handle(mentions(post.text)[:MENTIONS_CAP])
        told: dict[AccountId, NotificationKind] = dict.fromkeys(named.values(), "mention")
        if post.reply_to_author_id is not None:
            told[post.reply_to_author_id] = "reply"
        await self._tell(told, post.author_id, post.id)

    async def liked(self, *, account_id: AccountId, post: Post, now_ms: int) -> None:
        """Told again after a day at the soonest, however often the like comes and goes."""
        if account_id != post.author_id:
            since_ms = await self._notifications.liked_since_ms(post.id, account_id)
            if since_ms is not None:
                await self._tell({post.author_id: "like"}, account_id, post.id, since_ms)

    async def unliked(self, *, account_id: AccountId, post: Post) -> None:
        """Its notification is not seen any more."""

    async def boosted(self, *, boost: Post) -> None:
        """At once; the worker says it again. As of likes, what comes again within a day is no news."""
        await self.notify(boost)

    async def unboosted(self, *, boost: Post) -> None:
        """Its notification is not seen any more."""

    async def followed(self, *, follower_id: AccountId, followed_id: AccountId) -> None:
        await self._tell({followed_id: "follow"}, follower_id, None)

    async def follow_requested(self, *, requester_id: AccountId, target_id: AccountId) -> None:
        """Somebody wants to follow a private account."""
        await self._tell({target_id: "request"}, requester_id, None)

    async def _tell(
        self,
        told: Mapping[AccountId, NotificationKind],
        by: AccountId,
        post_id: PostId | None,
        since_ms: int | None = None,
    ) -> None:
        """Nobody is told of their own doing. `since_ms`: since when it is so."""
        others = {reader_id: kind for reader_id, kind in told.items() if reader_id != by}
        wanted = await self._wanted(others, by) if others else []
        given = await asyncio.gather(
            *(
                self._notifications.add(id, Notification(self._ids.next_id(), others[id], by, post_id), since_ms)
                for id in wanted
            )
        )
        fresh = {reader_id: id for reader_id, id in zip(wanted, given, strict=True) if id is not None}
        if fresh:
            await self._live.notified(fresh)

    async def _wanted(self, told: Mapping[AccountId, NotificationKind], by: AccountId) -> list[AccountId]:
        """Those who want to hear of such a thing from such a one."""
        wishes, followers, people = await asyncio.gather(
            self._notifications.preferences(list(told)),
            self._follows.followers_among(by, list(told)),
            self._accounts.find_authors(told),
        )

        def wants(reader_id: AccountId) -> bool:
            wish = wishes[reader_id][told[reader_id]]
            return wish == "all" or (wish == "followed" and reader_id in followers)

        standing = (id for id, author in people.items() if author.state != DELETED)
        return [reader_id for reader_id in standing if wants(reader_id)]

    # What is seen

    async def page(
        self,
        viewer_id: AccountId,
        *,
        before: int | None = None,
        limit: int = DEFAULT_LIMIT,
        kinds: Collection[NotificationKind] | None = None,
    ) -> NotificationPage:
        """Newest first, of some kinds or all. Full unless they end."""
        return await self._page(viewer_id, ABOVE_ALL_IDS if before is None else before, limit, kinds)

    async def timeline(
        self, viewer_id: AccountId, *, before: int | None = None, after: int | None = None, limit: int
    ) -> NotificationPage:
        """As other timelines are read, for the socket."""
        if after is None:
            return await self._page(viewer_id, ABOVE_ALL_IDS if before is None else before, limit, None)
        page = await self._page(viewer_id, after, limit, None, upward=True)
        return NotificationPage(page.entries[::-1], None, previous_after=page.next_before)

    async def find(self, viewer_id: AccountId, notification_id: PostId) -> VisibleNotification | None:
        """One notification, where the reader may see it."""
        page = await self._page(viewer_id, notification_id + 1, 1, None, rounds=1)
        return next((each for each in page.entries if each.id == notification_id), None)

    async def _page(
        self,
        viewer_id: AccountId,
        edge: int,
        limit: int,
        kinds: Collection[NotificationKind] | None,
        *,
        upward: bool = False,
        rounds: int = ROUNDS,
    ) -> NotificationPage:
        found: list[VisibleNotification] = []
        last: PostId | None = None
        for number in range(rounds):
            asked = UNREAD_BATCH if kinds or number else min(limit + 1, UNREAD_BATCH)
            mark, some, last = await self._notifications.read(viewer_id, edge, asked, upward=upward)
            some = [each for each in some if not kinds or each.kind in kinds]
            found += await self._rights.visible(viewer_id, some, mark)
            if last is None or len(found) > limit:
                break
            edge = last
        if len(found) > limit:
            return NotificationPage(tuple(found[:limit]), found[limit - 1].id)
        return NotificationPage(tuple(found), last)

    # How much is unread

    @staticmethod
    def unread_command(viewer_id: AccountId) -> Command:
        """The first look, for a round trip that is made anyway; `badge` reads its reply."""
        return unread_command(viewer_id)

    async def badge(self, viewer_id: AccountId, reply: Reply) -> Badge:
        """Where nothing is unread, as on most pages, nothing more is asked."""
        first = parse_unread(reply)
        return Badge(first.newest, await self._count(viewer_id, first) if first.notifications else 0)

    async def unread(self, viewer_id: AccountId) -> int:
        """Visible ones above the read mark, counted as far as UNREAD_CAP."""
        return await self._count(viewer_id, await self._notifications.unread(viewer_id))

    async def _count(self, viewer_id: AccountId, first: UnreadBatch) -> int:
        look, count = first, 0
        while True:
            count += len(await self._rights.visible(viewer_id, look.notifications, NOTHING_READ))
            if look.last is None or count >= UNREAD_CAP:
                return min(count, UNREAD_CAP)
            look = await self._notifications.unread(viewer_id, below=look.last)

    async def mark_read(self, viewer_id: AccountId, up_to: PostId) -> int:
        """Everything up to this one is read; how much is unread then. Repeating changes nothing."""
        await self._notifications.mark_read(viewer_id, up_to)
        return await self.unread(viewer_id)

    # What is wanted

    async def preferences(self, account_id: AccountId) -> dict[NotificationKind, NotificationPreference]:
        return (await self._notifications.preferences([account_id]))[account_id]

    async def set_preferences(
        self, account_id: AccountId, wishes: Mapping[NotificationKind, NotificationPreference]
    ) -> None:
        """From now on; what was told already stays."""
        await self._notifications.set_preferences(account_id, wishes)

    async def delete_all(self, account_id: AccountId) -> None:
        """Of a deleted account: everything."""
        await self._notifications.delete_all(account_id)
