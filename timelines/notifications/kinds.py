"""The kinds of notifications. Each kind is declared here, and pages, API, push, mail and preferences read it.

docs/reference/decisions/notification-kinds.md says what a declaration decides, and what else a new kind needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from socialsite.batches import group_by
from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from timelines import keys

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as LazyText

NotificationPreference = Literal["all", "followed", "none"]
PREFERENCES: Final[tuple[NotificationPreference, ...]] = get_args(NotificationPreference)
"""The choices for each kind: actions of all accounts, of followed accounts, or of no account notify the reader."""

Cause = Callable[[AccountId, AccountId, PostId], tuple[Key, AccountId]]
"""Reader, actor and post -> the ZSET and the member that is absent if the cause was undone."""

KINDS: Final[dict[str, "NotificationKind"]] = {}
"""Every declared kind by its name, in the order of the preferences and of the lines of a digest."""


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class NotificationKind:
    """A kind of notification. A declaration adds itself to KINDS, and raises ValueError if it is not complete."""

    name: str
    """The name in stored notifications, in JSON, and of the preference."""
    api_type: str = ""
    """The type in the API. Only pages, mail and the site's own push messages show a kind without a type."""
    icon: str
    """The id of a symbol of static/icons.svg."""
    label: "LazyText"
    """The name of the preference."""
    digest_label: "LazyText | None" = None
    """The beginning of the line in a digest, if it is not the label."""
    text: "LazyText"
    """What one account, `%(name)s`, did."""
    text_for_several: "LazyText | None" = None
    """What `%(name)s` and `%(count)d` other accounts did."""
    text_about: "LazyText | None" = None
    """The text on pages if the notification has a report; `%(name)s` is the account that the report is about."""
    link: "tuple[str, LazyText] | None" = None
    """The path and the text of a link below the text."""
    is_request: bool = False
    """Rows have buttons to accept and to decline the request of the account."""

    actor: Literal["other", "any", "reader"] = "other"
    """The account that causes it: another account, any account, or only the reader."""
    has_post: bool = True
    """It is shown only while the reader may see its post. False if `post_id` is the id of something else, or None."""
    cause: Cause | None = None
    """What has to exist besides the post, so that the notification is shown."""
    needs_follow: bool = False
    """It is shown only while the account follows the reader."""
    hides_private_actor: bool = False
    """Only followers of a private account see it."""

    is_mention: bool = False
    """It is listed in the Mentions tab, and rows show the whole post."""
    is_urgent: bool = False
    """Push services deliver it at once, also to a device that saves power."""
    repeats: Literal["never", "daily", "always"] = "never"
    """Whether a cause that was undone and repeated notifies again: after a day, or at once, as in Mastodon."""
    group_by: Literal["post", "answered post"] | None = None
    """Notifications of half a day about the same post, or without a post, are one row of the page."""
    is_grouped_in_api: bool = False
    """Clients get the same groups. They expect them only of types that Mastodon groups."""
    default: NotificationPreference = "all"
    """The preference of accounts that chose none."""

    def __post_init__(self) -> None:
        if self.name in KINDS or not self.name.isidentifier():
            raise ValueError(f"the name {self.name!r} of a kind is not valid, or is used twice")
        if self.group_by and self.actor != "reader" and self.text_for_several is None:
            raise ValueError(f"the kind {self.name!r} is grouped, and has no text for several accounts")
        if self.is_grouped_in_api and not (self.api_type and self.group_by):
            raise ValueError(f"the kind {self.name!r} is grouped in the API only")
        KINDS[self.name] = self

    def describe(self, name: str, others: int = 0) -> str:
        """Return what an account, and `others` more accounts, did, in the active language."""
        text = self.text_for_several if others and self.text_for_several else self.text
        return text % {"name": name, "count": others}


def kinds_by_api_type() -> dict[str, list[NotificationKind]]:
    return group_by((kind for kind in KINDS.values() if kind.api_type), lambda kind: kind.api_type)


def _boost_by_actor(reader_id: AccountId, actor_id: AccountId, post_id: PostId) -> tuple[Key, AccountId]:
    return keys.boosts(post_id), actor_id


def _boost_by_reader(reader_id: AccountId, actor_id: AccountId, post_id: PostId) -> tuple[Key, AccountId]:
    return keys.boosts(post_id), reader_id


def _like(reader_id: AccountId, actor_id: AccountId, post_id: PostId) -> tuple[Key, AccountId]:
    return keys.likes(post_id), actor_id


def _follow_request(reader_id: AccountId, actor_id: AccountId, post_id: PostId) -> tuple[Key, AccountId]:
    return keys.follow_requests(reader_id), actor_id


