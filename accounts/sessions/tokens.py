"""Session tokens: what the cookie holds, and the digest it is stored under.

A cookie is `<account id>.<43 random characters>`. The id only finds the place; the 256 random bits are the
secret, and the store knows no more of them than their SHA-256.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Self

from socialsite.ids import AccountId

_COOKIE_PATTERN = re.compile(r"([1-9][0-9]{0,15})\.([A-Za-z0-9_-]{43})")

SESSION_ID_PATTERN = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SessionToken:
    """A session's token. Its secret is left out of every repr."""

    account_id: AccountId
    secret: str = field(repr=False)

    @classmethod
    def generate(cls, account_id: AccountId) -> Self:
        return cls(account_id, secrets.token_urlsafe(32))

    @classmethod
    def parse(cls, cookie: str | None) -> Self | None:
        """The token a cookie holds; None for anything that this site never gave out."""
        match = _COOKIE_PATTERN.fullmatch(cookie or "")
        return cls(AccountId(int(match[1])), match[2]) if match else None

    @property
    def cookie_value(self) -> str:
        return f"{self.account_id}.{self.secret}"

    @property
    def session_id(self) -> str:
        """Hex SHA-256: names the session in keys, pages and control messages."""
        return hashlib.sha256(self.secret.encode()).hexdigest()
