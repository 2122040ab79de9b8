"""What somebody is told of: who did what, to which post."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self

import msgspec

from accounts.domain import DAY_MS, Author
from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.pages.page import HydratedPost

NotificationKind = Literal["mention", "reply", "boost", "like", "follow", "request"]
NOTIFICATION_KINDS: Final[tuple[NotificationKind, ...]] = ("mention", "reply", "boost", "like", "follow", "request")
MENTION_KINDS: Final = frozenset[NotificationKind]({"mention", "reply"})
"""What people say to one; the tab of that name."""
RECURRING_KINDS: Final = frozenset[NotificationKind]({"boost", "like", "follow", "request"})
"""What can be taken back and done again. The others are about a post, which happens once."""

NotificationPreference = Literal["all", "followed", "none"]
PREFERENCES: Final[tuple[NotificationPreference, ...]] = ("all", "followed", "none")
"""From whom somebody wants a kind: from everybody, from people they follow, from nobody."""

UNREAD_CAP: Final = 100
"""Counted no further: "99+"."""


class Notification(NamedTuple):
    """Stored. `id`: time-ordered, rises within an account.

    `post_id`: of a boost what was boosted; releases until 2026-11 named the boost itself.
    """

    id: PostId
    kind: NotificationKind
    account_id: AccountId
    post_id: PostId | None = None

    @property
    def member(self) -> str:
        return build_member(self.kind, self.account_id, self.post_id)

    @classmethod
    def parse(cls, member: bytes, score: bytes) -> Self | None:
        """None for a member that a later release wrote, or nobody."""
        kind, _, rest = member.decode("ascii", "replace").partition(":")
        account, _, post = rest.partition(":")
        if kind not in NOTIFICATION_KINDS or not (account.isdecimal() and post.isdecimal()):
            return None
        post_id = PostId(int(post)) if int(post) else None
        return cls(PostId(int(float(score))), kind, AccountId(int(account)), post_id)


def build_member(kind: NotificationKind, account_id: AccountId, post_id: PostId | None) -> str:
    """What makes two notifications the same one: a repetition is none."""
    return f"{kind}:{account_id}:{post_id or 0}"


class VisibleNotification(msgspec.Struct, frozen=True, gc=False):
    """A notification as its reader may see it. `entry`: the post it is about, none of a follow."""

    id: PostId
    kind: NotificationKind
    author: Author
    entry: HydratedPost | None
    is_read: bool

    @property
    def created_ms(self) -> int:
        return ms_from_id(self.id)


class Badge(NamedTuple):
    """What every page shows: the newest notification (0: none), how many are unread (at most UNREAD_CAP)."""

    newest: PostId
    unread: int = 0

    @property
    def text(self) -> str:
        """As it is written, empty where nothing is unread."""
        return f"{UNREAD_CAP - 1}+" if self.unread >= UNREAD_CAP else str(self.unread or "")


@dataclass(frozen=True, slots=True)
class NotificationPage:
    """Newest first; the cursors are exclusive and None where nothing more is."""

    entries: tuple[VisibleNotification, ...]
    next_before: PostId | None
    previous_after: PostId | None = None


@dataclass(frozen=True, slots=True)
class NotificationGroup:
    """Notifications that say the same of the same post: "A and 4 others", the newest first. Never empty."""

    members: tuple[VisibleNotification, ...]

    @property
    def first(self) -> VisibleNotification:
        """The newest."""
        return self.members[0]

    @property
    def is_read(self) -> bool:
        return all(each.is_read for each in self.members)


def group_notifications(entries: tuple[VisibleNotification, ...]) -> list[NotificationGroup]:
    """What is said of the same post, and follows, become one where a day or less lies between each two.

    Others may stand between them: a post that is liked and boosted by turns makes two groups, each where its
    newest is. What people wrote stands alone.
    """
    groups: list[list[VisibleNotification]] = []
    latest: dict[tuple[NotificationKind, PostId | None], list[VisibleNotification]] = {}
    for entry in entries:
        said = entry.kind, _about(entry)
        group = latest.get(said)
        if group is None or entry.kind in MENTION_KINDS or group[-1].created_ms - entry.created_ms > DAY_MS:
            group = latest[said] = []
            groups.append(group)
        group.append(entry)
    return [NotificationGroup(tuple(members)) for members in groups]


def _about(noticed: VisibleNotification) -> PostId | None:
    return noticed.entry.shown.post.id if noticed.entry else None
