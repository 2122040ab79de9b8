"""The value `Sanction`: one decision of staff about an account, with its text, its undo and its appeal."""

from typing import Final, Literal, NewType, get_args

import msgspec
from msgspec.structs import replace

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId

SanctionId = NewType("SanctionId", int)
SanctionKind = Literal[
    "note", "warning", "delete_posts", "fold_posts", "mark_pictures", "limit", "silence", "suspend", "delete"
]
KINDS: Final[tuple[SanctionKind, ...]] = get_args(SanctionKind)
"""All kinds, from the mildest. A note is read by staff only."""
KINDS_OF_POSTS: Final = frozenset({"delete_posts", "fold_posts"})
FINAL_KINDS: Final = frozenset({"note", "delete_posts", "delete"})
"""The kinds that cannot be undone."""
KINDS_WITHOUT_EFFECT: Final = FINAL_KINDS | {"warning"}
"""The kinds that change nothing, or nothing that an undo could change back."""
HOUR_MS: Final = 3_600_000
SILENCE_MS: Final = {"1h": HOUR_MS, "1d": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS}
SANCTIONS_CAP: Final = 200
"""The maximum number of stored sanctions of an account. Above it, those that have ended are deleted, notes first."""
MAX_SANCTIONED_POSTS: Final = 50
TEXT_MAX_LENGTH: Final = 2_000
EXCERPT_MAX_LENGTH: Final = 100
MAX_WARNING_LENGTH: Final = 100
APPEAL_MIN_LENGTH, APPEAL_MAX_LENGTH = 20, 2_000
APPEAL_TIME_MS: Final = 30 * DAY_MS
COMPLETION_DELAY_MS: Final = 30_000
"""A worker completes a sanction or an appeal after this time. Until then the request that stored it does."""


class SanctionedPost(msgspec.Struct, frozen=True, array_like=True):
    """A post that a sanction is about, with the beginning of its text and its own content warning at that time."""

    id: PostId
    excerpt: str
    warning: str = ""
    is_for_followers: bool = False
    """True for a post for followers. Staff reads the beginning of its text only on the page of a report."""


class Appeal(msgspec.Struct, frozen=True, array_like=True):
    """The only answer of the person to a sanction, and the decision of staff about it."""

    text: str
    at_ms: int
    decided_ms: int = 0
    decider_id: AccountId | None = None
    is_accepted: bool = False
    answer: str = ""


class Sanction(msgspec.Struct, frozen=True, array_like=True):
    """A decision of staff. Times are Unix ms, 0 if there is none.

    The row is stored before its effect, so that another process can complete it. New fields are added at the end.
    """

    kind: SanctionKind
    id: SanctionId
    account_id: AccountId
    actor_id: AccountId
    text: str
    created_ms: int
    until_ms: int = 0
    """The end of a silence."""
    report_ids: tuple[int, ...] = ()
    posts: tuple[SanctionedPost, ...] = ()
    rules: tuple[str, ...] = ()
    """The rules of the site that the text refers to, as they were worded."""
    done_ms: int = 0
    """The time at which the effect was complete and the person got the message."""
    undo_ms: int = 0
    undone_ms: int = 0
    """The times at which staff asked for the undo, and at which it was complete."""
    undoer_id: AccountId | None = None
    appeal: Appeal | None = None
    warning: str = ""
    """The content warning of the posts that staff folded."""

    @property
    def is_told(self) -> bool:
        """False for notes, which only staff reads."""
        return self.kind != "note"

    @property
    def is_undoable(self) -> bool:
        return self.kind not in FINAL_KINDS and not self.undo_ms

    @property
    def is_complete(self) -> bool:
        return bool(self.undone_ms if self.undo_ms else self.done_ms)

    def is_in_force(self, now_ms: int) -> bool:
        return not self.undo_ms and (self.kind != "silence" or self.until_ms > now_ms)

    def has_ended(self, now_ms: int) -> bool:
        """Return whether nothing is left to undo, to perform or to decide."""
        has_effect = self.kind not in KINDS_WITHOUT_EFFECT and self.is_in_force(now_ms)
        return self.is_complete and not self.is_appeal_open and not has_effect

    def is_appealable(self, now_ms: int) -> bool:
        """Return whether the person may appeal now: once, within APPEAL_TIME_MS."""
        is_in_time = now_ms < self.created_ms + APPEAL_TIME_MS
        return self.is_told and self.appeal is None and not self.undo_ms and is_in_time

    @property
    def is_appeal_open(self) -> bool:
        return self.appeal is not None and not self.appeal.decided_ms

    def with_undo(self, actor_id: AccountId, now_ms: int) -> "Sanction":
        return self if self.undo_ms else replace(self, undo_ms=now_ms, undoer_id=actor_id)


encode_sanction = msgspec.msgpack.Encoder().encode
decode_sanction = msgspec.msgpack.Decoder(Sanction).decode
