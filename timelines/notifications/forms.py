"""TODO."""

from django.http import QueryDict

from socialsite.ids import PostId
from timelines.lists.forms import list_cursor_of


def notice_cursor_of(query: QueryDict) -> PostId | None:
    """`?cursor=` of the page of notifications. Raises Malformed."""
    found = list_cursor_of(query)
    return None if found is None else PostId(found)
