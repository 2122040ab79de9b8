"""The session engine (SESSION_ENGINE): Django's contract over SessionService, natively async.

Its own rules: nobody but a signed-in account has a stored session; a token is given out when the session is
first saved and anew by `acycle_key`; data is MessagePack. The synchronous half of the contract refuses
loudly, except on data that is in memory already, so middleware loads before it hands a session on.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.core.exceptions import SynchronousOnlyOperation

from accounts import current
from accounts.domain import SESSION_SCHEMA, AccountId, StoredSession
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import Token

ASYNC_ONLY = "Sessions are async: use the method of this name with an `a` in front."


class SessionStore(SessionBase):
    """The session of one request. `session_key` is the cookie's value, so it is a secret."""

    def __init__(self, session_key: str | None = None, *, sessions: SessionService | None = None) -> None:
        super().__init__(session_key)
        self._given = sessions
        self.created_ms: int | None = None
        self.last_used_ms = 0
        self.device = ""

    @property
    def token(self) -> Token | None:
        return Token.find(self.session_key)

    @property
    def session_id(self) -> str | None:
        """The digest that stands for this session in lists and messages; None where nothing is stored."""
        token = self.token
        return token.session_id if token else None

    def fill(self, stored: StoredSession, last_used_ms: int) -> None:
        """Take over what was read from the store."""
        self._session_cache: dict[str, Any] = dict(stored.data)
        self.created_ms, self.device, self.last_used_ms = stored.created_ms, stored.device, last_used_ms

    def forget(self) -> None:
        """Become an empty anonymous session; the middleware then takes the cookie back."""
        self._session_key = None
        self._session_cache = {}
        self.created_ms = None

    # Django's contract

    def is_empty(self) -> bool:
        """Whether there is neither a stored session nor an account to store one for."""
        return self._session_key is None and _owner(getattr(self, "_session_cache", {})) is None

    def _validate_session_key(self, key: str | None) -> bool:
        return Token.find(key) is not None

    async def aload(self) -> dict[str, Any]:
        token = self.token
        found = await self._sessions.find(token) if token else None
        if found is None:
            self.forget()
        else:
            self.fill(found.stored, found.last_used_ms)
        return self._session_cache

    async def aexists(self, session_key: str) -> bool:
        token = Token.find(session_key)
        return token is not None and await self._sessions.find(token) is not None

    async def acreate(self) -> None:
        """A new session, stored once it belongs to an account."""
        self.forget()
        self.modified = True

    async def acycle_key(self) -> None:
        """End the token, keep the data; the next save gives out another, for the rest of the same 90 days."""
        data = await self._data()
        await self.adelete()
        self._session_key = None
        self._session_cache = data
        self.modified = True

    async def asave(self, must_create: bool = False) -> None:
        """Store the data, if it is an account's. Raises UpdateError when the session has ended meanwhile."""
        data = await self._data(no_load=must_create)
        owner, token = _owner(data), self.token
        if token is not None and (owner != token.account_id or must_create):
            await self.adelete()  # signed out, or another account: this token is over
            self._session_key = token = None
        if owner is None:
            return
        if token is None:
            await self._open(owner, data)
        elif not await self._sessions.save(token, self._stored(data)):
            raise UpdateError

    async def adelete(self, session_key: str | None = None) -> None:
        token = Token.find(session_key) if session_key else self.token
        if token is not None:
            await self._sessions.end(token.account_id, token.session_id)

    async def aflush(self) -> None:
        await super().aflush()
        self.created_ms = None

    def get_session_cookie_age(self) -> int:
        """Seconds the cookie may live on: to the absolute limit; the idle one is kept by the store."""
        now_ms = self._sessions.now_ms()
        return ((self.created_ms or now_ms) + self._sessions.limits.absolute_ms - now_ms) // 1000

    @classmethod
    def clear_expired(cls) -> None:
        """Nothing to do: stored sessions have a TTL."""

    @classmethod
    async def aclear_expired(cls) -> None:
        """Nothing to do: stored sessions have a TTL."""

    def load(self) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY)

    def exists(self, session_key: str) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY)

    def create(self) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY)

    def save(self, must_create: bool = False) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY)

    def delete(self, session_key: str | None = None) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY)

    async def _data(self, *, no_load: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = await self._aget_session(no_load=no_load)  # type: ignore[attr-defined]
        return data

    @property
    def _sessions(self) -> SessionService:
        return self._given or current.sessions()

    async def _open(self, owner: AccountId, data: dict[str, Any]) -> None:
        token = Token.new(owner)
        self.last_used_ms = self._sessions.now_ms()
        self.created_ms = self.created_ms or self.last_used_ms
        await self._sessions.open(token, self._stored(data))
        self._session_key = token.cookie

    def _stored(self, data: dict[str, Any]) -> StoredSession:
        return StoredSession(SESSION_SCHEMA, self.created_ms or self._sessions.now_ms(), self.device, data)


def _owner(data: Mapping[str, Any]) -> AccountId | None:
    owner = data.get(SESSION_KEY)
    return AccountId(int(owner)) if owner is not None else None
