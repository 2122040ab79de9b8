"""A real daphne in a process of its own, websocket clients of it, and frames encoded by hand."""

import asyncio
import contextlib
import json
import struct
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from accounts.sessions.service import SessionStore
from tests.support.daphnes import DaphneProcess
from tests.support.world import Person

Message = dict[str, Any]


RECEIVE_TIMEOUT_S = 12.0

"""Messages arrive immediately, or within five seconds if a process lost its presence. The limit is less than the
fifteen seconds after which presence expires.
"""


class SocketClient:
    """A browser's socket. `got` contains every received message in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.got: list[Message] = []

    async def send(self, message: Message | str | bytes) -> None:
        await self._connection.send(json.dumps(message) if isinstance(message, dict) else message)

    async def send_fragments(self, text: str) -> None:
        """Send a message with one frame for each character."""
        await self._connection.send(list(text))

    async def ping(self) -> None:
        await self._connection.ping()

    async def subscribe(self, timeline: str, after: int | str | None = None) -> Message:
        """Subscribe, wait until the timeline is live, and return the `subscribed` message."""
        extra = {} if after is None else {"after": str(after)}
        await self.send({"type": "subscribe", "timeline": timeline, **extra})
        return await self.receive_until(lambda m: m["type"] == "subscribed" and m["timeline"] == timeline)

    async def receive(self, timeout_s: float = RECEIVE_TIMEOUT_S) -> Message:
        async with asyncio.timeout(timeout_s):
            message: Message = json.loads(await self._connection.recv())
        self.got.append(message)
        return message

    async def receive_until(self, wanted: Callable[[Message], bool], timeout_s: float = RECEIVE_TIMEOUT_S) -> Message:
        async with asyncio.timeout(timeout_s):
            while True:
                message = await self.receive(timeout_s)
                if wanted(message):
                    return message

    async def receive_entry(
        self, post_id: int, timeline: str | None = None, timeout_s: float = RECEIVE_TIMEOUT_S
    ) -> Message:
        """Return the entry of a post, on the given timeline or on any."""
        return await self.receive_until(
            lambda m: (
                m["type"] == "entry" and m["id"] == str(post_id) and (timeline is None or m["timeline"] == timeline)
            ),
            timeout_s,
        )

    async def collect_for(self, for_s: float = 0.5) -> list[Message]:
        """Return all messages that arrive within `for_s`; tests usually expect none."""
        since, deadline = len(self.got), time.monotonic() + for_s
        with contextlib.suppress(TimeoutError):
            while (left_s := deadline - time.monotonic()) > 0:
                await self.receive(left_s)
        return self.got[since:]

    async def close_code(self, timeout_s: float = RECEIVE_TIMEOUT_S) -> int:
        """Return the server's close code, after collecting the messages before it."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    self.got.append(json.loads(await self._connection.recv()))
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006

    def entry_ids(self, timeline: str) -> list[int]:
        """Return distinct ids, as pages show them: a replay may repeat entries (docs/reference/live.md)."""
        return list(dict.fromkeys(self.told_ids(timeline)))

    def shown_ids(self, timeline: str) -> list[int]:
        """Return the ids that no message deleted: a replay may contain a post that is deleted next."""
        deleted = {int(m["id"]) for m in self.got if m["type"] == "deleted"}
        return [post_id for post_id in self.entry_ids(timeline) if post_id not in deleted]

    def told_ids(self, timeline: str) -> list[int]:
        """Return the ids of all entry messages, with repetitions."""
        return [int(m["id"]) for m in self.got if m["type"] == "entry" and m["timeline"] == timeline]


@contextlib.asynccontextmanager
async def open_socket(
    daphne: DaphneProcess, cookie: str | None = None, *, origin: str | None = "", language: str = "en"
) -> AsyncIterator[SocketClient]:
    """Open a socket as the site's own page does; `origin=None` sends no origin."""
    headers = {"Accept-Language": language}
    if cookie is not None:
        headers["Cookie"] = f"{settings.SESSION_COOKIE_NAME}={cookie}"
    own = Origin(daphne.origin if origin == "" else origin) if origin is not None else None
    async with connect(daphne.url, origin=own, additional_headers=headers, proxy=None, max_queue=10_000) as connection:
        yield SocketClient(connection)


async def sign_in_cookie(person: Person) -> str:
    services = person._services
    session = SessionStore(None, sessions=services.sessions)
    session.make_anonymous()
    account = await services.accounts.find(person.id)
    assert account is not None
    await session.aset(SESSION_KEY, str(person.id))
    await session.aset(BACKEND_SESSION_KEY, settings.AUTHENTICATION_BACKENDS[0])
    await session.aset(HASH_SESSION_KEY, account.get_session_auth_hash())
    await session.asave()
    assert session.session_key is not None
    return session.session_key


TEXT, CONTINUATION, PING, PONG, FINAL = 0x1, 0x0, 0x9, 0xA, 0x80

NO_MASK = b"\0\0\0\0"

"""A client must mask its frames; this mask changes nothing."""


def encode_upgrade_request(daphne: DaphneProcess) -> bytes:
    """Return the upgrade request that a page of the site sends."""
    lines = (
        "GET /ws/stream/ HTTP/1.1", f"Host: 127.0.0.1:{daphne.port}", f"Origin: {daphne.origin}",
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def encode_frame(payload: bytes, code: int, *, length: int | None = None) -> bytes:
    """Encode a frame. `code` is the opcode, with FINAL in the last fragment; `length` is the length in its header."""
    size = len(payload) if length is None else length
    if size < 126:
        head = struct.pack("!BB", code, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", code, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", code, 0x80 | 127, size)
    return head + NO_MASK + payload
