"""Notifications as values: the stored form, and the form that a reader sees."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import msgspec

from accounts.domain import Author
from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.notifications.kinds import KINDS, NotificationKind
from timelines.pages.page import HydratedPost

UNREAD_CAP: Final = 100
"""Unread notifications are counted up to this number, which pages show as "99+"."""


class Notification(NamedTuple):
    """A stored notification. Its `id` contains the time, and is higher than earlier ids of the same account.

    For a boost, `post_id` is the boosted post. Releases until 2026-11 stored the boost itself. If the kind has no post,
    it is None, or the id of the report, export or import.
    """

    id: PostId
    kind: NotificationKind
    account_id: AccountId
    post_id: PostId | None = None

    @property
    def member(self) -> str:
        """The member in the ZSET, which identifies the notification. A repetition has the same member."""
        return f"{self.kind.name}:{self.account_id}:{self.post_id or 0}"

    @classmethod
    def parse(cls, member: bytes, score: bytes) -> Self | None:
        """Parse a stored notification. Return None for a member that this release does not know."""
        name, _, rest = member.decode("ascii", "replace").partition(":")
        account, _, post = rest.partition(":")
        kind = KINDS.get(name)
        if kind is None or not (account.isdecimal() and post.isdecimal()):
            return None
        post_id = PostId(int(post)) if int(post) else None
        return cls(PostId(int(float(score))), kind, AccountId(int(account)), post_id)


class Selection(NamedTuple):
    """A selection of notifications by kinds and by one actor. A field that is None restricts nothing."""

    kinds: Collection[NotificationKind] | None = None
    actor_id: AccountId | None = None

    @property
    def is_narrow(self) -> bool:
        """Return whether probably few notifications match: those of one account, or of less than half of the kinds."""
        return self.actor_id is not None or (self.kinds is not None and len(self.kinds) < len(KINDS) / 2)

    def of(self, notifications: Iterable[Notification]) -> list[Notification]:
        return [
            each
            for each in notifications
            if (self.kinds is None or each.kind in self.kinds) and self.actor_id in (None, each.account_id)
        ]


ALL: Final = Selection()


class VisibleNotification(msgspec.Struct, frozen=True, gc=False):
    """A notification as its reader sees it. `entry` is the post, or None for a kind without a post."""

    id: PostId
    kind: NotificationKind
    author: Author
    entry: HydratedPost | None
    is_read: bool
    about: Author | None = None
    """The account that the report of the notification is about."""

    @property
    def created_ms(self) -> int:
        return ms_from_id(self.id)


class Badge(NamedTuple):
    """The badge of every page: the id of the newest notification (or 0), and the number of unread notifications."""

    newest: PostId
    unread: int = 0

    @property
    def text(self) -> str:
        """The number of unread notifications as text, or an empty text for 0."""
        return f"{UNREAD_CAP - 1}+" if self.unread >= UNREAD_CAP else str(self.unread or "")


@dataclass(frozen=True, slots=True)
class NotificationPage:
    """A page of notifications, newest first. The cursors are exclusive, and None if no page follows."""

    entries: tuple[VisibleNotification, ...]
    next_before: PostId | None
    previous_after: PostId | None = None
