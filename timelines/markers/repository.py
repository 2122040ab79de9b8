"""Stores the markers of an account (`timelines:{<account>}:position`), and its preference for scrolling."""

from collections.abc import Sequence

from socialsite.ids import AccountId, PostId
from socialsite.store import Read, Reply, Repository, load_script
from timelines import keys
from timelines.markers.marker import MARKERS_CAP, Marker

MOVE = load_script("move_position.lua", __package__)
SCROLL = "scroll"
"""The field of the scrolling preference in the hash of preferences."""


def _parse_marker(replies: Sequence[Reply]) -> Marker:
    read, scroll = replies
    return Marker(PostId(int(read or 0)), scroll != b"off")


class Markers(Repository):
    def read(self, account_id: AccountId | None, timeline: str) -> Read[Marker]:
        """Read the marker and the scrolling preference. A visitor (None) has neither."""
        if account_id is None:
            return Read((), lambda _: Marker(), self._store)
        commands = ("HGET", keys.markers(account_id), timeline), ("HGET", keys.preferences(account_id), SCROLL)
        return Read(commands, _parse_marker, self._store)

    async def move(self, account_id: AccountId, timeline: str, post_id: PostId, *, back: bool) -> PostId:
        """Move the marker, and return it. The marker moves back only if `back` is true."""
        key = keys.markers(account_id)
        args = [timeline, post_id, "back" if back else "", MARKERS_CAP]
        return PostId(int(await self._timelines.write(*MOVE.command([key], args))))

    async def set_scroll_preference(self, account_id: AccountId, *, scrolls: bool) -> None:
        """Store whether pages load older posts near their end."""
        await self._timelines.write("HSET", keys.preferences(account_id), SCROLL, "on" if scrolls else "off")
