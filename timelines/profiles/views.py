"""The pages of an account: its profile, its followers and the accounts that it follows."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.domain import picture_url
from socialsite.ids import AccountId
from socialsite.recipes.buffer import Entity
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_viewer_id, wants_json
from socialsite.web.responses import respond
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.presenters import AccountPageReader, accounts_response
from timelines.following.service import FollowingService
from timelines.graph.follow import NOTE_MAX_LENGTH
from timelines.pages.page import WITHOUT_REPLIES, PageRequest, PostSelection
from timelines.pages.presenters import entries_html, posts_json, profile_json, relation_json
from timelines.pages.queries import parse_page_request, with_canonical_handle
from timelines.pages.responses import (
    absolute_url,
    canonical_url,
    optional_placeholder,
    profile_context,
    timeline_context,
    timeline_json,
)
from timelines.profiles.service import ProfileService
from timelines.reading.view_counts import count_view

SELECTION_BY_TAB = {
    "posts": WITHOUT_REPLIES,
    "media": PostSelection(only_media=True),
}
"""What `?tab=` selects of the posts of an account. Without it the page has all posts, and is live."""


@with_canonical_handle
async def profile(request: SiteRequest, handle: str) -> HttpResponseBase:
    query, services, me = parse_page_request(request.GET), request.services, get_viewer_id(request)
    tab = request.GET.get("tab", "") if request.GET.get("tab") in SELECTION_BY_TAB else ""
    selection = SELECTION_BY_TAB.get(tab)
    cut = PageRequest(query.before, query.after, query.limit, may_lag=me is None, selection=selection)
    with_marker = not (tab or wants_json(request))
    visit = await services[ProfileService].load_page(handle, cut, viewer_id=me, with_marker=with_marker)
    account, id = visit.account, AccountId(visit.account.id)
    views = await count_view(request, Entity("account", id), id)
    relation = {} if visit.relationship is None else relation_json(visit.relationship)
    return respond(
        request,
        "timelines/profile.html",
        page=lambda: {
            "account": profile_context(account),
            "pinned_html": Placeholder(entries_html(visit.pinned, are_pinned=True)) if visit.pinned else "",
            "timeline": timeline_context(request, query, visit.timeline_page, f"profile:{handle}", visit.marker)
            | ({"live": False, "keeps_place": False, "is_selection": query.after is None} if tab else {}),
            "tab": tab,
            "followers": visit.follow_counts.followers,
            "following": visit.follow_counts.following,
            "posts": visit.post_count,
            "views": views,
            "page_title": f"{account.display_name or handle} (@{handle})",
            "page_description": account.about or _("Posts by @%(handle)s, newest first") % {"handle": handle},
            "canonical_url": canonical_url(request, query),
            "og_type": "profile",
            "og_image": absolute_url(request, picture_url(account.avatar, "full")),
            "is_self": me == id,
            "is_following": visit.relationship is not None and visit.relationship.follows,
            "both_follow": visit.shared_following_count,
            "known": visit.known_followers,
            "relation": relation | {"note": optional_placeholder(relation.get("note") or None)},
            "note_max_length": NOTE_MAX_LENGTH,
        },
        data=lambda: {
            **timeline_json(request, visit.timeline_page),
            "account": profile_json(account, visit.follow_counts, visit.post_count),
            "viewer": relation or None,
            **({"pinned": posts_json(visit.pinned)} if visit.pinned else {}),
        },
    )


@with_canonical_handle
async def followers(request: SiteRequest, handle: str) -> HttpResponseBase:
    read = request.services[FollowingService].followers
    return await _accounts_response(request, handle, read, "followers", _("Followers"))


@with_canonical_handle
async def following(request: SiteRequest, handle: str) -> HttpResponseBase:
    read = request.services[FollowingService].following
    return await _accounts_response(request, handle, read, "following", _("Following"))


async def _accounts_response(
    request: SiteRequest, handle: str, read: AccountPageReader, kind: str, title: str
) -> HttpResponseBase:
    """Return a page of accounts. Raises AccountNotFound if the viewer or the account blocks the other."""
    account, me = await request.services[AccountService].get_by_handle(handle), get_viewer_id(request)
    if me is not None:
        await request.services[BlocksAndMutesService].require_no_block(me, AccountId(account.id))
    heading = {"title": title, "kind": kind, "page_title": f"{title} · @{account.handle}"}
    return await accounts_response(request, read, account.id, account=profile_context(account), **heading)
