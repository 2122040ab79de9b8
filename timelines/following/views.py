"""Keeping others away: blocks, mutes, hidden boosts, followers sent off; and the pages that list them."""

import asyncio
from collections.abc import Awaitable, Callable

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.models import Account
from socialsite.web.limits import Counted
from socialsite.web.requests import (
    SiteRequest,
    done,
    form_data,
    json_response,
    own_id,
    page_response,
    time_text,
    wants_json,
)
from timelines.following.forms import mute_until
from timelines.graph.follow import FollowPage
from timelines.pages.handles import HandleView, by_handle
from timelines.pages.presenters import author_json, profile_url
from timelines.pages.queries import follow_cursor_of, limit_of
from timelines.pages.responses import Page, link
from timelines.visibility.rights import FOREVER

Change = Callable[[SiteRequest, AccountId, AccountId], Awaitable[object]]


def changing(change: Change, *, goes_to: str | None = None) -> HandleView:
    """An action on the account of a handle, which may be suspended: one may turn away from those, too."""

    @by_handle
    async def view(request: SiteRequest, handle: str) -> HttpResponseBase:
        me = own_id(request)
        account = await request.services.accounts.get_standing(handle)
        await change(request, me, AccountId(account.id))
        return await related(request, account, goes_to=goes_to)

    return view


async def _block(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    now_ms = request.services.clock.now_ms()
    await request.services.relations.block(account_id=me, other_id=other_id, now_ms=now_ms)


async def _unblock(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    await request.services.relations.unblock(account_id=me, other_id=other_id)


async def _mute(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    """`duration`: seconds, none for good."""
    now_ms = request.services.clock.now_ms()
    until_ms = mute_until(form_data(request), now_ms)
    await request.services.relations.mute(account_id=me, other_id=other_id, now_ms=now_ms, until_ms=until_ms)


async def _unmute(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    await request.services.relations.unmute(account_id=me, other_id=other_id)


async def _hide_boosts(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    now_ms = request.services.clock.now_ms()
    await request.services.relations.quiet(account_id=me, other_id=other_id, now_ms=now_ms)


async def _show_boosts(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    await request.services.relations.unquiet(account_id=me, other_id=other_id)


async def _remove_follower(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    await request.services.relations.remove_follower(account_id=me, follower_id=other_id)


async def _accept(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    now_ms = request.services.clock.now_ms()
    await request.services.requests.accept(account_id=me, requester_id=other_id, now_ms=now_ms)


async def _refuse(request: SiteRequest, me: AccountId, other_id: AccountId) -> None:
    await request.services.requests.refuse(account_id=me, requester_id=other_id)


REQUESTS = "/accounts/requests/"
block, unblock = changing(_block), changing(_unblock)
mute, unmute = changing(_mute), changing(_unmute)
hide_boosts, show_boosts = changing(_hide_boosts), changing(_show_boosts)
remove_follower = changing(_remove_follower)
accept, refuse = changing(_accept, goes_to=REQUESTS), changing(_refuse, goes_to=REQUESTS)


async def blocked(request: SiteRequest) -> HttpResponseBase:
    """Whom the viewer blocks."""
    page = await request.services.relations.blocked(
        own_id(request), follow_cursor_of(request.GET), limit_of(request.GET)
    )
    return _page(request, page, await _shown(request, page), "blocked", _("Blocked accounts"))


async def muted(request: SiteRequest) -> HttpResponseBase:
    """Whom the viewer has muted, and until when."""
    me, services = own_id(request), request.services
    page = await services.relations.muted(
        me, follow_cursor_of(request.GET), limit_of(request.GET), now_ms=services.clock.now_ms()
    )
    shown = await _shown(request, page)
    until = await services.relations.muted_until(me, page.account_ids)
    for account in shown:
        ends_ms = until.get(AccountId(int(account["id"])), FOREVER)
        account["until_ms"] = None if ends_ms == FOREVER else ends_ms
    return _page(request, page, shown, "muted", _("Muted accounts"))


async def requests(request: SiteRequest) -> HttpResponseBase:
    """Who asks to follow the viewer."""
    page = await request.services.requests.page(
        own_id(request), follow_cursor_of(request.GET), limit_of(request.GET)
    )
    return _page(request, page, await _shown(request, page), "requests", _("Follow requests"))


async def _shown(request: SiteRequest, page: FollowPage) -> list[Page]:
    authors = await request.services.accounts.authors(page.account_ids) if page.account_ids else {}
    return [author_json(authors[id]) for id in page.account_ids if id in authors]


def _page(
    request: SiteRequest, page: FollowPage, accounts: list[Page], kind: str, title: str
) -> HttpResponseBase:
    next_url = link(request, cursor=page.next.encode() if page.next else None)
    if wants_json(request):
        return json_response({"accounts": [_json(each) for each in accounts], "next": next_url})
    shown = {"kind": kind, "title": title, "accounts": accounts, "next_url": next_url, "page_title": title}
    return page_response(request, "timelines/relations.html", shown)


def _json(account: Page) -> Page:
    """Times as clients get them."""
    if "until_ms" not in account:
        return account
    until_ms = account["until_ms"]
    rest = {name: value for name, value in account.items() if name != "until_ms"}
    return {**rest, "muted_until": time_text(until_ms) if until_ms is not None else None}


@by_handle
async def follow(request: SiteRequest, handle: str) -> HttpResponseBase:
    me, services = own_id(request), request.services
    async with Counted(request, "follow"):
        account = await services.accounts.get_by_handle(handle)
        await services.following.follow(
            follower_id=me, followed_id=AccountId(account.id), now_ms=services.clock.now_ms()
        )
    return await related(request, account)


@by_handle
async def unfollow(request: SiteRequest, handle: str) -> HttpResponseBase:
    me, services = own_id(request), request.services
    async with Counted(request, "follow"):
        account = await services.accounts.get_standing(handle)  # one may turn away from a suspended account
        await services.following.unfollow(follower_id=me, followed_id=AccountId(account.id))
    return await related(request, account)


async def related(request: SiteRequest, account: Account, *, goes_to: str | None = None) -> HttpResponseBase:
    """How it stands. A private account is asked first: `requested` is there then, `following` is false."""
    me, services, other_id = own_id(request), request.services, AccountId(account.id)
    counts, relation = await asyncio.gather(
        services.following.counts(other_id),
        services.relations.relation(me, other_id, services.clock.now_ms()),
    )
    data = {"following": relation.follows, "followers": counts.followers}
    if relation.requested and not relation.follows:
        data["requested"] = True
    return done(request, data, default=goes_to or profile_url(account.handle))
