"""One's own lists: making, reading, editing them. Nobody else sees them."""

import asyncio
from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.errors import AccountNotFound
from socialsite.http import (
    SiteRequest,
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
from timelines.errors import ListTitleInvalid, MembersCapReached
from timelines.forms import PageQuery, follow_cursor_of, limit_of, list_cursor_of
from timelines.presenters import author_json, list_json
from timelines.views.answers import done
from timelines.views.pages import Page, link, timeline, timeline_json

Refusal = AccountNotFound | ListTitleInvalid | MembersCapReached


def list_url(list_id: ListId) -> str:
    return f"/lists/{list_id}/"


async def index(request: SiteRequest) -> HttpResponseBase:
    lists, next_url = await _lists(request)
    return respond(
        request,
        "timelines/lists.html",
        page=lambda: {"lists": lists, "next_url": next_url, "page_title": _("Lists")},
        data=lambda: {"lists": lists, "next": next_url},
    )


async def create(request: SiteRequest) -> HttpResponseBase:
    me, services, title = own_id(request), request.services, form_data(request).get("title", "")
    try:
        made = await services.lists.create(owner_id=me, title=title, now_ms=services.clock.now_ms())
    except ListTitleInvalid as error:
        return await _index_again(request, title, error)
    return done(request, list_json(made, 0), default=list_url(made.id), status=HTTPStatus.CREATED)


async def show(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    """The list's timeline; `?cursor=` pages its members."""
    me, query = own_id(request), PageQuery.of(request.GET)
    found = await request.services.lists.get(owner_id=me, list_id=list_id)
    return await _shown(request, found, query)


async def edit(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, lists, title = own_id(request), request.services.lists, form_data(request).get("title", "")
    try:
        renamed = await lists.rename(owner_id=me, list_id=list_id, title=title)
    except ListTitleInvalid as error:
        return await _shown_again(request, list_id, error, title=title, title_error=error.fields["title"])
    return await _changed(request, renamed)


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


async def _lists(request: SiteRequest) -> tuple[list[Page], str | None]:
    """A page of one's lists with their numbers of members, and the path of the next one."""
    me, lists = own_id(request), request.services.lists
    page = await lists.lists(me, list_cursor_of(request.GET), limit_of(request.GET))
    counts = await lists.member_counts(page.lists)
    shown = [list_json(found, counts[found.id]) for found in page.lists]
    return shown, link(request, cursor=page.next)


async def _index_again(request: SiteRequest, title: str, error: ListTitleInvalid) -> HttpResponse:
    """The page of lists with what was wrong; in JSON the error itself."""
    if wants_json(request):
        raise error
    lists, next_url = await _lists(request)
    page = {"lists": lists, "next_url": next_url, "title": title, "error": error.fields["title"]}
    return page_response(request, "timelines/lists.html", page, HTTPStatus.UNPROCESSABLE_ENTITY)


async def _shown(
    request: SiteRequest, found: AccountList, query: PageQuery, status: int = HTTPStatus.OK, **refused: object
) -> HttpResponse:
    """A list with its timeline and a page of its members."""
    me, services = own_id(request), request.services
    page, members, counts = await asyncio.gather(
        services.reading.list_timeline(
            found.id, viewer_id=me, before=query.before, after=query.after, limit=query.limit
        ),
        services.lists.members(owner_id=me, list_id=found.id, cursor=follow_cursor_of(request.GET)),
        services.lists.member_counts([found]),
    )
    authors = await services.accounts.authors(members.account_ids)
    shown = [author_json(authors[id]) for id in members.account_ids if id in authors]
    next_members = link(request, cursor=members.next.encode() if members.next else None)
    return respond(
        request,
        "timelines/list.html",
        page=lambda: {
            "account_list": list_json(found, counts[found.id]),
            "timeline": timeline(request, query, page, f"list:{found.id}"),
            "members": shown,
            "members_next_url": next_members,
            "page_title": found.title,
            **refused,
        },
        data=lambda: {
            **timeline_json(request, page),
            "list": list_json(found, counts[found.id]),
            "members": {"accounts": shown, "next": next_members},
        },
        status=status,
    )


async def _shown_again(
    request: SiteRequest, list_id: ListId, error: Refusal, **refused: object
) -> HttpResponse:
    """The list's page with what was wrong beside its form; in JSON the error itself."""
    if wants_json(request):
        raise error
    mine = await request.services.lists.get(owner_id=own_id(request), list_id=list_id)
    return await _shown(request, mine, PageQuery(None, None, DEFAULT_LIMIT), status_of(error), **refused)


async def _changed(request: SiteRequest, found: AccountList) -> HttpResponseBase:
    counts = await request.services.lists.member_counts([found])
    return done(request, list_json(found, counts[found.id]), default=list_url(found.id))
