"""Entries as frames: rendered once for each language and timeline name, however many get them."""

from dataclasses import replace

from django.utils import translation

from socialsite.outlet import Frame
from timelines.domain.page import HydratedPost, ViewerState
from timelines.live import frames
from timelines.live.room import Subscription
from timelines.presenters import entry_html


def entry_frame(timeline: str, entry: HydratedPost, language: str) -> Frame:
    with translation.override(language):
        html = entry_html(entry)
    return frames.entry(timeline, entry.post.id, entry.author.handle, html)


class EntryFrames:
    """The frames of one entry, kept while it is spread."""

    def __init__(self, entry: HydratedPost) -> None:
        self._entry = entry
        self._kept: dict[tuple[str, str, bool], Frame] = {}

    def frame_for(self, subscription: Subscription) -> Frame:
        """Authors see buttons on their own entry that others do not."""
        socket = subscription.socket
        own = socket.account_id == self._entry.post.author_id
        key = subscription.name, socket.language, own
        frame = self._kept.get(key)
        if frame is None:
            seen = self._entry if not own else as_own(self._entry)
            frame = self._kept[key] = entry_frame(subscription.name, seen, socket.language)
        return frame


def as_own(entry: HydratedPost) -> HydratedPost:
    """The entry as its author sees it."""
    return replace(entry, viewer=ViewerState(own=True))
