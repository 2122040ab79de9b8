"""Entries as frames: rendered once for each language and timeline name, however many get them."""

from django.utils import translation

from socialsite.web.socket_writer import Frame
from timelines.live import frames
from timelines.live.socket_registry import Subscription
from timelines.notifications.notification import Noticed
from timelines.notifications.presenters import notice_html
from timelines.pages.page import HydratedPost, ViewerState
from timelines.pages.presenters import entry_html


def entry_frame(timeline: str, entry: HydratedPost | Noticed, language: str) -> Frame:
    with translation.override(language):
        html = notice_html(entry) if isinstance(entry, Noticed) else entry_html(entry)
    return frames.entry(timeline, entry.id, entry.author.handle, html)


class EntryFrames:
    """The frames of one entry, kept while it is spread."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, ViewerState | None, str | None], Frame] = {}

    def frame_for(self, subscription: Subscription, entry: HydratedPost) -> Frame:
        """`entry` as this reader sees it: most see the same, authors and those who filter do not."""
        language = subscription.socket.language
        key = subscription.name, language, entry.viewer, entry.filtered
        frame = self._kept.get(key)
        if frame is None:
            frame = self._kept[key] = entry_frame(subscription.name, entry, language)
        return frame
