"""The marker of a reader in a timeline (Mastodon's Marker): where reading stopped."""

import re
from dataclasses import dataclass

from socialsite.ids import PostId

MARKERS_CAP = 150
"""Markers of one account: home, public, hashtags, and more lists than an account may have."""
NO_POST = PostId(0)
_NAME = re.compile(r"home|public|tags|list:[1-9][0-9]{0,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Marker:
    """`last_read_id`: the newest entry that was read, or NO_POST.

    `scrolls`: the page loads older posts near its end.
    """

    last_read_id: PostId = NO_POST
    scrolls: bool = True


def has_marker(timeline: str) -> bool:
    """Return whether the timeline of this name has a marker."""
    return _NAME.fullmatch(timeline) is not None
