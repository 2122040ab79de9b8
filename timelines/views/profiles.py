"""Accounts as others see them: profile, followers, following; following them and no longer."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from typing import Any, NamedTuple

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.models import Account
from socialsite.http import SiteRequest, own_id, respond, viewer_id
from socialsite.recipes.buffer import Entity
from socialsite.throttle import Counted
from timelines.domain.follow import FollowCounts, FollowPage
from timelines.domain.page import Cut, TimelinePage
from timelines.domain.reading_place import ReadingPlace
from timelines.forms import PageQuery, follow_cursor_of, limit_of
from timelines.presenters import profile_json, profile_url, relation_json
from timelines.services.meeting import Meeting
from timelines.views.answers import done
from timelines.views.pages import (
    Page,
    accounts_response,
    canonical_url,
    link,
    profile_of,
    timeline,
    timeline_json,
    with_following,
)
from timelines.views.places import place_in
from timelines.views.visits import looked_at

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
    query, services = PageQuery.of(request.GET), request.services
    known_id = services.accounts.known_id(handle)
    begun = None if known_id is None else _begin(request, query, handle, known_id)
    account = await services.accounts.get_by_handle(handle)  # leaves with what is begun
    id = AccountId(account.id)
    if begun is None or id != known_id:
        begun = _begin(request, query, handle, id)
    page, counts, relation = await begun.shown()
    views = await looked_at(request, Entity("account", id), id)
    place, posts = await begun.place, await begun.posts
    if is_hidden(account, relation):
        page = NOTHING
    return respond(
        request,
        "timelines/profile.html",
        page=lambda: {
            "account": profile_of(account),
            "timeline": timeline(request, query, page, f"profile:{handle}", place),
            "followers": counts.followers,
            "following": counts.following,
            "posts": posts,
            "views": views,
            "page_title": f"{account.display_name or handle} (@{handle})",
            "page_description": account.bio or _("Posts by @%(handle)s, newest first") % {"handle": handle},
            "canonical_url": canonical_url(request, query),
            "og_type": "profile",
            **relation,
        },
        data=lambda: {
            **timeline_json(request, page),
            "account": profile_json(account, counts, posts),
            "viewer": relation["relation"] or None,
        },
    )


def is_hidden(account: Account, relation: Page) -> bool:
    """Whether none of the posts may be seen: the way to older ones would lead nowhere."""
    if relation["is_self"]:
        return False
    found = relation["relation"]
    apart = bool(found) and (found["blocks"] or found["is_blocked"])
    return apart or (account.is_private and not relation["is_following"])


Shown = tuple[TimelinePage, FollowCounts, Page]
"""Posts, counts, and what the viewer and the account have to do with each other."""


class Begun(NamedTuple):
    """What is asked of an account before it is known to stand, to be awaited later, or never."""

    place: Awaitable[ReadingPlace]
    posts: Awaitable[int]
    shown: Callable[[], Awaitable[Shown]]


def _begin(request: SiteRequest, query: PageQuery, handle: str, account_id: AccountId) -> Begun:
    me, services = viewer_id(request), request.services
    lag, cut = me is None, Cut(query.before, query.after, query.limit)
    page = services.reading.begin_profile(account_id, cut, me, may_lag=lag)
    if me is None or me == account_id:
        counts = services.following.begin_counts(account_id, may_lag=lag)
        shown = partial(_alone, page, counts, is_self=me is not None)
    else:
        meeting = services.meeting.begin(me, account_id, services.clock.now_ms())
        shown = partial(_together, request, account_id, page, meeting)
    return Begun(
        place_in(request, f"profile:{handle}"),
        services.reading.begin_post_count(account_id, may_lag=lag),
        shown,
    )


async def _alone(page: Awaitable[TimelinePage], counts: Awaitable[FollowCounts], *, is_self: bool) -> Shown:
    """For a visitor and for the account itself."""
    relation = {"is_self": is_self, "is_following": False, "both_follow": 0, "known": [], "relation": {}}
    return await page, await counts, relation


async def _together(
    request: SiteRequest, account_id: AccountId, page: Awaitable[TimelinePage], begun: Awaitable[Meeting]
) -> Shown:
    """For everybody else."""
    meeting = await begun
    met, relation = meeting.met, meeting.relation
    asked = request.services.meeting.together(own_id(request), account_id, met, KNOWN)
    posts = await page  # which are asked for together with that
    together, known = await asked
    return posts, met.counts, {
        "is_self": False,
        "is_following": relation.follows,
        "both_follow": 0 if relation.is_apart else together.both_follow,
        "known": [] if relation.is_apart else known,
        "relation": relation_json(relation),
    }  # fmt: skip


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
