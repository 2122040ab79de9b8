"""One post to everybody here who has a timeline open where they may see it.

Rights are looked at for all readers in one pipeline (services/hydrating_for_many.py), and again for those
whose relations change meanwhile.
"""

import asyncio
from collections.abc import Iterable

from accounts.domain import AccountId
from socialsite.ids import PostId
from timelines.live.channels import Channel
from timelines.live.rendering import EntryFrameCache
from timelines.live.socket_registry import SocketRegistry, Subscription
from timelines.reading.batch_hydration import ViewerContext, hydrate_for_viewers
from timelines.reading.hydration import Hydrator

ViewerKey = tuple[AccountId | None, str]
"""A reader, and the topic of a timeline."""

SENDS_PER_SLICE = 100
"""Sockets sent to before others get their turn: about 1 ms."""


class Broadcaster:
    """To the sockets of a room."""

    def __init__(self, registry: SocketRegistry, hydrator: Hydrator) -> None:
        self._registry = registry
        self._hydrator = hydrator

    async def send(self, post_id: PostId, author_id: AccountId, topics: Iterable[str]) -> set[str]:
        """To each reader what they may see of it; the topics of the timelines that show it.

        Raises StoreUnavailable.
        """
        topics, shown = list(topics), set[str]()
        due, made = self._viewer_contexts(topics), EntryFrameCache()
        while due:
            moment = self._registry.relation_version
            found = await hydrate_for_viewers(self._hydrator, post_id, author_id, list(due.values()))
            entries = dict(zip(due, found, strict=True))
            due = {}
            for number, subscription in enumerate(self._registry.subscriptions_at(topics), start=1):
                key = _viewer_key(subscription)
                if self._registry.is_deleted(post_id):
                    return shown
                if key not in entries or (entry := entries[key]) is None:
                    continue
                if self._registry.have_relations_changed(subscription.socket.account_id, moment):
                    due[key] = _channel_of(subscription).viewer_context
                    continue
                if not shown:  # before the first is sent, for all: whatever changes from now on is told
                    self._registry.record_sent(entry.shown.post.id, topics)
                subscription.send_or_queue(post_id, made.get_or_render(subscription, entry))
                shown.add(_channel_of(subscription).topic)
                if number % SENDS_PER_SLICE == 0:
                    await asyncio.sleep(0)
        return shown

    def _viewer_contexts(self, topics: Iterable[str]) -> dict[ViewerKey, ViewerContext]:
        """One of each reader at each timeline, however many sockets show it."""
        return {_viewer_key(each): _channel_of(each).viewer_context for each in self._registry.subscriptions_at(topics)}


def _channel_of(subscription: Subscription) -> Channel:
    assert subscription.channel is not None, "the room listens to what was opened"
    return subscription.channel


def _viewer_key(subscription: Subscription) -> ViewerKey:
    return subscription.socket.account_id, _channel_of(subscription).topic
