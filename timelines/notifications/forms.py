"""TODO."""

from django.http import QueryDict

from socialsite.ids import PostId
from timelines.lists.forms import parse_list_cursor


def parse_notification_cursor(query: QueryDict) -> PostId | None:
    """`?cursor=` of the page of notifications. Raises Malformed."""
    found = parse_list_cursor(query)
    return None if found is None else PostId(found)
