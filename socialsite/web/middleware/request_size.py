"""Limits on the size of a request's head and body.

Django checks only Content-Length, after the whole body is in memory or on disk. Here the bytes are counted while they
are read, so a body with an absent or wrong length is limited too. RequestSizeMiddleware sends the error response, so
that it has the same headers and format as every other response.
"""

from http import HTTPStatus

from django.core.exceptions import RequestAborted
from django.http.response import HttpResponseBase

from socialsite.errors import MalformedRequest, RateLimited, RequestTooLarge, StorageUnavailable
from socialsite.web.asgi_types import Receive, Scope
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.request_budget import find_oversized_headers
from socialsite.web.requests import SiteRequest
from socialsite.web.uploads import TOO_MANY_BODIES

HEAD_MAX_BYTES = 12 * 1024
"""Maximum bytes of path, query and headers together. daphne closes the connection at 16 kB, without a page."""
HEADER_COUNT_MAX = 100
BODIES_RETRY_AFTER_S = 60


class InvalidBody(Exception):
    """The body is too large (413), does not match its Content-Length (400), or could not be stored (503)."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status
        super().__init__(status)


def check_head(scope: Scope, body_max_bytes: int) -> HTTPStatus | None:
    """Return the error status for an invalid head, or None for a valid head. Call it before the body is read."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    size = len(scope["path"]) + len(scope.get("query_string", b""))
    size += sum(len(name) + len(value) + 4 for name, value in headers)
    oversized = find_oversized_headers(headers)
    if oversized:  # the page with the error would parse them too
        scope["headers"] = [each for each in headers if each[0] not in oversized]
    if oversized or size > HEAD_MAX_BYTES or len(headers) > HEADER_COUNT_MAX:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    lengths = {value.strip() for name, value in headers if name == b"content-length"}
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        return HTTPStatus.BAD_REQUEST
    if TOO_MANY_BODIES in lengths:
        return HTTPStatus.TOO_MANY_REQUESTS
    if any(len(length) > 12 or int(length) > body_max_bytes for length in lengths):
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return None


def parse_content_length(scope: Scope) -> int | None:
    """Return the Content-Length of a valid head, or None if it is absent (a chunked body or no body)."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), None)


async def read_body(receive: Receive, declared: int | None, max_bytes: int) -> bytes:
    """Read the body, with at most `max_bytes` and one chunk in memory.

    Raises InvalidBody, and RequestAborted if the client disconnects.
    """
    chunks: list[bytes] = []
    size = 0
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        chunks.append(message.get("body", b""))
        if getattr(chunks[-1], "error", None) is not None:  # the server could not store the body
            raise InvalidBody(HTTPStatus.SERVICE_UNAVAILABLE)
        size += len(chunks[-1])
        if size > max_bytes:
            raise InvalidBody(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if declared is not None and size > declared:
            raise InvalidBody(HTTPStatus.BAD_REQUEST)
        has_more = message.get("more_body", False)
    if declared is not None and size < declared:
        raise InvalidBody(HTTPStatus.BAD_REQUEST)
    return b"".join(chunks)


class RequestSizeMiddleware(Middleware):
    """Responds to requests that the handler refused to read."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        status = getattr(request, "refused_status", None)
        if status is None:
            return await self.get_response(request)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            return respond_to_error(request, StorageUnavailable())
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return respond_to_error(request, RateLimited("bodies", BODIES_RETRY_AFTER_S))
        error = MalformedRequest() if status == HTTPStatus.BAD_REQUEST else RequestTooLarge(status)
        return respond_to_error(request, error)
