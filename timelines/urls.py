"""URLs of posts, timelines, follows and lists (docs/reference/interface.md)."""

from django.urls import path, register_converter
from django.urls.converters import IntConverter, StringConverter

from accounts.settings.views import settings_page
from socialsite.ids import MAX_ID
from socialsite.site_host import remove_own_host
from socialsite.web.requests import dispatch_by_method, limited, writing
from timelines.drafts import views as drafts
from timelines.exporting import views as exporting
from timelines.feeds import views as feeds
from timelines.filters import views as filters
from timelines.following import views as following
from timelines.hashtags import views as hashtags
from timelines.home_page import tabs
from timelines.home_page import views as home
from timelines.home_page.announcements import dismiss as dismiss_announcement
from timelines.importing import views as importing
from timelines.lists import views as lists
from timelines.markers import views as markers
from timelines.media import views as media
from timelines.media.media import CONTENT_TYPES, SIZES
from timelines.notifications import views as notifications
from timelines.onboarding import views as onboarding
from timelines.pages.dates import redirect_date_queries
from timelines.pins import views as pins
from timelines.polls import views as polls
from timelines.previews import views as previews
from timelines.profiles import views as profiles
from timelines.profiles.pictures import save_profile, set_avatar, set_header
from timelines.public_lists import views as public_lists
from timelines.publishing import views as posts
from timelines.publishing.pictures import picture_dialogs
from timelines.push import views as push
from timelines.quotes import views as quotes
from timelines.reactions import views as reactions
from timelines.reading import view_counts
from timelines.reports import views as reports
from timelines.search import views as search
from timelines.threads import views as threads


class IdConverter(IntConverter):
    """Converts ids. An id with a leading zero does not match, so that each page has one URL."""

    regex = "[1-9][0-9]{0,15}"

    def to_python(self, value: str) -> int:
        number = int(value)
        if number > MAX_ID:
            raise ValueError  # no match: Django responds with 404
        return number


class HandleConverter(StringConverter):
    """Converts handles in upper or lower case. The host of this site may follow. The views redirect pages to lower
    case."""

    regex = "[A-Za-z0-9_]{1,20}(?:@[^/@]{1,260})?"

    def to_python(self, value: str) -> str:
        handle = remove_own_host(value)
        if "@" in handle:
            raise ValueError  # no match: Django responds with 404
        return handle


class MediaNameConverter(StringConverter):
    """Converts the names of pictures: an id and a secret."""

    regex = "[1-9][0-9]{0,15}-[0-9a-f]{32}"


class MediaSizeConverter(StringConverter):
    regex = "|".join(SIZES)


class MediaExtensionConverter(StringConverter):
    regex = "|".join(CONTENT_TYPES)


register_converter(IdConverter, "id")
register_converter(MediaNameConverter, "media_name")
register_converter(MediaSizeConverter, "media_size")
register_converter(MediaExtensionConverter, "media_extension")
register_converter(HandleConverter, "handle")

