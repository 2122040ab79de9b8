"""The JSON that pages and actions answer. It is frozen (docs/reference/decisions/own-json.md).

A new page or action has no JSON: programs use the client API. `make tables` writes the table of interface.md. Tests
compare the declarations with the views, and with each answer that they get.
"""

from typing import NamedTuple

ENTITIES = {
    "Post": "id url author text html created_at in_reply_to boost_of counts viewer audience ...",
    "Picture": "id type name url preview_url description blurhash meta",
    "List": "id title members replies exclusive operation parts missing",
    "Draft": "id params saved_at scheduled_at error held",
    "Filter": "id phrase action whole_word expires_at",
    "Import": "id state name content done total counts refused error size changed_at expires_at",
    "Report": "id account posts category rules comment outcome created_at closed_at",
    "Case": "account decisions counts last_seen mail application sharing_networks sessions apps",
    "Site": "from_environment ...",
}
"""The members of objects that several addresses answer. Post and Site also have the fields that are declared."""


class OwnJson(NamedTuple):
    """The members of an answer, and the addresses that answer it to GET and to POST.

    A name with "?" may be absent, "..." stands for further members, and a capital begins one of the ENTITIES.
    """

    members: str
    get: str = ""
    post: str = ""


RELATIONS = "follow unfollow block unblock mute unmute note hide-boosts show-boosts remove-follower accept refuse"
REACTIONS = "edit like unlike boost unboost bookmark unbookmark pin unpin mute unmute unquote"
OWN_JSON = (
    # Posts and timelines
    OwnJson("posts next previous", "/ /public/ /tags/<tag>/ /bookmarks/ /posts/<id>/quotes/"),
    OwnJson("posts next previous account viewer pinned?", "/@<handle>/"),
    OwnJson("posts next previous list members", "/lists/<id>/"),
    OwnJson("posts next previous tags", "/tags/"),
    OwnJson("posts next previous accounts tags similar", "/search/"),
    OwnJson("Post parent ancestors replies next quotes_count quote_approval", "/@<handle>/<id>/"),
    OwnJson("Post", post=f"/posts/ {' '.join(f'/posts/<id>/{name}/' for name in REACTIONS.split())}"),
    OwnJson("Post thread message", post="/posts/"),
    OwnJson("held message", post="/posts/"),
    OwnJson("Draft", post="/posts/ /drafts/"),
    OwnJson("drafts", "/drafts/"),
    OwnJson("versions", "/@<handle>/<id>/history/"),
    OwnJson("id text version ...", "/posts/<id>/edit/"),
    OwnJson("redraft_of text version ...", "/posts/<id>/redraft/"),
    OwnJson("quoted_status_id", "/posts/<id>/quote/"),
    OwnJson("poll html", post="/posts/<id>/vote/"),
    OwnJson("id", post="/posts/<id>/unpreview/"),
    OwnJson("deleted", post="/posts/<id>/delete/ /media/<id>/delete/"),
    OwnJson("Picture", "/media/<id>/", "/media/ /media/<id>/"),
    OwnJson("timeline post", post="/positions/"),
    OwnJson("scroll", post="/preferences/"),
    OwnJson("dismissed", post="/announcements/<id>/dismiss/"),
    # Accounts, hashtags and lists
    OwnJson(
        "accounts next",
        "/@<handle>/followers/ /@<handle>/following/ /@<handle>/<id>/likes/ /@<handle>/<id>/boosts/ "
        "/accounts/blocked/ /accounts/muted/ /accounts/requests/ /accounts/suggestions/ /ops/accounts/",
    ),
    OwnJson("following followers requested?", post=" ".join(f"/@<handle>/{name}/" for name in RELATIONS.split())),
    OwnJson("following", post="/tags/<tag>/follow/ /tags/<tag>/unfollow/"),
    OwnJson("tags", "/tags/trending/ /search/complete/"),
    OwnJson("accounts", "/search/complete/"),
    OwnJson("lists next", "/lists/"),
    OwnJson("lists", "/@<handle>/lists/"),
    OwnJson("List", post="/lists/ /lists/<id>/edit/ /lists/<id>/members/ /lists/<id>/members/remove/"),
    OwnJson("notifications next", "/notifications/"),
    OwnJson("unread", "/notifications/unread/", "/notifications/read/"),
    OwnJson("reports next", "/reports/"),
    OwnJson("account posts rules categories", "/reports/new/"),
    OwnJson("Report", post="/reports/new/"),
    # The viewer's account
    OwnJson(
        "account",
        "/accounts/ /accounts/settings/",
        "/accounts/settings/ /accounts/signup/ /accounts/login/ /accounts/login/factor/ /accounts/login/passkey/",
    ),
    OwnJson("avatar", post="/accounts/settings/avatar/"),
    OwnJson("header", post="/accounts/settings/header/"),
    OwnJson("fields", post="/accounts/signup/check/"),
    OwnJson("waiting", post="/accounts/signup/"),
    OwnJson("handle state refusal", "/accounts/waiting/"),
    OwnJson("step", "/welcome/profile/ /welcome/people/ /welcome/post/"),
    OwnJson("next", post="/welcome/profile/ /welcome/people/ /welcome/post/"),
    OwnJson("invitations", "/accounts/invitations/"),
    OwnJson("url", post="/accounts/invitations/"),
    OwnJson("has_totp has_passkey", "/accounts/login/factor/"),
    OwnJson("publicKey ...", post="/accounts/login/options/ /accounts/passkeys/"),
    OwnJson("secret uri setup", "/accounts/factors/totp/"),
    OwnJson("recovery_codes", post="/accounts/factors/totp/ /accounts/factors/codes/ /accounts/passkeys/"),
    OwnJson("factors sessions apps browsers events", "/accounts/security/"),
    OwnJson("sessions apps", "/accounts/sessions/"),
    OwnJson("address pending digest mails", "/accounts/mail/"),
    OwnJson("pending", post="/accounts/mail/"),
    OwnJson("digest", post="/accounts/mail/digest/"),
    OwnJson("address", post="/accounts/mail/confirm/"),
    OwnJson("notifications", *["/accounts/notifications/"] * 2),
    OwnJson("device text public_key", *["/accounts/notifications/device/"] * 2),
    OwnJson("device", post="/accounts/notifications/device/remove/"),
    OwnJson("open_warnings language languages quote_policy show_replies", *["/accounts/preferences/"] * 2),
    OwnJson("language? theme? descriptions?", *["/display/"] * 2),
    OwnJson("filters", "/accounts/filters/"),
    OwnJson("Filter", post="/accounts/filters/ /accounts/filters/<id>/edit/"),
    OwnJson("archive", *["/accounts/archive/"] * 2),
    OwnJson("imports", "/accounts/import/"),
    OwnJson("Import", post="/accounts/import/ /accounts/import/<id>/confirm/ /accounts/import/<id>/undo/"),
    OwnJson("decisions", "/accounts/sanctions/"),
    OwnJson("decision", post="/accounts/sanctions/"),
    OwnJson(
        "",
        "/accounts/confirm/ /accounts/delete/ /accounts/login/ /accounts/passkeys/ /accounts/password/ "
        "/accounts/reset/ /accounts/reset/confirm/ /accounts/signup/ /invite/<code>/",
        "/accounts/confirm/ /accounts/delete/ /accounts/logout/ /accounts/password/ /accounts/sessions/ "
        "/accounts/security/ /accounts/factors/remove/ /accounts/invitations/end/ /accounts/waiting/ "
        "/accounts/mail/remove/ /accounts/mail/unsubscribe/ /accounts/reset/ /accounts/reset/confirm/ "
        "/accounts/filters/<id>/delete/ /accounts/import/<id>/discard/ /drafts/ /drafts/<id>/delete/ /posts/ "
        "/posts/<id>/unquote/ /lists/<id>/delete/ /welcome/ /ops/reports/<id>/claim/",
    ),
    # The site
    OwnJson("accounts? posts_today? active_today? active_month? version contact staff", "/about/"),
    OwnJson("rules", "/rules/"),
    OwnJson("content", "/privacy/ /terms/"),
    OwnJson("status", "/livez /health"),
    OwnJson("status version components outbox queues archive", "/readyz"),
    # Staff
    OwnJson("alerts at activity processes outbox queues fan_outs nodes slow memory drift disk", "/ops/"),
    OwnJson("range totals points latency refusals errors active busiest", "/ops/statistics/"),
    OwnJson("alerts told_by summary", "/ops/alerts/"),
    OwnJson("told_by summary", post="/ops/alerts/"),
    OwnJson("entries next", "/ops/trail/"),
    OwnJson("letters next", "/ops/deadletters/"),
    OwnJson("retried", post="/ops/deadletters/retry/"),
    OwnJson("dropped", post="/ops/deadletters/drop/"),
    OwnJson(
        "Case",
        "/ops/accounts/<id>/",
        "/ops/accounts/<id>/suspend/ /ops/accounts/<id>/reinstate/ /ops/accounts/<id>/sessions/end/",
    ),
    OwnJson(
        "decision",
        post="/ops/accounts/<id>/act/ /ops/accounts/<id>/sanctions/<id>/undo/ "
        "/ops/accounts/<id>/sanctions/<id>/decide/",
    ),
    OwnJson("password", post="/ops/accounts/<id>/password/"),
    OwnJson("appeals next", "/ops/appeals/"),
    OwnJson("applications next", "/ops/applications/"),
    OwnJson("posts next", "/ops/held/"),
    OwnJson("decided errors", post="/ops/applications/ /ops/held/"),
    OwnJson("account inviters invitations next", "/ops/invitations/<id>/"),
    OwnJson("accounts reports next", "/ops/reports/"),
    OwnJson("Report reporter closed_by claim reports_about reports_by", "/ops/reports/<id>/"),
    OwnJson("closed", post="/ops/reports/<id>/close/"),
    OwnJson("announcements", "/ops/announcements/", "/ops/announcements/ /ops/announcements/remove/"),
    OwnJson("staff", *["/ops/staff/"] * 2),
    OwnJson("tags held_accounts held_posts held_lists next", "/ops/trends/"),
    OwnJson("held_hashtags? allowed_hashtags? held_accounts? held_posts? held_lists?", post="/ops/trends/"),
    OwnJson("Site", "/ops/site/", "/ops/site/ /ops/site/logo/"),
)
