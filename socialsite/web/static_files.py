"""Serve static files before Django is called, without a view or a session, if no proxy serves them.

WhiteNoise provides the table of files with their compressed variants, ETags and cache times. Its middleware is
sync, so only the table is used.
"""

import warnings
from functools import partial
from io import BytesIO
from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Response, StaticFile

from socialsite.web.asgi_types import Application, Receive, Scope, Send
from socialsite.web.daphne.flow_control import PIECE_BYTES, send_body
from socialsite.web.middleware.address import find_scope_address

WSGI_HEADER_NAMES = {
    b"accept-encoding": "HTTP_ACCEPT_ENCODING",
    b"if-modified-since": "HTTP_IF_MODIFIED_SINCE",
    b"if-none-match": "HTTP_IF_NONE_MATCH",
    b"range": "HTTP_RANGE",
}
"""The request headers that WhiteNoise reads."""


class StaticFiles:
    """An ASGI application that answers requests for static files and forwards all others."""

    def __init__(self, application: Application) -> None:
        self._application = application
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No directory at")  # absent before collectstatic
            self._files: Any = WhiteNoiseMiddleware()  # type: ignore[no-untyped-call]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        static_file = self._find(scope["path"])
        if static_file is None:
            await self._application(scope, receive, send)
            return
        request_headers = {
            WSGI_HEADER_NAMES[name]: value.decode("latin1")
            for name, value in scope["headers"]
            if name in WSGI_HEADER_NAMES
        }
        response = static_file.get_response(scope["method"], request_headers)  # type: ignore[no-untyped-call]
        await _send_response(response, send, find_scope_address(scope))

    def _find(self, path: str) -> StaticFile | None:
        if not path.startswith(self._files.static_prefix):
            return None
        look_up = self._files.find_file if self._files.autorefresh else self._files.files.get
        static_file: StaticFile | None = look_up(path)
        return static_file


async def _send_response(response: Response, send: Send, address: str) -> None:
    """Send a file in pieces.

    They are read from the page cache of the system. A thread would cost more than the read.
    """
    headers = [(name.lower().encode(), value.encode("latin1")) for name, value in response.headers]
    headers.append((b"x-content-type-options", b"nosniff"))
    await send({"type": "http.response.start", "status": int(response.status), "headers": headers})
    with response.file or BytesIO() as file:
        await send_body(send, iter(partial(file.read, PIECE_BYTES), b""), address)
