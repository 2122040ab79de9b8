"""Stores apps and authorization codes under the tag of the app."""

import msgspec

from accounts import keys
from accounts.oauth.values import CODE_TTL_MS, AuthorizationCode, OAuthApp
from accounts.sessions.values import hash_secret
from socialsite.ids import ClientId
from socialsite.store import Repository
from socialsite.store.commands import load_script
from socialsite.store.replies import decode_or_none

TAKE_CODE_SCRIPT = load_script("take_code.lua", __package__)
USED = b"used"
"""The value of a used code that gave no token yet."""
_app_decoder = msgspec.msgpack.Decoder(OAuthApp)
_code_decoder = msgspec.msgpack.Decoder(AuthorizationCode)
_encode = msgspec.msgpack.encode
FIRST_BYTE_OF_CODES = 0x80
"""A stored code is an array of MessagePack; a reference of a token is ASCII."""


class OAuthRepository(Repository):
    async def add_app(self, app: OAuthApp, ttl_ms: int) -> None:
        await self._sessions.execute("SET", keys.oauth_app(app.id), _encode(app), "PX", ttl_ms)

    async def find_app(self, client_id: ClientId) -> OAuthApp | None:
        return decode_or_none(_app_decoder, await self._sessions.execute("GET", keys.oauth_app(client_id)))

    async def extend_app(self, client_id: ClientId, ttl_ms: int) -> None:
        """Set the time after which the app is deleted."""
        await self._sessions.execute("PEXPIRE", keys.oauth_app(client_id), ttl_ms)

    async def add_code(self, secret: str, code: AuthorizationCode) -> None:
        key = keys.authorization_code(code.request.app_id, hash_secret(secret))
        await self._sessions.execute("SET", key, _encode(code), "PX", CODE_TTL_MS)

    async def take_code(self, client_id: ClientId, secret: str) -> AuthorizationCode | str | None:
        """Return a code, which is used from then on. Of several concurrent calls one gets it.

        The others get the reference of the token that the code gave, if it is stored, else None.
        """
        key = keys.authorization_code(client_id, hash_secret(secret))
        # `write` waits for replicas if they are required: after a failover the code must stay used.
        value = await self._sessions.write(*TAKE_CODE_SCRIPT.command([key]))
        if value == USED:
            return None
        if value is not None and value[0] < FIRST_BYTE_OF_CODES:
            return str(value.decode())
        return decode_or_none(_code_decoder, value)

    async def complete_code(self, client_id: ClientId, secret: str, token_reference: str) -> None:
        """Store which token a used code gave."""
        key = keys.authorization_code(client_id, hash_secret(secret))
        await self._sessions.write("SET", key, token_reference, "XX", "KEEPTTL")
