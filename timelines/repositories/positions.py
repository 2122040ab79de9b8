"""How far timelines were read, and how their reader likes to read: `timelines:{<account>}:position`."""

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.store import Store, load
from timelines import keys
from timelines.domain.reading_place import POSITIONS_CAP, ReadingPlace

MOVE = load("move_position.lua", __package__)
SCROLL = "scroll"
"""The field among the preferences."""


class Positions:
    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")

    async def find(self, account_id: AccountId, timeline: str) -> ReadingPlace:
        """In one round trip with what else is asked in the same moment."""
        position, preferences = keys.position(account_id), keys.preferences(account_id)
        read, scroll = await self._timelines[position].pipeline(
            [("HGET", position, timeline), ("HGET", preferences, SCROLL)]
        )
        return ReadingPlace(PostId(int(read or 0)), scroll != b"off")

    async def move(self, account_id: AccountId, timeline: str, post_id: PostId, *, back: bool) -> PostId:
        """The place that stands afterwards: the newer one, unless it may go back."""
        key = keys.position(account_id)
        args = [timeline, post_id, "back" if back else "", POSITIONS_CAP]
        (held,) = await self._timelines.write(key, MOVE.command([key], args))
        return PostId(int(held))

    async def set_scrolling(self, account_id: AccountId, scrolls: bool) -> None:
        key = keys.preferences(account_id)
        await self._timelines.write(key, ("HSET", key, SCROLL, "on" if scrolls else "off"))

    async def forget(self, account_id: AccountId) -> None:
        """Of a deleted account; its preferences go with its notifications."""
        key = keys.position(account_id)
        await self._timelines[key].execute("UNLINK", key)
