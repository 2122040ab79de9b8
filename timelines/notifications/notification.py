"""What somebody is told of: who did what, to which post."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self

import msgspec

from accounts.domain import DAY_MS, AccountId, Author
from socialsite.ids import PostId, ms_from_id
from timelines.pages.page import HydratedPost

Kind = Literal["mention", "reply", "boost", "like", "follow", "request"]
KINDS: Final[tuple[Kind, ...]] = ("mention", "reply", "boost", "like", "follow", "request")
MENTIONS: Final = frozenset[Kind]({"mention", "reply"})
"""What people say to one; the tab of that name."""
RECURRING: Final = frozenset[Kind]({"boost", "like", "follow", "request"})
"""What can be taken back and done again. The others are about a post, which happens once."""

Wanted = Literal["all", "followed", "none"]
WANTED: Final[tuple[Wanted, ...]] = ("all", "followed", "none")
"""From whom somebody wants a kind: from everybody, from people they follow, from nobody."""

UNREAD_CAP: Final = 100
"""Counted no further: "99+"."""


class Notification(NamedTuple):
    """Stored. `id`: time-ordered, rises within an account.

    `post_id`: of a boost what was boosted; releases until 2026-11 named the boost itself.
    """

    id: PostId
    kind: Kind
    account_id: AccountId
    post_id: PostId | None = None

    @property
    def member(self) -> str:
        return member_of(self.kind, self.account_id, self.post_id)

    @classmethod
    def parse(cls, member: bytes, score: bytes) -> Self | None:
        """None for a member that a later release wrote, or nobody."""
        kind, _, rest = member.decode("ascii", "replace").partition(":")
        account, _, post = rest.partition(":")
        if kind not in KINDS or not (account.isdecimal() and post.isdecimal()):
            return None
        post_id = PostId(int(post)) if int(post) else None
        return cls(PostId(int(float(score))), kind, AccountId(int(account)), post_id)


def member_of(kind: Kind, account_id: AccountId, post_id: PostId | None) -> str:
    """What makes two notifications the same one: a repetition is none."""
    return f"{kind}:{account_id}:{post_id or 0}"


class Noticed(msgspec.Struct, frozen=True, gc=False):
    """A notification as its reader may see it. `entry`: the post it is about, none of a follow."""

    id: PostId
    kind: Kind
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
class NoticePage:
    """Newest first; the cursors are exclusive and None where nothing more is."""

    entries: tuple[Noticed, ...]
    next_before: PostId | None
    previous_after: PostId | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Notifications that say the same of the same post: "A and 4 others", the newest first. Never empty."""

    members: tuple[Noticed, ...]

    @property
    def first(self) -> Noticed:
        """The newest."""
        return self.members[0]

    @property
    def is_read(self) -> bool:
        return all(each.is_read for each in self.members)


def grouped(entries: tuple[Noticed, ...]) -> list[Group]:
    """What is said of the same post, and follows, become one where a day or less lies between each two.

    Others may stand between them: a post that is liked and boosted by turns makes two groups, each where its
    newest is. What people wrote stands alone.
    """
    groups: list[list[Noticed]] = []
    latest: dict[tuple[Kind, PostId | None], list[Noticed]] = {}
    for entry in entries:
        said = entry.kind, _about(entry)
        group = latest.get(said)
        if group is None or entry.kind in MENTIONS or group[-1].created_ms - entry.created_ms > DAY_MS:
            group = latest[said] = []
            groups.append(group)
        group.append(entry)
    return [Group(tuple(members)) for members in groups]


def _about(noticed: Noticed) -> PostId | None:
    return noticed.entry.shown.post.id if noticed.entry else None
