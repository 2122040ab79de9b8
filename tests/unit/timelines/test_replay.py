"""The replay after an id contains the newer entries and the entries of the minute before it."""

import pytest

from accounts.domain import Author
from socialsite.ids import AccountId, PostId, id_at
from timelines.live.subscriptions import MAX_REPLAYED_ENTRIES, REWIND_MS, read_missed, read_newest_id
from timelines.pages.page import HydratedPost, TimelinePage
from timelines.posts.post import Post, PostCounts

NOW_MS = 1_795_000_000_000
BOB = Author(AccountId(1), "bob", "", "active", 1)


class Timeline:
    """Entries in memory, in the pages of ReadingService."""

    def __init__(self, *ages_ms: int) -> None:
        self.ids = sorted((id_at(NOW_MS - age_ms, low) for low, age_ms in enumerate(ages_ms)), reverse=True)
        self.read = 0

    async def page(self, before: int | None = None, after: int | None = None, limit: int = 30) -> TimelinePage:
        if after is not None:
            matching_ids = [id for id in reversed(self.ids) if id > after]
            page_ids, more = matching_ids[:limit][::-1], len(matching_ids) > limit
            self.read += len(page_ids)
            return TimelinePage(tuple(map(_entry, page_ids)), None, page_ids[0] if more else None)
        matching_ids = [id for id in self.ids if before is None or id < before]
        page_ids, more = matching_ids[:limit], len(matching_ids) > limit
        self.read += len(page_ids)
        return TimelinePage(tuple(map(_entry, page_ids)), page_ids[-1] if more else None, None)


def _entry(post_id: PostId) -> HydratedPost:
    return HydratedPost(Post(post_id, BOB.id, "text"), BOB, PostCounts(), None)


async def replayed(timeline: Timeline, after: PostId) -> list[PostId]:
    missed = await read_missed(timeline.page, after, NOW_MS)
    assert not missed.has_gap
    return [entry.post.id for entry in missed.entries]


async def test_newer_entries_and_entries_of_the_minute_before_are_replayed_oldest_first() -> None:
    timeline = Timeline(300_000, 200_000, 150_000, 120_000, 110_000, 5_000, 0)
    after = timeline.ids[3]  # 120 s old
    assert await replayed(timeline, after) == timeline.ids[:5][::-1]


async def test_an_entry_delivered_late_within_the_minute_is_replayed() -> None:
    timeline = Timeline(100_000, 100_000 - REWIND_MS + 1_000)
    after = id_at(NOW_MS - 100_000 + REWIND_MS)  # the id of an entry in another timeline: this timeline may lack it
    assert timeline.ids[0] in await replayed(timeline, after)


async def test_a_replay_without_newer_entries_keeps_the_cursor() -> None:
    timeline = Timeline(300_000)
    assert (await read_missed(timeline.page, PostId(timeline.ids[0]), NOW_MS)).last_id == timeline.ids[0]
    assert (await read_missed(Timeline().page, PostId(0), NOW_MS)).last_id == 0
    assert await read_newest_id(Timeline().page) == 0


@pytest.mark.parametrize(("newer", "is_gap"), [(MAX_REPLAYED_ENTRIES, False), (MAX_REPLAYED_ENTRIES + 1, True)])
async def test_a_gap_begins_above_the_maximum_number_of_entries(newer, is_gap) -> None:
    timeline = Timeline(*range(newer), 200_000)
    missed = await read_missed(timeline.page, timeline.ids[-1], NOW_MS)
    assert missed.has_gap is is_gap
    assert missed.last_id == timeline.ids[0]


async def test_the_entries_of_a_busy_minute_are_all_replayed_and_do_not_count() -> None:
    timeline = Timeline(*range(0, 50_000, 200))  # 250 entries within the minute
    assert (await replayed(timeline, timeline.ids[0])) == timeline.ids[::-1]


async def test_opening_a_quiet_page_reads_little() -> None:
    quiet = Timeline(*range(120_000, 5_000_000, 10_000))
    await replayed(quiet, quiet.ids[0])
    assert quiet.read <= 10


async def test_an_id_from_the_future_is_read_as_now() -> None:
    timeline = Timeline(1_000)
    assert await replayed(timeline, PostId(2**53 - 1)) == timeline.ids
    assert (await read_missed(timeline.page, PostId(2**53 - 1), NOW_MS)).last_id == id_at(NOW_MS)
