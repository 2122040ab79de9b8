"""Limits on requests that daphne lacks, applied before the application is called.

- Twisted reads a whole body before it calls the application, and writes a body above 100 kB to a file. An endless body
  would fill the disk. Here bytes beyond the limit are dropped; the handler reads one byte too many and responds with
  413.
- Twisted closes the connection at a header line above 16 kB, without a status. Here it reads more, so that the site
  can respond with 431.
- Twisted waits a minute after each byte, so a client that sends a byte now and then never ends its request. Here a
  request has a minute in all, and an address a maximum of unfinished bodies.
- Twisted parses form fields, which the site does not use, and closes the connection if they are invalid. Here it does
  not parse them, so the site can respond with a page and status 400.
- Twisted takes 3 us for each chunk of a body, and a chunk of one byte takes five more bytes. Here a body of many
  small chunks is refused with 400, and its connection is closed.
- Twisted closes the connection if it cannot write a body to a file. Here the application gets the error, and responds.
- autobahn handles any number of pings, pongs and fragments of a websocket, which take about 10 us each. It stores any
  number of bytes that arrive before the socket is accepted. Here a socket that exceeds a limit is disconnected.
"""

import asyncio
import io
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Any
from urllib.parse import unquote_to_bytes

from django.conf import settings

from socialsite.recipes.rate_limit import network_of
from socialsite.web.asgi_types import Scope, merge_slashes
from socialsite.web.middleware.address import find_scope_address
from socialsite.web.uploads import TOO_MANY_BODIES, BodyInFile, UploadRules

HEAD_READ_MAX_BYTES = 64 * 1024
HEADERS_READ_MAX = 1_000
"""Headers that are read, so that the site can respond with 431. Beyond it, the connection is closed with 400."""
CHUNKS_MAX, CHUNK_MEAN_MIN_BYTES = 4_000, 64
"""Chunks of a body of any size. Beyond it, the chunks must have so many bytes on average, or the body is refused."""
FRAMES_PER_S = 200
"""Maximum frames of any kind that a socket may send in one second."""
CONTROL_FRAMES_PER_S = 50
"""Maximum control frames (ping, pong, close) that a socket may send in one second."""
FRAGMENTS_PER_MESSAGE = 64
EARLY_MAX_BYTES = 64 * 1024
"""Maximum bytes that may follow the handshake before the socket is accepted."""
ACCOUNT_BODIES_MAX_BYTES: int = settings.IMPORT_MAX_BYTES + 256 * 1024 * 1024
"""Maximum bytes of the large bodies of an account in unfinished requests. All accounts may have twice as many."""
BODY_MIN_BYTES_PER_S, REQUEST_MIN_S = 32 * 1024, 60
"""A large body that arrives more slowly is ended. Every request has a minute, from its first line to its end."""
UNFINISHED_PER_ADDRESS = 256
"""Maximum bodies of an address that are not complete. Each may have 64 kB in memory, and no other limit counts it."""
CONTROL_OPCODE_MIN = 8  # RFC 6455, 5.2


FindUploadRules = Callable[[str, str, bytes], UploadRules | None]
"""(method, path, content type) -> the rules of a view that accepts files."""
FindUploader = Callable[[Scope], Awaitable[int | None]]
"""The head of a request -> the id of its account, or None for a visitor. It counts the request for its address."""


def install_request_limits(
    body_max_bytes: int, find_upload_rules: FindUploadRules, find_uploader: FindUploader
) -> None:
    """Patch daphne's classes, if daphne is the server (it is imported before the application)."""
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if protocol is None:
        return
    bodies = LargeBodies(body_max_bytes, find_upload_rules, find_uploader)
    protocol.WebRequest = make_bounded_request(protocol.WebRequest, bodies)
    sockets: Any = sys.modules["daphne.ws_protocol"]
    sockets.WebSocketFactory.protocol = make_bounded_socket(sockets.WebSocketProtocol)
    # Twisted formats an unused log line for each request. The site has its own access log.
    protocol.HTTPFactory.log = lambda factory, request: None
    channel = protocol.http.HTTPChannel
    channel.MAX_LENGTH = channel.totalHeadersSize = HEAD_READ_MAX_BYTES
    channel.maxHeaders = HEADERS_READ_MAX
    reset_timeout = channel.resetTimeout
    # Bytes of a first line do not prolong the time that a connection waits for it.
    channel.resetTimeout = lambda channel: reset_timeout(channel) if channel.requests else None


