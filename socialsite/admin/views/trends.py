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
from socialsite.admin.requests import get_services, record_action
from socialsite.errors import ApiError
from socialsite.ids import AccountId
from socialsite.site.service import SiteService
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond
from timelines.hashtags.trends import TrendService
from timelines.text.token_scanner import normalize_tag


async def index(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    """Show the hashtags and accounts. `error` belongs to the handle that was submitted."""
    site = request.services[SiteService].settings
    counts = dict.fromkeys(site.held_hashtags, 0) | dict(await request.services[TrendService].candidates())
    tags = [
        {"tag": tag, "accounts": count, "is_shown": site.shows_trend(tag)}
        for tag, count in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    authors = await request.services[AccountService].find_authors(AccountId(int(id)) for id in site.held_accounts)
    return respond(
        request,
        "ops/trends.html",
        page=lambda: {
            "tags": tags,
            "held": authors.values(),
            "reviews": site.reviews_trends,
            "handle": Placeholder(get_form_data(request).get("handle", "")),
            "error": error.message if error else "",
            "page_title": _("Trends"),
        },
        data=lambda: {"tags": tags, "held_accounts": [author_json(each) for each in authors.values()]},
        status=422 if error else 200,
    )


@shows_errors(index, AccountNotFound)
async def change(request: SiteRequest) -> HttpResponseBase:
    """Hold back or show a hashtag (`tag`) or an account (`handle`). Raises FieldErrors, AccountNotFound."""
    services, fields = get_services(request), get_form_data(request)
    action = parse_choice("action", fields.get("action"), ("hold", "show"))
    tag = normalize_tag(fields.get("tag", "").removeprefix("#"))
    if tag:
        entry, target = tag, f"hashtag:{tag}"
    else:
        account = await services.accounts.find_by_handle(fields.get("handle", "").strip().removeprefix("@"))
        if account is None:
            raise AccountNotFound
        entry, target = str(account.id), f"account:{account.id}"
    await record_action(request, action, target)
    added = {"held_hashtags": action == "hold", "allowed_hashtags": action == "show"}
    edits = added if tag else {"held_accounts": action == "hold"}
    site = await services.site.change(**{name: partial(_edit, entry, is_added) for name, is_added in edits.items()})
    return done(request, {name: getattr(site, name) for name in edits}, default="/ops/trends/")


def _edit(entry: str, is_added: bool, entries: Sequence[str]) -> tuple[str, ...]:
    """Return the entries with or without one of them."""
    return (*(each for each in entries if each != entry), *([entry] if is_added else []))
