"""Sends one post to the sockets of this process whose readers may see it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from socialsite.ids import AccountId, PostId
from socialsite.web.socket_writer import TextFrame
from timelines.live.channels import PUBLIC_TOPIC, Channel
from timelines.live.frames import FrameEncoder
from timelines.live.socket_registry import LiveSocket, SocketRegistry, Subscription
from timelines.pages.page import HydratedPost, PollState, Quote, ViewerState
from timelines.posts.post import Post
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.filter import KeywordFilter
from timelines.visibility.rights import ViewContext

K = TypeVar("K")
ViewerKey = tuple[AccountId | None, str]
"""A reader and the topic of a timeline."""

SENDS_PER_SLICE = 100
"""The number of sockets that get the post before other tasks may run: about 1 ms of work."""


Filters = tuple[KeywordFilter, ...]
FrameKey = tuple[
    FrameEncoder, str, str,
    ViewerState | None, KeywordFilter | None, Filters, PollState | None, Quote | None, Post | None,
]  # fmt: skip
FrameCache = dict[FrameKey, TextFrame | None]
"""The frames of one post during one `send`, because most readers see the same post."""


def _frame_key(socket: LiveSocket, name: str, entry: HydratedPost) -> FrameKey:
    """Return the cache key of the frame that shows `entry` to the reader of the subscription `name`."""
    shown_post = entry.shown
    return (
        socket.encoder, name, socket.language, entry.viewer, entry.keyword_filter,
        entry.matching_filters, shown_post.poll, shown_post.quote, shown_post.parent,
    )  # fmt: skip


class Broadcaster:
    """Hydrates a post for all its readers in one batch, and sends it to them.

    If the relations of a reader change during the batch, the post is hydrated for this reader again.
    """

    def __init__(self, registry: SocketRegistry, pipeline: ReadPipeline) -> None:
        self._registry = registry
        self._pipeline = pipeline

    async def send(self, post_id: PostId, author_id: AccountId, topics: Iterable[str]) -> set[str]:
        """Send the post to the subscribers of `topics`. Returns the topics of the timelines that show it.

        Raises StoreUnavailable.
        """
        topics, sent_topics = list(topics), set[str]()
        viewers, frames = self._viewer_contexts(topics), FrameCache()
        while viewers:
            version = self._registry.relation_version
            hydrated = await self._pipeline.read_post_for_viewers(post_id, author_id, list(viewers.values()))
            entries = dict(zip(viewers, hydrated, strict=True))
            viewers = {}
            for number, subscription in enumerate(self._registry.subscriptions_at(topics), start=1):
                key = _viewer_key(subscription)
                if (entry := entries.get(key)) is None or not _channel_of(subscription).includes(entry):
                    continue
                socket = subscription.socket
                if (frame_key := _frame_key(socket, subscription.name, entry)) not in frames:
                    frames[frame_key] = await socket.encoder.entry(subscription.name, entry, socket.language)
                if self._registry.is_deleted(post_id):
                    return sent_topics
                if self._registry.have_relations_changed(subscription.socket.account_id, version):
                    viewers[key] = _channel_of(subscription).viewer_context
                    continue
                if not sent_topics:  # before the first frame, so that later changes of counts are sent
                    self._registry.record_sent(entry.shown.post.id, topics)
                if (frame := frames[frame_key]) is not None:
                    subscription.send_or_queue(post_id, frame)
                sent_topics.add(_channel_of(subscription).topic)
                if number % SENDS_PER_SLICE == 0:
                    await asyncio.sleep(0)
        return sent_topics

    async def send_edited(self, post_id: PostId, sockets: Iterable[LiveSocket]) -> None:
        """Send the newest version of a post to those sockets whose reader may see it. Raises StoreUnavailable.

        The rights are those of a thread: they allow posts of accounts that the reader does not follow, such as boosted
        posts, and apply mutes and keyword filters.
        """
        sockets = list(dict.fromkeys(sockets))
        viewers = {id: ViewerContext(id, ViewContext.THREAD) for id in (socket.account_id for socket in sockets)}
        await self._send_version(post_id, viewers, [(socket, "", socket.account_id) for socket in sockets])

    async def send_edited_to_api(self, post_id: PostId) -> None:
        """Send the newest version to the timelines of API clients on which a new post would be.

        API clients do not name the posts that they show. Raises StoreUnavailable.
        """
        topics = PUBLIC_TOPIC, *self._registry.topics_showing(post_id)
        if not (subscriptions := self._registry.api_subscriptions(topics)):
            return
        viewers = {_viewer_key(each): _channel_of(each).viewer_context for each in subscriptions}
        await self._send_version(
            post_id, viewers, [(each.socket, each.name, _viewer_key(each)) for each in subscriptions]
        )

    async def _send_version(
        self, post_id: PostId, viewers: Mapping[K, ViewerContext], receivers: Sequence[tuple[LiveSocket, str, K]]
    ) -> None:
        """Send the newest version to sockets, each with the name of its subscription and the key of its viewer."""
        hydrated = await self._pipeline.read_post_for_viewers(post_id, None, list(viewers.values()))
        entries, frames = dict(zip(viewers, hydrated, strict=True)), FrameCache()
        for number, (socket, name, viewer) in enumerate(receivers, start=1):
            if (entry := entries[viewer]) is None or not _has_changed(entry):
                continue
            if (key := _frame_key(socket, name, entry)) not in frames:
                frames[key] = await socket.encoder.edited(name, entry, socket.language)
            if self._registry.is_deleted(post_id):
                return
            if (frame := frames[key]) is not None:
                socket.writer.send(frame)
            if number % SENDS_PER_SLICE == 0:
                await asyncio.sleep(0)

    def _viewer_contexts(self, topics: Iterable[str]) -> dict[ViewerKey, ViewerContext]:
        """Return one context for each reader and timeline, even if several sockets show the timeline."""
        return {_viewer_key(each): _channel_of(each).viewer_context for each in self._registry.subscriptions_at(topics)}


def _has_changed(entry: HydratedPost) -> bool:
    """Return whether the post can differ from what pages show: it was edited, or its preview was stored."""
    return bool(entry.post.extra.version) or entry.preview is not None


def _channel_of(subscription: Subscription) -> Channel:
    assert subscription.channel is not None, "the registry indexes subscriptions with a channel only"
    return subscription.channel


def _viewer_key(subscription: Subscription) -> ViewerKey:
    return subscription.socket.account_id, _channel_of(subscription).topic
