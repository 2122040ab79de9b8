"""The view with which an author removes the preview of a link from a post."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.ids import PostId
from socialsite.web.requests import SiteRequest, require_viewer_id
from socialsite.web.responses import done
from timelines.previews.service import PreviewService


async def remove(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    await request.services[PreviewService].remove(require_viewer_id(request), post_id)
    return done(request, {"id": str(post_id)}, default="/", message=_("The preview is removed."))
