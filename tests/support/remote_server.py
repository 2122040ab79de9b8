"""A server on loopback that stands for another site: it answers with what the test says, and records requests."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from socialsite.container import Services
from socialsite.outgoing.requests import OutgoingClient

Write = Callable[[bytes], Awaitable[None]]
Answer = bytes | Callable[[Write], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class RemoteServer:
    """`answers` has the answer to each path. Other paths are answered with 404."""

    port: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[RecordedRequest] = field(default_factory=list)
    scheme: str = "http"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def exempt(self) -> set[tuple[str, int]]:
        return {("127.0.0.1", self.port)}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(part: bytes) -> None:
            writer.write(part)
            await writer.drain()

        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            path = head[0].split()[1]
            self.requests.append(RecordedRequest(path, headers, body))
            answer = self.answers.get(path, respond(b"", status="404 Not Found"))
            if isinstance(answer, bytes):
                await write(answer)
            else:
                await answer(write)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # Python 3.11 logs an error for a handler that ends as cancelled when the loop closes
        finally:
            writer.close()


def respond(
    body: bytes | str, content_type: str = "text/html; charset=utf-8", *extra: str, status: str = "200 OK"
) -> bytes:
    """Return a whole response. `extra` has more header lines."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(content)}", *extra]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def redirect_to(location: str) -> bytes:
    return respond(b"", "text/html", f"Location: {location}", status="302 Found")


@asynccontextmanager
async def remote_server(
    host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RemoteServer]:
    site = RemoteServer(scheme="https" if tls else "http")
    server = await asyncio.start_server(site.serve, host, port, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


def use_client(services: Services, client: OutgoingClient) -> None:
    """Send the requests of these services to other sites with this client."""
    services.outgoing = services.previews.outgoing = services.verified_links.outgoing = client
    services.push.outgoing = services.push_sending.outgoing = client
