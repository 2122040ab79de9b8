"""Accounts in the API: profiles, their posts and followers, and the own profile."""

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from msgspec import Raw, structs

from accounts.accounts.service import AccountService
from accounts.domain import QUOTE_POLICIES, PictureKind, Preferences
from accounts.errors import AccountNotFound
from accounts.models import Account
from accounts.profile_texts import LINK_FIELD, PROFILE_TEXTS, ProfileField, encode_fields
from accounts.sessions.authentication import require_account
from socialsite.errors import Invalid
from socialsite.ids import AccountId
from socialsite.site_host import remove_own_host
from socialsite.web.requests import FormFields, SiteRequest, get_viewer_id, require_viewer_id
from socialsite.web.uploads import accepts_files, get_files
from timelines.api.endpoint import check_token, endpoint
from timelines.api.entities.account import VISIBILITY_BY_DEFAULT, credential_account_entity, profile_entity
from timelines.api.fields import api_fields, flag, ids_field, rename_error_fields
from timelines.api.pagination import api_page
from timelines.api.presenters import accounts_by_id, accounts_json, requires_keys
from timelines.api.relationships import accounts_response
from timelines.api.timelines import selected_part, timeline_response
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.media.media import UPLOAD_MAX_BYTES
from timelines.media.service import MediaService
from timelines.media.views import check_upload
from timelines.pages.page import PostSelection, TimelinePage
from timelines.pages.presenters import Json
from timelines.pins.service import PinService
from timelines.profiles.featured import FeaturedService
from timelines.profiles.service import ProfileService
from timelines.profiles.summaries import AccountSummaryService
from timelines.reading.service import ReadingService
from timelines.text.token_scanner import normalize_tag

ACCOUNTS_AT_ONCE = 40
DEFAULT_BY_VISIBILITY = {visibility: audience for audience, visibility in VISIBILITY_BY_DEFAULT.items()}
TEXT_NAMES = {name: text.api_name or name for name, text in PROFILE_TEXTS.items() if text.kind in ("name", "text")}
ERROR_NAMES = TEXT_NAMES | {"language": "source[language]"} | {
    input: "fields_attributes" for name in ("link", "fields") for input in (name, *PROFILE_TEXTS[name].split(""))
}  # fmt: skip
NOT_OFFERED = _("This site does not offer this.")


@endpoint("read:accounts")
async def show(request: SiteRequest, account_id: AccountId) -> Raw:
    return await _account_json(request, await request.services[AccountService].get_active(account_id))


@endpoint("read:accounts")
async def show_many(request: SiteRequest) -> list[Raw]:
    """Return the active accounts among `id[]`."""
    ids = [AccountId(id) for id in ids_field(api_fields(request), "id", ACCOUNTS_AT_ONCE)]
    return await accounts_json(request, ids)


@endpoint("read:accounts")
async def lookup(request: SiteRequest) -> Raw:
    """Return the account of a handle: `name` or `name@host` with the host of this site."""
    handle = local_handle(request, api_fields(request).get("acct", ""))
    if handle is None:
        raise AccountNotFound
    return await _account_json(request, await request.services[AccountService].get_by_handle(handle))


@endpoint("read:statuses")
async def statuses(request: SiteRequest, account_id: AccountId) -> HttpResponse:
    """Return the posts of an account, or its pinned posts."""
    fields, me, services = api_fields(request), get_viewer_id(request), request.services
    await services[AccountService].get_active(account_id)
    query, pins = api_page(fields), services[PinService]
    pin_ids = await pins.pinned_ids(account_id) if me == account_id or flag(fields, "pinned") else []
    if flag(fields, "pinned"):
        entries = () if query.max_id or query.min_id else tuple(await pins.load(pin_ids, me))
        return await timeline_response(request, query, TimelinePage(entries, None, None))
    tag = normalize_tag(fields.get("tagged", ""))
    selection = PostSelection(
        only_media=flag(fields, "only_media"),
        exclude_replies=flag(fields, "exclude_replies"),
        exclude_boosts=flag(fields, "exclude_reblogs"),
        all_hashtags=() if tag is None else (tag,),
    )
    page = await services[ReadingService].profile(account_id, viewer_id=me, **selected_part(query, selection, me))
    return await timeline_response(request, query, page, pin_ids)


