"""The notifications page, the read mark, and the settings of notifications."""

from typing import cast

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.errors import MalformedRequest
from socialsite.ids import MAX_ID, PostId, parse_id
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_changed_fields, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import done, json_response, redirect_to_next, respond
from timelines.notifications.kinds import KINDS, PREFERENCES, NotificationPreference
from timelines.notifications.notification import ALL, Selection
from timelines.notifications.presenters import notification_json, notification_rows_html
from timelines.notifications.service import NotificationService
from timelines.notifications.thread_mutes import MutedThreadService
from timelines.pages.page import MAX_LIMIT
from timelines.pages.presenters import post_json, post_url
from timelines.pages.queries import decode_id, parse_cursor, parse_limit
from timelines.pages.responses import optional_placeholder, url_with_query

NOTIFICATIONS_URL, NOTIFICATION_SETTINGS_URL = "/notifications/", "/accounts/notifications/"


async def index(request: SiteRequest) -> HttpResponseBase:
    """Show notifications, newest first.

    The page has a higher default limit than the JSON response, because its rows are groups.
    """
    me, cursor = require_viewer_id(request), parse_cursor(request.GET, decode_id)
    is_mentions = request.GET.get("tab") == "mentions"
    limit = parse_limit(request.GET) if wants_json(request) or "limit" in request.GET else MAX_LIMIT
    selection = Selection([kind for kind in KINDS.values() if kind.is_mention]) if is_mentions else ALL
    page = await request.services[NotificationService].page(me, before=cursor, limit=limit, selection=selection)
    tab = {"tab": "mentions"} if is_mentions else {}
    next_url = url_with_query(request, cursor=page.next_before, **tab)
    return respond(
        request,
        "timelines/notifications.html",
        page=lambda: {
            "rows_html": Placeholder(notification_rows_html(page.entries)),
            "is_empty": not page.entries,
            "newest": Placeholder(str(page.entries[0].id) if page.entries else "0"),
            "has_unread": any(not each.is_read for each in page.entries),
            "tab": "mentions" if is_mentions else "all",
            "live": cursor is None,
            "next_url": optional_placeholder(next_url),
            "page_title": _("Notifications"),
        },
        data=lambda: {"notifications": [notification_json(each) for each in page.entries], "next": next_url},
    )


async def count_unread(request: SiteRequest) -> HttpResponseBase:
    """Respond with `{"unread": n}`, at most 100, for the badge of a page."""
    count = await request.services[NotificationService].unread(require_viewer_id(request))
    return json_response({"unread": count})


async def mark_read(request: SiteRequest) -> HttpResponseBase:
    """Mark notifications as read up to the id `up_to`, or all notifications if it is missing."""
    me, text = require_viewer_id(request), get_form_data(request).get("up_to", "")
    up_to = parse_id(text) if text else MAX_ID
    if up_to is None:
        raise MalformedRequest(fields={"up_to": _("This is not the id of a notification.")})
    unread = await request.services[NotificationService].mark_read(me, PostId(up_to))
    return json_response({"unread": unread}) if wants_json(request) else redirect_to_next(request, NOTIFICATIONS_URL)


async def show_settings(request: SiteRequest) -> HttpResponseBase:
    preferences = await request.services[NotificationService].preferences(require_viewer_id(request))
    return respond(
        request,
        "accounts/notifications.html",
        page=lambda: {"choices": [{"kind": kind, "preference": preferences[name]} for name, kind in KINDS.items()]},
        data=lambda: {"notifications": preferences},
    )


async def edit_settings(request: SiteRequest) -> HttpResponseBase:
    """Change the submitted preferences. The JSON response has all preferences."""
    me, service = require_viewer_id(request), request.services[NotificationService]
    fields = get_changed_fields(request)
    errors: dict[str, str] = {
        name: _("This is not one of the choices.") for name in KINDS if fields.get(name, "all") not in PREFERENCES
    }
    if errors:
        raise MalformedRequest(fields=errors)
    preferences = {name: cast(NotificationPreference, fields[name]) for name in KINDS if name in fields}
    await service.notifications.set_preferences(me, preferences)
    data = {"notifications": await service.preferences(me)}
    return done(request, data, default=NOTIFICATION_SETTINGS_URL, message=_("Your choices are saved."))


async def mute_thread(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    me, now_ms = require_viewer_id(request), request.services.clock.now_ms()
    entry = await request.services[MutedThreadService].mute(account_id=me, post_id=post_id, now_ms=now_ms)
    message, url = _("You get no more notifications about this conversation."), post_url(post_id, entry.author)
    return done(request, post_json(entry), default=url, message=message)


async def unmute_thread(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    entry = await request.services[MutedThreadService].unmute(account_id=require_viewer_id(request), post_id=post_id)
    message, url = _("You get notifications about this conversation again."), post_url(post_id, entry.author)
    return done(request, post_json(entry), default=url, message=message)
