"""One post to everybody here who has a timeline open where they may see it.

Rights are looked at for all readers in one pipeline (services/hydrating_for_many.py), and again for those
whose relations change meanwhile.
"""

import asyncio
from collections.abc import Iterable

from accounts.domain import AccountId
from socialsite.ids import PostId
from timelines.live.channels import OpenTimeline
from timelines.live.rendering import EntryFrames
from timelines.live.socket_registry import Room, Subscription
from timelines.reading.batch_hydration import Seat, hydrate_for
from timelines.reading.hydration import Hydrator

SeatKey = tuple[AccountId | None, str]
"""A reader, and the topic of a timeline."""

AT_ONCE = 100
"""Sockets sent to before others get their turn: about 1 ms."""


class Spreading:
    """To the sockets of a room."""

    def __init__(self, room: Room, hydrator: Hydrator) -> None:
        self._room = room
        self._hydrator = hydrator

    async def spread(self, post_id: PostId, author_id: AccountId, topics: Iterable[str]) -> set[str]:
        """To each reader what they may see of it; the topics of the timelines that show it.

        Raises StoreUnavailable.
        """
        topics, shown = list(topics), set[str]()
        due, made = self._seats(topics), EntryFrames()
        while due:
            moment = self._room.moment
            found = await hydrate_for(self._hydrator, post_id, author_id, list(due.values()))
            entries = dict(zip(due, found, strict=True))
            due = {}
            for number, subscription in enumerate(self._room.at(topics), start=1):
                key = _key(subscription)
                if self._room.is_gone(post_id):
                    return shown
                if key not in entries or (entry := entries[key]) is None:
                    continue
                if self._room.has_changed(subscription.socket.account_id, moment):
                    due[key] = _timeline(subscription).seat
                    continue
                if not shown:  # before the first is sent, for all: whatever changes from now on is told
                    self._room.note_sent(entry.shown.post.id, topics)
                subscription.offer(post_id, made.frame_for(subscription, entry))
                shown.add(_timeline(subscription).topic)
                if number % AT_ONCE == 0:
                    await asyncio.sleep(0)
        return shown

    def _seats(self, topics: Iterable[str]) -> dict[SeatKey, Seat]:
        """One of each reader at each timeline, however many sockets show it."""
        return {_key(each): _timeline(each).seat for each in self._room.at(topics)}


def _timeline(subscription: Subscription) -> OpenTimeline:
    assert subscription.timeline is not None, "the room listens to what was opened"
    return subscription.timeline


def _key(subscription: Subscription) -> SeatKey:
    return subscription.socket.account_id, _timeline(subscription).topic
