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
from accounts.domain import SESSION_SCHEMA_VERSION, StoredSession
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import SessionToken
from socialsite.ids import AccountId

ASYNC_ONLY_MESSAGE = "Sessions are async: use the method of this name with an `a` in front."


class SessionStore(SessionBase):
    """The session of one request. `session_key` is the cookie's value, so it is a secret."""

    def __init__(self, session_key: str | None = None, *, sessions: SessionService | None = None) -> None:
        super().__init__(session_key)
        self._explicit_service = sessions
        self.created_ms: int | None = None
        self.last_used_ms = 0
        self.device = ""

    @property
    def token(self) -> SessionToken | None:
        return SessionToken.parse(self.session_key)

    @property
    def session_id(self) -> str | None:
        """The digest that stands for this session in lists and messages; None where nothing is stored."""
        token = self.token
        return token.session_id if token else None

    def populate(self, stored: StoredSession, last_used_ms: int) -> None:
        """Take over what was read from the store."""
        self._session_cache: dict[str, Any] = dict(stored.data)
        self.created_ms, self.device, self.last_used_ms = stored.created_ms, stored.device, last_used_ms

    def make_anonymous(self) -> None:
        """Become an empty anonymous session; the middleware then takes the cookie back."""
        self._session_key = None
        self._session_cache = {}
        self.created_ms = None

    # Django's contract

    def is_empty(self) -> bool:
        """Whether there is neither a stored session nor an account to store one for."""
        return self._session_key is None and _account_id_of(getattr(self, "_session_cache", {})) is None

    def _validate_session_key(self, key: str | None) -> bool:
        return SessionToken.parse(key) is not None

    async def aload(self) -> dict[str, Any]:
        token = self.token
        found = await self._service.find(token) if token else None
        if found is None:
            self.make_anonymous()
        else:
            self.populate(found.stored, found.last_used_ms)
        return self._session_cache

    async def aexists(self, session_key: str) -> bool:
        token = SessionToken.parse(session_key)
        return token is not None and await self._service.find(token) is not None

    async def acreate(self) -> None:
        """A new session, stored once it belongs to an account."""
        self.make_anonymous()
        self.modified = True

    async def acycle_key(self) -> None:
        """End the token, keep the data; the next save gives out another, for the rest of the same 90 days."""
        data = await self._get_data()
        await self.adelete()
        self._session_key = None
        self._session_cache = data
        self.modified = True

    async def asave(self, must_create: bool = False) -> None:
        """Store the data, if it is an account's. Raises UpdateError when the session has ended meanwhile."""
        data = await self._get_data(no_load=must_create)
        owner, token = _account_id_of(data), self.token
        if token is not None and (owner != token.account_id or must_create):
            await self.adelete()  # signed out, or another account: this token is over
            self._session_key = token = None
        if owner is None:
            return
        if token is None:
            await self._open_session(owner, data)
        elif not await self._service.save(token, self._to_stored(data)):
            raise UpdateError

    async def adelete(self, session_key: str | None = None) -> None:
        token = SessionToken.parse(session_key) if session_key else self.token
        if token is not None:
            await self._service.end(token.account_id, token.session_id)

    async def aflush(self) -> None:
        await super().aflush()
        self.created_ms = None

    def get_session_cookie_age(self) -> int:
        """Seconds the cookie may live on: to the absolute limit; the idle one is kept by the store."""
        now_ms = self._service.now_ms()
        return ((self.created_ms or now_ms) + self._service.limits.absolute_timeout_ms - now_ms) // 1000

    @classmethod
    def clear_expired(cls) -> None:
        """Nothing to do: stored sessions have a TTL."""

    @classmethod
    async def aclear_expired(cls) -> None:
        """Nothing to do: stored sessions have a TTL."""

    def load(self) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    def exists(self, session_key: str) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    def create(self) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    def save(self, must_create: bool = False) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    def delete(self, session_key: str | None = None) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    async def _get_data(self, *, no_load: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = await self._aget_session(no_load=no_load)  # type: ignore[attr-defined]
        return data

    @property
    def _service(self) -> SessionService:
        return self._explicit_service or current.get_session_service()

    async def _open_session(self, owner: AccountId, data: dict[str, Any]) -> None:
        token = SessionToken.generate(owner)
        self.last_used_ms = self._service.now_ms()
        self.created_ms = self.created_ms or self.last_used_ms
        await self._service.open(token, self._to_stored(data))
        self._session_key = token.cookie_value

    def _to_stored(self, data: dict[str, Any]) -> StoredSession:
        return StoredSession(SESSION_SCHEMA_VERSION, self.created_ms or self._service.now_ms(), self.device, data)


def _account_id_of(data: Mapping[str, Any]) -> AccountId | None:
    owner = data.get(SESSION_KEY)
    return AccountId(int(owner)) if owner is not None else None
