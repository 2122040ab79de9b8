"""Pages to find and moderate accounts."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables

from accounts.errors import FieldErrors
from accounts.factors.step_up import require_step_up
from socialsite.admin.audit_log import Actor
from socialsite.admin.moderation import Moderation
from socialsite.admin.presenters.accounts import author_json, overview_json, overview_page
from socialsite.admin.requests import build_next_url, get_actor, get_services
from socialsite.admin.views.reports import find_account_ids
from socialsite.ids import AccountId
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, require_viewer_id, wants_json
from socialsite.web.responses import done, respond
from timelines.pages.queries import decode_id, parse_cursor

ACCOUNTS_PER_PAGE = 30
REPORTS_PER_DECISION = 50
DECISIONS_SHOWN = 30
QUERY_MAX_LENGTH = 300  # a handle, its @ and the host of the site

AccountAction = Callable[[Moderation, Actor, AccountId], Awaitable[None]]


async def index(request: SiteRequest) -> HttpResponse:
    """Show the accounts that `Moderation.search` finds for `?q=`. Without `?q=` the newest accounts are shown."""
    text = request.GET.get("q", "").strip()[:QUERY_MAX_LENGTH]
    before = parse_cursor(request.GET, decode_id)
    authors, cursor = await Moderation(get_services(request)).search(text, before, ACCOUNTS_PER_PAGE)
    next_url = build_next_url(request, cursor, **({"q": text} if text else {}))
    return respond(
        request,
        "admin/accounts.html",
        page=lambda: {"accounts": authors, "query": text, "next_url": next_url, "page_title": _("Accounts")},
        data=lambda: {"accounts": [author_json(each) for each in authors], "next": next_url},
    )


async def show(request: SiteRequest, account_id: int, error: FieldErrors | None = None) -> HttpResponse:
    """Show an account. `error` belongs to the choice of a decision."""
    services = get_services(request)
    now_ms, viewer_id = services.clock.now_ms(), require_viewer_id(request)
    overview = await Moderation(services).get_overview(AccountId(account_id), viewer_id)
    reports = [*overview.reports.about, *overview.reports.by]
    ids = {*overview.sharing_ids, *(each.actor_id for each in overview.sanctions), *find_account_ids(reports)}
    authors = await services.accounts.find_authors(ids)
    return respond(
        request,
        "admin/account.html",
        page=lambda: {
            **overview_page(overview, viewer_id, authors, now_ms, None if "all" in request.GET else DECISIONS_SHOWN),
            "report_ids": [id for id in request.GET.getlist("report") if id.isdecimal()][:REPORTS_PER_DECISION],
            "kind_error": error.fields["kind"] if error else "",
        },
        data=lambda: overview_json(overview, now_ms),
        status=get_error_status(error),
    )


def _make_action_view(
    action: AccountAction, success_message: str | Promise
) -> Callable[..., Awaitable[HttpResponseBase]]:
    """Return a view that performs `action` and redirects to the account."""

    async def act(request: SiteRequest, account_id: int) -> HttpResponseBase:
        moderation, id = Moderation(get_services(request)), AccountId(account_id)
        await action(moderation, get_actor(request), id)
        overview = await moderation.get_overview(id, require_viewer_id(request)) if wants_json(request) else None
        data = overview and overview_json(overview, request.services.clock.now_ms())
        return done(request, data, default=f"/ops/accounts/{account_id}/", message=success_message)

    return act


suspend = _make_action_view(Moderation.suspend, gettext_lazy("The account is suspended."))
reinstate = _make_action_view(Moderation.reinstate, gettext_lazy("The account is reinstated."))
end_sessions = _make_action_view(Moderation.end_sessions, gettext_lazy("The account is logged out everywhere."))


@sensitive_variables()
async def reset_password(request: SiteRequest, account_id: int) -> HttpResponseBase:
    """Set a random password. Only this response contains it; a repetition sets another password."""
    require_step_up(request)
    account, password = await Moderation(get_services(request)).reset_password(
        get_actor(request), AccountId(account_id)
    )
    return respond(
        request,
        "admin/password.html",
        page=lambda: {
            "account": account.author,
            "password": Placeholder(password),  # the page cache must not contain it
            "page_title": _("New password"),
        },
        data=lambda: {"password": password},
    )
