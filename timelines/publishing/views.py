"""The views that publish, edit and delete a post, and the page of its versions."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId, PostId
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import (
    FormFields,
    SiteRequest,
    error_page,
    get_form_data,
    get_viewer_id,
    require_viewer,
    require_viewer_id,
    wants_json,
)
from socialsite.web.responses import SeeOther, done, json_response, page_response, redirect_to_next, respond
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import MediaInvalid, NotQuotable, PostHeld, PostInvalid
from timelines.media.media import MEDIA_PER_POST, UPLOAD_MAX_BYTES
from timelines.media.service import MediaService
from timelines.media.views import check_upload
from timelines.pages.presenters import entry_html, post_json, post_url, profile_url, version_json
from timelines.posts.post import FURTHER_TEXTS
from timelines.publishing.composer import composer_context, edit_composer_context, refused_composer_context
from timelines.publishing.edits import EditService
from timelines.publishing.forms import (
    THREAD_POSTS_CAP,
    EditForm,
    PostForm,
    edit_fields,
    picture_fields,
    redraft_fields,
    shown_poll,
)
from timelines.publishing.poll_form import PollForm
from timelines.publishing.refused_post import COMPOSE_TEMPLATE, EDIT_TEMPLATE, preserve_edit
from timelines.publishing.service import PublishingService
from timelines.publishing.thread import publish_thread
from timelines.publishing.version_diff import VERSIONS_PER_PAGE, read_version_rows
from timelines.quotes.service import QuoteService
from timelines.reading.service import ReadingService

READY_TIMEOUT_S = 4.0
"""Time that a form waits for its pictures. Then it is shown again, with the pictures."""


async def publish(request: SiteRequest) -> HttpResponseBase:
    """Publish a post. Its pictures are uploaded before (`media_ids`), or come with the form (`file`)."""
    viewer, services = require_viewer(request), request.services
    me = AccountId(viewer.id)
    try:
        posts = await publish_thread(
            services[PublishingService],
            PostForm.parse(get_form_data(request)),
            author_id=me,
            now_ms=services.clock.now_ms(),
            is_private=viewer.is_private,
            caller=request.caller,
        )
    except PostHeld as error:
        data = {"held": True, "message": str(error.message)}
        return done(request, data, default="/drafts/", status=HTTPStatus.ACCEPTED, message=error.message)
    message = _("Your post is published.") if len(posts) == 1 else _("Your posts are published.")
    if not wants_json(request):
        messages.success(request, message, fail_silently=True)
        return redirect_to_next(request, "/")
    entry = await services[ReadingService].post(posts[0].id, viewer_id=me)
    further = {"thread": [str(post.id) for post in posts], "message": message} if len(posts) > 1 else {}
    return json_response({**post_json(entry), **further}, HTTPStatus.CREATED)


async def show_form(request: SiteRequest) -> HttpResponseBase:
    """Show the form of a new post, for a browser without scripts and for the dialog of other pages."""
    composer = composer_context(require_account(request).preferences)
    return page_response(request, COMPOSE_TEMPLATE, {"composer": composer})


async def show_quote_form(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """Show the form of a new post that quotes this post. Raises NotQuotable."""
    account, services = require_account(request), request.services
    me = AccountId(account.id)
    entry = (await services[ReadingService].post(post_id, viewer_id=me)).shown
    if not (await services[QuoteService].find_approval(entry, me)).is_allowed:
        raise NotQuotable
    fields = {"quoted_status_id": str(entry.id)}
    composer = composer_context(account.preferences, next_url=post_url(entry.id, entry.author), fields=fields)
    return respond(
        request,
        "timelines/quote.html",
        page=lambda: {"composer": composer, "entry_html": Placeholder(SafeString(entry_html(entry)))},
        data=lambda: {"quoted_status_id": str(entry.id)},
    )


async def upload_pictures_of_form(request: SiteRequest, owner_id: AccountId) -> None:
    """Upload the files of a form without a script, wait until they are ready, and add their ids to the form.

    If the post is refused, the form that is shown again has these ids. Raises PostInvalid.
    """
    media, fields = request.services[MediaService], get_form_data(request)
    descriptions = fields.values_of("description")
    pictures = [(file, "".join(descriptions[n : n + 1])) for n, file in enumerate(get_files(request, "file"))]
    for n in range(MEDIA_PER_POST):  # browsers leave out empty files: numbers keep the order
        pictures += [(file, fields.get(f"description-{n}", "")) for file in get_files(request, f"file-{n}")]
    if not pictures:
        return
    if request.pending_body is None:
        await check_upload(request)  # the handler has read a small body before this check
    rows = []
    for file, description in pictures[:MEDIA_PER_POST]:
        try:
            rows.append(await media.upload(owner_id=owner_id, content=file, alt=description))
        except MediaInvalid as error:
            raise PostInvalid({"media_ids": next(iter(error.fields.values()), error.message)}) from error
        fields.add("media_ids", str(rows[-1].id))
    await media.wait_until_done(rows, READY_TIMEOUT_S)


def change_form(fields: FormFields) -> bool:
    """Apply the button of a page without scripts to the form. Return whether to show the form again.

    The field `picture` is "up", "down" or "remove" and the id of a picture; the field `add` is "pictures" or "post".
    """
    action, _space, media_id = fields.get("picture", "").partition(" ")
    ids = [value for value in fields.values_of("media_ids") if value]
    if media_id in ids:
        at = ids.index(media_id)
        ids.remove(media_id)
        if action != "remove":
            ids.insert(max(0, at + (-1 if action == "up" else 1)), media_id)
        fields.replace("media_ids", ids)
    adds = fields.get("add")
    if adds == "post" and len(fields.values_of(FURTHER_TEXTS)) + 1 < THREAD_POSTS_CAP:
        fields.add(f"{FURTHER_TEXTS}[]", "")
    return bool(action or adds)


async def show_redraft_form(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """Show the form of a new post that begins as a copy of a post of the viewer and replaces it."""
    account = require_account(request)
    post = await request.services[EditService].find_own(AccountId(account.id), post_id)
    fields = redraft_fields(post)
    return respond(
        request,
        "timelines/redraft.html",
        page=lambda: {"composer": refused_composer_context(account.preferences, fields, "")},
        data=lambda: {**fields},
    )


async def show_edit_form(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """Show the form to edit a post of the viewer. As JSON, return the text as the author wrote it."""
    account = require_account(request)
    post = await request.services[EditService].find_own(AccountId(account.id), post_id)
    fields = edit_fields(post)
    form = FormFields([*fields.items(), *picture_fields(post.extra.media)])
    return respond(
        request,
        "timelines/edit.html",
        page=lambda: {"composer": edit_composer_context(account.preferences, post_id, form, shown_poll(post))},
        data=lambda: {"id": str(post.id), **fields},
    )


@error_page(preserve_edit)
@accepts_files(MEDIA_PER_POST * UPLOAD_MAX_BYTES, check_upload)
async def edit(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    viewer, services = require_viewer(request), request.services
    me, edits = AccountId(viewer.id), services[EditService]
    post = await edits.find_own(me, post_id)
    await upload_pictures_of_form(request, me)
    fields = get_form_data(request)
    if change_form(fields):
        composer = edit_composer_context(require_account(request).preferences, post_id, fields, PollForm.parse(fields))
        return page_response(request, EDIT_TEMPLATE, {"composer": composer})
    form, now_ms = EditForm.parse(fields, post), services.clock.now_ms()
    await edits.edit(form, account_id=me, post_id=post_id, now_ms=now_ms, caller=request.caller)
    if not wants_json(request):
        messages.success(request, _("Your changes are saved."), fail_silently=True)
        return redirect_to_next(request, f"{profile_url(viewer.handle)}{post_id}/")
    return json_response(post_json(await services[ReadingService].post(post_id, viewer_id=me)))


async def show_history(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """Show the versions of a post, newest first, in pages. JSON has all. Every viewer of the post may see its
    versions."""
    services = request.services
    entry = (await services[ReadingService].post(post_id, viewer_id=get_viewer_id(request))).shown
    url = post_url(entry.post.id, entry.author)
    if (entry.author.handle, entry.post.id) != (handle, post_id):
        return HttpResponsePermanentRedirect(f"{url}history/")
    versions = await services[EditService].versions(post_id)
    number = request.GET.get("page", "")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 3 else 0
    rows = [] if wants_json(request) else await read_version_rows(versions, entry.author, page)
    is_last = (page + 1) * VERSIONS_PER_PAGE >= len(versions)
    return respond(
        request,
        "timelines/history.html",
        page=lambda: {
            "author": entry.author,
            "url": url,
            "page_title": _("Versions of a post by %(name)s") % {"name": entry.author.display_name or handle},
            "versions": rows,
            "is_edited": len(versions) > 1,
            "next_url": "" if is_last else f"{url}history/?page={page + 1}",
        },
        data=lambda: {"versions": [version_json(version, entry.author) for version in versions]},
    )


async def delete(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    me, fields = require_viewer_id(request), get_form_data(request)
    keeps = fields.get("keep_pictures") == "on"  # the writer takes back a post and goes on writing
    await request.services[PublishingService].delete(account_id=me, post_id=post_id, keep_pictures=keeps)
    if f"/{post_id}/" in fields.get("next", ""):  # `next` is the page of the deleted post
        return SeeOther("/")
    return done(request, {"deleted": str(post_id)}, default="/")
