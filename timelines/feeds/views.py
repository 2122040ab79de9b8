"""Atom feeds, as an anonymous visitor would see them; feed readers ask often, so most answers are 304."""

import hashlib

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from accounts.domain import AccountId
from socialsite.web.requests import SiteRequest
from timelines.feeds.atom import SiteFeed, account_feed, tag_feed
from timelines.hashtags.views import by_tag
from timelines.pages.handles import by_handle


@by_handle
async def account(request: SiteRequest, handle: str) -> HttpResponseBase:
    found = await request.services.accounts.get_by_handle(handle)
    page = await request.services.reading.feed(AccountId(found.id), may_lag=True)
    return _answer(request, account_feed(_site_url(request), found, page.entries))


@by_tag
async def tag(request: SiteRequest, tag: str) -> HttpResponseBase:
    page = await request.services.reading.tag(tag, viewer_id=None, may_lag=True)
    return _answer(request, tag_feed(_site_url(request), settings.SITE_NAME, tag, page.entries))


def _site_url(request: SiteRequest) -> str:
    return request.build_absolute_uri("/").removesuffix("/")


def _answer(request: SiteRequest, feed: bytes) -> HttpResponseBase:
    """The feed, or 304 to a reader that has it. Its time tells nobody: what was deleted changes none."""
    etag = quote_etag(hashlib.sha256(feed).hexdigest()[:32])
    response = HttpResponse(feed, content_type=SiteFeed.content_type, headers={"ETag": etag})
    return get_conditional_response(request, etag, None, response) or response
