"""The Atom feeds of accounts and hashtags, as visitors see them. Most responses are 304, since readers poll often."""

import hashlib

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from accounts.accounts.service import AccountService
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import get_site
from timelines.feeds.atom import SiteFeed, render_account_feed, render_hashtag_feed
from timelines.hashtags.views import with_canonical_hashtag
from timelines.pages.queries import with_canonical_handle
from timelines.reading.service import ReadingService


@with_canonical_handle
async def account_atom(request: SiteRequest, handle: str) -> HttpResponseBase:
    account = await request.services[AccountService].get_by_handle(handle)
    page = await request.services[ReadingService].feed(AccountId(account.id))
    return _feed_response(request, render_account_feed(request.site_url, account, page.entries))


@with_canonical_hashtag
async def hashtag_atom(request: SiteRequest, tag: str) -> HttpResponseBase:
    page = await request.services[ReadingService].tag(tag, viewer_id=None, may_lag=True)
    return _feed_response(request, render_hashtag_feed(request.site_url, get_site(request).title, tag, page.entries))


def _feed_response(request: SiteRequest, feed: bytes) -> HttpResponseBase:
    """Return the feed, or 304 if the client has it already.

    There is no Last-Modified header, because the deletion of a post would not change it.
    """
    etag = quote_etag(hashlib.sha256(feed).hexdigest()[:32])
    response = HttpResponse(feed, content_type=SiteFeed.content_type, headers={"ETag": etag})
    return get_conditional_response(request, etag, None, response) or response
