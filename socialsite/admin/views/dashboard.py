"""The pages of the dashboard, the statistics and the audit log."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time

from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.accounts.service import AccountService
from socialsite.admin.activity import SPAN_MS_BY_NAME, read_activity
from socialsite.admin.audit_log import OPERATOR, AuditLog
from socialsite.admin.dashboard import read_dashboard
from socialsite.admin.labels import ACTION_LABELS, METRIC_LABELS, TemplateContext
from socialsite.admin.presenters.accounts import audit_log_json
from socialsite.admin.presenters.activity import activity_json, activity_page
from socialsite.admin.presenters.dashboard import dashboard_json, dashboard_page
from socialsite.admin.requests import build_next_url, get_services
from socialsite.clock import DAY_MS
from socialsite.errors import MalformedRequest
from socialsite.recipes.job_queue import validated_stream_id
from socialsite.recipes.time_series import Point
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import respond
from timelines.pages.queries import parse_cursor

AUDIT_LOG_ENTRIES_PER_PAGE = 50
QUERY_MAX_LENGTH = 300
SPAN_LABELS: dict[str, str | Promise] = {
    "1h": gettext_lazy("1 hour"),
    "24h": gettext_lazy("24 hours"),
    "7d": gettext_lazy("7 days"),
    "30d": gettext_lazy("30 days"),
}


async def index(request: SiteRequest) -> HttpResponse:
    data = await read_dashboard(get_services(request))
    return respond(
        request,
        "admin/dashboard.html",
        page=lambda: {**dashboard_page(data), "page_title": _("Operations")},
        data=lambda: dashboard_json(data),
    )


async def statistics(request: SiteRequest) -> HttpResponse:
    """Show the statistics of the span `?range=`, a name in SPAN_MS_BY_NAME."""
    name = request.GET.get("range", "24h")
    if name not in SPAN_MS_BY_NAME:
        raise MalformedRequest(
            fields={"range": _("This must be one of: %(names)s.") % {"names": ", ".join(SPAN_MS_BY_NAME)}}
        )
    activity = await read_activity(get_services(request), SPAN_MS_BY_NAME[name])
    return respond(
        request,
        "admin/statistics.html",
        page=lambda: {
            "activity": activity_page(activity),
            "range": name,
            "ranges": list(SPAN_LABELS.items()),
            "rows": _table_rows(activity.trends),
            "page_title": _("Statistics"),
        },
        data=lambda: {"range": name, **activity_json(activity)},
    )


def _table_rows(trends: Mapping[str, Sequence[Point]]) -> list[TemplateContext]:
    """Return the points of all charts as rows, newest first. All charts have the same intervals."""
    columns = [trends[name] for name in METRIC_LABELS]
    return [
        {"at_ms": points[0].at_ms, "counts": [point.count for point in points]}
        for points in reversed(list(zip(*columns, strict=True)))
    ]


async def audit_log(request: SiteRequest) -> HttpResponse:
    """Show the audit log. `by` and `target` (handles), `action`, `since` and `until` select entries.

    `by` may be `manage.py`, for the commands.
    """
    names = ("by", "target", "action", "since", "until")
    query = {name: text for name in names if (text := request.GET.get(name, "").strip()[:QUERY_MAX_LENGTH])}
    services, facts = request.services, {"action": query["action"]} if "action" in query else {}
    for name, prefix in (("by", ""), ("target", "account:")):
        if name in query:
            account = await services[AccountService].find_by_handle(query[name].removeprefix("@"))
            facts[name] = f"{prefix}{account.id}" if account else ""
    if query.get("by") == OPERATOR.request_id:
        facts["by"] = str(OPERATOR.account_id)
    since_ms, until_ms = _parse_day(query, "since") or 0, _parse_day(query, "until")
    entries, cursor = await AuditLog(services.store).search(
        AUDIT_LOG_ENTRIES_PER_PAGE,
        parse_cursor(request.GET, validated_stream_id),
        since_ms=since_ms,
        until_ms=None if until_ms is None else until_ms + DAY_MS - 1,
        **facts,
    )
    ids = {id for entry in entries for id in (entry.actor_id, entry.account_id) if id is not None}
    authors = await services[AccountService].find_authors(ids)
    next_url = build_next_url(request, cursor, **query)
    return respond(
        request,
        "admin/audit_log.html",
        page=lambda: {
            "entries": entries,
            "authors": authors,
            "query": query,
            "actions": sorted(ACTION_LABELS.items(), key=lambda pair: str(pair[1])),
            "next_url": next_url,
            "page_title": _("Audit trail"),
        },
        data=lambda: {"entries": [audit_log_json(entry, authors) for entry in entries], "next": next_url},
    )


def _parse_day(query: Mapping[str, str], name: str) -> int | None:
    """Return the start of a day (UTC) in Unix ms, 0 before 1970, or None without the field. Raises MalformedRequest."""
    try:
        day = date.fromisoformat(query[name]) if name in query else None
    except ValueError as error:
        raise MalformedRequest(fields={name: _("This is not a date.")}) from error
    return None if day is None else max(0, int(datetime.combine(day, time(), UTC).timestamp()) * 1_000)
