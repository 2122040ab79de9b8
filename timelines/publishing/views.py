"""A post's own page, publishing and deleting."""

from http import HTTPStatus

from django.http.response import HttpResponseBase

from socialsite.ids import PostId
from socialsite.web.limits import Counted
from socialsite.web.requests import (
    SiteRequest,
    done,
    form_data,
    json_response,
    own_id,
    see_other,
    wants_json,
)
from timelines.pages.presenters import post_json
from timelines.publishing.composer import default_audience
from timelines.publishing.forms import PostForm


async def publish(request: SiteRequest) -> HttpResponseBase:
    me, services = own_id(request), request.services
    form = PostForm.of(form_data(request))
    async with Counted(request, "post"):
        post = await services.publishing.publish(
            author_id=me,
            text=form.text,
            in_reply_to=form.in_reply_to,
            audience=form.audience if form.audience is not None else default_audience(request),
            idempotency_key=form.idempotency_key,
            now_ms=services.clock.now_ms(),
        )
    if not wants_json(request):
        return see_other(request, "/")
    entry = await services.reading.post(post.id, viewer_id=me)
    return json_response(post_json(entry), HTTPStatus.CREATED)


async def delete(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    await request.services.publishing.delete(account_id=own_id(request), post_id=post_id)
    return done(request, {"deleted": str(post_id)}, default="/")
