"""Pages of bookmarks: the last bookmarked first, deleted and hidden posts left out, full unless they end."""

from socialsite.ids import AccountId, PostId
from timelines.pages.page import HydratedPost
from timelines.reactions.bookmark_cursor import Bookmark, BookmarkCursor, BookmarksPage
from timelines.reactions.bookmark_repository import Bookmarks
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

MOST_ROUNDS = 20
FEWEST = 10
Shown = tuple[Bookmark, HydratedPost]


async def bookmarks_page(
    bookmarks: Bookmarks,
    pipeline: ReadPipeline,
    account_id: AccountId,
    cursor: BookmarkCursor | None,
    limit: int,
) -> BookmarksPage:
    """`limit` bookmarks behind the cursor; one more tells whether there is a next page."""
    shown: list[Shown] = []
    edge, upward, ended = None if cursor is None else cursor.edge, cursor is not None and cursor.upward, False
    for _ in range(MOST_ROUNDS):
        asked = max(FEWEST, limit + 1 - len(shown))
        places = await bookmarks.read(account_id, edge, asked, upward=upward)
        shown += await _shown(pipeline, account_id, places)
        ended = len(places) < asked
        if ended or len(shown) > limit:
            break
        edge = places[-1]
    outward = shown[limit - 1][0] if len(shown) > limit else None if ended else edge
    return _page(cursor, shown[:limit], BookmarkCursor(outward, upward) if outward else None)


async def _shown(pipeline: ReadPipeline, account_id: AccountId, places: list[Bookmark]) -> list[Shown]:
    ids = [PostId(place.post_id) for place in places]
    entries = await pipeline.read_posts(ids, ViewerContext(account_id, ViewContext.BOOKMARKS))
    by_id = {entry.post.id: entry for entry in entries}
    return [(place, by_id[place.post_id]) for place in places if place.post_id in by_id]


def _page(cursor: BookmarkCursor | None, shown: list[Shown], outward: BookmarkCursor | None) -> BookmarksPage:
    entries = tuple(entry for _, entry in shown)
    if cursor is None:
        return BookmarksPage(entries, outward, None)
    back = BookmarkCursor(shown[0][0] if shown else _beside(cursor), not cursor.upward)
    if cursor.upward:
        return BookmarksPage(entries[::-1], back, outward)
    return BookmarksPage(entries, outward, back)


def _beside(cursor: BookmarkCursor) -> Bookmark:
    """An empty page leads back to one that begins with the place its cursor named."""
    return Bookmark(max(cursor.edge.at_ms + (1 if cursor.upward else -1), 0), PostId(0))
