"""The pages of drafts and scheduled posts, and the publication of a draft."""

from datetime import UTC, datetime
from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from msgspec import structs

from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId, parse_id
from socialsite.web.requests import FormFields, SiteRequest, error_page, get_form_data, require_viewer_id
from socialsite.web.responses import done, page_response, respond, select_fields
from socialsite.web.uploads import accepts_files
from timelines.drafts.draft import Draft, parse_time
from timelines.drafts.service import DraftService
from timelines.errors import DraftNotFound
from timelines.media.forms import parse_media_changes
from timelines.media.media import MEDIA_PER_POST, UPLOAD_MAX_BYTES
from timelines.media.service import MediaService
from timelines.media.views import check_upload
from timelines.pages.presenters import Json
from timelines.publishing import views as publishing
from timelines.publishing.composer import refused_composer_context
from timelines.publishing.forms import PostForm, draft_fields, picture_fields
from timelines.publishing.refused_post import COMPOSE_TEMPLATE, preserve_post

DRAFTS_URL = "/drafts/"


async def index(request: SiteRequest) -> HttpResponseBase:
    drafts = await request.services[DraftService].all(require_viewer_id(request))
    return respond(
        request,
        "timelines/drafts.html",
        page=lambda: {"drafts": [draft_context(each) for each in drafts], "page_title": _("Drafts")},
        data=lambda: {"drafts": [draft_json(each) for each in drafts]},
    )


async def show(request: SiteRequest, draft_id: int) -> HttpResponseBase:
    """Show a draft in the form of a post."""
    account = require_account(request)
    draft = await request.services[DraftService].find(AccountId(account.id), draft_id)
    media_ids = [parse_id(value) or 0 for name, value in draft.fields if name == "media_ids"]
    rows = await request.services[MediaService].find_all_own(AccountId(account.id), media_ids)
    fields = [(name, value) for name, value in draft.fields if name != "media_ids"]
    fields += picture_fields(row.attachment for row in rows)
    composer = refused_composer_context(account.preferences, FormFields(fields), draft.error)
    composer |= {"draft": str(draft.id), "scheduled_at": local_time(draft.scheduled_ms)}
    return page_response(request, COMPOSE_TEMPLATE, {"composer": composer, "is_draft": True})


@error_page(preserve_post)
@accepts_files(MEDIA_PER_POST * UPLOAD_MAX_BYTES, check_upload)
async def save(request: SiteRequest) -> HttpResponseBase:
    """Save the form of a post as a draft, or schedule it. An empty form deletes its draft."""
    return await _show_again(request) or await _save(request)


async def _save(request: SiteRequest) -> HttpResponseBase:
    fields, service, me = get_form_data(request), request.services[DraftService], require_viewer_id(request)
    await _save_descriptions(request.services[MediaService], me, fields)
    draft_id = parse_id(fields.get("draft", "")) or 0
    draft = Draft(draft_id, draft_fields(fields), scheduled_ms=parse_time(fields.get("scheduled_at", "")))
    if draft.is_empty:
        await service.delete(me, draft_id)
        return done(request, {}, default=DRAFTS_URL)
    key = None if draft.scheduled_ms is None else PostForm.parse(fields).idempotency_key
    try:
        draft = await service.save(me, draft, idempotency_key=key)
    except DraftNotFound:  # deleted on another device: store the typed text as a new draft
        draft = await service.save(me, structs.replace(draft, id=0), idempotency_key=key)
    return done(request, draft_json(draft), default=DRAFTS_URL, status=HTTPStatus.CREATED)


@error_page(preserve_post)
@accepts_files(MEDIA_PER_POST * UPLOAD_MAX_BYTES, check_upload)
async def publish(request: SiteRequest) -> HttpResponseBase:
    """Publish a post and delete its draft. A post with a time is scheduled."""
    if page := await _show_again(request):
        return page
    fields = get_form_data(request)
    if fields.get("scheduled_at"):
        return await _save(request)
    response = await publishing.publish(request)
    if draft_id := parse_id(fields.get("draft", "")):
        await request.services[DraftService].delete(require_viewer_id(request), draft_id)
    return response


async def delete(request: SiteRequest, draft_id: int) -> HttpResponseBase:
    await request.services[DraftService].delete(require_viewer_id(request), draft_id)
    return done(request, {}, default=DRAFTS_URL)


async def _show_again(request: SiteRequest) -> HttpResponseBase | None:
    """Upload the files of the form. Return the form again if a button asks for that without JavaScript."""
    await publishing.upload_pictures_of_form(request, require_viewer_id(request))
    fields = get_form_data(request)
    if not publishing.change_form(fields):
        return None
    composer = refused_composer_context(require_account(request).preferences, fields, "")
    return page_response(request, COMPOSE_TEMPLATE, {"composer": composer, "is_draft": bool(fields.get("draft"))})


async def _save_descriptions(media: MediaService, owner_id: AccountId, fields: FormFields) -> None:
    """Store the descriptions and focal points of the pictures of a draft in their rows."""
    changes = parse_media_changes(fields)
    for row in await media.find_all_own(owner_id, list(changes)):
        change = changes[row.id]
        if not row.post and row.state != "refused":
            await media.describe(owner_id=owner_id, media_id=row.id, alt=change.alt, focus=change.focus)


def local_time(at_ms: int | None) -> str:
    """Return the value of a `datetime-local` field in UTC. The page's script shows it in the reader's time zone."""
    return "" if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M")


def draft_context(draft: Draft) -> Json:
    return {
        "id": draft.id,
        "text": draft.value("text") or draft.value("spoiler_text"),
        "saved_ms": draft.saved_ms,
        "scheduled_ms": draft.scheduled_ms,
        "error": draft.error,
        "held_ms": draft.held_ms,
        "pictures": len(draft.media_ids),
        "has_poll": bool(draft.value("poll[options]")),
    }


def draft_json(draft: Draft) -> Json:
    """Return a draft. `params` has the fields of the post, each as a list of values."""
    params: dict[str, list[str]] = {}
    for name, value in draft.fields:
        params.setdefault(name, []).append(value)
    return select_fields(
        draft, "id saved_at scheduled_at", params=params, error=draft.error or None, held=draft.held_ms is not None
    )
