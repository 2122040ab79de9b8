"""One's own lists: making, reading, editing them. Nobody else sees them."""

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.errors import AccountNotFound
from socialsite.errors import Refusal
from socialsite.http import (
    SiteRequest,
    answer_as,
    form_data,
    json_response,
    own_id,
    page_response,
    respond,
    see_other,
    wants_json,
)
from socialsite.middleware.errors import status_of
from timelines.domain.account_list import AccountList, ListId
from timelines.domain.page import DEFAULT_LIMIT
from timelines.errors import ListInvalid, ListsCapReached, ListTitleInvalid, MembersCapReached
from timelines.forms import ListForm, PageQuery, follow_cursor_of, limit_of, list_cursor_of
from timelines.presenters import Json, author_json, list_json
from timelines.views.answers import done
from timelines.views.list_forms import marked, sent_choices, sent_settings
from timelines.views.pages import Page, link, timeline, timeline_json
from timelines.views.places import place_in

LEAST_FOR_PARTS = 2
"""So many lists are needed before one can be made of others."""


def list_url(list_id: ListId) -> str:
    return f"/lists/{list_id}/"


async def index(request: SiteRequest) -> HttpResponseBase:
    lists, next_url = await _lists(request)
    choices = [] if wants_json(request) else await _choices(request)
    return respond(
        request,
        "timelines/lists.html",
        page=lambda: _index_page(lists, next_url, choices),
        data=lambda: {"lists": lists, "next": next_url},
    )


async def create(request: SiteRequest) -> HttpResponseBase:
    me, services = own_id(request), request.services
    try:
        form = ListForm.of(form_data(request))
        made = await services.lists.create(
            owner_id=me,
            title=form.title or "",
            now_ms=services.clock.now_ms(),
            operation=form.operation,
            parts=form.parts or (),
        )
    except (ListTitleInvalid, ListInvalid, ListsCapReached) as error:
        return await _index_again(request, error)
    return done(
        request, await _list_json(request, made), default=list_url(made.id), status=HTTPStatus.CREATED
    )


