"""Pages to retry or delete dead letters, which are jobs that failed too often."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.accounts.service import AccountService
from socialsite.admin.dead_letters import describe_letter
from socialsite.admin.presenters.accounts import letter_json
from socialsite.admin.requests import build_next_url, get_services, record_action
from socialsite.errors import MalformedRequest, NotFound
from socialsite.recipes.job_queue import OUTBOX, STREAM_ID, JobQueue, validated_stream_id
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond
from timelines.pages.queries import parse_cursor

LETTERS_PER_PAGE = 20


async def index(request: SiteRequest) -> HttpResponse:
    queue = _find_queue(request, request.GET.get("queue"))
    before = parse_cursor(request.GET, validated_stream_id)
    letters = [describe_letter(each, queue.name) for each in await queue.read_dead_letters(LETTERS_PER_PAGE, before)]
    ids = {letter.account_id for letter in letters if letter.account_id is not None}
    authors = await request.services[AccountService].find_authors(ids)
    cursor = letters[-1].letter.id if len(letters) == LETTERS_PER_PAGE else None
    next_url = build_next_url(request, cursor, **({} if queue.name == OUTBOX else {"queue": queue.name}))
    return respond(
        request,
        "admin/dead_letters.html",
        page=lambda: {
            "letters": letters,
            "authors": authors,
            "next_url": next_url,
            "queue": queue.name,
            "queues": list(get_services(request).background_queues),
            "page_title": _("Failed jobs"),
        },
        data=lambda: {"letters": [letter_json(letter, authors) for letter in letters], "next": next_url},
    )


def _find_queue(request: SiteRequest, name: str | None) -> JobQueue:
    """Return the queue; the outbox is the default. Raises MalformedRequest if there is no such queue."""
    queue = get_services(request).background_queues.get(OUTBOX if name is None else name)
    if queue is None:
        raise MalformedRequest(fields={"queue": _("There is no queue with this name.")})
    return queue.queue


def _make_action_view(
    action: str, perform: Callable[[JobQueue, str], Awaitable[bool]], success_message: str | Promise, result_name: str
) -> Callable[..., Awaitable[HttpResponseBase]]:
    """Return a view that records `action`, and performs it on the dead letter of the fields `queue` and `id`."""

    async def act(request: SiteRequest) -> HttpResponseBase:
        id = get_form_data(request).get("id", "")
        if not STREAM_ID.fullmatch(id):
            raise MalformedRequest(fields={"id": _("This is not the id of a failed job.")})
        queue = _find_queue(request, get_form_data(request).get("queue"))
        await record_action(request, action, f"letter:{id}")
        if not await perform(queue, id):
            raise NotFound(_("This failed job no longer exists."))
        url = "/ops/deadletters/" if queue.name == OUTBOX else f"/ops/deadletters/?queue={queue.name}"
        return done(request, {result_name: id}, default=url, message=success_message)

    return act


retry = _make_action_view("retry", JobQueue.retry_dead_letter, gettext_lazy("The job will run again."), "retried")
drop = _make_action_view("drop", JobQueue.delete_dead_letter, gettext_lazy("The failed job is deleted."), "dropped")
