"""The URLs of the API that Mastodon clients use. They have no final slash (docs/guide/api.md)."""

from typing import Any

from django.urls import URLPattern, path

from socialsite.web.requests import AsyncView, counted, dispatch_by_method, writing
from timelines.api import (
    announcements,
    apps,
    filters,
    hashtags,
    instance,
    lists,
    media,
    notifications,
    polls,
    profiles,
    push,
    reactions,
    registrations,
    relationships,
    reports,
    scheduled,
    search,
    statuses,
    streaming,
    timelines,
)
from timelines.api.endpoint import constant

EMPTY = constant([], None)
OWN_EMPTY = constant([], "read", "read:statuses", "read:accounts", needs_account=True)
NO_TRANSLATIONS = constant({}, None)
NO_REQUESTS = constant([], "read:notifications", needs_account=True)
MERGED = constant({"merged": True}, "read:notifications", needs_account=True)
"""Requests of filtered notifications do not exist: notifications are shown or dropped."""


def route(
    address: str, rule: str | None = None, /, *, arguments: dict[str, Any] | None = None, **views: AsyncView[...]
) -> URLPattern:
    """Return the pattern of an address with a view for each method. The rate limit `rule` counts all but GET."""
    if rule is not None:
        views = {method: view if method == "GET" else counted(rule, view) for method, view in views.items()}
    return path(address, dispatch_by_method(**views), arguments)


def account_route(name: str, rule: str, view: AsyncView[...]) -> URLPattern:
    return route(f"api/v1/accounts/<id:account_id>/{name}", rule, POST=view)


