"""Sessions: which account a cookie stands for, the open ones of an account, and how they end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import constant_time_compare

from accounts.accounts.repository import AccountRepository
from accounts.domain import ActiveSession, SessionLimits, StoredSession
from accounts.models import Account
from accounts.ports import OnSessionsEnded, ignore_sessions_ended, notify_sessions_ended
from accounts.sessions.repository import SessionRecord, SessionRepository
from accounts.sessions.tokens import SESSION_ID_PATTERN, SessionToken
from socialsite.clock import Clock, FixedClock
from socialsite.ids import AccountId
from socialsite.store.commands import Command, Reply

if TYPE_CHECKING:
    from accounts.sessions.django_store import SessionStore

SESSIONS_PER_CHECK = 500  # sessions checked in one pipeline


class SessionService:
    def __init__(
        self,
        sessions: SessionRepository,
        accounts: AccountRepository,
        clock: Clock | FixedClock,
        on_sessions_ended: OnSessionsEnded = ignore_sessions_ended,
    ) -> None:
        self._sessions = sessions
        self._accounts = accounts
        self._clock = clock
        self._on_sessions_ended = on_sessions_ended

    @property
    def limits(self) -> SessionLimits:
        return self._sessions.limits

    def now_ms(self) -> int:
        return self._clock.now_ms()

    # A request's session. `read_session_commands` and `loaded` are for a pipeline that reads other things too.

    async def load(self, cookie: str | None, now_ms: int) -> "tuple[Account | None, SessionStore]":
        """The account a cookie stands for, and its session; (None, an empty one) for any other cookie."""
        commands = self.read_session_commands(cookie)
        replies = await self._accounts.gather(commands) if commands else []
        account, session = self.parse_session_replies(cookie, replies, now_ms)
        await self.touch(session, now_ms)
        return account, session

    def read_session_commands(self, cookie: str | None) -> list[Command]:
        """What to read for a cookie; nothing for one that this site never gave out."""
        token = SessionToken.parse(cookie)
        return self._read_commands(token.account_id, token.session_id) if token else []

    def parse_session_replies(
        self, cookie: str | None, replies: Sequence[Reply], now_ms: int
    ) -> "tuple[Account | None, SessionStore]":
        """The replies to `read_session_commands`, understood."""
        from accounts.sessions.django_store import SessionStore

        token = SessionToken.parse(cookie)
        if token is not None and (live := self._parse_active(token.account_id, replies, now_ms)):
            account, found = live
            session = SessionStore(cookie, sessions=self)
            session.populate(found.stored, found.last_used_ms)
            return account, session
        session = SessionStore(None, sessions=self)
        session.make_anonymous()
        return None, session

    async def touch(self, session: "SessionStore", now_ms: int) -> None:
        """Note that the session was used, at most once a minute."""
        token = session.token
        if token is None or session.created_ms is None:
            return
        if now_ms - session.last_used_ms < self.limits.touch_interval_ms:
            return
        await self._sessions.touch(token.account_id, token.session_id, session.created_ms, now_ms)
        session.last_used_ms = now_ms

    async def are_sessions_active(self, pairs: Sequence[tuple[AccountId, str]]) -> list[bool]:
        """For each (account, session id): would a request with it still be signed in?"""
        alive: list[bool] = []
        for start in range(0, len(pairs), SESSIONS_PER_CHECK):
            alive += await self._check_batch(pairs[start : start + SESSIONS_PER_CHECK])
        return alive

    # Sessions of an account

    async def list_sessions(self, account_id: AccountId, current: str | None = None) -> list[ActiveSession]:
        """Where the account is signed in, last used first; `current` is the id of the one asking."""
        now_ms = self.now_ms()
        return [
            ActiveSession(i, s.stored.device, s.stored.created_ms, s.last_used_ms, current=i == current)
            for i, s in await self._sessions.list_sessions(account_id)
            if not self.limits.is_expired(s.stored.created_ms, s.last_used_ms, now_ms)
        ]

    async def end(self, account_id: AccountId, session_id: str) -> bool:
        """Sign one session out; whether it was open. Anything but a session id is none."""
        if not SESSION_ID_PATTERN.fullmatch(session_id):
            return False
        ended = await self._sessions.end(account_id, session_id)
        if ended:
            await notify_sessions_ended(self._on_sessions_ended, account_id, session_id)
        return ended

    async def end_all(self, account_id: AccountId, except_id: str | None = None) -> None:
        """Sign every session out, except the one with the id `but`."""
        ended = await self._sessions.end_all(account_id, except_id=except_id)
        for session_id in ended if except_id else (None,):
            await notify_sessions_ended(self._on_sessions_ended, account_id, session_id)

    # For the session engine

    async def find(self, token: SessionToken) -> SessionRecord | None:
        """A session whose token counts, as a request would see it."""
        commands = self._read_commands(token.account_id, token.session_id)
        live = self._parse_active(token.account_id, await self._accounts.gather(commands), self.now_ms())
        return live[1] if live else None

    async def open(self, token: SessionToken, stored: StoredSession) -> None:
        await self._sessions.open(token, stored, self.now_ms())

    async def save(self, token: SessionToken, stored: StoredSession) -> bool:
        """False when the session has ended."""
        return await self._sessions.save(token, stored)

    def _read_commands(self, account_id: AccountId, session_id: str) -> list[Command]:
        session = self._sessions.read_commands(account_id, session_id)
        return [*session, self._accounts.read_account_command(account_id)]

    def _parse_active(
        self, account_id: AccountId, replies: Sequence[Reply], now_ms: int
    ) -> tuple[Account, SessionRecord] | None:
        """The double check of Retwis, and more: indexed, stored, in time, of an account as it is now."""
        score, value, facts = replies
        found = self._sessions.parse_session(score, value)
        account = self._accounts.parse_account(account_id, facts)
        if found is None or account is None or not account.is_active:
            return None
        if self.limits.is_expired(found.stored.created_ms, found.last_used_ms, now_ms):
            return None
        return (account, found) if _matches_account(found.stored, account) else None

    async def _check_batch(self, pairs: Sequence[tuple[AccountId, str]]) -> list[bool]:
        commands = [command for account_id, i in pairs for command in self._read_commands(account_id, i)]
        replies, now_ms = await self._accounts.gather(commands), self.now_ms()
        return [
            self._parse_active(account_id, replies[3 * n : 3 * n + 3], now_ms) is not None
            for n, (account_id, _) in enumerate(pairs)
        ]


def _matches_account(stored: StoredSession, account: Account) -> bool:
    """Whether the session was opened with the account's present password (and a key of this site)."""
    if stored.data.get(SESSION_KEY) != str(account.id):
        return False
    seen = str(stored.data.get(HASH_SESSION_KEY) or "")
    if constant_time_compare(seen, account.get_session_auth_hash()):
        return True
    return any(constant_time_compare(seen, older) for older in account.get_session_auth_fallback_hash())
