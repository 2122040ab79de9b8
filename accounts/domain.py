"""The author of posts, and the states of an account. This module imports neither Django nor the store."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

import msgspec

from socialsite.ids import AccountId

AccountState = Literal["active", "suspended", "deleted", "waiting"]
NO_ACCOUNT_ID: Final = AccountId(0)
"""An id that no account has, because INCR starts at 1."""
ACTIVE: Final = "active"
SUSPENDED: Final = "suspended"
DELETED: Final = "deleted"
WAITING: Final = "waiting"
"""The account waits for approval by staff (accounts/joining). It is hidden and has no session."""
DefaultAudience = Literal["public", "unlisted", "followers"]
Restriction = Literal["limit", "mark_pictures", "silence"]
LIMITED: Final = 1
MARKS_PICTURES: Final = 2
"""The bits of the stored restrictions of an account."""
PictureKind = Literal["avatar", "header"]
PictureSize = Literal["small", "full"]
QuotePolicy = Literal["public", "followers", "nobody"]
AlertChoice = Literal["mail", "push", "none"]
QUOTE_POLICIES: Final[tuple[QuotePolicy, ...]] = ("public", "followers", "nobody")
"""The accounts that may quote a post: everybody who sees it, followers of its author, or nobody but its author."""


def picture_url(name: str, size: PictureSize) -> str:
    """Return the URL of an avatar or header. `name` is what the account stores. Returns "" for ""."""
    return f"/media/{name}/{size}.webp" if name else ""


class Preferences(msgspec.Struct, frozen=True, array_like=True):
    """The choices of an account for its posts, timelines and profile. New fields are added at the end."""

    opens_warnings: bool = False
    """True if posts with a content warning are shown open."""
    language: str | None = None
    """The language that new posts have unless their writer chooses another. An ISO 639 code (languages.py)."""
    languages: tuple[str, ...] = ()
    """The languages of posts on public timelines. Empty for all. Posts without a language are always shown."""
    audience: DefaultAudience = "public"
    """The audience of new posts unless their writer chooses another. Posts of private accounts are for followers."""
    marks_sensitive: bool = False
    """True if apps mark the pictures of new posts as sensitive unless their writer chooses otherwise."""
    is_bot: bool = False
    """True if a program posts for the account, which apps show."""
    onboarding_step: int = 0
    """The next of the steps after the sign-up, from 1, or 0 if they are done or dismissed."""
    quote_policy: QuotePolicy = "public"
    """The accounts that may quote the posts that have no policy of their own."""
    featured_hashtags: tuple[str, ...] = ()
    """The normalized hashtags that apps show on the profile."""
    endorsed_ids: tuple[AccountId, ...] = ()
    """The followed accounts that apps show on the profile. They may be deleted, or not followed any more."""
    alerts: AlertChoice = "mail"
    """How staff learns of alerts of the site."""
    gets_summary: bool = False
    """True if staff gets the daily summary of the site by mail."""
    dismissed_announcements: tuple[int, ...] = ()
    """The ids of announcements that are not shown any more."""
    is_discoverable: bool = True
    """True if the account may be suggested, and be found by its name. Its followers always find it."""
    shows_replies: bool = False
    """True if the public timeline shows replies to other accounts."""
    tabs: tuple[str, ...] | None = None
    """The tabs of home in their order: ids of lists, and hashtags with "#". None for the first lists and hashtags."""


PreferencesChange = Callable[[Preferences], Preferences]
"""Returns changed preferences. It is called again if another request changed them meanwhile."""


@lru_cache(maxsize=4_096)
def decode_preferences(encoded: str | bytes) -> Preferences:
    """Return the preferences that the hash of an account contains as JSON, or the defaults for ""."""
    return msgspec.json.decode(encoded, type=Preferences) if encoded else Preferences()


def encode_preferences(preferences: Preferences) -> str:
    return msgspec.json.encode(preferences).decode()


class Author(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The facts about an account that pages show beside its posts. Each change of a fact raises `version`."""

    id: AccountId
    handle: str
    display_name: str
    state: AccountState
    version: int
    private: bool = False
    """Only followers see the posts of a private account, and it accepts each follower."""
    avatar: str = ""
    """The name of the avatar's files, or "". `picture_url` returns their URLs."""
    limited: bool = False
    """Staff limited the account: only followers see its posts, and everybody may follow it without a request."""
    marks_pictures: bool = False
    """Staff marked the pictures of the account: all of them are shown as sensitive."""

    @property
    def followers_only(self) -> bool:
        """Return whether only followers see the posts of the account."""
        return self.private or self.limited

    @property
    def is_visible(self) -> bool:
        """False for suspended and deleted accounts, which every page hides."""
        return self.state == ACTIVE
