"""Posts in the API: publish, edit, delete and read them, with their threads, versions and polls."""

from http import HTTPStatus

import msgspec
from django.http import HttpResponse
from django.utils.translation import gettext as _
from msgspec import Raw

from accounts.accounts.service import AccountService
from accounts.models import Account
from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId, PostId
from socialsite.languages import parse_language
from socialsite.web.requests import FormFields, SiteRequest, get_viewer_id, require_viewer, require_viewer_id
from socialsite.web.responses import json_response
from timelines.api.endpoint import endpoint
from timelines.api.entities.poll import poll_entity
from timelines.api.entities.status import short_texts_json, version_entity
from timelines.api.fields import api_fields, flag, ids_field
from timelines.api.pagination import api_page
from timelines.api.presenters import accounts_json, requires_keys, status_json, statuses_json, with_fields
from timelines.api.relationships import accounts_response
from timelines.api.scheduled import schedule
from timelines.api.timelines import timeline_response
from timelines.errors import PostNotFound
from timelines.notifications.service import MENTIONS_CAP
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import Json
from timelines.pins.service import PinService, mark_pinned
from timelines.polls.service import PollService, parse_choices
from timelines.posts.post import FIELDS
from timelines.profiles.summaries import AccountSummaryService
from timelines.publishing.edits import EditService
from timelines.publishing.forms import EditForm, PostForm
from timelines.publishing.service import PublishingService
from timelines.quotes.service import QuoteService
from timelines.reactions.service import ReactionsService
from timelines.reading.service import ReadingService
from timelines.text.linkify import find_mentions
from timelines.threads.service import ThreadService

STATUSES_AT_ONCE = 20
CONTENT_NAMES = tuple([each.form_names[0] for each in FIELDS if each.is_content])
"""The form fields that an edit empties if it leaves them out, as in Mastodon: clients leave empty fields out."""
FIELD_NAMES = {"status": "text", "in_reply_to_id": "in_reply_to"}
"""Mastodon's names of form fields -> the names of PostForm."""
ERROR_NAMES = {"in_reply_to": "in_reply_to_id"}
"""Names of PostForm -> the names in errors. Mastodon has `text` there, too."""
FLAGS = ("sensitive", "poll[multiple]")
PICTURES = "media_attributes"


def post_fields(request: SiteRequest) -> FormFields:
    """Return the fields of a post with the names and booleans of PostForm, without an unknown language."""
    fields = api_fields(request)
    ignored = {"language"} if parse_language(fields.get("language", "")) is None else set()
    pairs = [
        (FIELD_NAMES.get(name, name), value)
        for name, value in fields.pairs
        if name not in {*FLAGS, *ignored} and not name.startswith(f"{PICTURES}[")
    ]
    for number, picture in enumerate(fields.objects_of(PICTURES)):
        pairs += [(f"{PICTURES}[{number}][{name}]", value) for name, value in picture.items()]
    pairs += [(name, "on" if flag(fields, name) else "off") for name in FLAGS if fields.get(name)]
    if key := request.headers.get("Idempotency-Key"):
        pairs.append(("idempotency_key", key))
    return FormFields(pairs)


def apply_preferences(account: Account, fields: FormFields) -> None:
    """Add the account's preferences for new posts to the fields that the request does not have."""
    preferences = account.preferences
    if preferences.marks_sensitive and "sensitive" not in fields:
        fields.add("sensitive", "on")
    if preferences.language and not fields.get("language"):
        fields.add("language", preferences.language)
    if not (fields.get("visibility") or fields.get("in_reply_to") or account.is_private):
        fields.add("visibility", preferences.audience)


