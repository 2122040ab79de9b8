"""The page of one list, and its JSON: timeline, members, settings, and a form with an error."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from django.http import HttpResponse

from accounts.accounts.service import AccountService
from socialsite.concurrency import run_together
from socialsite.errors import ApiError
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import SiteRequest, require_viewer_id, wants_json
from socialsite.web.responses import respond, set_page_path
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.forms import apply_submitted_settings, mark_current_parts, mark_submitted_parts
from timelines.lists.service import ListService
from timelines.markers.views import load_marker
from timelines.pages.page import PageRequest
from timelines.pages.presenters import Json, author_json
from timelines.pages.queries import parse_follow_cursor
from timelines.pages.responses import TemplateContext, timeline_context, timeline_json, url_with_query


def list_url(list_id: ListId) -> str:
    return f"/lists/{list_id}/"


async def list_response(
    request: SiteRequest,
    found: AccountList,
    query: PageRequest,
    status: int = HTTPStatus.OK,
    sent: Mapping[str, str] | None = None,
    **refused: object,
) -> HttpResponse:
    """Respond with a list, its timeline and a page of its members. `sent` are submitted settings with an error."""
    page, members, shown, place, choices = await run_together(
        request.services[ListService].read_timeline(
            found.id, viewer_id=require_viewer_id(request), before=query.before, after=query.after, limit=query.limit
        ),
        _members_json(request, found),
        load_list_json(request, found),
        load_marker(request, f"list:{found.id}"),
        _part_choices(request, found),
    )
    stored_settings = shown | {"description": found.description, "public": found.public_ms > 0}
    return respond(
        request,
        "timelines/list.html",
        page=lambda: {
            "account_list": apply_submitted_settings(stored_settings, sent or {}),
            "stored_settings": stored_settings,
            "timeline": timeline_context(request, query, page, f"list:{found.id}", place),
            "members": members["accounts"],
            "members_next_url": members["next"],
            "choices": mark_submitted_parts(choices, sent or {}),
            "page_title": found.title,
            **refused,
        },
        data=lambda: {**timeline_json(request, page), "list": shown, "members": members},
        status=status,
    )


async def redisplay_list(
    request: SiteRequest, list_id: ListId, error: ApiError, sent: Mapping[str, str] | None = None, **refused: object
) -> HttpResponse:
    """Show the page of the list again with the error beside its form. Raises the error for a JSON request."""
    if wants_json(request):
        raise error
    account_list = await request.services[ListService].get(owner_id=require_viewer_id(request), list_id=list_id)
    set_page_path(request, list_url(list_id))
    query = PageRequest()
    return await list_response(
        request, account_list, query, get_error_status(error), sent, refused=dict(error.fields), **refused
    )


async def _members_json(request: SiteRequest, found: AccountList) -> Json:
    """Return a page of members, and the path of the next page."""
    services, cursor = request.services, parse_follow_cursor(request.GET)
    members = await services[ListService].members(owner_id=require_viewer_id(request), list_id=found.id, cursor=cursor)
    authors = await services[AccountService].find_shown_authors(members.account_ids)
    return {
        "accounts": [author_json(authors[id]) for id in members.account_ids if id in authors],
        "next": url_with_query(request, cursor=members.next.encode() if members.next else None),
    }


async def _part_choices(request: SiteRequest, found: AccountList) -> list[TemplateContext]:
    if not found.operation or wants_json(request):
        return []
    return mark_current_parts(await load_list_choices(request), found)


async def load_list_choices(request: SiteRequest) -> list[TemplateContext]:
    """Return all lists of the viewer, as choices for the parts of a virtual list."""
    lists = await request.services[ListService].all_lists(require_viewer_id(request))
    return [{"id": str(each.id), "title": each.title} for each in lists]


async def load_list_json(request: SiteRequest, found: AccountList) -> Json:
    return (await load_lists_json(request, [found]))[0]


async def load_lists_json(request: SiteRequest, found: Iterable[AccountList]) -> list[Json]:
    lists, found = request.services[ListService], list(found)
    counts, exclusive, missing = await run_together(
        lists.member_counts(found), lists.exclusive_ids(require_viewer_id(request)), lists.missing_parts(found)
    )
    return [
        list_json(each, counts[each.id], exclusive=each.id in exclusive, missing=missing[each.id]) for each in found
    ]


def list_json(found: AccountList, members: int, *, exclusive: bool = False, missing: Iterable[int] = ()) -> Json:
    """Return the JSON of a list. `missing` are the deleted parts of a virtual list."""
    return {
        "id": str(found.id),
        "title": found.title,
        "members": members,
        "replies": found.replies,
        "exclusive": exclusive,
        "operation": found.operation,
        "parts": [str(part) for part in found.parts],
        "missing": [str(part) for part in missing],
    }
