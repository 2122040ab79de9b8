"""The page on which staff holds hashtags back from the trends, and accounts back from suggestions."""

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
from socialsite.ids import AccountId
from socialsite.site.service import SiteService
from socialsite.site.settings import LIST_SIZES
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond
from timelines.hashtags.trends import TrendService
from timelines.pages.queries import decode_id, parse_cursor
from timelines.text.token_scanner import normalize_tag

TAG_LISTS = ("held_hashtags", "allowed_hashtags")
ACCOUNT_LIST = "held_accounts"
ROWS_PER_PAGE = 50


async def index(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    """Show the next hashtags and accounts. `error` belongs to the handle that was submitted."""
    site, fixed = request.services[SiteService].settings, request.services[SiteService].from_environment
    counts = dict.fromkeys(site.held_hashtags, 0) | dict(await request.services[TrendService].candidates())
    tags = [
        {"tag": tag, "accounts": count, "is_shown": site.shows_trend(tag)}
        for tag, count in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    skipped = parse_cursor(request.GET, decode_id) or 0
    end = skipped + ROWS_PER_PAGE
    next_url = build_next_url(request, end if max(len(tags), len(site.held_accounts)) > end else None)
    tags, held_ids = tags[skipped:end], site.held_accounts[skipped:end]
    authors = await request.services[AccountService].find_authors(AccountId(int(id)) for id in held_ids)
    return respond(
        request,
        "ops/trends.html",
        page=lambda: {
            "tags": tags,
            "held": authors.values(),
            "reviews": site.reviews_trends,
            "tags_note": next((describe_variable(name) for name in TAG_LISTS if name in fixed), ""),
            "accounts_note": describe_variable(ACCOUNT_LIST) if ACCOUNT_LIST in fixed else "",
            "handle": Placeholder(get_form_data(request).get("handle", "")),
            "error": next(iter(error.fields.values()), error.message) if error else "",
            "next_url": next_url,
            "page_title": _("Trends"),
        },
        data=lambda: {
            "tags": tags,
            "held_accounts": [author_json(each) for each in authors.values()],
            "next": next_url,
        },
        status=422 if error else 200,
    )


@shows_errors(index, AccountNotFound, Invalid)
async def change(request: SiteRequest) -> HttpResponseBase:
    """Hold back or show a hashtag (`tag`) or an account (`handle`).

    Raises FieldErrors, AccountNotFound, CannotModerateStaff, CannotModerateSelf, Invalid if a list is full, and
    SetByEnvironment.
    """
    services, fields = get_services(request), get_form_data(request)
    action = parse_choice("action", fields.get("action"), ("hold", "show"))
    tag = normalize_tag(fields.get("tag", "").removeprefix("#"))
    if tag:
        entry, target = tag, f"hashtag:{tag}"
    else:
        account = await services.accounts.find_by_handle(fields.get("handle", "").strip().removeprefix("@"))
        if account is None:
            raise AccountNotFound
        if action == "hold":
            await get_target(services, get_actor(request), AccountId(account.id))
        entry, target = str(account.id), f"account:{account.id}"
    tag_lists = {"held_hashtags": action == "hold", "allowed_hashtags": action == "show"}
    lists = tag_lists if tag else {ACCOUNT_LIST: action == "hold"}
    edits = {name: partial(_edit, name, entry, is_added) for name, is_added in lists.items()}
    services.site.check(edits)
    await record_action(request, action, target)
    site = await services.site.change(**edits)
    return done(request, {name: getattr(site, name) for name in edits}, default="/ops/trends/")


def _edit(name: str, entry: str, is_added: bool, entries: Sequence[str]) -> tuple[str, ...]:
    """Return the entries with or without one of them. The oldest allowed hashtag gives way: it can be allowed again."""
    edited = (*(each for each in entries if each != entry), *([entry] if is_added else []))
    return edited[-LIST_SIZES[name][0] :] if name == "allowed_hashtags" else edited
