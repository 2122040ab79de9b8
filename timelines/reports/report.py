"""A report of an account or of its posts, for the people who run the site."""

from typing import Final, Literal

import msgspec

from socialsite.ids import AccountId, PostId

ReportCategory = Literal["spam", "legal", "violation", "other"]
CATEGORIES: Final[tuple[ReportCategory, ...]] = ("spam", "legal", "violation", "other")
REPORTS_CAP: Final = 10_000
"""The maximum number of stored reports. The oldest are dropped."""
MAX_REPORTED_POSTS: Final = 50
COMMENT_MAX_LENGTH: Final = 1_000


class Report(msgspec.Struct, frozen=True, array_like=True):
    """A stored report. New fields are added at the end."""

    id: PostId
    reporter_id: AccountId
    target_id: AccountId
    category: ReportCategory = "other"
    comment: str = ""
    post_ids: tuple[PostId, ...] = ()
