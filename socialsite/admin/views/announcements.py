"""The page on which staff publishes and removes announcements."""

from datetime import UTC, datetime

from django.http import HttpResponse
from django.utils.translation import gettext as _

from socialsite.admin.presenters.labels import JsonObject, TemplateContext
from socialsite.admin.requests import record_action
from socialsite.errors import Invalid, MalformedRequest
from socialsite.site.service import SiteService
from socialsite.web.requests import SiteRequest, get_form_data, wants_json
from socialsite.web.responses import done, format_iso_time, respond
from timelines.pages.site_texts import text_html

ANNOUNCEMENTS_PATH = "/ops/announcements/"


async def index(request: SiteRequest) -> HttpResponse:
    return _respond(request)


async def publish(request: SiteRequest) -> HttpResponse:
    """Publish an announcement with the fields `text`, `starts` and `ends`, which are times of UTC or empty."""
    fields = get_form_data(request)
    shown = {name: fields.get(name, "") for name in ("text", "starts", "ends")}
    try:
        starts_ms, ends_ms = _parse_time("starts", shown["starts"]), _parse_time("ends", shown["ends"])
        await record_action(request, "announce", "site:announcements")
        await request.services[SiteService].announce(
            shown["text"], starts_ms=starts_ms, ends_ms=ends_ms, now_ms=request.services.clock.now_ms()
        )
    except Invalid as error:
        if wants_json(request):
            raise
        return _respond(request, shown, {name: str(message) for name, message in error.fields.items()}, 422)
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
    if not text:
        return 0
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise Invalid({name: _("Write a date and a time, such as 2026-11-30T18:00.")}) from None


def _respond(
    request: SiteRequest,
    shown: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    return respond(
        request,
        "ops/announcements.html",
        page=lambda: {
            "announcements": _rows(request),
            "shown": shown or {"text": "", "starts": "", "ends": ""},
            "errors": errors or {},
            "page_title": _("Announcements"),
        },
        data=lambda: _json(request),
        status=status,
    )


def _rows(request: SiteRequest) -> list[TemplateContext]:
    now_ms = request.services.clock.now_ms()
    return [
        {
            "id": each.id,
            "html": text_html(each.text),
            "starts_ms": each.starts_ms or each.published_ms,
            "ends_ms": each.ends_ms,
            "is_current": each.is_current(now_ms),
            "is_over": each.is_over(now_ms),
        }
        for each in reversed(request.services[SiteService].announcements)
    ]


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
