"""The views that pin a post to the viewer's profile and unpin it."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.ids import PostId
from socialsite.web.requests import SiteRequest, require_viewer_id
from socialsite.web.responses import done
from timelines.pages.presenters import post_json, profile_url
from timelines.pins.service import PinService


async def pin(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    entry = await request.services[PinService].pin(
        account_id=require_viewer_id(request), post_id=post_id, now_ms=request.services.clock.now_ms()
    )
    message, url = _("The post is pinned to your profile."), profile_url(entry.author.handle)
    return done(request, post_json(entry), default=url, message=message)


async def unpin(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    entry = await request.services[PinService].unpin(account_id=require_viewer_id(request), post_id=post_id)
    message, url = _("The post is no longer pinned."), profile_url(entry.author.handle)
    return done(request, post_json(entry), default=url, message=message)
