"""The views of the search page and of the autocompletion of handles and hashtags."""

from http import HTTPStatus

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.errors import MalformedRequest
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_viewer_id, wants_json
from socialsite.web.responses import json_response, page_response, respond
from timelines.following.presenters import accounts_with_follow_state
from timelines.pages.page import PageRequest
from timelines.pages.presenters import author_json, hashtag_json, posts_json
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import TemplateContext, optional_placeholder, timeline_context, url_with_query
from timelines.search.autocomplete import AutocompleteService
from timelines.search.explore import explore
from timelines.search.query import QUERY_LENGTH_CAP, QueryInvalid, parse_query
from timelines.search.service import NAME_LIMITS, SearchKind, SearchResults, SearchService
from timelines.text.token_scanner import normalize_tag

COMPLETIONS_SHOWN = 8
QUERY_ERROR_MESSAGES = {
    "too_long": gettext_lazy("This is longer than 300 characters."),
    "nothing": gettext_lazy("Enter at least one word, a hashtag, or from: with a handle."),
    "day": gettext_lazy("Write a day like 2026-01-31."),
    "handle": gettext_lazy("Write a handle after from:, for example from:alice."),
    "authors": gettext_lazy("Use from: only once: a post has one author."),
}


async def search(request: SiteRequest) -> HttpResponseBase:
    """Show matching accounts, hashtags and posts, or those of `?tab=`. Without a query, show Explore."""
    text, cut, tab = request.GET.get("q", ""), parse_page_request(request.GET), _get_tab(request)
    if cut.after is not None:
        raise MalformedRequest(fields={"after": _("Search supports only the cursor before.")})
    if not text.strip():
        return await explore(request)
    try:
        query = parse_query(text)
    except QueryInvalid as refused:
        return _invalid_query_response(request, text, refused)
    results = await request.services[SearchService].search(
        query,
        viewer_id=get_viewer_id(request),
        before=cut.before,
        limit=cut.limit,
        kind=tab if tab != "all" or cut.is_first else "posts",
        caller=request.caller,
    )
    accounts = await accounts_with_follow_state(request, results.account_ids)
    return _results_response(request, cut, text, results, accounts)


async def redirect_to_search(request: SiteRequest) -> HttpResponseBase:
    return HttpResponsePermanentRedirect(request.get_full_path().replace("explore", "search", 1))


async def autocomplete(request: SiteRequest) -> HttpResponseBase:
    """Return accounts for a query such as `?q=@al`, and hashtags for a query such as `?q=#re`."""
    text = request.GET.get("q", "")
    sign, prefix = text[:1], text[1 : QUERY_LENGTH_CAP + 1]
    completing = request.services[AutocompleteService]
    if sign not in ("@", "＠", "#", "＃"):
        raise MalformedRequest(fields={"q": _("This must begin with @ or #.")})
    if sign in ("@", "＠"):
        authors = await completing.complete_accounts(
            prefix, viewer_id=get_viewer_id(request), limit=COMPLETIONS_SHOWN, caller=request.caller
        )
        return json_response({"accounts": [author_json(author) for author in authors]})
    typed = normalize_tag(prefix) or ""
    tags = await completing.complete_hashtags(typed, limit=COMPLETIONS_SHOWN, caller=request.caller)
    return json_response({"tags": [hashtag_json(tag) | _rest_json(tag, typed) for tag in tags]})


def _rest_json(tag: str, typed: str) -> dict[str, str]:
    """Return the rest of a hashtag after the typed letters. A client that appends it keeps their capitals, as in
    #DogsOfX."""
    return {"rest": tag.removeprefix(typed)} if tag.startswith(typed) else {}


def _results_response(
    request: SiteRequest, cut: PageRequest, text: str, results: SearchResults, accounts: list[TemplateContext]
) -> HttpResponseBase:
    page, tags = results.posts, [hashtag_json(tag) for tag in results.hashtags]
    tab = _get_tab(request)
    tab_query = {} if tab == "all" else {"tab": tab}
    next_url = url_with_query(request, q=text, **tab_query, before=page.next_before)
    return respond(
        request,
        "timelines/search.html",
        page=lambda: {
            **_form_context(text),
            "tabs": {name: optional_placeholder(url_with_query(request, q=text, tab=name)) for name in NAME_LIMITS},
            "tab": tab,
            "timeline": {
                **timeline_context(request, cut, page, "search"),
                "next_url": optional_placeholder(next_url),
                "live": False,
            },
            "accounts": accounts,
            "tags": tags,
            "is_similar": results.is_similar and bool(accounts or tags),
            "newest_url": None if cut.is_first else optional_placeholder(url_with_query(request, q=text, **tab_query)),
        },
        data=lambda: {
            "posts": posts_json(page.entries),
            "accounts": accounts,
            "tags": tags,
            "similar": results.is_similar,
            "next": next_url,
            "previous": None,
        },
    )


def _invalid_query_response(request: SiteRequest, text: str, refused: QueryInvalid) -> HttpResponseBase:
    """Return the search form with the query and the reason why it is invalid (status 400)."""
    reason = QUERY_ERROR_MESSAGES[refused.code]
    if wants_json(request):
        raise MalformedRequest(fields={"q": reason}) from refused
    return page_response(
        request, "timelines/search.html", {**_form_context(text), "error": reason}, HTTPStatus.BAD_REQUEST
    )


def _get_tab(request: SiteRequest) -> SearchKind:
    """Return the kind of results that the request asks for. An unknown name means all kinds."""
    return next((kind for kind in NAME_LIMITS if kind == request.GET.get("tab")), "all")


def _form_context(text: str) -> TemplateContext:
    return {"query": Placeholder(text), "max_length": QUERY_LENGTH_CAP, "page_title": _("Search"), "robots": "noindex"}
