"""The page on which staff publishes and removes announcements."""

from django.http import HttpResponse
from django.utils.translation import gettext as _

from socialsite.admin.labels import JsonObject
from socialsite.admin.requests import record_action
from socialsite.errors import ApiError, Invalid, MalformedRequest
from socialsite.site.announcements import add
from socialsite.site.service import SiteService
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, format_iso_time, respond
from timelines.drafts.draft import parse_time
from timelines.errors import TimeInvalid

ANNOUNCEMENTS_PATH = "/ops/announcements/"


async def index(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    return respond(
        request,
        "admin/announcements.html",
        page=lambda: {
            "announcements": request.services[SiteService].announcements,
            "now_ms": request.services.clock.now_ms(),
            "shown": get_form_data(request),
            "errors": error.fields if error else {},
            "page_title": _("Announcements"),
        },
        data=lambda: _json(request),
        status=get_error_status(error),
    )


@shows_errors(index, Invalid)
async def publish(request: SiteRequest) -> HttpResponse:
    """Publish an announcement with the fields `text`, `starts` and `ends`, which are times of UTC or empty."""
    site, fields, now_ms = request.services[SiteService], get_form_data(request), request.services.clock.now_ms()
    starts_ms, ends_ms = (_parse_time(name, fields.get(name, "")) for name in ("starts", "ends"))
    text = fields.get("text", "")
    add(site.announcements, text, starts_ms, ends_ms, now_ms)  # refused before it is in the audit log
    await record_action(request, "announce", "site:announcements")
    await site.announce(text, starts_ms=starts_ms, ends_ms=ends_ms, now_ms=now_ms)
    return done(request, _json(request), default=ANNOUNCEMENTS_PATH, message=_("The announcement is published."))


async def remove(request: SiteRequest) -> HttpResponse:
    text = get_form_data(request).get("id", "")
    if not text.isdecimal() or len(text) > 16:
        raise MalformedRequest
    await record_action(request, "unannounce", "site:announcements", text)
    await request.services[SiteService].remove_announcement(int(text))
    return done(request, _json(request), default=ANNOUNCEMENTS_PATH, message=_("The announcement is removed."))


def _parse_time(name: str, text: str) -> int:
    """Return Unix ms of a time such as 2026-11-30T18:00 in UTC, or 0 for "". Raises Invalid."""
    try:
        return parse_time(text) or 0
    except TimeInvalid:
        raise Invalid({name: _("Write a date and a time, such as 2026-11-30T18:00.")}) from None


def _json(request: SiteRequest) -> JsonObject:
    rows = [
        {
            "id": str(each.id),
            "text": each.text,
            "published": format_iso_time(each.published_ms),
            "starts": format_iso_time(each.starts_ms) if each.starts_ms else None,
            "ends": format_iso_time(each.ends_ms) if each.ends_ms else None,
        }
        for each in request.services[SiteService].announcements
    ]
    return {"announcements": rows}
