"""Lists in the API."""

from functools import partial
from typing import Final

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from socialsite.errors import Invalid
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag, ids_field
from timelines.api.relationships import page_of_accounts
from timelines.ids import ListId
from timelines.lists.account_list import AccountList, ReplyPolicy
from timelines.lists.service import ListService
from timelines.pages.presenters import Json

MEMBERS_AT_ONCE = 80
POLICY_BY_REPLIES: Final[dict[ReplyPolicy, str]] = {
    "all": "followed", "followed": "followed", "members": "list", "none": "none",
}  # fmt: skip
"""The policy nearest to each choice of this site."""
REPLIES_BY_POLICY: Final = {"followed": "followed", "list": "members", "none": "none"}
DEFAULT_POLICY: Final = "list"


@endpoint("read:lists", needs_account=True)
async def index(request: SiteRequest) -> list[Json]:
    return await _lists_json(request, await _service(request).all_lists(require_viewer_id(request)))


@endpoint("write:lists", needs_account=True)
async def create(request: SiteRequest) -> Json:
    fields, me, lists = api_fields(request), require_viewer_id(request), _service(request)
    replies, exclusive = _parse_replies(fields.get("replies_policy", DEFAULT_POLICY)), flag(fields, "exclusive")
    created = await lists.create(owner_id=me, title=fields.get("title", ""), now_ms=request.services.clock.now_ms())
    created = await lists.edit(owner_id=me, list_id=created.id, replies=replies, exclusive=exclusive or None)
    return (await _lists_json(request, [created]))[0]


@endpoint("read:lists", needs_account=True)
async def show(request: SiteRequest, list_id: ListId) -> Json:
    account_list = await _service(request).get(owner_id=require_viewer_id(request), list_id=list_id)
    return (await _lists_json(request, [account_list]))[0]


@endpoint("write:lists", needs_account=True)
async def edit(request: SiteRequest, list_id: ListId) -> Json:
    fields = api_fields(request)
    edited = await _service(request).edit(
        owner_id=require_viewer_id(request),
        list_id=list_id,
        title=fields.get("title"),
        replies=_parse_replies(fields["replies_policy"]) if "replies_policy" in fields else None,
        exclusive=flag(fields, "exclusive") if "exclusive" in fields else None,
    )
    return (await _lists_json(request, [edited]))[0]


@endpoint("write:lists", needs_account=True)
async def delete(request: SiteRequest, list_id: ListId) -> None:
    await _service(request).delete(owner_id=require_viewer_id(request), list_id=list_id)


@endpoint("read:lists", needs_account=True)
async def members(request: SiteRequest, list_id: ListId) -> HttpResponse:
    read = partial(_service(request).members, owner_id=require_viewer_id(request), list_id=list_id)
    return await page_of_accounts(request, read)


@endpoint("write:lists", needs_account=True)
async def add_members(request: SiteRequest, list_id: ListId) -> None:
    ids = [AccountId(id) for id in ids_field(api_fields(request), "account_ids", MEMBERS_AT_ONCE)]
    me, now_ms = require_viewer_id(request), request.services.clock.now_ms()
    await _service(request).add_followed(owner_id=me, list_id=list_id, account_ids=ids, now_ms=now_ms)


@endpoint("write:lists", needs_account=True)
async def remove_members(request: SiteRequest, list_id: ListId) -> None:
    me = require_viewer_id(request)
    await _service(request).get(owner_id=me, list_id=list_id)
    for id in ids_field(api_fields(request), "account_ids", MEMBERS_AT_ONCE):
        await _service(request).remove_member(owner_id=me, list_id=list_id, account_id=AccountId(id))


@endpoint("read:lists", needs_account=True)
async def of_account(request: SiteRequest, account_id: AccountId) -> list[Json]:
    """Return the lists of the viewer that have the account as a member."""
    lists = await _service(request).all_lists(require_viewer_id(request))
    ids = await _service(request).lists_with(lists, account_id)
    return await _lists_json(request, [each for each in lists if each.id in ids])


def _service(request: SiteRequest) -> ListService:
    return request.services[ListService]


async def _lists_json(request: SiteRequest, lists: list[AccountList]) -> list[Json]:
    exclusive = await _service(request).exclusive_ids(require_viewer_id(request)) if lists else set[ListId]()
    return [
        {
            "id": str(each.id),
            "title": each.title,
            "replies_policy": POLICY_BY_REPLIES[each.replies],
            "exclusive": each.id in exclusive,
        }
        for each in lists
    ]


def _parse_replies(policy: str) -> str:
    if policy not in REPLIES_BY_POLICY:
        raise Invalid({"replies_policy": _("This must be one of: followed, list, none.")})
    return REPLIES_BY_POLICY[policy]
