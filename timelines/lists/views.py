"""The pages and actions of the viewer's lists."""

from collections.abc import Sequence
from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.concurrency import run_together
from socialsite.errors import Invalid
from socialsite.ids import AccountId
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import SiteRequest, get_changed_fields, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import done, json_response, page_response, redirect_to_next, respond
from timelines.errors import ListInvalid, ListMembersCapReached, ListsCapReached, ListTitleInvalid, MemberLeftList
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.forms import ListForm, mark_submitted_parts
from timelines.lists.list_page import list_url, load_list_choices, load_list_json, load_lists_json, redisplay_list
from timelines.lists.service import ListService
from timelines.pages.presenters import Json, author_json
from timelines.pages.queries import decode_id, parse_cursor, parse_limit, with_canonical_handle
from timelines.pages.responses import TemplateContext, url_with_query

MIN_LISTS_FOR_VIRTUAL_LIST = 2
"""A viewer with fewer lists cannot create a virtual list."""


async def show_lists(request: SiteRequest, with_viewer: Sequence[AccountList]) -> HttpResponseBase:
    """Show the viewer's lists, and the given public lists that have the viewer as a member."""
    lists, next_url = await _load_lists_page(request)
    choices = [] if wants_json(request) else await load_list_choices(request)
    return respond(
        request,
        "timelines/lists.html",
        page=lambda: _index_context(lists, next_url, choices, with_viewer=with_viewer),
        data=lambda: {"lists": lists, "next": next_url},
    )


async def create(request: SiteRequest) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    try:
        form = ListForm.parse(get_form_data(request))
        account_list = await services[ListService].create(
            owner_id=me,
            title=form.title or "",
            now_ms=services.clock.now_ms(),
            operation=form.operation,
            parts=form.parts or (),
        )
    except (ListTitleInvalid, ListInvalid, ListsCapReached) as error:
        return await _redisplay_index(request, error)
    return done(
        request,
        await load_list_json(request, account_list),
        default=list_url(account_list.id),
        status=HTTPStatus.CREATED,
    )


@with_canonical_handle
async def choose_for_account(request: SiteRequest, handle: str) -> HttpResponseBase:
    """Show the viewer's lists with members of their own, and mark the lists that have the account as a member."""
    me, lists = require_viewer_id(request), request.services[ListService]
    account = await request.services[AccountService].get_by_handle(handle)
    own = [each for each in await lists.all_lists(me) if not each.operation]
    with_account = await lists.lists_with(own, AccountId(account.id))
    rows = [{"id": str(each.id), "title": each.title, "has_account": each.id in with_account} for each in own]
    title = _("Lists with @%(handle)s") % {"handle": account.handle}
    return respond(
        request,
        "timelines/account_lists.html",
        page=lambda: {"account": author_json(account), "lists": rows, "page_title": title},
        data=lambda: {"lists": rows},
    )


async def edit(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, lists = require_viewer_id(request), request.services[ListService]
    try:
        form = ListForm.parse(get_changed_fields(request))
        edited = await lists.edit(
            owner_id=me,
            list_id=list_id,
            title="" if ListForm.parse(get_form_data(request)).is_empty else form.title,
            replies=form.replies,
            exclusive=form.exclusive,
            operation=form.operation,
            parts=form.parts,
            description=form.description,
            public_ms=None if form.public is None else request.services.clock.now_ms() if form.public else 0,
        )
    except Invalid as error:
        sent = get_changed_fields(request)
        return await redisplay_list(request, list_id, error, sent, title=sent.get("title", ""))
    return await _list_changed_response(request, edited)


async def delete(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    await request.services[ListService].delete(owner_id=require_viewer_id(request), list_id=list_id)
    return json_response({}) if wants_json(request) else redirect_to_next(request, "/lists/")


async def add_member(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, services, handle = require_viewer_id(request), request.services, _submitted_handle(request)
    account_list = await services[ListService].get(owner_id=me, list_id=list_id)
    try:
        account = await services[AccountService].get_by_handle(handle)
        await services[ListService].add_member(
            owner_id=me, list_id=list_id, account_id=AccountId(account.id), now_ms=services.clock.now_ms()
        )
    except (AccountNotFound, ListMembersCapReached, MemberLeftList) as error:
        return await redisplay_list(request, list_id, error, member_handle=handle, member_error=error.message)
    return await _list_changed_response(request, account_list)


async def remove_member(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    account_list = await services[ListService].get(owner_id=me, list_id=list_id)
    account = await services[AccountService].get_undeleted_by_handle(_submitted_handle(request))
    await services[ListService].remove_member(owner_id=me, list_id=list_id, account_id=AccountId(account.id))
    return await _list_changed_response(request, account_list)


def _submitted_handle(request: SiteRequest) -> str:
    """Return the submitted handle in lower case, without "@"."""
    return get_form_data(request).get("handle", "").strip().removeprefix("@").lower()


async def _load_lists_page(request: SiteRequest) -> tuple[list[Json], str | None]:
    """Return a page of the viewer's lists with their numbers of members, and the path of the next page."""
    me, lists = require_viewer_id(request), request.services[ListService]
    page = await lists.lists(me, parse_cursor(request.GET, decode_id), parse_limit(request.GET))
    return await load_lists_json(request, page.lists), url_with_query(request, cursor=page.next)


def _index_context(
    lists: list[Json], next_url: str | None, choices: list[TemplateContext], **refused: object
) -> TemplateContext:
    page = {"lists": lists, "next_url": next_url, "page_title": _("Lists"), **refused}
    return {**page, "choices": choices if len(choices) >= MIN_LISTS_FOR_VIRTUAL_LIST else []}


async def _redisplay_index(
    request: SiteRequest, error: ListTitleInvalid | ListInvalid | ListsCapReached
) -> HttpResponse:
    """Show the page of lists again with the error and the submitted values. Raises the error for a JSON request."""
    if wants_json(request):
        raise error
    (lists, next_url), choices = await run_together(_load_lists_page(request), load_list_choices(request))
    sent = get_form_data(request)
    refused = {
        "title": sent.get("title", ""),
        "refused": dict(error.fields) or {"title": error.message},
        "is_made": "operation" in sent,
        "operation": sent.get("operation"),
    }
    page = _index_context(lists, next_url, mark_submitted_parts(choices, sent), **refused)
    return page_response(request, "timelines/lists.html", page, get_error_status(error))


async def _list_changed_response(request: SiteRequest, account_list: AccountList) -> HttpResponseBase:
    return done(request, await load_list_json(request, account_list), default=list_url(account_list.id))
