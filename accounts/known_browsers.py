"""The cookie of a browser in which accounts were signed in before.

The cookie gives the owners of these accounts a separate rate limit, so that they can log in while an attacker guesses
passwords. It grants nothing else. The cookie contains a random text and, for each account, a MAC of this text.
"""

import re
import secrets
from dataclasses import dataclass
from typing import Self

from django.utils.crypto import constant_time_compare, salted_hmac

ACCOUNTS_CAP = 5
_COOKIE_PATTERN = re.compile(rf"([A-Za-z0-9_-]{{22}})((?:\.[0-9a-f]{{64}}){{1,{ACCOUNTS_CAP}}})")


@dataclass(frozen=True, slots=True)
class KnownBrowser:
    """The parsed cookie of a browser.

    `secret` identifies the browser in rate limits. `macs` has one MAC per account; the last log-in comes first.
    """

    secret: str
    macs: tuple[str, ...] = ()

    @classmethod
    def parse(cls, cookie: str | None) -> Self | None:
        """Parse the cookie. Return None if it has another format. The MACs are checked by `knows`."""
        match = _COOKIE_PATTERN.fullmatch(cookie or "")
        return cls(match[1], tuple(match[2][1:].split("."))) if match else None

    @classmethod
    def generate(cls) -> Self:
        return cls(secrets.token_urlsafe(16))

    @property
    def cookie_value(self) -> str:
        return ".".join((self.secret, *self.macs))

    def knows(self, account_id: int) -> bool:
        """Return whether the account was signed in with this browser."""
        return any(constant_time_compare(mac, self._mac(account_id)) for mac in self.macs)

    def with_account(self, account_id: int) -> Self:
        """Return the browser after a sign-in of the account."""
        mac = self._mac(account_id)
        others = [each for each in self.macs if each != mac]
        return type(self)(self.secret, (mac, *others)[:ACCOUNTS_CAP])

    def _mac(self, account_id: int) -> str:
        return salted_hmac("accounts.known_browsers", f"{account_id} {self.secret}", algorithm="sha256").hexdigest()
