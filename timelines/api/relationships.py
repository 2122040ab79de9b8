"""Follows, follow requests, blocks, mutes and notes in the API. Each action returns the new relationship."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.accounts.service import AccountService
from accounts.sessions.authentication import require_account
from socialsite.errors import Invalid
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.web.requests import AsyncView, FormFields, SiteRequest, get_viewer_id, require_viewer_id, writing
from timelines.api.endpoint import endpoint
from timelines.api.entities.relationship import mute_end_json, relationship_entity
from timelines.api.fields import api_fields, flag, ids_field, limit_field
from timelines.api.pagination import CURSOR_NAMES, edge_field, encode_edge, page_response
from timelines.api.presenters import accounts_by_id, with_fields
from timelines.following.actions import ACTIONS, RelationAction
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.following.views import parse_mute_end
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.pages.presenters import Json
from timelines.profiles.featured import FeaturedService

RELATIONSHIPS_AT_ONCE = 80
DEFAULT_ACCOUNTS, MAX_ACCOUNTS = 40, 80


def action_endpoint(scope: str, act: RelationAction, *, on_suspended: bool = True) -> AsyncView[[AccountId]]:
    """Return the endpoint of an action on an account. With `on_suspended` the account may be suspended."""

    @endpoint(scope, "follow", needs_account=True)
    async def view(request: SiteRequest, account_id: AccountId) -> Json:
        me, accounts = require_viewer_id(request), request.services[AccountService]
        await (accounts.get_undeleted if on_suspended else accounts.get_active)(account_id)
        await act(request, me, account_id)
        return (await load_relationships(request, [account_id]))[0]

    return view


async def load_relationships(request: SiteRequest, account_ids: Sequence[AccountId]) -> list[Json]:
    me, now_ms = require_viewer_id(request), request.services.clock.now_ms()
    relationships = await request.services[BlocksAndMutesService].relationships(me, account_ids, now_ms)
    endorsed = require_account(request).preferences.endorsed_ids
    return [
        relationship_entity(id, relation, requested_by=asks, endorsed=id in endorsed)
        for id, (relation, asks) in relationships.items()
    ]


async def _follow(request: SiteRequest, me: AccountId, other: AccountId) -> None:
    """Follow an account, or change whether its boosts are shown."""
    fields, now_ms = api_fields(request), request.services.clock.now_ms()
    if flag(fields, "notify"):
        raise Invalid({"notify": _("Notifications about every post of an account are not offered.")})
    if fields.values_of("languages"):
        raise Invalid({"languages": _("Following an account in some languages only is not offered.")})
    await request.services[ActionLimits].enforce_newcomer_follow(request.caller)
    await request.services[FollowingService].follow(follower_id=me, followed_id=other, now_ms=now_ms)
    if "reblogs" in fields:
        await ACTIONS["show_boosts" if flag(fields, "reblogs") else "hide_boosts"](request, me, other)


def _mute(request: SiteRequest, me: AccountId, other: AccountId) -> Awaitable[object]:
    """Mute an account. A mute hides notifications, too. A duration of 0 has no end."""
    fields, now_ms = api_fields(request), request.services.clock.now_ms()
    if not flag(fields, "notifications", default=True):
        raise Invalid({"notifications": _("A mute hides the notifications of the account, too.")})
    duration = {} if fields.get("duration") in (None, "", "0") else {"duration": fields["duration"]}
    return request.services[BlocksAndMutesService].mute(
        account_id=me, other_id=other, now_ms=now_ms, until_ms=parse_mute_end(duration, now_ms)
    )


def _note(request: SiteRequest, me: AccountId, other: AccountId) -> Awaitable[object]:
    note = api_fields(request).get("comment", "")
    return request.services[BlocksAndMutesService].set_note(account_id=me, other_id=other, note=note)


async def _endorse(request: SiteRequest, me: AccountId, other: AccountId) -> None:
    request.account = await request.services[FeaturedService].endorse(me, other)


async def _unendorse(request: SiteRequest, me: AccountId, other: AccountId) -> None:
    request.account = await request.services[FeaturedService].unendorse(me, other)


FOLLOW_ACTIONS: Final = {
    "follow": writing(action_endpoint("write:follows", _follow, on_suspended=False)),
    "unfollow": action_endpoint("write:follows", ACTIONS["unfollow"]),
    **dict.fromkeys(("endorse", "pin"), writing(action_endpoint("write:accounts", _endorse, on_suspended=False))),
    **dict.fromkeys(("unendorse", "unpin"), action_endpoint("write:accounts", _unendorse)),
}
"""The last part of the address of an account -> the endpoint. The rate limit of follows counts these actions."""
BLOCK_ACTIONS: Final = {
    "remove_from_followers": action_endpoint("write:follows", ACTIONS["remove_follower"]),
    "block": action_endpoint("write:blocks", ACTIONS["block"]),
    "unblock": action_endpoint("write:blocks", ACTIONS["unblock"]),
    "mute": action_endpoint("write:mutes", _mute),
    "unmute": action_endpoint("write:mutes", ACTIONS["unmute"]),
    "note": action_endpoint("write:accounts", _note, on_suspended=False),
}
REQUEST_ACTIONS: Final = {
    "authorize": action_endpoint("write:follows", ACTIONS["accept"]),
    "reject": action_endpoint("write:follows", ACTIONS["refuse"]),
}


@endpoint("read:follows", needs_account=True)
async def relationships(request: SiteRequest) -> list[Json]:
    """Return the relationships to the accounts `id[]` that exist."""
    ids = [AccountId(id) for id in ids_field(api_fields(request), "id", RELATIONSHIPS_AT_ONCE)]
    return await load_relationships(request, ids) if ids else []


@endpoint("read:follows", "follow", needs_account=True)
async def follow_requests(request: SiteRequest) -> HttpResponse:
    return await _own_accounts(request, request.services[FollowRequestService].page)


@endpoint("read:blocks", "follow", needs_account=True)
async def blocks(request: SiteRequest) -> HttpResponse:
    return await _own_accounts(request, request.services[BlocksAndMutesService].blocked)


@endpoint("read:mutes", "follow", needs_account=True)
async def mutes(request: SiteRequest) -> HttpResponse:
    """Return the muted accounts, each with the end of its mute."""
    service, now_ms = request.services[BlocksAndMutesService], request.services.clock.now_ms()
    me = require_viewer_id(request)
    page = await _read_page(request, partial(service.muted, me, now_ms=now_ms))
    until = await service.muted_until(me, page.account_ids)
    ends = {id: {"mute_expires_at": mute_end_json(until.get(id))} for id in page.account_ids}
    return await _page_response(request, page, ends)


async def accounts_response(request: SiteRequest, read: Callable[..., Awaitable[FollowPage]], id: int) -> HttpResponse:
    """Return a page of accounts that `read` returns for an account or a post."""
    return await page_of_accounts(request, partial(read, id, viewer_id=get_viewer_id(request)))


async def page_of_accounts(request: SiteRequest, read: Callable[..., Awaitable[FollowPage]]) -> HttpResponse:
    """Return the page of accounts at the cursor of the request."""
    return await _page_response(request, await _read_page(request, read))


async def _own_accounts(request: SiteRequest, read: Callable[..., Awaitable[FollowPage]]) -> HttpResponse:
    return await page_of_accounts(request, partial(read, require_viewer_id(request)))


async def _read_page(request: SiteRequest, read: Callable[..., Awaitable[FollowPage]]) -> FollowPage:
    """Read the accounts below `max_id`, or the newest without those at or below `since_id` or `min_id`.

    A client that requests all members of a list (`limit=0`) gets one page, as from Mastodon 4.
    """
    fields = api_fields(request)
    below, *above = (_edge(fields, name) for name in CURSOR_NAMES)
    limit = MAX_ACCOUNTS if fields.get("limit") == "0" else limit_field(fields, DEFAULT_ACCOUNTS, MAX_ACCOUNTS)
    page = await read(cursor=below, limit=limit)
    oldest = max(filter(None, above), default=None)
    return page if oldest is None else FollowPage(tuple(edge for edge in page.edges if edge > oldest), page.next)


def _edge(fields: FormFields, name: str) -> FollowCursor | None:
    edge = edge_field(fields, name)
    return None if edge is None else FollowCursor(edge[0], AccountId(edge[1]))


async def _page_response(
    request: SiteRequest, page: FollowPage, more: Mapping[AccountId, Json] | None = None
) -> HttpResponse:
    """Return a page of accounts. `more` has further fields of each account."""
    accounts = await accounts_by_id(request, page.account_ids)
    data = list(accounts.values()) if more is None else [with_fields(accounts[id], more[id]) for id in accounts]
    older, newer = page.next, page.edges[0] if page.edges else None
    return page_response(
        request,
        data,
        next_id=older and encode_edge(older.at_ms, older.account_id),
        previous_id=newer and encode_edge(newer.at_ms, newer.account_id),
    )
