"""The access log and the statistics of requests: an id, one log line and one count for each request.

The server chooses the id, so a client cannot write to the log or make two requests look like one. The id is bound to
structlog's context, so every log line of the request has it. The response has it in `X-Request-ID`.
"""

import logging
import secrets
import time

import structlog
from django.http.response import HttpResponseBase

from socialsite.analytics import prometheus
from socialsite.web.middleware.base import PROBE_PATHS, Middleware
from socialsite.web.requests import HTML_TYPE, SiteRequest

log = structlog.stdlib.get_logger("socialsite.access")


class AccessLogMiddleware(Middleware):
    """The outermost middleware, which sees every response.

    Responses with a status below 400 are logged at DEBUG, because the proxy logs them.
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


def record_request(request: SiteRequest, response: HttpResponseBase, seconds: float) -> None:
    """Count a response. If the services could not be opened yet, only Prometheus counts it."""
    if request.path_info in PROBE_PATHS:
        return
    match = request.resolver_match
    account = getattr(request, "account", None)
    view = (match and match.view_name) or "none"
    prometheus.observe_request(view, response.status_code, seconds, signed_in=account is not None)
    services = getattr(request, "services", None)
    if services is None:
        return
    services.statistics.meter.count_response(
        response.status_code,
        is_page=request.method == "GET" and response.headers.get("Content-Type", "").startswith(HTML_TYPE),
        account_id=account.id if account else None,
    )


def _log_level(status: int) -> int:
    if status >= 500:
        return logging.ERROR
    return logging.INFO if status >= 400 else logging.DEBUG


def _log_fields(request: SiteRequest, response: HttpResponseBase, started: float) -> dict[str, object]:
    """Return the fields of the log line. The path has no query, so searches and tokens are not logged."""
    account = getattr(request, "account", None)
    return {
        "method": request.method,
        "path": request.path_info,
        "status": response.status_code,
        "ms": round((time.perf_counter() - started) * 1000, 1),
        "client": request.client_address or None,
        "account": account.id if account else None,
    }
