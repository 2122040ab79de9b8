"""Dead letters: jobs that were given up. Look, mend the cause, then retry; or drop."""

from collections.abc import Awaitable, Callable

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.accounts.service import AccountService
from socialsite.admin.access import get_actor, get_services, staff_only
from socialsite.admin.audit_log import Actor
from socialsite.admin.dead_letters import DeadLetters
from socialsite.admin.presenters.accounts import letter_json, letter_page
from socialsite.admin.views.paging import build_next_url, parse_cursor
from socialsite.errors import MalformedRequest
from socialsite.recipes.job_queue import STREAM_ID
from socialsite.web.requests import SeeOther, SiteRequest, get_form_data, json_response, respond, wants_json

LETTERS_PER_PAGE = 20
LetterAction = Callable[[DeadLetters, Actor, str], Awaitable[None]]


@staff_only
async def index(request: SiteRequest) -> HttpResponse:
    letters = await DeadLetters(get_services(request)).page(LETTERS_PER_PAGE, parse_cursor(request))
    ids = {letter.account_id for letter in letters if letter.account_id is not None}
    authors = await request.services[AccountService].find_authors(ids) if ids else {}
    following = build_next_url(request, letters[-1].letter.id if len(letters) == LETTERS_PER_PAGE else None)
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


def _make_action_view(
    order: LetterAction, said: str | Promise, word: str
) -> Callable[..., Awaitable[HttpResponseBase]]:
    """A view that does something with the letter of the field `id`."""

    @staff_only
    async def act(request: SiteRequest) -> HttpResponseBase:
        id = get_form_data(request).get("id", "")
        if not STREAM_ID.fullmatch(id):
            raise MalformedRequest(fields={"id": _("This is not the id of a dead letter.")})
        await order(DeadLetters(get_services(request)), get_actor(request), id)
        if wants_json(request):
            return json_response({word: id})
        messages.success(request, str(said), fail_silently=True)
        return SeeOther("/ops/deadletters/")

    return act


retry = _make_action_view(DeadLetters.retry, gettext_lazy("The job is tried again."), "retried")
drop = _make_action_view(DeadLetters.drop, gettext_lazy("The dead letter is dropped."), "dropped")
