"""Access tokens: sessions of apps that use the API. A cookie is never accepted as a token, nor a token as a cookie.

A token of an account ends with the account's sessions (SessionService.end_all). An app may also have tokens for itself,
which belong to no account.
"""

from collections.abc import Sequence

import msgspec
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY

from accounts.models import Account
from accounts.sessions import values
from accounts.sessions.repository import SessionRepository
from accounts.sessions.service import SessionService
from socialsite.ids import AccountId, ClientId, TimeSource
from socialsite.service import Service
from socialsite.store.commands import Command, Reply
from socialsite.store.store import Store

GRANT_KEY = "grant"
"""The key of the TokenGrant in StoredSession.data."""


class AccessTokenService(Service):
    tokens: SessionRepository
    app_tokens: SessionRepository
    sessions: SessionService
    store: Store
    clock: TimeSource

    async def issue(self, account: Account | None, grant: values.TokenGrant) -> str:
        """Return a new token of an account, or of the app itself. It is not stored and cannot be shown again."""
        data: dict[str, object] = {GRANT_KEY: msgspec.to_builtins(grant)}
        if account is not None:
            data |= {SESSION_KEY: str(account.id), HASH_SESSION_KEY: account.get_session_auth_hash()}
        token = values.BearerToken.generate(AccountId(account.id) if account is not None else ClientId(grant.app_id))
        now_ms = self.clock.now_ms()
        stored = values.StoredSession(
            values.SESSION_SCHEMA_VERSION, now_ms, grant.app_name[: values.DEVICE_MAX_LENGTH], data
        )
        if account is None:
            await self.app_tokens.open(token, stored, now_ms)
        else:
            await self.sessions.open(AccountId(account.id), token, stored, now_ms)
        return token.text

    def read_commands(self, text: str) -> list[Command]:
        """Return the commands that read a token, or none if this site cannot have issued the text."""
        token = values.BearerToken.parse(text)
        if token is None:
            return []
        if isinstance(token.owner, int):
            return self.sessions.read_commands(self.tokens, token.owner, token.session_id)
        return self.app_tokens.read_commands(token.owner, token.session_id)

    def parse_replies(self, text: str, replies: Sequence[Reply]) -> tuple[Account | None, values.AccessToken | None]:
        """Return the account and the token from the replies to `read_commands`. Both are None if it is not valid."""
        token = values.BearerToken.parse(text)
        if token is None:
            return None, None
        if isinstance(token.owner, int):
            active = self.sessions.parse_active(self.tokens, token.owner, replies, self.clock.now_ms())
            access_token = _build_token(token.session_id, token.owner, active[1]) if active else None
            return (active[0], access_token) if active and access_token else (None, None)
        record = self.app_tokens.parse_session(*replies)
        return None, _build_token(token.session_id, None, record) if record else None

    async def load(self, text: str) -> tuple[Account | None, values.AccessToken | None]:
        """Return the account and the token of a text, or (None, None). Store the time of the last use."""
        commands = self.read_commands(text)
        account, token = self.parse_replies(text, await self.store.execute_all(commands) if commands else [])
        await self.touch(token)
        return account, token

    async def touch(self, token: values.AccessToken | None) -> None:
        """Store the time of the last use, at most once in `touch_interval_ms`."""
        if token is None:
            return
        times = token.created_ms, token.last_used_ms, self.clock.now_ms()
        if token.account_id is not None:
            await self.tokens.touch(token.account_id, token.id, *times)
        else:
            await self.app_tokens.touch(ClientId(token.grant.app_id), token.id, *times)

    async def list_tokens(self, account_id: AccountId) -> list[values.AccessToken]:
        """Return the access tokens of an account; the last used comes first."""
        sessions = await self.tokens.list_sessions(account_id)
        tokens = (_build_token(token_id, account_id, record) for token_id, record in sessions)
        return [token for token in tokens if token is not None]

    async def end(self, token: values.AccessToken) -> bool:
        """End a token. Return whether it was open."""
        if token.account_id is not None:
            return await self.sessions.end(token.account_id, token.id)
        return await self.app_tokens.end(ClientId(token.grant.app_id), token.id)

    @staticmethod
    def reference(text: str) -> str:
        """Return the owner and the stored id of a token of an account, which are not secret."""
        token = values.BearerToken.parse(text)
        assert token is not None
        return f"{token.owner}:{token.session_id}"

    async def end_by_reference(self, reference: str) -> None:
        """End the token that `reference` was made of."""
        owner, _, session_id = reference.partition(":")
        await self.sessions.end(AccountId(int(owner)), session_id)


def _build_token(
    token_id: str, account_id: AccountId | None, record: values.SessionRecord
) -> values.AccessToken | None:
    """Return the token, or None if the stored value is damaged."""
    try:
        grant = msgspec.convert(record.stored.data.get(GRANT_KEY), values.TokenGrant)
    except msgspec.ValidationError:
        return None
    return values.AccessToken(token_id, account_id, grant, record.stored.created_ms, record.last_used_ms)


def parse_bearer(authorization: str) -> str | None:
    """Return the token of an Authorization header, or None if the header has another scheme or is empty."""
    scheme, _, text = authorization.partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None
