"""Entries as frames: rendered once for each language and timeline name, however many get them."""

from django.utils import translation

from socialsite.web.socket_writer import TextFrame
from timelines.live import frames
from timelines.live.socket_registry import Subscription
from timelines.notifications.notification import VisibleNotification
from timelines.notifications.presenters import notification_html
from timelines.pages.page import HydratedPost, ViewerState
from timelines.pages.presenters import entry_html


def render_entry_frame(timeline: str, entry: HydratedPost | VisibleNotification, language: str) -> TextFrame:
    with translation.override(language):
        html = notification_html(entry) if isinstance(entry, VisibleNotification) else entry_html(entry)
    return frames.encode_entry(timeline, entry.id, entry.author.handle, html)


class EntryFrameCache:
    """The frames of one entry, kept while it is spread."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str, str, ViewerState | None, str | None], TextFrame] = {}

    def get_or_render(self, subscription: Subscription, entry: HydratedPost) -> TextFrame:
        """`entry` as this reader sees it: most see the same, authors and those who filter do not."""
        language = subscription.socket.language
        key = subscription.name, language, entry.viewer, entry.filter_phrase
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = render_entry_frame(subscription.name, entry, language)
        return frame
