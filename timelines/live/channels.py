"""Timelines as a subscription names them: who may, what to listen to, how to read them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from accounts.accounts.service import AccountService
from accounts.domain import AccountId
from accounts.errors import AccountNotFound
from socialsite.ids import MAX_ID
from timelines.errors import ListNotFound
from timelines.hashtags.service import FollowedHashtagService
from timelines.ids import ListId
from timelines.lists.service import ListService
from timelines.live import frames
from timelines.live.service import home_member, list_member
from timelines.notifications.notification import NotificationPage
from timelines.notifications.service import NotificationService
from timelines.pages.page import TimelinePage
from timelines.reading.batch_hydration import ViewerContext
from timelines.reading.service import ReadingService
from timelines.text.token_scanner import normalize_tag
from timelines.visibility.rights import ViewContext

PageReader = Callable[..., Awaitable[TimelinePage | NotificationPage]]
"""A page of ReadingService or of notifications, all but `before`, `after` and `limit` given."""


PUBLIC_TOPIC = "public"
LIST_NAME_PREFIX = "list:"
"""Begins the names of lists."""


def home_topic(account_id: AccountId) -> str:
    """Topic of a home timeline; topics name timelines in memory, by id where clients say handles."""
    return f"home:{account_id}"


def profile_topic(account_id: AccountId) -> str:
    return f"profile:{account_id}"


def list_topic(list_id: ListId) -> str:
    return f"list:{list_id}"


def hashtag_topic(tag: str) -> str:
    """`tag` is normalized."""
    return f"tag:{tag}"


def notifications_topic(account_id: AccountId) -> str:
    return f"notifications:{account_id}"


class SubscriptionDenied(Exception):
    """This reader cannot have this timeline; `code` is the error's."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class Channel:
    """A timeline that its reader may have. `member`: what is present while it is open, for the publishers.

    `seat`: who reads it, and as what, so that live entries are judged as those of its pages.
    """

    topic: str
    presence_member: str | None
    read_page: PageReader
    viewer_context: ViewerContext
    leaf_list_ids: tuple[ListId, ...] = ()
    """Of a virtual list, the lists it comes down to: what is delivered to them may belong here."""
    hashtags: tuple[str, ...] = ()
    """Hashtags whose posts belong here."""

    @property
    def topics(self) -> tuple[str, ...]:
        """All it listens to."""
        return (self.topic, *map(list_topic, self.leaf_list_ids), *map(hashtag_topic, self.hashtags))

    @property
    def presence_members(self) -> tuple[str, ...]:
        """All that is present while it is open."""
        own = () if self.presence_member is None else (self.presence_member,)
        return (*own, *map(list_member, self.leaf_list_ids))


class ChannelResolver:
    """Finds the timeline of a name."""

    def __init__(
        self,
        reading: ReadingService,
        accounts: AccountService,
        lists: ListService,
        notifications: NotificationService,
        hashtags: FollowedHashtagService,
    ) -> None:
        self._reading = reading
        self._hashtags = hashtags
        self._notifications = notifications
        self._accounts = accounts
        self._lists = lists

    async def resolve(self, name: str, viewer_id: AccountId | None) -> Channel:
        """Raises Refused."""
        kind, _, rest = name.partition(":")
        if name == "public":
            page = partial(self._reading.public, viewer_id=viewer_id)
            return Channel(PUBLIC_TOPIC, None, page, ViewerContext(viewer_id, ViewContext.PUBLIC))
        if name == "home":
            return self._home_channel(_require_signed_in(viewer_id))
        if kind == "profile" and rest:
            return await self._profile_channel(rest, viewer_id)
        if kind == "list" and rest.isascii() and rest.isdigit() and 0 < int(rest[:17]) <= MAX_ID:
            return await self._list_channel(ListId(int(rest)), _require_signed_in(viewer_id))
        if kind == "tag" and (tag := normalize_tag(rest)) is not None:
            page = partial(self._reading.tag, tag, viewer_id=viewer_id)
            return Channel(hashtag_topic(tag), None, page, ViewerContext(viewer_id, ViewContext.TAG))
        if name == "tags":
            return await self._followed_hashtags_channel(_require_signed_in(viewer_id))
        if name == "notifications":
            return self._notifications_channel(_require_signed_in(viewer_id))
        raise SubscriptionDenied(frames.BAD_MESSAGE)

    def _home_channel(self, viewer_id: AccountId) -> Channel:
        page = partial(self._reading.home, viewer_id)
        seat = ViewerContext(viewer_id, ViewContext.HOME, self._reading.home_rights(viewer_id))
        return Channel(home_topic(viewer_id), home_member(viewer_id), page, seat)

    async def _followed_hashtags_channel(self, viewer_id: AccountId) -> Channel:
        """Of the hashtags that are followed now; who follows others subscribes anew."""
        tags = await self._hashtags.followed(viewer_id)
        page = partial(self._reading.tags, tags, viewer_id=viewer_id)
        seat = ViewerContext(viewer_id, ViewContext.TAG)
        return Channel(f"tags:{viewer_id}", None, page, seat, hashtags=tuple(tags))

    def _notifications_channel(self, viewer_id: AccountId) -> Channel:
        page = partial(self._notifications.timeline, viewer_id)
        seat = ViewerContext(viewer_id, ViewContext.NOTIFICATION)
        return Channel(notifications_topic(viewer_id), home_member(viewer_id), page, seat)

    async def _profile_channel(self, handle: str, viewer_id: AccountId | None) -> Channel:
        try:
            account = await self._accounts.get_by_handle(handle)
        except AccountNotFound:
            raise SubscriptionDenied(frames.FORBIDDEN) from None
        account_id = AccountId(account.id)
        page = partial(self._reading.profile, account_id, viewer_id=viewer_id)
        return Channel(profile_topic(account_id), None, page, ViewerContext(viewer_id, ViewContext.PROFILE))

    async def _list_channel(self, list_id: ListId, viewer_id: AccountId) -> Channel:
        try:
            found = await self._lists.get(owner_id=viewer_id, list_id=list_id)
        except ListNotFound:
            raise SubscriptionDenied(frames.FORBIDDEN) from None
        rule = await self._lists.rule(found)
        page = partial(self._reading.list_timeline, list_id, viewer_id=viewer_id)
        seat = ViewerContext(viewer_id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)
        parts = () if rule.expression is None else rule.leaves
        return Channel(list_topic(list_id), list_member(list_id), page, seat, parts)


def _require_signed_in(viewer_id: AccountId | None) -> AccountId:
    if viewer_id is None:
        raise SubscriptionDenied(frames.SIGNED_OUT)
    return viewer_id
