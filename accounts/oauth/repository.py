"""Stores apps and authorization codes under the tag of the app."""

import msgspec

from accounts import keys
from accounts.oauth.values import CODE_TTL_MS, AuthorizationCode, OAuthApp
from accounts.sessions.values import hash_secret
from socialsite.ids import ClientId
from socialsite.store.commands import load_script
from socialsite.store.store import Store

TAKE_CODE_SCRIPT = load_script("take_code.lua", __package__)
_app_decoder = msgspec.msgpack.Decoder(OAuthApp)
_code_decoder = msgspec.msgpack.Decoder(AuthorizationCode)
_encode = msgspec.msgpack.encode


class OAuthRepository:
    def __init__(self, store: Store) -> None:
        self._apps = store.component("sessions")

    async def add_app(self, app: OAuthApp, ttl_ms: int) -> None:
        key = keys.oauth_app(app.id)
        await self._apps[key].execute("SET", key, _encode(app), "PX", ttl_ms)

    async def find_app(self, client_id: ClientId) -> OAuthApp | None:
        key = keys.oauth_app(client_id)
        value = await self._apps[key].execute("GET", key)
        try:
            return _app_decoder.decode(value) if value is not None else None
        except msgspec.MsgspecError:
            return None

    async def extend_app(self, client_id: ClientId, ttl_ms: int) -> None:
        """Set the time after which the app is deleted."""
        key = keys.oauth_app(client_id)
        await self._apps[key].execute("PEXPIRE", key, ttl_ms)

    async def add_code(self, secret: str, code: AuthorizationCode) -> None:
        key = keys.authorization_code(code.request.app_id, hash_secret(secret))
        await self._apps[key].execute("SET", key, _encode(code), "PX", CODE_TTL_MS)

    async def take_code(self, client_id: ClientId, secret: str) -> AuthorizationCode | None:
        """Return and delete a code. Of several concurrent calls one gets it."""
        key = keys.authorization_code(client_id, hash_secret(secret))
        # `write` waits for replicas if they are required: after a failover the code must stay used.
        (value,) = await self._apps.write(key, TAKE_CODE_SCRIPT.command([key]))
        try:
            return _code_decoder.decode(value) if value is not None else None
        except msgspec.MsgspecError:
            return None
