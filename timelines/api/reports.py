"""Reports and markers in the API."""

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from socialsite.errors import Invalid
from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.web.requests import SiteRequest, require_viewer_id
from socialsite.web.responses import format_iso_time, json_response
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, id_field, ids_field
from timelines.api.presenters import accounts_json, site_url
from timelines.markers.service import MarkerService
from timelines.notifications.service import NotificationService
from timelines.pages.presenters import Json
from timelines.reports.report import MAX_REPORTED_POSTS
from timelines.reports.service import ReportService

HOME, NOTIFICATIONS = "home", "notifications"


@endpoint("write:reports", needs_account=True)
async def report(request: SiteRequest) -> HttpResponse:
    fields, target_id = api_fields(request), id_field(api_fields(request), "account_id")
    if target_id is None:
        raise Invalid({"account_id": _("This is not an id.")})
    rule_numbers = ids_field(fields, "rule_ids", MAX_REPORTED_POSTS)
    stored = await request.services[ReportService].report(
        reporter_id=require_viewer_id(request),
        target_id=AccountId(target_id),
        category=fields.get("category") or ("violation" if rule_numbers else "other"),
        comment=fields.get("comment", ""),
        post_ids=[PostId(id) for id in ids_field(fields, "status_ids", MAX_REPORTED_POSTS)],
        rule_numbers=[number - 1 for number in rule_numbers],
        caller=request.caller,
    )
    (target,) = await accounts_json(request.services, site_url(request), [stored.target_id])
    return json_response(
        {
            "id": str(stored.id),
            "action_taken": False,
            "action_taken_at": None,
            "category": stored.category,
            "comment": stored.comment,
            "forwarded": False,
            "created_at": format_iso_time(ms_from_id(stored.id)),
            "status_ids": [str(id) for id in stored.post_ids],
            "rule_ids": [str(number) for number in rule_numbers] or None,
            "target_account": target,
        }
    )


@endpoint("read:statuses", needs_account=True)
async def markers(request: SiteRequest) -> HttpResponse:
    """Return the markers of `timeline[]`."""
    me, markers = require_viewer_id(request), dict[str, Json]()
    for name in api_fields(request).values_of("timeline"):
        if name == HOME:
            markers[name] = marker_json((await request.services[MarkerService].find(me, HOME)).last_read_id)
        elif name == NOTIFICATIONS:
            markers[name] = marker_json(await request.services[NotificationService].last_read(me))
    return json_response({name: marker for name, marker in markers.items() if marker["last_read_id"] != "0"})


@endpoint("write:statuses", needs_account=True)
async def move_markers(request: SiteRequest) -> HttpResponse:
    """Move the marker of home, also back, and the read mark of notifications, which moves forward only."""
    fields, me, moved = api_fields(request), require_viewer_id(request), dict[str, Json]()
    if (home := id_field(fields, "home[last_read_id]")) is not None:
        moved[HOME] = marker_json(await request.services[MarkerService].move(me, HOME, PostId(home), back=True))
    if (notification := id_field(fields, "notifications[last_read_id]")) is not None:
        notifications = request.services[NotificationService]
        await notifications.mark_read(me, PostId(notification))
        moved[NOTIFICATIONS] = marker_json(await notifications.last_read(me))
    return json_response(moved)


def marker_json(last_read_id: PostId) -> Json:
    """Return a marker. Its time and version are those of the entry, because the site stores only the entry's id."""
    return {
        "last_read_id": str(last_read_id),
        "version": int(last_read_id) % 2**31,
        "updated_at": format_iso_time(ms_from_id(last_read_id)),
    }
