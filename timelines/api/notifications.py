"""Notifications in the API, single (v1) and grouped (v2), and their policy."""

from collections.abc import Collection, Sequence
from typing import Final

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from msgspec import Raw

from socialsite.errors import Invalid, NotFound
from socialsite.ids import AccountId, PostId, id_at
from socialsite.web.requests import FormFields, SiteRequest, require_viewer_id
from socialsite.web.responses import format_iso_time
from timelines.api.endpoint import endpoint
from timelines.api.entities.notification import GROUP_MS, GROUPED_TYPES, KINDS_BY_TYPE, group_key, parse_group_key
from timelines.api.fields import api_fields, id_field
from timelines.api.pagination import api_page, entries_response
from timelines.api.presenters import accounts_json, notifications_json, statuses_json
from timelines.notifications.notification import (
    NOTIFICATION_KINDS,
    TYPE_BY_KIND,
    NotificationKind,
    NotificationPreference,
    VisibleNotification,
)
from timelines.notifications.service import NotificationService
from timelines.pages.presenters import Json

DEFAULT_NOTIFICATIONS, MAX_NOTIFICATIONS = 40, 80
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
    data = await notifications_json(request, entries)
    return entries_response(request, data, [entry.id for entry in entries])


async def _read_page(request: SiteRequest) -> list[VisibleNotification]:
    """Return the notifications that the request selects by cursor, type and account."""
    fields, me = api_fields(request), require_viewer_id(request)
    query = api_page(fields, DEFAULT_NOTIFICATIONS, MAX_NOTIFICATIONS)
    actor = id_field(fields, "account_id")
    page = await request.services[NotificationService].page(
        me,
        before=query.max_id,
        after=query.min_id,
        limit=query.limit,
        kinds=selected_kinds(fields),
        actor_id=None if actor is None else AccountId(actor),
    )
    return query.trim(page.entries, lambda entry: entry.id)


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
    return {"count": await request.services[NotificationService].unread(require_viewer_id(request))}


# Groups


@endpoint("read:notifications", needs_account=True)
async def groups(request: SiteRequest) -> HttpResponse:
    entries = await _read_page(request)
    types = frozenset(api_fields(request).values_of("grouped_types")) or GROUPED_TYPES
    data = await _groups_json(request, entries, types & GROUPED_TYPES)
    return entries_response(request, data, [entry.id for entry in entries])


@endpoint("read:notifications", needs_account=True)
async def show_group(request: SiteRequest, key: str) -> Json:
    return await _groups_json(request, await _read_group(request, key), GROUPED_TYPES)


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
    me, end = require_viewer_id(request), id_at((number + 1) * GROUP_MS)
    page = await request.services[NotificationService].page(me, before=end, limit=MAX_NOTIFICATIONS, kinds=[kind])
    entries = [entry for entry in page.entries if group_key(entry, GROUPED_TYPES) == key]
    if not entries:
        raise NotFound
    return entries


async def _groups_json(
    request: SiteRequest, entries: Sequence[VisibleNotification], grouped_types: Collection[str]
) -> Json:
    """Return the groups with the accounts and posts that they name. A group is at its newest notification."""
    groups: dict[str, list[VisibleNotification]] = {}
    for entry in entries:
        if entry.kind in TYPE_BY_KIND:
            groups.setdefault(group_key(entry, grouped_types), []).append(entry)
    posts = {members[0].entry.id: members[0].entry for members in groups.values() if members[0].entry is not None}
    samples = {key: list(dict.fromkeys(each.author.id for each in group)) for key, group in groups.items()}
    ids = dict.fromkeys(id for sample in samples.values() for id in sample[:SAMPLE_ACCOUNTS])
    return {
        "accounts": await accounts_json(request, ids),
        "partial_accounts": [],
        "statuses": await statuses_json(request, list(posts.values())),
        "notification_groups": [
            _group_json(key, members, samples[key][:SAMPLE_ACCOUNTS]) for key, members in groups.items()
        ],
    }


def _group_json(key: str, members: Sequence[VisibleNotification], sample: Sequence[AccountId]) -> Json:
    newest, oldest = members[0], members[-1]
    return {
        "group_key": key,
        "notifications_count": len(members),
        "type": TYPE_BY_KIND[newest.kind],
        "most_recent_notification_id": newest.id,
        "page_min_id": str(oldest.id),
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
    """Return the kinds of `types[]` without those of `exclude_types[]`. Clients do not know the other kinds."""
    types = fields.values_of("types") or list(KINDS_BY_TYPE)
    excluded = fields.values_of("exclude_types")
    kinds = {kind for type in types if type not in excluded for kind in KINDS_BY_TYPE.get(type, ())}
    return [kind for kind in NOTIFICATION_KINDS if kind in kinds]
