"""The sockets of this process, found by what they are to hear of. Memory only."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.web.socket_writer import Frame, Outlet
from timelines.live.channels import OpenTimeline

K = TypeVar("K")
V = TypeVar("V")

GONE_CAP = 10_000
"""Deletions remembered: more than happen while the slowest replay goes on."""
SENT_CAP = 1_000
"""Entries sent lately, with the topics they went to: their counts follow them."""
HELD_CAP = 100
"""Live entries kept while a replay goes on; more than that, and it is replayed again."""


class Subscription:
    """One timeline on one socket. While `held` is a queue, live entries wait in it for the replay's end.

    `timeline` is None until it was found that the reader may have it; `present`: what of it is counted.
    """

    __slots__ = ("after", "held", "last", "name", "present", "replay_again", "socket", "task", "timeline")

    def __init__(self, socket: "Socket", name: str, after: PostId | None = None) -> None:
        self.socket = socket
        self.name = name  # as the client calls the timeline
        self.after = after
        self.timeline: OpenTimeline | None = None
        self.present: list[str] = []
        self.last = PostId(0)
        self.held: deque[tuple[PostId, Frame]] | None = deque()
        self.replay_again = False
        self.task: asyncio.Task[None] | None = None

    @property
    def reached(self) -> PostId | None:
        """Where to begin it anew: what the client asked for, until it has got that far."""
        return self.last if self.held is None else self.last or self.after

    def offer(self, post_id: PostId, frame: Frame) -> None:
        """A live entry."""
        if self.held is None:
            self.last = max(self.last, post_id)
            self.socket.outlet.push(frame)
        elif len(self.held) < HELD_CAP:
            self.held.append((post_id, frame))
        else:
            self.held.clear()
            self.replay_again = True

    def hold(self) -> None:
        """Something may have been missed: what comes from now on waits for a replay."""
        if self.held is None:
            self.held = deque()
        else:
            self.replay_again = True

    def flow(self, is_over: Callable[[PostId], bool]) -> None:
        """The replay is through: send what was held and is not over by now, and go live."""
        held, self.held = self.held or (), None
        for post_id, frame in held:
            if not is_over(post_id):
                self.offer(post_id, frame)


class Socket:
    """An accepted websocket and who sits behind it (`session_id`: hex digest; None: nobody signed in)."""

    __slots__ = ("account_id", "language", "outlet", "session_id", "subscriptions", "watched")

    def __init__(
        self, outlet: Outlet, account_id: AccountId | None, session_id: str | None, language: str
    ) -> None:
        self.outlet = outlet
        self.account_id = account_id
        self.session_id = session_id
        self.language = language
        self.subscriptions: dict[str, Subscription] = {}
        self.watched: frozenset[PostId] = frozenset()

    def look_again(self) -> None:
        """What waits for the end of a replay was judged by rights of before: it is replayed once more."""
        for subscription in self.subscriptions.values():
            if subscription.held is not None:
                subscription.held.clear()
                subscription.replay_again = True


class Room:
    """Every socket, by topic, by account, by watched post."""

    def __init__(self) -> None:
        self.sockets: dict[Socket, None] = {}
        self._by_topic: dict[str, dict[Subscription, None]] = {}
        self._by_account: dict[AccountId, dict[Socket, None]] = {}
        self._by_watched: dict[PostId, dict[Socket, None]] = {}
        self._gone: OrderedDict[PostId, None] = OrderedDict()
        self._sent: OrderedDict[PostId, set[str]] = OrderedDict()
        self._changed_at: dict[AccountId, int] = {}
        self.moment = 0
        """Counts the changes of relations of those who are here."""

    def enter(self, socket: Socket) -> None:
        self.sockets[socket] = None
        if socket.account_id is not None:
            self._by_account.setdefault(socket.account_id, {})[socket] = None

    def leave(self, socket: Socket) -> None:
        self.sockets.pop(socket, None)
        if socket.account_id is not None:
            _take(self._by_account, socket.account_id, socket)
            if socket.account_id not in self._by_account:
                self._changed_at.pop(socket.account_id, None)
        self.watch(socket, ())

    def change_relation(self, *account_ids: AccountId) -> None:
        """What was read of their rights before is not to be sent any more."""
        self.moment += 1
        for account_id in account_ids:
            for socket in self._by_account.get(account_id, ()):
                self._changed_at[account_id] = self.moment
                socket.look_again()

    def has_changed(self, account_id: AccountId | None, since: int) -> bool:
        """Whether the account's relations have changed since that `moment`."""
        return account_id is not None and self._changed_at.get(account_id, 0) > since

    def listen(self, subscription: Subscription, timeline: OpenTimeline) -> None:
        """From now on the subscription gets what comes on the timeline."""
        subscription.timeline = timeline
        for topic in timeline.topics:
            self._by_topic.setdefault(topic, {})[subscription] = None

    def forget(self, subscription: Subscription) -> None:
        if subscription.timeline is not None:
            for topic in subscription.timeline.topics:
                _take(self._by_topic, topic, subscription)

    def watch(self, socket: Socket, post_ids: Iterable[PostId]) -> None:
        """The posts that the socket shows, in place of those before."""
        for post_id in socket.watched:
            _take(self._by_watched, post_id, socket)
        socket.watched = frozenset(post_ids)
        for post_id in socket.watched:
            self._by_watched.setdefault(post_id, {})[socket] = None

    def is_gone(self, post_id: PostId) -> bool:
        """Deleted lately: an entry still on its way must not come after the word of its deletion."""
        return post_id in self._gone

    def lose(self, post_id: PostId) -> None:
        self._gone[post_id] = None
        if len(self._gone) > GONE_CAP:
            self._gone.popitem(last=False)

    def note_sent(self, shown_id: PostId, topics: Iterable[str]) -> None:
        """An entry that shows the post went out, live or replayed."""
        self._sent.setdefault(shown_id, set()).update(topics)
        self._sent.move_to_end(shown_id)
        if len(self._sent) > SENT_CAP:
            self._sent.popitem(last=False)

    def shown_on(self, post_id: PostId) -> list[Subscription]:
        """Where entries that show the post went lately."""
        return self.at(self._sent.get(post_id, ()))

    def has(self, topic: str) -> bool:
        return topic in self._by_topic

    def at(self, topics: Iterable[str]) -> list[Subscription]:
        """Each once, though it may listen to several of the topics."""
        return list(dict.fromkeys(each for topic in topics for each in self._by_topic.get(topic, ())))

    def of_account(self, account_id: AccountId) -> list[Socket]:
        return list(self._by_account.get(account_id, ()))

    @property
    def accounts(self) -> list[AccountId]:
        """Everybody who has a socket here."""
        return list(self._by_account)

    def watching(self, post_id: PostId) -> list[Socket]:
        return list(self._by_watched.get(post_id, ()))

    def listening(self) -> list[Subscription]:
        """Every subscription that has its timeline."""
        return list(dict.fromkeys(each for listening in self._by_topic.values() for each in listening))


def _take(index: dict[K, dict[V, None]], key: K, value: V) -> None:
    """Remove, and the key with its last value."""
    values = index.get(key)
    if values is not None:
        values.pop(value, None)
        if not values:
            del index[key]
