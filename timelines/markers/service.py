"""Reading positions: how far a timeline was read, on whatever device, and how its reader likes to read."""

from collections.abc import Awaitable
from dataclasses import dataclass

from socialsite.ids import AccountId, PostId
from timelines.errors import TimelineNotFound
from timelines.markers.marker import Marker, has_marker
from timelines.markers.repository import Markers


@dataclass(slots=True)
class MarkerService:
    """A position only moves forward, unless it is told to go back: two devices never undo each other."""

    markers: Markers

    def begin(self, viewer_id: AccountId | None, timeline: str) -> Awaitable[Marker]:
        """Asked now, to be awaited later.

        Of a visitor, or a timeline whose place is not kept, only the preferences count.
        """
        return self.markers.begin(viewer_id, timeline)

    async def find(self, viewer_id: AccountId | None, timeline: str) -> Marker:
        return await self.begin(viewer_id, timeline)

    async def move(self, account_id: AccountId, timeline: str, post_id: PostId, *, back: bool = False) -> PostId:
        """The place that stands afterwards. Raises TimelineNotFound where none is kept."""
        if not has_marker(timeline):
            raise TimelineNotFound
        return await self.markers.move(account_id, timeline, post_id, back=back)

    async def set_scroll_preference(self, account_id: AccountId, *, scrolls: bool) -> None:
        """Whether older posts come by themselves when the reader comes near the end of a page."""
        await self.markers.set_scroll_preference(account_id, scrolls)
