"""The views that pin a post to the viewer's profile and unpin it."""

from django.contrib import messages
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
    messages.success(request, _("The post is pinned to your profile."), fail_silently=True)
    return done(request, post_json(entry), default=profile_url(entry.author.handle))


async def unpin(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    entry = await request.services[PinService].unpin(account_id=require_viewer_id(request), post_id=post_id)
    messages.success(request, _("The post is no longer pinned."), fail_silently=True)
    return done(request, post_json(entry), default=profile_url(entry.author.handle))
