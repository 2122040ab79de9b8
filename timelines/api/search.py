"""Search, trends, suggestions and the directory in the API."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.http import HttpResponse
from msgspec import Raw

from accounts.accounts.service import AccountService
from accounts.sessions.authentication import require_account
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId
from socialsite.web.requests import FormFields, SiteRequest, get_viewer_id, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.fields import MAX_OFFSET, api_fields, flag, id_field, limit_field, offset_field
from timelines.api.hashtags import tag_json
from timelines.api.pagination import offset_response
from timelines.api.presenters import accounts_by_id, accounts_json, statuses_json
from timelines.api.profiles import local_handle
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.hashtags.trends import TrendService
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import Json
from timelines.popular.service import PopularPostsService
from timelines.reading.pipeline import ReadPipeline
from timelines.search.autocomplete import AutocompleteService
from timelines.search.query import QueryInvalid, parse_query
from timelines.search.service import SearchService
from timelines.text.token_scanner import normalize_tag

DEFAULT_RESULTS, MAX_RESULTS = 20, 40
DEFAULT_ACCOUNTS, MAX_ACCOUNTS = 40, 80


# Search


@endpoint("read:search")
async def search(request: SiteRequest) -> Json:
    """Return accounts, hashtags and posts, or one `type` of them. A URL finds its account or post of this site."""
    fields = api_fields(request)
    kind, text = fields.get("type", ""), fields.get("q", "").strip()
    limit, offset = limit_field(fields, DEFAULT_RESULTS, MAX_RESULTS), offset_field(fields)
    most = limit + min(offset, MAX_OFFSET)
    account_ids: list[AccountId] = []
    tags: list[str] = []
    posts: list[HydratedPost] = []
    if text.startswith(("http://", "https://")):
        account_ids, posts = await _resolve(request, text)
    else:
        if kind in ("", "accounts"):
            account_ids = await _find_accounts(request, text, most, is_following=flag(fields, "following"))
        if kind in ("", "hashtags"):
            prefix = normalize_tag(text.lstrip("#＃")) or ""
            tags = await request.services[AutocompleteService].complete_hashtags(prefix, limit=most)
        if kind in ("", "statuses"):
            posts = await _find_posts(request, fields, text, most)
    return {
        "accounts": await accounts_json(request, account_ids[offset:]),
        "statuses": await statuses_json(request, posts[offset:]),
        "hashtags": [tag_json(tag, request.site_url) for tag in tags[offset:]],
    }


@endpoint("read:accounts", needs_account=True)
async def search_accounts(request: SiteRequest) -> list[Raw]:
    """Return accounts whose handle or name starts with `q`; with `following` only those that the viewer follows."""
    fields = api_fields(request)
    limit, offset = limit_field(fields, DEFAULT_ACCOUNTS, MAX_ACCOUNTS), offset_field(fields)
    text, most = fields.get("q", "").strip(), limit + min(offset, MAX_OFFSET)
    ids = await _find_accounts(request, text, most, is_following=flag(fields, "following"))
    return await accounts_json(request, ids[offset:])


async def _find_accounts(request: SiteRequest, text: str, limit: int, *, is_following: bool) -> list[AccountId]:
    me, name = get_viewer_id(request), local_handle(request, text)
    if name is None:
        return []
    authors = await request.services[AutocompleteService].complete_accounts(
        name, viewer_id=me, limit=limit, caller=request.caller
    )
    exact = await request.services[AccountService].find_by_handle(name)  # also if the viewer blocks the account
    named = [AccountId(exact.id)] if exact is not None and exact.is_active else []
    ids = [*named, *(author.id for author in authors if author.id not in named)][:limit]
    if not is_following or me is None:
        return ids
    followed = await request.services[FollowingService].followed_among(me, ids)
    return [id for id in ids if id in followed]


async def _find_posts(request: SiteRequest, fields: FormFields, text: str, limit: int) -> list[HydratedPost]:
    """Return the newest matching posts, or none for a text that is no query."""
    author_id = id_field(fields, "account_id")
    if author_id is not None:
        author = await request.services[AccountService].find(AccountId(author_id))
        if author is None:
            return []
        text += f" from:{author.handle}"
    try:
        query = parse_query(text, me=request.account.handle if request.account is not None else "")
    except QueryInvalid:
        return []
    results = await request.services[SearchService].search(
        query,
        viewer_id=get_viewer_id(request),
        before=id_field(fields, "max_id"),
        limit=limit,
        kind="posts",
        caller=request.caller,
    )
    return list(results.posts.entries)


async def _resolve(request: SiteRequest, url: str) -> tuple[list[AccountId], list[HydratedPost]]:
    """Return the account or the post of a URL of this site."""
    parts = urlsplit(url)
    handle, _, rest = parts.path.strip("/").removeprefix("@").partition("/")
    if f"{parts.scheme}://{parts.netloc}".lower() != request.site_url.lower() or not parts.path.startswith("/@"):
        return [], []
    if rest.isascii() and rest.isdigit() and len(rest) <= 16:
        entry = await request.services[ReadPipeline].find_visible(get_viewer_id(request), PostId(int(rest)))
        return [], [] if entry is None else [entry]
    account = None if rest else await request.services[AccountService].find_by_handle(handle.lower())
    return [] if account is None else [AccountId(account.id)], []


# Trends


@endpoint(None)
async def trending_tags(request: SiteRequest) -> list[Json]:
    fields, service = api_fields(request), request.services[TrendService]
    limit, offset = limit_field(fields, 10, 20), offset_field(fields)
    trends, today = (await service.top())[offset : offset + limit], request.services.clock.now_ms() // DAY_MS
    return [
        tag_json(each.tag, request.site_url) | {"history": _history_json(service.history(each.tag), today)}
        for each in trends
    ]


@endpoint(None)
async def trending_statuses(request: SiteRequest) -> HttpResponse:
    """Return popular posts in the languages that the viewer reads; `offset` skips posts, as in Mastodon."""
    fields = api_fields(request)
    languages = require_account(request).preferences.languages if request.account is not None else ()
    limit, offset = limit_field(fields, DEFAULT_RESULTS, MAX_RESULTS), offset_field(fields)
    posts, next_offset = await request.services[PopularPostsService].read(
        get_viewer_id(request), languages, offset=offset, limit=limit
    )
    return offset_response(
        request, await statuses_json(request, posts), next_offset, max(offset - limit, 0) if offset else None
    )


def _history_json(accounts_by_day: Sequence[int], today: int) -> list[Json]:
    """Return the days of a trend, the newest first. An account counts once within 24 hours, so uses are accounts."""
    return [
        {"day": str((today - age) * DAY_MS // 1000), "uses": str(accounts), "accounts": str(accounts)}
        for age, accounts in enumerate(accounts_by_day)
    ]


# Suggestions and the directory


@endpoint("read:accounts", "read", needs_account=True)
async def suggestions(request: SiteRequest, version: int) -> list[Raw] | list[Json]:
    limit = limit_field(api_fields(request), DEFAULT_ACCOUNTS, MAX_ACCOUNTS)
    people = await request.services[FollowSuggestionService].suggestions(require_viewer_id(request), limit)
    accounts = await accounts_by_id(request, [each.account_id for each in people])
    if version == 1:
        return list(accounts.values())
    sources = {each.account_id: "friends_of_friends" if each.known_follower_ids else "most_followed" for each in people}
    return [
            {"source": "past_interactions" if sources[id] != "most_followed" else "global",
             "sources": [sources[id]], "account": account}
            for id, account in accounts.items()
        ]  # fmt: skip


@endpoint("read:accounts")
async def directory(request: SiteRequest) -> list[Raw]:
    """Return the authors of the newest public posts; with `order=new` the newest of these accounts first."""
    fields = api_fields(request)
    ids = await request.services[FollowSuggestionService].directory(get_viewer_id(request))
    if fields.get("order") == "new":
        ids = sorted(ids, reverse=True)
    offset = offset_field(fields)
    part = ids[offset : offset + limit_field(fields, DEFAULT_ACCOUNTS, MAX_ACCOUNTS)]
    return await accounts_json(request, part)
