"""What a reader missed: the entries after the last id they hold, oldest first, before anything live.

Reading starts 60 s of id time before that id (or the largest delivery lag of the last day, if that was
longer), because an entry may be delivered later than its id says; what the client holds already it drops.
Only the newer ones count: more than 100 of them are a gap, to be paged.
"""

from dataclasses import dataclass

from socialsite.ids import SEQUENCE_BITS, PostId, id_at
from timelines.live.channels import PageReader
from timelines.notifications.notification import VisibleNotification
from timelines.pages.page import HydratedPost

MAX_REPLAYED_ENTRIES = 100
REWIND_MS = 60_000
REWIND_PAGE_LIMITS = 10, 90, 100, 100
"""Entries read of the rewound minute, page by page: most often the first few are older than that already. A
timeline with more than 300 entries a minute replays the newest of them."""


@dataclass(frozen=True, slots=True)
class MissedEntries:
    """`entries` to send, oldest first; `gap`: more are newer than is replayed; `last`: where to go on."""

    entries: tuple[HydratedPost | VisibleNotification, ...]
    last_id: PostId
    has_gap: bool = False


async def read_newest_id(page: PageReader) -> PostId:
    """The newest id of a timeline, 0 when it is empty."""
    found = await page(limit=1)
    return found.entries[0].id if found.entries else PostId(0)


async def read_missed(page: PageReader, after: PostId, now_ms: int, rewind_ms: int = REWIND_MS) -> MissedEntries:
    """What stands after `after`. An id from the future counts as the present: nothing is newer than now."""
    after = min(after, id_at(now_ms))
    newer = await page(after=after, limit=MAX_REPLAYED_ENTRIES)
    if newer.previous_after is not None:
        return MissedEntries((), await read_newest_id(page), has_gap=True)
    entries = await _read_rewound(page, after, rewind_ms)
    entries += reversed(newer.entries)
    return MissedEntries(tuple(entries), newer.entries[0].id if newer.entries else after)


async def _read_rewound(page: PageReader, after: PostId, rewind_ms: int) -> list[HydratedPost | VisibleNotification]:
    """The entries up to and with `after` that belong to the rewound time, oldest first."""
    start = max(0, after - (rewind_ms << SEQUENCE_BITS))
    found: list[HydratedPost | VisibleNotification] = []
    before: PostId | None = PostId(after + 1)
    for limit in REWIND_PAGE_LIMITS:
        older = await page(before=before, limit=limit)
        found += [entry for entry in older.entries if entry.id > start]
        before = older.next_before
        if before is None or before <= start:
            break
    return found[::-1]
