"""The sessions of accounts, and Django's session engine (SESSION_ENGINE) for them.

Only a signed-in account has a stored session. Its token is created when the session is first saved, and replaced by
`acycle_key`. Django's synchronous session methods raise an error unless the data is already in memory. So the
middleware loads the session first.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.core.exceptions import SynchronousOnlyOperation
from django.utils.crypto import constant_time_compare

from accounts.accounts.repository import AccountRepository, read_account_command
from accounts.models import Account
from accounts.ports import OnSessionReplaced, OnSessionsEnded, notify_sessions_ended
from accounts.sessions.repository import SessionRepository
from accounts.sessions.values import (
    SESSION_ID_PATTERN,
    SESSION_SCHEMA_VERSION,
    ActiveSession,
    AnyToken,
    SessionRecord,
    SessionToken,
    StoredSession,
)
from socialsite.batches import batches
from socialsite.ids import AccountId, TimeSource
from socialsite.service import Service
from socialsite.store.commands import Command, Reply
from socialsite.web.services import loop_services

SESSIONS_PER_CHECK = 500  # sessions checked in one pipeline
ASYNC_ONLY_MESSAGE = "Sessions are async: use the method of this name with an `a` in front."


class SessionService(Service):
    """Opens, reads, lists and ends sessions. Access tokens end together with the sessions of their account."""

    sessions: SessionRepository
    tokens: SessionRepository
    accounts: AccountRepository
    clock: TimeSource
    on_sessions_ended: Sequence[OnSessionsEnded]
    on_session_replaced: OnSessionReplaced

    # The session of a request

    async def load(self, cookie: str | None, now_ms: int) -> "tuple[Account | None, SessionStore]":
        """Return the account and session of a cookie, or (None, an empty session). Store the time of the last use."""
        commands = self.read_session_commands(cookie)
        replies = await self.accounts.execute_all(commands) if commands else []
        account, session = self.parse_session_replies(cookie, replies, now_ms)
        await self.touch(session, now_ms)
        return account, session

    def read_session_commands(self, cookie: str | None) -> list[Command]:
        """Return the three commands that read a session, or none if this site cannot have issued the cookie."""
        token = SessionToken.parse(cookie)
        return self.read_commands(self.sessions, token.owner, token.session_id) if token else []

    def parse_session_replies(
        self, cookie: str | None, replies: Sequence[Reply], now_ms: int
    ) -> "tuple[Account | None, SessionStore]":
        """Return the account and the session from the replies to `read_session_commands`."""
        token, session = SessionToken.parse(cookie), SessionStore(cookie, sessions=self)
        active = self.parse_active(self.sessions, token.owner, replies, now_ms) if token else None
        if active is None:
            session.make_anonymous()
            return None, session
        session.populate(active[1])
        return active[0], session

    async def touch(self, session: "SessionStore", now_ms: int) -> None:
        """Store the time of the last use, at most once in `touch_interval_ms`."""
        token, created_ms = session.token, session.created_ms
        if token is not None and created_ms is not None:
            await self.sessions.touch(token.owner, token.session_id, created_ms, session.last_used_ms, now_ms)

    async def are_sessions_active(self, pairs: Sequence[tuple[AccountId, str]]) -> list[bool]:
        """Return for each (account id, session or token id) whether a request with it would be signed in."""
        active: list[bool] = []
        for batch in batches(pairs, SESSIONS_PER_CHECK):
            checks = [(kind, account_id, i) for account_id, i in batch for kind in (self.sessions, self.tokens)]
            replies = await self.accounts.execute_all([read for check in checks for read in self.read_commands(*check)])
            now_ms = self.clock.now_ms()
            are_valid = [
                self.parse_active(kind, account_id, reply, now_ms) is not None
                for (kind, account_id, _), reply in zip(checks, batches(replies, 3), strict=True)
            ]
            active += map(any, batches(are_valid, 2))
        return active

    # The sessions of an account

    async def list_sessions(self, account_id: AccountId, current: str | None = None) -> list[ActiveSession]:
        """Return the active sessions; the last used comes first. `current` is the id of the viewer's session."""
        now_ms = self.clock.now_ms()
        return [
            ActiveSession(i, s.stored.device, s.stored.created_ms, s.last_used_ms, current=i == current)
            for i, s in await self.sessions.list_sessions(account_id)
            if not self.sessions.limits.is_expired(s.stored.created_ms, s.last_used_ms, now_ms)
        ]

    async def open(self, account_id: AccountId, token: AnyToken, stored: StoredSession, now_ms: int) -> None:
        """Store a new session or access token, for which the least recently used one may end."""
        sessions = self.sessions if isinstance(token, SessionToken) else self.tokens
        for session_id in await sessions.open(token, stored, now_ms):
            await notify_sessions_ended(self.on_sessions_ended, account_id, session_id)

    async def end(self, account_id: AccountId, session_id: str) -> bool:
        """End one session or access token. Returns whether it was open; False if the text is not an id."""
        if not SESSION_ID_PATTERN.fullmatch(session_id):
            return False
        ended = await self.sessions.end(account_id, session_id) or await self.tokens.end(account_id, session_id)
        if ended:
            await notify_sessions_ended(self.on_sessions_ended, account_id, session_id)
        return ended

    async def replace(self, former: SessionToken, token: SessionToken) -> None:
        """End the session `former`, whose data and device the session of `token` has now."""
        await self.on_session_replaced(former.owner, former.session_id, token.session_id)
        await self.end(former.owner, former.session_id)

    async def end_all(self, account_id: AccountId, except_id: str | None = None) -> None:
        """End every session and access token of the account, except the session with the id `except_id`."""
        ended = [*await self.tokens.end_all(account_id), *await self.sessions.end_all(account_id, except_id=except_id)]
        for session_id in ended if except_id else (None,):
            await notify_sessions_ended(self.on_sessions_ended, account_id, session_id)

    async def find(self, account_id: AccountId, session_id: str) -> tuple[Account, SessionRecord] | None:
        """Return the account and the session, or None if a request with its token would not be signed in."""
        replies = await self.accounts.execute_all(self.read_commands(self.sessions, account_id, session_id))
        return self.parse_active(self.sessions, account_id, replies, self.clock.now_ms())

    def read_commands(self, sessions: SessionRepository, account_id: AccountId, session_id: str) -> list[Command]:
        """Return the three commands that read a session and its account. `parse_active` takes their replies."""
        return [*sessions.read_commands(account_id, session_id), read_account_command(account_id)]

    def parse_active(
        self, sessions: SessionRepository, account_id: AccountId, replies: Sequence[Reply], now_ms: int
    ) -> tuple[Account, SessionRecord] | None:
        """Return the account and the session, or None if the session is not valid.

        A valid session is stored and in the index, has not expired, and its account's password is unchanged.
        """
        score, value, account_reply = replies
        record = sessions.parse_session(score, value)
        account = self.accounts.parse_account(account_id, account_reply)
        if record is None or account is None or not account.is_active:
            return None
        if sessions.limits.is_expired(record.stored.created_ms, record.last_used_ms, now_ms):
            return None
        return (account, record) if _matches_account(record.stored, account) else None


