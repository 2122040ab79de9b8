"""Announcements of staff (https://docs.joinmastodon.org/methods/announcements/)."""

from django.http import HttpResponse

from accounts.sessions.authentication import require_account
from socialsite.site.announcements import Announcement
from socialsite.site.service import SiteService
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import format_iso_time, json_response
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag
from timelines.home.announcements import dismiss_for
from timelines.pages.presenters import Json
from timelines.text.paragraphs import paragraphs_html


@endpoint("read", "read:accounts", "write:accounts", needs_account=True)
async def index(request: SiteRequest) -> HttpResponse:
    """Return the current announcements; the dismissed ones only with `with_dismissed`."""
    dismissed = require_account(request).preferences.dismissed_announcements
    now_ms, with_dismissed = request.services.clock.now_ms(), flag(api_fields(request), "with_dismissed")
    current = (each for each in request.services[SiteService].announcements if each.is_current(now_ms))
    entities = [_entity(each, each.id in dismissed) for each in current if with_dismissed or each.id not in dismissed]
    return json_response(entities)


@endpoint("write:accounts", needs_account=True)
async def dismiss(request: SiteRequest, announcement_id: int) -> HttpResponse:
    await dismiss_for(request, announcement_id)
    return json_response({})


def _entity(announcement: Announcement, is_dismissed: bool) -> Json:
    published = format_iso_time(announcement.published_ms)
    return {
        "id": str(announcement.id),
        "content": paragraphs_html(announcement.text),
        "starts_at": format_iso_time(announcement.starts_ms) if announcement.starts_ms else None,
        "ends_at": format_iso_time(announcement.ends_ms) if announcement.ends_ms else None,
        "all_day": False,
        "published_at": published,
        "updated_at": published,
        "read": is_dismissed,
        "mentions": [],
        "statuses": [],
        "tags": [],
        "emojis": [],
        "reactions": [],
    }
