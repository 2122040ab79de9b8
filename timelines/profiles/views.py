"""The pages of an account: its profile, its followers and the accounts that it follows."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.domain import picture_url
from socialsite.ids import AccountId
from socialsite.recipes.buffer import Entity
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer_id, wants_json
from socialsite.web.responses import respond
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.presenters import AccountPageReader, accounts_response
from timelines.following.service import FollowingService
from timelines.graph.follow import NOTE_MAX_LENGTH
from timelines.pages import responses
from timelines.pages.page import WITHOUT_REPLIES, PageRequest, PostSelection
from timelines.pages.presenters import Json, entries_html, posts_json, profile_json, relation_json
from timelines.pages.queries import parse_cursor, parse_limit, parse_page_request, with_canonical_handle
from timelines.pages.thumbnails import thumbnails_html
from timelines.profiles.service import ProfilePage, ProfileService
from timelines.reactions.bookmarks import BookmarkCursor, BookmarksPage
from timelines.reactions.service import ReactionsService
from timelines.reactions.views import marked_posts_context, marked_posts_json
from timelines.reading.view_counts import count_view

SELECTION_BY_TAB = {"posts": WITHOUT_REPLIES, "media": PostSelection(only_media=True, exclude_boosts=True)}
"""What `?tab=` selects of the posts of an account. Without it the page has all posts, and is live."""
LIKES = "likes"
"""The tab of the posts that the account likes, which only the account itself sees."""


@with_canonical_handle
async def profile(request: SiteRequest, handle: str) -> HttpResponseBase:
    query, services, me = parse_page_request(request.GET), request.services, get_viewer_id(request)
    tab = _chosen_tab(request, handle)
    selection = SELECTION_BY_TAB.get(tab)
    limit = 1 if tab == LIKES else query.limit  # this tab shows none of these posts
    cut = PageRequest(query.before, query.after, limit, may_lag=me is None, selection=selection)
    with_marker = not (tab or wants_json(request))
    visit = await services[ProfileService].load_page(handle, cut, viewer_id=me, with_marker=with_marker)
    account, id = visit.account, AccountId(visit.account.id)
    likes = await _load_likes(request) if tab == LIKES else None
    views = None if "card" in request.GET else await count_view(request, Entity("account", id), id)
    relation = {} if visit.relationship is None else relation_json(visit.relationship)
    return respond(
        request,
        "timelines/profile.html",
        page=lambda: {
            "account": responses.profile_context(account),
            "pinned_html": Placeholder(entries_html(visit.pinned, are_pinned=True)) if visit.pinned else "",
            "timeline": _tab_context(request, query, visit, tab, likes),
            "tab": tab,
            "followers": visit.follow_counts.followers,
            "following": visit.follow_counts.following,
            "posts": visit.post_count,
            "views": views,
            "page_title": f"{account.display_name or handle} (@{handle})",
            "page_description": account.about or _("Posts by @%(handle)s, newest first") % {"handle": handle},
            "canonical_url": responses.canonical_url(request, query),
            "og_type": "profile",
            "og_image": responses.absolute_url(request, picture_url(account.avatar, "full")),
            "is_self": me == id,
            "is_following": visit.relationship is not None and visit.relationship.follows,
            "both_follow": visit.shared_following_count,
            "known": visit.known_followers,
            "relation": relation | {"note": responses.optional_placeholder(relation.get("note") or None)},
            "note_max_length": NOTE_MAX_LENGTH,
        },
        data=lambda: {
            **_tab_json(request, visit, likes),
            "account": profile_json(account, visit.follow_counts, visit.post_count),
            "viewer": relation or None,
            **({"pinned": posts_json(visit.pinned)} if visit.pinned else {}),
        },
    )


def _chosen_tab(request: SiteRequest, handle: str) -> str:
    """Return the valid `?tab=` of the request, or ""."""
    tab = request.GET.get("tab", "")
    is_own = request.account is not None and request.account.handle == handle
    return tab if tab in SELECTION_BY_TAB or (tab == LIKES and is_own) else ""


async def _load_likes(request: SiteRequest) -> BookmarksPage:
    cursor, limit = parse_cursor(request.GET, BookmarkCursor.decode), parse_limit(request.GET)
    return await request.services[ReactionsService].likes(require_viewer_id(request), cursor=cursor, limit=limit)


def _tab_json(request: SiteRequest, visit: ProfilePage, likes: BookmarksPage | None) -> Json:
    """Return the posts of the profile, or those that its account likes."""
    if likes is not None:
        return marked_posts_json(request, likes)
    return responses.timeline_json(request, visit.timeline_page)


def _tab_context(
    request: SiteRequest, query: PageRequest, visit: ProfilePage, tab: str, likes: BookmarksPage | None
) -> responses.TemplateContext:
    """Return the context of timelines/_timeline.html. Only the page without a tab is live."""
    if likes is not None:
        return marked_posts_context(request, likes, LIKES) | {"is_selection": True}
    page = visit.timeline_page
    context = responses.timeline_context(request, query, page, f"profile:{visit.account.handle}", visit.marker)
    if tab:
        context |= {"live": False, "keeps_place": False, "is_selection": query.after is None}
    if tab == "media":
        context |= {"is_grid": True, "entries_html": Placeholder(thumbnails_html(page.entries))}
    return context


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
    return await accounts_response(request, read, account.id, account=responses.profile_context(account), **heading)
