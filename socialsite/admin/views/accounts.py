"""Accounts as staff sees them, and what staff does with one."""

from collections.abc import Awaitable, Callable

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables

from accounts.domain import AccountId
from socialsite.admin.access import actor_of, staff_only
from socialsite.admin.audit_log import Actor
from socialsite.admin.moderation import Moderation
from socialsite.admin.presenters.accounts import author_line_json, author_row, case_json, case_page
from socialsite.admin.views.paging import next_url
from socialsite.web.page_cache import Slot
from socialsite.web.requests import SeeOther, SiteRequest, json_response, own_id, respond, wants_json
from timelines.lists.forms import list_cursor_of

SHOWN = 30
QUERY_MAX = 21  # a handle, and its @

Order = Callable[[Moderation, Actor, AccountId], Awaitable[None]]


@staff_only
async def index(request: SiteRequest) -> HttpResponse:
    """`?q=`: a handle or its beginning; without one the newest accounts."""
    text = request.GET.get("q", "").strip()[:QUERY_MAX]
    found = await Moderation(request.services).search(text, list_cursor_of(request.GET), SHOWN)
    following = next_url(request, found.next, **({"q": text} if text else {}))
    return respond(
        request,
        "ops/accounts.html",
        page=lambda: {
            "accounts": [author_row(author) for author in found.authors],
            "query": text,
            "next_url": following,
            "page_title": _("Accounts"),
        },
        data=lambda: {"accounts": [author_line_json(each) for each in found.authors], "next": following},
    )


@staff_only
async def show(request: SiteRequest, account_id: int) -> HttpResponse:
    case = await Moderation(request.services).case(AccountId(account_id))
    return respond(
        request,
        "ops/account.html",
        page=lambda: case_page(case, own_id(request)),
        data=lambda: case_json(case),
    )


def _action(order: Order, said: str | Promise) -> Callable[..., Awaitable[HttpResponseBase]]:
    """A view that carries out an order and goes back to the account."""

    @staff_only
    async def act(request: SiteRequest, account_id: int) -> HttpResponseBase:
        moderation, id = Moderation(request.services), AccountId(account_id)
        await order(moderation, actor_of(request), id)
        if wants_json(request):
            return json_response(case_json(await moderation.case(id)))
        messages.success(request, str(said), fail_silently=True)
        return SeeOther(f"/ops/accounts/{account_id}/")

    return act


suspend = _action(Moderation.suspend, gettext_lazy("The account is suspended."))
reinstate = _action(Moderation.reinstate, gettext_lazy("The account is reinstated."))
end_sessions = _action(Moderation.end_sessions, gettext_lazy("All sessions of the account are ended."))


@staff_only
@sensitive_variables()
async def reset_password(request: SiteRequest, account_id: int) -> HttpResponseBase:
    """The new password stands in this answer and nowhere else; asking again sets another one."""
    account, password = await Moderation(request.services).reset_password(
        actor_of(request), AccountId(account_id)
    )
    return respond(
        request,
        "ops/password.html",
        page=lambda: {
            "account": account.author,
            "password": Slot(password),  # a kept shell must not hold it
            "page_title": _("New password"),
        },
        data=lambda: {"password": password},
    )
