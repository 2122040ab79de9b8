"""The form that quotes a post, the page of the quotes of a post, and the revocation of a quote."""

from django.http.response import HttpResponseBase
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId, PostId
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer_id
from socialsite.web.responses import done, respond
from timelines.errors import NotQuotable
from timelines.pages.presenters import entry_html, post_json, post_url
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import timeline_context, timeline_json
from timelines.publishing.composer import composer_context
from timelines.quotes.service import QuoteService
from timelines.reading.service import ReadingService


async def show_form(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
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
