"""Limits on requests that daphne lacks, applied before the application is called.

- Twisted reads a whole body before it calls the application, and writes it to a file from 100 kB on: an endless
  body would fill the disk. Here bytes beyond the limit are dropped; the handler sees one byte too many and
  answers 413.
- Twisted closes the connection at a header line over 16 kB, without a status. Here it reads enough for a 431.
- Twisted parses form fields, which the site does not use, and closes the connection if it cannot. Here it does not
  parse them, so the site answers 400 with a page.
"""

import sys
from typing import Any

HEAD_READ_MAX_BYTES = 64 * 1024
MIN_HEADER_BYTES = len(b"a:")


def install_request_limits(body_max_bytes: int) -> None:
    """Patch daphne's classes, if daphne is the server (it is imported before the application)."""
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if protocol is None:
        return

    class BoundedRequest(protocol.WebRequest):  # type: ignore[misc]
        """Drops bytes of the body beyond the limit."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, parsePOSTFormSubmission=False, **options)

        def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  (Twisted's name)
            room = body_max_bytes + 1 - self.content.tell()
            if room > 0:
                super().handleContentChunk(data[:room])

    protocol.WebRequest = BoundedRequest
    # Twisted formats a log line for each request, which is not used: the site has its own access log.
    protocol.HTTPFactory.log = lambda factory, request: None
    channel = protocol.http.HTTPChannel
    channel.MAX_LENGTH = channel.totalHeadersSize = HEAD_READ_MAX_BYTES
    channel.maxHeaders = HEAD_READ_MAX_BYTES // MIN_HEADER_BYTES  # no limit of its own: only the bytes are limited