app_name = "timelines"
urlpatterns = [
    path("", dispatch_by_method(GET=redirect_date_queries(home.home)), name="home"),
    path("announcements/<id:announcement_id>/dismiss/", limited("like", dismiss_announcement), name="dismiss"),
    path("public/", dispatch_by_method(GET=redirect_date_queries(home.public)), name="public"),
    path("welcome/", dispatch_by_method(GET=onboarding.show_next_step, POST=onboarding.dismiss), name="onboarding"),
    path(
        "welcome/profile/",
        dispatch_by_method(GET=onboarding.show_profile, POST=onboarding.save_profile),
        name="onboarding-profile",
    ),
    path(
        "welcome/people/",
        dispatch_by_method(GET=onboarding.show_people, POST=onboarding.follow_people),
        name="onboarding-people",
    ),
    path(
        "welcome/post/", dispatch_by_method(GET=onboarding.show_post, POST=onboarding.publish), name="onboarding-post"
    ),
    path("positions/", dispatch_by_method(POST=markers.save_marker), name="positions"),
    path("preferences/", dispatch_by_method(POST=markers.save_reading_preference), name="preferences"),
    path("accounts/suggestions/", dispatch_by_method(GET=following.suggestions), name="suggestions"),
    path("accounts/settings/", dispatch_by_method(GET=settings_page, POST=save_profile), name="settings"),
    path("accounts/settings/avatar/", dispatch_by_method(POST=set_avatar), name="avatar"),
    path("accounts/settings/header/", dispatch_by_method(POST=set_header), name="header"),
    path("accounts/archive/", dispatch_by_method(GET=exporting.index, POST=exporting.start), name="archive"),
    path("accounts/archive/<id:transfer_id>/", dispatch_by_method(GET=exporting.download), name="archive-download"),
    path("accounts/import/", dispatch_by_method(GET=importing.index, POST=importing.upload), name="import"),
    *(
        path(f"accounts/import/<id:transfer_id>/{name}/", dispatch_by_method(POST=view), name=f"import-{name}")
        for name, view in (
            ("confirm", writing(importing.confirm)),
            ("undo", importing.undo),
            ("discard", importing.discard),
        )
    ),
    path("posts/", dispatch_by_method(POST=drafts.publish), name="publish"),
    path("compose/", dispatch_by_method(GET=posts.show_form), name="compose"),
    path("drafts/", limited("draft", drafts.save, GET=drafts.index), name="drafts"),
    path("drafts/<id:draft_id>/", dispatch_by_method(GET=drafts.show), name="draft"),
    path("drafts/<id:draft_id>/delete/", limited("draft", drafts.delete), name="draft-delete"),
    path("pictures/dialogs/", dispatch_by_method(GET=picture_dialogs), name="picture_dialogs"),
    path("posts/<id:post_id>/edit/", dispatch_by_method(GET=posts.show_edit_form, POST=posts.edit), name="edit"),
    path("posts/<id:post_id>/redraft/", dispatch_by_method(GET=posts.show_redraft_form), name="redraft"),
    path("posts/<id:post_id>/delete/", limited("delete", posts.delete), name="delete"),
    path("posts/<id:post_id>/like/", limited("like", writing(reactions.like)), name="like"),
    path("posts/<id:post_id>/unlike/", limited("like", reactions.unlike), name="unlike"),
    path("posts/<id:post_id>/boost/", dispatch_by_method(POST=reactions.boost), name="boost"),
    path("posts/<id:post_id>/unboost/", limited("like", reactions.unboost), name="unboost"),
    path("posts/<id:post_id>/bookmark/", limited("like", reactions.bookmark), name="bookmark"),
    path("posts/<id:post_id>/unbookmark/", limited("like", reactions.unbookmark), name="unbookmark"),
    path("posts/<id:post_id>/pin/", limited("like", writing(pins.pin)), name="pin"),
    path("posts/<id:post_id>/unpreview/", limited("like", previews.remove), name="unpreview"),
    path("posts/<id:post_id>/unpin/", limited("like", pins.unpin), name="unpin"),
    path("posts/<id:post_id>/mute/", limited("like", notifications.mute_thread), name="mute_thread"),
    path("posts/<id:post_id>/unmute/", limited("like", notifications.unmute_thread), name="unmute_thread"),
    path("posts/<id:post_id>/vote/", limited("like", writing(polls.vote)), name="vote"),
    path("posts/<id:post_id>/quote/", dispatch_by_method(GET=posts.show_quote_form), name="quote"),
    path("posts/<id:post_id>/quotes/", dispatch_by_method(GET=quotes.index), name="quotes"),
    path("posts/<id:post_id>/unquote/", limited("like", quotes.revoke), name="unquote"),
    path("bookmarks/", dispatch_by_method(GET=reactions.bookmarks), name="bookmarks"),
    path("media/", dispatch_by_method(POST=media.upload), name="media"),
    path("media/<id:media_id>/", dispatch_by_method(GET=media.show, POST=writing(media.describe)), name="media-item"),
    path("media/<id:media_id>/delete/", limited("delete", media.delete), name="media-delete"),
    path(
        "media/<media_name:name>/<media_size:size>.<media_extension:extension>",
        dispatch_by_method(GET=media.file),
        name="media-file",
    ),
    path("clicks/", dispatch_by_method(POST=view_counts.count_click), name="clicks"),
    path("@<handle:handle>/", dispatch_by_method(GET=redirect_date_queries(profiles.profile)), name="profile"),
    path("@<handle:handle>/followers/", dispatch_by_method(GET=profiles.followers), name="followers"),
    path("@<handle:handle>/following/", dispatch_by_method(GET=profiles.following), name="following"),
    path("@<handle:handle>/follow/", limited("follow", writing(following.follow)), name="follow"),
    path("@<handle:handle>/unfollow/", limited("follow", following.unfollow), name="unfollow"),
    path("@<handle:handle>/block/", limited("block", following.block, GET=following.confirm_block), name="block"),
    path("@<handle:handle>/unblock/", limited("block", following.unblock), name="unblock"),
    path("@<handle:handle>/mute/", limited("block", following.mute, GET=following.ask_mute_duration), name="mute"),
    path("@<handle:handle>/unmute/", limited("block", following.unmute), name="unmute"),
    path("@<handle:handle>/note/", limited("list", following.note), name="note"),
    path("@<handle:handle>/hide-boosts/", limited("block", following.hide_boosts), name="hide-boosts"),
    path("@<handle:handle>/show-boosts/", limited("block", following.show_boosts), name="show-boosts"),
    path("@<handle:handle>/remove-follower/", limited("block", following.remove_follower), name="remove-follower"),
    path("@<handle:handle>/accept/", limited("block", following.accept_follow_request), name="accept"),
    path("@<handle:handle>/refuse/", limited("block", following.refuse_follow_request), name="refuse"),
    path("accounts/requests/", dispatch_by_method(GET=following.list_follow_requests), name="requests"),
    path("accounts/blocked/", dispatch_by_method(GET=following.list_blocked), name="blocked"),
    path("accounts/muted/", dispatch_by_method(GET=following.list_muted), name="muted"),
    path("accounts/filters/", limited("list", filters.add, GET=filters.index), name="filters"),
    path("accounts/filters/<id:number>/edit/", limited("list", filters.edit), name="filter-edit"),
    path("accounts/filters/<id:number>/delete/", limited("list", filters.delete), name="filter-delete"),
    path("@<handle:handle>/feed.atom", dispatch_by_method(GET=feeds.account_atom), name="feed"),
    path("@<handle:handle>/<id:post_id>/", dispatch_by_method(GET=threads.show), name="post"),
    path("@<handle:handle>/<id:post_id>/history/", dispatch_by_method(GET=posts.show_history), name="history"),
    path("@<handle:handle>/<id:post_id>/likes/", dispatch_by_method(GET=reactions.likes), name="likes"),
    path("@<handle:handle>/<id:post_id>/boosts/", dispatch_by_method(GET=reactions.boosts), name="boosts"),
    path("notifications/", dispatch_by_method(GET=notifications.index), name="notifications"),
    path("notifications/read/", dispatch_by_method(POST=notifications.mark_read), name="notifications-read"),
    path("notifications/unread/", dispatch_by_method(GET=notifications.count_unread), name="notifications-unread"),
    path(
        "accounts/notifications/",
        dispatch_by_method(GET=notifications.show_settings, POST=notifications.edit_settings),
        name="notification-settings",
    ),
    path("accounts/notifications/device/", dispatch_by_method(GET=push.show, POST=push.save), name="device"),
    path("accounts/notifications/device/remove/", dispatch_by_method(POST=push.remove), name="device-remove"),
    path("tags/", dispatch_by_method(GET=redirect_date_queries(hashtags.followed_hashtags)), name="tags"),
    path("tags/trending/", dispatch_by_method(GET=hashtags.trending_hashtags), name="trending"),
    path("tags/<str:tag>/follow/", dispatch_by_method(POST=writing(hashtags.follow)), name="tag-follow"),
    path("tags/<str:tag>/unfollow/", dispatch_by_method(POST=hashtags.unfollow), name="tag-unfollow"),
    path("tags/<str:tag>/", dispatch_by_method(GET=redirect_date_queries(hashtags.show)), name="tag"),
    path("tags/<str:tag>/feed.atom", dispatch_by_method(GET=feeds.hashtag_atom), name="tag-feed"),
    path("reports/", dispatch_by_method(GET=reports.index), name="reports"),
    path("reports/new/", dispatch_by_method(GET=reports.show_form, POST=writing(reports.send)), name="report"),
    path("reports/sent/", dispatch_by_method(GET=reports.sent), name="report-sent"),
    path("explore/", dispatch_by_method(GET=search.redirect_to_search), name="explore"),
    path("search/", dispatch_by_method(GET=search.search), name="search"),
    path("search/complete/", dispatch_by_method(GET=search.autocomplete), name="complete"),
    path("@<handle:handle>/lists/", dispatch_by_method(GET=lists.choose_for_account), name="account-lists"),
    path("lists/", limited("list", lists.create, GET=public_lists.index), name="lists"),
    path("lists/tabs/", limited("list", tabs.change, GET=tabs.show), name="tabs"),
    path("lists/<id:list_id>/", dispatch_by_method(GET=redirect_date_queries(public_lists.show)), name="list"),
    path("lists/<id:list_id>/edit/", limited("list", lists.edit), name="list-edit"),
    path("lists/<id:list_id>/follow/", limited("follow", writing(public_lists.follow_all)), name="list-follow"),
    path("lists/<id:list_id>/unfollow/", limited("follow", public_lists.unfollow_all), name="list-unfollow"),
    path("lists/<id:list_id>/leave/", limited("list", public_lists.leave), name="list-leave"),
    path("lists/<id:list_id>/delete/", limited("list", lists.delete), name="list-delete"),
    path("lists/<id:list_id>/members/", limited("list", lists.add_member), name="list-members"),
    path("lists/<id:list_id>/members/remove/", limited("list", lists.remove_member), name="list-members-remove"),
]
