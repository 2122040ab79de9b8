"""Follows, follow requests, blocks, mutes, hidden boosts and notes: actions, pages of accounts, and suggestions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.models import Account
from socialsite.concurrency import run_together
from socialsite.errors import LazyText
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.web.requests import SiteRequest, find_own_path, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import done, format_iso_time, json_response, page_response
from timelines.errors import MuteDurationInvalid
from timelines.filters.forms import parse_end_ms
from timelines.following.actions import ACTIONS, RelationAction
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.follow_requests import FollowRequestService
from timelines.following.presenters import accounts_with_follow_state
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService, Suggestion
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.pages.page import PageRequest, TimelinePage
from timelines.pages.presenters import author_json, profile_url
from timelines.pages.queries import HandleView, parse_follow_cursor, parse_limit, with_canonical_handle
from timelines.pages.responses import TemplateContext, url_with_query
from timelines.text.unicode_script import scripts_of_languages
from timelines.visibility.rights import NO_EXPIRY_MS

FOLLOW_REQUESTS_URL = "/accounts/requests/"
SUGGESTIONS_ON_HOME = 3
MIN_FOLLOWING_WITHOUT_SUGGESTIONS = 10
"""The home page shows suggestions to viewers who follow fewer accounts than this."""

PageReader = Callable[[AccountId, FollowCursor | None, int], Awaitable[FollowPage]]
EndReader = Callable[[AccountId, Sequence[AccountId]], Awaitable[Mapping[AccountId, int]]]
"""(account id, muted accounts) -> the end of each mute in Unix ms."""


# Following


@with_canonical_handle
async def follow(request: SiteRequest, handle: str) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    account = await services[AccountService].get_by_handle(handle)
    await services[ActionLimits].enforce_newcomer_follow(request.caller)
    await services[FollowingService].follow(
        follower_id=me, followed_id=AccountId(account.id), now_ms=services.clock.now_ms()
    )
    return await relation_response(request, account)


async def relation_response(
    request: SiteRequest, account: Account, *, redirect_to: str | None = None, message: LazyText = ""
) -> HttpResponseBase:
    """Respond with the relation after an action. `requested` is true after a follow of a private account."""
    me, services, other_id = require_viewer_id(request), request.services, AccountId(account.id)
    counts, relationship = await run_together(
        services[FollowingService].counts(other_id),
        services[BlocksAndMutesService].relationship(me, other_id, services.clock.now_ms()),
    )
    data = {"following": relationship.follows, "followers": counts.followers}
    if relationship.requested and not relationship.follows:
        data["requested"] = True
    return done(request, data, default=redirect_to or profile_url(account.handle), message=message)


# Unfollowing, follow requests, blocks, mutes, hidden boosts


def relation_view(
    action: RelationAction, *, redirect_to: str | None = None, message: LazyText = "", undo: str = ""
) -> HandleView:
    """Return a view that performs an action on the account of a handle. The account may be suspended.

    The next page shows the message, with a button for the action `undo`.
    """

    @with_canonical_handle
    async def view(request: SiteRequest, handle: str) -> HttpResponseBase:
        me = require_viewer_id(request)
        account = await request.services[AccountService].get_undeleted_by_handle(handle)
        await action(request, me, AccountId(account.id))
        shown = _offer_undo(str(message) % {"handle": account.handle}, account.handle, undo) if undo else ""
        return await relation_response(request, account, redirect_to=redirect_to, message=shown)

    return view


def _offer_undo(text: str, handle: str, undo: str) -> str:
    """Return a sentence with a button, which uses the page's action form."""
    button = '{} <button class="undo" type="submit" form="post-actions" formaction="/@{}/{}/">{}</button>'
    return format_html(button, text, handle, undo, _("Undo"))


def _mute(request: SiteRequest, me: AccountId, other: AccountId) -> Awaitable[object]:
    now_ms = request.services.clock.now_ms()
    until_ms = parse_mute_end(get_form_data(request), now_ms)
    service = request.services[BlocksAndMutesService]
    return service.mute(account_id=me, other_id=other, now_ms=now_ms, until_ms=until_ms)


def parse_mute_end(fields: Mapping[str, str], now_ms: int) -> int | None:
    """Return the end (Unix ms) of the field `duration` (seconds), or None for no end. Raises MuteDurationInvalid."""
    try:
        return parse_end_ms(fields.get("duration", ""), now_ms)
    except ValueError:
        raise MuteDurationInvalid from None


unfollow = relation_view(
    ACTIONS["unfollow"], message=gettext_lazy("You do not follow @%(handle)s any more."), undo="follow"
)
block = relation_view(ACTIONS["block"])
unblock = relation_view(ACTIONS["unblock"])


mute = relation_view(_mute, message=gettext_lazy("You muted @%(handle)s."), undo="unmute")
unmute = relation_view(ACTIONS["unmute"])
hide_boosts = relation_view(
    ACTIONS["hide_boosts"], message=gettext_lazy("Boosts of @%(handle)s are hidden."), undo="show-boosts"
)
show_boosts = relation_view(ACTIONS["show_boosts"])
remove_follower = relation_view(ACTIONS["remove_follower"])
accept_follow_request = relation_view(ACTIONS["accept"], redirect_to=FOLLOW_REQUESTS_URL)
refuse_follow_request = relation_view(ACTIONS["refuse"], redirect_to=FOLLOW_REQUESTS_URL)