async def show(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    """The list's timeline; `?cursor=` pages its members."""
    me, query = own_id(request), PageQuery.of(request.GET)
    found = await request.services.lists.get(owner_id=me, list_id=list_id)
    return await _shown(request, found, query)


async def edit(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, lists = own_id(request), request.services.lists
    try:
        form = ListForm.of(form_data(request))
        edited = await lists.edit(
            owner_id=me,
            list_id=list_id,
            title="" if form.says_nothing else form.title,
            replies=form.replies,
            exclusive=form.exclusive,
            operation=form.operation,
            parts=form.parts,
        )
    except (ListTitleInvalid, ListInvalid) as error:
        sent = form_data(request)
        return await _shown_again(request, list_id, error, sent, title=sent.get("title", ""))
    return await _changed(request, edited)


async def delete(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    await request.services.lists.delete(owner_id=own_id(request), list_id=list_id)
    return json_response({}) if wants_json(request) else see_other(request, "/lists/")


async def add_member(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, services, handle = own_id(request), request.services, _handle(request)
    mine = await services.lists.get(owner_id=me, list_id=list_id)
    try:
        account = await services.accounts.get_by_handle(handle)
        await services.lists.add_member(
            owner_id=me, list_id=list_id, account_id=AccountId(account.id), now_ms=services.clock.now_ms()
        )
    except (AccountNotFound, MembersCapReached) as error:
        return await _shown_again(request, list_id, error, member_handle=handle, member_error=error.message)
    return await _changed(request, mine)


async def remove_member(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, services = own_id(request), request.services
    mine = await services.lists.get(owner_id=me, list_id=list_id)
    account = await services.accounts.get_standing(_handle(request))
    await services.lists.remove_member(owner_id=me, list_id=list_id, account_id=AccountId(account.id))
    return await _changed(request, mine)


def _handle(request: SiteRequest) -> str:
    """The handle as people type it, with or without its @."""
    return form_data(request).get("handle", "").strip().removeprefix("@").lower()


async def _lists(request: SiteRequest) -> tuple[list[Json], str | None]:
    """A page of one's lists with their numbers of members, and the path of the next one."""
    me, lists = own_id(request), request.services.lists
    page = await lists.lists(me, list_cursor_of(request.GET), limit_of(request.GET))
    return await _lists_json(request, page.lists), link(request, cursor=page.next)


async def _lists_json(request: SiteRequest, found: Iterable[AccountList]) -> list[Json]:
    lists, found = request.services.lists, list(found)
    counts, exclusive, missing = await asyncio.gather(
        lists.member_counts(found), lists.exclusive(own_id(request)), lists.missing(found)
    )
    return [
        list_json(each, counts[each.id], exclusive=each.id in exclusive, missing=missing[each.id])
        for each in found
    ]


async def _list_json(request: SiteRequest, found: AccountList) -> Json:
    return (await _lists_json(request, [found]))[0]


async def _choices(request: SiteRequest) -> list[Page]:
    """All one's lists, to make another one of."""
    every = await request.services.lists.every(own_id(request))
    return [{"id": str(each.id), "title": each.title} for each in every]


def _index_page(lists: list[Json], next_url: str | None, choices: list[Page], **refused: object) -> Page:
    page = {"lists": lists, "next_url": next_url, "page_title": _("Lists"), **refused}
    return {**page, "choices": choices if len(choices) >= LEAST_FOR_PARTS else []}


async def _index_again(
    request: SiteRequest, error: ListTitleInvalid | ListInvalid | ListsCapReached
) -> HttpResponse:
    """The page of lists with what was wrong and what was sent; in JSON the error itself."""
    if wants_json(request):
        raise error
    (lists, next_url), choices = await asyncio.gather(_lists(request), _choices(request))
    sent = form_data(request)
    refused = {
        "title": sent.get("title", ""),
        "refused": dict(error.fields) or {"title": error.message},
        "is_made": "operation" in sent,
        "operation": sent.get("operation"),
    }
    page = _index_page(lists, next_url, sent_choices(choices, sent), **refused)
    return page_response(request, "timelines/lists.html", page, status_of(error))


async def _shown(
    request: SiteRequest,
    found: AccountList,
    query: PageQuery,
    status: int = HTTPStatus.OK,
    sent: Mapping[str, str] | None = None,
    **refused: object,
) -> HttpResponse:
    """A list with its timeline and a page of its members. `sent`: settings that were refused."""
    me, services = own_id(request), request.services
    page, members, shown, place = await asyncio.gather(
        services.reading.list_timeline(
            found.id, viewer_id=me, before=query.before, after=query.after, limit=query.limit
        ),
        services.lists.members(owner_id=me, list_id=found.id, cursor=follow_cursor_of(request.GET)),
        _list_json(request, found),
        place_in(request, f"list:{found.id}"),
    )
    choices = await _choices(request) if found.operation and not wants_json(request) else []
    authors = await services.accounts.authors(members.account_ids)
    people = [author_json(authors[id]) for id in members.account_ids if id in authors]
    next_members = link(request, cursor=members.next.encode() if members.next else None)
    return respond(
        request,
        "timelines/list.html",
        page=lambda: {
            "account_list": sent_settings(shown, sent or {}),
            "timeline": timeline(request, query, page, f"list:{found.id}", place),
            "members": people,
            "members_next_url": next_members,
            "choices": sent_choices(marked(choices, found), sent or {}),
            "page_title": found.title,
            **refused,
        },
        data=lambda: {
            **timeline_json(request, page),
            "list": shown,
            "members": {"accounts": people, "next": next_members},
        },
        status=status,
    )


async def _shown_again(
    request: SiteRequest,
    list_id: ListId,
    error: Refusal,
    sent: Mapping[str, str] | None = None,
    **refused: object,
) -> HttpResponse:
    """The list's page with what was wrong beside its form; in JSON the error itself."""
    if wants_json(request):
        raise error
    answer_as(request, list_url(list_id))
    mine = await request.services.lists.get(owner_id=own_id(request), list_id=list_id)
    query = PageQuery(None, None, DEFAULT_LIMIT)
    return await _shown(request, mine, query, status_of(error), sent, refused=dict(error.fields), **refused)


async def _changed(request: SiteRequest, found: AccountList) -> HttpResponseBase:
    return done(request, await _list_json(request, found), default=list_url(found.id))
