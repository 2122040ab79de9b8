"""TODO."""

from django.http import QueryDict

from timelines.pages.queries import _cursor_error
from timelines.reactions.bookmark_cursor import BookmarkCursor


def parse_bookmark_cursor(query: QueryDict) -> BookmarkCursor | None:
    """`?cursor=` of the page of bookmarks. Raises Malformed."""
    text = query.get("cursor")
    if text is None:
        return None
    try:
        return BookmarkCursor.decode(text)
    except ValueError as error:
        raise _cursor_error() from error
