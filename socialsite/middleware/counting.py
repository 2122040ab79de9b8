"""What the site's statistics learn of an answer. Only memory is touched: the meter writes once a second."""

from django.http.response import HttpResponseBase

from socialsite.http import HTML, SiteRequest

from .base import PROBES


def count(request: SiteRequest, response: HttpResponseBase) -> None:
    """Count an answer. Before the services are there (the store is down from the start) nobody can."""
    services = getattr(request, "services", None)
    if services is None or request.path_info in PROBES:
        return
    account = getattr(request, "account", None)
    services.statistics.meter.answered(
        response.status_code,
        is_page=request.method == "GET" and response.headers.get("Content-Type", "").startswith(HTML),
        account_id=account.id if account else None,
    )
