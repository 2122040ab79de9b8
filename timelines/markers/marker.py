"""Where a reader is in a timeline, and how they like to read."""

import re
from dataclasses import dataclass

from socialsite.ids import PostId

MARKERS_CAP = 150
"""Timelines whose place is kept: home, public, tags, and more lists than an account may have."""
NO_POST = PostId(0)
_NAME = re.compile(r"home|public|tags|list:[1-9][0-9]{0,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Marker:
    """`read`: the newest entry that was read, NOTHING where none is known.

    `scrolls`: older posts come by themselves.
    """

    last_read_id: PostId = NO_POST
    scrolls: bool = True


def has_marker(timeline: str) -> bool:
    """Whether the place in a timeline of this name is kept."""
    return _NAME.fullmatch(timeline) is not None
