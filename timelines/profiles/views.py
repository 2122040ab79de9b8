"""Accounts as others see them: profile, followers, following; following them and no longer."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.models import Account
from socialsite.recipes.buffer import Entity
from socialsite.web.limits import Counted
from socialsite.web.requests import SiteRequest, own_id, respond, viewer_id, wants_json
from timelines.graph.follow import FollowPage
from timelines.pages.action_response import done
from timelines.pages.page import Cut, TimelinePage
from timelines.pages.presenters import profile_json, profile_url, relation_json
from timelines.pages.queries import PageQuery, follow_cursor_of, limit_of
from timelines.pages.responses import (
    accounts_response,
    canonical_url,
    link,
    profile_of,
    timeline,
    timeline_json,
    with_following,
)
from timelines.pages.view_counts import looked_at

KNOWN = 3  # followers one knows, shown by name
NOTHING = TimelinePage((), None, None)
HandleView = Callable[[SiteRequest, str], Coroutine[Any, Any, HttpResponseBase]]


def by_handle(view: HandleView) -> HandleView:
    """A page's handle in other case answers 301 to lower case; an action takes any case."""

    @wraps(view)
    async def canonical(request: SiteRequest, handle: str) -> HttpResponseBase:
        lower = handle.lower()
        if lower != handle and request.method in ("GET", "HEAD"):
            return HttpResponsePermanentRedirect(
                request.get_full_path().replace(f"@{handle}", f"@{lower}", 1)
            )
        return await view(request, lower)

    return canonical


@by_handle
async def profile(request: SiteRequest, handle: str) -> HttpResponseBase:
    query, services, me = PageQuery.of(request.GET), request.services, viewer_id(request)
    cut = Cut(query.before, query.after, query.limit)
    visit = await services.visiting.visit(handle, cut, viewer_id=me, keeps_place=not wants_json(request))
    account, id = visit.account, AccountId(visit.account.id)
    views = await looked_at(request, Entity("account", id), id)
    relation = {} if visit.relation is None else relation_json(visit.relation)
    return respond(
        request,
        "timelines/profile.html",
        page=lambda: {
            "account": profile_of(account),
            "timeline": timeline(request, query, visit.page, f"profile:{handle}", visit.place),
            "followers": visit.counts.followers,
            "following": visit.counts.following,
            "posts": visit.posts,
            "views": views,
            "page_title": f"{account.display_name or handle} (@{handle})",
            "page_description": account.bio or _("Posts by @%(handle)s, newest first") % {"handle": handle},
            "canonical_url": canonical_url(request, query),
            "og_type": "profile",
            "is_self": me == id,
            "is_following": visit.relation is not None and visit.relation.follows,
            "both_follow": visit.both_follow,
            "known": visit.known,
            "relation": relation,
        },
        data=lambda: {
            **timeline_json(request, visit.page),
            "account": profile_json(account, visit.counts, visit.posts),
            "viewer": relation or None,
        },
    )


@by_handle
async def followers(request: SiteRequest, handle: str) -> HttpResponseBase:
    account, me = await _visited(request, handle)
    page = await request.services.following.followers(
        AccountId(account.id),
        viewer_id=me,
        cursor=follow_cursor_of(request.GET),
        limit=limit_of(request.GET),
    )
    return await _accounts(request, account, page, "followers", _("Followers"))


@by_handle
async def following(request: SiteRequest, handle: str) -> HttpResponseBase:
    account, me = await _visited(request, handle)
    page = await request.services.following.following(
        AccountId(account.id),
        viewer_id=me,
        cursor=follow_cursor_of(request.GET),
        limit=limit_of(request.GET),
    )
    return await _accounts(request, account, page, "following", _("Following"))


async def _visited(request: SiteRequest, handle: str) -> tuple[Account, AccountId | None]:
    """The account, and who looks. Raises AccountNotFound where a block stands between them."""
    account, me = await request.services.accounts.get_by_handle(handle), viewer_id(request)
    if me is not None:
        await request.services.relations.require_together(me, AccountId(account.id))
    return account, me


async def _accounts(
    request: SiteRequest, account: Account, page: FollowPage, kind: str, title: str
) -> HttpResponseBase:
    found = await request.services.accounts.find_many(page.account_ids)
    shown = await with_following(request, [found[id] for id in page.account_ids if id in found])
    next_url = link(request, cursor=page.next.encode() if page.next else None)
    heading = {"title": title, "kind": kind, "page_title": f"{title} · @{account.handle}"}
    return accounts_response(request, shown, next_url, account=profile_of(account), **heading)


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
