"""A name for each request, and one line about it.

The id is ours, never the client's: a client cannot write into the log, nor make two requests look like one.
It is bound to structlog's context, so that every line of the request carries it, and goes back in `X-Request-
ID`.
"""

import logging
import secrets
import time

import structlog
from django.http.response import HttpResponseBase

from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.request_metrics import record_request
from socialsite.web.requests import SiteRequest

log = structlog.stdlib.get_logger("socialsite.access")


class AccessLogMiddleware(Middleware):
    """The outermost: it sees every answer.

    At INFO from 400 on, below that at DEBUG: the proxy keeps the rest.
    """

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        request.request_id = secrets.token_hex(8)
        started = time.perf_counter()
        structlog.contextvars.bind_contextvars(request_id=request.request_id)
        response = await self.get_response(request)
        response.headers["X-Request-ID"] = request.request_id
        record_request(request, response, time.perf_counter() - started)
        level = _log_level(response.status_code)
        if log.isEnabledFor(level):
            log.log(level, "request", **_log_fields(request, response, started))
        return response


def _log_level(status: int) -> int:
    if status >= 500:
        return logging.ERROR
    return logging.INFO if status >= 400 else logging.DEBUG


def _log_fields(request: SiteRequest, response: HttpResponseBase, started: float) -> dict[str, object]:
    """Path without its query: searches and tokens stay out of the log. JSON escapes control characters."""
    account = getattr(request, "account", None)
    return {
        "method": request.method,
        "path": request.path_info,
        "status": response.status_code,
        "ms": round((time.perf_counter() - started) * 1000, 1),
        "client": getattr(request, "client_address", None),
        "account": account.id if account else None,
    }
