"""What an account and a session are, apart from how they are stored or shown. Knows no Django and no store.

Times are Unix milliseconds.
"""

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from socialsite.ids import AccountId

AccountState = Literal["active", "suspended", "deleted"]
ACTIVE: Final = "active"
SUSPENDED: Final = "suspended"
DELETED: Final = "deleted"

DAY_MS: Final = 24 * 3600 * 1000
SESSIONS_CAP: Final = 50
"""Open sessions an account may have; one more ends the one unused for longest."""


class Author(msgspec.Struct, frozen=True, gc=False):
    """What pages show of an account beside its posts. `version` rises with each change of these facts."""

    id: AccountId
    handle: str
    display_name: str
    state: AccountState
    version: int
    private: bool = False
    """Only followers, whom the account lets in, see its posts."""

    @property
    def is_visible(self) -> bool:
        """Suspended and deleted accounts are hidden everywhere (rights are checked at read)."""
        return self.state == ACTIVE


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long a session lives: `idle_ms` after its last use, never past `absolute_timeout_ms` after sign-in."""

    idle_timeout_ms: int = 14 * DAY_MS
    absolute_timeout_ms: int = 90 * DAY_MS
    touch_interval_ms: int = 60_000
    """Last use is written at most this often: a read of a page should not cost a write."""
    max_sessions: int = SESSIONS_CAP

    def is_expired(self, created_ms: int, last_used_ms: int, now_ms: int) -> bool:
        return now_ms - last_used_ms >= self.idle_timeout_ms or now_ms - created_ms >= self.absolute_timeout_ms

    def ttl_ms(self, created_ms: int, now_ms: int) -> int:
        """Milliseconds the stored session may live on from `now_ms`; at least 1, as PEXPIRE wants."""
        return max(1, min(self.idle_timeout_ms, created_ms + self.absolute_timeout_ms - now_ms))


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A line of the page of one's own sessions. `id` is the digest of the token, never the token."""

    id: str
    device: str
    created_ms: int
    last_used_ms: int
    current: bool


class StoredSession(msgspec.Struct, frozen=True, array_like=True, repr_omit_defaults=True):
    """What is kept of a session; its last use stands in the account's index.

    `schema` comes first so that a later layout can be told apart. `data` is Django's session dictionary.
    """

    schema_version: int
    created_ms: int
    device: str
    data: dict[str, object]

    def __repr__(self) -> str:
        return f"<StoredSession since {self.created_ms}>"  # `data` holds what must not be logged


SESSION_SCHEMA_VERSION: Final = 1
