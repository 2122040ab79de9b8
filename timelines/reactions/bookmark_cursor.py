"""Bookmarks: places among them, which cursors name, and pages."""

import re
from dataclasses import dataclass
from typing import NamedTuple, Self

from socialsite.ids import PostId
from timelines.pages.page import HydratedPost

_CURSOR = re.compile(r"([<>])(\d{1,16})-(\d{1,16})", re.ASCII)


class Bookmark(NamedTuple):
    """A bookmarked post and since when (Unix ms): unique, and in the order of the page, reversed."""

    at_ms: int
    post_id: PostId


@dataclass(frozen=True, slots=True)
class BookmarkCursor:
    """Where a page begins, exclusive: with what is older than `edge`, or `upward` with what is newer."""

    edge: Bookmark
    upward: bool = False

    def encode(self) -> str:
        """The opaque text that stands in `?cursor=`."""
        return f"{'>' if self.upward else '<'}{self.edge.at_ms}-{self.edge.post_id}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """The cursor of such a text. Raises ValueError for any other."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor")
        return cls(Bookmark(int(match[2]), PostId(int(match[3]))), upward=match[1] == ">")


@dataclass(frozen=True, slots=True)
class BookmarksPage:
    """Bookmarked posts, the last bookmarked first; the cursors are None where there are no more."""

    entries: tuple[HydratedPost, ...]
    next: BookmarkCursor | None
    previous: BookmarkCursor | None
