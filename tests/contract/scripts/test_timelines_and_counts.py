"""The scripts of cached timelines, of counts, and of what a viewer did."""

import time
from collections.abc import Iterable

import pytest

from socialsite.ids import AccountId, PostId
from socialsite.recipes.distinct_ranking import COUNT, TOP
from socialsite.store import Key, Reply, Store
from tests.support.nodes import run_command, run_script
from timelines import keys
from timelines.cached_timelines.delivery import INSERT, TRIM
from timelines.cached_timelines.repository import BEGIN, FINISH
from timelines.graph.zset_page import TIES_AFTER
from timelines.hashtags.trends_repository import HOURS, Trends
from timelines.posts.counts import JOIN_SET, LEAVE_SET
from timelines.visibility.viewer_state import READER_STATE, RELATIONSHIP_KEY_BUILDERS

HOME = keys.home_timeline(AccountId(42))

PART = 16

"""The number of entries that the trim reads per batch."""


async def hold(store: Store, *elements: object) -> None:
    await run_command(store, "DEL", HOME)
    if elements:
        await run_command(store, "RPUSH", HOME, *elements)


async def held(store: Store) -> list[object]:
    """Return the stored ids, and the token during a build."""
    elements = await run_command(store, "LRANGE", HOME, 0, -1)
    return [each.decode() if each.startswith(b"b") else int(each) for each in elements]


async def test_only_an_absent_timeline_can_be_built(store: Store) -> None:
    assert await run_script(store, BEGIN, [HOME], "mine", 5_000) == 1
    assert await held(store) == ["building:mine"]
    assert 0 < await run_command(store, "PTTL", HOME) <= 5_000
    assert await run_script(store, BEGIN, [HOME], "theirs", 5_000) == 0
    await hold(store, -7)
    assert await run_script(store, BEGIN, [HOME], "theirs", 5_000) == 0
    assert await held(store) == [-7]


@pytest.mark.parametrize(
    ("before", "id", "answer", "after"),
    [
        ([], 150, 0, []),
        (["building:mine"], 150, 2, [150, "building:mine"]),
        ([300, "building:mine"], 150, 3, [150, 300, "building:mine"]),
        ([-0], 150, 2, [150, 0]),
        ([300, 200, -100], 400, 4, [400, 300, 200, -100]),
        ([300, 200, -100], 250, 4, [300, 250, 200, -100]),
        ([300, 200, -100], 101, 4, [300, 200, 101, -100]),
        ([300, 200, -100], 100, 0, [300, 200, -100]),
        ([300, 200, -100], 99, 0, [300, 200, -100]),
        ([300, 200, -100], 300, 0, [300, 200, -100]),
        ([300, 200, -100], 200, 0, [300, 200, -100]),
    ],
)
async def test_a_late_id_is_inserted_once_in_order_and_above_the_floor(
    store: Store, before: list[object], id: int, answer: int, after: list[object]
) -> None:
    await hold(store, *before)
    assert await run_script(store, INSERT, [HOME], id) == answer
    assert await held(store) == after


@pytest.mark.parametrize(
    ("before", "cap", "answer", "after"),
    [
        ([], 1, -1, []),
        ([9, 8, 7, "building:mine"], 1, -1, [9, 8, 7, "building:mine"]),
        ([30, 20, -15], 2, 2, [30, 20, -15]),
        ([30, 20, -15], 3, 2, [30, 20, -15]),
        ([30, 20, 10, -0], 2, 2, [30, 20, -10]),
        ([30, 20, 10, -15], 2, 2, [30, 20, -15]),
        ([30, 20, 10, -15], 1, 1, [30, -20]),
        ([30, 10, 20, -5], 1, 1, [30, -20]),
    ],
)
async def test_a_trim_leaves_the_cap_and_a_floor_above_all_dropped_ids(
    store: Store, before: list[object], cap: int, answer: int, after: list[object]
) -> None:
    await hold(store, *before)
    assert await run_script(store, TRIM, [HOME], cap, 100) == answer
    assert await held(store) == after


