"""TODO."""

from collections.abc import Iterable

from timelines.lists.account_list import AccountList
from timelines.pages.presenters import Json


def list_json(found: AccountList, members: int, *, exclusive: bool = False, missing: Iterable[int] = ()) -> Json:
    """`operation` and `parts` say what a virtual list is made of, `missing` which parts were deleted."""
    return {
        "id": str(found.id),
        "title": found.title,
        "members": members,
        "replies": found.replies,
        "exclusive": exclusive,
        "operation": found.operation,
        "parts": [str(part) for part in found.parts],
        "missing": [str(part) for part in missing],
    }