app_name = "api"
urlpatterns = [
    route("api/v1/instance", GET=instance.show_v1),
    route("api/v2/instance", GET=instance.show),
    route("api/v1/instance/rules", GET=instance.rules),
    route("api/v1/instance/peers", GET=EMPTY),
    route("api/v1/instance/activity", GET=instance.activity),
    route("api/v1/instance/extended_description", GET=instance.extended_description),
    route("api/v1/instance/privacy_policy", GET=instance.privacy_policy),
    route("api/v1/instance/terms_of_service", GET=instance.terms_of_service),
    route("api/v1/instance/languages", GET=instance.languages),
    route("api/v1/instance/translation_languages", GET=NO_TRANSLATIONS),
    route("api/v1/custom_emojis", GET=EMPTY),
    route("api/v1/announcements", GET=announcements.index),
    route("api/v1/announcements/<id:announcement_id>/dismiss", "like", POST=announcements.dismiss),
    route("api/v1/preferences", GET=instance.preferences),
    route(".well-known/nodeinfo", GET=instance.nodeinfo_links),
    route("nodeinfo/2.0", GET=instance.nodeinfo),
    route("health", GET=streaming.health),
    route("api/v1/apps", POST=apps.create),
    route("api/v1/apps/verify_credentials", GET=apps.verify_credentials),
    route("api/v1/streaming/health", GET=streaming.health),
    route("api/v1/streaming", GET=streaming.stream_events),
    route("api/v1/streaming/<path:stream>", GET=streaming.stream_events),
    route("api/v1/push/subscription", GET=push.show, POST=push.create, PUT=push.edit, DELETE=push.delete),
    route("api/v1/timelines/home", GET=timelines.home),
    route("api/v1/timelines/public", GET=timelines.public),
    route("api/v1/timelines/tag/<str:tag>", GET=timelines.hashtag),
    route("api/v1/timelines/list/<id:list_id>", GET=timelines.list_timeline),
    route("api/v1/statuses", GET=statuses.show_many, POST=statuses.publish),
    route(
        "api/v1/statuses/<id:post_id>", GET=statuses.show, PUT=statuses.edit, DELETE=counted("delete", statuses.delete)
    ),
    route("api/v1/statuses/<id:post_id>/context", GET=statuses.context),
    route("api/v1/statuses/<id:post_id>/source", GET=statuses.source),
    route("api/v1/statuses/<id:post_id>/history", GET=statuses.history),
    route("api/v1/statuses/<id:post_id>/quotes", GET=statuses.quotes),
    route("api/v1/statuses/<id:post_id>/quotes/<id:quote_id>/revoke", "block", POST=statuses.revoke_quote),
    route("api/v1/statuses/<id:post_id>/interaction_policy", PUT=statuses.set_quote_policy),
    route("api/v1/statuses/<id:post_id>/reblogged_by", GET=statuses.reblogged_by),
    route("api/v1/statuses/<id:post_id>/favourited_by", GET=statuses.favourited_by),
    route("api/v1/statuses/<id:post_id>/reblog", POST=reactions.reblog),
    *(route(f"api/v1/statuses/<id:post_id>/{name}", "like", POST=view) for name, view in reactions.ACTIONS.items()),
    route("api/v1/bookmarks", GET=reactions.bookmarks),
    route("api/v1/favourites", GET=reactions.favourites),
    route("api/v1/scheduled_statuses", GET=scheduled.index),
    route(
        "api/v1/scheduled_statuses/<id:draft_id>",
        "draft",
        GET=scheduled.show,
        PUT=scheduled.reschedule,
        DELETE=scheduled.delete,
    ),
    route("api/v1/polls/<id:post_id>", GET=polls.show),
    route("api/v1/polls/<id:post_id>/votes", "like", POST=writing(polls.vote)),
    route("api/v1/media", POST=media.upload),
    route("api/v2/media", POST=media.upload),
    route(
        "api/v1/media/<id:media_id>",
        GET=media.show,
        PUT=writing(media.describe),
        DELETE=counted("delete", media.delete),
    ),
    route("api/v1/accounts", GET=profiles.show_many, POST=registrations.create),
    route("api/v1/accounts/verify_credentials", GET=profiles.verify_credentials),
    route("api/v1/accounts/update_credentials", PATCH=profiles.update_credentials),
    route("api/v1/profile", GET=profiles.show_profile, PATCH=profiles.update_profile),
    route("api/v1/profile/avatar", DELETE=profiles.delete_picture, arguments={"kind": "avatar"}),
    route("api/v1/profile/header", DELETE=profiles.delete_picture, arguments={"kind": "header"}),
    route("api/v1/accounts/lookup", GET=profiles.lookup),
    route("api/v1/accounts/search", GET=profiles.search),
    route("api/v1/accounts/relationships", GET=relationships.relationships),
    route("api/v1/accounts/familiar_followers", GET=profiles.familiar_followers),
    route("api/v1/accounts/<id:account_id>", GET=profiles.show),
    route("api/v1/accounts/<id:account_id>/statuses", GET=profiles.statuses),
    route("api/v1/accounts/<id:account_id>/followers", GET=profiles.followers),
    route("api/v1/accounts/<id:account_id>/following", GET=profiles.following),
    route("api/v1/accounts/<id:account_id>/featured_tags", GET=hashtags.featured_of_account),
    route("api/v1/accounts/<id:account_id>/endorsements", GET=profiles.endorsements),
    *(account_route(name, "follow", view) for name, view in relationships.FOLLOW_ACTIONS.items()),
    *(account_route(name, "block", view) for name, view in relationships.BLOCK_ACTIONS.items()),
    route("api/v1/follow_requests", GET=relationships.follow_requests),
    *(
        route(f"api/v1/follow_requests/<id:account_id>/{name}", "block", POST=view)
        for name, view in relationships.REQUEST_ACTIONS.items()
    ),
    route("api/v1/blocks", GET=relationships.blocks),
    route("api/v1/mutes", GET=relationships.mutes),
    route("api/v1/notifications", GET=notifications.index),
    route("api/v1/notifications/clear", POST=notifications.clear),
    route("api/v1/notifications/unread_count", GET=notifications.count_unread),
    route("api/v1/notifications/requests", GET=NO_REQUESTS),
    route("api/v1/notifications/requests/merged", GET=MERGED),
    route("api/v1/notifications/<id:notification_id>", GET=notifications.show),
    route("api/v1/notifications/<id:notification_id>/dismiss", POST=notifications.dismiss),
    route("api/v2/notifications", GET=notifications.groups),
    route(
        "api/v2/notifications/policy",
        GET=notifications.show_policy,
        PATCH=notifications.edit_policy,
        PUT=notifications.edit_policy,
    ),
    route("api/v2/notifications/unread_count", GET=notifications.count_unread),
    route("api/v2/notifications/<slug:key>", GET=notifications.show_group),
    route("api/v2/notifications/<slug:key>/accounts", GET=notifications.group_accounts),
    route("api/v2/notifications/<slug:key>/dismiss", POST=notifications.dismiss_group),
    route("api/v1/lists", "list", GET=lists.index, POST=lists.create),
    route("api/v1/lists/<id:list_id>", "list", GET=lists.show, PUT=lists.edit, DELETE=lists.delete),
    route(
        "api/v1/lists/<id:list_id>/accounts",
        "list",
        GET=lists.members,
        POST=lists.add_members,
        DELETE=lists.remove_members,
    ),
    route("api/v1/accounts/<id:account_id>/lists", GET=lists.of_account),
    route("api/v2/filters", "list", GET=filters.index, POST=filters.create),
    route("api/v2/filters/<id:group_id>", "list", GET=filters.show, PUT=filters.edit, DELETE=filters.delete),
    route("api/v2/filters/<id:group_id>/keywords", "list", GET=filters.keywords, POST=filters.add_keyword),
    route("api/v2/filters/<id:group_id>/statuses", GET=filters.statuses, POST=filters.add_status),
    route(
        "api/v2/filters/keywords/<id:number>",
        "list",
        GET=filters.show_keyword,
        PUT=filters.edit_keyword,
        DELETE=filters.delete_keyword,
    ),
    route("api/v1/filters", "list", GET=filters.v1_index, POST=filters.v1_create),
    route("api/v1/filters/<id:number>", "list", GET=filters.v1_show, PUT=filters.v1_edit, DELETE=filters.v1_delete),
    route("api/v2/search", GET=search.search),
    route("api/v1/trends", GET=search.trending_tags),
    route("api/v1/trends/tags", GET=search.trending_tags),
    route("api/v1/trends/statuses", GET=EMPTY),
    route("api/v1/trends/links", GET=EMPTY),
    route("api/v1/followed_tags", GET=hashtags.followed),
    route("api/v1/tags/<str:tag>", GET=hashtags.show),
    route("api/v1/tags/<str:tag>/follow", POST=writing(hashtags.follow)),
    route("api/v1/tags/<str:tag>/unfollow", POST=hashtags.unfollow),
    route("api/v1/tags/<str:tag>/feature", "list", POST=hashtags.feature),
    route("api/v1/tags/<str:tag>/unfeature", "list", POST=hashtags.unfeature),
    route("api/v1/featured_tags", "list", GET=hashtags.featured, POST=hashtags.create_featured),
    route("api/v1/featured_tags/suggestions", GET=hashtags.suggestions),
    route("api/v1/featured_tags/<str:tag>", "list", DELETE=hashtags.delete_featured),
    route("api/v1/suggestions", GET=search.suggestions, arguments={"version": 1}),
    route("api/v2/suggestions", GET=search.suggestions, arguments={"version": 2}),
    route("api/v1/directory", GET=search.directory),
    route("api/v1/markers", GET=reports.markers, POST=reports.move_markers),
    route("api/v1/reports", POST=writing(reports.report)),
    route("api/v1/conversations", GET=OWN_EMPTY),
    route("api/v1/domain_blocks", GET=OWN_EMPTY),
    route("api/v1/endorsements", GET=profiles.own_endorsements),
]