def falling(first: int, last: int) -> Iterable[int]:
    """Return one batch of descending ids."""
    return [first, *range(last + PART - 2, last - 1, -1)]


@pytest.mark.parametrize(("last", "floor"), [(8_900, 9_050), (8_899, 9_000)])
async def test_the_search_for_the_floor_ends_at_an_id_older_than_the_margin(
    store: Store, last: int, floor: int
) -> None:
    """The id 9,050 is late; real lists never contain it after an id older than the margin."""
    await hold(store, 9_200, 9_100, *falling(9_000, last), 9_050, *range(8_800, 8_700, -1), -1)
    assert await run_script(store, TRIM, [HOME], 2, 100) == 2
    assert await held(store) == [9_200, 9_100, -floor]


async def test_the_search_for_the_floor_includes_the_last_entry(store: Store) -> None:
    for more in range(2 * PART + 2):
        await hold(store, 9_999, *range(9_000, 9_000 - more, -1), 9_500, -1)
        assert await run_script(store, TRIM, [HOME], 1, 1_000) == 1
        assert await held(store) == [9_999, -9_500], more


async def test_only_its_own_token_finishes_a_build(store: Store) -> None:
    for before in ([], [5, -0], [5, "building:theirs"], ["building:mine", -0]):
        await hold(store, *before)
        assert await run_script(store, FINISH, [HOME], "mine", 10, 5_000, 0, 7, 6) == 0
        assert await held(store) == before


@pytest.mark.parametrize(
    ("cap", "after"), [(7, [9, 8, 7, 5, 4, -3]), (5, [9, 8, 7, 5, 4, -3]), (4, [9, 8, 7, 5, -4]), (1, [9, -8])]
)
async def test_a_build_merges_sorts_and_stores_its_floor(store: Store, cap: int, after: list[int]) -> None:
    await hold(store, 9, 8, 2, 3, 8, 5, "building:mine")
    assert await run_script(store, FINISH, [HOME], "mine", cap, 5_000, 3, 7, 8, 3, 1, 4) == 1
    assert await held(store) == after
    assert 0 < await run_command(store, "PTTL", HOME) <= 5_000


@pytest.mark.parametrize("count", [0, 499, 500, 501, 1_000, 1_100])
async def test_a_long_build_is_complete(store: Store, count: int) -> None:
    big = 1 << 52
    ids = [big + number for number in range(count, 0, -1)]
    await hold(store, "building:mine")
    assert await run_script(store, FINISH, [HOME], "mine", 1_000, 5_000, 0, *reversed(ids)) == 1
    assert await held(store) == [*ids[:1_000], -ids[1_000] if count > 1_000 else 0]


HOUR_MS = 3_600_000

POST = keys.post(PostId(4096))


async def test_trends_count_an_account_once_and_are_trimmed_to_their_caps(store: Store) -> None:
    uses, hour = Key("series", tag="trends", name="uses"), Key("series", tag="trends", name="ranked:3600:0")

    async def note(account_id: int, at_ms: int, *tags: str, cap: int = 2) -> int:
        args = (at_ms, at_ms - 100, 4, 60_000, 4_000_000_000, cap, account_id, *tags)
        return int(await run_script(store, COUNT, [uses, hour], *args))

    assert await note(1, 1_000, "tea", "cake", "tea") == 2
    assert await note(1, 1_100, "tea") == 0  # 100 ms later the use still counts
    assert await note(2, 1_101, "tea") == 1
    assert await note(1, 1_102, "tea") == 1
    assert await run_command(store, "ZRANGE", hour, 0, -1, "WITHSCORES") == [b"cake", b"1", b"tea", b"3"]
    assert 0 < await run_command(store, "PTTL", uses) <= 60_000
    assert await note(3, 1_103, "fog", "ice") == 2
    assert await run_command(store, "ZCARD", uses) == 4
    assert await run_command(store, "ZCARD", hour) == 4
    assert await note(4, 1_104, "sun") == 1
    assert await run_command(store, "ZRANGE", hour, 0, -1) == [b"sun", b"tea"]
    assert await run_command(store, "ZRANGE", uses, 0, -1) == [b"1:tea", b"3:fog", b"3:ice", b"4:sun"]
    assert abs(time.time() + await run_command(store, "TTL", hour) - 4_000_000_000) < 5
    assert await run_script(store, TOP, [hour], 5, 2, 1) == [b"tea", b"3", b"3"]
    assert await run_script(store, TOP, [hour], 5, 1, 1) == [b"tea", b"3", b"3", b"sun", b"1", b"1"]
    assert await run_script(store, TOP, [hour], 1, 1, 1) == [b"tea", b"3", b"3"]