class LargeBodies:
    """Permits the large bodies of accounts, and counts those of unfinished requests. All other bodies are small."""

    def __init__(self, small_max_bytes: int, find_upload_rules: FindUploadRules, find_uploader: FindUploader) -> None:
        self.small_max_bytes = small_max_bytes
        self._find_upload_rules = find_upload_rules
        self._find_uploader = find_uploader
        self._unfinished: Counter[int] = Counter()
        """The bytes of unfinished large bodies by the id of their account."""
        self._senders: Counter[str] = Counter()
        """The number of unfinished bodies of any size by the address of their client."""

    def ask_for_permit(self, request: Any) -> None:
        """Stop reading a large body with files until its account is known."""
        length = _first_header(request, b"content-length").strip()
        if length.isdigit() and int(length[:15]) <= self.small_max_bytes:
            return
        scope = _read_head(request)
        method = request.channel._command.decode("ascii", "replace")
        rules = self._find_upload_rules(method, scope["path"], _first_header(request, b"content-type"))
        if rules is None:
            return
        request.channel._networkProducer.pauseProducing()
        request.permit_task = asyncio.ensure_future(
            self._permit(request, scope, rules.max_bytes, int(length[:15] or rules.max_bytes))
        )

    async def _permit(self, request: Any, scope: Scope, max_bytes: int, size: int) -> None:
        """Raise the limit of the body unless its account, or all accounts, have too many unfinished bytes. Read on."""
        try:
            account_id = await self._find_uploader(scope)
            if account_id is None or request.channel is None or size > max_bytes:
                return  # the view refuses the request
            if (
                self._unfinished[account_id] + size > ACCOUNT_BODIES_MAX_BYTES
                or self._unfinished.total() + size > 2 * ACCOUNT_BODIES_MAX_BYTES
            ):
                request.requestHeaders.setRawHeaders(b"content-length", [TOO_MANY_BODIES])
                return
            self._unfinished[account_id] += size
            request.uploader, request.body_max_bytes = (account_id, size), max_bytes
            request.body_timer.cancel()
            request.body_timer = asyncio.get_running_loop().call_later(
                max(REQUEST_MIN_S, size / BODY_MIN_BYTES_PER_S), request.channel.transport.abortConnection
            )
        finally:
            if request.channel is not None:
                request.channel._networkProducer.resumeProducing()

    def find_room(self, request: Any) -> int:
        """Return the number of further bytes of the body to store: up to one above its limit."""
        if request.body_max_bytes is None:
            request.body_max_bytes = self.small_max_bytes
            if request.received_bytes != request.channel.length:
                self._count_sender(request)
            self.ask_for_permit(request)
        room: int = request.body_max_bytes + 1 - request.content.tell()
        return room

    @staticmethod
    def count_chunk(request: Any, size: int) -> None:
        """Count a chunk of a body. After too many small chunks, raises Twisted's error, which is answered with 400."""
        request.chunks += 1
        request.received_bytes += size
        max_chunks = CHUNKS_MAX + request.received_bytes // CHUNK_MEAN_MIN_BYTES
        if request.channel.length is None and request.chunks > max_chunks:
            raise sys.modules["twisted.web.http"]._MalformedChunkedDataError("too many small chunks")

    def _count_sender(self, request: Any) -> None:
        """Count a body that is not complete for the address of its client. Disconnect the client above the limit."""
        request.sender = network_of(find_scope_address(_read_head(request)))
        self._senders[request.sender] += 1
        if self._senders[request.sender] > UNFINISHED_PER_ADDRESS:
            request.channel.transport.abortConnection()

    def finish_body(self, request: Any) -> None:
        """Give the application the file with a large body. daphne would read all of it into memory."""
        try:
            request.content.flush()
        except OSError as error:
            _fail_content(request, error)
        self._end_body(request)
        takes_files = request.body_max_bytes is not None and request.body_max_bytes > self.small_max_bytes
        if takes_files and request.content.seek(0, os.SEEK_END) > self.small_max_bytes:
            request.content = ContentFile(request.content)

    def release(self, request: Any) -> None:
        """End the count of the body of a request. The call may be repeated."""
        self._end_body(request)
        if request.uploader is not None:
            (account_id, size), request.uploader = request.uploader, None
            self._unfinished[account_id] -= size
            if not self._unfinished[account_id]:
                del self._unfinished[account_id]

    def _end_body(self, request: Any) -> None:
        request.body_timer.cancel()
        if request.sender is not None:
            self._senders[request.sender] -= 1
            if not self._senders[request.sender]:
                del self._senders[request.sender]
            request.sender = None


