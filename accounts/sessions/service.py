"""Sessions: which account a cookie stands for, the open ones of an account, and how they end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import constant_time_compare

from accounts.accounts.repository import AccountRepository
from accounts.domain import AccountId, OpenSession, SessionLimits, StoredSession
from accounts.models import Account
from accounts.ports import SessionsEnded, ignore_ended, tell_ended
from accounts.sessions.repository import FoundSession, SessionRepository
from accounts.sessions.tokens import SESSION_ID, Token
from socialsite.clock import Clock, FixedClock
from socialsite.store.node import Reply
from socialsite.store.scripts import Command

if TYPE_CHECKING:
    from accounts.sessions.django_store import SessionStore

ALIVE_AT_ONCE = 500  # sessions checked in one pipeline


class SessionService:
    def __init__(
        self,
        sessions: SessionRepository,
        accounts: AccountRepository,
        clock: Clock | FixedClock,
        on_ended: SessionsEnded = ignore_ended,
    ) -> None:
        self._sessions = sessions
        self._accounts = accounts
        self._clock = clock
        self._on_ended = on_ended

    @property
    def limits(self) -> SessionLimits:
        return self._sessions.limits

    def now_ms(self) -> int:
        return self._clock.now_ms()

    # A request's session. `load_commands` and `loaded` are for a pipeline that reads other things too.

    async def load(self, cookie: str | None, now_ms: int) -> "tuple[Account | None, SessionStore]":
        """The account a cookie stands for, and its session; (None, an empty one) for any other cookie."""
        commands = self.load_commands(cookie)
        replies = await self._accounts.gather(commands) if commands else []
        account, session = self.loaded(cookie, replies, now_ms)
        await self.touch(session, now_ms)
        return account, session

    def load_commands(self, cookie: str | None) -> list[Command]:
        """What to read for a cookie; nothing for one that this site never gave out."""
        token = Token.find(cookie)
        return self._read_commands(token.account_id, token.session_id) if token else []

    def loaded(
        self, cookie: str | None, replies: Sequence[Reply], now_ms: int
    ) -> "tuple[Account | None, SessionStore]":
        """The replies to `load_commands`, understood."""
        from accounts.sessions.django_store import SessionStore

        token = Token.find(cookie)
        if token is not None and (live := self._live(token.account_id, replies, now_ms)):
            account, found = live
            session = SessionStore(cookie, sessions=self)
            session.fill(found.stored, found.last_used_ms)
            return account, session
        session = SessionStore(None, sessions=self)
        session.forget()
        return None, session

    async def touch(self, session: "SessionStore", now_ms: int) -> None:
        """Note that the session was used, at most once a minute."""
        token = session.token
        if token is None or session.created_ms is None:
            return
        if now_ms - session.last_used_ms < self.limits.touch_ms:
            return
        await self._sessions.touch(token.account_id, token.session_id, session.created_ms, now_ms)
        session.last_used_ms = now_ms

    async def sessions_alive(self, pairs: Sequence[tuple[AccountId, str]]) -> list[bool]:
        """For each (account, session id): would a request with it still be signed in?"""
        alive: list[bool] = []
        for start in range(0, len(pairs), ALIVE_AT_ONCE):
            alive += await self._alive(pairs[start : start + ALIVE_AT_ONCE])
        return alive

    # Sessions of an account

    async def open_sessions(self, account_id: AccountId, current: str | None = None) -> list[OpenSession]:
        """Where the account is signed in, last used first; `current` is the id of the one asking."""
        now_ms = self.now_ms()
        return [
            OpenSession(i, s.stored.device, s.stored.created_ms, s.last_used_ms, current=i == current)
            for i, s in await self._sessions.stored(account_id)
            if not self.limits.is_over(s.stored.created_ms, s.last_used_ms, now_ms)
        ]

    async def end(self, account_id: AccountId, session_id: str) -> bool:
        """Sign one session out; whether it was open. Anything but a session id is none."""
        if not SESSION_ID.fullmatch(session_id):
            return False
        ended = await self._sessions.end(account_id, session_id)
        if ended:
            await tell_ended(self._on_ended, account_id, session_id)
        return ended

    async def end_all(self, account_id: AccountId, but: str | None = None) -> None:
        """Sign every session out, except the one with the id `but`."""
        ended = await self._sessions.end_all(account_id, but=but)
        for session_id in ended if but else (None,):
            await tell_ended(self._on_ended, account_id, session_id)

    # For the session engine

    async def find(self, token: Token) -> FoundSession | None:
        """A session whose token counts, as a request would see it."""
        commands = self._read_commands(token.account_id, token.session_id)
        live = self._live(token.account_id, await self._accounts.gather(commands), self.now_ms())
        return live[1] if live else None

    async def open(self, token: Token, stored: StoredSession) -> None:
        await self._sessions.open(token, stored, self.now_ms())

    async def save(self, token: Token, stored: StoredSession) -> bool:
        """False when the session has ended."""
        return await self._sessions.save(token, stored)

    def _read_commands(self, account_id: AccountId, session_id: str) -> list[Command]:
        session = self._sessions.read_commands(account_id, session_id)
        return [*session, self._accounts.read_command(account_id)]

    def _live(
        self, account_id: AccountId, replies: Sequence[Reply], now_ms: int
    ) -> tuple[Account, FoundSession] | None:
        """The double check of Retwis, and more: indexed, stored, in time, of an account as it is now."""
        score, value, facts = replies
        found = self._sessions.session_of(score, value)
        account = self._accounts.account_of(account_id, facts)
        if found is None or account is None or not account.is_active:
            return None
        if self.limits.is_over(found.stored.created_ms, found.last_used_ms, now_ms):
            return None
        return (account, found) if _belongs(found.stored, account) else None

    async def _alive(self, pairs: Sequence[tuple[AccountId, str]]) -> list[bool]:
        commands = [command for account_id, i in pairs for command in self._read_commands(account_id, i)]
        replies, now_ms = await self._accounts.gather(commands), self.now_ms()
        return [
            self._live(account_id, replies[3 * n : 3 * n + 3], now_ms) is not None
            for n, (account_id, _) in enumerate(pairs)
        ]


def _belongs(stored: StoredSession, account: Account) -> bool:
    """Whether the session was opened with the account's present password (and a key of this site)."""
    if stored.data.get(SESSION_KEY) != str(account.id):
        return False
    seen = str(stored.data.get(HASH_SESSION_KEY) or "")
    if constant_time_compare(seen, account.get_session_auth_hash()):
        return True
    return any(constant_time_compare(seen, older) for older in account.get_session_auth_fallback_hash())