def _matches_account(stored: StoredSession, account: Account) -> bool:
    """Return whether the session was opened with the account's present password and a present key of this site."""
    if stored.data.get(SESSION_KEY) != str(account.id):
        return False
    stored_hash = str(stored.data.get(HASH_SESSION_KEY) or "")
    if constant_time_compare(stored_hash, account.get_session_auth_hash()):
        return True
    return any(constant_time_compare(stored_hash, older) for older in account.get_session_auth_fallback_hash())


class SessionStore(SessionBase):
    """The session of one request, as Django uses it. `session_key` is the value of the cookie and a secret."""

    def __init__(self, session_key: str | None = None, *, sessions: SessionService | None = None) -> None:
        super().__init__(session_key)
        self._explicit_service = sessions
        self._replaced_token: SessionToken | None = None
        self.created_ms: int | None = None
        self.last_used_ms = 0
        self.device = ""

    @property
    def token(self) -> SessionToken | None:
        return SessionToken.parse(self.session_key)

    @property
    def session_id(self) -> str | None:
        """The digest that identifies this session in lists and messages, or None if the session is not stored."""
        token = self.token
        return token.session_id if token else None

    def populate(self, record: SessionRecord) -> None:
        """Fill this object with a session that was read from the store."""
        stored = record.stored
        self._session_cache: dict[str, Any] = dict(stored.data)
        self.created_ms, self.device, self.last_used_ms = stored.created_ms, stored.device, record.last_used_ms

    def make_anonymous(self) -> None:
        """Empty this object, so that the session is anonymous. The middleware then deletes the cookie."""
        self._session_key = None
        self._session_cache = {}
        self.created_ms = None

    # Methods that Django calls

    def is_empty(self) -> bool:
        """Return True if there is neither a stored session nor an account to store a session for."""
        return self._session_key is None and _account_id_of(getattr(self, "_session_cache", {})) is None

    async def aload(self) -> dict[str, Any]:
        token = self.token
        active = await self._service.find(token.owner, token.session_id) if token else None
        if active is None:
            self.make_anonymous()
        else:
            self.populate(active[1])
        return self._session_cache

    async def acycle_key(self) -> None:
        """Keep the data under another token, which the next save creates before it ends this one.

        The absolute timeout does not restart.
        """
        self._session_cache = await self._get_data()
        self._replaced_token, self._session_key = self.token, None
        self.modified = True

    async def asave(self, must_create: bool = False) -> None:
        """Store the data if the session belongs to an account.

        Raises UpdateError if the session has ended meanwhile.
        """
        data = await self._get_data()
        owner, token = _account_id_of(data), self.token
        if token is not None and owner != token.owner:
            await self.adelete()  # the viewer signed out, or signed in to another account
            self._session_key = token = None
        if owner is None:
            return
        if token is None:
            await self._open_session(owner, data)
        elif not await self._service.sessions.save(token, self._to_stored(data)):
            raise UpdateError

    async def adelete(self, session_key: str | None = None) -> None:
        token = SessionToken.parse(session_key) if session_key else self.token or self._replaced_token
        if token is not None:
            await self._service.end(token.owner, token.session_id)

    async def aflush(self) -> None:
        await super().aflush()
        self.created_ms = None

    def get_session_cookie_age(self) -> int:
        """Return the seconds until the absolute timeout. The store enforces the idle timeout."""
        now_ms = self._service.clock.now_ms()
        return ((self.created_ms or now_ms) + self._service.sessions.limits.absolute_timeout_ms - now_ms) // 1000

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        """Replace a synchronous method."""
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    load = exists = create = save = delete = _refuse

    async def _get_data(self) -> dict[str, Any]:
        data: dict[str, Any] = await self._aget_session()  # type: ignore[attr-defined]
        return data

    @property
    def _service(self) -> SessionService:
        return self._explicit_service or loop_services.current()[SessionService]

    async def _open_session(self, owner: AccountId, data: dict[str, Any]) -> None:
        token = SessionToken.generate(owner)
        self.last_used_ms = self._service.clock.now_ms()
        self.created_ms = self.created_ms or self.last_used_ms
        await self._service.open(owner, token, self._to_stored(data), self.last_used_ms)
        self._session_key = token.cookie_value
        if self._replaced_token is not None:
            await self._service.replace(self._replaced_token, token)

    def _to_stored(self, data: dict[str, Any]) -> StoredSession:
        return StoredSession(SESSION_SCHEMA_VERSION, self.created_ms or self._service.clock.now_ms(), self.device, data)


def _account_id_of(data: Mapping[str, Any]) -> AccountId | None:
    owner = data.get(SESSION_KEY)
    return AccountId(int(owner)) if owner is not None else None