@pytest.mark.parametrize("left", ["replies", "boosts", "likes"])
async def test_counts_exist_while_any_of_the_three_sets_exists(store: Store, left: str) -> None:
    post_id, sets = PostId(4096), ("replies", "boosts", "likes")
    three = [getattr(keys, name)(post_id) for name in sets]
    counts = keys.post_counts(post_id)
    for number, key in enumerate(three):
        place = [key, counts, *three]
        assert await run_script(store, JOIN_SET, place, 7, 100) == [1, b"100"]
        assert await run_script(store, JOIN_SET, place, 7, 200) == [0, b"100"]
        expected = " ".join("1" if position <= number else "0" for position in range(3))
        assert await run_command(store, "GET", counts) == expected.encode()
    for name, key in zip(sets, three, strict=True):
        place = [key, counts, *three]
        assert await run_script(store, LEAVE_SET, place, 7, 99) == b"100"
        if name != left:
            assert await run_script(store, LEAVE_SET, place, 7, 100) == b"100"
            assert await run_script(store, LEAVE_SET, place, 7) is None
            sizes = [await run_command(store, "ZCARD", each) for each in three]
            assert await run_command(store, "GET", counts) == " ".join(map(str, sizes)).encode()
    expected = " ".join("1" if name == left else "0" for name in sets)
    assert await run_command(store, "GET", counts) == expected.encode()
    assert await run_script(store, LEAVE_SET, [three[sets.index(left)], counts, *three], 7) == b"100"
    assert await run_command(store, "EXISTS", counts) == 0


@pytest.mark.parametrize(
    ("state", "joined"), [(None, -1), ("pending", -1), ("superseded", -1), ("deleted:7", -1), ("body", 1)]
)
async def test_only_an_existing_post_accepts_reactions(store: Store, state: str | None, joined: int) -> None:
    likes, counts = keys.likes(PostId(4096)), keys.post_counts(PostId(4096))
    if state is not None:
        await run_command(store, "SET", POST, state)
    place = [likes, counts, keys.replies(PostId(4096)), keys.boosts(PostId(4096)), likes, POST]
    assert await run_script(store, JOIN_SET, place, 7, 100) == [joined, b"100"]
    assert await run_command(store, "ZCARD", likes) == max(joined, 0)
    assert await run_command(store, "GET", counts) == (b"0 0 1" if joined == 1 else None)


async def test_trends_include_only_the_hours_of_one_day(store: Store) -> None:
    trends, now_ms = Trends(store), await store.now_ms() // HOUR_MS * HOUR_MS
    assert await trends.count_uses(AccountId(1), [], now_ms) == 0
    for tag, hours in (("first", HOURS - 1), ("gone", HOURS), ("now", 0)):
        for number in (1, 2):
            await trends.count_uses(AccountId(number), [tag], now_ms - hours * HOUR_MS)
    assert await trends.top(now_ms, 9) == [("now", 2), ("first", 2)]


