"""What takes the place of a boost that was withdrawn: the next one, where a timeline shows its original once.

A reader who follows several boosters of a post has the first boost on the page; the others are hidden behind
it (services/boost_showing.py). When it goes, the first of those behind it that the reader sees is sent as
any entry is. Nobody looks before a boost is withdrawn, and then only where somebody boosted after it: one
read for each process that has homes or lists open, and one for every 500 of those until each has its entry.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.store.errors import StoreError
from timelines.live.broadcaster import Broadcaster
from timelines.live.socket_registry import SocketRegistry, Subscription
from timelines.reading.batch_hydration import ViewerContext, timelines_showing_author
from timelines.reading.boost_visibility import LaterBoosts, RemovedBoost, load_later_boosts
from timelines.reading.hydration import Hydrator
from timelines.visibility.rights import FOLLOWED_CONTEXTS

BOOSTS_PER_BATCH = 100
"""Looked at in one question: a deleted account takes its boosts along, one after the other."""
RETRY_S = 1.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class AffectedReaders:
    """Whose page may lack an entry: all who were to see boosts of `author_id`, and those at `topics`."""

    author_id: AccountId | None = None
    topics: set[str] = field(default_factory=set)


class ReplacementBoosts:
    """Whatever is withdrawn is looked at soon, batch after batch."""

    def __init__(self, registry: SocketRegistry, hydrator: Hydrator, broadcaster: Broadcaster) -> None:
        self._registry = registry
        self._hydrator = hydrator
        self._broadcaster = broadcaster
        self._pending: dict[RemovedBoost, AffectedReaders] = {}
        self._has_pending = asyncio.Event()

    def check(
        self,
        boost_id: PostId,
        original_id: PostId,
        *,
        author_id: AccountId | None = None,
        subscriptions: Iterable[Subscription] = (),
    ) -> None:
        """For all who follow or have listed the booster, or for subscriptions that showed the boost."""
        topics = set(_viewers_seeing_boosts_once(subscriptions))
        if author_id is None and not topics:
            return
        readers = self._pending.setdefault((boost_id, original_id), AffectedReaders())
        readers.author_id = author_id or readers.author_id
        readers.topics |= topics
        self._has_pending.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._has_pending.wait()
            self._has_pending.clear()
            await self.send_pending()

    async def send_pending(self) -> None:
        """Until nothing waits."""
        while self._pending:
            await self._send_batch()

    async def _send_batch(self) -> None:
        """What could not be read is looked at once more: clients drop what they hold."""
        asked = {each: self._pending.pop(each) for each in list(self._pending)[:BOOSTS_PER_BATCH]}
        try:
            await self._send_replacements(asked)
        except StoreError as error:
            log.warning("boosts behind withdrawn ones could not be read: %s", error)
            for each, readers in asked.items():
                again = self._pending.setdefault(each, readers)
                again.author_id = readers.author_id or again.author_id
                again.topics |= readers.topics
            await asyncio.sleep(RETRY_S)

    async def _send_replacements(self, asked: dict[RemovedBoost, AffectedReaders]) -> None:
        if not (here := set(_viewers_seeing_boosts_once(self._registry.open_subscriptions()))):
            return
        later = await load_later_boosts(self._hydrator.sources, asked)
        found = [(readers, boosts) for readers, boosts in zip(asked.values(), later, strict=True) if boosts]
        authors = {readers.author_id for readers, _ in found if readers.author_id is not None}
        theirs = {id: await self._topics_showing(id, here) for id in authors}
        for readers, boosts in found:
            met = set[str]() if readers.author_id is None else theirs[readers.author_id]
            await self._send_first_visible(boosts, met | readers.topics)

    async def _send_first_visible(self, boosts: LaterBoosts, topics: set[str]) -> None:
        """To each reader the first that they see: it hides those behind it."""
        for booster_id, boost_id in boosts:
            if topics:
                may = await self._topics_showing(booster_id, topics)
                topics = topics - await self._broadcaster.send(boost_id, booster_id, may)

    async def _topics_showing(self, author_id: AccountId, topics: Iterable[str]) -> set[str]:
        """Those of the timelines that may show what the author does."""
        seats = _viewers_seeing_boosts_once(self._registry.subscriptions_at(topics))
        return await timelines_showing_author(self._hydrator, author_id, seats)


def _viewers_seeing_boosts_once(subscriptions: Iterable[Subscription]) -> dict[str, ViewerContext]:
    """The timelines that show boosts once, by topic."""
    timelines = [each.channel for each in subscriptions if each.channel is not None]
    return {each.topic: each.viewer_context for each in timelines if each.viewer_context.context in FOLLOWED_CONTEXTS}