MENTION: Final = NotificationKind(
    name="mention", api_type="mention", icon="notifications", is_mention=True, is_urgent=True,
    label=_("Mentions"), text=_("%(name)s mentioned you"),
)  # fmt: skip
REPLY: Final = NotificationKind(
    name="reply", api_type="mention", icon="reply", is_mention=True, is_urgent=True, group_by="answered post",
    label=_("Replies"), text=_("%(name)s replied to you"),
    text_for_several=ngettext_lazy(
        "%(name)s and %(count)d other replied to you", "%(name)s and %(count)d others replied to you", "count"
    ),
)  # fmt: skip
QUOTE: Final = NotificationKind(
    name="quote", api_type="quote", icon="quote", is_mention=True, is_urgent=True,
    label=_("Quotes of your posts"), digest_label=_("Quotes"), text=_("%(name)s quoted your post"),
)  # fmt: skip
BOOST: Final = NotificationKind(
    name="boost", api_type="reblog", icon="boost", group_by="post", is_grouped_in_api=True,
    cause=_boost_by_actor, hides_private_actor=True, repeats="daily",
    label=_("Boosts of your posts"), digest_label=_("Boosts"), text=_("%(name)s boosted your post"),
    text_for_several=ngettext_lazy(
        "%(name)s and %(count)d other boosted your post", "%(name)s and %(count)d others boosted your post", "count"
    ),
)  # fmt: skip
LIKE: Final = NotificationKind(
    name="like", api_type="favourite", icon="like", group_by="post", is_grouped_in_api=True,
    cause=_like, repeats="daily",
    label=_("Likes of your posts"), digest_label=_("Likes"), text=_("%(name)s liked your post"),
    text_for_several=ngettext_lazy(
        "%(name)s and %(count)d other liked your post", "%(name)s and %(count)d others liked your post", "count"
    ),
)  # fmt: skip
FOLLOW: Final = NotificationKind(
    name="follow", api_type="follow", icon="follow", group_by="post", is_grouped_in_api=True,
    has_post=False, needs_follow=True, repeats="always",
    label=_("New followers"), text=_("%(name)s follows you"),
    text_for_several=ngettext_lazy(
        "%(name)s and %(count)d other follow you", "%(name)s and %(count)d others follow you", "count"
    ),
)  # fmt: skip
REQUEST: Final = NotificationKind(
    name="request", api_type="follow_request", icon="follow", is_urgent=True, group_by="post",
    has_post=False, cause=_follow_request, repeats="always",
    label=_("Requests to follow you"), digest_label=_("Follow requests"), text=_("%(name)s wants to follow you"),
    text_for_several=ngettext_lazy(
        "%(name)s and %(count)d other want to follow you", "%(name)s and %(count)d others want to follow you", "count"
    ),
    is_request=True, link=("/accounts/requests/", _("Answer requests")),
)  # fmt: skip
POLL: Final = NotificationKind(
    name="poll", api_type="poll", icon="poll", actor="any",
    label=_("Ends of polls that you wrote or voted in"), digest_label=_("Ended polls"),
    text=_("A poll by %(name)s has ended"),
)  # fmt: skip
UPDATE: Final = NotificationKind(
    name="update", api_type="update", icon="compose", cause=_boost_by_reader, repeats="always",
    label=_("Edits of posts that you boosted"), text=_("%(name)s edited a post that you boosted"),
)  # fmt: skip
QUOTED_UPDATE: Final = NotificationKind(
    name="quoted_update", api_type="quoted_update", icon="compose", repeats="always",
    label=_("Edits of posts that you quoted"), text=_("%(name)s edited a post that you quoted"),
)  # fmt: skip
DRAFT: Final = NotificationKind(
    name="draft", icon="compose", actor="reader", has_post=False, repeats="daily",
    label=_("Scheduled posts that could not be published"),
    digest_label=_("Scheduled posts that were not published"),
    text=_("A scheduled post could not be published"), link=("/drafts/", _("Drafts and scheduled posts")),
)  # fmt: skip
REPORT_CLOSED: Final = NotificationKind(
    name="report_closed", icon="check", actor="reader", has_post=False,
    label=_("Outcomes of your reports"), text=_("Your report was looked at"),
    text_about=_("Your report about %(name)s was looked at"),
    link=("/reports/", _("Your reports")),
)  # fmt: skip
ARCHIVE: Final = NotificationKind(
    name="archive", icon="download", actor="reader", has_post=False, group_by="post",
    label=_("Your archive is ready"), text=_("Your archive is ready"),
    link=("/accounts/archive/", _("Download the archive")),
)  # fmt: skip
IMPORT: Final = NotificationKind(
    name="import", icon="check", actor="reader", has_post=False, group_by="post",
    label=_("Your import is finished"), text=_("Your import is finished"),
    link=("/accounts/import/", _("See the import")),
)  # fmt: skip
