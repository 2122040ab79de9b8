"""Decides which notifications a reader may see. The sources are read for each page, so the result is current."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import repeat

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.service import Part
from socialsite.store import Command, Key, Read, Reply, Store
from timelines.graph.repository import Follows
from timelines.notifications.notification import Notification, VisibleNotification
from timelines.pages.page import HydratedPost, mark_addressed
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext, ViewerRelations
from timelines.visibility.viewer_state import read_viewer_relations

Causes = dict[str, int | None]
"""For each member of a kind with a cause, the score of its like, boost, follow or request, or None if it was undone."""
FindReported = Callable[[Sequence[PostId]], Awaitable[Mapping[PostId, Author]]]
"""A function that returns the account that each of the reports is about."""


class NotificationVisibility(Part):
    """A notification is visible if its cause exists, its actor may be shown, and the reader may see its post.

    The reader must not have muted the thread of the post.
    """

    store: Store
    pipeline: ReadPipeline
    authors: AccountService
    follows: Follows
    clock: TimeSource
    find_reported: FindReported | None = None
    """The container sets it, because reports build on notifications."""

    async def visible(
        self, viewer_id: AccountId, notifications: Sequence[Notification], read_mark: PostId
    ) -> list[VisibleNotification]:
        """Return the visible notifications in their order.

        Notifications up to the id `read_mark` are marked as read.
        """
        if not notifications:
            return []
        actor_ids = list(dict.fromkeys(each.account_id for each in notifications))
        entries, (authors, relations, followers, causes) = await run_together(
            self._hydrate(viewer_id, notifications),
            self.store.read(
                self.authors.read_authors(actor_ids),
                read_viewer_relations(viewer_id, (), actor_ids, self.clock.now_ms()),
                self.follows.followers_among(
                    viewer_id, {each.account_id for each in notifications if each.kind.needs_follow}
                ),
                read_causes(viewer_id, notifications),
            ),
        )
        reported = await self._load_reported(notifications)
        hidden_boosters, hidden_actors = await self._find_unfollowed(viewer_id, notifications, authors)

        def show(each: Notification) -> VisibleNotification | None:
            kind, author = each.kind, authors.get(each.account_id)
            if author is None or author.id in hidden_actors or not may_notify(author, relations):
                return None
            entry = entries.get(each.post_id) if kind.has_post and each.post_id is not None else None
            if entry is not None and entry.shown.post.thread_id in relations.muted_threads:
                return None
            if entry is not None and kind.is_mention:
                entry = mark_addressed(entry)
            is_stored_boost = entry is not None and entry.original is not None  # of a release until 2026-11
            if not is_stored_boost and (
                (kind.has_post and each.post_id is not None and entry is None)
                or causes.get(each.member, 0) is None
                or (kind.needs_follow and author.id not in followers)
                or (kind.hides_private_actor and author.id in hidden_boosters)
            ):
                return None
            about = reported.get(each.post_id) if each.post_id is not None else None
            return VisibleNotification(each.id, kind, author, entry, each.id <= read_mark, about)

        return [visible for each in notifications if (visible := show(each)) is not None]

    async def find_cause(self, reader_id: AccountId, notification: Notification) -> int | None:
        """Return the score of the follow, request or reaction that causes a notification, or None if it was undone."""
        actor_id = notification.account_id
        if notification.kind.needs_follow:
            return (await self.follows.followers_among(reader_id, [actor_id])).get(actor_id)
        scores: list[Causes] = await self.store.read(read_causes(reader_id, [notification]))
        return scores[0].get(notification.member)

    async def _hydrate(self, viewer_id: AccountId, notifications: Sequence[Notification]) -> dict[PostId, HydratedPost]:
        of_posts = (each for each in notifications if each.kind.has_post)
        ids = list(dict.fromkeys(each.post_id for each in of_posts if each.post_id is not None))
        entries = await self.pipeline.read_posts(ids, ViewerContext(viewer_id, ViewContext.NOTIFICATION))
        return {entry.post.id: entry for entry in entries}

    async def _load_reported(self, notifications: Sequence[Notification]) -> Mapping[PostId, Author]:
        """Return the account that each report is about. Without reports, nothing is read."""
        ids = [each.post_id for each in notifications if each.kind.text_about is not None and each.post_id is not None]
        return await self.find_reported(ids) if ids and self.find_reported is not None else {}

    async def _find_unfollowed(
        self, viewer_id: AccountId, notifications: Sequence[Notification], authors: Mapping[AccountId, Author]
    ) -> tuple[set[AccountId], set[AccountId]]:
        """Return private boosters and limited actors that the viewer does not follow.

        A boost is a post of its booster. A limited account notifies only its followers, and itself.
        """
        boosters = {each.account_id for each in notifications if each.kind.hides_private_actor}
        private = {id for id in boosters if id in authors and authors[id].followers_only}
        limited = {id for id, author in authors.items() if author.limited and id != viewer_id}
        if not private and not limited:
            return private, limited
        followed = await self.follows.followed_among(viewer_id, private | limited)
        return private - followed, limited - followed


def may_notify(actor: Author, reader: ViewerRelations) -> bool:
    """Return whether actions of this account may be shown to the reader."""
    is_hidden = actor.id in reader.blocks or actor.id in reader.blocked_by or actor.id in reader.muted
    return actor.is_visible and not is_hidden


def read_causes(reader_id: AccountId, notifications: Sequence[Notification]) -> Read[Causes]:
    """Read the causes with one command for each ZSET: many accounts like one post."""
    members: dict[Key, dict[str, AccountId]] = {}
    for each in notifications:
        if each.kind.cause is not None and (each.post_id is not None or not each.kind.has_post):
            key, member = each.kind.cause(reader_id, each.account_id, each.post_id or PostId(0))
            members.setdefault(key, {})[each.member] = member

    def parse(replies: Sequence[Reply]) -> Causes:
        return {
            name: None if score is None else int(float(score))
            for names, scores in zip(members.values(), replies, strict=True)
            for name, score in zip(names, scores or repeat(None, len(names)), strict=True)
        }

    commands: list[Command] = [("ZMSCORE", key, *names.values()) for key, names in members.items()]
    return Read(commands, parse, wrong_type_reply=None)
