"""The sockets of this process, indexed in memory by topic, account and watched post, and counted by address."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from socialsite.ids import AccountId, PostId
from socialsite.limits import address_factors
from socialsite.recipes.rate_limit import Identifier
from socialsite.web.socket_writer import SocketWriter, TextFrame
from timelines.live.channels import Channel
from timelines.live.frames import PAGE_FRAMES, FrameEncoder
from timelines.visibility.rights import ViewContext

K = TypeVar("K")
V = TypeVar("V")

MAX_REMEMBERED_DELETIONS = 10_000
"""The number of recent deletions in memory. It exceeds the number of deletions during the slowest replay."""
MAX_REMEMBERED_SENT_POSTS = 1_000
"""The number of recently sent posts in memory, with their topics. New counts are sent to the same topics."""
MAX_QUEUED_ENTRIES = 100
"""The number of live entries that may wait for the end of a replay. If more arrive, the replay is repeated."""
MAX_REMEMBERED_SENT_IDS = 200
"""The number of ids that a subscription of an API client remembers, so that a replay sends no entry again."""


class Subscription:
    """One timeline on one socket.

    `name` is the name in messages of the client, `timeline` the name that ChannelResolver knows.
    `queue` contains the live entries that wait for the end of a replay. It is None while the subscription is live.
    `channel` is None until access to the timeline was checked.
    """

    __slots__ = (
        "after",
        "channel",
        "last_id",
        "name",
        "needs_replay",
        "presence_members",
        "queue",
        "sent_ids",
        "socket",
        "task",
        "timeline",
    )

    def __init__(
        self, socket: "LiveSocket", name: str, after: PostId | None = None, *, timeline: str | None = None
    ) -> None:
        self.socket = socket
        self.name = name
        self.timeline = timeline or name
        self.sent_ids: deque[PostId] | None = None if socket.encoder.is_page else deque(maxlen=MAX_REMEMBERED_SENT_IDS)
        self.after = after
        self.channel: Channel | None = None
        self.presence_members: list[str] = []
        self.last_id = PostId(0)
        self.queue: deque[tuple[PostId, TextFrame]] | None = deque()
        self.needs_replay = False
        self.task: asyncio.Task[None] | None = None

    @property
    def resume_after(self) -> PostId | None:
        """The id after which a repeated subscription starts: the last id that was sent, or the client's `after`."""
        return self.last_id if self.queue is None else self.last_id or self.after

    def send_or_queue(self, post_id: PostId, frame: TextFrame) -> None:
        """Send a live entry, or queue it during a replay.

        A page ignores an entry that it has, but an API client may not, so it gets no entry twice.
        """
        if self.queue is None:
            self.last_id = max(self.last_id, post_id)
            if self.sent_ids is None or self.remember(post_id):
                self.socket.writer.send(frame)
        elif len(self.queue) < MAX_QUEUED_ENTRIES:
            self.queue.append((post_id, frame))
        else:
            self.queue.clear()
            self.needs_replay = True

    def remember(self, post_id: PostId) -> bool:
        """Remember an id that is sent. Returns False if an API client has got it before."""
        if self.sent_ids is not None:
            if post_id in self.sent_ids:
                return False
            self.sent_ids.append(post_id)
        return True

    def pause(self) -> None:
        """Queue live entries until a replay has sent the missed entries."""
        if self.queue is None:
            self.queue = deque()
        else:
            self.needs_replay = True

    def resume(self, is_obsolete: Callable[[PostId], bool]) -> None:
        """Send the queued entries that are not obsolete; later entries are sent immediately.

        It is called after a replay.
        """
        queued_entries, self.queue = self.queue or (), None
        for post_id, frame in queued_entries:
            if not is_obsolete(post_id):
                self.send_or_queue(post_id, frame)


