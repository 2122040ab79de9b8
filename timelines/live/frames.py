"""The frames that sockets are sent: HTML for the pages of the site, entities for API clients.

timelines/api/streaming.py encodes the entities. Subscriptions, rights and replays are the same for both.
"""

from typing import Protocol

from django.utils import translation

from socialsite.ids import PostId
from socialsite.web.socket_writer import TextFrame
from timelines.live.socket_messages import encode_edited, encode_entry, encode_error
from timelines.notifications.notification import VisibleNotification
from timelines.notifications.presenters import notification_html
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import entry_html

Entry = HydratedPost | VisibleNotification


class FrameEncoder(Protocol):
    """Encodes frames for one kind of clients. `name` is the name of the subscription.

    None means that the client gets no frame. `entry` and `edited` raise StoreUnavailable.
    """

    is_page: bool
    """True for the pages of the site, which also get counts, polls and the state of their subscriptions."""

    async def entry(self, name: str, entry: Entry, language: str) -> TextFrame | None: ...
    async def edited(self, name: str, entry: HydratedPost, language: str) -> TextFrame | None: ...
    def deleted(self, name: str, post_id: PostId) -> TextFrame | None: ...
    def filters_changed(self, name: str) -> TextFrame | None: ...
    def error(self, code: str, name: str | None = None) -> TextFrame: ...


class PageFrames:
    """Encodes frames with the HTML of the site."""

    is_page = True

    async def entry(self, name: str, entry: Entry, language: str) -> TextFrame:
        return render_entry_frame(name, entry, language)

    async def edited(self, name: str, entry: HydratedPost, language: str) -> TextFrame:
        with translation.override(language):
            return encode_edited(entry.id, entry.author.handle, entry_html(entry))

    def deleted(self, name: str, post_id: PostId) -> None:
        """Pages get one message for the whole socket."""

    def filters_changed(self, name: str) -> None:
        """Pages apply filters when they are loaded again."""

    def error(self, code: str, name: str | None = None) -> TextFrame:
        return encode_error(code, name)


PAGE_FRAMES = PageFrames()


def render_entry_frame(name: str, entry: Entry, language: str) -> TextFrame:
    with translation.override(language):
        html = notification_html(entry) if isinstance(entry, VisibleNotification) else entry_html(entry)
    return encode_entry(name, entry.id, entry.author.handle, html)
