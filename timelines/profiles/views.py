"""Pages of an account: profile, followers, following."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.recipes.buffer import Entity
from socialsite.web.requests import SiteRequest, get_viewer_id, wants_json
from socialsite.web.responses import respond
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.presenters import accounts_with_follow_state
from timelines.following.service import FollowingService
from timelines.graph.follow import FollowPage
from timelines.pages.page import PageRequest
from timelines.pages.presenters import profile_json, relation_json
from timelines.pages.queries import parse_follow_cursor, parse_limit, parse_page_request, with_canonical_handle
from timelines.pages.responses import (
    accounts_response,
    canonical_url,
    profile_context,
    timeline_context,
    timeline_json,
    url_with_query,
)
from timelines.profiles.service import ProfileService
from timelines.reading.view_counts import count_view


@with_canonical_handle
async def profile(request: SiteRequest, handle: str) -> HttpResponseBase:
    query, services, me = parse_page_request(request.GET), request.services, get_viewer_id(request)
    cut = PageRequest(query.before, query.after, query.limit, may_lag=me is None)
    visit = await services[ProfileService].load_page(handle, cut, viewer_id=me, with_marker=not wants_json(request))
    account, id = visit.account, AccountId(visit.account.id)
    views = await count_view(request, Entity("account", id), id)
    relation = {} if visit.relationship is None else relation_json(visit.relationship)
    return respond(
        request,
        "timelines/profile.html",
        page=lambda: {
            "account": profile_context(account),
            "timeline": timeline_context(request, query, visit.timeline_page, f"profile:{handle}", visit.marker),
            "followers": visit.follow_counts.followers,
            "following": visit.follow_counts.following,
            "posts": visit.post_count,
            "views": views,
            "page_title": f"{account.display_name or handle} (@{handle})",
            "page_description": account.bio or _("Posts by @%(handle)s, newest first") % {"handle": handle},
            "canonical_url": canonical_url(request, query),
            "og_type": "profile",
            "is_self": me == id,
            "is_following": visit.relationship is not None and visit.relationship.follows,
            "both_follow": visit.shared_following_count,
            "known": visit.known_followers,
            "relation": relation,
        },
        data=lambda: {
            **timeline_json(request, visit.timeline_page),
            "account": profile_json(account, visit.follow_counts, visit.post_count),
            "viewer": relation or None,
        },
    )


@with_canonical_handle
async def followers(request: SiteRequest, handle: str) -> HttpResponseBase:
    account, me = await _load_visible_account(request, handle)
    page = await request.services[FollowingService].followers(
        AccountId(account.id),
        viewer_id=me,
        cursor=parse_follow_cursor(request.GET),
        limit=parse_limit(request.GET),
    )
    return await _accounts_response(request, account, page, "followers", _("Followers"))


@with_canonical_handle
async def following(request: SiteRequest, handle: str) -> HttpResponseBase:
    account, me = await _load_visible_account(request, handle)
    page = await request.services[FollowingService].following(
        AccountId(account.id),
        viewer_id=me,
        cursor=parse_follow_cursor(request.GET),
        limit=parse_limit(request.GET),
    )
    return await _accounts_response(request, account, page, "following", _("Following"))


async def _load_visible_account(request: SiteRequest, handle: str) -> tuple[Account, AccountId | None]:
    """Return the account and the viewer's id. Raises AccountNotFound if one blocks the other."""
    account, me = await request.services[AccountService].get_by_handle(handle), get_viewer_id(request)
    if me is not None:
        await request.services[BlocksAndMutesService].require_no_block(me, AccountId(account.id))
    return account, me


async def _accounts_response(
    request: SiteRequest, account: Account, page: FollowPage, kind: str, title: str
) -> HttpResponseBase:
    accounts_by_id = await request.services[AccountService].find_many(page.account_ids)
    shown = await accounts_with_follow_state(
        request, [accounts_by_id[id] for id in page.account_ids if id in accounts_by_id]
    )
    next_url = url_with_query(request, cursor=page.next.encode() if page.next else None)
    heading = {"title": title, "kind": kind, "page_title": f"{title} · @{account.handle}"}
    return accounts_response(request, shown, next_url, account=profile_context(account), **heading)
