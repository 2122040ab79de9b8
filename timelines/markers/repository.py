"""How far timelines were read, and how their reader likes to read: `timelines:{<account>}:position`."""

from collections.abc import Awaitable, Sequence

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.store import Read, Reply, Store, load_script
from timelines import keys
from timelines.markers.marker import POSITIONS_CAP, ReadingPlace

MOVE = load_script("move_position.lua", __package__)
SCROLL = "scroll"
"""The field among the preferences."""


def _place(replies: Sequence[Reply]) -> ReadingPlace:
    read, scroll = replies
    return ReadingPlace(PostId(int(read or 0)), scroll != b"off")


class Positions:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._timelines = store.component("timelines")

    def begin(self, account_id: AccountId | None, timeline: str) -> Awaitable[ReadingPlace]:
        """How far the timeline was read; in one round trip with what else is asked in the same moment."""
        return self._store.send_now(self.find_question(account_id, timeline))

    def find_question(self, account_id: AccountId | None, timeline: str) -> Read[ReadingPlace]:
        """As `begin`, for a round trip that asks other things too."""
        if account_id is None:
            return Read((), lambda _: ReadingPlace())
        position, preferences = keys.position(account_id), keys.preferences(account_id)
        commands = ("HGET", position, timeline), ("HGET", preferences, SCROLL)
        return Read(commands, _place)

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
