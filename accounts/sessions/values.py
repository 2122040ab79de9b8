"""Values of sessions: the token in the cookie, the stored session, its limits, and the name of the device.

A cookie is `<account id>.<43 random characters>`. The 256 random bits are the secret. The store contains only their
SHA-256 digest. Times are Unix milliseconds.
"""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Self, TypeVar

import msgspec

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, ClientId

SESSIONS_CAP: Final = 50
"""The maximum number of open sessions of an account. One more ends the least recently used session."""
ACCESS_TOKENS_CAP: Final = 100
"""The maximum number of access tokens of an account or an app. One more ends the least recently used token."""
SESSION_SCHEMA_VERSION: Final = 1
SESSION_ID_PATTERN = re.compile(r"[0-9a-f]{64}")
ACCOUNT_ID_MAX_LENGTH = 16  # digits
DEVICE_MAX_LENGTH = 60  # code points

_COOKIE_PATTERN = re.compile(r"([1-9][0-9]{0,15})\.([A-Za-z0-9_-]{43})")
_BEARER_PATTERN = re.compile(r"([1-9][0-9]{0,15}|[0-9a-f]{32})-([A-Za-z0-9_-]{43})")
_BROWSERS = {  # the first match wins: most user agents also contain later names
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser/": "Samsung Internet", "Firefox/": "Firefox", "FxiOS/": "Firefox",
    "CriOS/": "Chrome", "Chromium/": "Chromium", "Chrome/": "Chrome", "Safari/": "Safari",
}  # fmt: skip
_SYSTEMS = {
    "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "CrOS": "ChromeOS", "Windows": "Windows",
    "Macintosh": "Mac", "Linux": "Linux",
}  # fmt: skip


Owner = TypeVar("Owner", bound=AccountId | ClientId)


@dataclass(frozen=True)
class _Token(Generic[Owner]):
    """A secret and its owner. Its repr omits the secret."""

    owner: Owner
    secret: str = field(repr=False)

    @classmethod
    def generate(cls, owner: Owner) -> Self:
        return cls(owner, secrets.token_urlsafe(32))

    @property
    def session_id(self) -> str:
        """The hex SHA-256 of the secret. It identifies the session in keys, pages and live messages."""
        return hash_secret(self.secret)


class SessionToken(_Token[AccountId]):
    @classmethod
    def parse(cls, cookie: str | None) -> Self | None:
        """Return the token of a cookie, or None if this site cannot have issued the cookie."""
        match = _COOKIE_PATTERN.fullmatch(cookie or "")
        return cls(AccountId(int(match[1])), match[2]) if match else None

    @property
    def cookie_value(self) -> str:
        return f"{self.owner}.{self.secret}"


class BearerToken(_Token[AccountId | ClientId]):
    """An access token of an account or an app. No cookie has this form."""

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the token of a text, or None if this site cannot have issued the text."""
        match = _BEARER_PATTERN.fullmatch(text)
        if not match:
            return None
        is_account = len(match[1]) <= ACCOUNT_ID_MAX_LENGTH
        return cls(AccountId(int(match[1])) if is_account else ClientId(match[1]), match[2])

    @property
    def text(self) -> str:
        return f"{self.owner}-{self.secret}"


AnyToken = SessionToken | BearerToken


def hash_secret(secret: str) -> str:
    """Return the hex SHA-256 of a random secret. The store contains only this digest."""
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenGrant(msgspec.Struct, frozen=True):
    """The scopes of an access token, and its app. It is a part of the stored session."""

    app_id: str
    app_name: str
    scopes: tuple[str, ...]
    website: str = ""


class AccessToken(msgspec.Struct, frozen=True):
    """The valid access token of a request. `account_id` is None for a token that an app has for itself."""

    id: str
    account_id: AccountId | None
    grant: TokenGrant
    created_ms: int
    last_used_ms: int

    @property
    def scopes(self) -> tuple[str, ...]:
        return self.grant.scopes

    @property
    def app_name(self) -> str:
        return self.grant.app_name


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """A session ends `idle_timeout_ms` after its last use, but at the latest `absolute_timeout_ms` after sign-in."""

    idle_timeout_ms: int = 14 * DAY_MS
    absolute_timeout_ms: int = 90 * DAY_MS
    touch_interval_ms: int = 60_000
    """The minimum time between two writes of the last use, so that most pages cause no write."""
    max_sessions: int = SESSIONS_CAP

    def is_expired(self, created_ms: int, last_used_ms: int, now_ms: int) -> bool:
        return now_ms - last_used_ms >= self.idle_timeout_ms or now_ms - created_ms >= self.absolute_timeout_ms

    def ttl_ms(self, created_ms: int, now_ms: int) -> int:
        """Return the time to live of the stored session from `now_ms` on. It is at least 1, as PEXPIRE requires."""
        return max(1, min(self.idle_timeout_ms, created_ms + self.absolute_timeout_ms - now_ms))


NEVER_MS: Final = 100 * 365 * DAY_MS
ACCESS_TOKEN_LIMITS = SessionLimits(400 * DAY_MS, NEVER_MS, max_sessions=ACCESS_TOKENS_CAP)
"""Apps expect that a token that they use does not expire."""
APP_TOKEN_LIMITS = SessionLimits(30 * DAY_MS, NEVER_MS, max_sessions=ACCESS_TOKENS_CAP)
"""Everybody may register an app and get tokens for it, so unused ones expire."""


class StoredSession(msgspec.Struct, frozen=True, array_like=True):
    """The stored value of a session. Its last use is in the account's index.

    `data` is Django's session dictionary. `schema_version` is first, so that a later layout can be recognized.
    """

    schema_version: int
    created_ms: int
    device: str
    data: dict[str, object]

    def __repr__(self) -> str:
        return f"<StoredSession since {self.created_ms}>"  # `data` must not be logged


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session that has a stored value and an entry in its account's index."""

    stored: StoredSession
    last_used_ms: int


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A row of the page of an account's sessions. `id` is the digest of the token."""

    id: str
    device: str
    created_ms: int
    last_used_ms: int
    current: bool


def describe_device(user_agent: str) -> str:
    """Return a text such as "Firefox on Linux", or the shortened user agent of another program, for display only."""
    browser, system = _first_match(_BROWSERS, user_agent), _first_match(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    program = re.sub(r"[^\x20-\x7e]", "", user_agent).split(" ")[0]
    return (browser or system or program)[:DEVICE_MAX_LENGTH]


def _first_match(names: Mapping[str, str], user_agent: str) -> str:
    return next((name for mark, name in names.items() if mark in user_agent), "")
