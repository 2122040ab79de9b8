"""One's keyword filters: making, changing and deleting them."""

from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.web.middleware.errors import status_of
from socialsite.web.requests import (
    SiteRequest,
    answer_as,
    done,
    form_data,
    own_id,
    page_response,
    respond,
    time_text,
    wants_json,
)
from timelines.errors import FilterNotFound, FilterRefused, FiltersCapReached
from timelines.filters.forms import FilterForm
from timelines.pages.presenters import Json
from timelines.pages.responses import Page
from timelines.visibility.filter import Filter

FILTERS = "/accounts/filters/"
TEMPLATE = "timelines/filters.html"


async def index(request: SiteRequest) -> HttpResponseBase:
    found = await request.services.filters.all(own_id(request))
    return respond(
        request,
        TEMPLATE,
        page=lambda: _page(request, found),
        data=lambda: {"filters": [filter_json(each) for each in found]},
    )


async def add(request: SiteRequest) -> HttpResponseBase:
    me, services = own_id(request), request.services
    try:
        sent = FilterForm.of(form_data(request), services.clock.now_ms())
        made = await services.filters.add(
            account_id=me,
            phrase=sent.phrase,
            action=sent.action,
            until_ms=sent.until_ms,
            whole_word=sent.whole_word,
        )
    except (FilterRefused, FiltersCapReached) as error:
        return await _again(request, error, number=0)
    return done(request, filter_json(made), default=FILTERS, status=HTTPStatus.CREATED)


async def edit(request: SiteRequest, number: int) -> HttpResponseBase:
    me, services = own_id(request), request.services
    standing = next((each for each in await services.filters.all(me) if each.id == number), None)
    if standing is None:
        raise FilterNotFound
    try:
        sent = FilterForm.of(form_data(request), services.clock.now_ms(), standing)
        changed = await services.filters.edit(
            account_id=me,
            number=number,
            phrase=sent.phrase,
            action=sent.action,
            until_ms=sent.until_ms,
            whole_word=sent.whole_word,
        )
    except FilterRefused as error:
        return await _again(request, error, number=number)
    return done(request, filter_json(changed), default=FILTERS)


async def delete(request: SiteRequest, number: int) -> HttpResponseBase:
    await request.services.filters.delete(account_id=own_id(request), number=number)
    return done(request, {}, default=FILTERS)


def filter_json(found: Filter) -> Json:
    return {
        "id": str(found.id),
        "phrase": found.phrase,
        "action": found.action,
        "whole_word": found.whole_word,
        "expires_at": time_text(found.until_ms) if found.until_ms is not None else None,
    }


async def _again(
    request: SiteRequest, error: FilterRefused | FiltersCapReached, *, number: int
) -> HttpResponseBase:
    """The page with what was wrong beside the form it came from; in JSON the error itself."""
    if wants_json(request):
        raise error
    answer_as(request, FILTERS)
    found, sent = await request.services.filters.all(own_id(request)), form_data(request)
    refused = {
        "refused": number,
        "sent": {
            "phrase": sent.get("phrase", ""),
            "action": sent.get("action", "warn"),
            "whole_word": sent.get("whole_word", "1") == "1",
            "expires_in": sent.get("expires_in", ""),
        },
        "error": str(next(iter(error.fields.values()), error.message)),
    }
    return page_response(request, TEMPLATE, _page(request, found) | refused, status_of(error))


def _page(request: SiteRequest, found: list[Filter]) -> Page:
    now_ms = request.services.clock.now_ms()
    shown = [
        {
            "id": each.id,
            "phrase": each.phrase,
            "action": each.action,
            "whole_word": each.whole_word,
            "until_ms": each.until_ms,
            "is_over": each.is_over(now_ms),
        }
        for each in found
    ]
    return {"filters": shown, "page_title": _("Filters")}
