"""How far timelines were read, and how their reader likes to read: `timelines:{<account>}:position`."""

from collections.abc import Awaitable, Sequence

from socialsite.ids import AccountId, PostId
from socialsite.store import Read, Reply, Store, load_script
from timelines import keys
from timelines.markers.marker import MARKERS_CAP, Marker

MOVE = load_script("move_position.lua", __package__)
SCROLL = "scroll"
"""The field among the preferences."""


def _place(replies: Sequence[Reply]) -> Marker:
    read, scroll = replies
    return Marker(PostId(int(read or 0)), scroll != b"off")


class Markers:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._timelines = store.component("timelines")

    def begin(self, account_id: AccountId | None, timeline: str) -> Awaitable[Marker]:
        """How far the timeline was read; in one round trip with what else is asked in the same moment."""
        return self._store.send_now(self.read(account_id, timeline))

    def read(self, account_id: AccountId | None, timeline: str) -> Read[Marker]:
        """As `begin`, for a round trip that asks other things too."""
        if account_id is None:
            return Read((), lambda _: Marker())
        position, preferences = keys.markers(account_id), keys.preferences(account_id)
        commands = ("HGET", position, timeline), ("HGET", preferences, SCROLL)
        return Read(commands, _place)

    async def move(self, account_id: AccountId, timeline: str, post_id: PostId, *, back: bool) -> PostId:
        """The place that stands afterwards: the newer one, unless it may go back."""
        key = keys.markers(account_id)
        args = [timeline, post_id, "back" if back else "", MARKERS_CAP]
        (held,) = await self._timelines.write(key, MOVE.command([key], args))
        return PostId(int(held))

    async def set_scroll_preference(self, account_id: AccountId, scrolls: bool) -> None:
        key = keys.preferences(account_id)
        await self._timelines.write(key, ("HSET", key, SCROLL, "on" if scrolls else "off"))

    async def delete_all(self, account_id: AccountId) -> None:
        """Of a deleted account; its preferences go with its notifications."""
        key = keys.markers(account_id)
        await self._timelines[key].execute("UNLINK", key)
