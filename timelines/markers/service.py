"""Markers, which store how far a reader has read a timeline. They apply to all devices of the reader."""

from collections.abc import Awaitable

from socialsite.ids import AccountId, PostId
from socialsite.service import Service
from socialsite.store import Store
from timelines.errors import TimelineNotFound
from timelines.markers.marker import Marker, has_marker
from timelines.markers.repository import Markers


class MarkerService(Service):
    """Reads and moves markers.

    A marker moves back only if `back` is true, so that devices do not disturb each other.
    """

    store: Store
    markers: Markers

    def find(self, viewer_id: AccountId | None, timeline: str) -> Awaitable[Marker]:
        """Start to read the marker, and return an awaitable with the result.

        For a visitor, or a timeline without a marker, the result contains only the scrolling preference.
        """
        return self.store.send_now(self.markers.read(viewer_id, timeline))

    async def move(self, account_id: AccountId, timeline: str, post_id: PostId, *, back: bool = False) -> PostId:
        """Move a marker, and return it. Raises TimelineNotFound if the timeline has no marker."""
        if not has_marker(timeline):
            raise TimelineNotFound
        return await self.markers.move(account_id, timeline, post_id, back=back)
