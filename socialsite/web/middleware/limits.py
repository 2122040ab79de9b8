"""How much a request may bring: looked at before the body is read, and while it is.

Django's own check trusts Content-Length and comes after the whole body lies in memory or on disk. Here a body
without a length, or with an understated one, is counted as it comes. What breaks a limit is answered inside
the stack, by RequestSizeMiddleware, so that the refusal carries the same headers and shape as every other answer.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestAborted
from django.http.response import HttpResponseBase

from socialsite.errors import MalformedRequest, RequestTooLarge
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Any, Any], Awaitable[None]]

HEAD_MAX_BYTES = 12 * 1024
"""Of path, query and headers together; daphne itself ends at 16 kB, without a page."""
HEADER_COUNT_MAX = 100


class InvalidBody(Exception):
    """The body is over its limit (413) or not what its Content-Length says (400)."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status
        super().__init__(status)


def check_head(scope: Scope, body_max_bytes: int) -> HTTPStatus | None:
    """What is wrong with a request before its body is read, or None."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    size = len(scope["path"]) + len(scope.get("query_string", b""))
    size += sum(len(name) + len(value) + 4 for name, value in headers)
    if size > HEAD_MAX_BYTES or len(headers) > HEADER_COUNT_MAX:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    lengths = {value.strip() for name, value in headers if name == b"content-length"}
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        return HTTPStatus.BAD_REQUEST
    if any(len(length) > 12 or int(length) > body_max_bytes for length in lengths):
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return None


def parse_content_length(scope: Scope) -> int | None:
    """The Content-Length of a head without refusal; None where it is absent (chunked, or no body)."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), None)


async def read_body(receive: Receive, declared: int | None, max_bytes: int) -> bytes:
    """The whole body, never holding more than `max_bytes` and one chunk.

    Raises InvalidBody, RequestAborted.
    """
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > max_bytes:
            raise InvalidBody(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if declared is not None and size > declared:
            raise InvalidBody(HTTPStatus.BAD_REQUEST)
        more = message.get("more_body", False)
    if declared is not None and size < declared:
        raise InvalidBody(HTTPStatus.BAD_REQUEST)
    return b"".join(chunks)


class RequestSizeMiddleware(Middleware):
    """Answers what the handler refused to read."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        refused = getattr(request, "refused_status", None)
        if refused is None:
            return await self.get_response(request)
        return respond_to_error(
            request, MalformedRequest() if refused == HTTPStatus.BAD_REQUEST else RequestTooLarge(refused)
        )
