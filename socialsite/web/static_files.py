"""Static files in front of Django: where no proxy serves them, daphne does, without a view or a session.

WhiteNoise knows the files, their compressed variants, ETags and how long each may be kept; its own middleware
is sync, so only its table is used.
"""

import warnings
from typing import IO, Any

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Response, StaticFile

from socialsite.web.middleware.limits import Application, Receive, Scope, Send

WSGI_HEADER_NAMES = {
    b"accept-encoding": "HTTP_ACCEPT_ENCODING",
    b"if-modified-since": "HTTP_IF_MODIFIED_SINCE",
    b"if-none-match": "HTTP_IF_NONE_MATCH",
    b"range": "HTTP_RANGE",
}
"""The request headers that WhiteNoise looks at."""


class StaticFiles:
    """ASGI: answers for the static files, passes everything else on."""

    def __init__(self, application: Application) -> None:
        self._application = application
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No directory at")  # collectstatic need not have run
            self._files: Any = WhiteNoiseMiddleware()  # type: ignore[no-untyped-call]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._find(scope["path"])
        if found is None:
            await self._application(scope, receive, send)
            return
        asked = {
            WSGI_HEADER_NAMES[name]: value.decode("latin1")
            for name, value in scope["headers"]
            if name in WSGI_HEADER_NAMES
        }
        await _send_response(found.get_response(scope["method"], asked), send)  # type: ignore[no-untyped-call]

    def _find(self, path: str) -> StaticFile | None:
        if not path.startswith(self._files.static_prefix):
            return None
        look_up = self._files.find_file if self._files.autorefresh else self._files.files.get
        found: StaticFile | None = look_up(path)
        return found


async def _send_response(response: Response, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode("latin1")) for name, value in response.headers]
    headers.append((b"x-content-type-options", b"nosniff"))
    await send({"type": "http.response.start", "status": int(response.status), "headers": headers})
    await send({"type": "http.response.body", "body": _read_file(response.file)})


def _read_file(file: IO[bytes] | None) -> bytes:
    """Some kB of our own files, which the system holds in memory: a thread would cost more than the read."""
    if file is None:
        return b""
    with file:
        return file.read()
