"""The settings page of keyword filters, and its actions."""

from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from msgspec.structs import asdict

from socialsite.ids import PostId
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import (
    SiteRequest,
    get_changed_fields,
    get_form_data,
    get_viewer_id,
    require_viewer_id,
    wants_json,
)
from socialsite.web.responses import done, format_iso_time, page_response, respond, set_page_path
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.forms import FilterForm
from timelines.filters.service import FilterService
from timelines.pages.presenters import Json, post_url
from timelines.pages.responses import TemplateContext
from timelines.reading.service import ReadingService
from timelines.visibility.filter import KeywordFilter

FILTERS_URL = "/accounts/filters/"
FILTERS_TEMPLATE = "timelines/filters.html"


async def index(request: SiteRequest) -> HttpResponseBase:
    filters = await request.services[FilterService].all(require_viewer_id(request))
    page = await _page_context(request, filters)
    return respond(
        request,
        FILTERS_TEMPLATE,
        page=lambda: page,
        data=lambda: {"filters": [filter_json(each) for each in filters]},
    )


async def add(request: SiteRequest) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    try:
        form = FilterForm.parse(get_form_data(request), services.clock.now_ms())
        keyword_filter = await services[FilterService].add(
            account_id=me,
            phrase=form.phrase,
            action=form.action,
            until_ms=form.until_ms,
            whole_word=form.whole_word,
        )
    except (FilterInvalid, FiltersCapReached) as error:
        return await _redisplay_form(request, error, number=0)
    return done(request, filter_json(keyword_filter), default=FILTERS_URL, status=HTTPStatus.CREATED)


async def edit(request: SiteRequest, number: int) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    existing = next((each for each in await services[FilterService].all(me) if each.id == number), None)
    if existing is None:
        raise FilterNotFound
    try:
        form = FilterForm.parse(get_changed_fields(request), services.clock.now_ms(), existing)
        keyword_filter = await services[FilterService].edit(
            account_id=me,
            number=number,
            phrase=form.phrase,
            action=form.action,
            until_ms=form.until_ms,
            whole_word=form.whole_word,
        )
    except FilterInvalid as error:
        return await _redisplay_form(request, error, number=number)
    return done(request, filter_json(keyword_filter), default=FILTERS_URL)


async def delete(request: SiteRequest, number: int) -> HttpResponseBase:
    await request.services[FilterService].delete(account_id=require_viewer_id(request), number=number)
    return done(request, {}, default=FILTERS_URL)


def filter_json(keyword_filter: KeywordFilter) -> Json:
    return {
        "id": str(keyword_filter.id),
        "phrase": keyword_filter.phrase,
        "action": keyword_filter.action,
        "whole_word": keyword_filter.whole_word,
        "expires_at": format_iso_time(keyword_filter.until_ms) if keyword_filter.until_ms is not None else None,
    }


async def _redisplay_form(
    request: SiteRequest, error: FilterInvalid | FiltersCapReached, *, number: int
) -> HttpResponseBase:
    """Show the page again with the error beside its form. Raises the error for a JSON request."""
    if wants_json(request):
        raise error
    set_page_path(request, FILTERS_URL)
    filters, form_data = await request.services[FilterService].all(require_viewer_id(request)), get_form_data(request)
    errors = {
        "refused": number,
        "sent": {
            "phrase": form_data.get("phrase", ""),
            "action": form_data.get("action", "warn"),
            "whole_word": form_data.get("whole_word", "1") == "1",
            "expires_in": form_data.get("expires_in", ""),
        },
        "error": str(next(iter(error.fields.values()), error.message)),
    }
    page = await _page_context(request, filters)
    return page_response(request, FILTERS_TEMPLATE, page | errors, get_error_status(error))


async def _page_context(request: SiteRequest, filters: list[KeywordFilter]) -> TemplateContext:
    now_ms, ids = request.services.clock.now_ms(), [PostId(each.post_id) for each in filters if each.post_id]
    posts = await request.services[ReadingService].posts(ids, viewer_id=get_viewer_id(request)) if ids else []
    urls = {entry.id: post_url(entry.id, entry.author) for entry in posts}
    contexts = [
        {**asdict(each), "is_over": each.is_expired(now_ms), "post_url": urls.get(PostId(each.post_id), "")}
        for each in filters
    ]
    return {"filters": contexts, "page_title": _("Filters")}
