"""Dead letters: jobs that were given up. Look, mend the cause, then retry; or drop."""

from collections.abc import Awaitable, Callable

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.admin.access import actor_of, staff_only
from socialsite.admin.audit_log import Actor
from socialsite.admin.dead_letters import DeadLetters
from socialsite.admin.presenters.accounts import letter_json, letter_page
from socialsite.admin.views.paging import cursor_of, next_url
from socialsite.errors import Malformed
from socialsite.recipes.jobs import STREAM_ID
from socialsite.web.requests import SeeOther, SiteRequest, form_data, json_response, respond, wants_json

SHOWN = 20
Order = Callable[[DeadLetters, Actor, str], Awaitable[None]]


@staff_only
async def index(request: SiteRequest) -> HttpResponse:
    letters = await DeadLetters(request.services).page(SHOWN, cursor_of(request))
    ids = {letter.account_id for letter in letters if letter.account_id is not None}
    authors = await request.services.accounts.authors(ids) if ids else {}
    following = next_url(request, letters[-1].dead.id if len(letters) == SHOWN else None)
    return respond(
        request,
        "ops/letters.html",
        page=lambda: {
            "letters": [letter_page(letter, authors) for letter in letters],
            "next_url": following,
            "page_title": _("Dead letters"),
        },
        data=lambda: {"letters": [letter_json(letter, authors) for letter in letters], "next": following},
    )


def _action(order: Order, said: str | Promise, word: str) -> Callable[..., Awaitable[HttpResponseBase]]:
    """A view that does something with the letter of the field `id`."""

    @staff_only
    async def act(request: SiteRequest) -> HttpResponseBase:
        id = form_data(request).get("id", "")
        if not STREAM_ID.fullmatch(id):
            raise Malformed(fields={"id": _("This is not the id of a dead letter.")})
        await order(DeadLetters(request.services), actor_of(request), id)
        if wants_json(request):
            return json_response({word: id})
        messages.success(request, str(said), fail_silently=True)
        return SeeOther("/ops/deadletters/")

    return act


retry = _action(DeadLetters.retry, gettext_lazy("The job is tried again."), "retried")
drop = _action(DeadLetters.drop, gettext_lazy("The dead letter is dropped."), "dropped")
