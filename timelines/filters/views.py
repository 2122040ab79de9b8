"""The settings page of keyword filters, and its actions."""

from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from msgspec.structs import asdict

from socialsite.ids import PostId
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import SiteRequest, get_changed_fields, get_form_data, get_viewer_id, require_viewer_id
from socialsite.web.responses import done, format_iso_time, respond, select_fields, set_page_path
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.forms import FilterForm
from timelines.filters.service import FilterService
from timelines.pages.presenters import Json, post_url
from timelines.pages.responses import TemplateContext
from timelines.reading.service import ReadingService
from timelines.visibility.filter import KeywordFilter

FILTERS_URL = "/accounts/filters/"


async def index(
    request: SiteRequest, number: int = 0, error: FilterInvalid | FiltersCapReached | None = None
) -> HttpResponse:
    """Show the filters. `error` belongs to the form of the filter `number`, or for 0 to the form of a new filter."""
    filters = await request.services[FilterService].all(require_viewer_id(request))
    if error is not None:
        set_page_path(request, FILTERS_URL)
    page = await _page_context(request, filters)
    return respond(
        request,
        "timelines/filters.html",
        page=lambda: page if error is None else page | _refused_form(request, number, error),
        data=lambda: {"filters": [filter_json(each) for each in filters]},
        status=get_error_status(error),
    )


@shows_errors(index, FilterInvalid, FiltersCapReached)
async def add(request: SiteRequest) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    form = FilterForm.parse(get_form_data(request), services.clock.now_ms())
    keyword_filter = await services[FilterService].add(
        account_id=me, phrase=form.phrase, action=form.action, until_ms=form.until_ms, whole_word=form.whole_word
    )
    return done(request, filter_json(keyword_filter), default=FILTERS_URL, status=HTTPStatus.CREATED)


@shows_errors(index, FilterInvalid)
async def edit(request: SiteRequest, number: int) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    existing = next((each for each in await services[FilterService].all(me) if each.id == number), None)
    if existing is None:
        raise FilterNotFound
    form = FilterForm.parse(get_changed_fields(request), services.clock.now_ms(), existing)
    keyword_filter = await services[FilterService].edit(
        account_id=me,
        number=number,
        phrase=form.phrase,
        action=form.action,
        until_ms=form.until_ms,
        whole_word=form.whole_word,
    )
    return done(request, filter_json(keyword_filter), default=FILTERS_URL)


async def delete(request: SiteRequest, number: int) -> HttpResponseBase:
    await request.services[FilterService].delete(account_id=require_viewer_id(request), number=number)
    return done(request, {}, default=FILTERS_URL)


def filter_json(keyword_filter: KeywordFilter) -> Json:
    until_ms = keyword_filter.until_ms
    expires_at = None if until_ms is None else format_iso_time(until_ms)
    return select_fields(keyword_filter, "id phrase action whole_word", expires_at=expires_at)


def _refused_form(request: SiteRequest, number: int, error: FilterInvalid | FiltersCapReached) -> TemplateContext:
    """Return the sent values of a form and the error beside it."""
    sent = get_form_data(request)
    defaults = {"phrase": "", "action": "warn", "expires_in": ""}
    return {
        "refused": number,
        "sent": {name: sent.get(name, default) for name, default in defaults.items()}
        | {"whole_word": sent.get("whole_word", "1") == "1"},
        "error": str(next(iter(error.fields.values()), error.message)),
    }


async def _page_context(request: SiteRequest, filters: list[KeywordFilter]) -> TemplateContext:
    now_ms, ids = request.services.clock.now_ms(), [PostId(each.post_id) for each in filters if each.post_id]
    posts = await request.services[ReadingService].posts(ids, viewer_id=get_viewer_id(request)) if ids else []
    urls = {entry.id: post_url(entry.id, entry.author) for entry in posts}
    contexts = [
        {**asdict(each), "is_over": each.is_expired(now_ms), "post_url": urls.get(PostId(each.post_id), "")}
        for each in filters
    ]
    return {"filters": contexts, "page_title": _("Filters")}
