"""The dashboard, statistics over time, and the audit trail."""

from collections.abc import Mapping, Sequence

from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.domain import AccountId
from socialsite.admin.access import staff_only
from socialsite.admin.activity import SPANS, activity
from socialsite.admin.audit_log import AuditTrail
from socialsite.admin.dashboard import dashboard
from socialsite.admin.presenters.accounts import trail_json, trail_page
from socialsite.admin.presenters.activity import activity_json, activity_page
from socialsite.admin.presenters.dashboard import dashboard_json, dashboard_page
from socialsite.admin.presenters.labels import KINDS, Page
from socialsite.admin.views.paging import cursor_of, next_url
from socialsite.errors import Malformed
from socialsite.recipes.series import Point
from socialsite.web.requests import SiteRequest, respond

TRAIL_SHOWN = 50
SPAN_NAMES: dict[str, str | Promise] = {
    "1h": gettext_lazy("1 hour"),
    "24h": gettext_lazy("24 hours"),
    "7d": gettext_lazy("7 days"),
    "30d": gettext_lazy("30 days"),
}


@staff_only
async def index(request: SiteRequest) -> HttpResponse:
    found = await dashboard(request.services)
    return respond(
        request,
        "ops/dashboard.html",
        page=lambda: {**dashboard_page(found), "page_title": _("Operations")},
        data=lambda: dashboard_json(found),
    )


@staff_only
async def statistics(request: SiteRequest) -> HttpResponse:
    """`?range=` is one of SPANS."""
    name = request.GET.get("range", "24h")
    if name not in SPANS:
        raise Malformed(fields={"range": _("This is none of: %(names)s.") % {"names": ", ".join(SPANS)}})
    found = await activity(request.services, SPANS[name])
    return respond(
        request,
        "ops/statistics.html",
        page=lambda: {
            "activity": activity_page(found),
            "range": name,
            "ranges": list(SPAN_NAMES.items()),
            "rows": _rows(found.trends),
            "page_title": _("Statistics"),
        },
        data=lambda: {"range": name, **activity_json(found)},
    )


def _rows(trends: Mapping[str, Sequence[Point]]) -> list[Page]:
    """The points of all charts as a table, newest first: they share their intervals."""
    columns = [trends[name] for name in KINDS]
    return [
        {"at_ms": points[0].at_ms, "counts": [point.count for point in points]}
        for points in reversed(list(zip(*columns, strict=True)))
    ]


@staff_only
async def trail(request: SiteRequest) -> HttpResponse:
    entries = await AuditTrail(request.services.store).page(TRAIL_SHOWN, cursor_of(request))
    targets = [e.target.partition(":")[2] for e in entries if e.target.startswith("account:")]
    ids = {AccountId(int(id)) for id in targets} | {AccountId(entry.by) for entry in entries}
    authors = await request.services.accounts.authors(ids) if ids else {}
    following = next_url(request, entries[-1].id if len(entries) == TRAIL_SHOWN else None)
    return respond(
        request,
        "ops/trail.html",
        page=lambda: {
            "entries": [trail_page(entry, authors) for entry in entries],
            "next_url": following,
            "page_title": _("Audit trail"),
        },
        data=lambda: {"entries": [trail_json(entry, authors) for entry in entries], "next": following},
    )
