"""Notifications in the API, single (v1) and grouped (v2), and their policy."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Final

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from msgspec import Raw

from socialsite.errors import Invalid, NotFound
from socialsite.ids import MAX_ID, AccountId, PostId, id_at, ms_from_id
from socialsite.web.requests import FormFields, SiteRequest, require_viewer_id
from socialsite.web.responses import format_iso_time
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, id_field, limit_field
from timelines.api.pagination import ApiPage, api_page, entries_response
from timelines.api.presenters import accounts_json, notifications_json, statuses_json
from timelines.keys import NOTIFICATIONS_CAP
from timelines.notifications.groups import GROUP_MS, group_key, kinds_grouped_in_api, parse_group_key
from timelines.notifications.kinds import KINDS, NotificationKind, NotificationPreference
from timelines.notifications.notification import Selection, VisibleNotification
from timelines.notifications.service import NotificationService
from timelines.pages.presenters import Json

DEFAULT_NOTIFICATIONS, MAX_NOTIFICATIONS = 40, 80
DEFAULT_COUNT = 100
Groups = Mapping[str, Sequence[VisibleNotification]]
"""Key of a group -> its notifications, newest first."""
SAMPLE_ACCOUNTS = 8
"""The number of accounts that a group names."""
POLICY_FIELDS = (
    "for_not_following", "for_not_followers", "for_new_accounts", "for_private_mentions", "for_limited_accounts",
)  # fmt: skip
ACCEPT, DROP = "accept", "drop"
ALL_FROM_FOLLOWED: Final[tuple[NotificationPreference, NotificationPreference]] = ("followed", "all")
FOLLOWED_FROM_ALL: Final[tuple[NotificationPreference, NotificationPreference]] = ("all", "followed")


@endpoint("read:notifications", needs_account=True)
async def index(request: SiteRequest) -> HttpResponse:
    entries = await _read_page(request)
    return entries_response(request, await notifications_json(request, entries), [entry.id for entry in entries])


async def _read_page(request: SiteRequest) -> list[VisibleNotification]:
    """Return the notifications that the request selects by cursor, type and account."""
    fields, me = api_fields(request), require_viewer_id(request)
    query = api_page(fields, DEFAULT_NOTIFICATIONS, MAX_NOTIFICATIONS)
    page = await request.services[NotificationService].page(
        me, before=query.max_id, after=query.min_id, limit=query.limit, selection=_selection(fields)
    )
    return query.trim(page.entries, lambda entry: entry.id)


def _selection(fields: FormFields) -> Selection:
    actor = id_field(fields, "account_id")
    return Selection(selected_kinds(fields), None if actor is None else AccountId(actor))


@endpoint("read:notifications", needs_account=True)
async def show(request: SiteRequest, notification_id: PostId) -> Json:
    for notification in await notifications_json(request, await _read_single(request, notification_id)):
        return notification
    raise NotFound


@endpoint("write:notifications", needs_account=True)
async def clear(request: SiteRequest) -> None:
    await request.services[NotificationService].delete(require_viewer_id(request))


@endpoint("write:notifications", needs_account=True)
async def dismiss(request: SiteRequest, notification_id: PostId) -> None:
    await _delete(request, await _read_single(request, notification_id))


async def _read_single(request: SiteRequest, notification_id: PostId) -> list[VisibleNotification]:
    """Return a list with the notification. Raises NotFound."""
    entry = await request.services[NotificationService].find(require_viewer_id(request), notification_id)
    if entry is None:
        raise NotFound
    return [entry]


async def _delete(request: SiteRequest, entries: Sequence[VisibleNotification]) -> None:
    ids = [entry.id for entry in entries]
    await request.services[NotificationService].delete(require_viewer_id(request), ids)


@endpoint("read:notifications", needs_account=True)
async def count_unread(request: SiteRequest) -> Json:
    return await _count_unread(request, ())


async def _count_unread(request: SiteRequest, grouped: Collection[NotificationKind]) -> Json:
    """Return the number of unread groups among the selected notifications."""
    fields = api_fields(request)
    limit = limit_field(fields, DEFAULT_COUNT, NOTIFICATIONS_CAP)
    entries = await request.services[NotificationService].unread_entries(
        require_viewer_id(request), _selection(fields), NOTIFICATIONS_CAP if grouped else limit
    )
    return {"count": min(len({group_key(entry, grouped) for entry in entries}), limit)}


# Groups


@endpoint("read:notifications", needs_account=True)
async def groups(request: SiteRequest) -> HttpResponse:
    fields = api_fields(request)
    query = api_page(fields, DEFAULT_NOTIFICATIONS, MAX_NOTIFICATIONS)
    groups = await _read_groups(request, query, _grouped_kinds(fields))
    newest_ids = [members[0].id for members in groups.values()]
    bottom = newest_ids[-1] if len(newest_ids) == query.limit else query.bottom + 1
    return entries_response(request, await _groups_json(request, groups, bottom), newest_ids)


@endpoint("read:notifications", needs_account=True)
async def count_unread_groups(request: SiteRequest) -> Json:
    return await _count_unread(request, _grouped_kinds(api_fields(request)))


def _grouped_kinds(fields: FormFields) -> list[NotificationKind]:
    return kinds_grouped_in_api(fields.values_of("grouped_types"))


async def _read_groups(request: SiteRequest, query: ApiPage, grouped: Collection[NotificationKind]) -> Groups:
    """Return the groups whose newest notifications are on the page, with all of their notifications.

    So each group is on one page only. All notifications of a group are in one half of a day, which is read completely.
    """
    groups: dict[str, list[VisibleNotification]] = {}
    shown: list[str] = []
    first = _half_day(query.bottom)
    before = None if query.max_id is None else _end_of(_half_day(query.max_id))
    async for entry in _read_down(request, before, _selection(api_fields(request))):
        if _half_day(entry.id) < first:
            break
        key = group_key(entry, grouped)
        groups.setdefault(key, []).append(entry)
        if len(groups[key]) == 1 and query.trim([entry], lambda each: each.id):
            shown.append(key)
            if len(shown) == query.limit and query.min_id is None:
                first = _half_day(entry.id)
    page = shown[: query.limit] if query.min_id is None else shown[-query.limit :]
    return {key: groups[key] for key in page}


async def _read_down(
    request: SiteRequest, before: int | None, selection: Selection
) -> AsyncIterator[VisibleNotification]:
    """Yield the selected notifications below an id, newest first."""
    me, service = require_viewer_id(request), request.services[NotificationService]
    while True:
        page = await service.page(me, before=before, limit=MAX_NOTIFICATIONS, selection=selection)
        for entry in page.entries:
            yield entry
        if page.next_before is None:
            return
        before = page.next_before


def _half_day(id: int) -> int:
    return ms_from_id(id) // GROUP_MS


def _end_of(half_day: int) -> int:
    return min(id_at((half_day + 1) * GROUP_MS), MAX_ID)


@endpoint("read:notifications", needs_account=True)
async def show_group(request: SiteRequest, key: str) -> Json:
    return await _groups_json(request, {key: await _read_group(request, key)})


@endpoint("read:notifications", needs_account=True)
async def group_accounts(request: SiteRequest, key: str) -> list[Raw]:
    ids = dict.fromkeys(entry.author.id for entry in await _read_group(request, key))
    return await accounts_json(request, ids)


@endpoint("write:notifications", needs_account=True)
async def dismiss_group(request: SiteRequest, key: str) -> None:
    await _delete(request, await _read_group(request, key))


async def _read_group(request: SiteRequest, key: str) -> list[VisibleNotification]:
    """Return the notifications of a group. Raises NotFound."""
    kind, number = parse_group_key(key)
    if kind is None:
        return await _read_single(request, PostId(number))
    entries = []
    async for entry in _read_down(request, _end_of(number), Selection([kind])):
        if _half_day(entry.id) < number:
            break
        if group_key(entry, [kind]) == key:
            entries.append(entry)
    if not entries:
        raise NotFound
    return entries


async def _groups_json(request: SiteRequest, groups: Groups, bottom: int = 0) -> Json:
    """Return the groups with the accounts and posts that they name. `bottom` is the lowest id of the page."""
    posts = {members[0].entry.id: members[0].entry for members in groups.values() if members[0].entry is not None}
    samples = {key: list(dict.fromkeys(each.author.id for each in group)) for key, group in groups.items()}
    ids = dict.fromkeys(id for sample in samples.values() for id in sample[:SAMPLE_ACCOUNTS])
    return {
        "accounts": await accounts_json(request, ids),
        "partial_accounts": [],
        "statuses": await statuses_json(request, list(posts.values())),
        "notification_groups": [
            _group_json(key, members, samples[key][:SAMPLE_ACCOUNTS], bottom) for key, members in groups.items()
        ],
    }


def _group_json(key: str, members: Sequence[VisibleNotification], sample: Sequence[AccountId], bottom: int) -> Json:
    newest, lowest_id = members[0], min(each.id for each in members if each.id >= min(bottom, members[0].id))
    return {
        "group_key": key,
        "notifications_count": len(members),
        "type": newest.kind.api_type,
        "most_recent_notification_id": newest.id,
        "page_min_id": str(lowest_id),
        "page_max_id": str(newest.id),
        "latest_page_notification_at": format_iso_time(newest.created_ms),
        "sample_account_ids": [str(id) for id in sample],
        **({} if newest.entry is None else {"status_id": str(newest.entry.id)}),
    }


# The policy


@endpoint("read:notifications", needs_account=True)
async def policy(request: SiteRequest) -> Json:
    preferences = await request.services[NotificationService].preferences(require_viewer_id(request))
    return _policy_json(preferences.values())


@endpoint("write:notifications", needs_account=True)
async def set_policy(request: SiteRequest) -> Json:
    """Accept or drop notifications of accounts that the viewer does not follow. Other choices are not offered."""
    fields, me, service = api_fields(request), require_viewer_id(request), request.services[NotificationService]
    allowed = {name: (ACCEPT, DROP) if name == "for_not_following" else (ACCEPT,) for name in POLICY_FIELDS}
    refused = [name for name in POLICY_FIELDS if fields.get(name, ACCEPT) not in allowed[name]]
    if refused:
        raise Invalid({name: _("This choice is not offered here.") for name in refused})
    preferences = await service.preferences(me)
    if choice := fields.get("for_not_following"):
        old, new = ALL_FROM_FOLLOWED if choice == ACCEPT else FOLLOWED_FROM_ALL
        changed = {kind: new for kind, preference in preferences.items() if preference == old}
        await service.notifications.set_preferences(me, changed)
        preferences = {**preferences, **changed}
    return _policy_json(preferences.values())


def _policy_json(preferences: Collection[NotificationPreference]) -> Json:
    drops = "all" not in preferences
    return {
        **dict.fromkeys(POLICY_FIELDS, ACCEPT),
        "for_not_following": DROP if drops else ACCEPT,
        "summary": {"pending_requests_count": 0, "pending_notifications_count": 0},
    }


def selected_kinds(fields: FormFields) -> list[NotificationKind]:
    """Return the kinds of `types[]` without those of `exclude_types[]`, and no kinds without a type in the API."""
    types, excluded = fields.values_of("types"), fields.values_of("exclude_types")
    with_types = (kind for kind in KINDS.values() if kind.api_type and kind.api_type not in excluded)
    return [kind for kind in with_types if not types or kind.api_type in types]
