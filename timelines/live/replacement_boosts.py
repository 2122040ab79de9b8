"""Sends the boost that replaces a deleted boost, on timelines that show each boosted post once.

A reader who follows several boosters of a post sees only the first boost; it hides the later boosts
(timelines/reading/viewer_rights.py). If that boost is deleted, the first later boost that the reader may see is sent
like any new entry. The deletion of a boost costs one read in each process with open homes or lists, and one more for
every 500 readers until each reader has its entry.

If the booster's account is deleted, its follows and list memberships may be deleted already, so the viewers of its
boosts are unknown. Then every open home and list may get the entry. Clients ignore an entry that they show already.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from socialsite.ids import AccountId, PostId
from timelines.live.batched_work import BatchedWork
from timelines.live.broadcaster import Broadcaster
from timelines.live.socket_registry import SocketRegistry, Subscription
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.boosters import LaterBoosts, RemovedBoost
from timelines.visibility.rights import FOLLOWED_CONTEXTS


@dataclass(frozen=True, slots=True)
class AffectedReaders:
    """The readers whose page may lack an entry: followers of `author_id`, and subscribers of `topics`."""

    author_id: AccountId | None = None
    topics: frozenset[str] = field(default_factory=frozenset)

    def __or__(self, other: "AffectedReaders") -> "AffectedReaders":
        return AffectedReaders(self.author_id or other.author_id, self.topics | other.topics)


class ReplacementBoosts(BatchedWork[RemovedBoost, AffectedReaders]):
    """Sends the next visible boost to readers if a boost on their page was deleted."""

    batch_size = 100  # boosts; the boosts of a deleted account are deleted one after another
    failure_message = "boosts behind withdrawn ones could not be read: %s"

    def __init__(self, registry: SocketRegistry, pipeline: ReadPipeline, broadcaster: Broadcaster) -> None:
        super().__init__()
        self._registry = registry
        self._pipeline = pipeline
        self._broadcaster = broadcaster

    def check(
        self,
        boost_id: PostId,
        original_id: PostId,
        *,
        author_id: AccountId | None = None,
        subscriptions: Iterable[Subscription] = (),
    ) -> None:
        """Look for a replacement for the followers and lists of `author_id`, or for the given subscriptions."""
        topics = frozenset(_viewers_seeing_boosts_once(subscriptions))
        if author_id is not None or topics:
            self.add((boost_id, original_id), AffectedReaders(author_id, topics))

    async def process(self, batch: dict[RemovedBoost, AffectedReaders]) -> None:
        if not (open_topics := set(_viewers_seeing_boosts_once(self._registry.open_subscriptions()))):
            return
        later_boosts = await self._pipeline.load_later_boosts(batch)
        replacements = [
            (readers, boosts) for readers, boosts in zip(batch.values(), later_boosts, strict=True) if boosts
        ]
        author_ids = {readers.author_id for readers, _ in replacements if readers.author_id is not None}
        deleted_ids = await self._pipeline.deleted_accounts(author_ids)
        topics_by_author = {
            id: open_topics if id in deleted_ids else await self._topics_showing(id, open_topics) for id in author_ids
        }
        for readers, boosts in replacements:
            topics = set[str]() if readers.author_id is None else topics_by_author[readers.author_id]
            await self._send_first_visible(boosts, topics | readers.topics)

    async def _send_first_visible(self, boosts: LaterBoosts, topics: set[str]) -> None:
        """Send each reader the first boost that this reader may see. It hides the later boosts."""
        for booster_id, boost_id in boosts:
            if topics:
                showing_topics = await self._topics_showing(booster_id, topics)
                topics = topics - await self._broadcaster.send(boost_id, booster_id, showing_topics)

    async def _topics_showing(self, author_id: AccountId, topics: Iterable[str]) -> set[str]:
        """Return the timelines that may show posts of the author."""
        viewers = _viewers_seeing_boosts_once(self._registry.subscriptions_at(topics))
        return await self._pipeline.timelines_showing_author(author_id, viewers)


def _viewers_seeing_boosts_once(subscriptions: Iterable[Subscription]) -> dict[str, ViewerContext]:
    """Return topic -> viewer context, for the timelines that show each boosted post once."""
    channels = [each.channel for each in subscriptions if each.channel is not None]
    return {each.topic: each.viewer_context for each in channels if each.viewer_context.context in FOLLOWED_CONTEXTS}
