"""One list as a page and as JSON: its timeline, its members, and a form that was refused."""

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from django.http import HttpResponse

from socialsite.errors import Refusal
from socialsite.web.middleware.errors import status_of
from socialsite.web.requests import SiteRequest, answer_as, own_id, respond, wants_json
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.forms import marked, sent_choices, sent_settings
from timelines.lists.presenters import list_json
from timelines.markers.views import place_in
from timelines.pages.page import DEFAULT_LIMIT
from timelines.pages.presenters import Json, author_json
from timelines.pages.queries import PageQuery, follow_cursor_of
from timelines.pages.responses import Page, link, timeline, timeline_json


def list_url(list_id: ListId) -> str:
    return f"/lists/{list_id}/"


async def show_list(
    request: SiteRequest,
    found: AccountList,
    query: PageQuery,
    status: int = HTTPStatus.OK,
    sent: Mapping[str, str] | None = None,
    **refused: object,
) -> HttpResponse:
    """A list with its timeline and a page of its members. `sent`: settings that were refused."""
    page, members, shown, place, choices = await asyncio.gather(
        request.services.reading.list_timeline(
            found.id, viewer_id=own_id(request), before=query.before, after=query.after, limit=query.limit
        ),
        _members(request, found),
        list_json_of(request, found),
        place_in(request, f"list:{found.id}"),
        _parts(request, found),
    )
    return respond(
        request,
        "timelines/list.html",
        page=lambda: {
            "account_list": sent_settings(shown, sent or {}),
            "timeline": timeline(request, query, page, f"list:{found.id}", place),
            "members": members["accounts"],
            "members_next_url": members["next"],
            "choices": sent_choices(choices, sent or {}),
            "page_title": found.title,
            **refused,
        },
        data=lambda: {**timeline_json(request, page), "list": shown, "members": members},
        status=status,
    )


async def show_list_again(
    request: SiteRequest,
    list_id: ListId,
    error: Refusal,
    sent: Mapping[str, str] | None = None,
    **refused: object,
) -> HttpResponse:
    """The list's page with what was wrong beside its form; in JSON the error itself."""
    if wants_json(request):
        raise error
    mine = await request.services.lists.get(owner_id=own_id(request), list_id=list_id)
    answer_as(request, list_url(list_id))
    query = PageQuery(None, None, DEFAULT_LIMIT)
    return await show_list(
        request, mine, query, status_of(error), sent, refused=dict(error.fields), **refused
    )


async def _members(request: SiteRequest, found: AccountList) -> Json:
    """A page of those whom the list has, and the path of the next one."""
    services, cursor = request.services, follow_cursor_of(request.GET)
    members = await services.lists.members(owner_id=own_id(request), list_id=found.id, cursor=cursor)
    authors = await services.accounts.authors(members.account_ids)
    return {
        "accounts": [author_json(authors[id]) for id in members.account_ids if id in authors],
        "next": link(request, cursor=members.next.encode() if members.next else None),
    }


async def _parts(request: SiteRequest, found: AccountList) -> list[Page]:
    """What a list made of lists may be made of."""
    if not found.operation or wants_json(request):
        return []
    return marked(await choices_of(request), found)


async def choices_of(request: SiteRequest) -> list[Page]:
    """All one's lists, to make another one of."""
    every = await request.services.lists.every(own_id(request))
    return [{"id": str(each.id), "title": each.title} for each in every]


async def list_json_of(request: SiteRequest, found: AccountList) -> Json:
    return (await lists_json(request, [found]))[0]


async def lists_json(request: SiteRequest, found: Iterable[AccountList]) -> list[Json]:
    lists, found = request.services.lists, list(found)
    counts, exclusive, missing = await asyncio.gather(
        lists.member_counts(found), lists.exclusive(own_id(request)), lists.missing(found)
    )
    return [
        list_json(each, counts[each.id], exclusive=each.id in exclusive, missing=missing[each.id])
        for each in found
    ]
