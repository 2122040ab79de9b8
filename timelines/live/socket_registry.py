"""The sockets of this process, found by what they are to hear of. Memory only."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.web.socket_writer import SocketWriter, TextFrame
from timelines.live.channels import Channel

K = TypeVar("K")
V = TypeVar("V")

MAX_REMEMBERED_DELETIONS = 10_000
"""Deletions remembered: more than happen while the slowest replay goes on."""
MAX_REMEMBERED_SENT_POSTS = 1_000
"""Entries sent lately, with the topics they went to: their counts follow them."""
MAX_QUEUED_ENTRIES = 100
"""Live entries kept while a replay goes on; more than that, and it is replayed again."""


class Subscription:
    """One timeline on one socket. While `held` is a queue, live entries wait in it for the replay's end.

    `timeline` is None until it was found that the reader may have it; `present`: what of it is counted.
    """

    __slots__ = (
        "after",
        "channel",
        "last_id",
        "name",
        "needs_replay",
        "presence_members",
        "queue",
        "socket",
        "task",
    )

    def __init__(self, socket: "LiveSocket", name: str, after: PostId | None = None) -> None:
        self.socket = socket
        self.name = name  # as the client calls the timeline
        self.after = after
        self.channel: Channel | None = None
        self.presence_members: list[str] = []
        self.last_id = PostId(0)
        self.queue: deque[tuple[PostId, TextFrame]] | None = deque()
        self.needs_replay = False
        self.task: asyncio.Task[None] | None = None

    @property
    def resume_after(self) -> PostId | None:
        """Where to begin it anew: what the client asked for, until it has got that far."""
        return self.last_id if self.queue is None else self.last_id or self.after

    def send_or_queue(self, post_id: PostId, frame: TextFrame) -> None:
        """A live entry."""
        if self.queue is None:
            self.last_id = max(self.last_id, post_id)
            self.socket.writer.send(frame)
        elif len(self.queue) < MAX_QUEUED_ENTRIES:
            self.queue.append((post_id, frame))
        else:
            self.queue.clear()
            self.needs_replay = True

    def pause(self) -> None:
        """Something may have been missed: what comes from now on waits for a replay."""
        if self.queue is None:
            self.queue = deque()
        else:
            self.needs_replay = True

    def resume(self, is_obsolete: Callable[[PostId], bool]) -> None:
        """The replay is through: send what was held and is not over by now, and go live."""
        held, self.queue = self.queue or (), None
        for post_id, frame in held:
            if not is_obsolete(post_id):
                self.send_or_queue(post_id, frame)


class LiveSocket:
    """An accepted websocket and who sits behind it (`session_id`: hex digest; None: nobody signed in)."""

    __slots__ = ("account_id", "language", "session_id", "subscriptions", "watched_post_ids", "writer")

    def __init__(
        self, writer: SocketWriter, account_id: AccountId | None, session_id: str | None, language: str
    ) -> None:
        self.writer = writer
        self.account_id = account_id
        self.session_id = session_id
        self.language = language
        self.subscriptions: dict[str, Subscription] = {}
        self.watched_post_ids: frozenset[PostId] = frozenset()

    def replay_queued(self) -> None:
        """What waits for the end of a replay was judged by rights of before: it is replayed once more."""
        for subscription in self.subscriptions.values():
            if subscription.queue is not None:
                subscription.queue.clear()
                subscription.needs_replay = True


class SocketRegistry:
    """Every socket, by topic, by account, by watched post."""

    def __init__(self) -> None:
        self.sockets: dict[LiveSocket, None] = {}
        self._subscriptions_by_topic: dict[str, dict[Subscription, None]] = {}
        self._sockets_by_account: dict[AccountId, dict[LiveSocket, None]] = {}
        self._sockets_by_watched_post: dict[PostId, dict[LiveSocket, None]] = {}
        self._deleted_ids: OrderedDict[PostId, None] = OrderedDict()
        self._topics_by_sent_post: OrderedDict[PostId, set[str]] = OrderedDict()
        self._version_by_account: dict[AccountId, int] = {}
        self.relation_version = 0
        """Counts the changes of relations of those who are here."""

    def add(self, socket: LiveSocket) -> None:
        self.sockets[socket] = None
        if socket.account_id is not None:
            self._sockets_by_account.setdefault(socket.account_id, {})[socket] = None

    def remove(self, socket: LiveSocket) -> None:
        self.sockets.pop(socket, None)
        if socket.account_id is not None:
            _remove_from_index(self._sockets_by_account, socket.account_id, socket)
            if socket.account_id not in self._sockets_by_account:
                self._version_by_account.pop(socket.account_id, None)
        self.set_watched_posts(socket, ())

    def invalidate_relations(self, *account_ids: AccountId) -> None:
        """What was read of their rights before is not to be sent any more."""
        self.relation_version += 1
        for account_id in account_ids:
            for socket in self._sockets_by_account.get(account_id, ()):
                self._version_by_account[account_id] = self.relation_version
                socket.replay_queued()

    def have_relations_changed(self, account_id: AccountId | None, since_version: int) -> bool:
        """Whether the account's relations have changed since that `moment`."""
        return account_id is not None and self._version_by_account.get(account_id, 0) > since_version

    def add_subscription(self, subscription: Subscription, channel: Channel) -> None:
        """From now on the subscription gets what comes on the timeline."""
        subscription.channel = channel
        for topic in channel.topics:
            self._subscriptions_by_topic.setdefault(topic, {})[subscription] = None

    def remove_subscription(self, subscription: Subscription) -> None:
        if subscription.channel is not None:
            for topic in subscription.channel.topics:
                _remove_from_index(self._subscriptions_by_topic, topic, subscription)

    def set_watched_posts(self, socket: LiveSocket, post_ids: Iterable[PostId]) -> None:
        """The posts that the socket shows, in place of those before."""
        for post_id in socket.watched_post_ids:
            _remove_from_index(self._sockets_by_watched_post, post_id, socket)
        socket.watched_post_ids = frozenset(post_ids)
        for post_id in socket.watched_post_ids:
            self._sockets_by_watched_post.setdefault(post_id, {})[socket] = None

    def is_deleted(self, post_id: PostId) -> bool:
        """Deleted lately: an entry still on its way must not come after the word of its deletion."""
        return post_id in self._deleted_ids

    def mark_deleted(self, post_id: PostId) -> None:
        self._deleted_ids[post_id] = None
        if len(self._deleted_ids) > MAX_REMEMBERED_DELETIONS:
            self._deleted_ids.popitem(last=False)

    def record_sent(self, shown_id: PostId, topics: Iterable[str]) -> None:
        """An entry that shows the post went out, live or replayed."""
        self._topics_by_sent_post.setdefault(shown_id, set()).update(topics)
        self._topics_by_sent_post.move_to_end(shown_id)
        if len(self._topics_by_sent_post) > MAX_REMEMBERED_SENT_POSTS:
            self._topics_by_sent_post.popitem(last=False)

    def subscriptions_showing(self, post_id: PostId) -> list[Subscription]:
        """Where entries that show the post went lately."""
        return self.subscriptions_at(self._topics_by_sent_post.get(post_id, ()))

    def has_topic(self, topic: str) -> bool:
        return topic in self._subscriptions_by_topic

    def subscriptions_at(self, topics: Iterable[str]) -> list[Subscription]:
        """Each once, though it may listen to several of the topics."""
        return list(dict.fromkeys(each for topic in topics for each in self._subscriptions_by_topic.get(topic, ())))

    def sockets_of_account(self, account_id: AccountId) -> list[LiveSocket]:
        return list(self._sockets_by_account.get(account_id, ()))

    @property
    def account_ids(self) -> list[AccountId]:
        """Everybody who has a socket here."""
        return list(self._sockets_by_account)

    def sockets_watching(self, post_id: PostId) -> list[LiveSocket]:
        return list(self._sockets_by_watched_post.get(post_id, ()))

    def open_subscriptions(self) -> list[Subscription]:
        """Every subscription that has its timeline."""
        return list(dict.fromkeys(each for listening in self._subscriptions_by_topic.values() for each in listening))


def _remove_from_index(index: dict[K, dict[V, None]], key: K, value: V) -> None:
    """Remove, and the key with its last value."""
    values = index.get(key)
    if values is not None:
        values.pop(value, None)
        if not values:
            del index[key]
