"""One's own lists: making, reading, editing them. Nobody else sees them."""

import asyncio
from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.errors import AccountNotFound
from socialsite.web.middleware.errors import status_of
from socialsite.web.requests import (
    SiteRequest,
    done,
    form_data,
    json_response,
    own_id,
    page_response,
    respond,
    see_other,
    wants_json,
)
from timelines.errors import ListInvalid, ListsCapReached, ListTitleInvalid, MembersCapReached
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.forms import ListForm, list_cursor_of, sent_choices
from timelines.lists.page_views import (
    choices_of,
    list_json_of,
    list_url,
    lists_json,
    show_list,
    show_list_again,
)
from timelines.pages.presenters import Json
from timelines.pages.queries import PageQuery, limit_of
from timelines.pages.responses import Page, link

LEAST_FOR_PARTS = 2
"""So many lists are needed before one can be made of others."""


async def index(request: SiteRequest) -> HttpResponseBase:
    lists, next_url = await _lists(request)
    choices = [] if wants_json(request) else await choices_of(request)
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
        request, await list_json_of(request, made), default=list_url(made.id), status=HTTPStatus.CREATED
    )


async def show(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    """The list's timeline; `?cursor=` pages its members."""
    me, query = own_id(request), PageQuery.of(request.GET)
    found = await request.services.lists.get(owner_id=me, list_id=list_id)
    return await show_list(request, found, query)


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
        return await show_list_again(request, list_id, error, sent, title=sent.get("title", ""))
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
        return await show_list_again(
            request, list_id, error, member_handle=handle, member_error=error.message
        )
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
    return await lists_json(request, page.lists), link(request, cursor=page.next)


def _index_page(lists: list[Json], next_url: str | None, choices: list[Page], **refused: object) -> Page:
    page = {"lists": lists, "next_url": next_url, "page_title": _("Lists"), **refused}
    return {**page, "choices": choices if len(choices) >= LEAST_FOR_PARTS else []}


async def _index_again(
    request: SiteRequest, error: ListTitleInvalid | ListInvalid | ListsCapReached
) -> HttpResponse:
    """The page of lists with what was wrong and what was sent; in JSON the error itself."""
    if wants_json(request):
        raise error
    (lists, next_url), choices = await asyncio.gather(_lists(request), choices_of(request))
    sent = form_data(request)
    refused = {
        "title": sent.get("title", ""),
        "refused": dict(error.fields) or {"title": error.message},
        "is_made": "operation" in sent,
        "operation": sent.get("operation"),
    }
    page = _index_page(lists, next_url, sent_choices(choices, sent), **refused)
    return page_response(request, "timelines/lists.html", page, status_of(error))


async def _changed(request: SiteRequest, found: AccountList) -> HttpResponseBase:
    return done(request, await list_json_of(request, found), default=list_url(found.id))
