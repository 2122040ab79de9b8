"""Bookmarks, which are private to an account, and their cursors and pages. The newest BOOKMARKS_CAP are kept."""

import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from socialsite.ids import AccountId, PostId
from socialsite.store import Key, Read, Store
from socialsite.store.read import CommandRunner
from timelines import keys
from timelines.graph.zset_page import ScoredId, read_page
from timelines.pages.page import HydratedPost
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

MAX_ROUNDS = 20
"""The maximum number of reads for one page, if many bookmarked posts are deleted or hidden."""
MIN_FETCH = 10
_CURSOR = re.compile(r"([<>])(\d{1,16})-(\d{1,16})", re.ASCII)


class Bookmark(NamedTuple):
    """A bookmarked post and the time of the bookmark (Unix ms). An account has at most one bookmark for a post."""

    at_ms: int
    post_id: PostId


@dataclass(frozen=True, slots=True)
class BookmarkCursor:
    """The position at which a page begins. The page has older bookmarks than `edge`, or newer if `upward` is true."""

    edge: Bookmark
    upward: bool = False

    def encode(self) -> str:
        """Return the opaque text of `?cursor=`."""
        return f"{'>' if self.upward else '<'}{self.edge.at_ms}-{self.edge.post_id}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """Parse the text of `?cursor=`. Raises ValueError if the text is not a cursor."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor")
        return cls(Bookmark(int(match[2]), PostId(int(match[3]))), upward=match[1] == ">")


@dataclass(frozen=True, slots=True)
class BookmarksPage:
    """A page of bookmarked posts; the last bookmarked comes first. A cursor is None if there is no page after it."""

    entries: tuple[HydratedPost, ...]
    next: BookmarkCursor | None
    previous: BookmarkCursor | None


class Bookmarks:
    """Reads and writes the ZSET `timelines:{<account>}:bookmarks`: post id -> Unix ms."""

    def __init__(self, store: Store, cap: int = keys.BOOKMARKS_CAP) -> None:
        self._timelines = store.component("timelines")
        self._cap = cap

    async def add(self, account_id: AccountId, post_id: PostId, now_ms: int) -> bool:
        """Add a bookmark, and return whether it is new. An existing bookmark keeps its time."""
        key = keys.bookmarks(account_id)
        trim = ("ZREMRANGEBYRANK", key, 0, -self._cap - 1)
        added, _trimmed = await self._timelines.write_all([("ZADD", key, "NX", now_ms, post_id), trim])
        return bool(added)

    async def remove(self, account_id: AccountId, post_id: PostId) -> bool:
        return bool(await self._timelines.write("ZREM", keys.bookmarks(account_id), post_id))

    def read(self, account_id: AccountId, edge: Bookmark | None, limit: int, *, upward: bool) -> Read[list[Bookmark]]:
        """Read `limit` bookmarks older than `edge`, newest first; or newer ones, oldest first, if `upward` is true."""
        return read_marked_posts(self._timelines, keys.bookmarks(account_id), edge, limit, upward=upward)


def read_marked_posts(
    store: CommandRunner, key: Key, edge: Bookmark | None, limit: int, *, upward: bool
) -> Read[list[Bookmark]]:
    """Read the bookmarks or likes of an account, as `Bookmarks.read` does."""
    cursor = None if edge is None else ScoredId(edge.at_ms, edge.post_id)
    members = read_page(store, [key], cursor, limit, upward=upward)
    return members.map(lambda members: [Bookmark(member.at_ms, PostId(member.id)) for member in members])


class ReadMarkedPosts(Protocol):
    """`Bookmarks.read` or `Reactions.read_likes`."""

    def __call__(
        self, account_id: AccountId, edge: Bookmark | None, limit: int, *, upward: bool
    ) -> Read[list[Bookmark]]: ...


async def load_bookmarks_page(
    read: ReadMarkedPosts, pipeline: ReadPipeline, account_id: AccountId, cursor: BookmarkCursor | None, limit: int
) -> BookmarksPage:
    """Load the `limit` bookmarks or likes after the cursor, without deleted and hidden posts.

    The page is full unless the bookmarks end.
    """
    entries: list[tuple[Bookmark, HydratedPost]] = []
    edge, upward, is_end = None if cursor is None else cursor.edge, cursor is not None and cursor.upward, False
    for _ in range(MAX_ROUNDS):
        size = max(MIN_FETCH, limit + 1 - len(entries))
        batch = await read(account_id, edge, size, upward=upward)
        entries += await _hydrate(pipeline, account_id, batch)
        is_end = len(batch) < size
        if is_end or len(entries) > limit:
            break
        edge = batch[-1]
    last = entries[limit - 1][0] if len(entries) > limit else None if is_end else edge
    return _build_page(cursor, entries[:limit], BookmarkCursor(last, upward) if last else None)


async def _hydrate(
    pipeline: ReadPipeline, account_id: AccountId, bookmarks: list[Bookmark]
) -> list[tuple[Bookmark, HydratedPost]]:
    ids = [bookmark.post_id for bookmark in bookmarks]
    entries = await pipeline.read_posts(ids, ViewerContext(account_id, ViewContext.BOOKMARKS))
    by_id = {entry.post.id: entry for entry in entries}
    return [(bookmark, by_id[bookmark.post_id]) for bookmark in bookmarks if bookmark.post_id in by_id]


def _build_page(
    cursor: BookmarkCursor | None, entries: list[tuple[Bookmark, HydratedPost]], onward: BookmarkCursor | None
) -> BookmarksPage:
    """Build the page. The cursor `onward` continues in the direction of `cursor`."""
    posts = tuple(entry for _, entry in entries)
    if cursor is None:
        return BookmarksPage(posts, onward, None)
    back = BookmarkCursor(entries[0][0] if entries else _beside(cursor), not cursor.upward)
    if cursor.upward:
        return BookmarksPage(posts[::-1], back, onward)
    return BookmarksPage(posts, onward, back)


def _beside(cursor: BookmarkCursor) -> Bookmark:
    """Return the exclusive edge of the page in the opposite direction.

    That page contains the bookmark of the cursor.
    """
    return Bookmark(max(cursor.edge.at_ms + (1 if cursor.upward else -1), 0), PostId(0))
