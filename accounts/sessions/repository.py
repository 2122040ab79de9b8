"""Stores sessions: a value under the digest of the token, and an entry in the account's index.

A session is valid only if both exist. (The Retwis article, "Design and implementation of a simple Twitter clone",
describes this double check.) So removing ids from the index ends sessions in one step, and a value that remains after
a crash is useless.
"""

from collections.abc import Sequence

import msgspec

from accounts import keys
from accounts.sessions.values import AnyToken, SessionLimits, SessionRecord, SessionToken, StoredSession
from socialsite.ids import AccountId, ClientId
from socialsite.store.commands import Command, Reply, load_script
from socialsite.store.key import Key
from socialsite.store.replies import decode_or_none
from socialsite.store.store import Store

OPEN_SESSION_SCRIPT = load_script("open_session.lua", __package__)
SAVE_SESSION_SCRIPT = load_script("save_session.lua", __package__)
TOUCH_SESSION_SCRIPT = load_script("touch_session.lua", __package__)
END_SESSIONS_SCRIPT = load_script("end_sessions.lua", __package__)

_decoder = msgspec.msgpack.Decoder(StoredSession)
encode = msgspec.msgpack.encode


Owner = AccountId | ClientId
"""Access tokens belong to an account or an app, sessions of browsers only to an account."""


class SessionRepository:
    """The sessions of browsers, or the access tokens of apps."""

    def __init__(self, store: Store, limits: SessionLimits | None = None, *, are_tokens: bool = False) -> None:
        self._sessions = store.component("sessions")
        self.limits = limits or SessionLimits()
        self._key = keys.access_token if are_tokens else keys.session
        self._index = keys.access_token_index if are_tokens else keys.session_index

    async def open(self, token: AnyToken, stored: StoredSession, now_ms: int) -> list[str]:
        """Store a new session. Above `max_sessions` the least recently used ones end, whose ids are returned."""
        session, index = self._keys(token.owner, token.session_id)
        ttl_ms = self.limits.ttl_ms(stored.created_ms, now_ms)
        args = (token.session_id, encode(stored), now_ms, ttl_ms, self.limits.idle_timeout_ms, self.limits.max_sessions)
        ended = await self._sessions[index].execute(*OPEN_SESSION_SCRIPT.command([session, index], args))
        return [session_id.decode() for session_id in ended]

    async def save(self, token: SessionToken, stored: StoredSession) -> bool:
        """Replace the value of a session. Returns False if the session has ended."""
        session, index = self._keys(token.owner, token.session_id)
        args = (token.session_id, encode(stored))
        return bool(await self._sessions[index].execute(*SAVE_SESSION_SCRIPT.command([session, index], args)))

    async def touch(self, owner: Owner, session_id: str, created_ms: int, last_used_ms: int, now_ms: int) -> None:
        """Store the time of the last use, at most once in `touch_interval_ms`."""
        if now_ms - last_used_ms < self.limits.touch_interval_ms:
            return
        session, index = self._keys(owner, session_id)
        args = (session_id, now_ms, self.limits.ttl_ms(created_ms, now_ms), self.limits.idle_timeout_ms)
        await self._sessions[index].execute(*TOUCH_SESSION_SCRIPT.command([session, index], args))

    async def list_sessions(self, owner: Owner) -> list[tuple[str, SessionRecord]]:
        """Return (id, session) of each stored session. The last used session comes first."""
        ids = await self._read_session_ids(owner)
        commands = [command for i in ids for command in self.read_commands(owner, i)]
        replies = await self._sessions.execute_all(commands)
        sessions = ((i, self.parse_session(*replies[2 * n : 2 * n + 2])) for n, i in enumerate(ids))
        return [(session_id, session) for session_id, session in sessions if session is not None]

    async def end(self, owner: Owner, session_id: str) -> bool:
        """End a session. Return whether it was open."""
        return bool(await self._end(owner, [session_id]))

    async def end_all(self, owner: Owner, *, except_id: str | None = None) -> Sequence[str]:
        """End all sessions except `except_id`, and return their ids. Sessions that are opened meanwhile may stay."""
        ids = [session_id for session_id in await self._read_session_ids(owner) if session_id != except_id]
        await self._end(owner, ids, except_id=except_id or "")
        return ids

    def read_commands(self, owner: Owner, session_id: str) -> list[Command]:
        """Return the two commands that read a session. `parse_session` takes their replies."""
        session, index = self._keys(owner, session_id)
        return [("ZSCORE", index, session_id), ("GET", session)]

    def parse_session(self, score: Reply, value: Reply) -> SessionRecord | None:
        stored = decode_or_none(_decoder, value)
        return None if score is None or stored is None else SessionRecord(stored, int(float(score)))

    async def _read_session_ids(self, owner: Owner) -> Sequence[str]:
        index = self._index(owner)
        replies = await self._sessions.execute("ZRANGE", index, 0, self.limits.max_sessions - 1, "REV")
        return [reply.decode() for reply in replies]

    async def _end(self, owner: Owner, ids: Sequence[str], except_id: str | None = None) -> int:
        index = self._index(owner)
        sessions = [self._key(owner, session_id) for session_id in ids]
        args = ("these" if except_id is None else "all", except_id or "", *ids)
        # `write` waits for replicas if they are required: after a failover the session must stay ended.
        return int(await self._sessions.write(*END_SESSIONS_SCRIPT.command([index, *sessions], args)))

    def _keys(self, owner: Owner, session_id: str) -> tuple[Key, Key]:
        return self._key(owner, session_id), self._index(owner)