@endpoint("read:accounts")
async def followers(request: SiteRequest, account_id: AccountId) -> HttpResponse:
    await _require_visible(request, account_id)
    return await accounts_response(request, request.services[FollowingService].followers, account_id)


@endpoint("read:accounts")
async def following(request: SiteRequest, account_id: AccountId) -> HttpResponse:
    await _require_visible(request, account_id)
    return await accounts_response(request, request.services[FollowingService].following, account_id)


@endpoint("read:follows", "follow", needs_account=True)
async def familiar_followers(request: SiteRequest) -> list[Json]:
    """Return, for each of the accounts `id[]`, some of its followers that the viewer follows."""
    me, services = require_viewer_id(request), request.services
    ids = [AccountId(id) for id in ids_field(api_fields(request), "id", ACCOUNTS_AT_ONCE)]
    followers = {id: await services[ProfileService].known_followers(me, id) for id in ids}
    accounts = await accounts_by_id(request, {author.id for known in followers.values() for author in known})
    return [
        {"id": str(id), "accounts": [accounts[author.id] for author in known if author.id in accounts]}
        for id, known in followers.items()
    ]


@endpoint("read:accounts")
async def endorsements(request: SiteRequest, account_id: AccountId) -> list[Raw]:
    account = await request.services[AccountService].get_active(account_id)
    endorsed = await request.services[FeaturedService].endorsed(account)
    return await accounts_json(request, endorsed)


async def _require_visible(request: SiteRequest, account_id: AccountId) -> None:
    """Raise AccountNotFound if the account is not active, or if a block hides its lists from the viewer."""
    await request.services[AccountService].get_active(account_id)
    if (me := get_viewer_id(request)) is not None:
        await request.services[BlocksAndMutesService].require_no_block(me, account_id)


async def _account_json(request: SiteRequest, account: Account) -> Raw:
    account_id = AccountId(account.id)
    accounts = await accounts_by_id(request, [account_id], is_fresh=True)
    return accounts[account_id]


def local_handle(request: SiteRequest, acct: str) -> str | None:
    """Return the handle of `@name` or `name@host`, or None if the host is another site."""
    handle, at, host = remove_own_host(acct.removeprefix("@")).partition("@")
    is_local = not at or host.lower() in (request.get_host().lower(), request.get_host().lower().partition(":")[0])
    return handle if is_local else None


# The own profile


async def own_account_json(request: SiteRequest, account: Account) -> Json:
    """Return the account with the fields that only its owner sees."""
    services, account_id = request.services, AccountId(account.id)
    summaries = await services[AccountSummaryService].find_fresh([account_id])
    requests = await services[FollowRequestService].count(account_id)
    return credential_account_entity(summaries[account_id], account, requests, request.site_url, requires_keys(request))


@endpoint("read:accounts", "profile", needs_account=True)
async def verify_credentials(request: SiteRequest) -> Json:
    return await own_account_json(request, require_account(request))


@endpoint("read:accounts", "profile", needs_account=True)
async def show_profile(request: SiteRequest) -> Json:
    return profile_entity(await own_account_json(request, require_account(request)))


@endpoint("write:accounts", needs_account=True)
async def delete_picture(request: SiteRequest, kind: PictureKind) -> Json:
    me, services = require_viewer_id(request), request.services
    await services[MediaService].set_profile_picture(account_id=me, kind=kind, content=None)
    return await own_account_json(request, await services[AccountService].get(me))


@endpoint("read:accounts", needs_account=True)
async def own_endorsements(request: SiteRequest) -> list[Raw]:
    endorsed = await request.services[FeaturedService].endorsed(require_account(request))
    return await accounts_json(request, endorsed)


async def check_pictures(request: SiteRequest) -> None:
    """Check the token and count the upload, before the body is read."""
    check_token(request, ("write:accounts",), needs_account=True)
    await check_upload(request)


@accepts_files(2 * UPLOAD_MAX_BYTES, check_pictures)
@endpoint("write:accounts", needs_account=True, names=ERROR_NAMES)
async def update_credentials(request: SiteRequest) -> Json:
    return await _update(request)


