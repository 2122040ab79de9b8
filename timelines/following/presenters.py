"""Presents rows of accounts with the viewer's relation to each account."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import get_language

from accounts.accounts.service import AccountService
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.store import Read
from socialsite.web.page_cache import Placeholder, RenderedParts
from socialsite.web.requests import SiteRequest, get_viewer_id, wants_json
from socialsite.web.responses import json_response, page_response
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.graph.follow import FollowPage
from timelines.pages.presenters import author_json
from timelines.pages.queries import parse_follow_cursor, parse_limit
from timelines.pages.responses import TemplateContext, url_with_query

AccountPageReader = Callable[..., Awaitable[FollowPage]]
"""(id, viewer_id, cursor, limit) -> page of accounts. The id is that of an account or of a post."""


async def accounts_response(request: SiteRequest, read: AccountPageReader, id: int, **page: object) -> HttpResponse:
    """Respond with a page of accounts that `read` returns for `id`, as JSON or HTML."""
    cursor, limit = parse_follow_cursor(request.GET), parse_limit(request.GET)
    result = await read(id, viewer_id=get_viewer_id(request), cursor=cursor, limit=limit)
    accounts = await accounts_with_follow_state(request, result.account_ids)
    next_url = url_with_query(request, cursor=result.next.encode() if result.next else None)
    if wants_json(request):
        return json_response({"accounts": accounts, "next": next_url})
    return page_response(request, "timelines/accounts.html", {"accounts": accounts, "next_url": next_url, **page})


async def accounts_with_follow_state(request: SiteRequest, account_ids: Sequence[AccountId]) -> list[TemplateContext]:
    """Return the accounts for timelines/_account.html, each with whether the viewer follows it, in one round trip."""
    me, services = get_viewer_id(request), request.services
    reads: list[Read[Any]] = [services[AccountService].read_many(account_ids)]
    if me is not None:
        reads.append(services[FollowingService].followed_among(me, account_ids))
        reads.append(services[FollowRequestService].requested_among(me, account_ids))
    by_id, followed, requested = [*await services.store.read(*reads), (), set[AccountId]()][:3]
    accounts: list[Account] = [by_id[id] for id in account_ids if id in by_id]
    return [
        {
            **author_json(account),
            "bio": account.bio,
            "is_following": account.id in followed,
            "is_requested": account.is_private and account.id in requested and account.id not in followed,
            "is_private": account.is_private,
        }
        for account in accounts
    ]


def account_rows(accounts: Iterable[TemplateContext], viewer_id: AccountId | None) -> Placeholder | str:
    """Return rows of timelines/_account.html for a page that is cached, or ""."""
    language, viewer = get_language() or "", None if viewer_id is None else str(viewer_id)
    return join_rows(
        _render_account(msgspec.json.encode(each), viewer not in (None, each["id"]), language) for each in accounts
    )


def join_rows(rows: Iterable[str]) -> Placeholder | str:
    parts = RenderedParts(row.encode() for row in rows)
    return Placeholder(parts) if parts else ""


@lru_cache(maxsize=2_048)
def _render_account(account: bytes, has_button: bool, language: str) -> str:
    """Render the row of an account, given as JSON. `language` is the active language, a part of the cache key."""
    viewer = {"handle": ""} if has_button else None
    return render_to_string("timelines/_account.html", {"account": msgspec.json.decode(account), "viewer": viewer})
