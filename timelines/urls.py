"""The addresses of posts, timelines, follows and lists (docs/interface.md)."""

from django.urls import path, register_converter

from socialsite.ids import MAX_ID
from socialsite.web.requests import methods
from timelines.feeds import views as feeds
from timelines.filters import views as filters
from timelines.following import suggestion_views as suggestions
from timelines.following import views as relations
from timelines.hashtags import views as tags
from timelines.home import views as home
from timelines.lists import views as lists
from timelines.markers import views as places
from timelines.notifications import views as notifications
from timelines.pages import view_counts as visits
from timelines.pages.dates import dated
from timelines.profiles import views as profiles
from timelines.publishing import views as posts
from timelines.reactions import views as reactions
from timelines.search import views as search
from timelines.threads import views as threads


class IdConverter:
    """An id as it is written in addresses: no leading zero, so each has one address."""

    regex = "[1-9][0-9]{0,15}"

    def to_python(self, value: str) -> int:
        number = int(value)
        if number > MAX_ID:
            raise ValueError  # Django goes on: 404
        return number

    def to_url(self, value: int) -> str:
        return str(value)


class HandleConverter:
    """A handle in any case; the views send pages on to lower case."""

    regex = "[A-Za-z0-9_]{1,20}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(IdConverter, "id")
register_converter(HandleConverter, "handle")

app_name = "timelines"
urlpatterns = [
    path("", methods(GET=dated(home.home)), name="home"),
    path("public/", methods(GET=dated(home.public)), name="public"),
    path("positions/", methods(POST=places.move), name="positions"),
    path("preferences/", methods(POST=places.prefer), name="preferences"),
    path("accounts/suggestions/", methods(GET=suggestions.suggestions), name="suggestions"),
    path("posts/", methods(POST=posts.publish), name="publish"),
    path("posts/<id:post_id>/delete/", methods(POST=posts.delete), name="delete"),
    path("posts/<id:post_id>/like/", methods(POST=reactions.like), name="like"),
    path("posts/<id:post_id>/unlike/", methods(POST=reactions.unlike), name="unlike"),
    path("posts/<id:post_id>/boost/", methods(POST=reactions.boost), name="boost"),
    path("posts/<id:post_id>/unboost/", methods(POST=reactions.unboost), name="unboost"),
    path("posts/<id:post_id>/bookmark/", methods(POST=reactions.bookmark), name="bookmark"),
    path("posts/<id:post_id>/unbookmark/", methods(POST=reactions.unbookmark), name="unbookmark"),
    path("bookmarks/", methods(GET=reactions.bookmarks), name="bookmarks"),
    path("clicks/", methods(POST=visits.clicked), name="clicks"),
    path("@<handle:handle>/", methods(GET=dated(profiles.profile)), name="profile"),
    path("@<handle:handle>/followers/", methods(GET=profiles.followers), name="followers"),
    path("@<handle:handle>/following/", methods(GET=profiles.following), name="following"),
    path("@<handle:handle>/follow/", methods(POST=relations.follow), name="follow"),
    path("@<handle:handle>/unfollow/", methods(POST=relations.unfollow), name="unfollow"),
    path("@<handle:handle>/block/", methods(POST=relations.block), name="block"),
    path("@<handle:handle>/unblock/", methods(POST=relations.unblock), name="unblock"),
    path("@<handle:handle>/mute/", methods(POST=relations.mute), name="mute"),
    path("@<handle:handle>/unmute/", methods(POST=relations.unmute), name="unmute"),
    path("@<handle:handle>/hide-boosts/", methods(POST=relations.hide_boosts), name="hide-boosts"),
    path("@<handle:handle>/show-boosts/", methods(POST=relations.show_boosts), name="show-boosts"),
    path(
        "@<handle:handle>/remove-follower/",
        methods(POST=relations.remove_follower),
        name="remove-follower",
    ),
    path("@<handle:handle>/accept/", methods(POST=relations.accept), name="accept"),
    path("@<handle:handle>/refuse/", methods(POST=relations.refuse), name="refuse"),
    path("accounts/requests/", methods(GET=relations.requests), name="requests"),
    path("accounts/blocked/", methods(GET=relations.blocked), name="blocked"),
    path("accounts/muted/", methods(GET=relations.muted), name="muted"),
    path("accounts/filters/", methods(GET=filters.index, POST=filters.add), name="filters"),
    path("accounts/filters/<id:number>/edit/", methods(POST=filters.edit), name="filter-edit"),
    path("accounts/filters/<id:number>/delete/", methods(POST=filters.delete), name="filter-delete"),
    path("@<handle:handle>/feed.atom", methods(GET=feeds.account), name="feed"),
    path("@<handle:handle>/<id:post_id>/", methods(GET=threads.show), name="post"),
    path("@<handle:handle>/<id:post_id>/likes/", methods(GET=reactions.likes), name="likes"),
    path("@<handle:handle>/<id:post_id>/boosts/", methods(GET=reactions.boosts), name="boosts"),
    path("notifications/", methods(GET=notifications.index), name="notifications"),
    path("notifications/read/", methods(POST=notifications.read), name="notifications-read"),
    path("notifications/unread/", methods(GET=notifications.unread), name="notifications-unread"),
    path(
        "accounts/notifications/",
        methods(GET=notifications.settings_page, POST=notifications.edit_settings),
        name="notification-settings",
    ),
    path("tags/", methods(GET=dated(tags.followed)), name="tags"),
    path("tags/trending/", methods(GET=tags.trending), name="trending"),
    path("tags/<str:tag>/follow/", methods(POST=tags.follow), name="tag-follow"),
    path("tags/<str:tag>/unfollow/", methods(POST=tags.unfollow), name="tag-unfollow"),
    path("tags/<str:tag>/", methods(GET=dated(tags.show)), name="tag"),
    path("tags/<str:tag>/feed.atom", methods(GET=feeds.tag), name="tag-feed"),
    path("search/", methods(GET=search.search), name="search"),
    path("search/complete/", methods(GET=search.complete), name="complete"),
    path("lists/", methods(GET=lists.index, POST=lists.create), name="lists"),
    path("lists/<id:list_id>/", methods(GET=dated(lists.show)), name="list"),
    path("lists/<id:list_id>/edit/", methods(POST=lists.edit), name="list-edit"),
    path("lists/<id:list_id>/delete/", methods(POST=lists.delete), name="list-delete"),
    path("lists/<id:list_id>/members/", methods(POST=lists.add_member), name="list-members"),
    path("lists/<id:list_id>/members/remove/", methods(POST=lists.remove_member), name="list-members-remove"),
]
