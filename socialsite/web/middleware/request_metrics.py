"""Counts responses in the statistics, in memory only: the meter writes once a second."""

from django.http.response import HttpResponseBase

from socialsite.analytics import prometheus
from socialsite.web.middleware.base import PROBE_PATHS
from socialsite.web.requests import HTML_TYPE, SiteRequest


def record_request(request: SiteRequest, response: HttpResponseBase, seconds: float) -> None:
    """Count a response. If the services are not open yet (no store since the start), only in Prometheus."""
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
