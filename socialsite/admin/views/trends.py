"""The page on which staff hides hashtags in trends, accounts in suggestions, popular posts and public lists."""

import re
from collections.abc import Sequence
from functools import partial

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from accounts.forms import parse_choice
from socialsite.admin.presenters.accounts import author_json
from socialsite.admin.requests import build_next_url, get_actor, get_services, record_action
from socialsite.admin.sanctions import get_target
from socialsite.admin.site_forms import describe_variable
from socialsite.errors import ApiError, Invalid
from socialsite.ids import AccountId, PostId
from socialsite.site.service import SiteService
from socialsite.site.settings import LIST_SIZES
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond
from timelines.errors import PostNotFound
from timelines.hashtags.trends import TrendService
from timelines.pages.presenters import post_url
from timelines.pages.queries import decode_id, parse_cursor
from timelines.text.token_scanner import normalize_tag

TAG_LISTS = ("held_hashtags", "allowed_hashtags")
ACCOUNT_LIST = "held_accounts"
POST_LIST = "held_posts"
HELD_LISTS = "held_lists"
_POST_ID = re.compile(r"(?:^|/)([1-9][0-9]{0,15})/?$", re.ASCII)
ROWS_PER_PAGE = 50


async def index(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    """Show the next hashtags, accounts and posts. `error` belongs to the handle or post that was submitted."""
    site, fixed = request.services[SiteService].settings, request.services[SiteService].from_environment
    counts = dict.fromkeys(site.held_hashtags, 0) | dict(await request.services[TrendService].candidates())
    tags = [
        {"tag": tag, "accounts": count, "is_shown": site.shows_trend(tag)}
        for tag, count in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    skipped = parse_cursor(request.GET, decode_id) or 0
    end = skipped + ROWS_PER_PAGE
    longest = max(map(len, (tags, site.held_accounts, site.held_posts, site.held_lists)))
    next_url = build_next_url(request, end if longest > end else None)
    tags, held_ids, held_posts = tags[skipped:end], site.held_accounts[skipped:end], site.held_posts[skipped:end]
    fields, message = get_form_data(request), next(iter(error.fields.values()), error.message) if error else ""
    authors = await request.services[AccountService].find_authors(AccountId(int(id)) for id in held_ids)
    urls = await _find_post_urls(request, held_posts)
    return respond(
        request,
        "admin/trends.html",
        page=lambda: {
            "tags": tags,
            "held": authors.values(),
            "reviews": site.reviews_trends,
            "tags_note": next((describe_variable(name) for name in TAG_LISTS if name in fixed), ""),
            "accounts_note": describe_variable(ACCOUNT_LIST) if ACCOUNT_LIST in fixed else "",
            "held_posts": [(id, urls.get(id)) for id in held_posts],
            "held_lists": site.held_lists[skipped:end],
            "lists_note": describe_variable(HELD_LISTS) if HELD_LISTS in fixed else "",
            "posts_note": describe_variable(POST_LIST) if POST_LIST in fixed else "",
            "handle": Placeholder(fields.get("handle", "")),
            "post": Placeholder(fields.get("post", "")),
            "error": "" if "post" in fields else message,
            "post_error": message if "post" in fields else "",
            "next_url": next_url,
            "page_title": _("Trends"),
        },
        data=lambda: {
            "tags": tags,
            "held_accounts": [author_json(each) for each in authors.values()],
            "held_posts": list(held_posts),
            "held_lists": site.held_lists[skipped:end],
            "next": next_url,
        },
        status=422 if error else 200,
    )


@shows_errors(index, AccountNotFound, PostNotFound, Invalid)
async def change(request: SiteRequest) -> HttpResponseBase:
    """Hold back or show a hashtag (`tag`), a post (`post`, its address or id), a list (id) or an account (`handle`).

    Raises PostNotFound, FieldErrors, AccountNotFound, CannotModerateStaff, CannotModerateSelf, Invalid if a list is
    full, and SetByEnvironment.
    """
    services, fields = get_services(request), get_form_data(request)
    action = parse_choice("action", fields.get("action"), ("hold", "show"))
    is_held = action == "hold"
    if "post" in fields:
        kind, entry = "post", await _parse_post(request, fields["post"], is_held=is_held)
        lists = {POST_LIST: is_held}
    elif "list" in fields:
        kind, entry, lists = "list", fields["list"], {HELD_LISTS: is_held}
    elif tag := normalize_tag(fields.get("tag", "").removeprefix("#")):
        kind, entry = "hashtag", tag
        lists = {"held_hashtags": is_held, "allowed_hashtags": not is_held}
    else:
        kind, entry = "account", await _parse_account(request, fields.get("handle", ""), is_held=is_held)
        lists = {ACCOUNT_LIST: is_held}
    edits = {name: partial(_edit, name, entry, is_added) for name, is_added in lists.items()}
    services.site.check(edits)
    await record_action(request, action, f"{kind}:{entry}")
    site = await services.site.change(**edits)
    return done(request, {name: getattr(site, name) for name in edits}, default="/ops/trends/")


async def _parse_post(request: SiteRequest, text: str, *, is_held: bool) -> str:
    """Return the id of a post, given by its address or id. Raises PostNotFound. A post to hold back has to exist."""
    match = _POST_ID.search(text.strip())
    posts = get_services(request).repositories.posts
    if match is None or (is_held and await posts.find(PostId(int(match[1]))) is None):
        raise PostNotFound
    return match[1]


async def _parse_account(request: SiteRequest, handle: str, *, is_held: bool) -> str:
    """Return the id of the account of a handle. Raises AccountNotFound, CannotModerateStaff, CannotModerateSelf."""
    services = get_services(request)
    account = await services.accounts.find_by_handle(handle.strip().removeprefix("@"))
    if account is None:
        raise AccountNotFound
    if is_held:
        await get_target(services, get_actor(request), AccountId(account.id))
    return str(account.id)


async def _find_post_urls(request: SiteRequest, post_ids: Sequence[str]) -> dict[str, str]:
    """Return the address of each post that exists."""
    services = get_services(request)
    posts = await services.repositories.posts.find_shown([PostId(int(id)) for id in post_ids])
    authors = await services.accounts.find_authors({post.author_id for post in posts.values()})
    return {str(id): post_url(id, authors[post.author_id]) for id, post in posts.items() if post.author_id in authors}


def _edit(name: str, entry: str, is_added: bool, entries: Sequence[str]) -> tuple[str, ...]:
    """Return the entries with or without `entry`. A full list of allowed hashtags loses its oldest."""
    edited = (*(each for each in entries if each != entry), *([entry] if is_added else []))
    return edited[-LIST_SIZES[name][0] :] if name == "allowed_hashtags" else edited
