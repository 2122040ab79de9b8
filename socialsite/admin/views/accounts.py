"""Accounts as staff sees them, and what staff does with one."""

from collections.abc import Awaitable, Callable

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables

from socialsite.admin.access import get_actor, get_services, staff_only
from socialsite.admin.audit_log import Actor
from socialsite.admin.moderation import Moderation
from socialsite.admin.presenters.accounts import author_json, author_row, overview_json, overview_page
from socialsite.admin.views.paging import build_next_url
from socialsite.ids import AccountId
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import (
    SeeOther,
    SiteRequest,
    json_response,
    require_viewer_id,
    respond,
    wants_json,
)
from timelines.lists.forms import parse_list_cursor

ACCOUNTS_PER_PAGE = 30
QUERY_MAX_LENGTH = 21  # a handle, and its @

AccountAction = Callable[[Moderation, Actor, AccountId], Awaitable[None]]


@staff_only
async def index(request: SiteRequest) -> HttpResponse:
    """`?q=`: a handle or its beginning; without one the newest accounts."""
    text = request.GET.get("q", "").strip()[:QUERY_MAX_LENGTH]
    found = await Moderation(get_services(request)).search(text, parse_list_cursor(request.GET), ACCOUNTS_PER_PAGE)
    following = build_next_url(request, found.next_cursor, **({"q": text} if text else {}))
    return respond(
        request,
        "ops/accounts.html",
        page=lambda: {
            "accounts": [author_row(author) for author in found.authors],
            "query": text,
            "next_url": following,
            "page_title": _("Accounts"),
        },
        data=lambda: {"accounts": [author_json(each) for each in found.authors], "next": following},
    )


@staff_only
async def show(request: SiteRequest, account_id: int) -> HttpResponse:
    case = await Moderation(get_services(request)).get_overview(AccountId(account_id))
    return respond(
        request,
        "ops/account.html",
        page=lambda: overview_page(case, require_viewer_id(request)),
        data=lambda: overview_json(case),
    )


def _make_action_view(order: AccountAction, said: str | Promise) -> Callable[..., Awaitable[HttpResponseBase]]:
    """A view that carries out an order and goes back to the account."""

    @staff_only
    async def act(request: SiteRequest, account_id: int) -> HttpResponseBase:
        moderation, id = Moderation(get_services(request)), AccountId(account_id)
        await order(moderation, get_actor(request), id)
        if wants_json(request):
            return json_response(overview_json(await moderation.get_overview(id)))
        messages.success(request, str(said), fail_silently=True)
        return SeeOther(f"/ops/accounts/{account_id}/")

    return act


suspend = _make_action_view(Moderation.suspend, gettext_lazy("The account is suspended."))
reinstate = _make_action_view(Moderation.reinstate, gettext_lazy("The account is reinstated."))
end_sessions = _make_action_view(Moderation.end_sessions, gettext_lazy("All sessions of the account are ended."))


@staff_only
@sensitive_variables()
async def reset_password(request: SiteRequest, account_id: int) -> HttpResponseBase:
    """The new password stands in this answer and nowhere else; asking again sets another one."""
    account, password = await Moderation(get_services(request)).reset_password(
        get_actor(request), AccountId(account_id)
    )
    return respond(
        request,
        "ops/password.html",
        page=lambda: {
            "account": account.author,
            "password": Placeholder(password),  # a kept shell must not hold it
            "page_title": _("New password"),
        },
        data=lambda: {"password": password},
    )
