"""Search, and the completion of handles and hashtags while somebody writes."""

import asyncio
from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.errors import Malformed
from socialsite.web.limits import Counted
from socialsite.web.page_cache import Slot
from socialsite.web.requests import SiteRequest, json_response, page_response, respond, viewer_id, wants_json
from timelines.hashtags.trend_views import trends_slot
from timelines.pages.page import TimelinePage
from timelines.pages.presenters import Json, author_json, posts_json, tag_json
from timelines.pages.queries import PageQuery
from timelines.pages.responses import Page, link, slot, timeline, with_following
from timelines.search.query import LENGTH_CAP, QueryRefused, parsed
from timelines.text.token_scanner import normalize_tag

ACCOUNTS_SHOWN, TAGS_SHOWN = 5, 8
COMPLETED = 8
REASONS = {
    "too_long": gettext_lazy("This is longer than 300 characters."),
    "nothing": gettext_lazy("Say at least one word, a hashtag, or from: and a handle."),
    "day": gettext_lazy("A day is written like 2026-01-31."),
    "handle": gettext_lazy("After from: stands a handle, like from:alice."),
    "authors": gettext_lazy("A post has one author: say from: once."),
}


async def search(request: SiteRequest) -> HttpResponseBase:
    """Accounts, hashtags and posts; without a query, the form alone."""
    text, cut = request.GET.get("q", ""), PageQuery.of(request.GET)
    if cut.after is not None:
        raise Malformed(fields={"after": _("Search goes back in time only: before.")})
    if not text.strip():
        trends = await trends_slot(request)
        return _answer(request, cut, text, TimelinePage((), None, None), [], [], trends)
    try:
        query = parsed(text)
    except QueryRefused as refused:
        return _refused(request, text, refused)
    async with Counted(request, "search"):
        page, accounts, tags = await asyncio.gather(
            request.services.search.posts(
                query, viewer_id=viewer_id(request), before=cut.before, limit=cut.limit
            ),
            _accounts(request, query.account_name if cut.is_first else ""),
            _tags(request, query.tag_name if cut.is_first else ""),
        )
    return _answer(request, cut, text, page, accounts, tags)


async def complete(request: SiteRequest) -> HttpResponseBase:
    """`?q=@al` answers {accounts}, `?q=#re` {tags}."""
    text = request.GET.get("q", "")
    sign, prefix = text[:1], text[1 : LENGTH_CAP + 1]
    completing = request.services.completing
    if sign not in ("@", "＠", "#", "＃"):
        raise Malformed(fields={"q": _("This begins with neither @ nor #.")})
    async with Counted(request, "complete"):
        if sign in ("@", "＠"):
            found = await completing.accounts(prefix, viewer_id=viewer_id(request), limit=COMPLETED)
            return json_response({"accounts": [author_json(author) for author in found]})
        tag = normalize_tag(prefix)
        tags = await completing.tags(tag, limit=COMPLETED) if tag else []
        return json_response({"tags": [tag_json(each) for each in tags]})


async def _accounts(request: SiteRequest, name: str) -> list[Page]:
    """As timelines/_account.html takes them."""
    services = request.services
    if not name:
        return []
    authors = await services.completing.accounts(name, viewer_id=viewer_id(request), limit=ACCOUNTS_SHOWN)
    found = await services.accounts.find_many(author.id for author in authors)
    return await with_following(request, [found[author.id] for author in authors if author.id in found])


async def _tags(request: SiteRequest, name: str) -> list[Json]:
    tag = normalize_tag(name)
    found = await request.services.completing.tags(tag, limit=TAGS_SHOWN) if tag else []
    return [tag_json(each) for each in found]


def _answer(
    request: SiteRequest,
    cut: PageQuery,
    text: str,
    page: TimelinePage,
    accounts: list[Page],
    tags: list[Json],
    trends: Slot | str = "",
) -> HttpResponseBase:
    next_url = link(request, q=text, before=page.next_before)
    return respond(
        request,
        "timelines/search.html",
        page=lambda: {
            **_form(text),
            "timeline": {**timeline(request, cut, page, "search"), "next_url": slot(next_url), "live": False},
            "accounts": accounts,
            "tags": tags,
            "trends_html": trends,
            "newest_url": None if cut.is_first else slot(link(request, q=text)),
        },
        data=lambda: {
            "posts": posts_json(page.entries),
            "accounts": accounts,
            "tags": tags,
            "next": next_url,
            "previous": None,
        },
    )


def _refused(request: SiteRequest, text: str, refused: QueryRefused) -> HttpResponseBase:
    """400 with the reason beside the field, which keeps what was typed."""
    reason = REASONS[refused.code]
    if wants_json(request):
        raise Malformed(fields={"q": reason}) from refused
    return page_response(
        request, "timelines/search.html", {**_form(text), "error": reason}, HTTPStatus.BAD_REQUEST
    )


def _form(text: str) -> Page:
    return {
        "query": Slot(text),
        "is_asked": bool(text.strip()),
        "max_length": LENGTH_CAP,
        "page_title": _("Search"),
        "robots": "noindex",
    }
