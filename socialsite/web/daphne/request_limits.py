"""Bounds on requests that daphne lacks. They hold before our own handler hears of a request.

Twisted reads a whole body, into a file from 100 kB on, before the application is called: a body without end
would fill the disk. A header line over 16 kB ends the connection without a status. Here what passes the
body's limit is not kept (the handler then sees one byte too many and answers 413), and heads are read far
enough for our 431. Twisted also reads the fields of forms, which nobody here asks it for, and ends the
connection over what it cannot read: left to us, that is a 400 with its page.
"""

import sys
from typing import Any

HEAD_READ_MAX_BYTES = 64 * 1024
MIN_HEADER_BYTES = len(b"a:")


def install_request_limits(body_max_bytes: int) -> None:
    """Put the bounds into daphne, if that is the server; it has read its modules before the application's."""
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if protocol is None:
        return

    class BoundedRequest(protocol.WebRequest):  # type: ignore[misc]
        """Drops what comes beyond the limit."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, parsePOSTFormSubmission=False, **options)

        def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  (Twisted's name)
            room = body_max_bytes + 1 - self.content.tell()
            if room > 0:
                super().handleContentChunk(data[:room])

    protocol.WebRequest = BoundedRequest
    # Twisted writes a line for each request to a log nobody keeps; the access log is the site's own.
    protocol.HTTPFactory.log = lambda factory, request: None
    channel = protocol.http.HTTPChannel
    channel.MAX_LENGTH = channel.totalHeadersSize = HEAD_READ_MAX_BYTES
    channel.maxHeaders = HEAD_READ_MAX_BYTES // MIN_HEADER_BYTES  # so that only the bytes count