@endpoint("write:statuses", needs_account=True, names=ERROR_NAMES)
async def publish(request: SiteRequest) -> Raw | Json | HttpResponse:
    """Publish a post, or schedule it if it has the field `scheduled_at`."""
    viewer, services, fields = require_viewer(request), request.services, post_fields(request)
    apply_preferences(require_account(request), fields)
    me = AccountId(viewer.id)
    if unexpected := await _find_unexpected_mentions(request, me, fields):
        error = _("This post mentions more accounts than you expect.")
        return json_response({"error": error, "unexpected_accounts": unexpected}, HTTPStatus.UNPROCESSABLE_ENTITY)
    if fields.get("scheduled_at"):
        return await schedule(request, fields)
    post = await services[PublishingService].publish_form(
        PostForm.parse(fields),
        author_id=me,
        now_ms=services.clock.now_ms(),
        is_private=viewer.is_private,
        caller=request.caller,
    )
    services[AccountSummaryService].forget(me)
    return await load_status(request, await services[ReadingService].post(post.id, viewer_id=me))


async def _find_unexpected_mentions(request: SiteRequest, me: AccountId, fields: FormFields) -> list[Raw]:
    """Return the accounts that the text mentions, but not the field `allowed_mentions` if the request has it."""
    allowed = fields.values_of("allowed_mentions")
    handles = find_mentions(fields.get("text", ""))[:MENTIONS_CAP] if allowed else []
    ids = await request.services[AccountService].find_ids_by_handle(handles) if handles else {}
    return await accounts_json(request, [id for id in ids.values() if id != me and str(id) not in allowed])


@endpoint("write:statuses", needs_account=True)
async def edit(request: SiteRequest, post_id: PostId) -> Raw:
    """Edit a post. The language and the quote policy stay if they are left out."""
    fields = post_fields(request)
    for name in CONTENT_NAMES:
        if name not in fields:
            fields.add(name, "")
    return await _edit(request, post_id, fields)


async def _edit(request: SiteRequest, post_id: PostId, fields: FormFields) -> Raw:
    me, services = require_viewer_id(request), request.services
    post = await services[EditService].find_own(me, post_id)
    form, now_ms = EditForm.parse(fields, post), services.clock.now_ms()
    await services[EditService].edit(form, account_id=me, post_id=post_id, now_ms=now_ms, caller=request.caller)
    return await load_status(request, await services[ReadingService].post(post_id, viewer_id=me))


@endpoint("write:statuses", needs_account=True)
async def delete(request: SiteRequest, post_id: PostId) -> Raw:
    """Delete a post, and return it with its text. A new post may have its pictures, unless `delete_media` is set."""
    me, services = require_viewer_id(request), request.services
    entry = await services[ReadingService].post(post_id, viewer_id=me)
    status = await status_json(request, entry)
    keep_pictures = not flag(api_fields(request), "delete_media")
    await services[PublishingService].delete(account_id=me, post_id=post_id, keep_pictures=keep_pictures)
    services[AccountSummaryService].forget(me)
    return with_fields(status, {"text": entry.post.text})


@endpoint("read:statuses")
async def show(request: SiteRequest, post_id: PostId) -> Raw:
    me, services = get_viewer_id(request), request.services
    entry = await services[ReadingService].post(post_id, viewer_id=me)
    return await load_status(request, entry)


@endpoint("read:statuses")
async def show_many(request: SiteRequest) -> list[Raw]:
    """Return the posts of `id[]` that the viewer may see."""
    ids = [PostId(id) for id in ids_field(api_fields(request), "id", STATUSES_AT_ONCE)]
    entries = await request.services[ReadingService].posts(ids, viewer_id=get_viewer_id(request))
    return await statuses_json(request, entries)


@endpoint("read:statuses")
async def context(request: SiteRequest, post_id: PostId) -> Json:
    """Return the visible ancestors of a post, and the visible replies in the order of the conversation."""
    me, services = get_viewer_id(request), request.services
    entry = await services[ReadingService].post(post_id, viewer_id=me)
    thread = await services[ThreadService].load_whole(entry.shown.post, viewer_id=me)
    ancestors = [each.entry for each in thread.ancestors if each.entry is not None]
    replies = [each.entry for each in thread.replies if each.entry is not None]
    statuses = await statuses_json(request, [*ancestors, *replies])
    split = len(statuses) - len(replies)
    return {"ancestors": statuses[:split], "descendants": statuses[split:]}


