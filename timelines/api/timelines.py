"""Timelines in the API: home, public, hashtags and lists."""

from collections.abc import Collection

from django.http import HttpResponse

from socialsite.ids import AccountId, PostId
from socialsite.web.requests import FormFields, SiteRequest, get_viewer_id, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag
from timelines.api.pagination import ApiPage, api_page, page_response
from timelines.api.presenters import site_url, statuses_json
from timelines.errors import HashtagNotFound
from timelines.ids import ListId
from timelines.lists.service import ListService
from timelines.pages.page import PagePart, PostSelection, TimelinePage
from timelines.pins.service import mark_pinned
from timelines.reading.service import ReadingService
from timelines.text.token_scanner import normalize_tag

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
    """All accounts are accounts of this site, so `remote` is empty."""
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
    fields, me, normal = api_fields(request), get_viewer_id(request), normalize_tag(tag)
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
    account_list = await request.services[ListService].get(owner_id=me, list_id=list_id)
    page = await request.services[ReadingService].list_timeline(account_list.id, viewer_id=me, **query.part)
    return await timeline_response(request, query, page)


async def timeline_response(
    request: SiteRequest, query: ApiPage, page: TimelinePage, pinned_ids: Collection[PostId] = ()
) -> HttpResponse:
    """Return a page of posts whose cursors are ids of posts. The viewer's own pinned posts are marked."""
    entries = query.trim(page.entries, lambda entry: entry.id)
    entries = mark_pinned(entries, pinned_ids) if pinned_ids else entries
    statuses = await statuses_json(request.services, site_url(request), entries)
    return page_response(request, statuses, next_id=page.next_before, previous_id=entries[0].id if entries else None)


def selected_part(query: ApiPage, selection: PostSelection, viewer_id: AccountId | None) -> PagePart:
    """Return the part of a timeline with the selected posts. Visitors may read from replicas."""
    selected = None if selection == PostSelection() else selection
    return {**query.part, "selection": selected, "may_lag": viewer_id is None}


def _hashtags(fields: FormFields, name: str) -> tuple[str, ...]:
    tags = (normalize_tag(text) for text in fields.values_of(name)[:MAX_HASHTAGS])
    return tuple(tag for tag in tags if tag)
