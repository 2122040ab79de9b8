"""The page of a public list, and what readers do with it: follow its members, undo that, and leave it."""

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.accounts.service import AccountService
from accounts.roles import has_right
from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.errors import SignInRequired
from socialsite.ids import AccountId, parse_id
from socialsite.web.requests import SiteRequest, get_form_data, get_viewer_id, require_viewer_id, wants_json
from socialsite.web.responses import redirect_to_next, respond
from timelines.errors import ListNotFound
from timelines.following.presenters import account_rows, accounts_with_follow_state
from timelines.following.service import FollowingService
from timelines.ids import ListId
from timelines.lists.account_list import PUBLIC_MEMBERS_CAP, AccountList
from timelines.lists.list_page import list_response, list_url
from timelines.lists.service import ListService
from timelines.lists.views import show_lists
from timelines.pages.page import PageRequest
from timelines.pages.presenters import Json, author_json, post_html
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import canonical_url, timeline_context, timeline_json
from timelines.public_lists.service import ExploredList, FollowedMembers, PublicListService

MEMBERS_ABOVE_POSTS = 12


async def show(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    """Show a list of the viewer, or a public list. Raises ListNotFound, and SignInRequired for a visitor."""
    query, me = parse_page_request(request.GET), get_viewer_id(request)
    try:
        account_list = await request.services[PublicListService].find(list_id, me)
    except ListNotFound:
        if me is None:
            raise SignInRequired from None
        raise
    if account_list.owner_id == me:
        is_held = account_list.public_ms and not request.services[PublicListService].is_public(account_list)
        return await list_response(request, account_list, query, is_held=is_held)
    return await _public_response(request, account_list, query)


async def _public_response(request: SiteRequest, account_list: AccountList, query: PageRequest) -> HttpResponseBase:
    """Respond with the people and posts of a public list, or with all its people if `?tab=people` says so."""
    service, me = request.services[PublicListService], get_viewer_id(request)
    tabs = () if me is None else require_account(request).preferences.tabs or ()
    member_ids = await service.member_ids(account_list, me)
    shows_people = request.GET.get("tab") == "people"
    shown_ids = member_ids if shows_people or wants_json(request) else member_ids[:MEMBERS_ABOVE_POSTS]
    accounts, page, owners, (followed, is_member) = await run_together(
        accounts_with_follow_state(request, shown_ids),
        service.read_timeline(account_list, member_ids, query, me),
        request.services[AccountService].find_authors([account_list.owner_id]),
        service.relation(account_list, member_ids, me),
    )
    explored = ExploredList(account_list, owners[account_list.owner_id], len(member_ids))
    return respond(
        request,
        "timelines/public_list.html",
        page=lambda: {
            "account_list": explored_list(explored)
            | {"description_html": SafeString(post_html(account_list.description))},
            "may_hold": has_right(request.account, "site"),
            "members_html": account_rows(accounts, me),
            "shows_people": shows_people,
            "has_more_people": len(shown_ids) < len(member_ids),
            "follows_all": me is not None and not {*member_ids} - followed - {me},
            "is_member": is_member,
            "is_tab": str(account_list.id) in tabs,
            "timeline": timeline_context(request, query, page, f"list:{account_list.id}")
            | {"live": False, "keeps_place": False},
            "page_title": account_list.title,
            "page_description": account_list.description,
            "canonical_url": canonical_url(request, query),
        },
        data=lambda: {
            **timeline_json(request, page),
            "list": explored_list(explored),
            "members": {"accounts": accounts, "next": None},
        },
    )


async def index(request: SiteRequest) -> HttpResponseBase:
    with_viewer = await request.services[PublicListService].lists_with(require_viewer_id(request))
    return await show_lists(request, with_viewer)


async def follow_all(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    me, service = require_viewer_id(request), request.services[PublicListService]
    account_list = await service.find(list_id, me)
    members = await service.follow_all(account_list, me, request.caller)
    return _redirect(request, list_id, _describe(members, list_id))


def _describe(members: FollowedMembers, list_id: ListId) -> str:
    """Return sentences about the new follows and requests, with a button that undoes them."""
    followed, requested = len(members.followed), len(members.requested)
    sentences = []
    if followed or not requested:
        text = ngettext("You follow %(count)d more person.", "You follow %(count)d more people.", followed)
        sentences.append(text % {"count": followed})
    if requested:
        text = ngettext("%(count)d request to follow is sent.", "%(count)d requests to follow are sent.", requested)
        sentences.append(text % {"count": requested})
    if not members.is_complete:
        sentences.append(_("Not everybody could be followed now. You can follow the others later."))
    text = format_html_join(" ", "{}", ((each,) for each in sentences))
    if not (followed or requested):
        return text
    button = (
        '{} <button class="undo" type="submit" form="post-actions" formaction="{}unfollow/" name="accounts"'
        ' value="{}">{}</button>'
    )
    ids = " ".join(map(str, [*members.followed, *members.requested]))
    return format_html(button, text, list_url(list_id), ids, _("Undo"))


async def unfollow_all(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    """Undo `follow_all`. The field `accounts` has the ids of the accounts that it followed."""
    me, ids = require_viewer_id(request), map(parse_id, get_form_data(request).get("accounts", "").split())
    await request.services[PublicListService].find(list_id, me)
    account_ids = [AccountId(id) for id in ids if id is not None][:PUBLIC_MEMBERS_CAP]
    for account_id in account_ids:
        await request.services[FollowingService].unfollow(follower_id=me, followed_id=account_id)
    return _redirect(request, list_id, _("Undone."))


async def leave(request: SiteRequest, list_id: ListId) -> HttpResponseBase:
    """Take the viewer off a public list. Nobody can add the viewer to this list again."""
    me, now_ms = require_viewer_id(request), request.services.clock.now_ms()
    await request.services[ListService].leave(account_id=me, list_id=list_id, now_ms=now_ms)
    return _redirect(request, list_id, _("You left the list."))


def _redirect(request: SiteRequest, list_id: ListId, message: str) -> HttpResponseBase:
    messages.success(request, message, fail_silently=True)
    return redirect_to_next(request, list_url(list_id))


def explored_list(explored: ExploredList) -> Json:
    account_list = explored.account_list
    return {
        "id": str(account_list.id),
        "title": account_list.title,
        "description": account_list.description,
        "url": list_url(account_list.id),
        "owner": author_json(explored.owner),
        "members": explored.members,
    }