def _read_head(request: Any) -> Scope:
    """Return what the head of a request says before daphne makes its scope."""
    path, _, query = request.channel._path.partition(b"?")
    headers = [(key.lower(), each) for key, lines in request.requestHeaders.getAllRawHeaders() for each in lines]
    client = (getattr(request.client, "host", ""), 0)
    path_text = merge_slashes(unquote_to_bytes(path).decode("utf-8", "replace"))
    return {"path": path_text, "query_string": query, "headers": headers, "client": client}


def _fail_content(request: Any, error: OSError) -> None:
    with suppress(OSError):
        request.content.close()
    request.content = FailedContent(error)


def _first_header(request: Any, name: bytes) -> bytes:
    value: bytes = (request.requestHeaders.getRawHeaders(name) or [b""])[0]
    return value


def make_bounded_request(request: Any, bodies: LargeBodies) -> Any:
    """Return daphne's request class, changed to drop bytes of the body beyond the limit.

    A body with files gets its limit when the session or token of its head is found. Until then nothing is read.
    """

    class BoundedRequest(request):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, parsePOSTFormSubmission=False, **options)
            abort = self.channel.transport.abortConnection
            self.body_timer = asyncio.get_running_loop().call_later(REQUEST_MIN_S, abort)

        content: Any
        body_max_bytes: int | None = None
        """The limit of this body, known when its first bytes arrive."""
        uploader: tuple[int, int] | None = None
        """The account and the bytes that are counted for this body."""
        sender: str | None = None
        """The address, or its network of IPv6, for which this body is counted."""
        permit_task: "asyncio.Task[None] | None" = None
        chunks = 0
        received_bytes = 0

        def gotLength(self, length: int | None) -> None:  # noqa: N802  (Twisted's name)
            try:
                super().gotLength(length)
            except OSError as error:
                self.content = FailedContent(error)

        def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  (Twisted's name)
            bodies.count_chunk(self, len(data))
            if (room := bodies.find_room(self)) > 0:
                try:
                    super().handleContentChunk(data[:room])
                except OSError as error:
                    _fail_content(self, error)

        def process(self) -> Any:
            bodies.finish_body(self)
            return super().process()

        def finish(self) -> None:
            bodies.release(self)
            super().finish()

        def connectionLost(self, reason: Any) -> None:  # noqa: N802  (Twisted's name)
            bodies.release(self)
            super().connectionLost(reason)

    return BoundedRequest


class ContentFile:
    """The file of a large body, of which daphne reads one empty chunk that carries the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @property
    def closed(self) -> bool:
        return self._file.closed

    def seek(self, *position: int) -> int:
        return self._file.seek(*position)

    def read(self, size: int = -1) -> bytes:
        return BodyInFile.of(self._file)

    def close(self) -> None:
        self._file.close()


class FailedContent(io.BytesIO):
    """The body of a request whose file could not be written. daphne reads one chunk that carries the error."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def write(self, data: Any) -> int:
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        return BodyInFile.failed(self._error)


def make_bounded_socket(protocol: Any) -> Any:
    """Return daphne's websocket protocol, changed to disconnect a client that sends too many frames."""

    class BoundedSocket(protocol):  # type: ignore[misc]
        second = 0
        frames = 0
        control_frames = 0
        fragments = 0

        def dataReceived(self, data: bytes) -> None:  # noqa: N802  (Twisted's name)
            super().dataReceived(data)
            if self.state == self.STATE_CONNECTING and len(self.data) > EARLY_MAX_BYTES:
                self._drop("too many bytes before the socket is accepted")

        def onFrameBegin(self) -> None:  # noqa: N802  (autobahn's name)
            second = int(time.monotonic())
            if second != self.second:
                self.second, self.frames, self.control_frames = second, 0, 0
            self.frames += 1
            if self.current_frame.opcode >= CONTROL_OPCODE_MIN:
                self.control_frames += 1
            else:
                self.fragments = self.fragments + 1 if self.inside_message else 1
            super().onFrameBegin()
            if (
                self.frames > FRAMES_PER_S
                or self.control_frames > CONTROL_FRAMES_PER_S
                or self.fragments > FRAGMENTS_PER_MESSAGE
            ):
                self._drop("too many frames")

        def _drop(self, reason: str) -> None:
            """Disconnect. autobahn then ends its loop over the received bytes, and logs the reason."""
            self.wasNotCleanReason = reason
            self.dropConnection(abort=True)

    return BoundedSocket