class LiveSocket:
    """An accepted websocket and its reader. `session_id` is a hex digest, or None for a visitor."""

    __slots__ = (
        "account_id", "address", "encoder", "language", "session_id", "subscriptions", "watched_post_ids", "writer",
    )  # fmt: skip

    def __init__(
        self,
        writer: SocketWriter,
        account_id: AccountId | None,
        session_id: str | None,
        language: str,
        encoder: FrameEncoder = PAGE_FRAMES,
        address: str = "",
    ) -> None:
        self.writer = writer
        self.address = address
        self.encoder = encoder
        self.account_id = account_id
        self.session_id = session_id
        self.language = language
        self.subscriptions: dict[str, Subscription] = {}
        self.watched_post_ids: frozenset[PostId] = frozenset()

    def replay_queued(self) -> None:
        """Repeat the running replays, because their queued entries were checked with outdated relations."""
        for subscription in self.subscriptions.values():
            if subscription.queue is not None:
                subscription.queue.clear()
                subscription.needs_replay = True


class SocketRegistry:
    """Finds the sockets of this process by topic, account or watched post."""

    def __init__(self) -> None:
        self.sockets: dict[LiveSocket, None] = {}
        self.api_sockets: dict[LiveSocket, None] = {}
        """The sockets of API clients. `sockets` contains them, too."""
        self._subscriptions_by_topic: dict[str, dict[Subscription, None]] = {}
        self._sockets_by_account: dict[AccountId, dict[LiveSocket, None]] = {}
        self._sockets_by_address: Counter[Identifier] = Counter()
        self._sockets_by_watched_post: dict[PostId, dict[LiveSocket, None]] = {}
        self._deleted_ids: OrderedDict[PostId, None] = OrderedDict()
        self._topics_by_sent_post: OrderedDict[PostId, set[str]] = OrderedDict()
        self._version_by_account: dict[AccountId, int] = {}
        self.relation_version = 0
        """The number of changes to relations of accounts that have a socket in this process."""

    def has_room(self, address: str, limit: int) -> bool:
        factors = address_factors(address).items()
        return all(self._sockets_by_address[each] < limit * factor for each, factor in factors)

    def add(self, socket: LiveSocket) -> None:
        self.sockets[socket] = None
        self._sockets_by_address.update(address_factors(socket.address).keys())
        if not socket.encoder.is_page:
            self.api_sockets[socket] = None
        if socket.account_id is not None:
            self._sockets_by_account.setdefault(socket.account_id, {})[socket] = None

    def remove(self, socket: LiveSocket) -> None:
        """Remove a socket. The call may be repeated."""
        if socket in self.sockets:
            del self.sockets[socket]
            for identifier in address_factors(socket.address):
                self._sockets_by_address[identifier] -= 1
                if not self._sockets_by_address[identifier]:
                    del self._sockets_by_address[identifier]
        self.api_sockets.pop(socket, None)
        if socket.account_id is not None:
            _remove_from_index(self._sockets_by_account, socket.account_id, socket)
            if socket.account_id not in self._sockets_by_account:
                self._version_by_account.pop(socket.account_id, None)
        self.set_watched_posts(socket, ())

    def invalidate_relations(self, *account_ids: AccountId) -> None:
        """Record that relations of these accounts changed, so that they get no entries that were hydrated before."""
        self.relation_version += 1
        for account_id in account_ids:
            for socket in self._sockets_by_account.get(account_id, ()):
                self._version_by_account[account_id] = self.relation_version
                socket.replay_queued()

    def have_relations_changed(self, account_id: AccountId | None, since_version: int) -> bool:
        """Return whether the account's relations changed after `since_version`."""
        return account_id is not None and self._version_by_account.get(account_id, 0) > since_version

    def add_subscription(self, subscription: Subscription, channel: Channel) -> None:
        """Index the subscription by the topics of its channel."""
        subscription.channel = channel
        for topic in channel.topics:
            self._subscriptions_by_topic.setdefault(topic, {})[subscription] = None

    def remove_subscription(self, subscription: Subscription) -> None:
        if subscription.channel is not None:
            for topic in subscription.channel.topics:
                _remove_from_index(self._subscriptions_by_topic, topic, subscription)

    def set_watched_posts(self, socket: LiveSocket, post_ids: Iterable[PostId]) -> None:
        """Replace the posts for which the socket gets new counts."""
        for post_id in socket.watched_post_ids:
            _remove_from_index(self._sockets_by_watched_post, post_id, socket)
        socket.watched_post_ids = frozenset(post_ids)
        for post_id in socket.watched_post_ids:
            self._sockets_by_watched_post.setdefault(post_id, {})[socket] = None

    def is_deleted(self, post_id: PostId) -> bool:
        """Return whether the post was deleted recently. Its entry must not be sent after its `deleted` message."""
        return post_id in self._deleted_ids

    def mark_deleted(self, post_id: PostId) -> None:
        self._deleted_ids[post_id] = None
        if len(self._deleted_ids) > MAX_REMEMBERED_DELETIONS:
            self._deleted_ids.popitem(last=False)

    def record_sent(self, shown_id: PostId, topics: Iterable[str]) -> None:
        """Record that an entry with the post was sent to `topics`, either live or by a replay."""
        self._topics_by_sent_post.setdefault(shown_id, set()).update(topics)
        self._topics_by_sent_post.move_to_end(shown_id)
        if len(self._topics_by_sent_post) > MAX_REMEMBERED_SENT_POSTS:
            self._topics_by_sent_post.popitem(last=False)

    def subscriptions_showing(self, post_id: PostId) -> list[Subscription]:
        """Return the subscriptions that entries with the post were sent to."""
        return self.subscriptions_at(self.topics_showing(post_id))

    def topics_showing(self, post_id: PostId) -> set[str]:
        """Return the topics that entries with the post were sent to."""
        return self._topics_by_sent_post.get(post_id, set())

    def sockets_showing(self, post_id: PostId) -> list[LiveSocket]:
        """Return the pages that watch the post, or that entries with the post were sent to."""
        showing = (each.socket for each in self.subscriptions_showing(post_id) if each.socket.encoder.is_page)
        return list(dict.fromkeys([*self.sockets_watching(post_id), *showing]))

    def api_subscriptions(self, topics: Iterable[str] = ()) -> list[Subscription]:
        """Return the subscriptions of API clients, each once: all home timelines, and those of `topics`."""
        if not self.api_sockets:
            return []
        topic_set = set(topics)
        return [
            each
            for socket in self.api_sockets
            for each in socket.subscriptions.values()
            if each.channel is not None
            and (
                each.channel.viewer_context.context is ViewContext.HOME or not topic_set.isdisjoint(each.channel.topics)
            )
        ]

    def has_topic(self, topic: str) -> bool:
        return topic in self._subscriptions_by_topic

    def subscriptions_at(self, topics: Iterable[str]) -> list[Subscription]:
        """Return the subscriptions of any of the topics, each once."""
        return list(dict.fromkeys(each for topic in topics for each in self._subscriptions_by_topic.get(topic, ())))

    def sockets_of_account(self, account_id: AccountId) -> list[LiveSocket]:
        return list(self._sockets_by_account.get(account_id, ()))

    @property
    def account_ids(self) -> list[AccountId]:
        return list(self._sockets_by_account)

    def sockets_watching(self, post_id: PostId) -> list[LiveSocket]:
        return list(self._sockets_by_watched_post.get(post_id, ()))

    def open_subscriptions(self) -> list[Subscription]:
        """Return every subscription whose access was checked."""
        return list(dict.fromkeys(each for listening in self._subscriptions_by_topic.values() for each in listening))


def _remove_from_index(index: dict[K, dict[V, None]], key: K, value: V) -> None:
    """Remove the value, and also the key if this was its last value."""
    values = index.get(key)
    if values is not None:
        values.pop(value, None)
        if not values:
            del index[key]
