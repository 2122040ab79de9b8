"""The page of the quotes of a post, and the revocation of a quote."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.ids import PostId
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer_id
from socialsite.web.responses import done, respond
from timelines.pages.presenters import post_json, post_url
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import timeline_context, timeline_json
from timelines.quotes.service import QuoteService
from timelines.reading.service import ReadingService


async def revoke(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """Remove the viewer's post from the post that quotes it."""
    entry = await request.services[QuoteService].revoke(account_id=require_viewer_id(request), post_id=post_id)
    message = _("Your post is removed from the quote.")
    if entry is None:
        return done(request, {}, default="/notifications/", message=message)
    return done(request, post_json(entry), default=post_url(entry.post.id, entry.author), message=message)


async def index(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """Show the posts that quote a post, newest first."""
    query, services, me = parse_page_request(request.GET), request.services, get_viewer_id(request)
    entry = (await services[ReadingService].post(post_id, viewer_id=me)).shown
    name = entry.author.display_name or entry.author.handle
    page = await services[QuoteService].list_quotes(
        entry.id, viewer_id=me, before=query.before, after=query.after, limit=query.limit
    )
    return respond(
        request,
        "timelines/quotes.html",
        page=lambda: {
            "timeline": {**timeline_context(request, query, page, "quotes"), "live": False, "by_day": False},
            "url": Placeholder(post_url(entry.id, entry.author)),
            "author": entry.author,
            "page_title": _("Quotes of a post by %(name)s") % {"name": name},
        },
        data=lambda: timeline_json(request, page),
    )