@endpoint("read:statuses")
async def source(request: SiteRequest, post_id: PostId) -> Json:
    entry = await request.services[ReadingService].post(post_id, viewer_id=get_viewer_id(request))
    post = entry.shown.post
    return {"id": str(post.id), "text": post.text, **short_texts_json(post.extra)}


@endpoint("read:statuses")
async def history(request: SiteRequest, post_id: PostId) -> list[Json]:
    """Return all versions of a post, oldest first. Every viewer of the post may see its versions."""
    services, site, keys = request.services, request.site_url, requires_keys(request)
    entry = (await services[ReadingService].post(post_id, viewer_id=get_viewer_id(request))).shown
    status = msgspec.json.decode(await status_json(request, entry))
    same = {"account": status["account"], "quote": status["quote"]}
    versions = await services[EditService].versions(entry.post.id)
    handles = dict.fromkeys(handle for version in versions for handle in find_mentions(version.text)[:MENTIONS_CAP])
    mentioned = await services[AccountService].find_ids_by_handle(handles) if handles else ()
    return [version_entity(version, entry.author, site, keys, mentioned) | same for version in versions]


@endpoint("read:accounts", "read:statuses")
async def reblogged_by(request: SiteRequest, post_id: PostId) -> HttpResponse:
    return await accounts_response(request, request.services[ReactionsService].boosters, post_id)


@endpoint("read:accounts", "read:statuses")
async def favourited_by(request: SiteRequest, post_id: PostId) -> HttpResponse:
    return await accounts_response(request, request.services[ReactionsService].likers, post_id)


async def load_status(request: SiteRequest, entry: HydratedPost) -> Raw:
    """Return a post, with whether its author has pinned it, and whether the viewer may quote it."""
    services = request.services
    if entry.viewer is not None and entry.viewer.own:
        (entry,) = mark_pinned([entry], await services[PinService].pinned_ids(entry.author.id))
    approval = await services[QuoteService].find_approval(entry, get_viewer_id(request))
    status = await status_json(request, entry, may_quote=approval.is_allowed)
    quotes = await services[QuoteService].count(entry.shown.id)
    return with_fields(status, {"quotes_count": quotes})


@endpoint("read:statuses")
async def quotes(request: SiteRequest, post_id: PostId) -> HttpResponse:
    """Return the posts that quote a post and that the viewer may see."""
    services, me, query = request.services, get_viewer_id(request), api_page(api_fields(request))
    entry = (await services[ReadingService].post(post_id, viewer_id=me)).shown
    page = await services[QuoteService].list_quotes(entry.id, viewer_id=me, **query.part)
    return await timeline_response(request, query, page)


@endpoint("write:statuses", needs_account=True)
async def revoke_quote(request: SiteRequest, post_id: PostId, quote_id: PostId) -> Raw | None:
    """Remove the viewer's post from the post `quote_id`, and return that post, if the viewer may see it."""
    me = require_viewer_id(request)
    await request.services[EditService].find_own(me, post_id)
    entry = await request.services[QuoteService].revoke(account_id=me, post_id=quote_id)
    return None if entry is None else await load_status(request, entry)


@endpoint("write:statuses", needs_account=True)
async def set_quote_policy(request: SiteRequest, post_id: PostId) -> Raw:
    """Change who may quote a post. This is an edit, which readers see."""
    policy = api_fields(request).get("quote_approval_policy", "")
    return await _edit(request, post_id, FormFields([("quote_approval_policy", policy)]))


@endpoint("read:statuses")
async def show_poll(request: SiteRequest, post_id: PostId) -> Json:
    entry = await request.services[ReadingService].post(post_id, viewer_id=get_viewer_id(request))
    poll = poll_entity(entry.shown)
    if poll is None:
        raise PostNotFound
    return poll


@endpoint("write:statuses", needs_account=True)
async def vote(request: SiteRequest, post_id: PostId) -> Json | None:
    choices = parse_choices(api_fields(request).values_of("choices"))
    entry = await request.services[PollService].vote(
        account_id=require_viewer_id(request), post_id=post_id, choices=choices, may_repeat=False
    )
    return poll_entity(entry)
