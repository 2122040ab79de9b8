"""A report of an account or of its posts, for the people who run the site."""

from typing import Final, Literal, NamedTuple, get_args

import msgspec

from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.posts.post import Post

ReportCategory = Literal[
    "spam", "legal", "violation", "other", "harassment", "hate", "nudity", "self_harm", "impersonation"
]
"""The first four are Mastodon's. New ones are added at the end."""
CATEGORIES: Final[tuple[ReportCategory, ...]] = get_args(ReportCategory)
ReportOutcome = Literal["", "acted", "no_breach", "account_deleted"]
"""What came of a report: "" while it is open. "acted" says that staff acted, and never how."""
REPORTS_CAP: Final = 10_000
"""The maximum number of stored reports. ReportService chooses those that give way to a new one."""
MAX_REPORTED_POSTS: Final = 50
COMMENT_MAX_LENGTH: Final = 1_000
NOBODY: Final = AccountId(0)
"""The reporter of a report whose account was deleted."""


class Report(msgspec.Struct, frozen=True, array_like=True):
    """A stored report. New fields are added at the end."""

    id: PostId
    reporter_id: AccountId
    target_id: AccountId
    category: ReportCategory = "other"
    comment: str = ""
    post_ids: tuple[PostId, ...] = ()
    rules: tuple[str, ...] = ()
    """The texts of the site's rules that the reporter chose, as they were at that time."""
    outcome: ReportOutcome = ""
    closed_ms: int = 0
    closed_by: AccountId = NOBODY

    @property
    def is_open(self) -> bool:
        return not self.outcome

    @property
    def created_ms(self) -> int:
        return ms_from_id(self.id)

    def covers(self, post_ids: tuple[PostId, ...]) -> bool:
        """Return whether a report of these posts, or of the account if there are none, would repeat this report.

        The account may be reported again after a report of it was closed.
        """
        return set(post_ids) <= set(self.post_ids) if post_ids else self.is_open and not self.post_ids


class Claim(NamedTuple):
    """The claim of a staff member on the open reports about an account. `reason` is the reason of a takeover, or ""."""

    staff_id: AccountId
    until_ms: int
    reason: str = ""


class QueueEntry(NamedTuple):
    """An account with open reports: the oldest of them, how many there are in each category, and their claim."""

    account_id: AccountId
    oldest_id: PostId
    counts: dict[ReportCategory, int]
    claim: Claim | None


encode_report = msgspec.msgpack.Encoder().encode
decode_report = msgspec.msgpack.Decoder(Report).decode
encode_posts = msgspec.msgpack.Encoder().encode
decode_posts = msgspec.msgpack.Decoder(tuple[Post, ...]).decode