@with_canonical_handle
async def note(request: SiteRequest, handle: str) -> HttpResponseBase:
    """Store the viewer's private note about an account."""
    me = require_viewer_id(request)
    account = await request.services[AccountService].get_by_handle(handle)
    text = get_form_data(request).get("comment", "")
    await request.services[BlocksAndMutesService].set_note(account_id=me, other_id=AccountId(account.id), note=text)
    return await relation_response(request, account)


@with_canonical_handle
async def confirm_block(request: SiteRequest, handle: str) -> HttpResponseBase:
    require_viewer_id(request)
    account = await request.services[AccountService].get_undeleted_by_handle(handle)
    context = {"handle": account.handle, "page_title": _("Block @%(handle)s") % {"handle": account.handle}}
    return page_response(request, "timelines/block.html", context)


@with_canonical_handle
async def ask_mute_duration(request: SiteRequest, handle: str) -> HttpResponseBase:
    """Show the page on which the viewer chooses how long an account is muted."""
    require_viewer_id(request)
    account = await request.services[AccountService].get_undeleted_by_handle(handle)
    back = find_own_path(request, request.headers.get("Referer", "")) or profile_url(account.handle)
    page = {"handle": account.handle, "back": back, "page_title": _("Mute @%(handle)s") % {"handle": account.handle}}
    return page_response(request, "timelines/mute.html", page)


async def list_blocked(request: SiteRequest) -> HttpResponseBase:
    read = request.services[BlocksAndMutesService].blocked
    return await _accounts_response(request, read, "blocked", _("Blocked accounts"))


async def list_muted(request: SiteRequest) -> HttpResponseBase:
    service = request.services[BlocksAndMutesService]
    read = partial(service.muted, now_ms=request.services.clock.now_ms())
    return await _accounts_response(request, read, "muted", _("Muted accounts"), service.muted_until)


async def list_follow_requests(request: SiteRequest) -> HttpResponseBase:
    read = request.services[FollowRequestService].page
    return await _accounts_response(request, read, "requests", _("Follow requests"))


async def _accounts_response(
    request: SiteRequest, read: PageReader, kind: str, title: str, muted_until: EndReader | None = None
) -> HttpResponseBase:
    me = require_viewer_id(request)
    page = await read(me, parse_follow_cursor(request.GET), parse_limit(request.GET))
    authors = await request.services[AccountService].find_shown_authors(page.account_ids) if page.account_ids else {}
    accounts = [author_json(authors[id]) for id in page.account_ids if id in authors]
    if muted_until is not None:
        until = await muted_until(me, page.account_ids)
        for account in accounts:
            until_ms = until.get(AccountId(int(account["id"])), NO_EXPIRY_MS)
            account["until_ms"] = None if until_ms == NO_EXPIRY_MS else until_ms
    next_url = url_with_query(request, cursor=page.next.encode() if page.next else None)
    if wants_json(request):
        return json_response({"accounts": [_account_json(each) for each in accounts], "next": next_url})
    context = {"kind": kind, "title": title, "accounts": accounts, "next_url": next_url, "page_title": title}
    return page_response(request, "timelines/relations.html", context)


def _account_json(account: TemplateContext) -> TemplateContext:
    """Return the JSON of an account: `until_ms`, which the template uses, becomes `muted_until` in ISO format."""
    if "until_ms" not in account:
        return account
    until_ms = account["until_ms"]
    rest = {name: value for name, value in account.items() if name != "until_ms"}
    return {**rest, "muted_until": format_iso_time(until_ms) if until_ms is not None else None}


# Follow suggestions


async def suggestions(request: SiteRequest) -> HttpResponseBase:
    suggested = await request.services[FollowSuggestionService].suggestions(
        require_viewer_id(request), parse_limit(request.GET), readable_scripts(request)
    )
    accounts = await load_suggested_accounts(request, suggested)
    if wants_json(request):
        return json_response({"accounts": accounts, "next": None})
    title = _("Who to follow")
    context = {"accounts": accounts, "next_url": None, "page_title": title, "title": title}
    return page_response(request, "timelines/accounts.html", context)


async def suggest_on_home(request: SiteRequest, query: PageRequest, page: TimelinePage) -> list[TemplateContext]:
    """Return suggestions if the viewer follows few accounts and the home timeline has only one page."""
    me, services = require_viewer_id(request), request.services
    if wants_json(request) or not query.is_first or page.next_before is not None:
        return []
    if (await services[FollowingService].counts(me)).following >= MIN_FOLLOWING_WITHOUT_SUGGESTIONS:
        return []
    return await load_suggested_accounts(
        request, await services[FollowSuggestionService].suggestions(me, SUGGESTIONS_ON_HOME, readable_scripts(request))
    )


def readable_scripts(request: SiteRequest) -> frozenset[str]:
    """Return the scripts of the browser's languages and of the page's language."""
    return scripts_of_languages(f"{get_language()},{request.META.get('HTTP_ACCEPT_LANGUAGE', '')[:200]}")


async def load_suggested_accounts(request: SiteRequest, found: Sequence[Suggestion]) -> list[TemplateContext]:
    """Return accounts for timelines/_account.html, with their known followers."""
    accounts = request.services[AccountService]
    known_followers = await accounts.find_shown_authors({id for each in found for id in each.known_follower_ids})
    contexts = await accounts_with_follow_state(request, [each.account_id for each in found])
    follower_ids = {each.account_id: each.known_follower_ids for each in found}
    for context in contexts:
        context["known"] = [
            author_json(known_followers[id])
            for id in follower_ids[AccountId(int(context["id"]))]
            if id in known_followers and known_followers[id].is_visible
        ]
    return contexts
