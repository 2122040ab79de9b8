"""The marker of a reader in a timeline: the newest entry that was read (Mastodon's Marker)."""

import re
from dataclasses import dataclass

from socialsite.ids import PostId

MARKERS_CAP = 150
"""The maximum number of markers of one account. It suffices for home, public, hashtags and all lists."""
NO_POST = PostId(0)
_NAME = re.compile(r"home|public|tags|list:[1-9][0-9]{0,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Marker:
    """The marker of a reader in one timeline. `last_read_id` is the newest entry that was read, or NO_POST.

    `scrolls` is True if pages load older posts near their end.
    """

    last_read_id: PostId = NO_POST
    scrolls: bool = True


def has_marker(timeline: str) -> bool:
    """Return whether the timeline of this name has a marker."""
    return _NAME.fullmatch(timeline) is not None
