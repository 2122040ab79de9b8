"""Pages to retry or delete dead letters, which are jobs that failed too often."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.accounts.service import AccountService
from socialsite.admin.audit_log import Actor
from socialsite.admin.dead_letters import DeadLetters
from socialsite.admin.presenters.accounts import letter_json
from socialsite.admin.requests import build_next_url, get_actor, get_services
from socialsite.errors import MalformedRequest
from socialsite.recipes.job_queue import OUTBOX, STREAM_ID, validated_stream_id
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond
from timelines.pages.queries import parse_cursor

LETTERS_PER_PAGE = 20
LetterAction = Callable[[DeadLetters, Actor, str], Awaitable[None]]


async def index(request: SiteRequest) -> HttpResponse:
    queue = _parse_queue(request, request.GET.get("queue"))
    before = parse_cursor(request.GET, validated_stream_id)
    letters = await DeadLetters(get_services(request), queue).page(LETTERS_PER_PAGE, before)
    ids = {letter.account_id for letter in letters if letter.account_id is not None}
    authors = await request.services[AccountService].find_authors(ids) if ids else {}
    cursor = letters[-1].letter.id if len(letters) == LETTERS_PER_PAGE else None
    next_url = build_next_url(request, cursor, **({} if queue == OUTBOX else {"queue": queue}))
    return respond(
        request,
        "ops/letters.html",
        page=lambda: {
            "letters": letters,
            "authors": authors,
            "next_url": next_url,
            "queue": queue,
            "queues": list(get_services(request).background_queues),
            "page_title": _("Failed jobs"),
        },
        data=lambda: {"letters": [letter_json(letter, authors) for letter in letters], "next": next_url},
    )


def _parse_queue(request: SiteRequest, name: str | None) -> str:
    """Return the name of the queue; the outbox is the default. Raises MalformedRequest if there is no such queue."""
    if name is not None and name not in get_services(request).background_queues:
        raise MalformedRequest(fields={"queue": _("There is no queue with this name.")})
    return name or OUTBOX


def _make_action_view(
    action: LetterAction, success_message: str | Promise, result_name: str
) -> Callable[..., Awaitable[HttpResponseBase]]:
    """Return a view that performs `action` on the dead letter of the fields `queue` and `id`."""

    async def act(request: SiteRequest) -> HttpResponseBase:
        id = get_form_data(request).get("id", "")
        if not STREAM_ID.fullmatch(id):
            raise MalformedRequest(fields={"id": _("This is not the id of a failed job.")})
        queue = _parse_queue(request, get_form_data(request).get("queue"))
        await action(DeadLetters(get_services(request), queue), get_actor(request), id)
        url = "/ops/deadletters/" if queue == OUTBOX else f"/ops/deadletters/?queue={queue}"
        return done(request, {result_name: id}, default=url, message=success_message)

    return act


retry = _make_action_view(DeadLetters.retry, gettext_lazy("The job will run again."), "retried")
drop = _make_action_view(DeadLetters.drop, gettext_lazy("The failed job is deleted."), "dropped")
