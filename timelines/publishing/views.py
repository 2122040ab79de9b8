"""The views that publish and delete a post."""

from http import HTTPStatus

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.ids import AccountId, PostId
from socialsite.web.requests import (
    SiteRequest,
    error_page,
    get_form_data,
    require_viewer,
    require_viewer_id,
    wants_json,
)
from socialsite.web.responses import SeeOther, done, json_response, redirect_to_next
from timelines.pages.presenters import post_json
from timelines.publishing.draft import preserve_draft
from timelines.publishing.forms import PostForm
from timelines.publishing.service import PublishingService
from timelines.reading.service import ReadingService


@error_page(preserve_draft)
async def publish(request: SiteRequest) -> HttpResponseBase:
    viewer, services = require_viewer(request), request.services
    me = AccountId(viewer.id)
    form = PostForm.parse(get_form_data(request))
    post = await services[PublishingService].publish(
        author_id=me,
        text=form.text,
        in_reply_to=form.in_reply_to,
        audience=form.audience,
        details=form.details,
        poll=form.poll,
        idempotency_key=form.idempotency_key,
        now_ms=services.clock.now_ms(),
        is_private=viewer.is_private,
        caller=request.caller,
    )
    if not wants_json(request):
        messages.success(request, _("Your post is published."), fail_silently=True)
        return redirect_to_next(request, "/")
    entry = await services[ReadingService].post(post.id, viewer_id=me)
    return json_response(post_json(entry), HTTPStatus.CREATED)


async def delete(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    await request.services[PublishingService].delete(account_id=require_viewer_id(request), post_id=post_id)
    if f"/{post_id}/" in get_form_data(request).get("next", ""):  # the page of the deleted post
        return SeeOther("/")
    return done(request, {"deleted": str(post_id)}, default="/")
