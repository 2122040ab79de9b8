"""Followed and featured hashtags in the API."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse

from accounts.accounts.service import AccountService
from accounts.models import Account
from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.web.requests import AsyncView, SiteRequest, get_viewer_id, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.entities.account import format_date
from timelines.api.fields import api_fields, limit_field
from timelines.api.pagination import page_response
from timelines.errors import HashtagNotFound
from timelines.hashtags.service import FollowedHashtagService
from timelines.pages.presenters import Json, hashtag_url
from timelines.profiles.featured import FEATURED_HASHTAGS_CAP, FeaturedService, HashtagUse
from timelines.text.token_scanner import normalize_tag

DEFAULT_TAGS, MAX_TAGS = 100, 200

Action = Callable[[SiteRequest, AccountId, str, Caller], Awaitable[object]]
"""(request, account, normalized hashtag, caller) -> anything. It may replace request.account."""


def tag_json(tag: str, site: str) -> Json:
    """Return a hashtag as visitors see it."""
    return {"id": tag, "name": tag, "url": site + hashtag_url(tag), "history": []}


def action_endpoint(scopes: tuple[str, ...], act: Action, *, is_followed: bool | None = None) -> AsyncView[[str]]:
    """Return the endpoint of an action on a hashtag. `is_followed` is the state after it, if it is known."""

    @endpoint(*scopes, needs_account=True)
    async def view(request: SiteRequest, tag: str) -> Json:
        me, name = require_viewer_id(request), _normalize(tag)
        await act(request, me, name, request.caller)
        return await _own_tag_json(request, name, is_followed)

    return view


async def _feature(request: SiteRequest, me: AccountId, tag: str, _caller: Caller) -> None:
    request.account = await request.services[FeaturedService].feature_hashtag(me, tag)


async def _unfeature(request: SiteRequest, me: AccountId, tag: str, _caller: Caller) -> None:
    request.account = await request.services[FeaturedService].unfeature_hashtag(me, tag)


follow = action_endpoint(
    ("write:follows", "follow"),
    lambda request, me, tag, caller: request.services[FollowedHashtagService].follow(
        account_id=me, tag=tag, now_ms=request.services.clock.now_ms(), caller=caller
    ),
    is_followed=True,
)
unfollow = action_endpoint(
    ("write:follows", "follow"),
    lambda request, me, tag, caller: request.services[FollowedHashtagService].unfollow(
        account_id=me, tag=tag, caller=caller
    ),
    is_followed=False,
)
feature = action_endpoint(("write:accounts",), _feature)
unfeature = action_endpoint(("write:accounts",), _unfeature)


@endpoint("read:statuses", "read:follows")
async def show(request: SiteRequest, tag: str) -> Json:
    return await _own_tag_json(request, _normalize(tag))


@endpoint("read:follows", "follow", needs_account=True)
async def followed(request: SiteRequest) -> HttpResponse:
    tags = await request.services[FollowedHashtagService].followed(require_viewer_id(request))
    limit = limit_field(api_fields(request), DEFAULT_TAGS, MAX_TAGS)
    data = [await _own_tag_json(request, tag, is_followed=True) for tag in tags[:limit]]
    return page_response(request, data, next_id=None, previous_id=None)


@endpoint("read:accounts", needs_account=True)
async def featured(request: SiteRequest) -> list[Json]:
    return await _featured_tags(request, require_account(request))


@endpoint("read:accounts")
async def featured_of_account(request: SiteRequest, account_id: AccountId) -> list[Json]:
    return await _featured_tags(request, await request.services[AccountService].get_active(account_id))


@endpoint("write:accounts", needs_account=True)
async def create_featured(request: SiteRequest) -> Json:
    me, tag = require_viewer_id(request), _normalize(api_fields(request).get("name", ""))
    account = await request.services[FeaturedService].feature_hashtag(me, tag)
    used = await request.services[FeaturedService].hashtags_in_use(me, me)
    return _featured_json(request, account, used.get(tag, HashtagUse(tag)))


@endpoint("write:accounts", needs_account=True)
async def delete_featured(request: SiteRequest, tag: str) -> None:
    await request.services[FeaturedService].unfeature_hashtag(require_viewer_id(request), _normalize(tag))


@endpoint("read:accounts", needs_account=True)
async def suggestions(request: SiteRequest) -> list[Json]:
    """Return hashtags that the account uses and does not feature, the most used first."""
    me = require_viewer_id(request)
    used = await request.services[FeaturedService].hashtags_in_use(me, me)
    tags = [tag for tag in used if tag not in require_account(request).preferences.featured_hashtags]
    return [await _own_tag_json(request, tag) for tag in tags[:FEATURED_HASHTAGS_CAP]]


async def _featured_tags(request: SiteRequest, account: Account) -> list[Json]:
    """Return the featured hashtags of an account. Their posts are counted among the newest that the viewer may see."""
    tags, used = account.preferences.featured_hashtags, dict[str, HashtagUse]()
    if tags:
        used = await request.services[FeaturedService].hashtags_in_use(AccountId(account.id), get_viewer_id(request))
    return [_featured_json(request, account, used.get(tag, HashtagUse(tag))) for tag in tags]


def _featured_json(request: SiteRequest, account: Account, use: HashtagUse) -> Json:
    """Return the entity FeaturedTag (https://docs.joinmastodon.org/entities/FeaturedTag/)."""
    return {
        "id": use.tag,
        "name": use.tag,
        "url": request.site_url + hashtag_url(use.tag),
        "statuses_count": str(use.posts),
        "last_status_at": None if use.last_post_ms is None else format_date(use.last_post_ms),
    }


async def _own_tag_json(request: SiteRequest, tag: str, is_followed: bool | None = None) -> Json:
    """Return a hashtag with whether the viewer follows and features it."""
    account, entity = request.account, tag_json(tag, request.site_url)
    if account is None:
        return entity | {"following": False, "featuring": False}
    if is_followed is None:
        is_followed = await request.services[FollowedHashtagService].is_following(AccountId(account.id), tag)
    is_featured = tag in require_account(request).preferences.featured_hashtags
    return entity | {"following": is_followed, "featuring": is_featured}


def _normalize(tag: str) -> str:
    name = normalize_tag(tag.removeprefix("#"))
    if name is None:
        raise HashtagNotFound
    return name