async def test_uses_four_hours_ago_weigh_half(store: Store) -> None:
    trends, now_ms = Trends(store), await store.now_ms() // HOUR_MS * HOUR_MS
    for tag, accounts, hours in (("more", 9, 4), ("now", 4, 0), ("fewer", 7, 4)):
        for number in range(accounts):
            await trends.count_uses(AccountId(number), [tag], now_ms - hours * HOUR_MS)
    assert await trends.top(now_ms, 9) == [("more", 9), ("now", 4), ("fewer", 7)]
    assert await trends.top(now_ms, 2) == [("more", 9), ("now", 4)]


async def test_members_with_equal_scores_are_paged_in_both_directions(store: Store) -> None:
    key = keys.bookmarks(AccountId(1))
    await run_command(store, "ZADD", key, *(part for member in "12345678" for part in (7, member)), 6, "0", 8, "9")
    for member, up, down in (("4", "567", "123"), ("0", "123", ""), ("9", "", "678"), ("7", "8", "456")):
        assert b"".join(await run_script(store, TIES_AFTER, [key], "up", 7, member, 3)).decode() == up
        assert b"".join(await run_script(store, TIES_AFTER, [key], "down", 7, member, 3)).decode() == down
    await run_command(store, "ZREM", key, "4")
    assert await run_script(store, TIES_AFTER, [key], "up", 7, "4", 2) == [b"5", b"6"]


READER, NOW_MS = AccountId(1), 1_900_000_000_000

LIKED, BOOSTED, BOOKMARKS, BLOCKS, BLOCKERS, MUTES, QUIETED, EXCLUSIVE, FILTERS, THREADS = (
    build(READER) for build in RELATIONSHIP_KEY_BUILDERS
)

POSTS, ACCOUNTS = (11, 12, 13), (21, 22, 23)


async def state(store: Store) -> Reply:
    place = [build(READER) for build in RELATIONSHIP_KEY_BUILDERS]
    return await run_script(store, READER_STATE, place, len(POSTS), NOW_MS, *POSTS, *ACCOUNTS)


async def test_each_field_contains_only_the_requested_ids(store: Store) -> None:
    assert await state(store) == [[]] * 10
    for number, key in enumerate((LIKED, BOOSTED, BOOKMARKS)):
        await run_command(store, "ZADD", key, 1, POSTS[number], 1, 99)
    for number, key in enumerate((BLOCKS, BLOCKERS, QUIETED)):
        await run_command(store, "ZADD", key, 1, ACCOUNTS[number], 1, 99)
    await run_command(store, "SADD", EXCLUSIVE, 5)
    await run_command(store, "HSET", FILTERS, 6, "a filter")
    await run_command(store, "ZADD", THREADS, 1, 7)
    assert await state(store) == [
        [b"11"], [b"12"], [b"13"], [b"21"], [b"22"], [], [b"23"], [b"5"], [b"a filter"], [b"7"]
    ]  # fmt: skip


async def test_account_ids_and_post_ids_are_not_confused(store: Store) -> None:
    for key in (LIKED, BOOSTED, BOOKMARKS):
        await run_command(store, "ZADD", key, *(part for id in ACCOUNTS for part in (1, id)))
    for key in (BLOCKS, BLOCKERS, MUTES, QUIETED):
        await run_command(store, "ZADD", key, *(part for id in POSTS for part in (2 * NOW_MS, id)))
    assert await state(store) == [[]] * 10


async def test_a_mute_expires_at_its_exact_millisecond_and_other_relations_remain(store: Store) -> None:
    ends = [part for ms, id in zip((-1, 0, 1), ACCOUNTS, strict=True) for part in (NOW_MS + ms, id)]
    for key in (BLOCKS, BLOCKERS, MUTES, QUIETED):
        await run_command(store, "ZADD", key, *ends)
    everyone = [b"21", b"22", b"23"]
    assert (await state(store))[3:7] == [everyone, everyone, [b"23"], everyone]
