"""Scheduled posts in the API. They are the drafts of the account that have a time."""

from django.http import HttpResponse
from msgspec import structs

from socialsite.web.requests import FormFields, SiteRequest, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.entities.media import upload_entity
from timelines.api.entities.status import scheduled_entity
from timelines.api.fields import api_fields
from timelines.api.pagination import api_page, entries_response
from timelines.drafts.draft import Draft, parse_time
from timelines.drafts.service import DraftService
from timelines.errors import DraftNotFound
from timelines.media.service import MediaService
from timelines.pages.presenters import Json
from timelines.publishing.forms import PostForm


async def schedule(request: SiteRequest, fields: FormFields) -> Json:
    """Store a post that is published later."""
    form = PostForm.parse(fields)
    draft, key = Draft(0, form.content, scheduled_ms=_parse_time(fields)), form.idempotency_key
    saved = await request.services[DraftService].save(require_viewer_id(request), draft, idempotency_key=key)
    return await _present(request, saved)


@endpoint("read:statuses", needs_account=True)
async def index(request: SiteRequest) -> HttpResponse:
    """Return the scheduled posts, the last scheduled first."""
    query = api_page(api_fields(request))
    drafts = await request.services[DraftService].scheduled(require_viewer_id(request))
    page = query.trim(drafts, lambda draft: draft.id)
    page = page[-query.limit :] if query.min_id else page[: query.limit]
    data = [await _present(request, draft) for draft in page]
    ids, is_last = [draft.id for draft in page], not page or page[-1].id == drafts[-1].id
    return entries_response(request, data, ids, is_last)


@endpoint("read:statuses", needs_account=True)
async def show(request: SiteRequest, draft_id: int) -> Json:
    return await _present(request, await _find(request, draft_id))


@endpoint("write:statuses", needs_account=True)
async def edit(request: SiteRequest, draft_id: int) -> Json:
    draft = await _find(request, draft_id)
    if at_ms := _parse_time(api_fields(request)):
        changed = structs.replace(draft, scheduled_ms=at_ms)
        draft = await request.services[DraftService].save(require_viewer_id(request), changed)
    return await _present(request, draft)


@endpoint("write:statuses", needs_account=True)
async def delete(request: SiteRequest, draft_id: int) -> None:
    draft = await _find(request, draft_id)
    await request.services[DraftService].delete(require_viewer_id(request), draft.id)


def _parse_time(fields: FormFields) -> int | None:
    return parse_time(fields.get("scheduled_at", ""))


async def _find(request: SiteRequest, draft_id: int) -> Draft:
    """Return a scheduled post. Raises DraftNotFound if it is a draft."""
    draft = await request.services[DraftService].find(require_viewer_id(request), draft_id)
    if draft.scheduled_ms is None:
        raise DraftNotFound
    return draft


async def _present(request: SiteRequest, draft: Draft) -> Json:
    form = PostForm.parse(FormFields(draft.fields))
    rows = await request.services[MediaService].find_all_own(require_viewer_id(request), form.media_ids)
    return scheduled_entity(draft, form, [upload_entity(row, request.site_url) for row in rows])
