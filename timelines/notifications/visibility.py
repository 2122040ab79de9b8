"""Which notifications their reader may see now: sources decide, asked with the page (DESIGN 2.6)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from accounts.domain import Author
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.store import Command, Read, Store
from timelines import keys
from timelines.graph.repository import Follows
from timelines.notifications.notification import Notification, VisibleNotification
from timelines.pages.page import HydratedPost
from timelines.reading.hydration import Hydrator
from timelines.visibility.rights import ViewContext, ViewerRelations
from timelines.visibility.viewer_state import read_viewer_relations

Causes = dict[str, bool]
"""By member: whether a like, a boost or a request stands. Others are seen by their post or their edge."""


class Authors(Protocol):
    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


class NotificationVisibility:
    """Seen is what stands, of people who may be shown, about a post that the reader may see."""

    def __init__(
        self,
        *,
        store: Store,
        hydrator: Hydrator,
        authors: Authors,
        follows: Follows,
        clock: TimeSource,
    ) -> None:
        self._store = store
        self._hydrator = hydrator
        self._authors = authors
        self._follows = follows
        self._clock = clock

    async def visible(
        self, viewer_id: AccountId, found: Sequence[Notification], mark: PostId
    ) -> list[VisibleNotification]:
        """Those of `found` that may be seen, in their order; read are those up to `mark`."""
        if not found:
            return []
        people = list(dict.fromkeys(each.account_id for each in found))
        entries, followers, (authors, state, causes) = await asyncio.gather(
            self._entries(viewer_id, found),
            self._followers(viewer_id, found),
            self._store.read(
                self._authors.read_authors(people),
                read_viewer_relations(viewer_id, (), people, self._clock.now_ms()),
                read_causes(viewer_id, found),
            ),
        )

        apart = await self._apart(viewer_id, found, authors)

        def seen(each: Notification) -> VisibleNotification | None:
            author, entry = authors.get(each.account_id), entries.get(each.post_id or PostId(0))
            if author is None or not may_notify(author, state):
                return None
            if each.kind == "follow":
                stands = each.account_id in followers
            elif each.kind == "boost":
                itself = entry is not None and entry.original is not None  # as earlier releases told of it
                stands = itself or (causes[each.member] and entry is not None and author.id not in apart)
            else:
                stands = causes.get(each.member, True) and (each.post_id is None or entry is not None)
            return VisibleNotification(each.id, each.kind, author, entry, each.id <= mark) if stands else None

        return [noticed for each in found if (noticed := seen(each)) is not None]

    async def _entries(self, viewer_id: AccountId, found: Sequence[Notification]) -> dict[PostId, HydratedPost]:
        ids = list(dict.fromkeys(each.post_id for each in found if each.post_id is not None))
        entries = await self._hydrator.hydrate(ids, viewer_id=viewer_id, context=ViewContext.NOTIFICATION)
        return {entry.post.id: entry for entry in entries}

    async def _followers(self, viewer_id: AccountId, found: Sequence[Notification]) -> set[AccountId]:
        asked = {each.account_id for each in found if each.kind == "follow"}
        return await self._follows.followers_among(viewer_id, asked) if asked else set()

    async def _apart(
        self, viewer_id: AccountId, found: Sequence[Notification], authors: Mapping[AccountId, Author]
    ) -> set[AccountId]:
        """Private accounts whose boosts the viewer does not see: a boost is a post of its own."""
        boosters = {each.account_id for each in found if each.kind == "boost"}
        private = {id for id in boosters if id in authors and authors[id].private}
        return private - await self._follows.followed_among(viewer_id, private) if private else set()


def may_notify(author: Author, reader: ViewerRelations) -> bool:
    """Whether somebody's doings may be told to a reader at all."""
    hidden = author.id in reader.blocks or author.id in reader.blocked_by or author.id in reader.muted
    return author.is_visible and not hidden


def read_causes(viewer_id: AccountId, found: Sequence[Notification]) -> Read[Causes]:
    asked: dict[str, Command] = {}
    for each in found:
        if each.kind == "like" and each.post_id is not None:
            asked[each.member] = ("ZSCORE", keys.likes(each.post_id), each.account_id)
        elif each.kind == "boost" and each.post_id is not None:
            asked[each.member] = ("ZSCORE", keys.boosts(each.post_id), each.account_id)
        elif each.kind == "request":
            asked[each.member] = ("ZSCORE", keys.follow_requests(viewer_id), each.account_id)
    return Read(
        list(asked.values()),
        lambda replies: {member: reply is not None for member, reply in zip(asked, replies, strict=True)},
    )
