"""Timelines in the API: home, public, hashtags and lists, and the markers of where reading stopped."""

from collections.abc import Collection

from django.http import HttpResponse

from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.web.requests import FormFields, SiteRequest, get_viewer_id, require_viewer_id
from socialsite.web.responses import format_iso_time
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag, id_field
from timelines.api.pagination import ApiPage, api_page, page_response
from timelines.api.presenters import statuses_json
from timelines.errors import HashtagNotFound
from timelines.ids import ListId
from timelines.lists.service import ListService
from timelines.markers.service import MarkerService
from timelines.notifications.service import NotificationService
from timelines.pages.page import PagePart, PostSelection, TimelinePage
from timelines.pages.presenters import Json
from timelines.pins.service import mark_pinned
from timelines.reading.service import ReadingService
from timelines.text.token_scanner import normalize_tag

HOME, NOTIFICATIONS = "home", "notifications"
NO_POSTS = TimelinePage((), None, None)
MAX_HASHTAGS = 4
"""The maximum number of hashtags in each of `any`, `all` and `none`, as in Mastodon."""


@endpoint("read:statuses", needs_account=True)
async def home(request: SiteRequest) -> HttpResponse:
    query = api_page(api_fields(request))
    page = await request.services[ReadingService].home(require_viewer_id(request), **query.part)
    return await timeline_response(request, query, page)


@endpoint("read:statuses")
async def public(request: SiteRequest) -> HttpResponse:
    """Return the public timeline. With `remote` it is empty, because all accounts are accounts of this site."""
    fields, me = api_fields(request), get_viewer_id(request)
    query = api_page(fields)
    if flag(fields, "remote"):
        return await timeline_response(request, query, NO_POSTS)
    part = selected_part(query, PostSelection(only_media=flag(fields, "only_media")), me)
    page = await request.services[ReadingService].public(viewer_id=me, **part)
    return await timeline_response(request, query, page)


@endpoint("read:statuses")
async def hashtag(request: SiteRequest, tag: str) -> HttpResponse:
    """Return posts with the hashtag or one of `any`, with each of `all` and with none of `none`."""
    fields, me, normal = api_fields(request), get_viewer_id(request), normalize_tag(tag.removeprefix("#"))
    if normal is None:
        raise HashtagNotFound
    query, any_tags = api_page(fields), [normal, *_hashtags(fields, "any")]
    if flag(fields, "remote"):
        return await timeline_response(request, query, NO_POSTS)
    selection = PostSelection(
        only_media=flag(fields, "only_media"),
        all_hashtags=_hashtags(fields, "all"),
        no_hashtags=_hashtags(fields, "none"),
    )
    reading, part = request.services[ReadingService], selected_part(query, selection, me)
    if len(any_tags) > 1:
        page = await reading.tags(any_tags, viewer_id=me, **part)
    else:
        page = await reading.tag(normal, viewer_id=me, **part)
    return await timeline_response(request, query, page)


@endpoint("read:lists", needs_account=True)
async def list_timeline(request: SiteRequest, list_id: ListId) -> HttpResponse:
    me, query = require_viewer_id(request), api_page(api_fields(request))
    lists = request.services[ListService]
    account_list = await lists.get(owner_id=me, list_id=list_id)
    page = await lists.read_timeline(account_list.id, viewer_id=me, **query.part)
    return await timeline_response(request, query, page)


async def timeline_response(
    request: SiteRequest, query: ApiPage, page: TimelinePage, pinned_ids: Collection[PostId] = ()
) -> HttpResponse:
    """Return a page of posts whose cursors are ids of posts. The viewer's own pinned posts are marked."""
    entries = query.trim(page.entries, lambda entry: entry.id)
    entries = mark_pinned(entries, pinned_ids) if pinned_ids else entries
    statuses = await statuses_json(request, entries)
    return page_response(request, statuses, next_id=page.next_before, previous_id=entries[0].id if entries else None)


def selected_part(query: ApiPage, selection: PostSelection, viewer_id: AccountId | None) -> PagePart:
    """Return the part of a timeline with the selected posts. Visitors may read from replicas."""
    selected = None if selection == PostSelection() else selection
    return {**query.part, "selection": selected, "may_lag": viewer_id is None}


def _hashtags(fields: FormFields, name: str) -> tuple[str, ...]:
    tags = (normalize_tag(text.removeprefix("#")) for text in fields.values_of(name)[:MAX_HASHTAGS])
    return tuple(tag for tag in tags if tag)


# Markers


@endpoint("read:statuses", needs_account=True)
async def markers(request: SiteRequest) -> Json:
    """Return the markers of `timeline[]`."""
    me, markers = require_viewer_id(request), dict[str, Json]()
    for name in api_fields(request).values_of("timeline"):
        if name == HOME:
            markers[name] = marker_json((await request.services[MarkerService].find(me, HOME)).last_read_id)
        elif name == NOTIFICATIONS:
            markers[name] = marker_json(await request.services[NotificationService].last_read(me))
    return {name: marker for name, marker in markers.items() if marker["last_read_id"] != "0"}


@endpoint("write:statuses", needs_account=True)
async def move_markers(request: SiteRequest) -> Json:
    """Move the marker of home forward or back, and the read mark of notifications forward only."""
    fields, me, moved = api_fields(request), require_viewer_id(request), dict[str, Json]()
    if (home := id_field(fields, "home[last_read_id]")) is not None:
        moved[HOME] = marker_json(await request.services[MarkerService].move(me, HOME, PostId(home), back=True))
    if (notification := id_field(fields, "notifications[last_read_id]")) is not None:
        notifications = request.services[NotificationService]
        await notifications.mark_read(me, PostId(notification))
        moved[NOTIFICATIONS] = marker_json(await notifications.last_read(me))
    return moved


def marker_json(last_read_id: PostId) -> Json:
    """Return a marker. Its time and version come from the id of the entry, because the site stores only this id."""
    return {
        "last_read_id": str(last_read_id),
        "version": int(last_read_id) % 2**31,
        "updated_at": format_iso_time(ms_from_id(last_read_id)),
    }
