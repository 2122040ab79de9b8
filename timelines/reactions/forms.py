"""TODO."""

from django.http import QueryDict

from timelines.pages.queries import _bad_cursor
from timelines.reactions.bookmark_cursor import BookmarkCursor


def bookmark_cursor_of(query: QueryDict) -> BookmarkCursor | None:
    """`?cursor=` of the page of bookmarks. Raises Malformed."""
    text = query.get("cursor")
    if text is None:
        return None
    try:
        return BookmarkCursor.decode(text)
    except ValueError as error:
        raise _bad_cursor() from error
