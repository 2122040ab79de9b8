"""The page of a post with its thread as HTML and JSON."""

from collections.abc import Sequence

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.domain import picture_url
from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.ids import PostId
from socialsite.recipes.buffer import Entity
from socialsite.web.page_cache import Placeholder, RenderedParts
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer
from socialsite.web.responses import respond
from timelines.pages.entry_actions import format_count
from timelines.pages.page import HydratedPost, mark_addressed
from timelines.pages.pictures import describe_post, preview_picture_url
from timelines.pages.presenters import Json, entry_html, post_json, post_url, shows_pictures
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import TemplateContext, absolute_url, optional_placeholder, url_with_query
from timelines.pins.service import PinService, mark_pinned
from timelines.publishing.composer import composer_context
from timelines.publishing.service import default_audience
from timelines.quotes.service import QuoteApproval, QuoteService
from timelines.reading.service import ReadingService
from timelines.reading.view_counts import count_view
from timelines.text.linkify import find_mentions
from timelines.threads.service import ThreadService
from timelines.threads.thread import ThreadEntry, ThreadPage

MAX_INDENT_DEPTH = 6
"""The number of levels of indentation. static/css/thread.css has one class for each level."""


def thread_json(thread: ThreadPage) -> Json:
    """Return the visible posts of the thread. `in_reply_to` and `depth` show where hidden posts are left out."""
    ancestors = [post_json(each.entry) for each in thread.ancestors if each.entry is not None]
    return {
        "parent": post_json(thread.parent) if thread.parent else None,
        "ancestors": ancestors,
        "replies": [
            {**post_json(each.entry), "depth": each.depth} for each in thread.replies if each.entry is not None
        ],
    }


def thread_context(thread: ThreadPage, next_url: str | None) -> TemplateContext:
    """Return the part of the context of timelines/post.html that shows the thread."""
    earlier = thread.earlier_ancestor
    return {
        "ancestors_html": Placeholder(_list_items_html(thread.ancestors)) if thread.ancestors else "",
        "earlier_url": optional_placeholder(post_url(earlier.post.id, earlier.author) if earlier else None),
        "replies_html": Placeholder(_list_items_html(thread.replies)) if thread.replies else "",
        "next_url": optional_placeholder(next_url),
    }


def _list_items_html(entries: Sequence[ThreadEntry]) -> SafeString:
    """Return the joined `<li>` items. `aria-level` gives the depth to screen readers."""
    return SafeString("".join(map(_list_item_html, entries)))


def _list_item_html(found: ThreadEntry) -> str:
    if found.depth < 1:
        return f"<li>{_item_content_html(found)}</li>"
    step = min(found.depth, MAX_INDENT_DEPTH)
    return f'<li class="depth-{step}" aria-level="{found.depth}">{_item_content_html(found)}</li>'


def _item_content_html(found: ThreadEntry) -> str:
    if found.entry is None:
        return format_html('<p class="gone">{}</p>', _("This post is not available."))
    html = entry_html(found.entry)
    if not found.continues:
        return html
    url = post_url(found.entry.post.id, found.entry.author)
    return html + format_html('<p class="gone"><a href="{}">{}</a></p>', url, _("Show more of this thread"))


def approval_json(approval: QuoteApproval) -> Json:
    """Return who may quote a post, with the field names of Mastodon's QuoteApproval entity."""
    automatic = [] if approval.policy == "nobody" else [approval.policy]
    return {"automatic": automatic, "manual": [], "current_user": "automatic" if approval.is_allowed else "denied"}


MAX_DESCRIPTION_LENGTH = 200  # characters of a post in the description of its page


async def show(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """Show a post with its thread. Redirects (301) if the handle in the URL is not the author's."""
    query, services, me = parse_page_request(request.GET), request.services, get_viewer_id(request)
    entry = await services[ReadingService].post(post_id, viewer_id=me)
    if entry.author.handle != handle:
        return HttpResponsePermanentRedirect(post_url(post_id, entry.author))
    views, thread, quotes, approval = await run_together(
        count_view(request, Entity("post", entry.shown.post.id), entry.shown.author.id),
        services[ThreadService].load_page(entry.shown.post, viewer_id=me, after=query.after or 0, limit=query.limit),
        services[QuoteService].count(entry.shown.id),
        services[QuoteService].find_approval(entry, me),
    )
    if entry.viewer is not None and entry.viewer.own and me is not None:
        (entry,) = mark_pinned([entry], await services[PinService].pinned_ids(me))
    if request.account is not None and request.account.handle in find_mentions(entry.shown.post.text):
        entry = mark_addressed(entry)
    next_url = url_with_query(request, after=thread.next_after)
    return respond(
        request,
        "timelines/post.html",
        page=lambda: {
            **_page_context(request, entry),
            **thread_context(thread, next_url),
            "views": views,
            "quotes_url": optional_placeholder(f"/posts/{entry.shown.id}/quotes/" if quotes else None),
            "quotes": Placeholder(format_count(quotes, get_language() or "")),
        },
        data=lambda: {
            **post_json(entry),
            **thread_json(thread),
            "quotes_count": quotes,
            "quote_approval": approval_json(approval),
            "next": next_url,
        },
    )


def _page_context(request: SiteRequest, entry: HydratedPost) -> TemplateContext:
    url, shown = post_url(entry.post.id, entry.author), entry.shown
    original = post_url(shown.post.id, shown.author)
    return {
        "author": entry.author,
        "entry_html": Placeholder(RenderedParts([entry_html(entry, is_first_picture=shows_pictures(entry)).encode()])),
        "likes": Placeholder(format_count(entry.counts.likes, get_language() or "")),
        "boosts": Placeholder(format_count(entry.counts.boosts, get_language() or "")),
        "likes_url": optional_placeholder(f"{original}likes/" if entry.counts.likes else None),
        "boosts_url": optional_placeholder(f"{original}boosts/" if entry.counts.boosts else None),
        "composer": _reply_composer_context(request, entry, url) if request.account else None,
        "page_title": _("Post by %(name)s") % {"name": entry.author.display_name or entry.author.handle},
        "page_description": Placeholder(describe_post(entry.shown.post)[:MAX_DESCRIPTION_LENGTH]),
        "canonical_url": request.site_url + url,
        "og_type": "article",
        "og_image": absolute_url(
            request, preview_picture_url(shown.post, shown.author) or picture_url(shown.author.avatar, "full")
        ),
    }


def _reply_composer_context(request: SiteRequest, entry: HydratedPost, url: str) -> TemplateContext:
    audience = default_audience(require_viewer(request).is_private, entry.shown)
    return composer_context(
        require_account(request).preferences,
        in_reply_to=entry.post.id,
        next_url=url,
        audience=audience,
        fields={"spoiler_text": entry.shown.post.extra.spoiler_text},
    )
