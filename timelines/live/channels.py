"""Channels: the timelines that a socket can subscribe to, each with its access check, topics and pages."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.ids import MAX_ID, AccountId
from socialsite.service import Service
from timelines.errors import ListNotFound
from timelines.hashtags.service import FollowedHashtagService
from timelines.ids import ListId
from timelines.lists.service import ListService
from timelines.live import socket_messages
from timelines.live_updates.service import home_member, list_member
from timelines.notifications.notification import NotificationPage
from timelines.notifications.service import NotificationService
from timelines.pages.page import WITHOUT_REPLIES, HydratedPost, PostSelection, TimelinePage
from timelines.reading.service import ReadingService
from timelines.reading.viewer_rights import ViewerContext
from timelines.text.token_scanner import normalize_tag
from timelines.visibility.rights import ViewContext

PageReader = Callable[..., Awaitable[TimelinePage | NotificationPage]]
"""A function that reads one page of a timeline. It takes `before`, `after` and `limit` as keywords."""

PUBLIC_TOPIC = "public"
PUBLIC_SELECTIONS = {"public": None, "public:posts": WITHOUT_REPLIES}
"""The names of the public timeline with and without replies to other accounts."""
LIST_NAME_PREFIX = "list:"
"""The prefix of the names of list timelines in client messages."""


def home_topic(account_id: AccountId) -> str:
    """Return the topic of a home timeline.

    Topics contain account ids, while the names that clients send have handles.
    """
    return f"home:{account_id}"


def profile_topic(account_id: AccountId) -> str:
    return f"profile:{account_id}"


def list_topic(list_id: ListId) -> str:
    return f"list:{list_id}"


def hashtag_topic(tag: str) -> str:
    """Return the topic of a hashtag timeline. `tag` must be normalized."""
    return f"tag:{tag}"


def notifications_topic(account_id: AccountId) -> str:
    return f"notifications:{account_id}"


class SubscriptionDenied(Exception):
    """The reader may not subscribe to the timeline. `code` is the error code for the client."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class Channel:
    """A timeline that its reader may see.

    While the channel is open, `presence_member` is registered for this process, so that publishers send messages here.
    `viewer_context` applies the visibility rules of the timeline's pages to live entries.
    """

    topic: str
    presence_member: str | None
    read_page: PageReader
    viewer_context: ViewerContext
    leaf_list_ids: tuple[ListId, ...] = ()
    """The lists that a virtual list consists of. Posts that are delivered to these lists may belong to this channel."""
    hashtags: tuple[str, ...] = ()
    """Hashtags whose posts belong to this channel."""
    selection: PostSelection | None = None
    """The posts that the channel shows, or None for all posts that the viewer may see."""

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic, *map(list_topic, self.leaf_list_ids), *map(hashtag_topic, self.hashtags))

    def includes(self, entry: HydratedPost) -> bool:
        return self.selection is None or self.selection.includes(entry)

    @property
    def presence_members(self) -> tuple[str, ...]:
        """All members that are online while the channel is open."""
        own_member = () if self.presence_member is None else (self.presence_member,)
        return (*own_member, *map(list_member, self.leaf_list_ids))


class ChannelResolver(Service):
    """Finds the channel of a timeline name."""

    reading: ReadingService
    accounts: AccountService
    lists: ListService
    notifications: NotificationService
    hashtags: FollowedHashtagService

    async def resolve(self, name: str, viewer_id: AccountId | None) -> Channel:
        """Return the channel of a name such as "profile:alice". Raises SubscriptionDenied."""
        kind, _, rest = name.partition(":")
        if name in PUBLIC_SELECTIONS:
            selection = PUBLIC_SELECTIONS[name]
            read_page = partial(self.reading.public, viewer_id=viewer_id, selection=selection)
            viewer_context = ViewerContext(viewer_id, ViewContext.PUBLIC)
            return Channel(PUBLIC_TOPIC, None, read_page, viewer_context, selection=selection)
        if name == "home":
            return self._home_channel(_require_signed_in(viewer_id))
        if kind == "profile" and rest:
            return await self._profile_channel(rest, viewer_id)
        if kind == "list" and rest.isascii() and rest.isdigit() and len(rest) < 17 and 0 < int(rest) <= MAX_ID:
            return await self._list_channel(ListId(int(rest)), _require_signed_in(viewer_id))
        if kind == "tag" and (tag := normalize_tag(rest)) is not None:
            read_page = partial(self.reading.tag, tag, viewer_id=viewer_id)
            return Channel(hashtag_topic(tag), None, read_page, ViewerContext(viewer_id, ViewContext.HASHTAG))
        if name == "tags":
            return await self._followed_hashtags_channel(_require_signed_in(viewer_id))
        if name == "notifications":
            return self._notifications_channel(_require_signed_in(viewer_id))
        raise SubscriptionDenied(socket_messages.BAD_MESSAGE)

    def _home_channel(self, viewer_id: AccountId) -> Channel:
        read_page = partial(self.reading.home, viewer_id)
        viewer_context = ViewerContext(viewer_id, ViewContext.HOME, self.reading.home_rights(viewer_id))
        return Channel(home_topic(viewer_id), home_member(viewer_id), read_page, viewer_context)

    async def _followed_hashtags_channel(self, viewer_id: AccountId) -> Channel:
        """Return the channel of the followed hashtags, which are read once.

        The client subscribes again after it follows another hashtag.
        """
        tags = await self.hashtags.followed(viewer_id)
        read_page = partial(self.reading.tags, tags, viewer_id=viewer_id)
        viewer_context = ViewerContext(viewer_id, ViewContext.HASHTAG)
        return Channel(f"tags:{viewer_id}", None, read_page, viewer_context, hashtags=tuple(tags))

    def _notifications_channel(self, viewer_id: AccountId) -> Channel:
        read_page = partial(self.notifications.page, viewer_id)
        viewer_context = ViewerContext(viewer_id, ViewContext.NOTIFICATION)
        return Channel(notifications_topic(viewer_id), home_member(viewer_id), read_page, viewer_context)

    async def _profile_channel(self, handle: str, viewer_id: AccountId | None) -> Channel:
        try:
            account = await self.accounts.get_by_handle(handle)
        except AccountNotFound:
            raise SubscriptionDenied(socket_messages.FORBIDDEN) from None
        account_id = AccountId(account.id)
        read_page = partial(self.reading.profile, account_id, viewer_id=viewer_id)
        return Channel(profile_topic(account_id), None, read_page, ViewerContext(viewer_id, ViewContext.PROFILE))

    async def _list_channel(self, list_id: ListId, viewer_id: AccountId) -> Channel:
        try:
            account_list = await self.lists.get(owner_id=viewer_id, list_id=list_id)
        except ListNotFound:
            raise SubscriptionDenied(socket_messages.FORBIDDEN) from None
        rule = await self.lists.rule(account_list)
        read_page = partial(self.lists.read_timeline, list_id, viewer_id=viewer_id)
        viewer_context = ViewerContext(viewer_id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)
        leaf_list_ids = () if rule.expression is None else rule.leaves
        return Channel(list_topic(list_id), list_member(list_id), read_page, viewer_context, leaf_list_ids)


def _require_signed_in(viewer_id: AccountId | None) -> AccountId:
    if viewer_id is None:
        raise SubscriptionDenied(socket_messages.SIGNED_OUT)
    return viewer_id
