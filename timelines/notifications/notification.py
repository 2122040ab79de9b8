"""Notifications as values: the stored form, and the form that a reader sees."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self, get_args

import msgspec

from accounts.domain import Author
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.pages.page import HydratedPost

NotificationKind = Literal[
    "mention", "reply", "boost", "like", "follow", "request", "poll", "draft", "quote", "update", "quoted_update",
    "report_closed", "archive", "import",
]  # fmt: skip
NOTIFICATION_KINDS: Final[tuple[NotificationKind, ...]] = get_args(NotificationKind)
MENTION_KINDS: Final = frozenset[NotificationKind]({"mention", "reply", "quote"})
"""The kinds listed under the Mentions tab."""
KINDS_WITHOUT_POST: Final = frozenset[NotificationKind]({"report_closed", "archive", "import"})
"""Kinds whose `post_id` is the id of something else."""
OWN_KINDS: Final = KINDS_WITHOUT_POST | {"draft"}
"""Kinds about what the reader did, which no other account causes."""
RECURRING_KINDS: Final = frozenset[NotificationKind](
    {"boost", "like", "follow", "request", "draft", "update", "quoted_update"}
)
"""Kinds whose cause can be undone and repeated. The other kinds are about a post, which is published once."""
RENEWED_KINDS: Final = frozenset[NotificationKind]({"follow", "request", "update", "quoted_update"})
"""Kinds of which a newer cause replaces the notification at once: the next follow or edit, as in Mastodon."""

TYPE_BY_KIND: Final[dict[NotificationKind, str]] = {
    "mention": "mention",
    "reply": "mention",
    "boost": "reblog",
    "like": "favourite",
    "follow": "follow",
    "request": "follow_request",
    "poll": "poll",
    "quote": "quote",
    "update": "update",
    "quoted_update": "quoted_update",
}
"""The names of the kinds in the API. Only pages show OWN_KINDS."""

NotificationPreference = Literal["all", "followed", "none"]
PREFERENCES: Final[tuple[NotificationPreference, ...]] = get_args(NotificationPreference)
"""The choices for each kind: actions of all accounts, of followed accounts, or of no account notify the reader."""

UNREAD_CAP: Final = 100
"""Unread notifications are counted up to this number, which pages show as "99+"."""


class Notification(NamedTuple):
    """A stored notification. Its `id` contains the time, and is higher than earlier ids of the same account.

    For a boost, `post_id` is the boosted post. Releases until 2026-11 stored the boost itself. For KINDS_WITHOUT_POST
    it is the id of the report, export or import.
    """

    id: PostId
    kind: NotificationKind
    account_id: AccountId
    post_id: PostId | None = None

    @property
    def member(self) -> str:
        """The member in the ZSET, which identifies the notification. A repetition has the same member."""
        return f"{self.kind}:{self.account_id}:{self.post_id or 0}"

    @classmethod
    def parse(cls, member: bytes, score: bytes) -> Self | None:
        """Parse a stored notification. Return None for a member that this release does not know."""
        kind, _, rest = member.decode("ascii", "replace").partition(":")
        account, _, post = rest.partition(":")
        if kind not in NOTIFICATION_KINDS or not (account.isdecimal() and post.isdecimal()):
            return None
        post_id = PostId(int(post)) if int(post) else None
        return cls(PostId(int(float(score))), kind, AccountId(int(account)), post_id)


class Selection(NamedTuple):
    """The notifications of kinds and of one actor. None selects all."""

    kinds: Collection[NotificationKind] | None = None
    actor_id: AccountId | None = None

    def of(self, notifications: Iterable[Notification]) -> list[Notification]:
        kinds = NOTIFICATION_KINDS if self.kinds is None else self.kinds
        return [each for each in notifications if each.kind in kinds and self.actor_id in (None, each.account_id)]


ALL: Final = Selection()


class VisibleNotification(msgspec.Struct, frozen=True, gc=False):
    """A notification as its reader sees it. `entry` is the post, or None for a follow or a follow request."""

    id: PostId
    kind: NotificationKind
    author: Author
    entry: HydratedPost | None
    is_read: bool

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


def group_notifications(entries: Iterable[VisibleNotification]) -> list[list[VisibleNotification]]:
    """Group notifications of one kind about one post, and follows, newest first. Replies to one post are a group.

    At most a day is between two consecutive notifications of a group; notifications of other groups may be in between.
    A group is at the position of its newest notification. Mentions and quotes are not grouped.
    """
    groups: list[list[VisibleNotification]] = []
    latest: dict[tuple[NotificationKind, PostId | None], list[VisibleNotification]] = {}
    for entry in entries:
        subject = entry.kind, _subject_post_id(entry)
        group = latest.get(subject)
        if group is None or entry.kind in ("mention", "quote") or group[-1].created_ms - entry.created_ms > DAY_MS:
            group = latest[subject] = []
            groups.append(group)
        group.append(entry)
    return groups


def _subject_post_id(entry: VisibleNotification) -> PostId | None:
    """Return the id of the post that the notification is about: for a reply, of the post that it answers."""
    if entry.entry is None:
        return None
    post = entry.entry.shown.post
    return post.in_reply_to if entry.kind == "reply" else post.id
