"""What one was told of: the page, the mark of what is read, and what one wants to be told of."""

from http import HTTPStatus
from typing import Final, cast

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.errors import Malformed
from socialsite.ids import MAX_ID, PostId, find_id
from socialsite.web.page_cache import Slot
from socialsite.web.requests import (
    SiteRequest,
    form_data,
    json_response,
    own_id,
    respond,
    see_other,
    wants_json,
)
from timelines.notifications.forms import notice_cursor_of
from timelines.notifications.notification import KINDS, MENTIONS, WANTED, Kind, NoticePage, Wanted
from timelines.notifications.presenters import notice_json, rows_html
from timelines.pages.page import MOST
from timelines.pages.queries import limit_of
from timelines.pages.responses import Page, link, slot

PAGE, SETTINGS = "/notifications/", "/accounts/notifications/"
LABELS: Final = {
    "mention": gettext_lazy("Mentions"),
    "reply": gettext_lazy("Replies"),
    "boost": gettext_lazy("Boosts of your posts"),
    "like": gettext_lazy("Likes of your posts"),
    "follow": gettext_lazy("New followers"),
    "request": gettext_lazy("Requests to follow you"),
}


async def index(request: SiteRequest) -> HttpResponseBase:
    """Newest first. The page reads more at once than JSON does by itself: its rows are groups."""
    me, cursor = own_id(request), notice_cursor_of(request.GET)
    is_mentions = request.GET.get("tab") == "mentions"
    limit = limit_of(request.GET) if wants_json(request) or "limit" in request.GET else MOST
    page = await request.services.notifications.page(
        me, before=cursor, limit=limit, kinds=MENTIONS if is_mentions else None
    )
    tab = {"tab": "mentions"} if is_mentions else {}
    next_url = link(request, cursor=page.next_before, **tab)
    return respond(
        request,
        "timelines/notifications.html",
        page=lambda: _page(page, next_url, is_mentions=is_mentions, is_first=cursor is None),
        data=lambda: {"notifications": [notice_json(each) for each in page.entries], "next": next_url},
    )


def _page(page: NoticePage, next_url: str | None, *, is_mentions: bool, is_first: bool) -> Page:
    return {
        "rows_html": Slot(rows_html(page.entries)),
        "is_empty": not page.entries,
        "newest": Slot(str(page.entries[0].id) if page.entries else "0"),
        "has_unread": any(not each.is_read for each in page.entries),
        "tab": "mentions" if is_mentions else "all",
        "live": is_first,
        "next_url": slot(next_url),
        "page_title": _("Notifications"),
    }


async def unread(request: SiteRequest) -> HttpResponseBase:
    """For the page's script, which corrects its badge: `{"unread": n}`, 100 for more than 99."""
    count = await request.services.notifications.unread(own_id(request))
    return json_response({"unread": count})


async def read(request: SiteRequest) -> HttpResponseBase:
    """Everything up to the notification `up_to` is read; without it everything there is."""
    me, given = own_id(request), form_data(request).get("up_to", "")
    up_to = find_id(given) if given else MAX_ID
    if up_to is None:
        raise Malformed(fields={"up_to": _("This is not the id of a notification.")})
    left = await request.services.notifications.mark_read(me, PostId(up_to))
    return json_response({"unread": left}) if wants_json(request) else see_other(request, PAGE)


async def settings_page(request: SiteRequest) -> HttpResponseBase:
    wishes = await request.services.notifications.wishes(own_id(request))
    return respond(
        request,
        "accounts/notifications.html",
        page=lambda: {"choices": [{"kind": k, "label": LABELS[k], "wish": wishes[k]} for k in KINDS]},
        data=lambda: {"notifications": wishes},
    )


async def edit_settings(request: SiteRequest) -> HttpResponseBase:
    """Kinds that are not sent stay as they were. JSON: all of them as they are then."""
    me, services, fields = own_id(request), request.services, form_data(request)
    wrong: dict[str, str] = {
        kind: _("This is no choice.") for kind in KINDS if fields.get(kind, "all") not in WANTED
    }
    if wrong:
        raise Malformed(fields=wrong)
    wishes: dict[Kind, Wanted] = {kind: cast(Wanted, fields[kind]) for kind in KINDS if kind in fields}
    await services.notifications.wish(me, wishes)
    if wants_json(request):
        return json_response({"notifications": await services.notifications.wishes(me)}, HTTPStatus.OK)
    messages.success(request, _("Your choices are saved."), fail_silently=True)
    return see_other(request, SETTINGS)