@accepts_files(2 * UPLOAD_MAX_BYTES, check_pictures)
@endpoint("write:accounts", needs_account=True, names=ERROR_NAMES)
async def update_profile(request: SiteRequest) -> Json:
    return profile_entity(await _update(request))


async def _update(request: SiteRequest) -> Json:
    """Change the fields that were sent. Raises Invalid for fields that this site does not have."""
    me, services, fields = require_viewer_id(request), request.services, api_fields(request)
    account = require_account(request)
    has_new_preferences = _preferences(account.preferences, account, fields) != account.preferences
    kinds: tuple[PictureKind, ...] = ("avatar", "header")
    if request.pending_body is None and any(get_files(request, kind) for kind in kinds):
        await check_upload(request)  # the handler has read a small body before this check
    texts = {name: fields.get(api_name) for name, api_name in TEXT_NAMES.items()} | _link_and_fields(account, fields)
    if texts["display_name"] == "":
        texts["display_name"] = account.handle
    private = _privacy(account, fields)
    await services[AccountService].edit_profile(account_id=me, private=private, caller=request.caller, **texts)
    if has_new_preferences:
        await services[AccountService].change_preferences(
            account_id=me, change=lambda old: _preferences(old, account, fields)
        )
    for kind in kinds:
        for content in get_files(request, kind)[:1]:
            with rename_error_fields({"file": kind}):
                await services[MediaService].set_profile_picture(account_id=me, kind=kind, content=content)
    return await own_account_json(request, await services[AccountService].get(me))


def _privacy(account: Account, fields: FormFields) -> bool | None:
    """Return whether the account becomes private, or None. Raises Invalid for values that this site does not have."""
    is_private = flag(fields, "locked") if fields.get("locked") else None
    is_listed = not (account.is_private if is_private is None else is_private)
    fixed = {"hide_collections": False, "indexable": is_listed, **({} if is_listed else {"discoverable": False})}
    if refused := {name: NOT_OFFERED for name, value in fixed.items() if flag(fields, name, value) != value}:
        raise Invalid(refused)
    return is_private


def _link_and_fields(account: Account, fields: FormFields) -> dict[str, str]:
    """Return the link and the fields that replace those of the profile, or {} if none were sent.

    The link is the first field that has no name or the name LINK_FIELD, as in `source`. If the profile has no link, a
    field of this kind that the profile already has stays a field. Fields without a value are left out.
    """
    own = set[tuple[str, str]]() if account.link else {(each.name, each.value) for each in account.filled_fields}
    rows = [
        ProfileField(each.get("name", "").strip(), value)
        for each in fields.objects_of("fields_attributes")
        if (value := each.get("value", "").strip())
    ]
    if not rows and not any(name.startswith("fields_attributes[") for name in fields):
        return {}
    links = (row for row in rows if row.name in ("", LINK_FIELD) and (row.name, row.value) not in own)
    link = next(links, None)
    others = [row for row in rows if row is not link]
    return {"link": link.value if link is not None else "", "fields": encode_fields(others)}


def _preferences(old: Preferences, account: Account, fields: FormFields) -> Preferences:
    """Return the preferences with the changes that were sent. Raises Invalid for an unknown visibility."""
    visibility = fields.get("source[privacy]") or VISIBILITY_BY_DEFAULT[old.audience]
    quote_policy = fields.get("source[quote_policy]") or old.quote_policy
    is_private = flag(fields, "locked", account.is_private)  # search never finds private accounts
    if visibility not in DEFAULT_BY_VISIBILITY:
        raise Invalid({"source[privacy]": NOT_OFFERED})
    if quote_policy not in QUOTE_POLICIES:
        raise Invalid({"source[quote_policy]": NOT_OFFERED})
    return structs.replace(
        old,
        language=fields.get("source[language]", old.language) or None,
        audience=DEFAULT_BY_VISIBILITY[visibility],
        marks_sensitive=flag(fields, "source[sensitive]", old.marks_sensitive),
        is_bot=flag(fields, "bot", old.is_bot),
        quote_policy=quote_policy,
        is_discoverable=old.is_discoverable if is_private else flag(fields, "discoverable", old.is_discoverable),
    )
