"""Who to follow: a page of its own, and a few on a home that is still quiet."""

from collections.abc import Sequence

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, json_response, page_response, require_viewer_id, wants_json
from timelines.following.presenters import accounts_with_follow_state
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService, Suggestion
from timelines.pages.page import TimelinePage
from timelines.pages.presenters import author_json
from timelines.pages.queries import PageQuery, parse_limit
from timelines.pages.responses import TemplateContext

SUGGESTIONS_ON_HOME = 3
MIN_FOLLOWING_WITHOUT_SUGGESTIONS = 10
"""Who follows fewer is shown some on home, where that ends on its first page."""


async def suggestions(request: SiteRequest) -> HttpResponseBase:
    found = await request.services[FollowSuggestionService].suggestions(
        require_viewer_id(request), parse_limit(request.GET)
    )
    shown = await suggested_accounts(request, found)
    if wants_json(request):
        return json_response({"accounts": shown, "next": None})
    page = {
        "accounts": shown,
        "next_url": None,
        "page_title": _("Who to follow"),
        "title": _("Who to follow"),
    }
    return page_response(request, "timelines/accounts.html", page)


async def suggest_on_home(request: SiteRequest, query: PageQuery, page: TimelinePage) -> list[TemplateContext]:
    """A few for somebody who follows few; nothing is asked where home goes on."""
    me, services = require_viewer_id(request), request.services
    if wants_json(request) or not query.is_first or page.next_before is not None:
        return []
    if (await services[FollowingService].counts(me)).following >= MIN_FOLLOWING_WITHOUT_SUGGESTIONS:
        return []
    return await suggested_accounts(
        request, await services[FollowSuggestionService].suggestions(me, SUGGESTIONS_ON_HOME)
    )


async def suggested_accounts(request: SiteRequest, found: Sequence[Suggestion]) -> list[TemplateContext]:
    """Accounts as timelines/_account.html takes them, with those one follows who follow them."""
    accounts = request.services[AccountService]
    known = await accounts.find_authors({id for each in found for id in each.known_follower_ids})
    by = await accounts.find_many([each.account_id for each in found])
    standing = [by[each.account_id] for each in found if each.account_id in by]
    by_id: dict[AccountId, Suggestion] = {each.account_id: each for each in found}
    shown = await accounts_with_follow_state(request, standing)
    for page in shown:
        among = by_id[AccountId(int(page["id"]))].known_follower_ids
        page["known"] = [author_json(known[id]) for id in among if id in known and known[id].is_visible]
    return shown
