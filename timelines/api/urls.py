"""The URLs of the API that Mastodon clients use. They have no final slash (docs/guide/api.md)."""

from functools import partial
from typing import Any

from django.urls import URLPattern, path

from socialsite.web.requests import AsyncView, counted, dispatch_by_method, writing
from timelines.api import (
    apps,
    filters,
    hashtags,
    instance,
    lists,
    media,
    notifications,
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
"""The site has no requests of filtered notifications, because it shows or drops notifications."""


def route(
    address: str,
    rule: str | None = None,
    /,
    *,
    prefix: str = "",
    arguments: dict[str, Any] | None = None,
    **views: AsyncView[...],
) -> URLPattern:
    """Return the pattern of an address with a view for each method. The rate limit `rule` counts all but GET.

    PUT and PATCH are the same, as in Mastodon.
    """
    for update, other in (("PUT", "PATCH"), ("PATCH", "PUT")):
        if update in views:
            views.setdefault(other, views[update])
    if rule is not None:
        views = {method: view if method == "GET" else counted(rule, view) for method, view in views.items()}
    return path(prefix + address, dispatch_by_method(**views), arguments)


v1, v2 = partial(route, prefix="api/v1/"), partial(route, prefix="api/v2/")

app_name = "api"
urlpatterns = [
    v1("instance", GET=instance.show_v1),
    v2("instance", GET=instance.show),
    v1("instance/rules", GET=instance.rules),
    v1("instance/peers", GET=EMPTY),
    v1("instance/activity", GET=instance.activity),
    v1("instance/extended_description", GET=instance.extended_description),
    v1("instance/privacy_policy", GET=instance.privacy_policy),
    v1("instance/terms_of_service", GET=instance.terms_of_service),
    v1("instance/languages", GET=instance.languages),
    v1("instance/translation_languages", GET=NO_TRANSLATIONS),
    v1("custom_emojis", GET=EMPTY),
    v1("announcements", GET=instance.announcements),
    v1("announcements/<id:announcement_id>/dismiss", "like", POST=instance.dismiss_announcement),
    v1("preferences", GET=instance.preferences),
    route(".well-known/nodeinfo", GET=instance.nodeinfo_links),
    route("nodeinfo/2.0", GET=instance.nodeinfo),
    route("health", GET=streaming.health),
    v1("apps", POST=apps.create),
    v1("apps/verify_credentials", GET=apps.verify_credentials),
    v1("streaming/health", GET=streaming.health),
    v1("streaming", GET=streaming.stream_events),
    v1("streaming/<path:stream>", GET=streaming.stream_events),
    v1("push/subscription", GET=push.show, POST=push.create, PUT=push.edit, DELETE=push.delete),
    v1("timelines/home", GET=timelines.home),
    v1("timelines/public", GET=timelines.public),
    v1("timelines/tag/<str:tag>", GET=timelines.hashtag),
    v1("timelines/list/<id:list_id>", GET=timelines.list_timeline),
    v1("statuses", GET=statuses.show_many, POST=statuses.publish),
    v1("statuses/<id:post_id>", GET=statuses.show, PUT=statuses.edit, DELETE=counted("delete", statuses.delete)),
    v1("statuses/<id:post_id>/context", GET=statuses.context),
    v1("statuses/<id:post_id>/source", GET=statuses.source),
    v1("statuses/<id:post_id>/history", GET=statuses.history),
    v1("statuses/<id:post_id>/quotes", GET=statuses.quotes),
    v1("statuses/<id:post_id>/quotes/<id:quote_id>/revoke", "block", POST=statuses.revoke_quote),
    v1("statuses/<id:post_id>/interaction_policy", PUT=statuses.set_quote_policy),
    v1("statuses/<id:post_id>/reblogged_by", GET=statuses.reblogged_by),
    v1("statuses/<id:post_id>/favourited_by", GET=statuses.favourited_by),
    v1("statuses/<id:post_id>/reblog", POST=reactions.reblog),
    *(v1(f"statuses/<id:post_id>/{name}", "like", POST=view) for name, view in reactions.ACTIONS.items()),
    v1("bookmarks", GET=reactions.bookmarks),
    v1("favourites", GET=reactions.favourites),
    v1("scheduled_statuses", GET=scheduled.index),
    v1("scheduled_statuses/<id:draft_id>", "draft", GET=scheduled.show, PUT=scheduled.edit, DELETE=scheduled.delete),
    v1("polls/<id:post_id>", GET=statuses.show_poll),
    v1("polls/<id:post_id>/votes", "like", POST=writing(statuses.vote)),
    v1("media", POST=media.upload),
    v2("media", POST=media.upload),
    v1("media/<id:media_id>", GET=media.show, PUT=writing(media.describe), DELETE=counted("delete", media.delete)),
    v1("accounts", GET=profiles.show_many, POST=registrations.create),
    v1("accounts/verify_credentials", GET=profiles.verify_credentials),
    v1("accounts/update_credentials", PATCH=profiles.update_credentials),
    v1("profile", GET=profiles.show_profile, PATCH=profiles.update_profile),
    v1("profile/avatar", DELETE=profiles.delete_picture, arguments={"kind": "avatar"}),
    v1("profile/header", DELETE=profiles.delete_picture, arguments={"kind": "header"}),
    v1("accounts/lookup", GET=profiles.lookup),
    v1("accounts/search", GET=search.search_accounts),
    v1("accounts/relationships", GET=relationships.relationships),
    v1("accounts/familiar_followers", GET=profiles.familiar_followers),
    v1("accounts/<id:account_id>", GET=profiles.show),
    v1("accounts/<id:account_id>/statuses", GET=profiles.statuses),
    v1("accounts/<id:account_id>/followers", GET=profiles.followers),
    v1("accounts/<id:account_id>/following", GET=profiles.following),
    v1("accounts/<id:account_id>/identity_proofs", GET=EMPTY),
    v1("accounts/<id:account_id>/featured_tags", GET=hashtags.featured_of_account),
    v1("accounts/<id:account_id>/endorsements", GET=profiles.endorsements),
    *(
        v1(f"accounts/<id:account_id>/{name}", "follow", POST=view)
        for name, view in relationships.FOLLOW_ACTIONS.items()
    ),
    *(v1(f"accounts/<id:account_id>/{name}", "block", POST=view) for name, view in relationships.BLOCK_ACTIONS.items()),
    v1("follow_requests", GET=relationships.follow_requests),
    *(
        v1(f"follow_requests/<id:account_id>/{name}", "block", POST=view)
        for name, view in relationships.REQUEST_ACTIONS.items()
    ),
    v1("blocks", GET=relationships.blocks),
    v1("mutes", GET=relationships.mutes),
    v1("notifications", GET=notifications.index),
    v1("notifications/clear", POST=notifications.clear),
    v1("notifications/unread_count", GET=notifications.count_unread),
    v1("notifications/requests", GET=NO_REQUESTS),
    v1("notifications/requests/merged", GET=MERGED),
    v1("notifications/<id:notification_id>", GET=notifications.show),
    v1("notifications/<id:notification_id>/dismiss", POST=notifications.dismiss),
    v2("notifications", GET=notifications.groups),
    v2("notifications/policy", GET=notifications.policy, PUT=notifications.set_policy),
    v2("notifications/unread_count", GET=notifications.count_unread_groups),
    v2("notifications/<slug:key>", GET=notifications.show_group),
    v2("notifications/<slug:key>/accounts", GET=notifications.group_accounts),
    v2("notifications/<slug:key>/dismiss", POST=notifications.dismiss_group),
    v1("lists", "list", GET=lists.index, POST=lists.create),
    v1("lists/<id:list_id>", "list", GET=lists.show, PUT=lists.edit, DELETE=lists.delete),
    v1("lists/<id:list_id>/accounts", "list", GET=lists.members, POST=lists.add_members, DELETE=lists.remove_members),
    v1("accounts/<id:account_id>/lists", GET=lists.of_account),
    v2("filters", "list", GET=filters.index, POST=filters.create),
    v2("filters/<id:group_id>", "list", GET=filters.show, PUT=filters.edit, DELETE=filters.delete),
    v2("filters/<id:group_id>/keywords", "list", GET=filters.keywords, POST=filters.add_keyword),
    v2("filters/<id:group_id>/statuses", "list", GET=filters.statuses, POST=filters.add_status),
    v2(
        "filters/statuses/<id:number>",
        "list",
        arguments={"of_post": True},
        GET=filters.show_status,
        DELETE=filters.delete_member,
    ),
    v2(
        "filters/keywords/<id:number>",
        "list",
        GET=filters.show_keyword,
        PUT=filters.edit_keyword,
        DELETE=filters.delete_member,
    ),
    v1("filters", "list", GET=filters.v1_index, POST=filters.v1_create),
    v1("filters/<id:number>", "list", GET=filters.v1_show, PUT=filters.v1_edit, DELETE=filters.delete_member),
    v2("search", GET=search.search),
    v1("trends", GET=search.trending_tags),
    v1("trends/tags", GET=search.trending_tags),
    v1("trends/statuses", GET=search.trending_statuses),
    v1("trends/links", GET=EMPTY),
    v1("followed_tags", GET=hashtags.followed),
    v1("tags/<str:tag>", GET=hashtags.show),
    v1("tags/<str:tag>/follow", POST=writing(hashtags.follow)),
    v1("tags/<str:tag>/unfollow", POST=hashtags.unfollow),
    v1("tags/<str:tag>/feature", "list", POST=writing(hashtags.feature)),
    v1("tags/<str:tag>/unfeature", "list", POST=hashtags.unfeature),
    v1("featured_tags", "list", GET=hashtags.featured, POST=writing(hashtags.create_featured)),
    v1("featured_tags/suggestions", GET=hashtags.suggestions),
    v1("featured_tags/<str:tag>", "list", DELETE=hashtags.delete_featured),
    v1("suggestions", GET=search.suggestions, arguments={"version": 1}),
    v2("suggestions", GET=search.suggestions, arguments={"version": 2}),
    v1("directory", GET=search.directory),
    v1("markers", GET=timelines.markers, POST=timelines.move_markers),
    v1("reports", POST=writing(reports.report)),
    v1("conversations", GET=OWN_EMPTY),
    v1("domain_blocks", GET=OWN_EMPTY),
    v1("endorsements", GET=profiles.own_endorsements),
]
