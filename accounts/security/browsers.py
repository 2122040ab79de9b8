"""The browsers in which an account was signed in. The viewer sees them and can forget each.

A browser is known by its cookie and its stored entry. Its log-ins have a rate limit of their own, so that the owner of
the account can log in while an attacker guesses passwords. The cookie grants nothing else.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Final, Self

import msgspec
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts import keys
from accounts.security.events import rough_network
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import Caller
from socialsite.service import Service
from socialsite.store.commands import load_script
from socialsite.store.store import Store

BROWSERS_CAP: Final = 20
"""The maximum number of browsers of an account. One more replaces the least recently used browser."""
BROWSER_TTL_MS: Final = 365 * DAY_MS
REMEMBER_BROWSER_SCRIPT = load_script("remember_browser.lua", __package__)
ACCOUNTS_CAP = 5  # accounts that a cookie names
_COOKIE_PATTERN = re.compile(rf"([A-Za-z0-9_-]{{22}})((?:\.[0-9a-f]{{64}}){{1,{ACCOUNTS_CAP}}})")


@dataclass(frozen=True, slots=True)
class KnownBrowser:
    """The parsed cookie of a browser: a random text, and a MAC of it for each account, the last log-in first.

    `secret` identifies the browser in rate limits.
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


class BrowserRecord(msgspec.Struct, frozen=True, array_like=True):
    """The last log-in in a browser."""

    last_login_ms: int
    device: str
    network: str


class BrowserRegistry(Service):
    store: Store
    clock: TimeSource

    async def is_known(self, account_id: AccountId, browser: KnownBrowser | None) -> bool:
        """Return whether the account was signed in with this browser and did not remove it."""
        if browser is None or not browser.knows(account_id):
            return False
        key = keys.browsers(account_id)
        return bool(await self.store.node(key).execute("HEXISTS", key, browser_id(browser)))

    async def remember(self, account_id: AccountId, browser: KnownBrowser, device: str, caller: Caller) -> None:
        record = BrowserRecord(self.clock.now_ms(), device, rough_network(caller.address))
        others = [id for id in await self.list_browsers(account_id) if id != browser_id(browser)]
        args = (browser_id(browser), msgspec.msgpack.encode(record), BROWSER_TTL_MS, *others[BROWSERS_CAP - 1 :])
        key = keys.browsers(account_id)
        await self.store.component("accounts")[key].execute(*REMEMBER_BROWSER_SCRIPT.command([key], args))

    async def list_browsers(self, account_id: AccountId) -> dict[str, BrowserRecord]:
        """Return the browsers by id, the last used first."""
        key = keys.browsers(account_id)
        reply = await self.store.node(key).execute("HGETALL", key)
        values = (msgspec.msgpack.decode(value, type=BrowserRecord) for value in reply[1::2])
        records = zip(reply[::2], values, strict=True)
        return {id.decode(): record for id, record in sorted(records, key=lambda item: -item[1].last_login_ms)}

    async def forget(self, account_id: AccountId, id: str) -> None:
        """Delete a browser. It is no error if there is none."""
        await self.store.write("HDEL", keys.browsers(account_id), id)


def browser_id(browser: KnownBrowser) -> str:
    return hashlib.sha256(browser.secret.encode()).hexdigest()[:32]
