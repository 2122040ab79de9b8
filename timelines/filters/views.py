"""One's keyword filters: making, changing and deleting them."""

from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import done, format_iso_time, page_response, respond, set_page_path
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.forms import FilterForm
from timelines.filters.service import FilterService
from timelines.pages.presenters import Json
from timelines.pages.responses import TemplateContext
from timelines.visibility.filter import KeywordFilter

FILTERS_URL = "/accounts/filters/"
FILTERS_TEMPLATE = "timelines/filters.html"


async def index(request: SiteRequest) -> HttpResponseBase:
    found = await request.services[FilterService].all(require_viewer_id(request))
    return respond(
        request,
        FILTERS_TEMPLATE,
        page=lambda: _page_context(request, found),
        data=lambda: {"filters": [filter_json(each) for each in found]},
    )


async def add(request: SiteRequest) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    try:
        sent = FilterForm.parse(get_form_data(request), services.clock.now_ms())
        made = await services[FilterService].add(
            account_id=me,
            phrase=sent.phrase,
            action=sent.action,
            until_ms=sent.until_ms,
            whole_word=sent.whole_word,
        )
    except (FilterInvalid, FiltersCapReached) as error:
        return await _redisplay_form(request, error, number=0)
    return done(request, filter_json(made), default=FILTERS_URL, status=HTTPStatus.CREATED)


async def edit(request: SiteRequest, number: int) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    standing = next((each for each in await services[FilterService].all(me) if each.id == number), None)
    if standing is None:
        raise FilterNotFound
    try:
        sent = FilterForm.parse(get_form_data(request), services.clock.now_ms(), standing)
        changed = await services[FilterService].edit(
            account_id=me,
            number=number,
            phrase=sent.phrase,
            action=sent.action,
            until_ms=sent.until_ms,
            whole_word=sent.whole_word,
        )
    except FilterInvalid as error:
        return await _redisplay_form(request, error, number=number)
    return done(request, filter_json(changed), default=FILTERS_URL)


async def delete(request: SiteRequest, number: int) -> HttpResponseBase:
    await request.services[FilterService].delete(account_id=require_viewer_id(request), number=number)
    return done(request, {}, default=FILTERS_URL)


def filter_json(found: KeywordFilter) -> Json:
    return {
        "id": str(found.id),
        "phrase": found.phrase,
        "action": found.action,
        "whole_word": found.whole_word,
        "expires_at": format_iso_time(found.until_ms) if found.until_ms is not None else None,
    }


async def _redisplay_form(
    request: SiteRequest, error: FilterInvalid | FiltersCapReached, *, number: int
) -> HttpResponseBase:
    """The page with what was wrong beside the form it came from; in JSON the error itself."""
    if wants_json(request):
        raise error
    set_page_path(request, FILTERS_URL)
    found, sent = await request.services[FilterService].all(require_viewer_id(request)), get_form_data(request)
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
    return page_response(request, FILTERS_TEMPLATE, _page_context(request, found) | refused, get_error_status(error))


def _page_context(request: SiteRequest, found: list[KeywordFilter]) -> TemplateContext:
    now_ms = request.services.clock.now_ms()
    shown = [
        {
            "id": each.id,
            "phrase": each.phrase,
            "action": each.action,
            "whole_word": each.whole_word,
            "until_ms": each.until_ms,
            "is_over": each.is_expired(now_ms),
        }
        for each in found
    ]
    return {"filters": shown, "page_title": _("Filters")}
